"""Random rubrics on two random states of a project: a cached result is what a fresh one would be."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.cached import AT, LATER, keep

from autoscirub.checks import Results
from autoscirub.checks.criteria import Inputs, basis, report_of, verify_criteria
from autoscirub.checks.rubric import read_rubric
from autoscirub.errors import PathRefused, ResultsError
from autoscirub.models import (
    Answer,
    CriterionResult,
    Decision,
    Evidence,
    ExecutableRubric,
)
from autoscirub.store import sha256_bytes

# Random rubrics on two random states of a project: a cached result is what a fresh one would be.

EXPRESSIONS = [
    "results.a > 1",
    "results.a > results.b",
    "results.b == 'x'",
    "len(results.l) > 1",
    "max(results.l) > 1",
    "results.a > 0 or results.z > 0",
    "results.a > 0 and results.z > 0",
    "results.d.x[1] > 0",
    'results["d"]["x"][1] > 0 or results.d.y > 0',
    "results.d == results.d2",
    "len(results) > 3",
    "results.a",
    "results.a is 1",
    "1 > 0",
]
VALUES = st.sampled_from(
    [-1, 0, 2, 2.0, True, None, "x", float("nan"), [1, 2], [0, 3], [], {"x": [1, 2]}, {"y": 1}]
)
PATHS = ["a.csv", "b.png", "results.a", "report"]
TEXTS = ["fit", "plot"]


@st.composite
def _rubrics(draw: st.DrawFn) -> ExecutableRubric:
    criteria = []
    for number in range(draw(st.integers(1, 4))):
        checks = draw(
            st.lists(
                st.one_of(
                    st.builds(lambda text: {"kind": "expr", "expr": text}, st.sampled_from(EXPRESSIONS)),
                    st.builds(
                        lambda path, kind: {"kind": "artifact", "path": path, "format": kind},
                        st.sampled_from(PATHS),
                        st.sampled_from([None, "png"]),
                    ),
                    st.sampled_from([{"kind": kind} for kind in ("numbers", "rerun", "score", "judge")]),
                ),
                max_size=3,
            )
        )
        analysis = draw(st.lists(st.sampled_from(TEXTS), unique=True))
        covers = draw(st.lists(st.sampled_from(analysis), unique=True)) if analysis else []
        paths = draw(st.lists(st.sampled_from(PATHS), max_size=2))
        judges = ["auto", "always"]
        if (checks or paths) and all(check["kind"] != "judge" for check in checks):
            judges.append("never")
        criteria.append(
            {
                "criterion_id": f"C{number}",
                "requirement": "r",
                "required_analysis": analysis,
                "checks": [{"id": f"k{at}", **check, "covers": covers} for at, check in enumerate(checks)],
                "expected_artifacts": [{"expected_path": path} for path in paths],
                "judge": draw(st.sampled_from(judges)),
            }
        )
    return read_rubric(json.dumps({"criteria": criteria}).encode(), "random").model


def _artifact_answers(path: str, kind: str | None) -> st.SearchStrategy[Decision | PathRefused]:
    def answer(
        word: Answer, *, sha: str | None = None, note: str | None = None, unknown: str | None = None
    ) -> Decision:
        digest = sha and sha256_bytes(sha.encode())
        size = 3 if sha else None
        return Decision(
            subject=path,
            question=f"Is {path} there ({kind})?",
            answer=word,
            word=word.value,
            evidence=[Evidence(path=path, sha256=digest, size=size, note=note)],
            open=[f"{path}: {unknown}"] if unknown else [],
            at=AT,
        )

    holds, fails, open_ = Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE
    return st.sampled_from(
        [
            answer(holds, sha="one"),
            answer(holds, sha="two"),
            answer(holds, sha="one", note="blank"),
            answer(holds, sha="one", note="git ignores this file: a clone will lack it"),
            answer(fails, sha="one", note="not a whole PNG"),
            answer(fails, note="empty: 0 bytes"),
            answer(fails, note=f"missing: there is no {path} in the project's root; it holds a, b"),
            answer(fails, note=f"missing: there is no {path} in the project's root; it holds a, c"),
            answer(
                fails, note="missing: A.csv is there: only the case of letters differs; rename one of them"
            ),
            answer(open_, sha="one", unknown="needs more memory"),
            answer(open_, unknown="could not be opened: Permission denied"),
            PathRefused(f"{path}: a link on the way leads out"),
        ]
    )


@st.composite
def _inputs(draw: st.DrawFn) -> Inputs:
    results: Results | ResultsError
    if draw(st.integers(0, 5)) == 0:
        results = ResultsError(
            draw(st.sampled_from(["results.json: is not there", "results.json: is empty"]))
        )
    else:
        values = draw(st.dictionaries(st.sampled_from(["a", "b", "d", "d2", "l", "z", "unread"]), VALUES))
        path = draw(st.sampled_from(["results.json", "results/results.json"]))
        results = Results(path, sha256_bytes(repr(values).encode()), 9, values)
    report = draw(
        st.sampled_from(
            [
                None,
                Evidence(path="report.md", sha256=sha256_bytes(b"1"), size=1),
                Evidence(path="report.md", sha256=sha256_bytes(b"2"), size=1),
                Evidence(path="REPORT.md", sha256=sha256_bytes(b"1"), size=1),
                Evidence(path="paper.md", note="paper.md: is not there"),
                Evidence(note="../paper.md: leaves the project"),
            ]
        )
    )
    artifacts = {
        (path, kind): draw(_artifact_answers(path, kind)) for path in PATHS for kind in (None, "png")
    }
    checks = [(f"C{criterion}", f"k{check}") for criterion in range(4) for check in range(3)]
    return Inputs(
        results,
        report,
        artifacts,
        {"backend": draw(st.sampled_from(["none", "other"]))},
        {key: draw(_bound_answers("report.md")) for key in checks},
        draw(st.one_of(st.none(), _bound_answers("rerun"))),
    )


def _bound_answers(subject: str) -> st.SearchStrategy[Decision]:
    """Answers on a report's numbers or on a rerun: bound to a digest, or to nothing where it is inconclusive."""

    def answer(word: Answer, based_on: str | None, why: str | None = None) -> Decision:
        digest = based_on and sha256_bytes(based_on.encode())
        return Decision(
            subject=subject,
            question="q",
            answer=word,
            word=word.value,
            evidence=[Evidence(path=subject, sha256=digest, note="3 numbers")] if digest else [],
            open=[why] if why else [],
            inputs_digest=digest,
            at=AT,
        )

    holds, fails, open_ = Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE
    return st.sampled_from(
        [
            answer(holds, "one"),
            answer(holds, "two"),
            answer(fails, "one"),
            answer(open_, "one", "no source"),
            answer(open_, None, "is not there"),
            answer(open_, None, "not trusted"),
        ]
    )


