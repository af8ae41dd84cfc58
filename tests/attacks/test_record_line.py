"""The history is one line of our own steps, and what is not is named."""

from __future__ import annotations

from tests.attacks.forging import REPORT, all_satisfied, faults

from autoscirub.workflow.audit.overview import audit


def test_a_commit_that_is_not_ours_is_named(work, forger) -> None:
    forged = forger(work)
    (forged.folder / "facts.json").unlink()
    forged.edit(REPORT, all_satisfied)
    forged.commit()
    found = faults(work)
    assert "no facts.json: not made by autoscirub" in found["line"]
    assert "changes state/verification_report.json, which what is no step of ours may not" in found["locks"]
    assert any("not made by autoscirub" in notice for notice in audit(work).basis.notices)


def test_steps_that_are_not_one_line_are_named(work, forger) -> None:
    forged = forger(work)
    oid = forged.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-p", "HEAD~2", "-m", "merged").strip()
    forged.git("reset", "-q", "--hard", oid)
    forged.export()
    assert "steps are one line" in faults(work)["line"]


def test_a_step_of_another_history_is_named(work, forger) -> None:
    forged = forger(work)
    forged.edit("facts.json", lambda facts: facts.update(history_id="f" * 32))
    forged.commit()
    assert "belongs to another history" in faults(work)["line"]
