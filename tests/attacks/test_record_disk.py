"""State files and locked files that were changed on the disk: the history has them as they were."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.attacks.forging import all_satisfied, faults

from autoscirub.models import Answer
from autoscirub.workflow.audit.overview import audit


def test_an_edited_report_is_found_and_not_believed(work) -> None:
    path = work / ".autoscirub" / "verification_report.json"
    report = json.loads(path.read_text())
    all_satisfied(report)
    path.write_text(json.dumps(report))
    assert "verification_report.json: was edited" in faults(work)["files"]
    found = audit(work)
    assert found.decisions[-1].answer is Answer.DOES_NOT_HOLD
    assert (
        "verification_report.json: is not as the history has it; the history's is shown"
        in found.basis.notices
    )


@pytest.mark.parametrize(
    "name", ["run_manifest.json", "verification.json", "revisions/round-001/verification.json"]
)
def test_a_state_file_that_was_removed_or_broken_is_found(work, name: str) -> None:
    path = work / ".autoscirub" / name
    original = path.read_bytes()
    for data in (original.replace(b"1", b"2"), b"{", b"\xff", b""):
        path.write_bytes(data)
        assert f"{name}: was edited" in faults(work)["files"]
        audit(work)
    path.unlink()
    assert f"{name}: is gone" in faults(work)["files"]
    path.mkdir()
    assert f"{name}: is a directory" in faults(work)["files"]


def test_a_round_written_by_hand_is_found_and_makes_no_column(work) -> None:
    revisions = work / ".autoscirub" / "revisions"
    shutil.copytree(revisions / "round-002", revisions / "round-003")
    report = json.loads((revisions / "round-003" / "verification.json").read_text())
    all_satisfied(report)
    (revisions / "round-003" / "verification.json").write_text(json.dumps({**report, "round": 3}))
    found = faults(work)
    assert "revisions/round-003/verification.json: is not in the history: no step wrote it" in found["files"]
    assert "round-003: not in the history; counted, and nothing rests on it" in found["rounds"]
    assert [column.number for column in audit(work).rounds] == [1, 2]
    assert any("round-003" in line for line in audit(work).odd)


def test_predictions_and_requirements_that_were_changed_after_the_freeze_are_found(work) -> None:
    prereg, rubric = work / "prereg.toml", work / "rubric.toml"
    prereg.write_text(prereg.read_text().replace("0.1", "0.9"))
    rubric.write_text(rubric.read_text().replace("results.low < results.high", "results.slope < 9"))
    found = faults(work)["files"]
    assert "prereg.toml: changed after it was frozen" in found
    assert "changed or weakened C2" in found
