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
from autoscirub.checks.rerun.copying import Copied, Layout, copy_project, holding_any, matches, stamps, walk
from autoscirub.checks.rerun.program import Program, find_program
from autoscirub.checks.results import find_results
from autoscirub.errors import ConfigError, PathRefused, SandboxError, TrustError
from autoscirub.models import Answer, DecidedBy, Decision, Evidence, now, strict_json
from autoscirub.sandbox import Isolated, Isolation, Limits, remove_tree, run_isolated
from autoscirub.store import Project, read_regular, sha256_bytes

if TYPE_CHECKING:
    from autoscirub.models import RunConfig

__all__ = ["RERUN_WORDS", "Basis", "Rerun", "rerun", "rerun_basis"]

RERUN_WORDS: dict[Answer, str] = {
    Answer.HOLDS: "reproduced",
    Answer.DOES_NOT_HOLD: "moved",
    Answer.COULD_NOT_BE_TOLD: "could not be told",
}
"""Reproduced, never computed: numbers that are written into the code come out of it too."""

NOT_TRUSTED = "not rerun: not trusted"
_QUESTION = "Do the results come out of the code again?"
_FILE_BYTES = 512 * 1024 * 1024
_KEPT = 2_000
"""Comparisons that are kept, of each of the two kinds: those that agree, and all others."""
_EVIDENCE = 100
_SAID_LINES = 15
_OPEN = 20


@dataclass(frozen=True)
class Basis:
    """What a rerun's Decision is bound to: SHA-256 of each, over canonical JSON."""

    code: str
    """Every file of the copy that is no input, and the command."""
    inputs: str
    environment: str
    """Interpreter, installed distributions, platform, and the variables that `[run] env` names."""
    results: str
    """The results before, and how they are compared."""

    @property
    def digest(self) -> str:
        """One digest over all of it."""
        return _digest([self.code, self.inputs, self.environment, self.results])


@dataclass(frozen=True)
class Rerun:
    """A rerun with all that must be said beside its answer."""

    decision: Decision
    comparisons: list[Comparison] = field(default_factory=list)
    """At most 2,000 that agree and 2,000 that do not; `counts` has them all."""
    counts: dict[Status, int] = field(default_factory=dict)
    basis: Basis | None = None
    ran: Isolated | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    """What was not copied, with why."""

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


def rerun_basis(project: Project) -> Basis:
    """What a rerun now would be bound to, without running the command: for telling that an answer is stale.

    Runs the interpreter outside, so only in a trusted project. Raises as `rerun` does.
    """
    config = _configured(project)
    layout = _layout(project, config)
    scratch = Path(tempfile.mkdtemp(prefix="rerun-")).resolve()
    try:
        copied = copy_project(layout, scratch / "project")
    finally:
        remove_tree(scratch)
    program = find_program(config.command, project.root)
    before, _ = _read_results(project.root, layout, _result_names(project, config))
    return _basis(config, copied, program, before)


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
        return Rerun(_undecided(why, None, None))
    copy = scratch / "project"
    try:
        copied = copy_project(layout, copy)
        program = find_program(config.command, project.root)
    except SandboxError as error:
        return Rerun(_undecided(str(error), None, None))
    basis = _basis(config, copied, program, before)
    inside = [folder for folder in program.readable if folder.is_relative_to(project.root)]
    if holding := holding_any(inside, before.values()):
        why = f"{_some([str(path.relative_to(project.root)) for path in holding])}: holds the same bytes as an output"
        return Rerun(_undecided(f"{why}, where the program reads; move it away", basis, None), basis=basis)
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
        return Rerun(_undecided(failure, basis, ran, copied), basis=basis, ran=ran, left_out=copied.left_out)
    after, unread = _read_results(copy, Layout(copy, scratch, layout.outputs, ()), names)
    tally = _Tally()
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
    decision = _decide(tally, config, basis, ran, copied, absent, unknown)
    return Rerun(decision, tally.kept, tally.counts, basis, ran, copied.left_out)


class _Tally:
    """Every comparison counted, and enough of them kept."""

    def __init__(self) -> None:
        self.agreeing: list[Comparison] = []
        self.other: list[Comparison] = []
        self.counts: dict[Status, int] = dict.fromkeys(Status, 0)
        self.unclear: list[Unclear] = []

    def add(self, found: Comparison | Unclear) -> None:
        if isinstance(found, Unclear):
            self.unclear.append(found)
            return
        self.counts[found.status] += 1
        kept = self.agreeing if found.status in (Status.EQUAL, Status.WITHIN_TOLERANCE) else self.other
        if len(kept) < _KEPT:
            kept.append(found)

    @property
    def kept(self) -> list[Comparison]:
        return [*self.other, *self.agreeing]


