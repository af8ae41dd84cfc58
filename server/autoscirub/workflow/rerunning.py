"""Rerunning a project's code: when it is run, when the kept answer stands, and what is said where neither is so."""

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
    """What is known of a rerun now."""

    decision: Decision
    """Its own answer where it stands; else *inconclusive*, with why."""
    record: RerunRecord | None = None
    """The rerun that the decision is of."""
    ran: bool = False
    """Whether it ran just now, so that the record is to be kept."""
    elsewhere: bool = False
    """Whether it was not this machine that ran it, in this place."""
    required: bool = False
    """Whether the configuration or a policy asks for it, so that it counts in every exit status."""
    output: list[str] = field(default_factory=list)
    """What the command printed last where it failed just now: shown, and kept nowhere."""

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

    The kept answer stands while code, inputs, environment and results are what it is bound to, and while this machine
    has no better isolation than it was reached under. With `may` *run* one
    that does not stand, or that another machine brought, is run again; `fresh` runs in any case. What may not be
    started here is said, and never passes for run; where a rerun is required, one that was run elsewhere does not
    pass for one either.
    """
    required = opened.config.rerun.required
    if opened.config.run is None:
        if not required:
            return None
        return replace(_not_rerun(f"{REQUIRED}, and no [run] command says how"), required=True)
    standing = _standing(opened, session, may, fresh=fresh)
    if required and standing.elsewhere:
        [said, *_] = standing.decision.open
        standing = _not_rerun(f"{REQUIRED}: {said} ({standing.decision.word})")
    return replace(standing, required=required)


def _standing(opened: Project, session: Session, may: May, *, fresh: bool) -> RerunStatus:
    trusted = is_trusted(trust_view(opened.config), str(opened.root))
    may = may if trusted else "look"
    kept = recorded_model(session, RerunRecord.file_name, RerunRecord)
    data = session.kept(f"state/{RerunRecord.file_name}")
    here = data is not None and session.history is not None and session.history.produced_locally(data)
    why = NOT_TRUSTED_HERE if not trusted else "not rerun; `autoscirub rerun` does"
    try:
        if kept is None or not kept.told or fresh:
            if may == "run":
                return _ran(opened)
            return _not_rerun(why, _came_to_nothing(kept))
        changed = rerun_basis(opened, ask=may != "look").changed_since(kept.basis)
        changed += ["isolation"] if _weaker(kept, may) else []
        if (changed or not here) and may == "run":
            return _ran(opened)
    except SandboxError as error:
        return _not_rerun(str(error).replace(f"{opened.root}/", ""))
    if changed:
        stale = (
            f"the rerun of {kept.at} ({kept.decision.word}) is out of date: {_joined(changed)} changed since"
        )
        if kept.basis.environment == TOO_LARGE:
            stale += " (the environment is too large to be told)"
        return _not_rerun(f"{why}; {stale}" if not trusted else f"{stale}; `autoscirub rerun` runs it again")
    if here:
        return RerunStatus(kept.decision, kept)
    said = f"{why}; kept from {kept.at}, when it was run elsewhere"
    word = f"{kept.decision.word} elsewhere"
    decision = kept.decision.model_copy(update={"word": word, "open": [said, *kept.decision.open]})
    return RerunStatus(decision, kept, elsewhere=True)


def required_rerun(standing: RerunStatus | None) -> list[Decision]:
    """The decision of a rerun that is required, so that it counts beside what a command is over; else nothing."""
    return [standing.decision] if standing is not None and standing.required else []


def _weaker(kept: RerunRecord, may: May) -> bool:
    """Whether a kept rerun ran as a plain process, and this machine could keep the earlier results from it."""
    if kept.level == "bubblewrap":
        return False
    if may == "look":  # nothing may be started to try it, so one that refused then is taken to refuse still
        return not bubblewrap_missing() and not kept.refused
    return available()[0] == "bubblewrap"


def _came_to_nothing(kept: RerunRecord | None) -> str:
    if kept is None:
        return ""
    first = kept.decision.open[0] if kept.decision.open else kept.decision.word
    return f"the rerun of {kept.at} came to no answer: {first}"


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
    """Whether the results come out of the code again; the answer is recorded, with what it is bound to.

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


def record_rerun(session: Session, standing: RerunStatus) -> None:
    """A step of its own for a rerun that ran just now. Raises StateError when what it was compared with changed."""
    standing.remember(session)
    reached = standing.based_on()
    facts = {"answer": standing.decision.answer.value, "word": standing.decision.word}
    session.record(
        "rerun",
        at=standing.decision.at,
        facts=facts,
        judged=reached,
        based_on=reached,
        state=standing.files(),
    )
