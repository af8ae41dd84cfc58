"""Runs one rerun: copy, run, compare, decide."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.checks.rerun.basis import basis_of, digests_of, named_variables
from autoscirub.checks.rerun.comparison import compare_file, is_ignored
from autoscirub.checks.rerun.copying import (
    SAME_BYTES,
    Copied,
    CopyLayout,
    copy_project,
    holding_any,
    matches,
    stamps,
)
from autoscirub.checks.rerun.decision import Tally, decide, some, undecided
from autoscirub.checks.rerun.pairs import Tolerance, Unclear, ValueComparison, ValueStatus
from autoscirub.checks.rerun.plan import Plan, configured, planned, read_results
from autoscirub.checks.rerun.program import find_program
from autoscirub.checks.rerun.undeclared_outputs import marks, undeclared_outputs
from autoscirub.errors import SandboxError, TrustError
from autoscirub.sandbox import Isolated, Isolation, Limits, bubblewrap_missing, remove_tree, run_isolated

if TYPE_CHECKING:
    from autoscirub.models import Decision, RerunBasis, RunConfig
    from autoscirub.store import Project


@dataclass(frozen=True)
class Rerun:
    """A rerun: its Decision, and everything that is reported with it."""

    decision: Decision
    comparisons: list[ValueComparison] = field(default_factory=list)
    """At most 2,000 that agree and 2,000 that do not; `counts` has them all."""
    counts: dict[ValueStatus, int] = field(default_factory=dict)
    basis: RerunBasis | None = None
    ran: Isolated | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    """What was not copied, with why."""
    compared: dict[str, str] = field(default_factory=dict)
    """The results as they lay in the project, each with its SHA-256."""
    refused: bool = False
    """Whether it ran as a plain process because bubblewrap, which is there, could not be used."""

    @property
    def isolation(self) -> str:
        """In one line, how isolated it ran."""
        return self.ran.summary if self.ran else "isolation: nothing ran"


def rerun(
    project: Project, *, trusted: bool, isolation: Isolation = "best", limits: Limits | None = None
) -> Rerun:
    """Run the project's command in a fresh copy without its results, and compare what comes out.

    `limits`: the wall clock in it is replaced by `[run] seconds`. Raises TrustError when not `trusted`, ConfigError
    when no command is configured, PathRefused for outputs that are no paths of the project, and SandboxError when
    `isolation` cannot be had. A run that fails, is cut off or says nothing about a result is *inconclusive*.
    """
    config = configured(project)
    if not trusted:
        raise TrustError(
            "not rerun: not trusted; look at what would run with `autoscirub trust`, and allow it"
        )
    plan = planned(project)
    scratch = Path(tempfile.mkdtemp(prefix="rerun-")).resolve()
    try:
        done = _rerun(project, config, plan, scratch, isolation, limits or Limits())
    finally:
        remove_tree(scratch)
    weaker = isolation == "best" and done.ran is not None and done.ran.isolation == "process"
    return replace(done, refused=weaker and not bubblewrap_missing())


def _rerun(
    project: Project,
    config: RunConfig,
    plan: Plan,
    scratch: Path,
    isolation: Isolation,
    limits: Limits,
) -> Rerun:
    layout, names = plan.layout, plan.names
    stamped = stamps(layout)
    before, unclear = read_results(project.root, layout, names)
    if not before and not unclear:
        why = f"there are no results to compare with ({', '.join(names)}); run the project's code first"
        return Rerun(undecided(why, None, None))
    copy = scratch / "project"
    try:
        plan.refuse_undeclared()
        copied = copy_project(layout, copy)
        program = find_program(config.command, project.root)
    except SandboxError as error:
        return Rerun(undecided(str(error), None, None))
    compared = digests_of(before)
    basis = basis_of(config, copied, program, compared)
    inside = [folder for folder in program.readable if folder.is_relative_to(project.root)]
    if holding := holding_any(inside, before.values()):
        why = f"{some([str(path.relative_to(project.root)) for path in holding])}: {SAME_BYTES}"
        held = f"{why}, where the program reads; move it away"
        return Rerun(undecided(held, basis.digest, None), basis=basis, compared=compared)
    inside_copy = CopyLayout(copy, scratch, layout.outputs, ())
    marked = marks(inside_copy)
    bounds = replace(limits, seconds=config.seconds)
    ran = run_isolated(
        program.command,
        cwd=copy,
        isolation=isolation,
        limits=bounds,
        network=config.network,
        environment={**named_variables(config), "PATH": program.path},
        readable=program.readable,
        mounted_as=project.root,
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
    after, unread = read_results(copy, inside_copy, names)
    tally = _compared(config, before, after, {**unclear, **unread})
    known = [path for path in copied.inputs if not path.endswith("/")]
    remarks = [
        *(
            f"{printable(name)}: not there before, and not written"
            for name in plan.declared
            if not any(matches(path, [name]) for path in (*before, *after))
        ),
        *(
            f"{printable(name)}: a declared input, and no file of the copy"
            for name in config.inputs
            if not any(matches(path, [name]) for path in known)
        ),
    ]
    if undeclared := undeclared_outputs(inside_copy, marked, copied):
        remarks.append(
            f"written or removed outside of the outputs, and compared with nothing: {some(undeclared)}"
        )
    if program.unidentified:
        remarks.append(f"what it runs on {program.unidentified}: no later check takes this answer")
    unseen = [path for path in plan.deciding if path in {*before, *unclear} - tally.compared]
    decision = decide(tally, config, basis.digest, ran, copied, remarks, unseen)
    return Rerun(decision, tally.recorded, tally.counts, basis, ran, _printable_paths(copied), compared)


def _compared(
    config: RunConfig, before: dict[str, bytes], after: dict[str, bytes], unclear: dict[str, str]
) -> Tally:
    tally, tolerance = Tally(), Tolerance(config.rtol, config.atol)
    for path in dict.fromkeys([*before, *after]):
        if path in unclear:
            continue
        for found in compare_file(path, before.get(path), after.get(path), tolerance):
            (tally.ignore if is_ignored(found, config.ignore) else tally.add)(found)
    for path, why in unclear.items():
        one = Unclear(path, why)
        (tally.ignore if is_ignored(one, config.ignore) else tally.add)(one)
    return tally


def _printable_paths(copied: Copied) -> dict[str, str]:
    return {printable(path, 1024): why for path, why in copied.left_out.items()}


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
