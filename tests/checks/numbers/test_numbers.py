"""The numbers check: how numbers are spelled, where they come from, and what is answered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoscirub.checks.numbers import (
    Source,
    check_numbers,
    classify,
    find_numbers,
    gather,
    source_values,
)
from autoscirub.checks.numbers.extract import extract_numbers, read_prose
from autoscirub.errors import CheckError
from autoscirub.models import Answer, NumberClass
from autoscirub.store import read_regular, sha256_bytes

TABLE = tomllib.loads((Path(__file__).parent / "spellings.toml").read_text(encoding="utf-8"))
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def classes(text: str, sources: dict[str, object], kind: str = "markdown") -> list[list[str]]:
    numbers = classify(extract_numbers(read_prose(text, kind)), list(source_values(sources)))
    return [[re.sub(r"[\u00a0\u2009]", " ", n.text), n.cls.value] for n in numbers]


@pytest.mark.parametrize("entry", TABLE["spelling"], ids=lambda entry: entry["text"][:40])
def test_every_spelling_is_of_its_class(entry: dict) -> None:
    assert (
        classes(entry["text"], entry.get("sources", TABLE["sources"]), entry.get("format", "markdown"))
        == entry["is"]
    )


def test_the_table_of_spellings_is_a_wide_one() -> None:
    assert len(TABLE["spelling"]) >= 60
    assert {cls for entry in TABLE["spelling"] for _, cls in entry["is"]} == {
        cls.value for cls in NumberClass
    }


FINITE = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False).map(lambda x: x + 0.0)


@given(value=FINITE, places=st.integers(0, 6), rounding=st.sampled_from([ROUND_HALF_EVEN, ROUND_HALF_UP]))
def test_a_correct_rounding_always_finds_its_source(value: float, places: int, rounding: str) -> None:
    printed = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding=rounding)
    assume(not 1500 <= abs(printed) < 2200)
    [number] = classify(
        extract_numbers(read_prose(f"it is {printed:f} here", "text")), [Source("results.x", value)]
    )
    assert number.cls is NumberClass.MATCHED
    [number] = classify(
        extract_numbers(read_prose(f"it is {printed:,f} here", "text")), [Source("results.x", value)]
    )
    assert number.cls is NumberClass.MATCHED


@given(values=st.lists(FINITE, min_size=1, max_size=5), printed=st.decimals(0, 10**6, places=3))
def test_what_is_no_rounding_of_any_source_never_matches(values: list[float], printed: Decimal) -> None:
    assume(all(abs(Decimal(repr(value)) - printed) * 2 > Decimal("0.001") for value in values))
    sources = [Source(f"results.x[{i}]", value) for i, value in enumerate(values)]
    numbers = classify(extract_numbers(read_prose(f"0.5 and 0.6 and {printed} units", "text")), sources)
    assert numbers[-1].cls is NumberClass.WITHOUT_SOURCE


@settings(max_examples=50)
@given(text=st.text(max_size=300), kind=st.sampled_from(["markdown", "latex", "html", "text"]))
def test_any_text_is_read_and_every_line_is_one_of_its_own(text: str, kind: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(1 <= number.line <= lines for number in find_numbers(text, kind))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("markdown", "a\n\n<!-- one\n\ntwo -->\n```\n7\n```\n`x`\n* b\n\n| c |\n|---|\nhere 4.5"),
        ("latex", "a\n% comment\n\\begin{verbatim}\n7\n\\end{verbatim}\n\\textbf{b}\n\\\\\nhere 4.5"),
        ("html", "<p\nclass=a>\n<!-- one\n\ntwo -->\n<script>\n1\n</script>\n<td>here 4.5"),
        ("text", "a\r\nb\rhere 4.5"),
    ],
)
def test_the_line_is_the_line_in_the_file(kind: str, text: str) -> None:
    number = next(number for number in find_numbers(text, kind) if number.text == "4.5")
    assert text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[number.line - 1].endswith("4.5")


def project(root: Path, report: str, results: dict, name: str = "report.md", **files: str) -> Path:
    (root / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (root / name).write_text(report, encoding="utf-8")
    for path, text in files.items():
        (root / path.replace("__", ".")).write_text(text, encoding="utf-8")
    return root


def test_a_report_whose_numbers_are_all_found_holds(tmp_path: Path) -> None:
    found = check_numbers(project(tmp_path, "It fell by 4.2 TWh in 2020.", {"drop": 4.1927}))
    assert found.decision.answer is Answer.HOLDS
    assert [number.cls for number in found.numbers] == ["matched", "set_aside"]
    assert found.numbers[0].sources == (("results.drop", 4.1927),)


def test_a_number_without_source_is_open_and_under_strict_does_not_hold(tmp_path: Path) -> None:
    root = project(
        tmp_path, "Wind available: 3.45 TWh.\n\nAll 168 hours.", {"available_wind_twh": 4.1927, "n": 168}
    )
    found = check_numbers(root)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.decision.open[0].startswith('report.md:1 "3.45 TWh"  results.available_wind_twh = 4.1927')
    assert check_numbers(root, strict=True).decision.answer is Answer.DOES_NOT_HOLD


def test_a_bound_number_that_is_wrong_does_not_hold(tmp_path: Path) -> None:
    found = check_numbers(project(tmp_path, "3.45 TWh <!-- =results.wind -->", {"wind": 4.1927}))
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    assert 'report.md:1 "3.45 TWh"  results.wind = 4.1927' in found.decision.evidence[-1].note


@pytest.mark.parametrize("report", ["", "No numbers.", "In 2009 (see Figure 3)."])
def test_a_report_without_a_number_that_could_be_looked_up_is_no_pass(tmp_path: Path, report: str) -> None:
    assert check_numbers(project(tmp_path, report, {"x": 3})).decision.answer is Answer.INCONCLUSIVE


def test_missing_report_results_or_source_inconclusive(tmp_path: Path) -> None:
    assert check_numbers(tmp_path).decision.answer is Answer.INCONCLUSIVE
    (tmp_path / "report.md").write_text("4.2", encoding="utf-8")
    assert "results/results.json" in check_numbers(tmp_path).decision.open[0]
    project(tmp_path, "4.2", {"x": 4.2})
    assert check_numbers(tmp_path).decision.answer is Answer.HOLDS
    lacking = check_numbers(tmp_path, sources=["results", "none.csv"])
    assert lacking.decision.answer is Answer.INCONCLUSIVE
    assert lacking.decision.open == ["none.csv: is not there"]
    with pytest.raises(CheckError):
        check_numbers(tmp_path, report="../report.md")


def test_a_number_among_a_crowd_of_values_is_no_pass(tmp_path: Path) -> None:
    root = project(tmp_path, "It is 5 and 4.19.", {"a": 4.19, "all": [5 + i / 1000 for i in range(40)]})
    found = check_numbers(root)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert "too many to tell" in found.decision.open[0]
    assert check_numbers(root, sources=["results.a"]).numbers[1].cls == "matched"


def test_ambiguous_is_open_and_holds_except_under_strict(tmp_path: Path) -> None:
    root = project(tmp_path, "It is 5 and 4.19.", {"a": 4.19, "b": 5, "c": 5})
    found = check_numbers(root)
    assert found.decision.answer is Answer.HOLDS
    assert found.decision.open == ['report.md:1 "5"  results.b = 5, results.c = 5; 2 sources would do']
    # Both sources are 5, so that it is 5 whichever is meant. 4.2 could be two different values.
    assert check_numbers(root, strict=True).decision.answer is Answer.HOLDS
    (root / "report.md").write_text("It is 5, 4.19 and 4.2.", encoding="utf-8")
    (root / "results.json").write_text('{"a": 4.19, "b": 5, "c": 5, "d": 4.21}', encoding="utf-8")
    assert check_numbers(root).decision.answer is Answer.HOLDS
    assert check_numbers(root, strict=True).decision.answer is Answer.INCONCLUSIVE


def test_cells_of_a_table_are_named_by_file_line_and_column(tmp_path: Path) -> None:
    root = project(
        tmp_path, "Link 2 takes 1500 MW; it is 4.19.", {"a": 4.19}, links__csv="bus,p_nom\nx,1200\ny,1500.2\n"
    )
    found = check_numbers(root, sources=["results", "links.csv"])
    assert found.numbers[1].sources == (("links.csv:3 p_nom", 1500.2),)


def test_bindings_survive_an_edit_of_the_text_around_and_of_the_number(tmp_path: Path) -> None:
    bindings = {"fell by # TWh": "results.drop"}
    for report, answer in [
        ("It fell by **4.19** TWh.", Answer.HOLDS),
        ("Quite otherwise worded, and later,\nit then fell\nby 4.2 TWh, we say.", Answer.HOLDS),
        ("It fell by 3.45 TWh.", Answer.DOES_NOT_HOLD),
        ("It rose by 4.19 TWh.", Answer.INCONCLUSIVE),
    ]:
        root = project(tmp_path, report, {"drop": 4.1927})
        assert check_numbers(root, bindings=bindings).decision.answer is answer, report
    root = project(tmp_path, "4.2 and 4.19", {"drop": 4.1927})
    assert check_numbers(root, bindings={"4.2 and 4.19": "drop"}).decision.answer is Answer.INCONCLUSIVE
    assert [n.cls for n in check_numbers(root, bindings={"4.2": "drop"}).numbers] == ["bound", "matched"]


def test_a_marker_with_no_number_before_it_is_open(tmp_path: Path) -> None:
    found = check_numbers(project(tmp_path, "It is 4.19.\n\nSo <!-- =results.a -->", {"a": 4.19}))
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.decision.open == ["report.md:3 the marker =results.a has no number before it"]


def test_named_set_aside_numbers_are_listed(tmp_path: Path) -> None:
    root = project(tmp_path, "It is 4.19.\n\nThe budget was 3000 euros.", {"a": 4.19})
    found = check_numbers(root, set_aside=["budget was"])
    assert (found.decision.answer, found.numbers[1].reason) == (Answer.HOLDS, "named in set_aside")


def test_a_notebook_is_read_by_cells_and_their_outputs(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "It is 4.19."]},
        {
            "cell_type": "code",
            "source": "x = 7.77",
            "outputs": [{"output_type": "stream", "text": ["a\n", "9.99\n"]}],
        },
        {
            "cell_type": "code",
            "source": "x",
            "outputs": [{"output_type": "execute_result", "data": {"text/plain": "4.19"}}],
        },
    ]
    root = project(tmp_path, json.dumps({"nbformat": 4, "cells": cells}), {"a": 4.19}, "report.ipynb")
    found = check_numbers(root, report="report.ipynb")
    assert [(n.place, n.text, n.cls) for n in found.numbers] == [
        ("cell 1 line 2", "4.19", "matched"),
        ("cell 2 line 1", "7.77", "set_aside"),
        ("cell 2 line 2", "9.99", "without_source"),
        ("cell 3 line 1", "4.19", "matched"),
    ]
    assert found.numbers[1].reason == "code"
    (root / "report.ipynb").write_text("{}", encoding="utf-8")
    assert check_numbers(root, report="report.ipynb").decision.answer is Answer.INCONCLUSIVE


def test_a_notebook_is_read_in_the_form_that_is_shown_and_its_raw_cells_too(tmp_path: Path) -> None:
    def printed(**data: str) -> dict:
        kinds = {kind.replace("_", "/"): text for kind, text in data.items()}
        output = {
            "output_type": "display_data",
            "data": {"text/plain": "<IPython.core.display.X object>", **kinds},
        }
        return {"cell_type": "code", "source": "display(x)", "outputs": [output]}

    cells = [
        printed(text_markdown="It is **66.6** TWh."),
        printed(text_html="<b>77.7</b> TWh", text_plain="4.19"),
        printed(text_latex="$88.8$"),
        {"cell_type": "raw", "source": "It is 99.9 TWh."},
        {"cell_type": "code", "source": "", "outputs": [{"output_type": "error", "traceback": ["line 5"]}]},
    ]
    root = project(tmp_path, json.dumps({"nbformat": 4, "cells": cells}), {"a": 4.19}, "report.ipynb")
    found = check_numbers(root, report="report.ipynb")
    assert [(n.text, n.cls.value, n.reason) for n in found.numbers] == [
        ("66.6 TWh", "without_source", "no source"),
        ("77.7 TWh", "without_source", "no source"),
        ("4.19", "set_aside", "another form of an output"),
        ("88.8", "without_source", "no source"),
        ("99.9 TWh", "without_source", "no source"),
        ("5", "set_aside", "traceback"),
    ]


ELSEWHERE = {
    "report.tex": [
        r"\input{results}", r"\include{a}", r"\import{a}{b}", r"\subfile{a}", r"\csvreader{a.csv}{}{}",
        r"\pgfplotstabletypeset{a.csv}", r"\input results", r"\lstinputlisting{a}", r"\fpeval{9*11.1}",
    ],
    "report.qmd": ["{{< include a.qmd >}}", "`r x`", "`{python} x`", "{{< var x >}}", "```{r}\nx\n```"],
    "report.md": ["{{< include a.md >}}", '<iframe src="a.html"></iframe>'],
    "report.html": ['<iframe src="a.html"></iframe>', "<embed src=a.html>"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in ELSEWHERE.items() for text in texts]
)
def test_a_text_that_stands_elsewhere_inconclusive(name: str, text: str, tmp_path: Path) -> None:
    root = project(tmp_path, f"It is 4.19.\n\n{text}\n", {"a": 4.19}, name)
    found = check_numbers(root, report=name, strict=True)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.problems[0].startswith(f"{name}:3 a text from elsewhere was not read: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("report.md", "`r = 4.19` and `r x`"),
        ("report.qmd", "{{< pagebreak >}} and `r`\n\n```{r}\n#| include: false\nx\n```\n\n```r\nx\n```"),
        ("report.tex", r"\includegraphics{a} \inputencoding{utf8}"),
    ],
)
def test_what_only_looks_like_a_text_from_elsewhere_is_no_problem(
    name: str, text: str, tmp_path: Path
) -> None:
    root = project(tmp_path, f"It is 4.19.\n\n{text}\n", {"a": 4.19}, name)
    assert check_numbers(root, report=name).decision.answer is Answer.HOLDS


PREDICTED = """\
version = "1.0"
hypothesis = "Wind is curtailed."
predictions = ["Curtailment lies between 44 and 48 percent."]
"""


@pytest.mark.parametrize(
    ("report", "classes"),
    [
        ("Curtailment came to 48 percent.", ["without_source"]),
        (
            "We predicted 44 to 48 percent. Curtailment came to 48 percent.",
            ["matched", "matched", "without_source"],
        ),
        ("The prediction failed. It said 48 percent.", ["matched"]),
        ("| predicted | found |\n|---|---|\n| 44 | 48 |", ["matched", "without_source"]),
        ("We predicted:\n\n- 44 to 48 percent", ["matched", "matched"]),
        ("## Predictions\n\n- It came to 48 percent", ["without_source"]),
    ],
)
def test_a_prediction_vouches_only_for_what_the_text_calls_predicted(
    report: str, classes: list[str], tmp_path: Path
) -> None:
    root = project(tmp_path, report, {"curtailment_pct": 45.85}, prereg__toml=PREDICTED)
    found = check_numbers(root)
    assert [n.cls.value for n in found.numbers] == classes
    assert found.decision.answer is Answer.INCONCLUSIVE


@pytest.mark.parametrize(
    "report", ["1. Wind\n2. Sun", "Two of them, see Figure 2.", "`n = 2` [2]", "# 2. Wind"]
)
def test_a_mark_that_is_found_by_chance_grounds_no_report(report: str, tmp_path: Path) -> None:
    found = check_numbers(project(tmp_path, report, {"n": 2}))
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.problems == ["report.md: no number found that has one source"]


def test_a_list_of_marks_among_a_crowd_of_values_is_set_aside(tmp_path: Path) -> None:
    root = project(
        tmp_path, "It is 4.19.\n\n5. Wind\n6. Sun", {"a": 4.19, "all": [5 + i / 1000 for i in range(40)]}
    )
    found = check_numbers(root, strict=True)
    assert (found.decision.answer, found.set_aside_counts) == (Answer.HOLDS, "2 (2 list marker)")


def test_a_quantity_in_a_name_of_the_results_is_not_set_aside(tmp_path: Path) -> None:
    root = project(tmp_path, "| Share 99.9 percent | 4.19 |", {"a": 4.19, "name": "Share 99.9 percent"})
    assert [n.cls.value for n in check_numbers(root).numbers] == ["without_source", "matched"]


def test_a_number_too_long_to_be_listed_is_cut_with_a_sign_that_it_goes_on() -> None:
    [long, least] = find_numbers(f"It is {'1' * 81} and {'2' * 80}.")
    assert (long.text, least.text) == ("1" * 79 + "…", "2" * 80)


@pytest.mark.parametrize("layout", [r"\definecolor{x}{rgb}{0.25,0.5,0.75}", r"\colorlet{x}{red!37}"])
def test_a_command_that_sets_a_colour_states_no_number(layout: str) -> None:
    found = find_numbers(f"{layout} It is 4.19.", "latex")
    assert [number.text for number in found if number.set_aside is None] == ["4.19"]


def test_the_values_of_a_json_source_are_of_the_bytes_that_the_answer_is_bound_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, "It is 7.25.", {"a": 4.19}, more__json='{"x": 7.25}')

    def read_and_swapped(path: Path, **options: Any) -> bytes | None:
        data = read_regular(path, **options)
        if path.name == "more.json":
            path.write_text('{"x": 8.5}', encoding="utf-8")  # whoever reads again reads this
        return data

    monkeypatch.setattr(gather, "read_regular", read_and_swapped)
    found = check_numbers(root, sources=["more.json"])
    assert found.decision.answer is Answer.HOLDS
    assert found.decision.evidence[1].sha256 == sha256_bytes(b'{"x": 7.25}')


@pytest.mark.parametrize("cell", ["1_500", "1_500.0", "1_5e0_2", "nan", "inf", "1e400"])
def test_a_cell_that_is_a_number_to_python_alone_is_no_source(tmp_path: Path, cell: str) -> None:
    root = project(tmp_path, "It is 1500 MW and 4.19 m.", {"a": 4.19}, t__csv=f"bus,p\nx,7\ny,{cell}\n")
    found = check_numbers(root, sources=["results", "t.csv"])
    assert found.numbers[0].cls is NumberClass.WITHOUT_SOURCE
    assert found.decision.answer is Answer.INCONCLUSIVE


@pytest.mark.parametrize("name", ["results.json", "t.csv", "copy.txt"])
def test_a_report_that_is_itself_a_source_inconclusive(name: str, tmp_path: Path) -> None:
    root = project(tmp_path, '{"a": 4.19}', {"a": 4.19}, "copy.txt", t__csv="a\n4.19\n")
    found = check_numbers(root, report=name, sources=["results", "t.csv"], strict=True)
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.problems[:1] == [f"{name}: is itself a source of its numbers, so that each of them is found"]


def test_what_is_set_aside_is_counted_by_its_reasons(tmp_path: Path) -> None:
    found = check_numbers(project(tmp_path, "In 2009 and 2010 it was 4.19 (Figure 7).", {"a": 4.19}))
    assert found.set_aside_counts == "3 (2 year, 1 reference)"
    assert check_numbers(project(tmp_path, "It is 4.19", {"a": 4.19})).set_aside_counts == ""


@pytest.mark.parametrize("name", ["nile", "sunspots"])
def test_the_examples_raise_no_false_alarm(name: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("results"))
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path / name, check=True, capture_output=True)
    found = check_numbers(tmp_path / name)
    assert found.decision.answer is Answer.HOLDS, found.decision.open
    assert not [n for n in found.numbers if n.cls in ("without_source", "bound_wrong")]


GRID_REPORT = """\
# Wind on the grid of Great Britain

