"""Hostile reports: bounded in time and memory, and nothing written to hide a number hides it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import autoscirub
from autoscirub.checks.numbers import check_numbers, find_numbers
from autoscirub.models import Answer

SERVER = Path(autoscirub.__file__).resolve().parents[1]

# One megabyte of anything (at worst half a million numbers) takes at most 12 seconds and 500 MB; the child gets five
# times that.
CHILD = """
import resource, sys
from autoscirub.checks.numbers import find_numbers
from autoscirub.errors import CheckError
resource.setrlimit(resource.RLIMIT_AS, (2_500_000_000,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
unit, kind = sys.argv[1].encode().decode("unicode_escape"), sys.argv[2]
try:
    print(len(find_numbers(unit * (1_000_000 // len(unit)), kind)))
except CheckError as error:
    assert "more than 100,000 numbers" in str(error)
"""

# A report of 200 kB takes at most 3 seconds and 500 MB, whatever its sources; the child gets five times that.
AMONG_MANY = """
import resource, sys
from autoscirub.checks.numbers import Source, classify
from autoscirub.checks.numbers.extract import extract_numbers, read_prose
resource.setrlimit(resource.RLIMIT_AS, (2_500_000_000,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
unit, key, count = sys.argv[1].encode().decode("unicode_escape"), sys.argv[2], int(sys.argv[3])
text = "".join(unit.replace("@", str(i)) for i in range(200_000 // len(unit)))[:200_000]
print(len(classify(extract_numbers(read_prose(text, "markdown")), [Source(key.replace("@", str(i)), i / 7) for i in range(count)])))
"""

BOMBS = [
    ("7", "text"),
    ("1,", "text"),
    ("1 ", "text"),
    ("100 ", "text"),
    ("1e", "text"),
    ("p < 1 ", "text"),
    (" and 1", "text"),
    ("a", "text"),
    ("[1,", "text"),
    ("<!--", "markdown"),
    ("[", "markdown"),
    ("](", "markdown"),
    ("[^", "markdown"),
    ("<a ", "markdown"),
    ("_", "markdown"),
    ("> ", "markdown"),
    ("`a``b```c", "markdown"),
    ("# References\\n", "markdown"),
    ("<code>", "html"),
    ("<!--", "html"),
    ("<sup>", "html"),
    ("\\\\vspace{", "latex"),
    ("\\\\begin{verbatim}", "latex"),
    ("\\\\verb|", "latex"),
    ("{", "latex"),
    ("\\\\a[", "latex"),
    ("two ", "text"),
    ("a1", "text"),
    ("half ", "text"),
    ("`1 x` ", "markdown"),
    ("<!-- =a -->", "markdown"),
    ("<!--1-->", "html"),
    ("{{< ", "markdown"),
    ("<p title=\\'", "markdown"),
    ("<p title=1>", "html"),
    ("---\\na: 1\\n", "markdown"),
    ("a.\\n5. b\\n", "markdown"),
    ("## References\\n[1] A. B 2020\\n", "markdown"),
    ("> ```\\n1", "markdown"),
    ("\\\\newcommand{\\\\a}", "latex"),
    ("\\\\input{a}", "latex"),
    ("\\\\documentclass", "latex"),
    ("\\\\documentclass\\\\begin%\\n", "latex"),
    ("\\\\cite{a1}", "latex"),
]

MANY = [
    ("p<1.5 ", "results.p_@", 90_000),
    ("p<@.5 ", "results.p_@", 90_000),
    ("w@ wind share of the model fit @.37 ", "results.wind_share_model_fit_@", 150),
    ("- it was @ percent\\n", "results.x@", 90_000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "kind"), BOMBS)
def test_a_megabyte_of_anything_is_read_within_its_bound(unit: str, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), unit, kind],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-300:]


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "key", "count"), MANY)
def test_a_report_among_many_sources_is_looked_up_within_its_bound(unit: str, key: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AMONG_MANY), unit, key, str(count)],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-300:]


def test_a_report_of_more_numbers_than_its_bound_inconclusive(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"x": 4.19}', encoding="utf-8")
    (tmp_path / "report.md").write_text("4.19 " * 100_001, encoding="utf-8")
    decision = check_numbers(tmp_path, strict=True).decision
    assert decision.answer is Answer.INCONCLUSIVE
    assert decision.open == ["more than 100,000 numbers: give the tables as files of their own"]


@pytest.mark.parametrize(
    "text",
    [
        "`<!--` and 3.45 TWh and `-->`",
        "an opened <!-- comment that never ends, 3.45 TWh",
        "a code span that is a number: `3.45 TWh`",
        "other digits: \u0663.\u0664\u0665 TWh and \uff13.\uff14\uff15",
        "entities: &#51;.&#52;5 TWh",
        "emphasis: **3**.**45** TWh",
        "an escape: 3\\.45 TWh",
        "```never closed``` 3.45",
        "---\n\n3.45 TWh\n\n---",
        "for k <m it is 3.45 TWh, and for k >m",
        "\\<!-- 3.45 TWh\n\n-->",
        "a\n\n    <!--\n\n3.45 TWh\n\n    -->",
        "a <!--\n\n3.45 TWh\n\n-->",
        "<!--> 3.45 TWh <!-- -->",
        "- ```\n3.45 TWh",
        "> ```\n\n3.45 TWh",
        "[Result]: we found 3.45 TWh",
        "`it is 3.45 percent`",
        "# 3.45 percent of it",
        "see Note 3.45 TWh",
        "![it is 3.45 TWh](a.png)",
        '<img alt="it is 3.45 TWh">',
    ],
)
def test_a_number_is_seen_however_it_is_dressed(text: str) -> None:
    seen = [number for number in find_numbers(text) if number.set_aside is None]
    assert "3.45" in seen[0].text


@pytest.mark.parametrize(
    "total", ["1,500 MW", "1 500 MW", "1,500", "1 500", "(1,500)", "-1,500", "x < 1,500"]
)
def test_a_large_number_is_not_found_in_its_pieces(total: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"drop": 4.1927, "seed": 1, "n": 500}', encoding="utf-8")
    (tmp_path / "report.md").write_text(f"The drop was 4.19 TWh. The total is {total}.", encoding="utf-8")
    assert check_numbers(tmp_path).decision.answer is Answer.INCONCLUSIVE
    assert check_numbers(tmp_path, strict=True).decision.answer is Answer.DOES_NOT_HOLD


@pytest.mark.parametrize(
    "last", ["% \\begin{document}", "\\begin{verbatim}\n\\begin{document}\n\\end{verbatim}"]
)
def test_a_preamble_that_is_none_hides_no_number(last: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"drop": 4.1927}', encoding="utf-8")
    (tmp_path / "report.tex").write_text(f"It fell by 4.19 TWh, or by 99.9.\n{last}\n", encoding="utf-8")
    assert check_numbers(tmp_path, report="report.tex").decision.answer is Answer.INCONCLUSIVE
    assert check_numbers(tmp_path, report="report.tex", strict=True).decision.answer is Answer.DOES_NOT_HOLD


def test_a_macro_of_the_preamble_is_looked_at() -> None:
    text = "\\documentclass{article}\n\\newcommand{\\wind}{3.45}\n\\begin{document}\n\\wind\n\\end{document}"
    assert [(number.line, number.text) for number in find_numbers(text, "latex")] == [(2, "3.45")]


@pytest.mark.parametrize("text", ["7" * 5000, "1e999", "10^999", "1." + "0" * 5000, "9" * 400 + "e330"])
def test_a_number_beyond_all_measure_is_without_source(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"x": 1e300, "y": 7}', encoding="utf-8")
    (tmp_path / "report.md").write_text(f"It is {text} in all.", encoding="utf-8")
    assert check_numbers(tmp_path).decision.answer is Answer.INCONCLUSIVE


def test_sources_without_bound_or_meaning_are_no_pass(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("It is 4.19.", encoding="utf-8")
    (tmp_path / "results.json").write_text(
        json.dumps({"x": [i / 7 for i in range(100_001)]}), encoding="utf-8"
    )
    found = check_numbers(tmp_path)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert "more than 100,000 values" in found.decision.open[0]
    (tmp_path / "results.json").write_text('{"x": NaN, "y": Infinity, "z": true}', encoding="utf-8")
    (tmp_path / "report.md").write_text(
        "It is 1 <!-- =results.z --> or 2 <!-- =results.x -->", encoding="utf-8"
    )
    assert check_numbers(tmp_path).decision.answer is Answer.INCONCLUSIVE


def test_a_report_that_is_a_link_a_fifo_or_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"x": 4.19}', encoding="utf-8")
    (tmp_path / "report.md").symlink_to("/etc/passwd")
    assert check_numbers(tmp_path).decision.answer is Answer.INCONCLUSIVE
    os.mkfifo(tmp_path / "pipe.md")
    assert check_numbers(tmp_path, report="pipe.md").decision.answer is Answer.INCONCLUSIVE
    (tmp_path / "large.md").write_bytes(b"4.19 " * 500_000)
    assert check_numbers(tmp_path, report="large.md").decision.answer is Answer.INCONCLUSIVE
