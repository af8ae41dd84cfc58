"""Annotations: one line each, the most important first, no more than GitHub shows, and one line over all."""

from __future__ import annotations

import io

import pytest

from autoscirub.models import Annotations, Answer
from autoscirub.report import github_error, inert, render_github
from autoscirub.report.github import ANNOTATIONS

YES, NO, OPEN = Answer.HOLDS, Answer.DOES_NOT_HOLD, Answer.INCONCLUSIVE


def stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def test_what_does_not_hold_comes_before_what_inconclusive_and_what_holds_is_counted(point, obeyed) -> None:
    annotations = [
        point(YES, "a"),
        point(OPEN, "b"),
        point(NO, "c", accepted=True),
        point(NO, "d", line=None),
        point(NO, "e", path=None),
    ]
    out = render_github(Annotations(NO, annotations, {"predictions": ["refuted: 1 of 4 held"]}), stream())
    assert out.splitlines() == [
        "::error file=prereg.toml,title=d%3A did not hold::0.9 < 0.6",
        "::error title=e%3A did not hold::0.9 < 0.6",
        "::warning file=prereg.toml,line=4,title=b%3A did not hold::0.9 < 0.6",
        "::notice file=prereg.toml,line=4,title=c%3A did not hold::0.9 < 0.6",
        "✗ does not hold: 2 do not hold, 1 inconclusive, 1 refuted and accepted, 1 holds · refuted: 1 of 4 held",
    ]
    assert [found.name for found in obeyed(out)] == ["error", "error", "warning", "notice"]


def test_where_all_holds_there_is_the_last_line_alone(point) -> None:
    assert render_github(Annotations(YES, [point(YES), point(YES)]), stream()) == "✓ holds: 2 hold"


def test_no_more_than_github_shows_are_printed_and_how_many_more_is_said(point) -> None:
    many = [point(OPEN, f"o{n}") for n in range(ANNOTATIONS + 3)] + [
        point(NO, f"n{n}") for n in range(ANNOTATIONS + 2)
    ]
    lines = render_github(Annotations(NO, many), stream()).splitlines()
    assert [line.split(" ")[0] for line in lines[:-1]] == ["::error"] * ANNOTATIONS + [
        "::warning"
    ] * ANNOTATIONS
    assert lines[-1].endswith("5 more are not listed here: autoscirub check --read-only")
    assert f"{ANNOTATIONS + 2} do not hold" in lines[-1]


def test_marks_of_the_protocol_are_escaped_as_github_says_and_come_out_again(point, obeyed) -> None:
    message = "100% of a:b, c\nand %0A more"
    out = render_github(Annotations(NO, [point(NO, message, message, path="a:b,c%.toml")]), stream())
    [command] = obeyed(out.splitlines()[0])
    assert command.data == message
    assert command.properties == {
        "file": "a:b,c%.toml",
        "line": "4",
        "title": f"{message} : did not hold".replace("\n", " ").replace(" :", ":"),
    }
    assert "file=a%3Ab%2Cc%25.toml" in out


def test_a_long_message_is_cut(point) -> None:
    out = render_github(Annotations(NO, [point(NO, "s" * 5000, "m" * 5000)]), stream())
    assert len(out) < 3000


def test_an_error_is_one_annotation_whatever_its_lines(obeyed) -> None:
    [command] = obeyed(github_error("prereg.toml: cannot be used\n  fault    a: b"))
    assert (command.name, command.properties) == ("error", {"title": "autoscirub"})
    assert command.data == "prereg.toml: cannot be used\n  fault    a: b"


@pytest.mark.parametrize(
    "text",
    [
        "::set-output name=a::b",
        "  \t::error::x",
        "\u2003::error::x",
        "\u00ad::error::x",
        "\u034f::error::x",
        "\x1b[0m::error::x",
        "a\n::error::x",
        "a\u2028::error::x",
        "see ##[error]x",
        "#\x1b[0m#[error]x",
        "#\u200b#[error]x",
        "###[error]x",
    ],
)
def test_text_that_is_made_inert_holds_no_command(text, obeyed) -> None:
    assert obeyed(inert(text)) == []
    # nor for a reader that passes over what is not to be seen
    assert not any(line.lstrip().startswith("::") for line in inert(text).split("\n"))
