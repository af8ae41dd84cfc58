"""A bundle of the history that was put back or started afresh, and what an anchor shows of it."""

from __future__ import annotations

import shutil

from tests.attacks.forging import faults

from autoscirub.workflow import check
from autoscirub.workflow.audit.anchor_head import anchor
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.locks import freeze
from autoscirub.workflow.rounds import plan_round


def test_an_older_bundle_is_found_on_the_machine_that_knew_the_newer_one(work) -> None:
    bundle = work / ".autoscirub" / "history.bundle"
    older = bundle.read_bytes()
    plan_round(project=work)
    check(work)
    bundle.write_bytes(older)
    assert "lacks the step" in faults(work)["line"]
    assert "tampering or a restored backup" in audit(work).basis.notices[0]


def test_an_older_bundle_is_found_elsewhere_by_the_state_files_or_by_a_head_held(
    work, tmp_path, monkeypatch
) -> None:
    older = shutil.copytree(work, tmp_path / "older")
    plan_round(project=work)
    check(work)
    head = anchor(work).head
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "another machine"))
    shutil.copy(older / ".autoscirub" / "history.bundle", work / ".autoscirub" / "history.bundle")
    assert "revisions/round-003/verification.json: is not in the history" in faults(work)["files"]
    assert faults(older) == {}  # with all its files put back, nothing in it can show it
    assert set(faults(older, expect=head)) == {"anchors"}


def test_a_history_begun_again_after_an_anchor_is_found_by_whoever_holds_it(
    work, tmp_path, monkeypatch, write_results
) -> None:
    head = anchor(work, record="the tag a1 on origin").head
    shutil.rmtree(work / ".autoscirub")
    (work / ".prereg.lock").unlink()
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "another machine"))
    (work / "results" / "results.json").rename(tmp_path / "results.json")
    freeze(work)
    shutil.copy(tmp_path / "results.json", work / "results" / "results.json")
    check(work)
    found = verify_record(work)
    assert found.ok  # it is whole, and it lies
    assert any("could have started the whole record afresh" in line for line in found.cannot_show)
    assert "it was started afresh, rewritten" in faults(work, expect=head)["anchors"]


def test_a_history_that_names_an_anchor_of_another_line_is_found(work, forger) -> None:
    forged = forger(work)
    forged.edit(
        "facts.json",
        lambda facts: facts.update(event="anchor", facts={"head": "a" * 40, "where": "trust me"}),
    )
    shutil.rmtree(forged.folder / "project")
    forged.commit()
    assert "which is not in this record" in faults(work)["anchors"]
    assert audit(work).basis.anchor is None
