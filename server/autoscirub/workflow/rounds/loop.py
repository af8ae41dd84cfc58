"""The unattended loop: verify, plan, let a program revise, verify again, until it ends.

Before a revision the files that it may touch are kept in the history; after it, what is locked is compared,
and a revision that touched any of it is put back and void. Killed at any instant, the next start puts the
files back and starts the program afresh.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.errors import CheckError, SandboxError, StateError, TrustError
from autoscirub.models import (
    CLIENTS,
    Answer,
    Change,
    Decision,
    Ended,
    Event,
    Infeasible,
    VerificationReport,
    now,
)
from autoscirub.sandbox import run_program
from autoscirub.store import (
    JsonFault,
    Project,
    Session,
    is_trusted,
    open_project,
    parse,
    read_regular,
    sha256_file,
    trust_view,
    write_atomic,
)
from autoscirub.store.history import path_problem
from autoscirub.workflow.checking import check_step, is_as_verified
from autoscirub.workflow.locks import require_rubric, require_settings
from autoscirub.workflow.rerunning import required_rerun, rerun_status
from autoscirub.workflow.rounds.agents import agent_command
from autoscirub.workflow.rounds.guard import Aside, RevisionGuard, project_files
from autoscirub.workflow.rounds.plan import continue_loop, plan_step
from autoscirub.workflow.rounds.rules import (
    FOLDER,
    PLAN,
    current_round,
    read_rounds,
    recorded_model,
)
from autoscirub.workflow.rounds.verification import EVENTS, Revision, RoundCheck, event_lines
from autoscirub.workflow.rounds.waiting import failed, unjudged, wait_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST_CHANGES = 1024 * 1024


@dataclass
class LoopStep:
    """What one step did, in words, and what it concluded where it verified."""

    did: str
    checked: RoundCheck | None = None


@dataclass
class LoopResult:
    """A loop, or one step of it."""

    steps: list[LoopStep] = field(default_factory=list)
    ended: Ended | None = None
    waiting: str = ""
    """Who must do what, where nothing is open but what a person alone can do: no ending, the same command resumes."""
    next: str = ""
    notices: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    """The answers that count, where this made no verification of its own."""

    @property
    def checked(self) -> RoundCheck | None:
        """The newest verification that this made."""
        return next((step.checked for step in reversed(self.steps) if step.checked is not None), None)


def round_step(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    go_on: bool = False,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> LoopResult:
    """One step of a round: verify; or plan; or, after a plan, close the round and verify again.

    A loop that has ended stays ended, and says so, unless `go_on`. Raises CheckError when the rubric is not
    frozen.
    """
    opened = open_project(project, state_dir)
    _require_rubric_frozen(opened)
    with opened.writing() as session:
        result = LoopResult(notices=session.notices)
        if _has_ended(opened, session, result, go_on=go_on):
            return result
        current = current_round(read_rounds(session))
        if current is not None and current.status == "open" and not go_on and _can_plan(session):
            planned = plan_step(opened, session)
            targets = ", ".join(target.criterion_id for target in planned.plan.targets)
            result.steps.append(LoopStep(f"planned round {planned.plan.round}: {targets}"))
            result.next = "revise the work, then: autoscirub round"
            result.decisions = _current_decisions(opened, session)
            return result
        result.steps.append(_verified(check_step(opened, session, fresh=fresh, progress=progress)))
        result.ended = result.steps[-1].checked.ended if result.steps[-1].checked else None
        result.next = "autoscirub audit" if result.ended else "autoscirub round   (it writes the plan)"
        _wait(result, "autoscirub round")
        return result


def run_rounds(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    revise: Sequence[str] | None = None,
    max_rounds: int | None = None,
    go_on: bool = False,
    as_is: bool = False,
    on_output: Callable[[bytes], None] | None = None,
    on_step: Callable[[LoopStep], None] | None = None,
) -> LoopResult:
    """Verify and revise until the loop ends by one of its rules.

    `revise`: the program that revises, as a person gave it, or the one word `claude` or `codex` for that agent; None
    takes `[rounds] revise` of the configuration, which must be trusted on this machine. It finds the plan in the file
    that AUTOSCIRUB_PLAN names and may write what it did to the one that AUTOSCIRUB_CHANGES names. `as_is` goes on from
    files that a kill left and that could not be saved. `on_output` gets the program's output, `on_step` each step.
    Raises CheckError, ConfigError, TrustError, TamperedError and StateError.
    """
    opened = open_project(project, state_dir)
    command = _command(opened, revise)
    _require_rubric_recorded(opened)
    with opened.writing() as session:
        result = LoopResult(notices=session.notices)
        loop = _Loop(opened, session, command, max_rounds, result, on_output, on_step)
        if _has_ended(opened, session, result, go_on=go_on):
            return result
        loop.resume(as_is=as_is)
        require_rubric(
            opened, session
        )  # only now: a revision that was cut off may have touched what is locked
        while result.ended is None and not (loop.failed or loop.waiting):
            loop.step()
        result.next = "autoscirub audit"
        if loop.failed:
            name, why = next(iter(loop.failed.items()))
            result.notices.append(f"{len(loop.failed)} of the criteria could not be judged ({name}: {why})")
            result.next = "autoscirub run, once the judge can be asked: it goes on from here"
        _wait(result, "autoscirub run")
        result.decisions = _current_decisions(opened, session)
        return result


class _Loop:
    def __init__(
        self,
        opened: Project,
        session: Session,
        command: list[str],
        max_rounds: int | None,
        result: LoopResult,
        on_output: Callable[[bytes], None] | None,
        on_step: Callable[[LoopStep], None] | None,
    ) -> None:
        self.opened, self.session, self.command, self.result, self.on_output = (
            opened,
            session,
            command,
            result,
            on_output,
        )
        self.on_step = on_step or (lambda _step: None)
        self.max_rounds = max_rounds
        self.saved = False
        """Whether the files are saved as they were before the revision that is due."""
        self.verified = False
        """Whether the open round was verified on the files as they are."""
        self.failed: dict[str, str] = {}
        """Criteria for which the judge failed: it is asked again by the next run."""
        self.waiting = False
        """Whether only a person can bring on what is open."""

    def step(self) -> None:
        current = current_round(read_rounds(self.session))
        if current is not None and current.status == "planned":
            self._revise(current.number or 0)
        elif current is None or not (self.verified or self._is_verified()):
            self._verify(Revision())
        else:
            planned = plan_step(self.opened, self.session)
            targets = ", ".join(target.criterion_id for target in planned.plan.targets)
            self._did(LoopStep(f"planned round {planned.plan.round}: {targets}"))

    def _is_verified(self) -> bool:
        """Whether the recorded verification holds, and a judge who was not there need not be asked now."""
        return _can_plan(self.session) and is_as_verified(self.opened, self.session)

    def _did(self, step: LoopStep) -> None:
        self.result.steps.append(step)
        self.on_step(step)

    def _verify(self, revision: Revision) -> RoundCheck:
        checked = check_step(self.opened, self.session, revision, max_rounds=self.max_rounds)
        self._did(_verified(checked))
        self.result.ended = checked.ended
        self.failed = failed(checked.report) if checked.report else {}
        self.waiting = wait_of(checked.report) is not None
        self.verified = True
        return checked

    def _revise(self, number: int) -> None:
        if not self.saved:
            self._keep(number)
        started = time.monotonic()
        self._did(LoopStep(f"revising in round {number}: {' '.join(self.command)}"))
        plan = self.opened.state.root / FOLDER / f"round-{number:03}" / PLAN
        limit = self.opened.config.rounds.revise_seconds
        locked = RevisionGuard(self.opened)
        wrong: str | None = None
        revision = Revision()
        with tempfile.TemporaryDirectory(prefix="autoscirub-changes-") as folder:
            changes = Path(folder) / "changes.json"
            environment = {"AUTOSCIRUB_PLAN": str(plan), "AUTOSCIRUB_CHANGES": str(changes)}
            try:
                done = run_program(
                    self.command,
                    cwd=self.opened.root,
                    seconds=limit,
                    environment=environment,
                    on_output=self.on_output,
                )
            finally:
                # First of all, whatever else went wrong: nothing may rest on a lock that was touched.
                touched = locked.put_back()
            self.saved = False
            if done.timed_out:
                wrong = f"the reviser did not end within {limit:g} s (rounds.revise_seconds)"
            elif done.status != 0:
                last = done.output.strip().splitlines()[-1:] or ["it printed nothing"]
                wrong = f"the reviser ended with status {done.status}: {last[0][:200]}"
            else:
                try:
                    revision = _read_changes(changes, time.monotonic() - started)
                except SandboxError as error:
                    wrong = str(error)
        if touched:
            what = ", ".join(touched)
            self._end(number, "void", f"the reviser changed what is locked, which was put back: {what}")
        elif wrong is not None:
            self._end(number, "failed", wrong)
        else:
            self._verify(revision)

    def _end(self, number: int, event: str, why: str) -> None:
        """A revision that does not count: nothing follows from it, and a person must look into it."""
        at = now()
        manifest = self.session.manifest
        ended = Ended(state="error", round=number, why=why, at=at)
        if manifest.loop is not None:
            manifest.loop = manifest.loop.model_copy(update={"ended": ended})
        state = {EVENTS: event_lines(self.session, [Event(event=event, round=number, at=at)])}
        self.session.record(event, at=at, facts={"round": number, "why": why}, state=state)
        self.result.ended = ended
        self._did(LoopStep(f"{event}: {why}"))

    def _keep(self, number: int) -> None:
        """Save the files that the reviser may touch, so that an interrupted revision can start afresh."""
        bounds = self.opened.config.audit
        left = bounds.keep_round
        files: dict[str, Path] = {}
        listed: list[dict[str, Any]] = []
        for name, path in project_files(self.opened):
            size = path.stat().st_size
            fits = size <= min(bounds.keep_file, left) and path_problem(f"before/{name}") is None
            listed.append({"path": name, "sha256": sha256_file(path), "size": size, "kept": fits})
            if fits:
                files[name] = path
                left -= size
        at = now()
        state = {EVENTS: event_lines(self.session, [Event(event="revising", round=number, at=at)])}
        facts = {"round": number, "before": listed, "reviser": _reviser(self.command)}
        self.session.record("revising", at=at, facts=facts, state=state, before=files)
        self.saved = True

    def resume(self, *, as_is: bool) -> None:
        """Put the files back as they were before a revision that was cut off."""
        history = self.session.history
        commits = history.commits() if history else []
        if not commits or commits[0].event != "revising" or history is None:
            return
        newest, number = commits[0], commits[0].facts.get("round")
        before = _listed_before(newest.facts.get("before"))
        lost: list[str] = []
        aside = Aside(self.opened, "cut-off")
        for name, entry in before.items():
            target = self.opened.root / name
            if target.is_file() and not target.is_symlink() and sha256_file(target) == entry:
                continue
            data = history.read(newest.oid, f"before/{name}")
            if data is None:
                lost.append(name)
            else:
                aside.keep(target)
                write_atomic(target, data, within=self.opened.root)
        if lost and not as_is:
            raise StateError(
                f"a revision of round {number} was cut off, and these files changed and were too large to keep: "
                f"{', '.join(lost[:10])}. Put them back yourself, or go on from them as they are with --as-is"
            )
        for name, path in list(project_files(self.opened)):
            if name not in before:
                aside.keep(path)
                path.unlink()
        self._restore_state(aside)
        self.saved = True
        self._did(
            LoopStep(f"round {number}: a revision was cut off; the files were put back, and it starts afresh")
        )
        if aside.folder is not None:
            self._did(LoopStep(f"what it had changed is kept in {aside.folder}"))

    def _restore_state(self, aside: Aside) -> None:
        """Put the state files back as the history has them, where the revision had touched them."""
        state = self.opened.state
        for name in sorted(self.session.recorded_state()):
            recorded = self.session.recorded_file(f"state/{name}")
            if recorded is not None and state.read_bytes(name) != recorded:
                aside.keep(state.root / name)
                state.write_bytes(name, recorded)


def _listed_before(listed: object) -> dict[str, str]:
    """The digests of the files before a revision, by path. Raises StateError: nothing is removed on a bad list."""
    entries = listed if isinstance(listed, list) else [None]
    found: dict[str, str] = {}
    for entry in entries:
        path = entry.get("path") if isinstance(entry, dict) else None
        digest = entry.get("sha256") if isinstance(entry, dict) else None
        named = isinstance(path, str) and not path.startswith("/") and ".." not in path.split("/")
        if not named or not isinstance(path, str) or not isinstance(digest, str):
            raise StateError(
                "history: the list of files before the revision that was cut off cannot be read, so nothing was put "
                "back; restore history.bundle from a backup or a clone"
            )
        found[path] = digest
    return found


def _read_changes(path: Path, seconds: float) -> Revision:
    """The reviser's own account of its work. Only words: what it really changed is measured."""
    try:
        data = read_regular(path, limit=_MOST_CHANGES)
        if data is None:
            return Revision(seconds=seconds)
        value = parse(data)
        changes = [Change.model_validate(entry) for entry in value.get("changes", [])]
        infeasible = [Infeasible.model_validate(entry) for entry in value.get("infeasible", [])]
    except (StateError, JsonFault, AttributeError, TypeError, ValidationError) as error:
        raise SandboxError(
            f"the reviser's AUTOSCIRUB_CHANGES file cannot be read: {str(error).splitlines()[0]}; expected "
            '{"changes": [{"criterion_id", "actions_completed"}], "infeasible": [{"criterion_id", "reason"}]}'
        ) from None
    return Revision(changes, infeasible, seconds)


