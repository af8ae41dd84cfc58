"""Answers stay small, and what was decided stands in them whatever is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoscirub.mcp_server.answers import CheckAnswer, Gap, Next
from autoscirub.mcp_server.brief import ANSWER_BYTES, cut, fitted

texts = st.text(max_size=600)
gaps = st.lists(
    st.builds(Gap, criterion_id=st.text(max_size=20), status=st.just("not_satisfied"), gap=texts),
    max_size=300,
)


@given(open_=gaps, notices=st.lists(texts, max_size=100), limit=st.integers(4_000, ANSWER_BYTES))
def test_an_answer_fits_and_says_how_much_was_left_out(
    open_: list[Gap], notices: list[str], limit: int
) -> None:
    answer = CheckAnswer(
        project="p",
        state_dir="s",
        next=Next(tool=None, why="w"),
        answer="does_not_hold",
        satisfied=1,
        criteria=301,
        open=open_,
        notices=notices,
    )
    fits = fitted(answer, limit)
    if len(fits.open) > 1 or len(fits.notices) > 1:
        assert len(fits.model_dump_json().encode("utf-8")) <= limit
    assert len(fits.open) + fits.left_out.get("open", 0) == len(open_)
    assert len(fits.notices) + fits.left_out.get("notices", 0) == len(notices)
    assert fits.open == open_[: len(fits.open)]
    assert (fits.answer, fits.satisfied, fits.criteria) == ("does_not_hold", 1, 301)


@given(st.text(), st.integers(1, 50))
def test_a_cut_text_says_that_it_goes_on(text: str, limit: int) -> None:
    shortened = cut(text, limit)
    assert shortened == text if len(text) <= limit else (len(shortened) == limit and shortened.endswith("…"))
