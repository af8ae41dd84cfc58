"""What is there, what is not, and what is something else."""

from __future__ import annotations

import hashlib
import os
import socket
import unicodedata
from typing import TYPE_CHECKING

import pytest

from autoscirub.checks.artifacts import check_artifact
from autoscirub.checks.artifacts.nearby import Directories
from autoscirub.errors import CheckError, PathRefused
from autoscirub.models import Answer, Decision

if TYPE_CHECKING:
    from pathlib import Path


def note(decision: Decision) -> str:
    assert len(decision.evidence) == 1
    return decision.evidence[0].note or ""


def failed(decision: Decision) -> str:
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert decision.word == "failed"
    assert decision.open == []
    return note(decision)


def test_a_file_that_is_there_passes_with_its_digest_and_size(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"x" * 3_000_000)
    decision = check_artifact(str(tmp_path), "notes.txt")
    assert decision.answer is Answer.HOLDS
    assert decision.word == "passed"
    assert decision.subject == "notes.txt"
    assert decision.question == "Is notes.txt there and non-empty?"
    (evidence,) = decision.evidence
    assert evidence.path == "notes.txt"
    assert evidence.sha256 == hashlib.sha256(b"x" * 3_000_000).hexdigest()
    assert evidence.size == 3_000_000
    assert evidence.note is None


def test_an_empty_file_fails(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    assert failed(check_artifact(tmp_path, "a.png")) == "empty: 0 bytes"


def test_a_directory_fails_and_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "figures.png").mkdir()
    for path in ("figures.png", "figures.png/", "figures.png/.", "."):
        assert failed(check_artifact(tmp_path, path)) == "not a file: it is a directory"


def test_a_fifo_fails_at_once_and_is_named_as_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    assert "FIFO" in failed(check_artifact(tmp_path, "a.png"))


def test_a_socket_fails_and_is_named_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's address has room for a short path only
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert "a socket" in failed(check_artifact(tmp_path, "s"))


def test_a_slash_after_a_file_asks_for_a_directory_and_fails(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for path in ("a.txt/", "a.txt/.", "none/../a.txt"):
        assert "a.txt is there: write that" in failed(check_artifact(tmp_path, path))


def test_a_missing_file_fails_and_says_what_its_directory_holds(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for index in range(7):
        (tmp_path / "results" / f"{index}.csv").write_text("x")
    assert failed(check_artifact(tmp_path, "results/slope.png")) == (
        "missing: there is no slope.png in results; it holds 0.csv, 1.csv, 2.csv, 3.csv, 4.csv and 2 more"
    )
    assert "there is no figures in results" in failed(check_artifact(tmp_path, "results/figures/slope.png"))


def test_a_name_that_differs_in_case_fails_and_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "Results").mkdir()
    (tmp_path / "Results" / "Slope.PNG").write_text("x")
    if (tmp_path / "results").exists():
        pytest.skip("this filesystem ignores the case of letters")
    message = failed(check_artifact(tmp_path, "results/slope.png"))
    assert "Results/Slope.PNG is there: only the case of letters differs" in message


def test_a_filesystem_that_ignores_case_does_not_make_a_wrong_spelling_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a filesystem, as far as it can be had here: two spellings open one file, and one of them is listed."""
    (tmp_path / "slope.txt").write_text("x")
    os.link(tmp_path / "slope.txt", tmp_path / "SLOPE.TXT")
    for path in ("slope.txt", "SLOPE.TXT"):
        assert check_artifact(tmp_path, path).answer is Answer.HOLDS
    monkeypatch.setattr(Directories, "_names", lambda *_: ["slope.txt"])
    assert check_artifact(tmp_path, "slope.txt").answer is Answer.HOLDS
    assert failed(check_artifact(tmp_path, "SLOPE.TXT")) == (
        "missing: the file is spelled slope.txt: only the case of letters differs; rename one of them"
    )


@pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_in_another_normal_form_fails_and_names_the_file(
    tmp_path: Path, stored: str, asked: str
) -> None:
    name = "naïve-résumé.txt"
    (tmp_path / unicodedata.normalize(stored, name)).write_text("x")  # type: ignore[arg-type]
    other = unicodedata.normalize(asked, name)  # type: ignore[arg-type]
    if (tmp_path / other).exists():
        pytest.skip("this filesystem ignores the Unicode normal form")
    assert "only the Unicode normal form (NFC or NFD) differs" in failed(check_artifact(tmp_path, other))


def test_a_name_too_long_for_the_filesystem_is_missing(tmp_path: Path) -> None:
    assert "missing: no file can have so long a name" in failed(check_artifact(tmp_path, "x" * 300))


def test_a_backslash_path_fails_and_names_the_posix_one(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.txt").write_text("x")
    assert "results/a.txt is there: write / instead of \\" in failed(
        check_artifact(tmp_path, "results\\a.txt")
    )


def test_a_file_whose_name_really_holds_a_backslash_passes(tmp_path: Path) -> None:
    (tmp_path / "results\\a.txt").write_text("x")
    assert check_artifact(tmp_path, "results\\a.txt").answer is Answer.HOLDS


def test_a_link_inside_the_project_passes_and_says_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").symlink_to("a.txt")
    (tmp_path / "c.txt").symlink_to(tmp_path / "a.txt")
    for name in ("b.txt", "c.txt"):
        decision = check_artifact(tmp_path, name)
        assert decision.answer is Answer.HOLDS
        assert note(decision) == "reached through a link; the file is a.txt"


def test_a_dangling_link_fails_as_missing_and_names_its_target(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to("missing.png")
    assert failed(check_artifact(tmp_path, "a.png")) == (
        "missing: a.png is a link to missing.png, which is not there"
    )


def test_a_loop_of_links_fails(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for path in ("a", "a/x.png"):
        assert "a is a link to b, and following it never ends" in failed(check_artifact(tmp_path, path))


def test_a_project_reached_through_a_link_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert check_artifact(tmp_path / "link", "a.txt").answer is Answer.HOLDS


def test_a_refused_path_raises_before_anything_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(PathRefused, match="leaves the project"):
        check_artifact(tmp_path, "../x")


def test_an_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        CheckError, match="no format 'gif'; the formats are png, jpeg, svg, pdf, csv, json, parquet"
    ):
        check_artifact(tmp_path, "x.gif", "gif")


@pytest.mark.parametrize("project", ["none", "file", "bad\0name"])
def test_a_project_that_is_no_directory_is_an_error(tmp_path: Path, project: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckError, match="no such directory"):
        check_artifact(f"{tmp_path}/{project}", "x")
