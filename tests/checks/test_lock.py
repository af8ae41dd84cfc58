"""What was frozen, what is there now, and every way in which the two can disagree."""

from __future__ import annotations

import pytest

from autoscirub.checks.predictions import existing_results, freeze_note, require_frozen
from autoscirub.errors import PredictionsError, TamperedError
from autoscirub.models import FileDigest, PredictionsLock, PreregLock
from autoscirub.store.files import sha256_bytes

FROZEN = b'hypothesis = "a"\nx = 1\n'
EDITED = FROZEN.replace(b"1", b"2")
AT = "2026-01-31T09:00:00Z"


def record(data: bytes, checks: tuple[str, ...] = ("c",)) -> PredictionsLock:
    return PredictionsLock(path="prereg.toml", sha256=sha256_bytes(data), frozen_at=AT, checks=list(checks))


def lock(data: bytes, checks: tuple[str, ...] = ("c",)) -> PreregLock:
    return PreregLock(sha256=sha256_bytes(data), frozen_at=AT, checks=list(checks))


GOOD = (FROZEN, lock(FROZEN), record(FROZEN), record(FROZEN))

TABLE = [
    # predictions, .prereg.lock, run_manifest.json, history, error, what its message names
    ((None, *GOOD[1:]), PredictionsError, ["prereg.toml: is not there", "autoscirub init"]),
    ((FROZEN, None, None, None), PredictionsError, ["is not frozen", "autoscirub freeze"]),
    ((FROZEN, lock(FROZEN), None, None), PredictionsError, ["no freeze of it is recorded", ".prereg.lock"]),
    ((FROZEN, lock(FROZEN), record(FROZEN), None), PredictionsError, ["no freeze of it is recorded"]),
    (
        (EDITED, *GOOD[1:]),
        TamperedError,
        ["changed after it was frozen", sha256_bytes(EDITED), sha256_bytes(FROZEN)],
    ),
    (
        (EDITED, lock(EDITED), record(FROZEN), record(FROZEN)),
        TamperedError,
        ["rewritten", "the recorded freeze", sha256_bytes(EDITED), sha256_bytes(FROZEN)],
    ),
    (
        (EDITED, lock(EDITED), record(EDITED), record(FROZEN)),
        TamperedError,
        ["the recorded freeze", sha256_bytes(EDITED), sha256_bytes(FROZEN)],
    ),
    ((FROZEN, lock(EDITED), *GOOD[2:]), TamperedError, [".prereg.lock: was edited", sha256_bytes(EDITED)]),
    (
        (FROZEN, lock(FROZEN, ("c", "d")), *GOOD[2:]),
        TamperedError,
        [".prereg.lock: was edited: its check ids"],
    ),
    ((FROZEN, None, *GOOD[2:]), TamperedError, [".prereg.lock: is gone", sha256_bytes(FROZEN)]),
    (
        (FROZEN, lock(FROZEN), record(EDITED), record(FROZEN)),
        TamperedError,
        ["run_manifest.json: was edited"],
    ),
    ((FROZEN.replace(b"\n", b"\r\n"), *GOOD[1:]), TamperedError, ["line endings only", sha256_bytes(FROZEN)]),
]


@pytest.mark.parametrize(("arguments", "error", "named"), TABLE, ids=[row[2][0] for row in TABLE])
def test_each_disagreement_is_an_error_that_names_both_sides(arguments, error, named) -> None:
    with pytest.raises(error) as caught:
        require_frozen(*arguments)
    for part in named:
        assert part in str(caught.value)


def test_a_manifest_that_is_gone_says_nothing_and_the_history_holds() -> None:
    assert require_frozen(FROZEN, lock(FROZEN), None, record(FROZEN)) == record(FROZEN)


def test_a_freeze_that_all_four_agree_on_stands() -> None:
    assert require_frozen(*GOOD) == record(FROZEN)


def test_a_crlf_file_frozen_as_crlf_and_turned_into_lf_is_line_endings_only_too() -> None:
    crlf = FROZEN.replace(b"\n", b"\r\n")
    with pytest.raises(TamperedError, match="line endings only"):
        require_frozen(FROZEN, lock(crlf), record(crlf), record(crlf))


def test_results_are_the_file_what_lies_beside_it_and_every_declared_artifact(tmp_path) -> None:
    (tmp_path / "results" / "figures").mkdir(parents=True)
    for name in ("results/results.json", "results/table.csv", "results/figures/a.png", "out.csv", "run.py"):
        (tmp_path / name).write_text("x")
    (tmp_path / "results" / ".gitkeep").write_text("")
    found, more = existing_results(tmp_path, ["results/results.json"], ["out.csv", "none.csv"])
    assert [file.path for file in found] == [
        "out.csv",
        "results/figures/a.png",
        "results/results.json",
        "results/table.csv",
    ]
    assert more == 0


def test_results_at_the_project_s_top_do_not_make_the_whole_project_results(tmp_path) -> None:
    for name in ("results.json", "run.py"):
        (tmp_path / name).write_text("x")
    assert [file.path for file in existing_results(tmp_path, ["results.json"], [])[0]] == ["results.json"]


def test_results_are_not_looked_for_through_a_link_out_of_the_project(tmp_path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    (root / "results").symlink_to(outside)
    (root / "own.csv").symlink_to(outside / "secret.txt")
    assert existing_results(root, ["results/results.json"], ["own.csv", "results/secret.txt"]) == ([], 0)


def test_more_results_than_are_listed_are_counted(tmp_path) -> None:
    (tmp_path / "results").mkdir()
    for number in range(1_005):
        (tmp_path / "results" / f"{number:04}.txt").write_text("x")
    found, more = existing_results(tmp_path, ["results/results.json"], [])
    assert (len(found), more) == (1_000, 5)


def test_the_note_says_whether_results_existed_now_or_at_an_earlier_unfreeze() -> None:
    existing = FileDigest(path="results/results.json", sha256="0" * 64, size=1)
    assert freeze_note(record(FROZEN)) == "no results file was there at freeze"
    late = record(FROZEN).model_copy(update={"results_at_freeze": [existing]})
    assert freeze_note(late) == "predictions frozen after results existed (results/results.json)"
    assert freeze_note(record(FROZEN), [existing]) == freeze_note(late)
