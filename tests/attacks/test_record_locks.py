"""Steps that exchange what is locked, or use it otherwise, without a step that may."""

from __future__ import annotations

import shutil
from typing import Any

from tests.attacks.forging import REPORT, Forger, faults, removed_criterion, say_satisfied

from autoscirub.store import sha256_bytes
from autoscirub.workflow.locks import freeze


def test_predictions_that_a_step_exchanged_under_their_lock_are_found(work, forger) -> None:
    forged = forger(work)
    easier = (forged.folder / "locked/prereg.toml").read_bytes().replace(b"0.1", b"9.1")
    forged.write("locked/prereg.toml", easier)
    forged.commit()
    found = faults(work)["locks"]
    assert "changes locked/prereg.toml, which check steps may not" in found
    assert "prereg.toml is not what the lock is over" in found


def test_predictions_that_a_step_locked_anew_without_an_unfreeze_are_found(work, forger) -> None:
    forged = forger(work)
    easier = (forged.folder / "locked/prereg.toml").read_bytes().replace(b"0.1", b"9.1")
    forged.write("locked/prereg.toml", easier)
    forged.edit("locked/.prereg.lock", lambda lock: lock.update(sha256=sha256_bytes(easier)))
    forged.edit(
        "state/run_manifest.json",
        lambda manifest: manifest["locks"]["predictions"].update(sha256=sha256_bytes(easier)),
    )
    forged.commit()
    assert "changes the lock over the predictions, which a check step may not" in faults(work)["locks"]


def relock(forged: Forger, rubric: dict[str, Any]) -> None:
    """Make `rubric` the locked one in every place that says so."""
    for folder in ("state", "locked"):
        forged.write(f"{folder}/executable_rubric.json", rubric)
    digest = sha256_bytes((forged.folder / "locked/executable_rubric.json").read_bytes())
    ids = [criterion["criterion_id"] for criterion in rubric["criteria"]]
    forged.edit(
        "state/run_manifest.json",
        lambda manifest: manifest["locks"]["rubric"].update(sha256=digest, criteria=ids),
    )


def test_a_criterion_that_a_step_dropped_with_its_lock_is_found(work, forger) -> None:
    forged = forger(work)
    rubric = forged.read("locked/executable_rubric.json")
    del rubric["criteria"][2]
    relock(forged, rubric)
    forged.edit(REPORT, removed_criterion)
    say_satisfied(forged)
    forged.commit()
    assert "changes the locked rubric without a scope change: criteria lost: C3" in faults(work)["locks"]


def test_a_scope_step_that_changes_more_than_it_names_is_found(work, forger) -> None:
    forged = forger(work)
    rubric = forged.read("locked/executable_rubric.json")
    del rubric["criteria"][2]
    change = {
        "at": "2026-01-01T00:00:00Z",
        "by": "terminal",
        "reason": "small",
        "criteria": ["C1"],
        "settings": [],
    }
    relock(forged, {**rubric, "scope_changes": [change]})
    forged.edit("state/run_manifest.json", lambda manifest: manifest.update(scope_changes=[change]))
    forged.edit("facts.json", lambda facts: facts.update(event="scope", facts={"scope": change}))
    shutil.rmtree(forged.folder / "project")
    forged.commit()
    assert "changes criteria that it does not name: C3" in faults(work)["locks"]


def test_a_scope_change_taken_off_the_record_is_found(work, forger) -> None:
    from autoscirub.workflow.locks import scope

    rubric = work / "rubric.toml"
    rubric.write_text(rubric.read_text().replace("There is a table.", "There may be a table."))
    scope(work, reason="less", by="agent")
    forged = forger(work)
    forged.edit("state/run_manifest.json", lambda manifest: manifest.update(scope_changes=[]))
    relock(forged, {**forged.read("locked/executable_rubric.json"), "scope_changes": []})
    forged.commit()
    assert "takes scope changes off the record" in faults(work)["locks"]


def test_a_freeze_that_hides_that_results_were_there_is_found(slope_project, write_results, forger) -> None:
    write_results(slope_project, slope=0.5)
    freeze(slope_project)
    forged = forger(slope_project)
    forged.edit(
        "state/run_manifest.json",
        lambda manifest: manifest["locks"]["predictions"].update(results_at_freeze=[]),
    )
    forged.facts(locks=forged.read("state/run_manifest.json")["locks"])
    forged.commit("--amend")
    assert (
        "does not say that these were there at freeze: results/results.json" in faults(slope_project)["locks"]
    )


def test_a_setting_that_a_step_used_otherwise_than_locked_is_found(work, forger) -> None:
    forged = forger(work)
    settings = forged.read("facts.json")["facts"]["settings"]
    forged.facts(settings={**settings, "judge.repeats": 9})
    forged.commit()
    assert "was reached with judge.repeats 9, and 1 is locked" in faults(work)["reports"]
