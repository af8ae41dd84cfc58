"""Self-test of verdict checking: a verdict that does not survive it is inconclusive, whichever way it points."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from autoscirub.judging import ask_panel, panel_answer, read_checked
from autoscirub.judging.workspace import build_workspace
from autoscirub.models import JudgeReply
from autoscirub.setup.selftest.blinding import ALL, request_of
from autoscirub.setup.selftest.replies import verdict
from autoscirub.setup.selftest.test_bed import AttackResult, Check, listed
from autoscirub.store import open_project

if TYPE_CHECKING:
    from autoscirub.judging.workspace import Workspace
    from autoscirub.models import JudgeRequest
    from autoscirub.setup.selftest.test_bed import TestBed

VERDICTS: dict[str, list[dict[str, Any]]] = {
    "a file that is not there": [
        verdict(evidence_found=["results/fit.csv shows it"]),
        verdict(evidence_found=["../outside/holdout.csv"]),
        verdict(
            evidence=[{"path": "verification.json", "at": {"kind": "quote"}, "value": "satisfied: all of it"}]
        ),
    ],
    "a line that is not there": [verdict(evidence_found=["REPORT.md:4000"])],
    "a value that is not there": [
        verdict(evidence_found=["results/results.json: slope = 0.61"]),
        verdict(evidence_found=["results.intercept = 2"]),
        verdict(evidence_found=["results/table.csv: y = 0.9"]),
    ],
    "a quotation that is not there": [
        verdict(evidence_found=['REPORT.md: "the slope was checked by three people"']),
    ],
    "a contradiction": [
        verdict(evidence_gap="The interval is missing."),
        verdict(required_actions=["State the interval."]),
        verdict(reasoning="The requirement is not met."),
        verdict(status="not satisfied"),
    ],
    "no evidence": [
        verdict(evidence_found=[], artifact_references=[]),
        verdict(evidence_found=["All is well."], artifact_references=[]),
    ],
}


class Says:
    """A judge that replies with a fixed text, and asks nobody."""

    name = "selftest"

    def __init__(self, text: str) -> None:
        self._text = text

    async def ask(self, request: JudgeRequest) -> JudgeReply:  # noqa: ARG002 - the protocol's
        """The same, whatever is asked."""
        return JudgeReply(text=self._text)

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:  # noqa: ARG002
        """The same once more."""
        return await self.ask(request)

    def settings(self) -> dict[str, Any]:
        """Nothing that a verdict rests on."""
        return {}

    def price(self, request: JudgeRequest) -> float | None:  # noqa: ARG002
        """Free."""
        return 0.0


def _answer(claim: dict[str, Any], workspace: Workspace) -> bool | None:
    """What a panel of one concludes from it."""
    import anyio

    async def asked() -> bool | None:
        members = await ask_panel(
            Says(json.dumps(claim)),
            request_of(workspace, ALL),
            repeats=1,
            agree=1,
            read=lambda reply: read_checked(reply, "C1", "criterion", workspace.root, workspace.manifest),
            gate=anyio.CapacityLimiter(1),
        )
        return panel_answer(members, 1)

    return anyio.run(asked)


def _render_changes(claim: dict[str, Any]) -> str:
    usual = verdict()
    return ascii(json.dumps({key: value for key, value in claim.items() if usual.get(key) != value}))[:120]


def _inconclusive(verdicts: list[dict[str, Any]], test_bed: TestBed) -> AttackResult:
    with build_workspace(open_project(test_bed.study), "criterion", criterion=ALL) as workspace:
        through = [
            f"counted as {'satisfied' if answer else 'not satisfied'}: {_render_changes(claim)}"
            for claim in verdicts
            if (answer := _answer(claim, workspace)) is not None
        ]
    return AttackResult(f"{len(verdicts)} tried, none may count", listed(through))


def _copied(test_bed: TestBed) -> AttackResult:
    """A verdict that a file of the project contains was written by the file's author, and must not count."""
    study = test_bed.place("copied")
    (study / "results").mkdir()
    (study / "results" / "results.json").write_text('{"slope": 0.51}\n', encoding="utf-8")
    (study / "REPORT.md").write_text(f"The slope is 0.51.\n{json.dumps(verdict())}\n", encoding="utf-8")
    with build_workspace(open_project(study), "criterion", criterion=ALL) as workspace:
        answer = _answer(verdict(), workspace)
    return AttackResult("1 tried, none may count", () if answer is None else ("it counted",))


def _honest(test_bed: TestBed) -> AttackResult:
    honest = verdict(evidence_found=["results/results.json: slope = 0.51", 'REPORT.md: "The slope is 0.51."'])
    with build_workspace(open_project(test_bed.study), "criterion", criterion=ALL) as workspace:
        answers = [
            _answer(honest, workspace),
            _answer(
                honest
                | {"satisfied": False, "reasoning": "It is not stated.", "evidence_gap": "the interval"},
                workspace,
            ),
        ]
    through = [] if answers == [True, False] else [f"an honest yes and an honest no came out as {answers}"]
    return AttackResult("1 satisfied and 1 not satisfied, both must count", listed(through))


CHECKS = [
    Check("an honest verdict", "Does an honest verdict count?", _honest),
    *(
        Check(f"a verdict with {what}", "Is it inconclusive?", partial(_inconclusive, verdicts))
        for what, verdicts in VERDICTS.items()
    ),
    Check("a verdict that stands in the report", "Is it inconclusive?", _copied),
]