def content(result: CriterionResult) -> dict[str, Any]:
    return result.model_dump(exclude={"reused_from_round", "asked_again_because"})


@settings(max_examples=100, deadline=None)
@given(_rubrics(), _inputs(), _inputs())
def test_reuse_never_changes_what_is_told(rubric: ExecutableRubric, before: Inputs, after: Inputs) -> None:
    cached = keep(verify_criteria(rubric, before, cached={}, at=AT))
    reusing = verify_criteria(rubric, after, cached=cached, at=LATER)
    fresh = verify_criteria(rubric, after, cached=cached, at=LATER, fresh=True)
    assert [content(result) for result in reusing.results] == [content(result) for result in fresh.results]
    for one, other in zip(reusing.decisions, fresh.decisions, strict=True):
        assert (one.answer, one.word, one.inputs_digest) == (other.answer, other.word, other.inputs_digest)
    assert sorted([*reusing.evaluated, *reusing.reused]) == [each.criterion_id for each in rubric.criteria]
    for name in reusing.reused:
        criterion = next(each for each in rubric.criteria if each.criterion_id == name)
        assert basis(criterion, before) == basis(criterion, after)


@settings(max_examples=50, deadline=None)
@given(_rubrics(), _inputs())
def test_unchanged_inputs_reuse_everything_and_a_report_counts_what_is_there(
    rubric: ExecutableRubric, inputs: Inputs
) -> None:
    first = verify_criteria(rubric, inputs, cached={}, at=AT)
    again = verify_criteria(rubric, inputs, cached=keep(first), at=LATER)
    assert again.evaluated == []
    report = report_of(rubric, again, 2)
    satisfied = [result.satisfied for result in report.criteria]
    assert report.all_satisfied == all(satisfied)
    assert (report.summary.passed, report.summary.failed) == (sum(satisfied), len(satisfied) - sum(satisfied))
    unmet = [result for result in report.criteria if not result.satisfied]
    assert len(report.summary.highest_priority_gaps) == min(5, len(unmet))
    assert all(result.evidence_gap and result.required_actions for result in unmet)
    for decision in report.decisions:
        answers = {part.answer for part in decision.parts}
        if decision.answer is Answer.HOLDS:
            assert answers == {Answer.HOLDS}
        assert (decision.answer is Answer.DOES_NOT_HOLD) == (Answer.DOES_NOT_HOLD in answers)
