"""The numbers check on texts that others have published with their results.

Each folder of `published` holds a text, the results that its numbers come from, and SOURCE.toml: where both are from,
what was cut, and what must come out.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks.numbers import FORMATS, NumbersFound, check_numbers

PUBLISHED = Path(__file__).parent / "published"
SOURCES = {
    path.parent.name: tomllib.loads(path.read_text("utf-8")) for path in PUBLISHED.glob("*/SOURCE.toml")
}
LICENCES = {"MIT": "MIT License", "Apache-2.0": "Apache License"}

every_text = pytest.mark.parametrize("name", sorted(SOURCES))


def copied(name: str, root: Path) -> Path:
    return Path(shutil.copytree(PUBLISHED / name, root / name, ignore=shutil.ignore_patterns("SOURCE.toml")))


def checked(name: str, project: Path) -> NumbersFound:
    source = SOURCES[name]
    return check_numbers(project, report=source["report"], sources=source["sources"])


@every_text
def test_a_published_text_raises_no_false_alarm(name: str, tmp_path: Path) -> None:
    found = checked(name, copied(name, tmp_path))
    alarms = [n for n in found.numbers if n.cls in ("without_source", "bound_wrong")]
    right = [(alarm["number"], alarm["line"]) for alarm in SOURCES[name].get("without_source", [])]
    assert [(n.text, n.line) for n in alarms] == right
    assert Counter(n.cls.value for n in found.numbers) == SOURCES[name]["outcome"]


@every_text
def test_a_good_share_of_a_published_text_is_found_by_itself(name: str) -> None:
    outcome = SOURCES[name]["outcome"]
    assert outcome["matched"] >= 15
    assert outcome["matched"] * 4 >= sum(outcome.values())
    assert outcome["set_aside"] <= 2 * outcome["matched"]


@every_text
def test_a_number_that_is_changed_in_a_published_text_is_without_source(name: str, tmp_path: Path) -> None:
    def of_class(text: str, cls: str) -> int:
        return sum(n.text == text and n.cls == cls for n in checked(name, project).numbers)

    project = copied(name, tmp_path)
    report = project / SOURCES[name]["report"]
    published = report.read_text("utf-8")
    assert len(SOURCES[name]["changed"]) >= 3
    for change in SOURCES[name]["changed"]:
        was, now = change["numbers"]
        assert published.count(change["was"]) == 1, change["was"]
        report.write_text(published, encoding="utf-8")
        matched = of_class(was, "matched")
        assert of_class(now, "without_source") == 0
        report.write_text(published.replace(change["was"], change["now"]), encoding="utf-8")
        assert (of_class(was, "matched"), of_class(now, "without_source")) == (matched - 1, 1), change["now"]


@every_text
def test_a_published_text_says_where_it_is_from_and_under_which_licence(name: str) -> None:
    source, folder = SOURCES[name], PUBLISHED / name
    for key in ("title", "field", "authors", "repository", "licence", "licence_path", "retrieved", "cut"):
        assert source[key], key
    assert (folder / "LICENSE").read_text("utf-8").lstrip().startswith(LICENCES[source["licence"]])
    assert "Copyright" in (folder / "LICENSE").read_text("utf-8")
    for file in source["file"]:
        assert (folder / file["name"]).is_file()
        assert re.fullmatch(r"[0-9a-f]{40}", file["commit"])
    assert all(alarm["reason"] for alarm in source.get("without_source", []))
    assert sum(path.stat().st_size for path in folder.iterdir()) < 60_000


def test_the_published_texts_are_of_many_kinds() -> None:
    assert len(SOURCES) >= 5
    assert len({FORMATS[Path(source["report"]).suffix] for source in SOURCES.values()}) >= 3
    assert len({source["field"] for source in SOURCES.values()}) >= 4


def test_results_that_were_converted_are_the_published_ones() -> None:
    def as_number(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_number(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [as_number(inner) for inner in value]
        plain = re.sub(r"[\s%]", "", value).replace("\u2212", "-") if isinstance(value, str) else ""
        if not re.fullmatch(r"[-+]?[0-9]+(\.[0-9]+)?", plain):
            return value
        return float(plain) if "." in plain else int(plain)

    folder = PUBLISHED / "option-pricing"
    published = json.loads((folder / "published.json").read_text("utf-8"))
    assert json.loads((folder / "results.json").read_text("utf-8")) == as_number(published)


def test_a_name_of_the_results_vouches_only_for_itself_at_the_beginning_of_a_cell(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('zone,share\n"Arctic, 60-90N",0.4585\n', encoding="utf-8")
    report = (
        "| Arctic, 60-90N (land) | 45.9 % |\n| Arctic, 60-80N | 45.9 % |\n\nIn the Arctic, 60-90N it is so.\n"
    )
    (tmp_path / "report.md").write_text(report, encoding="utf-8")
    found = check_numbers(tmp_path, sources=["t.csv"])
    assert [(n.line, n.text, n.cls.value) for n in found.numbers if n.cls != "matched"] == [
        (1, "60", "set_aside"),
        (1, "90N", "set_aside"),
        (2, "60", "without_source"),
        (2, "80N", "without_source"),
        (4, "60", "without_source"),
        (4, "90N", "without_source"),
    ]
