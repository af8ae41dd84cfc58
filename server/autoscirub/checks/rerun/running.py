"""One rerun: copy, run, compare, and the Decision over it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts.paths import shown
from autoscirub.checks.rerun.comparing import (
    Comparison,
    Status,
    Tolerance,
    Unclear,
    compare_file,
    is_ignored,
)
from autoscirub.checks.rerun.copying import (
    Copied,
    Layout,
    copy_project,
    holding_any,
    matches,
    measure_project,
    stamps,
    walk,
)
from autoscirub.checks.rerun.deciding import RERUN_WORDS, Tally, decide, some, undecided
from autoscirub.checks.rerun.program import Program, find_program
from autoscirub.checks.results import find_results
from autoscirub.errors import ConfigError, PathRefused, SandboxError, TrustError
from autoscirub.models import RerunBasis, RerunRecord, strict_json
from autoscirub.sandbox import Isolated, Isolation, Limits, remove_tree, run_isolated
from autoscirub.store import Project, read_regular, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.models import Decision, RunConfig

__all__ = ["NOT_TRUSTED", "RERUN_WORDS", "Rerun", "rerun", "rerun_basis", "rerun_record"]

NOT_TRUSTED = "not rerun: not trusted"
_FILE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class Rerun:
    """A rerun with all that must be said beside its answer."""

    decision: Decision
    comparisons: list[Comparison] = field(default_factory=list)
    """At most 2,000 that agree and 2,000 that do not; `counts` has them all."""
    counts: dict[Status, int] = field(default_factory=dict)
    basis: RerunBasis | None = None
    ran: Isolated | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    """What was not copied, with why."""
    compared: dict[str, str] = field(default_factory=dict)
    """The results as they lay in the project, each with its SHA-256."""

    @property
    def isolation(self) -> str:
        """In one line, how isolated it ran."""
        return self.ran.said if self.ran else "isolation: nothing ran"


def rerun(
    project: Project, *, trusted: bool, isolation: Isolation = "best", limits: Limits | None = None
) -> Rerun:
    """Run the project's command in a fresh copy without its results, and compare what comes out.

    `limits`: the wall clock in it is replaced by `[run] seconds`. Raises TrustError when not `trusted`, ConfigError
    when no command is configured, PathRefused for outputs that are no paths of the project, and SandboxError when
    `isolation` cannot be had. A run that fails, is cut off or says nothing about a result *could not be told*.
    """
    config = _configured(project)
    if not trusted:
        raise TrustError(f"{NOT_TRUSTED}; look at what would run with `autoscirub trust`, and allow it")
    layout = _layout(project, config)
    names = _result_names(project, config)
    scratch = Path(tempfile.mkdtemp(prefix="rerun-")).resolve()
    try:
        return _rerun(project, config, layout, names, scratch, isolation, limits or Limits())
    finally:
        remove_tree(scratch)


def rerun_basis(project: Project, *, ask: bool) -> RerunBasis:
    """What a rerun now would be bound to, without running the command: for telling that an answer is stale.

    With `ask` the interpreter outside is started and asked what is installed, so only in a trusted project; without,
    nothing is started, and the environment is not told. Raises as `rerun` does.
    """
    config = _configured(project)
    layout = _layout(project, config)
    copied = measure_project(layout)
    program = find_program(config.command, project.root) if ask else None
    before, _ = _read_results(project.root, layout, _result_names(project, config))
    return _basis(config, copied, program, _digests(before))


def rerun_record(project: Project, done: Rerun) -> RerunRecord | None:
    """What is kept of a rerun; None for one that never came to be bound to anything."""
    if done.basis is None or project.config.run is None:
        return None
    here = f"{project.root}{os.sep}"  # what is kept travels: no place of this machine belongs in it
    decision = done.decision
    decision = decision.model_copy(
        update={
            "open": [line.replace(here, "") for line in decision.open],
            "evidence": [
                entry.model_copy(update={"note": entry.note and entry.note.replace(here, "")})
                for entry in decision.evidence
            ],
        }
    )
    return RerunRecord(
        decision=decision,
        basis=done.basis,
        command=list(project.config.run.command),
        isolation=done.isolation,
        counts={status.value: count for status, count in done.counts.items()},
        results=done.compared,
        at=done.decision.at,
    )


def _configured(project: Project) -> RunConfig:
    if project.config.run is None:
        raise ConfigError(
            'not rerun: nothing says how; add [run] command = ["python", "run.py"] to autoscirub.toml'
        )
    return project.config.run


def _layout(project: Project, config: RunConfig) -> Layout:
    for pattern in (*config.outputs, *config.results, *config.inputs):
        if not pattern or pattern.startswith("/") or ".." in pattern.split("/") or "\0" in pattern:
            raise PathRefused(
                f"[run] {shown(pattern)!r}: expected a path inside the project, relative to its root"
            )
    outputs = dict.fromkeys([*config.outputs, *config.results]) or _results_file(project)
    return Layout(project.root, project.state.root, tuple(outputs), tuple(config.inputs))


def _results_file(project: Project) -> list[str]:
    return [find_results(project.root, project.config.results)]


def _result_names(project: Project, config: RunConfig) -> tuple[str, ...]:
    return tuple(config.results or config.outputs or _results_file(project))


def _rerun(
    project: Project,
    config: RunConfig,
    layout: Layout,
    names: tuple[str, ...],
    scratch: Path,
    isolation: Isolation,
    limits: Limits,
) -> Rerun:
    stamped = stamps(layout)
    before, unclear = _read_results(project.root, layout, names)
    if not before and not unclear:
        why = f"there are no results to compare with ({', '.join(names)}); run the project's code first"
        return Rerun(undecided(why, None, None))
    copy = scratch / "project"
    try:
        copied = copy_project(layout, copy)
        program = find_program(config.command, project.root)
    except SandboxError as error:
        return Rerun(undecided(str(error), None, None))
    compared = _digests(before)
    basis = _basis(config, copied, program, compared)
    inside = [folder for folder in program.readable if folder.is_relative_to(project.root)]
    if holding := holding_any(inside, before.values()):
        why = f"{some([str(path.relative_to(project.root)) for path in holding])}: holds the same bytes as an output"
        held = f"{why}, where the program reads; move it away"
        return Rerun(undecided(held, basis.digest, None), basis=basis, compared=compared)
    bounds = replace(limits, seconds=config.seconds)
    ran = run_isolated(
        program.command,
        cwd=copy,
        isolation=isolation,
        limits=bounds,
        network=config.network,
        environment={**_named(config), "PATH": program.path},
        readable=program.readable,
        shown_as=project.root,
    )
    changed = _changed(stamped, stamps(layout))
    failure = _failure(ran, changed)
    if failure is not None:
        return Rerun(
            undecided(failure, basis.digest, ran, copied),
            basis=basis,
            ran=ran,
            left_out=copied.left_out,
            compared=compared,
        )
    after, unread = _read_results(copy, Layout(copy, scratch, layout.outputs, ()), names)
    tally = Tally()
    for path in dict.fromkeys([*before, *after]):
        if path in unclear or path in unread:
            continue
        for found in compare_file(
            path, before.get(path), after.get(path), Tolerance(config.rtol, config.atol)
        ):
            if not is_ignored(found, config.ignore):
                tally.add(found)
    for path, why in {**unclear, **unread}.items():
        if not is_ignored(Unclear(path, why), config.ignore):
            tally.unclear.append(Unclear(path, why))
    absent = [name for name in names if not any(matches(path, [name]) for path in (*before, *after))]
    unknown = [name for name in config.inputs if not any(matches(path, [name]) for path in copied.inputs)]
    decision = decide(tally, config, basis.digest, ran, copied, absent, unknown)
    return Rerun(decision, tally.kept, tally.counts, basis, ran, _told(copied), compared)


def _told(copied: Copied) -> dict[str, str]:
    return {shown(path, 1024): why for path, why in copied.left_out.items()}


def _failure(ran: Isolated, changed: list[str]) -> str | None:
    if changed:
        return f"the project's own files changed while it ran: {some(changed)}; run it again when nothing writes there"
    if ran.ended is not None:
        more = "; raise [run] seconds if it needs longer" if ran.timed_out else ""
        return f"the command was ended: {ran.ended}{more}"
    if ran.status != 0:
        signal = f" (signal {ran.status - 128})" if ran.status > 128 else ""
        return f"the command ended with exit status {ran.status}{signal}"
    return None


def _changed(old: dict[str, tuple[int, int, int]], new: dict[str, tuple[int, int, int]]) -> list[str]:
    return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))


def _read_results(
    root: Path, layout: Layout, names: tuple[str, ...]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """The results that are there, and those that are there and cannot be read, with why."""
    found: dict[str, bytes] = {}
    unread: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for path, _ in walk(layout, left_out):
        if matches(path, names) and ((root / path).is_symlink() or not (root / path).is_dir()):
            try:
                data = read_regular(root / path, limit=_FILE_BYTES, within=root, error=SandboxError)
            except SandboxError as error:
                unread[path] = str(error).replace(f"{root}{os.sep}", "")
            else:
                if data is not None:
                    found[path] = data
    unread |= {path: why for path, why in left_out.items() if matches(path, names)}
    return found, unread


def _named(config: RunConfig) -> dict[str, str]:
    return {name: os.environ[name] for name in config.env if name in os.environ}


def _digests(results: Mapping[str, bytes]) -> dict[str, str]:
    return {path: sha256_bytes(data) for path, data in results.items()}


def _basis(
    config: RunConfig, copied: Copied, program: Program | None, compared: Mapping[str, str]
) -> RerunBasis:
    how = {"rtol": config.rtol, "atol": config.atol, "ignore": config.ignore, "network": config.network}
    variables = {
        name: sha256_bytes(value.encode("utf-8", "replace")) for name, value in _named(config).items()
    }
    return RerunBasis(
        code=_digest({"files": copied.code, "command": config.command}),
        inputs=_digest(copied.inputs),
        environment=_digest({**program.environment, "variables": variables}) if program else None,
        results=_digest({**how, "files": dict(compared)}),
    )


def _digest(value: object) -> str:
    return sha256_bytes(strict_json(value, indent=None).encode("utf-8", "replace"))
