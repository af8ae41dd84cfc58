"""The page of the requirements: its rubric in both forms, and its tables of fields, checks and statuses."""

from __future__ import annotations

from typing import get_args

from tests.docs.pages import DOCS, blocks, code, table, text_of

from autoscirub.checks.criteria.decide import CRITERION_WORDS
from autoscirub.checks.rubric import lint as rubric_lint
from autoscirub.checks.rubric import lint_rubric, read_rubric, read_short
from autoscirub.checks.rubric import read as rubric
from autoscirub.models import SIGNS, Criterion, CriterionStatus, Priority, RubricCheck

SHORT = read_short(blocks("requirements.md", "toml")[0].encode(), "rubric.toml")


def test_the_rubric_of_the_page_has_no_fault_and_warns_of_what_must_be_read_alone() -> None:
    lint = lint_rubric(SHORT, judged=False)
    assert lint.faults == []
    assert len(lint.warnings) == 1
    assert 'criterion "limits"' in lint.warnings[0]


def test_the_published_form_of_the_page_says_the_same_as_the_short_one() -> None:
    published = read_rubric(blocks("requirements.md", "json")[0].encode(), "executable_rubric.json")
    assert published.model.goals == SHORT.model.goals
    assert published.model.criteria == [SHORT.criterion("interval")]


def test_the_fields_of_a_criterion_are_all_there_with_the_words_of_the_short_form() -> None:
    rows = [[code(cell)[0] for cell in row[:2]] for row in table("requirements.md", "Fields of a criterion")]
    assert {published for _, published in rows} == set(Criterion.model_fields)
    assert {short: name for short, name in rows if short != name} == rubric.SHORT_WORDS["criteria"]
    page_text = text_of(DOCS / "requirements.md")
    assert all(f"`{priority}`" in page_text for priority in get_args(Priority))


def test_the_kinds_of_checks_are_all_there_and_those_that_are_decided() -> None:
    rows = {code(row[0])[0]: row[3] for row in table("requirements.md", "Checks")}
    union = get_args(RubricCheck)[0]
    assert list(rows) == [get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(union)]
    assert [kind for kind, decided in rows.items() if decided == "yes"] == list(rubric_lint.DECIDED_KINDS)


def test_the_statuses_are_the_code_s_with_their_signs() -> None:
    rows = {code(row[0])[0]: row for row in table("requirements.md", "The four statuses")}
    assert rows.keys() == set(get_args(CriterionStatus)) == CRITERION_WORDS.keys()
    for status, (answer, _) in CRITERION_WORDS.items():
        assert rows[status][3] == SIGNS[answer][0]
        assert rows[status][1] == ("yes" if status == "satisfied" else "no")


def test_the_limits_of_a_rubric_are_the_code_s_own() -> None:
    limits_of = {
        "bytes of a rubric": rubric.RUBRIC_LIMIT,
        "values in it": rubric.RUBRIC_VALUES,
        "goals": rubric.RUBRIC_GOALS,
    }
    rows = table("requirements.md", "What is refused", every=True)
    assert {row[0]: int(row[1].replace(",", "")) for row in rows if row[0] in limits_of} == limits_of