def _decide(
    tally: _Tally,
    config: RunConfig,
    basis: Basis,
    ran: Isolated,
    copied: Copied,
    absent: list[str],
    unknown: list[str],
) -> Decision:
    counts = tally.counts
    agreeing = counts[Status.EQUAL] + counts[Status.WITHIN_TOLERANCE]
    notes = [f"{found.path}: could not be compared: {found.why}" for found in tally.unclear]
    if counts[Status.MOVED] or counts[Status.MISSING]:
        answer = Answer.DOES_NOT_HOLD
    elif tally.unclear or not agreeing:
        answer = Answer.COULD_NOT_BE_TOLD
        notes += [] if agreeing or tally.unclear else ["nothing was compared: all of it is new or ignored"]
    else:
        answer = Answer.HOLDS
    notes += [f"{name}: not there before, and not written" for name in absent]
    notes += [f"{shown(name)}: a declared input, and no file of the copy" for name in unknown]
    if counts[Status.NEW]:
        new = [found.name for found in tally.other if found.status is Status.NEW]
        notes.append(f"{counts[Status.NEW]:,} new, with nothing to compare with: {', '.join(new[:5])}")
    return Decision(
        subject="rerun",
        question=_QUESTION,
        answer=answer,
        word=RERUN_WORDS[answer],
        decided_by=DecidedBy.RERUN,
        evidence=_evidence(tally, config, ran),
        open=[*notes, *_always_open(ran, copied)],
        inputs_digest=basis.digest,
        at=now(),
    )


def _undecided(why: str, basis: Basis | None, ran: Isolated | None, copied: Copied | None = None) -> Decision:
    answer = Answer.COULD_NOT_BE_TOLD
    return Decision(
        subject="rerun",
        question=_QUESTION,
        answer=answer,
        word=RERUN_WORDS[answer],
        decided_by=DecidedBy.RERUN,
        evidence=_said(ran) if ran else [],
        open=[why, *(_always_open(ran, copied) if ran and copied else [])],
        inputs_digest=basis.digest if basis else None,
        at=now(),
    )


def _evidence(tally: _Tally, config: RunConfig, ran: Isolated) -> list[Evidence]:
    counted = ", ".join(
        f"{count:,} {status.replace('_', ' ')}" for status, count in tally.counts.items() if count
    )
    note = f"{counted or 'nothing compared'}; rtol {config.rtol:g}, atol {config.atol:g}"
    found = [
        Evidence(path=one.path, key=one.key, value=_bounded(one.before), note=_note(one))
        for one in tally.kept[:_EVIDENCE]
    ]
    return [Evidence(key="values", note=note), Evidence(key="isolation", note=_isolation_note(ran)), *found]


def _note(one: Comparison) -> str:
    if one.status is Status.EQUAL:
        return "equal"
    if one.status is Status.MISSING:
        return "missing: did not come out again"
    if one.status is Status.NEW:
        return f"new: {_value(one.after)}"
    return f"{one.status.replace('_', ' ')}: {_value(one.before)} before, {_value(one.after)} after"


def _value(value: object) -> str:
    return shown(value if isinstance(value, str) else repr(value))


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return shown(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**64):
        return value
    return shown(repr(value))


def _isolation_note(ran: Isolated) -> str:
    return f"{ran.isolation}; enforced: {', '.join(ran.enforced)}"


def _always_open(ran: Isolated, copied: Copied) -> list[str]:
    """What no rerun settles, and what this one did not enforce."""
    same = [path for path, why in copied.left_out.items() if why.startswith("holds")]
    links = [path for path, why in copied.left_out.items() if "link" in why or why.startswith("cannot")]
    return [
        "reproduced is not computed: numbers that are written into the code come out again too",
        *(f"not enforced ({ran.isolation}): {word}" for word in ran.not_enforced),
        *([f"left out, with the same bytes as an output: {_some(same)}"] if same else []),
        *([f"left out, a link out of the project or unreadable: {_some(links)}"] if links else []),
    ]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _OPEN:,} more" if len(names) > _OPEN else ""
    return ", ".join(shown(name) for name in names[:_OPEN]) + more


def _said(ran: Isolated) -> list[Evidence]:
    lines = [shown(line) for line in ran.output.splitlines() if line.strip()][-_SAID_LINES:]
    said = [Evidence(key="last output", note="\n".join(lines))] if lines else []
    return [Evidence(key="isolation", note=_isolation_note(ran)), *said]


def _failure(ran: Isolated, changed: list[str]) -> str | None:
    if changed:
        return f"the project's own files changed while it ran: {_some(changed)}; run it again when nothing writes there"
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


def _basis(config: RunConfig, copied: Copied, program: Program, before: dict[str, bytes]) -> Basis:
    compared = {"rtol": config.rtol, "atol": config.atol, "ignore": config.ignore, "network": config.network}
    variables = {
        name: sha256_bytes(value.encode("utf-8", "replace")) for name, value in _named(config).items()
    }
    return Basis(
        code=_digest({"files": copied.code, "command": config.command}),
        inputs=_digest(copied.inputs),
        environment=_digest({**program.environment, "variables": variables}),
        results=_digest({**compared, "files": {path: sha256_bytes(data) for path, data in before.items()}}),
    )


def _digest(value: object) -> str:
    return sha256_bytes(strict_json(value, indent=None).encode("utf-8", "replace"))