def _command(opened: Project, revise: Sequence[str] | None) -> list[str]:
    if revise:
        return agent_command(revise[0]) if len(revise) == 1 and revise[0] in CLIENTS else list(revise)
    command = opened.config.rounds.revise
    if not command:
        raise CheckError(
            "run: no reviser; give one with --revise 'COMMAND', or revise yourself, step by step: autoscirub round"
        )
    if not is_trusted(trust_view(opened.config), str(opened.root)):
        raise TrustError(
            f"run: the project's configuration names a program to run ({' '.join(command)}), which is not trusted on "
            "this machine; look at it with `autoscirub trust`"
        )
    return list(command)


def _reviser(command: Sequence[str]) -> dict[str, str]:
    """Who revises, for the record: a client, or a program by its name alone, since its arguments may hold anything."""
    if len(command) > 1 and "autoscirub.workflow.rounds.agents" in command[:-1]:
        return {"client": command[-1]}
    return {"program": Path(command[0]).name[:200]}


def _require_rubric_frozen(opened: Project) -> None:
    with opened.reading() as session:
        require_rubric(opened, session)


def _require_rubric_recorded(opened: Project) -> None:
    with opened.reading() as session:
        if session.recorded_locks.rubric is None:
            require_rubric(opened, session)  # it says what is missing


