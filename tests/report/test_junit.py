"""JUnit XML: well-formed whatever it holds, and its counts are those of what was decided."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscirub.models import Annotations, Answer
from autoscirub.report import junit_error, render_junit

YES, NO, OPEN = Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE


def read(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.encode("utf-8"))


def test_each_part_is_a_suite_and_each_point_a_case_at_its_place(point) -> None:
    annotations = [
        point(YES, "a"),
        point(NO, "b"),
        point(OPEN, "C1", part="requirements", path="rubric.toml", line=None),
    ]
    root = read(render_junit(Annotations(NO, annotations, {"predictions": ["refuted: 1 of 2"]})))
    assert [suite.get("name") for suite in root] == ["autoscirub.predictions", "autoscirub.requirements"]
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert (cases["b"].get("file"), cases["b"].get("line")) == ("prereg.toml", "4")
    assert cases["C1"].get("line") is None
    assert [child.tag for child in cases["a"]] == ["system-out"]
    assert [child.tag for child in cases["b"]] == ["failure"]
    assert [child.tag for child in cases["C1"]] == ["error"]
    assert root[0].findtext("system-out") == "refuted: 1 of 2"


@given(st.lists(st.tuples(st.sampled_from(list(Answer)), st.booleans()), max_size=12))
def test_the_counts_are_those_of_the_answers_and_nothing_is_skipped(answers) -> None:
    from autoscirub.models import Annotation, Decision

    annotations = []
    for number, (answer, accepted) in enumerate(answers):
        decision = Decision(
            subject=f"s{number}", question="?", answer=answer, word="w", at="2026-01-31T09:00:00Z"
        )
        annotations.append(Annotation(decision, f"part{number % 2}", "m", accepted=accepted and answer is NO))
    found = Annotations(YES, annotations)
    root = read(render_junit(found))
    for element in [root, *root]:
        cases = list(element.iter("testcase"))
        assert int(element.get("tests", "")) == len(cases)
        assert int(element.get("failures", "")) == sum(case.find("failure") is not None for case in cases)
        assert int(element.get("errors", "")) == sum(case.find("error") is not None for case in cases)
        assert element.get("skipped") == "0"
    assert root.find(".//skipped") is None
    assert int(root.get("failures", "")) == len(found.open(NO))
    assert int(root.get("errors", "")) == len(found.open(OPEN))


@given(st.text())
def test_any_text_comes_out_as_a_well_formed_document(text) -> None:
    root = read(junit_error(text, text))
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]


@pytest.mark.parametrize(
    "text", ["\x00", "\ufffe", "\ud800", "]]><evil/>", "</failure>", "&bomb;", "\x1b[31m"]
)
def test_what_xml_cannot_hold_is_replaced_and_what_is_markup_stays_text(text, point) -> None:
    root = read(render_junit(Annotations(NO, [point(NO, f"s{text}", f"m{text}", path=f"p{text}")])))
    [case] = root.iter("testcase")
    assert [child.tag for child in case] == ["failure"]
    assert (case.get("name") or "").startswith("s")
    assert "\x1b" not in ElementTree.tostring(root, encoding="unicode")


def test_the_document_is_the_same_in_every_encoding_of_stdout(point) -> None:
    assert render_junit(Annotations(NO, [point(NO, "größe", "α ✗")])).isascii()
