"""The command `demo`: the main job on the two shipped projects, step by step in plain words."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.cli.showing import render_check
from autoscirub.data import data_dir
from autoscirub.errors import ConfigError
from autoscirub.models import Outcome
from autoscirub.programs import on_path
from autoscirub.report import render_decision
from autoscirub.report.audit import render_audit
from autoscirub.setup import look_at_trust, record_trust
from autoscirub.workflow import check
from autoscirub.workflow.audit import audit
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.rounds import run_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

_RUN_SECONDS = 120


def run_demo(to: Path | None, *, say: Callable[[str], None] | None, steps: list[dict[str, Any]]) -> None:
    """Freeze, run, check and revise the two examples in a fresh copy under `to`.

    Each step is printed with `say` (None with `--json`) and appended to `steps`. Raises ConfigError when `to`
    is not empty, and RuntimeError when an outcome is not what the data must give.
    """
    tell = say or (lambda _text: None)
    folder = _folder(to)
    # Whoever runs this from a virtual environment that is not active needs the whole path.
    command = _own_command()
    tell(f"Two real projects, copied to {folder}\n")
    tell("1. The Nile at Aswan, 1871–1970. The question: did its flow drop, when, and by how much?")
    _run_example(
        folder,
        "nile",
        (Outcome.VERIFIED, "satisfied"),
        tell,
        steps,
        revise="autoscirub run --revise 'python3 revise.py'",
    )
    tell(
        "\n2. Sunspots, 1700–2008. The claim: the cycle is a clock that keeps eleven years, give or take 1.5."
    )
    _run_example(folder, "sunspots", (Outcome.REFUTED, "satisfied"), tell, steps)
    tell("\nSatisfied and refuted go together: the work is done, and the data say that the claim is wrong.")
    tell("\n3. What the first one's conclusions rest on, as anyone who gets the project can ask:")
    tell("   $ autoscirub audit")
    tell(_indented(render_audit(audit(folder / "nile"), sys.stdout)))
    tell(
        "\nWhat each outcome rests on is recorded in .autoscirub/ there. Try to change it afterwards:\n"
        f"  $ cd {shlex.quote(str(folder / 'nile'))}\n"
        f"  $ {command} status\n"
        f"  $ echo >> prereg.toml && {command} verify --no-judge    # exit status 3: it names both digests\n"
        "Then in a project of yours:\n"
        f"  $ cd my-project && {command} init"
    )


def _folder(to: Path | None) -> Path:
    if to is None:
        return Path(tempfile.mkdtemp(prefix="autoscirub-demo-"))
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ConfigError(f"--to {to}: is there and not empty; name a new folder")
    to.mkdir(parents=True, exist_ok=True)
    return to.resolve()


def _run_example(
    folder: Path,
    name: str,
    expected: tuple[Outcome, str],
    tell: Callable[[str], None],
    steps: list[dict[str, Any]],
    revise: str | None = None,
) -> None:
    project = folder / name
    shutil.copytree(
        data_dir("examples") / name,
        project,
        ignore=shutil.ignore_patterns("results", "__pycache__", ".autoscirub"),
    )
    tell(
        "   Predictions are in prereg.toml, requirements in rubric.toml. Freeze both, before there is any result:"
    )
    tell("   $ autoscirub freeze")
    frozen = freeze(project)
    tell(_indented("\n".join(render_decision(decision, sys.stdout) for decision in frozen.decisions)))
    steps.append(
        {"project": name, "step": "freeze", "frozen": [decision.subject for decision in frozen.decisions]}
    )
    tell("   Run the project's own code, which reads data/ and writes results/:")
    tell("   $ python3 run.py")
    subprocess.run(
        [sys.executable, "run.py"], cwd=project, check=True, timeout=_RUN_SECONDS, stdin=subprocess.DEVNULL
    )
    allowed = look_at_trust(project)
    if allowed.digest is not None:
        tell("   Allow that command to be run again, in a copy without its results:")
        tell(f"   $ autoscirub trust --digest {allowed.digest[:12]}…")
        record_trust(allowed.digest, by="demo", project=project)
    tell(
        "   Check the results against the predictions, the work against the requirements, the report's numbers\n"
        "   against the results, and the results against what the code gives:"
    )
    tell("   $ autoscirub check")
    checked = check(project)
    tell(_indented(render_check(checked, sys.stdout)))
    if revise is not None:
        tell("\n   Two things are missing. A reviser gets the list, does the work, and it is checked again:")
        tell(f"   $ {revise}")
        ran = run_rounds(
            project,
            revise=[sys.executable, "revise.py"],
            on_step=lambda step: tell(f"     · {step.did}"),
            on_output=lambda data: tell(
                _indented("\n".join(f"| {line}" for line in data.decode().splitlines()))
            ),
        )
        checked = ran.checked or checked
        tell(_indented(render_check(checked, sys.stdout, short=True)))
    outcome = checked.verification.outcome if checked.verification else None
    ending = checked.ended.state if checked.ended else None
    result = {"outcome": outcome, "ending": ending, "round": checked.report.round if checked.report else None}
    steps.append({"project": name, "step": "check", **result})
    if (outcome, ending) != expected:
        raise RuntimeError(
            f"the {name} example ended {outcome} and {ending}, not {expected[0]} and {expected[1]}"
        )


def _indented(text: str) -> str:
    return "\n".join(f"     {line}" for line in text.splitlines())


def _own_command() -> str:
    """What to type to run this program again, from any folder."""
    if on_path("autoscirub"):
        return "autoscirub"
    # A relative path would lead nowhere after the `cd` that the demo prints before it.
    program = Path(sys.argv[0]).absolute()
    if program.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m autoscirub"
    return shlex.quote(str(program))
