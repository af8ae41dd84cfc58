"""Which paths are refused at freeze, and which are only warned of."""

from __future__ import annotations

import ntpath
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscirub.checks.artifacts import path_faults, path_warnings
from autoscirub.checks.artifacts.paths import MAX_PATH, printable

REFUSED = [
    ("", "empty"),
    (" \t", "empty"),
    ("../outside/secret.txt", "leaves the project"),
    ("results/../../outside/secret.txt", "leaves the project"),
    ("a/../../a/x", "leaves the project"),
    ("..", "leaves the project"),
    ("..\\outside\\secret.txt", "leaves the project"),
    ("results\\..\\..\\x", "leaves the project"),
    ("results\\../..\\x", "leaves the project"),
    ("/etc/hostname", "absolute"),
    ("//server/share/x", "absolute"),
    ("\\\\server\\share\\x", "absolute"),
    ("\\x", "absolute"),
    ("C:\\runs\\slope.png", "Windows drive"),
    ("C:slope.png", "Windows drive"),
    ("c:/runs/slope.png", "Windows drive"),
    (".://x", "Windows drive"),
    ("~/slope.png", "home directory"),
    ("~root/slope.png", "home directory"),
    ("file:///etc/hostname", "URL"),
    ("FILE:/etc/hostname", "URL"),
    ("https://example.org/x.png", "URL"),
    ("s3+x://bucket/x.png", "URL"),
    ("results/slope.png\n", "line-break"),
    ("results/\x1b[2Jslope.png", "control"),
    ("results/slope.png\0", "control"),
    ("results/\u2028slope.png", "line-break"),
    ("results/\x85slope.png", "control"),
    ("results/\ud800.png", "control"),
    ("x" * (MAX_PATH + 1), "characters"),
    (7, "text, not int"),
    (None, "text, not NoneType"),
    (b"x.png", "text, not bytes"),
]

ACCEPTED = [
    "results/figures/slope.png",
    "results/a..b.json",
    ".hidden.output.json",
    "...",
    "a/../b.png",
    "./b.png",
    "results/naïve-résumé.txt",
    "results/run 12: final.csv",
    "x~",
    "x" * MAX_PATH,
    "👩‍🔬.csv",
]


@pytest.mark.parametrize(("path", "reason"), REFUSED)
def test_a_path_that_leaves_the_project_or_is_no_path_is_refused_with_the_reason(
    path: str, reason: str
) -> None:
    fault = path_faults(path)
    assert fault is not None
    assert reason in fault
    assert fault.isprintable()
    assert len(fault) < 400
    assert path_warnings(path) is None


@pytest.mark.parametrize("path", ACCEPTED)
def test_an_ordinary_path_is_accepted_without_a_warning(path: str) -> None:
    assert path_faults(path) is None
    assert path_warnings(path) is None


def test_a_backslash_path_is_warned_of_with_its_posix_spelling() -> None:
    assert path_faults("results\\figures\\slope.png") is None
    warning = path_warnings("results\\figures\\slope.png")
    assert warning is not None
    assert "write results/figures/slope.png" in warning


def test_a_path_that_names_a_directory_is_warned_of() -> None:
    assert "a directory never passes" in (path_warnings("results/figures/") or "")


PIECES = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "\\",
        "//",
        "a",
        "..b",
        "C:",
        "~",
        "file:",
        "://",
        "\n",
        "é",
        " ",
        "results",
        "../",
        "..\\",
    ]
)


@given(st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=60)))
def test_no_accepted_path_leaves_the_project_once_joined_and_normalised(path: str) -> None:
    if path_faults(path) is not None:
        return
    joined = posixpath.normpath(posixpath.join("/project", path))
    assert joined == "/project" or joined.startswith("/project/")
    windows = ntpath.normpath(ntpath.join("D:\\project", path))
    assert windows == "D:\\project" or windows.startswith("D:\\project\\")


@given(st.text(), st.integers(min_value=2, max_value=300))
def test_shown_text_is_one_printable_line(text: str, limit: int) -> None:
    line = printable(text, limit)
    assert not set(line) & set("\n\r\x1b\x85\u2028\u2029\u202e\0")
    line.encode("utf-8")
    assert printable("plain.png") == "plain.png"
