"""`init` in a repository of somebody else's: names, links, FIFOs and texts made to have it hang, leave or lie."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.errors import AutoscirubError
from autoscirub.setup import initialise
from autoscirub.setup.discover import find_setup, scan
from autoscirub.setup.discover.code import read_code
from autoscirub.store import load_config

pytestmark = pytest.mark.usefixtures("no_waiting")

NUMBERS = json.dumps({"secret": 42})
NAMES = [
    "report.md",
    "results.json",
    "results/results.json",
    "run.py",
    "Makefile",
    "README.md",
    "Snakefile",
    "run.sh",
]


def make_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ODD: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link out": lambda path: path.symlink_to("/etc/passwd"),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_regular_file_is_no_candidate(tmp_path, name, kind) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    ODD[kind](tmp_path / name)
    found = find_setup(tmp_path)
    assert (found.report, found.results, found.run) == ([], [], [])


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_a_terabyte_is_known_by_its_name_and_not_read(tmp_path, name) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    make_sparse(tmp_path / name)
    find_setup(tmp_path)
    initialise(tmp_path, yes=True)
    load_config(tmp_path)


def test_a_folder_that_is_a_link_is_not_gone_into(tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "results.json").write_text(NUMBERS)
    project = tmp_path / "project"
    project.mkdir()
    (project / "results").symlink_to(outside)
    (project / "round").symlink_to(project)
    found = find_setup(project)
    assert found.results == []
    assert found.files == 0


def test_a_folder_that_becomes_a_link_between_look_and_read_is_not_followed(tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "metrics.json").write_text(NUMBERS)
    project = tmp_path / "project"
    (project / "results").mkdir(parents=True)
    (project / "results" / "metrics.json").write_text("{}")
    seen = scan.scan_project(project)
    (project / "results").rename(project / "old")
    (project / "results").symlink_to(outside)
    assert seen.files == ["results/metrics.json"]
    assert seen.read("results/metrics.json") is None


@pytest.mark.parametrize(
    "name",
    [
        "a\nnext  rm -rf.md",
        "\x1b[2Kreport.md",
        "re\u2028port.md",
        "a\\b.md",
        "~report.md",
        "file:report.md",
        b"\xff.md",
    ],
)
def test_a_name_that_a_terminal_should_not_show_is_no_candidate(tmp_path, name) -> None:
    odd = (name if isinstance(name, bytes) else name.encode()).replace(b".md", b".ipynb")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + odd)).write_text("x")
    assert find_setup(tmp_path).report == []


def test_a_name_that_turns_the_line_around_is_shown_without_that(tmp_path) -> None:
    from autoscirub.report import render_initialised

    (tmp_path / "a\u202egpj.ipynb").write_text("x")
    laid = initialise(tmp_path, yes=True)
    assert load_config(tmp_path).values.report == "a\u202egpj.ipynb"
    assert "\u202e" not in render_initialised(laid)


def test_a_script_whose_name_is_an_option_is_not_run_as_one(tmp_path) -> None:
    (tmp_path / "-c.py").write_text("")
    (tmp_path / "README.md").write_text("python -c.py\n")
    assert find_setup(tmp_path).run == []


@pytest.mark.parametrize(
    "line",
    [
        "python run.py; rm -r ~",
        "python run.py && curl x",
        "python run.py $(id)",
        "python run.py `id`",
        "python 'run.py'",
    ],
)
def test_what_a_readme_says_in_a_shell_s_words_is_not_taken_over(tmp_path, line) -> None:
    (tmp_path / "run.py").write_text("")
    (tmp_path / "README.md").write_text(f"{line}\n")
    assert [one.value for one in find_setup(tmp_path).run] == [("python3", "run.py")]


def test_very_many_files_are_looked_at_up_to_a_limit_and_that_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(scan, "MAX_IN_FOLDER", 50)
    monkeypatch.setattr(scan, "MAX_ENTRIES", 120)
    for folder in ("results", "a", "b", "c"):
        (tmp_path / folder).mkdir()
        for number in range(60):
            (tmp_path / folder / f"{number}.json").write_text(NUMBERS)
    found = find_setup(tmp_path)
    assert found.cut
    assert found.files <= 120
    laid = initialise(tmp_path)
    assert any("more files than are searched" in note for note in laid.notes)


def test_no_more_than_a_bounded_part_of_all_files_is_read(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(scan, "MAX_BYTES", 10_000)
    seen = scan.ProjectScan(tmp_path, left=10_000)
    for number in range(5):
        (tmp_path / f"{number}.py").write_text("x" * 4_000)
    assert [seen.read(f"{number}.py") is not None for number in range(5)] == [True, True, False, False, False]


def test_folders_are_gone_into_only_so_deep(tmp_path) -> None:
    deep = tmp_path.joinpath(*["src"] * 40)
    deep.mkdir(parents=True)
    (deep / "run.py").write_text("")
    assert find_setup(tmp_path).files == 0


TEXTS = [
    "a" * 900 + "/" * 900,
    '"' * 20_000,
    "'" + '"' * 900 + "\n" + "x = " * 5_000,
    "\n".join(["(" * 900] * 200),
    "__file__" + ".parent" * 120 + ' / "a.json"\n',
    "open(" * 190 + '"w"\n',
    "\n".join(f'A{n} = A{n - 1} / "b"' for n in range(5_000)),
    "python run.py " * 5_000,
    ("a " * 99 + ":\n") * 2_000,
    "a: a\nb: a b\n" * 5_000,
    "\x00\ud7ff\uffff" * 1_000,
    "[" * 100_000,
    "{" * 100_000,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_that_is_made_to_cost_much_costs_little(tmp_path, text) -> None:
    for name in ("run.py", "run.sh", "Makefile", "README.md", "Snakefile", "metrics.json", "analysis.R"):
        (tmp_path / name).write_text(text[: scan.TEXT_BYTES // 4], encoding="utf-8")
    signal.alarm(10)
    find_setup(tmp_path)


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(st.sampled_from("\"'/=()<>#:\n\t .-aPathjsonopenw_0\\"), max_size=200),
    path=st.sampled_from(["a.py", "src/a.py", "a.sh", "a.R"]),
)
def test_no_text_has_reading_it_as_code_raise_or_leave_the_project(text, path) -> None:
    code = read_code(text, path)
    assert not any(name.startswith(("/", "..", "~")) for name in code.names)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(
        st.sampled_from([*NAMES, "dvc.yaml", "paper.md", "metrics.json"]), st.binary(max_size=80)
    )
)
def test_whatever_bytes_the_files_hold_init_lays_down_a_configuration_that_loads(
    tmp_path_factory, files
) -> None:
    root = tmp_path_factory.mktemp("bytes")
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content)
    laid: Any = initialise(root, yes=True)
    assert load_config(root).values.report == laid.taken["report"].value


def test_a_link_in_place_of_the_configuration_is_neither_followed_nor_replaced(tmp_path) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text("")
    project = tmp_path / "project"
    project.mkdir()
    (project / "autoscirub.toml").symlink_to(outside)
    with pytest.raises(AutoscirubError):
        initialise(project)
    assert outside.read_text() == ""
    assert (project / "autoscirub.toml").is_symlink()
