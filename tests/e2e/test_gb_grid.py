"""A real project through the real command line: what it must show, from freeze to every kind of tampering."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys

import pytest

AVAILABLE = 4.192662004779861


@pytest.fixture
def grid(field_case, cli):
    """The project, frozen before its results are there, and then given them."""
    project = field_case("gb-grid")
    original = (project / "results" / "results.json").read_bytes()
    (project / "results" / "results.json").unlink()
    assert cli("freeze", "--project", project).status == 0
    (project / "results" / "results.json").write_bytes(original)
    return project


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_it_is_refuted_by_the_stated_volume_alone(grid, cli) -> None:
    ran = cli("verify", "--no-judge", "--project", grid)
    assert ran.status == 1
    assert "✗ refuted: 3 of 4 predictions held · no results file was there at freeze · not judged" in ran.out
    [failed] = [line for line in ran.out.splitlines() if line.startswith("  ✗")]
    assert "stated-volume" in failed
    assert str(AVAILABLE) in failed
    assert "3.45" in failed


def test_its_json_is_the_written_verification_and_names_the_check_and_both_values(grid, cli) -> None:
    ran = cli("verify", "--no-judge", "--json", "--project", grid)
    assert ran.status == 1
    assert ran.json == json.loads((grid / ".autoscirub" / "verification.json").read_text("utf-8"))
    assert ran.json["outcome"] == "refuted"
    assert ran.json["judge"] is None
    failed = [check for check in ran.json["checks"] if check["passed"] is not True]
    assert [check["id"] for check in failed] == ["stated-volume"]
    assert failed[0]["passed"] is False
    assert failed[0]["evidence"][0]["value"] == AVAILABLE
    assert "3.45" in failed[0]["message"]
    assert ran.json["decisions"][0]["answer"] == "does_not_hold"


def test_the_project_s_own_code_gives_the_same_outcome(field_case, cli) -> None:
    pytest.importorskip("scipy", reason="the project's run.py needs scipy")
    project = field_case("gb-grid")
    (project / "results" / "results.json").unlink()
    assert cli("freeze", "--project", project).status == 0
    subprocess.run([sys.executable, "run.py"], cwd=project, check=True, timeout=100)
    assert cli("verify", "--no-judge", "--project", project).status == 1


def test_one_changed_byte_is_an_error_that_names_both_digests(grid, cli) -> None:
    prereg = grid / "prereg.toml"
    before = digest(prereg)
    prereg.write_bytes(prereg.read_bytes().replace(b"3.45)", b"4.19)"))
    ran = cli("verify", "--no-judge", "--project", grid)
    assert ran.status == 3
    assert before in ran.err
    assert digest(prereg) in ran.err
    assert not (grid / ".autoscirub" / "verification.json").exists()


def test_a_rewritten_lock_is_found_by_the_recorded_freeze(grid, cli) -> None:
    prereg, lock = grid / "prereg.toml", grid / ".prereg.lock"
    before = digest(prereg)
    prereg.write_bytes(prereg.read_bytes().replace(b"3.45)", b"4.19)"))
    lock.write_text(lock.read_text().replace(before, digest(prereg)))
    ran = cli("verify", "--no-judge", "--project", grid)
    assert ran.status == 3
    assert (
        f"the recorded freeze of {json.loads(lock.read_text())['frozen_at']} says sha256 {before}" in ran.err
    )


def test_a_rewritten_lock_and_manifest_are_found_by_the_history(grid, cli) -> None:
    prereg, lock, manifest = (
        grid / "prereg.toml",
        grid / ".prereg.lock",
        grid / ".autoscirub" / "run_manifest.json",
    )
    before = digest(prereg)
    prereg.write_bytes(prereg.read_bytes().replace(b"3.45)", b"4.19)"))
    for file in (lock, manifest):
        file.write_text(file.read_text("utf-8").replace(before, digest(prereg)), "utf-8")
    ran = cli("verify", "--no-judge", "--project", grid)
    assert ran.status == 3
    assert "the recorded freeze" in ran.err
    assert before in ran.err


def test_a_deleted_state_directory_is_no_way_out(grid, cli) -> None:
    shutil.rmtree(grid / ".autoscirub")
    ran = cli("verify", "--no-judge", "--project", grid)
    assert ran.status == 3
    assert "no freeze of it is recorded" in ran.err
    again = cli("freeze", "--project", grid)
    assert again.status == 0
    assert "predictions frozen after results existed" in again.out
    after = cli("verify", "--no-judge", "--project", grid)
    assert "predictions frozen after results existed" in after.out.splitlines()[0]
    assert "history" in after.out  # this machine remembers that there was another
    assert "started afresh" in after.out or "removed" in after.out


def test_frozen_after_results_existed_stands_first_in_every_later_outcome(field_case, cli) -> None:
    project = field_case("gb-grid")
    assert "predictions frozen after results existed" in cli("freeze", "--project", project).out
    for _ in range(2):
        ran = cli("verify", "--no-judge", "--project", project)
        assert ran.status == 1
        assert ran.out.startswith("predictions frozen after results existed (results/results.json)\n")
    for path in (project / "results").iterdir():
        path.unlink()
    ran = cli("verify", "--no-judge", "--project", project)
    assert ran.status == 2
    assert ran.out.startswith("predictions frozen after results existed (results/results.json)\n")
    notes = cli("verify", "--json", "--project", project).json["notes"]
    assert notes[0] == "predictions frozen after results existed (results/results.json)"


def test_check_gives_the_same_answer_with_its_own_exit_status(grid, cli) -> None:
    assert cli("check", "--project", grid).status == 1
    ran = cli("check", "--project", grid, "--json")
    assert ran.status == 1
    assert ran.json["ok"] is False
    assert [decision["word"] for decision in ran.json["decisions"]] == ["refuted"]


def test_the_outcome_goes_stale_with_one_digit_of_the_results_and_not_with_a_touch(grid, cli) -> None:
    cli("verify", "--project", grid)
    results = grid / "results" / "results.json"
    results.touch()
    assert "(stale)" not in cli("status", "--project", grid).out
    results.write_text(results.read_text().replace("45.85", "45.86"))
    out = cli("status", "--project", grid).out
    assert "inconclusive (stale)" in out
    assert "results/results.json is not what it was" in out


def test_an_outcome_written_by_hand_is_stale_and_its_words_are_not_repeated(grid, cli) -> None:
    cli("verify", "--project", grid)
    file = grid / ".autoscirub" / "verification.json"
    forged = file.read_text("utf-8").replace("refuted", "verified").replace("does_not_hold", "holds")
    file.write_text(forged, "utf-8")
    out = cli("status", "--project", grid).out
    assert "is not in the history as it lies there" in out
    assert "verified" not in out
    ran = cli("verify", "--project", grid)
    assert ran.status == 1


def test_a_manifest_that_is_gone_is_taken_from_the_history(grid, cli) -> None:
    before = (grid / ".autoscirub" / "run_manifest.json").read_bytes()
    (grid / ".autoscirub" / "run_manifest.json").unlink()
    assert cli("verify", "--project", grid).status == 1
    assert (grid / ".autoscirub" / "run_manifest.json").read_bytes() == before


def test_an_unreadable_outcome_is_moved_aside_and_not_overwritten(grid, cli) -> None:
    cli("verify", "--project", grid)
    file = grid / ".autoscirub" / "verification.json"
    file.write_text("{")
    assert cli("verify", "--project", grid).status == 1
    [aside] = (grid / ".autoscirub").glob("verification.json.corrupt-*")
    assert aside.read_text() == "{"