def _has_ended(opened: Project, session: Session, result: LoopResult, *, go_on: bool) -> bool:
    """Whether the loop has ended and is not continued; then `result` says how, and what counts.

    An ending holds for the files that it was reached on. Raises TamperedError when what is locked changed.
    """
    loop = session.manifest.loop
    if loop is None or loop.ended is None:
        return False
    if go_on:
        ended = continue_loop(session)
        if ended is not None:
            result.steps.append(LoopStep(f"going on after {ended.state}"))
        return False
    require_rubric(opened, session)
    require_settings(opened, session)
    if loop.ended.state != "error" and not is_as_verified(opened, session):
        why = f"the loop ended ({loop.ended.state}), and what is judged has changed since, or cannot be determined"
        result.steps.append(LoopStep(f"nothing was done: {why}; `autoscirub check` verifies again"))
        result.next = "autoscirub check"
        result.decisions = [
            Decision(
                subject="requirements",
                question="Are the requirements met?",
                answer=Answer.INCONCLUSIVE,
                word="stale",
                evidence=[],
                open=[f"{why}: run `autoscirub check`"],
                at=now(),
            )
        ]
        return True
    result.ended = loop.ended
    result.steps.append(
        LoopStep(f"nothing was done: the loop has ended, {loop.ended.state}; --continue goes on")
    )
    result.next = "autoscirub audit, or go on with --continue"
    result.decisions = _current_decisions(opened, session)
    return True


