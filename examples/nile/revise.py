"""The researcher of this example: does what the plan of a round asks for.

`autoscirub run --revise "python3 revise.py"` runs it after a verification that found something missing. It reads
the plan from the file that AUTOSCIRUB_PLAN names, and writes what it did to the file that AUTOSCIRUB_CHANGES names.

It switches the missing analyses on in analyses.toml, runs run.py again, and takes the new numbers out of the
results into report.md. It makes up no number, and touches neither the predictions nor the rubric. Started again,
at whatever point it was stopped, it ends with the same files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
ANALYSES = "analyses.toml"
RESULTS = "results/results.json"
TABLE = "results/change_point.csv"
FIGURE = "results/change_point.svg"
REPORT = "report.md"

SETTINGS = {"interval-of-the-drop": "drop_interval", "figure-of-the-step": "figure"}
"""A criterion that a further analysis meets, and the line of analyses.toml that switches it on."""

FILES = {
    "whole-record": [RESULTS],
    "step-and-size": [RESULTS],
    "chance-tested": [RESULTS],
    "sensitivity": [RESULTS],
    "table-of-candidates": [TABLE],
    "interval-of-the-drop": [ANALYSES, RESULTS, REPORT],
    "figure-of-the-step": [ANALYSES, FIGURE, REPORT],
}
"""A criterion that running the code can meet, and the files that this may change."""


def main() -> None:
    plan_path, changes_path = (Path(asked(name)) for name in ("AUTOSCIRUB_PLAN", "AUTOSCIRUB_CHANGES"))
    plan = json.loads(plan_path.read_text(encoding="utf-8"))
    targets = list(dict.fromkeys(target["criterion_id"] for target in plan["targets"]))
    say(f"asked for: {', '.join(targets) or 'nothing'}")
    feasible = [target for target in targets if target in FILES]
    before = {name: content(name) for target in feasible for name in FILES[target]}
    done = revise(feasible) if feasible else {}
    changes = [
        {
            "criterion_id": target,
            "actions_completed": done[target],
            "artifacts_changed": [name for name in FILES[target] if content(name) != before[name]],
        }
        for target in feasible
    ]
    infeasible = [
        {"criterion_id": target, "reason": "running the code cannot meet it; a person has to"}
        for target in targets
        if target not in FILES
    ]
    for entry in infeasible:
        say(f"cannot do {entry['criterion_id']}: {entry['reason']}")
    told = json.dumps({"changes": changes, "infeasible": infeasible}, indent=1)
    replace(changes_path, told + "\n")
    say("wrote what was done")


def revise(targets: list[str]) -> dict[str, list[str]]:
    """Do the work for these criteria; for each, what was done."""
    done: dict[str, list[str]] = {target: [] for target in targets}
    for target in targets:
        if setting := SETTINGS.get(target):
            switch_on(setting)
            done[target].append(f"switched {setting} on in {ANALYSES}")
            say(done[target][-1])
    say("running run.py")
    if subprocess.run([sys.executable, "run.py"], cwd=ROOT, stdin=subprocess.DEVNULL).returncode:
        sys.exit("revise.py: run.py failed, so nothing was reported; mend it and start again")
    results = json.loads((ROOT / RESULTS).read_text(encoding="utf-8"))
    for target in targets:
        done[target].append("ran run.py again")
        if target == "interval-of-the-drop":
            done[target].append(report_interval(results["drop_interval"]))
            say(done[target][-1])
        elif target == "figure-of-the-step":
            done[target].append(report_figure(results))
            say(done[target][-1])
    return done


def switch_on(setting: str) -> None:
    lines = (ROOT / ANALYSES).read_text(encoding="utf-8").splitlines()
    place = line_beginning(lines, f"{setting} =", ANALYSES)
    lines[place] = f"{setting} = true"
    replace(ROOT / ANALYSES, "\n".join(lines) + "\n")


def report_interval(interval: dict[str, Any]) -> str:
    low, high, percent = f"{interval['low']:.1f}", f"{interval['high']:.1f}", interval["percent"]
    put("| interval of the drop |", f" {low} to {high} |", after="| drop |")
    put(
        "**How large.**",
        f" The years before and the years after the step were drawn anew {interval['n_resamples']} times, with "
        f"replacement and a fixed seed. In {percent} % of these draws, the drop is between {low} and {high}.",
        after="**Chance.**",
    )
    put(
        "- The size of the drop",
        " comes with an interval that takes the change year as known and the years as independent. Neither is "
        "quite so, and the interval is rather too narrow.",
        after="- Not that",
    )
    return f"reported the {percent} % interval of the drop, {low} to {high}"


def report_figure(results: dict[str, Any]) -> str:
    put(
        "![",
        f"The annual flow, with its mean before and after the step that follows {results['change_year']}]({FIGURE})",
        after="Means and drops are in",
    )
    return f"put {FIGURE} into {REPORT}"


def put(beginning: str, rest: str, *, after: str) -> None:
    """Let the report have one line `beginning` + `rest`: in place of the one that begins so, else after another."""
    lines = (ROOT / REPORT).read_text(encoding="utf-8").splitlines()
    if any(line.startswith(beginning) for line in lines):
        lines[line_beginning(lines, beginning, REPORT)] = beginning + rest
    else:
        place = line_beginning(lines, after, REPORT) + 1
        apart = (
            [] if beginning.startswith(("|", "- ")) else [""]
        )  # rows and items stand close, paragraphs do not
        lines[place:place] = [*apart, beginning + rest]
    replace(ROOT / REPORT, "\n".join(lines) + "\n")


def line_beginning(lines: list[str], beginning: str, name: str) -> int:
    for place, line in enumerate(lines):
        if line.startswith(beginning):
            return place
    sys.exit(f"revise.py: {name}: no line begins with {beginning!r}, so there is no place for the revision")


def content(name: str) -> bytes | None:
    path = ROOT / name
    return path.read_bytes() if path.is_file() else None


def replace(path: Path, text: str) -> None:
    """Write a file so that it is whole at every instant, the old or the new."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8", newline="\n")
    new.replace(path)


def asked(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        sys.exit(f'revise.py: {name} is not set; it is run by `autoscirub run --revise "python3 revise.py"`')
    return value


def say(text: str) -> None:
    print(f"revise: {text}", flush=True)


if __name__ == "__main__":
    main()