## 1. What was done

A week of 168 hours was dispatched in 2024 [1]. The data come from a benchmark (Smith et al., 2021).

## 2. What came out

Demand was 15.94 TWh. Of 4.193 TWh of wind, 1.92 TWh (45.85 %) were curtailed; see Figure 2.
Without limits, 0.0 % were. The stated volume of 3.45 TWh was predicted, and is wrong.
The available wind was 3.45 TWh.
Curtailment is 47.20 % <!-- =results.curtailment_pct --> and unserved demand 11.9–15.9 TWh.
Storage lost 0.731 TWh.
"""


def test_a_report_on_real_results_has_each_number_in_its_class(field_case: Callable[[str], Path]) -> None:
    root = field_case("gb-grid")
    (root / "report.md").write_text(GRID_REPORT, encoding="utf-8")
    found = check_numbers(root)
    assert [(n.line, n.text, n.cls.value) for n in found.numbers] == [
        (3, "1", "matched"),
        (5, "168", "matched"),
        (5, "2024", "set_aside"),
        (5, "1", "matched"),
        (5, "2021", "set_aside"),
        (7, "2", "set_aside"),
        (9, "15.94 TWh", "matched"),
        (9, "4.193 TWh", "matched"),
        (9, "1.92 TWh", "matched"),
        (9, "45.85 %", "matched"),
        (9, "2", "set_aside"),
        (10, "0.0 %", "matched"),
        (10, "3.45 TWh", "matched"),
        (11, "3.45 TWh", "without_source"),
        (12, "47.20 %", "bound_wrong"),
        (12, "11.9", "matched"),
        (12, "15.9 TWh", "matched"),
        (13, "0.731 TWh", "without_source"),
    ]
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    lines = "\n".join(found.decision.open)
    assert 'report.md:11 "3.45 TWh"  results.available_wind_twh = 4.19' in lines
