"""The models of judging: what a judge may see, what it is asked, and what it answers. Pure: no I/O."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from autoscirub.models.base import FrozenModel, Sha256, StateModel, UtcTime

JUDGE_REASONS, JUDGE_REMARK = "the judge's reasons", "our remark"
"""Keys of evidence: a judge's own reasons; and apart from them, what code noticed about a verdict that counts."""
AskKind = Literal["hypothesis", "criterion"]


class WorkspaceFile(FrozenModel):
    """One file of a blinded workspace."""

    path: str = Field(description="relative to the workspace's root, as it is in the project")
    sha256: Sha256
    size: int = Field(description="bytes")


class Withheld(FrozenModel):
    """A file that a judge may not see, and why."""

    path: str
    why: str


class WorkspaceManifest(FrozenModel):
    """Everything that a judge can see, and what was withheld. The digest is over the profile's name and the files."""

    profile: str
    files: list[WorkspaceFile]
    withheld: list[Withheld] = Field(default_factory=list)
    digest: Sha256


PlaceKind = Literal["key", "line", "cell", "quote", "page"]


class CitedPlace(FrozenModel):
    """Where in a file a judge's evidence is."""

    kind: PlaceKind
    where: str = Field(
        default="",
        description="key: a path such as interval.low; line: 12 or 12-14; cell: row LABEL, column NAME; page: a number",
    )


class CitedEvidence(FrozenModel):
    """One piece of a judge's evidence, which code looks up: a file, a place in it, and what is there."""

    path: str = Field(description="of a file of the workspace")
    at: CitedPlace
    value: str | float | int | bool | None = Field(
        default=None, description="the value of a key or cell; else the words that are quoted"
    )
    shows: str = Field(default="", description="what it shows, in the judge's words")


class HypothesisVerdict(FrozenModel):
    """A judge's word on the hypothesis; null is its own word that it cannot tell. Reasons come before the flag."""

    reasoning: str
    evidence: list[CitedEvidence] = Field(default_factory=list)
    concerns: list[str] = Field(default_factory=list)
    confidence: float | None = Field(default=None, ge=0, le=1)
    supports_hypothesis: bool | None

    @property
    def flag(self) -> bool | None:
        """Its answer."""
        return self.supports_hypothesis


class CriterionVerdict(FrozenModel):
    """A judge's word on one criterion; null is its own word that it cannot tell. Reasons come before the flag."""

    criterion_id: str
    reasoning: str = ""
    evidence: list[CitedEvidence] = Field(default_factory=list)
    evidence_found: list[str] = Field(default_factory=list)
    evidence_gap: str = ""
    required_actions: list[str] = Field(default_factory=list)
    artifact_references: list[str] = Field(default_factory=list)
    confidence: float | None = Field(default=None, ge=0, le=1)
    satisfied: bool | None

    @property
    def flag(self) -> bool | None:
        """Its answer."""
        return self.satisfied


class Usage(FrozenModel):
    """What one answer used. What was not reported is null, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    turns: int | None = None
    cost_usd: float | None = None
    price_basis: str | None = Field(
        default=None,
        description="what cost_usd is computed from, such as list prices",
    )
    recorded_cost_usd: float | None = Field(
        default=None, description="what a recorded reply cost when it was asked; it was not paid again"
    )
    seconds: float = 0.0


class JudgeRequest(FrozenModel):
    """One question to a judge. A `command` judge gets it as JSON on stdin."""

    protocol: Literal[1] = 1
    kind: AskKind
    subject: str = Field(description="the criterion's id, or hypothesis")
    system: str = Field(description="what a judge is and how it answers")
    prompt: str = Field(description="the question, with the files that it is about")
    answer_schema: dict[str, Any] = Field(description="the JSON Schema of the verdict")
    workspace: str = Field(description="the folder that holds the copy, absolute")
    files: list[WorkspaceFile] = Field(default_factory=list)
    model: str | None = None
    seconds: float = Field(description="wall clock that the answer may take")
    turns: int
    money: float | None = Field(default=None, description="US dollars; null: no limit was set")
    member: int = Field(default=1, description="which member of the panel is asked, from 1")
    asked: str = Field(
        default="", exclude=True, description="for a person: what is asked, without the files; sent to nobody"
    )
    established: list[str] = Field(
        default_factory=list,
        exclude=True,
        description="for a person: what code found of it; sent to nobody, because it says what the checks expect",
    )
    prompt_digest: Sha256 = Field(description="of everything asked but the random delimiters")
    workspace_digest: Sha256


class JudgeReply(FrozenModel):
    """What came back, before it is parsed."""

    text: str = Field(description="the reply as it came")
    structured: Any = Field(
        default=None, description="where the backend gives structured output: that, unread"
    )
    model_served: str | None = Field(default=None, description="the model that answered, where reported")
    usage: Usage = Field(default_factory=Usage)


class Member(FrozenModel):
    """One member of a panel: its verdict, or why it gave none that counts."""

    member: int
    verdict: CriterionVerdict | HypothesisVerdict | None = None
    answer: bool | None = Field(
        default=None, description="what counts: the verdict's flag, null where it does not survive checking"
    )
    problems: list[str] = Field(
        default_factory=list, description="why the verdict does not count as it stands"
    )
    remarks: list[str] = Field(
        default_factory=list,
        description="what code noticed about a verdict that counts: shown, never decisive",
    )
    confirmed: bool | None = Field(
        default=None,
        description="the judge's answer to the one question back; null: none was needed, or none came",
    )
    error: str | None = Field(default=None, description="why there is no verdict; it is never cached")
    called: bool = Field(default=True, description="false where there was no money or no trust to ask at all")
    raw: str = Field(default="", description="the reply as it came")
    model_served: str | None = None
    usage: Usage = Field(default_factory=Usage)


class CachedVerdict(StateModel):
    """`verdicts/KEY.json`: a panel's answer on one question, and everything that it is based on."""

    file_name: ClassVar[str] = "KEY.json"

    key: Sha256
    kind: AskKind
    subject: str
    answer: bool | None
    members: list[Member]
    backend: str
    model: str | None = None
    repeats: int = 1
    agree: int = 1
    prompt_version: str
    prompt_digest: Sha256
    workspace: WorkspaceManifest
    concerns: list[str] = Field(
        default_factory=list, description="what a reader should know, such as text that addresses a judge"
    )
    at: UtcTime


class Ask(FrozenModel):
    """A line of `asks.jsonl`: one call of a judge, under whatever key."""

    kind: AskKind | Literal["calibration"] = Field(
        description="calibration: on a labelled case, and so about nothing of the project's"
    )
    subject: str
    key: Sha256
    round: int | None = None
    ask: int = Field(
        default=1, description="which ask on this subject, from 1; the members of a panel share it"
    )
    member: int = 1
    answer: bool | None = Field(default=None, description="this member's, as far as it counts")
    panel: bool | None = Field(default=None, description="the panel's")
    error: str | None = None
    backend: str
    model_served: str | None = None
    cost_usd: float | None = None
    estimated_usd: float | None = Field(
        default=None, description="what it should have cost, where the actual cost was not reported"
    )
    at: UtcTime
