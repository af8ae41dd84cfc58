"""The models of the tools' answers: small, typed, with the one next call. Links lead to the full documents."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

AnswerWord = Literal["holds", "does_not_hold", "inconclusive"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Next(_Part):
    """The one call to make next; without a tool, why says what then."""

    tool: str | None
    arguments: dict[str, Any] = Field(default_factory=dict)
    why: str


class Brief(_Part):
    """A Decision, in brief."""

    subject: str
    question: str
    answer: AnswerWord
    word: str
    decided_by: str
    evidence: list[str] = Field(default_factory=list)
    open: list[str] = Field(default_factory=list, description="what was not settled")


class Gap(_Part):
    """A criterion, with what is missing and what would close it."""

    criterion_id: str
    status: str
    gap: str = ""
    required_actions: list[str] = Field(default_factory=list)
    evidence_found: list[str] = Field(default_factory=list)
    reused_from_round: int | None = None


class Progress(_Part):
    """How far a job is."""

    done: int
    total: int


class ToolAnswer(_Part):
    """The fields of every answer."""

    project: str = Field(description="the project's folder")
    state_dir: str = Field(description="its state directory")
    next: Next
    notices: list[str] = Field(default_factory=list)
    left_out: dict[str, int] = Field(
        default_factory=dict, description="how many entries of a list were left out, to keep this short"
    )
    whole: str | None = Field(default=None, description="the resource that has all of it")


class SlowAnswer(ToolAnswer):
    """The fields of an answer that may come later: while running, job names what to wait for."""

    state: Literal["done", "running", "failed", "cancelled"] = "done"
    job: str | None = None
    progress: Progress | None = None


class NextAnswer(ToolAnswer):
    """Where a project stands."""

    round: int | None = Field(default=None, description="of the newest verification")
    ended: str | None = Field(default=None, description="how the loop of rounds ended; null while it goes on")
    not_satisfied: list[str] = Field(default_factory=list, description="criteria")
    decisions: list[Brief] = Field(default_factory=list)
    faults: list[str] = Field(default_factory=list)
    jobs: list[str] = Field(default_factory=list, description="under way")


class WriteAnswer(ToolAnswer):
    """A file as it lies there now."""

    file: str
    sha256: str
    changed: bool
    faults: list[str] = Field(default_factory=list, description="what a freeze would refuse of it")
    warnings: list[str] = Field(default_factory=list)


class FreezeAnswer(ToolAnswer):
    """What is fixed."""

    dry_run: bool
    locked: list[str] = Field(default_factory=list)
    decisions: list[Brief] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class CheckAnswer(SlowAnswer):
    """Everything that is set up, decided once."""

    answer: AnswerWord | None = Field(default=None, description="over all of it; null while it runs")
    outcome: str | None = Field(default=None, description="of the predictions: verified, refuted or failed")
    headline: str | None = None
    round: int | None = None
    all_satisfied: bool | None = Field(default=None, description="null where no criteria were verified")
    satisfied: int | None = None
    criteria: int | None = None
    ended: str | None = Field(default=None, description="how the loop of rounds ended; null while it goes on")
    why_ended: str | None = None
    open: list[Gap] = Field(default_factory=list, description="the criteria that are not satisfied")
    decisions: list[Brief] = Field(default_factory=list, description="what else was decided")


class PlanAnswer(ToolAnswer):
    """The plan as it is recorded."""

    round: int
    targets: list[str]


class EvaluateAnswer(ToolAnswer):
    """An expression's value, or why it has none."""

    answer: AnswerWord = Field(
        description="holds for True, does_not_hold for False; any other value is given, and decides nothing"
    )
    value: Any = None
    message: str


class ArtifactAnswer(ToolAnswer):
    """Whether a file is what it should be."""

    decision: Brief


class CriterionAnswer(SlowAnswer):
    """The result of one criterion now."""

    criterion: Gap | None = None
    decision: Brief | None = None


class BlindAnswer(SlowAnswer):
    """A blinded workspace, for inspection."""

    path: str | None = None
    files: int | None = None
    bytes: int | None = None
    visible: list[str] = Field(default_factory=list)
    withheld: list[str] = Field(default_factory=list, description="what was left out, each with why")


class JudgeToolAnswer(SlowAnswer):
    """The judge's answers."""

    decisions: list[Brief] = Field(default_factory=list)
    calls: int | None = None
    cached: int | None = Field(
        default=None, description="questions with a cached result, so that nobody was asked"
    )
    spent: str | None = None


class RerunAnswer(SlowAnswer):
    """Whether the code produced the same results again."""

    decision: Brief | None = None
    counts: dict[str, int] = Field(default_factory=dict)


class VerifyAnswer(SlowAnswer):
    """The outcome of the predictions."""

    outcome: str | None = None
    headline: str | None = None
    decisions: list[Brief] = Field(default_factory=list)


class JobToolAnswer(SlowAnswer):
    """A job, with its tool's answer once it is done."""

    tool: str
    answer: dict[str, Any] | None = Field(
        default=None, description="the whole answer of that tool, once done"
    )
    error: str | None = None


class StatusAnswer(NextAnswer):
    """Where a project stands, with its files."""

    project_source: str
    state_source: str
    config: str | None
    results: str
    results_exist: bool
    files: list[str] = Field(default_factory=list)


class ValidateAnswer(ToolAnswer):
    """State files held against their schemas."""

    ok: bool
    files: list[str] = Field(default_factory=list)
    faults: list[str] = Field(default_factory=list)


class AuditAnswer(ToolAnswer):
    """What the record's conclusions rest on."""

    head: str
    steps: int
    rests_on: list[str]
    decisions: list[Brief] = Field(default_factory=list)
    ended: str | None = None
