"""Many artifacts at once, and what git ignores."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from autoscirub.checks.artifacts import check, check_artifact, check_artifacts
from autoscirub.checks.artifacts.formats import FORMATS
from autoscirub.errors import CheckError, PathRefused
from autoscirub.models import Answer, Decision
from autoscirub.models.prereg import ArtifactFormat

if TYPE_CHECKING:
    from pathlib import Path


def plain(decision: Decision) -> dict[str, Any]:
    return decision.model_dump(exclude={"at"})


def test_many_give_the_same_answers_as_one_by_one_in_order(tmp_path: Path, good: dict[str, bytes]) -> None:
    for name, data in good.items():
        (tmp_path / f"a.{name}").write_bytes(data)
        (tmp_path / f"cut.{name}").write_bytes(data[: len(data) // 2])
    paths = [*(path.name for path in sorted(tmp_path.iterdir())), "missing.png", "a.png"]
    many = check_artifacts(tmp_path, [(path, None) for path in paths])
    assert [each.subject for each in many if isinstance(each, Decision)] == paths
    for path, each in zip(paths, many, strict=True):
        assert isinstance(each, Decision)
        assert plain(each) == plain(check_artifact(tmp_path, path))


def test_a_refused_path_stands_in_its_place_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "out").symlink_to("/")
    first, second, third, fourth = check_artifacts(
        tmp_path, [("a.txt", None), ("../x", None), ("out/etc/hostname", None), ("a.txt", None)]
    )
    assert isinstance(first, Decision)
    assert isinstance(second, PathRefused)
    assert isinstance(third, PathRefused)
    assert isinstance(fourth, Decision)


def test_an_unknown_format_is_an_error_before_any_file_is_opened(tmp_path: Path) -> None:
    calls: list[int] = []
    with pytest.raises(CheckError, match="no format 'bmp'"):
        check_artifacts(tmp_path, [("a.txt", None), ("b", "bmp")], lambda *each: calls.extend(each))
    assert calls == []


def test_progress_counts_up_to_the_number_of_items(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    check_artifacts(tmp_path, [("a", None), ("../b", None), ("c", None)], lambda *each: seen.append(each))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_each_distinct_file_is_read_once(
    tmp_path: Path, good: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(good["png"])
    (tmp_path / "link.png").symlink_to("a.png")
    os.link(tmp_path / "a.png", tmp_path / "hard.png")
    (tmp_path / "copy.png").write_bytes(good["png"])
    read: list[int] = []
    real = check.digest

    def counted(source: Any, size: int) -> tuple[str, bytes]:
        read.append(size)
        return real(source, size)

    monkeypatch.setattr(check, "digest", counted)
    names = ["a.png", "link.png", "hard.png", "copy.png", "a.png", "./a.png"]
    decisions = check_artifacts(tmp_path, [(name, None) for name in names])
    assert len(read) == 2
    assert len({each.evidence[0].sha256 for each in decisions if isinstance(each, Decision)}) == 1


def test_one_file_may_be_asked_for_in_two_formats(tmp_path: Path, good: dict[str, bytes]) -> None:
    (tmp_path / "a").write_bytes(good["png"])
    answers = check_artifacts(tmp_path, [("a", None), ("a", "png"), ("a", "json")])
    assert [each.answer for each in answers if isinstance(each, Decision)] == [
        Answer.HOLDS,
        Answer.HOLDS,
        Answer.DOES_NOT_HOLD,
    ]


def test_what_git_ignores_passes_and_says_so(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "e.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "e.txt").write_text("")
    (tmp_path / "c.txt").symlink_to("a.txt")
    asked: list[list[str]] = []

    def ignored(paths: list[str]) -> set[str]:
        asked.append(paths)
        return {"a.txt", "e.txt"}

    items = [(name, None) for name in ("./a.txt", "b.txt", "c.txt", "missing.txt", "e.txt")]
    a, b, c, missing, empty = check_artifacts(tmp_path, items, ignored=ignored)
    assert asked == [["a.txt", "b.txt", "c.txt"]]
    note = "git ignores this file: a clone will lack it"
    for each, expected in ((a, True), (b, False), (c, True)):
        assert isinstance(each, Decision)
        assert each.answer is Answer.HOLDS
        assert (note in (each.evidence[0].note or "")) is expected
    for each in (missing, empty):
        assert isinstance(each, Decision)
        assert note not in (each.evidence[0].note or "")
    assert note in (check_artifact(tmp_path, "a.txt", ignored=ignored).evidence[0].note or "")


def test_git_is_not_asked_when_nothing_is_there(tmp_path: Path) -> None:
    def ignored(paths: list[str]) -> set[str]:
        raise AssertionError(paths)

    assert check_artifact(tmp_path, "a.txt", ignored=ignored).answer is Answer.DOES_NOT_HOLD
    assert check_artifacts(tmp_path, [], ignored=ignored) == []


def test_a_file_that_changes_while_it_is_read_is_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("before")
    real = check.digest

    def changing(source: Any, size: int) -> tuple[str, bytes]:
        with (tmp_path / "a.txt").open("a") as late:
            late.write("more")
        return real(source, size)

    monkeypatch.setattr(check, "digest", changing)
    decision = check_artifact(tmp_path, "a.txt")
    assert decision.answer is Answer.INCONCLUSIVE
    assert decision.open == ["a.txt: it changed while it was being read; check again"]
    assert decision.evidence[0].sha256 is None


def test_the_formats_are_those_that_a_predictions_file_may_name() -> None:
    assert tuple(FORMATS) == ArtifactFormat.__args__  # type: ignore[attr-defined]