def _can_plan(session: Session) -> bool:
    """Whether anything is open in the recorded verification that a revision could close."""
    report = recorded_model(session, VerificationReport.file_name, VerificationReport)
    unread = unjudged(report) if report is not None else {}
    return not unread or any(
        not result.satisfied and result.criterion_id not in unread
        for result in (report.criteria if report is not None else ())
    )


def _wait(result: LoopResult, command: str) -> None:
    """Say in `result` who must do what, where the loop waits for a person."""
    wait = wait_of(result.checked.report) if result.checked is not None else None
    if wait is not None and result.ended is None:
        result.waiting = wait.note
        result.next = f"{wait.command}, then {command}: it goes on from here"


def _current_decisions(opened: Project, session: Session) -> list[Decision]:
    """What counts where nothing was verified just now: the recorded answers, and a rerun where one is required."""
    report = recorded_model(session, VerificationReport.file_name, VerificationReport)
    return [
        *(report.decisions if report else []),
        *required_rerun(rerun_status(opened, session, may="ask")),
    ]


def _verified(checked: RoundCheck) -> LoopStep:
    report = checked.report
    if report is None:
        return LoopStep("checked", checked)
    counts = f"{report.summary.passed} of {len(report.criteria)} criteria satisfied"
    asked = f"{len(checked.evaluated)} re-evaluated, {len(checked.reused)} reused"
    return LoopStep(f"verified round {report.round}: {counts} ({asked})", checked)
