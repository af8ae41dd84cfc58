"""Rerunning a project's code: when it runs, when a cached rerun still counts, and what is reported otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from autoscirub.checks.rerun import last_output, rerun_basis, rerun_record
from autoscirub.checks.rerun import rerun as run_again
from autoscirub.errors import SandboxError
from autoscirub.models import TOO_LARGE, Answer, DecidedBy, Decision, RerunRecord, now, strict_json
from autoscirub.sandbox import available, bubblewrap_missing
from autoscirub.store import is_trusted, open_project, trust_view
from autoscirub.workflow.rounds import recorded_model

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.checks.rerun import Rerun
    from autoscirub.store import Project, Session

May = Literal["look", "ask", "run"]
"""What may be started: nothing; the interpreter outside, to ask what is installed; the project's command. The last two
only in a trusted project."""

NOT_RERUN = "not rerun"
REQUIRED = "a rerun is required here"
NOT_TRUSTED_HERE = "not rerun here: not trusted (`autoscirub trust` shows what would run, and asks)"


@dataclass(frozen=True)
class RerunStatus:
    """What is known of the rerun now."""

    decision: Decision
    """The rerun's answer where it is up to date; else *inconclusive*, with the reason."""
    record: RerunRecord | None = None
    """The rerun that the decision is of."""
    ran: bool = False
    """Whether it ran just now, so that it has to be recorded."""
    elsewhere: bool = False
    """Whether it ran on another machine, or in another place on this one."""
    required: bool = False
    """Whether the configuration or a policy asks for it, so that it counts in every exit status."""
    output: list[str] = field(default_factory=list)
    """The end of the command's output where it failed just now: shown, and stored nowhere."""

    @property
    def word(self) -> str:
        """For the line of an outcome: `rerun: reproduced`, or `not rerun`."""
        if self.record is not None:
            return f"rerun: {self.decision.word}"
        return f"{NOT_RERUN}, which is required here" if self.required else NOT_RERUN

    def files(self) -> dict[str, bytes | None]:
        """The state file of a rerun that ran just now."""
        if not self.ran or self.record is None:
            return {}
        return {RerunRecord.file_name: strict_json(self.record).encode("utf-8")}

    def based_on(self) -> dict[str, str]:
        """The results that it was compared with, with their digests."""
        return dict(self.record.results) if self.record is not None else {}

    def remember(self, session: Session) -> None:
        """Keep, outside of the project, that it was this machine that ran it."""
        for data in self.files().values():
            if session.history is not None and data is not None:
                session.history.remember_report(data)


def rerun_status(opened: Project, session: Session, *, may: May, fresh: bool = False) -> RerunStatus | None:
    """How the rerun stands; None where nothing says how to run.

    A cached rerun counts while the code, inputs, environment and results that it is bound to are unchanged, and while
    this machine has no better isolation than it ran under. With `may` *run*, one that does not count, or that another
    machine brought, is run again; `fresh` runs in any case. What may not be started here is reported, and never
    passes for a rerun; where a rerun is required, one that ran elsewhere does not pass for one either.
    """
    required = opened.config.rerun.required
    if opened.config.run is None:
        if not required:
            return None
        return replace(_not_rerun(f"{REQUIRED}, and no [run] command says how"), required=True)
    status = _status(opened, session, may, fresh=fresh)
    if required and status.elsewhere:
        [reason, *_] = status.decision.open
        status = _not_rerun(f"{REQUIRED}: {reason} ({status.decision.word})")
    return replace(status, required=required)


def _status(opened: Project, session: Session, may: May, *, fresh: bool) -> RerunStatus:
    trusted = is_trusted(trust_view(opened.config), str(opened.root))
    may = may if trusted else "look"
    recorded = recorded_model(session, RerunRecord.file_name, RerunRecord)
    data = session.recorded_file(f"state/{RerunRecord.file_name}")
    here = data is not None and session.history is not None and session.history.produced_locally(data)
    why = NOT_TRUSTED_HERE if not trusted else "not rerun; `autoscirub rerun` does"
    try:
        if recorded is None or not recorded.conclusive or fresh:
            if may == "run":
                return _ran(opened)
            return _not_rerun(why, _inconclusive_note(recorded))
        changed = rerun_basis(opened, ask=may != "look").changed_since(recorded.basis)
        changed += ["isolation"] if _weaker(recorded, may) else []
        if (changed or not here) and may == "run":
            return _ran(opened)
    except SandboxError as error:
        return _not_rerun(str(error).replace(f"{opened.root}/", ""))
    if changed:
        of = f"{recorded.at} ({recorded.decision.word})"
        stale = f"the rerun of {of} is out of date: {_joined(changed)} changed since"
        if recorded.basis.environment == TOO_LARGE:
            stale += " (the environment is too large to be compared)"
        return _not_rerun(f"{why}; {stale}" if not trusted else f"{stale}; `autoscirub rerun` runs it again")
    if here:
        return RerunStatus(recorded.decision, recorded)
    reason = f"{why}; recorded at {recorded.at}, when it ran elsewhere"
    word = f"{recorded.decision.word} elsewhere"
    decision = recorded.decision.model_copy(update={"word": word, "open": [reason, *recorded.decision.open]})
    return RerunStatus(decision, recorded, elsewhere=True)


def required_rerun(status: RerunStatus | None) -> list[Decision]:
    """The decision of a rerun that is required, so that it counts in every command's answer; else nothing."""
    return [status.decision] if status is not None and status.required else []


def _weaker(recorded: RerunRecord, may: May) -> bool:
    """Whether a cached rerun ran as a plain process, and this machine could hide the earlier results from it."""
    if recorded.level == "bubblewrap":
        return False
    if may == "look":  # nothing may be started to try it, so one that refused then is taken to refuse still
        return not bubblewrap_missing() and not recorded.refused
    return available()[0] == "bubblewrap"


def _inconclusive_note(recorded: RerunRecord | None) -> str:
    if recorded is None:
        return ""
    first = recorded.decision.open[0] if recorded.decision.open else recorded.decision.word
    return f"the rerun of {recorded.at} was inconclusive: {first}"


def _ran(opened: Project) -> RerunStatus:
    done = run_again(opened, trusted=True)
    record = rerun_record(opened, done)
    decision = record.decision if record else done.decision
    return RerunStatus(decision, record, ran=record is not None, output=last_output(done))


def _not_rerun(*why: str) -> RerunStatus:
    decision = Decision(
        subject="rerun",
        question="Do the results come out of the code again?",
        answer=Answer.INCONCLUSIVE,
        word=NOT_RERUN,
        decided_by=DecidedBy.RERUN,
        open=[line for line in why if line],
        at=now(),
    )
    return RerunStatus(decision)


def _joined(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def rerun(
    project: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    isolation: Literal["best", "bubblewrap", "process"] = "best",
) -> Rerun:
    """Run the code and say whether the results come out again; the answer is recorded, with what it is bound to.

    Raises TrustError when the command is not trusted on this machine and in this place, ConfigError without a
    `[run] command`, SandboxError when an isolation that was asked for cannot be had, and StateError when the results
    changed while it ran.
    """
    opened = open_project(project, state_dir)
    trusted = is_trusted(trust_view(opened.config), str(opened.root))
    done = run_again(opened, trusted=trusted, isolation=isolation)
    record = rerun_record(opened, done)
    if record is not None:
        with opened.writing() as session:
            record_rerun(session, RerunStatus(record.decision, record, ran=True))
    return done


def record_rerun(session: Session, status: RerunStatus) -> None:
    """Record a rerun that ran just now, as a step of its own. Raises StateError when its results changed."""
    status.remember(session)
    basis = status.based_on()
    facts = {"answer": status.decision.answer.value, "word": status.decision.word}
    session.record(
        "rerun",
        at=status.decision.at,
        facts=facts,
        judged=basis,
        based_on=basis,
        state=status.files(),
    )
