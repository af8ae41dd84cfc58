"""The audit of real histories: what they rest on, rounds side by side, verification, export, anchors."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from autoscirub.errors import CheckError, HistoryError, StateError
from autoscirub.models import Answer, Infeasible
from autoscirub.workflow import check, verify
from autoscirub.workflow.audit.anchor_head import anchor
from autoscirub.workflow.audit.export import export_record
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.locks import freeze, scope, unfreeze
from autoscirub.workflow.rounds import plan_round, run_rounds

COVERING = """
[[criteria]]
id = "read"
requirement = "The limits are discussed."

[[criteria]]
id = "covered"
requirement = "There are enough readings."
satisfaction_condition = "n is at least 40"
judge = "never"

[[criteria.checks]]
id = "n40"
kind = "expr"
expr = "results.n >= 40"
covers = ["n is at least 40"]
"""


@pytest.fixture
def two_rounds(ruled, write_results) -> Path:
    """Round 1 with one of three satisfied, then a plan, then round 2 with two of three."""
    check(ruled)
    plan_round(project=ruled)
    write_results(ruled, slope=0.51, low=0.4, high=0.6)
    check(ruled)
    return ruled


def faults(project: Path, **options) -> list[tuple[str, str]]:
    found = verify_record(project, **options)
    assert found.ok == (not [entry for entry in found.findings if entry.answer is Answer.DOES_NOT_HOLD])
    return [
        (entry.group, f"{entry.where}: {entry.message}")
        for entry in found.findings
        if entry.answer is Answer.DOES_NOT_HOLD
    ]


def unknown(project: Path, **options) -> list[tuple[str, str]]:
    return [
        (entry.group, f"{entry.where}: {entry.message}")
        for entry in verify_record(project, **options).findings
        if entry.answer is Answer.INCONCLUSIVE
    ]


# What it rests on


def test_without_a_history_there_is_no_audit_and_it_says_what_begins_one(slope_project) -> None:
    for look in (audit, verify_record, anchor):
        with pytest.raises(
            HistoryError, match=r"no history\.bundle, so there is no record; `autoscirub freeze`"
        ):
            look(slope_project)


def test_a_history_that_was_removed_is_said_where_it_is_remembered(two_rounds) -> None:
    (two_rounds / ".autoscirub" / "history.bundle").unlink()
    with pytest.raises(HistoryError, match="is missing, though 4 steps are recorded on this machine"):
        audit(two_rounds)


def test_the_counts_say_who_decided_and_what_was_reused(two_rounds) -> None:
    basis = audit(two_rounds).basis
    assert (basis.round, basis.criteria, basis.decided) == (2, 3, {"code": 3})
    assert basis.reused == {1: 2}
    assert basis.not_done == ["not judged", "not rerun"]
    assert basis.notices == []


def test_a_criterion_that_nobody_could_assess_is_counted_as_nobodys(slope_project, write_results) -> None:
    (slope_project / "rubric.toml").write_text(COVERING, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.5, n=41)
    check(slope_project)
    basis = audit(slope_project).basis
    assert basis.decided == {"nobody": 1, "code": 1}
    [unread] = basis.unread
    assert (unread.criterion_id, unread.answer) == ("covered", Answer.HOLDS)
    [claim] = unread.claims
    assert (claim.text, claim.check) == ("n is at least 40", "n40: results.n >= 40")


def test_requirements_that_no_text_is_covered_of_name_the_checks_that_decided_them(two_rounds) -> None:
    unread = {entry.criterion_id: entry for entry in audit(two_rounds).basis.unread}
    assert unread["C3"].checks == ["table: out/table.csv"]
    assert unread["C3"].answer is Answer.DOES_NOT_HOLD


def test_predictions_stand_there_with_their_freeze_and_outcome(two_rounds) -> None:
    found = audit(two_rounds)
    assert found.basis.predictions.word == "verified"
    assert found.basis.headline.startswith("verified: 1 of 1 predictions held")
    assert found.basis.freeze == "no results file was there at freeze"
    assert [decision.subject for decision in found.decisions] == ["predictions", "C1", "C2", "C3"]


def test_an_unfreeze_stays_in_the_audit_with_its_reason(slope_project, write_results) -> None:
    freeze(slope_project)
    write_results(slope_project, slope=0.5)
    verify(slope_project)
    unfreeze(slope_project, reason="wrong unit", terminal=True)
    freeze(slope_project)
    basis = audit(slope_project).basis
    assert [entry.reason for entry in basis.unfreezes] == ["wrong unit"]
    assert basis.freeze.startswith("predictions frozen after results existed")
    assert "not verified yet" in basis.headline
    assert basis.predictions is None


def test_a_scope_change_is_there_with_who_and_why_and_between_which_rounds(two_rounds) -> None:
    rubric = two_rounds / "rubric.toml"
    rubric.write_text(rubric.read_text().replace("There is a table.", "There is one table."))
    scope(two_rounds, reason="one is enough", by="agent")
    plan_round(project=two_rounds)
    check(two_rounds)
    found = audit(two_rounds)
    [change] = found.basis.scope_changes
    assert (change.by, change.reason, change.criteria) == ("agent", "one is enough", ["C3"])
    [between] = [entry for entry in found.between if (entry.before, entry.after) == (2, 3)]
    assert any("scope changed by agent (criteria: C3): one is enough" in step for step in between.steps)
    assert faults(two_rounds) == []


# Rounds side by side


def test_each_criterion_has_a_cell_for_each_round_and_reuse_is_marked(two_rounds) -> None:
    found = audit(two_rounds)
    cells = {
        row.criterion_id: [(cell.status, cell.reused_from) for cell in row.cells] for row in found.criteria
    }
    assert cells == {
        "C1": [("satisfied", None), ("satisfied", 1)],
        "C2": [("not_satisfied", None), ("satisfied", None)],
        "C3": [("not_satisfied", None), ("not_satisfied", 1)],
    }
    assert [(column.number, column.passed, column.failed) for column in found.rounds] == [
        (1, 1, 2),
        (2, 2, 1),
    ]


def test_a_round_that_was_verified_again_says_how_often(ruled) -> None:
    for _ in range(3):
        check(ruled)
    assert [column.verified for column in audit(ruled).rounds] == [3]


def test_a_flip_says_what_changed_the_gap_before_and_the_evidence_after(two_rounds) -> None:
    [flip] = audit(two_rounds).flips
    assert (flip.criterion_id, flip.before_round, flip.after_round) == ("C2", 1, 2)
    assert "results.low" in flip.because
    assert "results.low" in " ".join(flip.gone)
    assert any("results.low = 0.4" in text for text in flip.come)


def test_between_two_rounds_stand_the_files_the_plan_and_what_the_reviser_said(ruled, reviser) -> None:
    run_rounds(ruled, revise=reviser())
    found = audit(ruled)
    [between] = [entry for entry in found.between if (entry.before, entry.after) == (1, 2)]
    assert (between.added, between.changed, between.removed) == (
        ["out/table.csv"],
        ["results/results.json"],
        [],
    )
    assert between.targets == ["C2", "C3"]
    assert "C3: wrote the table" in between.reviser_notes
    assert any("ended: satisfied" in step for step in between.steps)
    assert found.ended.state == "satisfied"
    assert found.rounds[-1].ended.state == "satisfied"


def test_a_revision_that_failed_and_going_on_after_it_are_told(ruled, reviser) -> None:
    run_rounds(ruled, revise=reviser("raise SystemExit(7)"))
    run_rounds(ruled, revise=reviser(), go_on=True)
    steps = " | ".join(step for entry in audit(ruled).between for step in entry.steps)
    assert "revision failed: the reviser ended with status 7" in steps
    assert "gone on after error" in steps
    assert faults(ruled) == []


def test_what_the_reviser_says_cannot_be_done_is_told(two_rounds, write_results) -> None:
    plan_round(project=two_rounds)
    check(two_rounds, infeasible=[Infeasible(criterion_id="C3", reason="the data are lost")])
    [between] = [entry for entry in audit(two_rounds).between if entry.before == 2]
    assert between.reviser_notes == ["C3: cannot be done: the data are lost"]


def test_odd_and_empty_round_folders_are_named_and_make_no_column(two_rounds) -> None:
    revisions = two_rounds / ".autoscirub" / "revisions"
    (revisions / "round-9").mkdir()
    (revisions / "round-011").mkdir()
    found = audit(two_rounds)
    assert [column.number for column in found.rounds] == [1, 2]
    assert sorted(message.split(":")[0] for message in found.odd) == ["round-011", "round-9"]


def test_a_project_with_predictions_alone_has_an_audit(slope_project, write_results) -> None:
    freeze(slope_project)
    write_results(slope_project, slope=0.9)
    verify(slope_project)
    found = audit(slope_project)
    assert (found.rounds, found.criteria, found.basis.round) == ([], [], None)
    assert found.basis.predictions.answer is Answer.DOES_NOT_HOLD
    assert found.between[0].steps[-1].endswith("predictions: refuted")


def test_a_clone_with_the_bundle_alone_shows_the_same_record(two_rounds, tmp_path) -> None:
    clone = tmp_path / "elsewhere" / ".autoscirub"
    clone.mkdir(parents=True)
    shutil.copy(two_rounds / ".autoscirub" / "history.bundle", clone)
    there, here = audit(clone.parent), audit(two_rounds)
    assert (there.head, there.criteria, there.flips) == (here.head, here.criteria, here.flips)
    assert [message for message in there.basis.notices if message.endswith("is gone; the history's is shown")]


def test_looking_verifying_and_exporting_write_nothing_in_the_project(two_rounds, tree, tmp_path) -> None:
    before = tree(two_rounds)
    audit(two_rounds)
    verify_record(two_rounds)
    anchor(two_rounds)
    export_record(tmp_path / "out", lambda _: "text", project=two_rounds)
    assert tree(two_rounds) == before


# Verification of honest records


def test_an_honest_record_has_no_fault_and_every_answer_comes_out_again(two_rounds) -> None:
    found = verify_record(two_rounds)
    assert found.findings == []
    words = {decision.subject: decision.word for decision in found.decisions}
    assert words["answers"] == "6 answers came out again"
    assert words["predictions"] == "2 outcomes came out again"
    assert {decision.answer for decision in found.decisions} == {Answer.HOLDS}
    assert any("started the whole record afresh" in message for message in found.cannot_show)


HISTORIES = {
    "a loop that ends satisfied": lambda project, reviser: run_rounds(project, revise=reviser()),
    "a loop that stalls": lambda project, reviser: run_rounds(project, revise=reviser("pass")),
    "a loop whose budget is spent": lambda project, reviser: run_rounds(
        project, revise=reviser("open('out.txt','a').write('x')"), max_rounds=1
    ),
    "a revision that touched what is locked": lambda project, reviser: run_rounds(
        project, revise=reviser("open('prereg.toml','a').write('#')")
    ),
    "checks without a change": lambda project, _: [
        check(project),
        check(project),
        check(project, fresh=True),
    ],
    "predictions verified alone": lambda project, _: [verify(project), check(project), verify(project)],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_every_honest_history_verifies(ruled, reviser, name: str) -> None:
    HISTORIES[name](ruled, reviser)
    assert faults(ruled) == []


def test_a_check_that_was_added_to_a_frozen_criterion_is_no_fault(two_rounds) -> None:
    rubric = two_rounds / "rubric.toml"
    more = '\n[[criteria.checks]]\nid = "more"\nkind = "expr"\nexpr = "results.slope < 5"\n'
    rubric.write_text(rubric.read_text() + more)
    plan_round(project=two_rounds)
    check(two_rounds)
    assert faults(two_rounds) == []


def test_rounds_after_an_edited_one_verify_too(two_rounds) -> None:
    report = two_rounds / ".autoscirub" / "revisions" / "round-002" / "verification.json"
    report.write_text(report.read_text().replace("not_satisfied", "satisfied"))
    check(two_rounds)
    assert {group for group, _ in faults(two_rounds)} <= {"files", "rounds"}


def test_answers_on_files_that_were_too_large_to_keep_cannot_be_checked_and_are_named(
    slope_project, write_results
) -> None:
    (slope_project / "autoscirub.toml").write_text("[audit]\nkeep_file = 0\n")
    (slope_project / "rubric.toml").write_text(COVERING, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.5, n=41)
    check(slope_project)
    found = verify_record(slope_project)
    assert found.ok
    messages = dict(unknown(slope_project))
    assert (
        "covered: cannot be checked here: results/results.json was not kept (too large, or a link)"
        in messages["answers"]
    )
    assert "slope: results/results.json was not kept (too large, or a link)" in messages["predictions"]
    [answers] = [decision for decision in found.decisions if decision.subject == "answers"]
    assert answers.answer is Answer.INCONCLUSIVE


def test_an_artifact_reached_through_a_link_cannot_be_checked_and_is_no_fault(two_rounds) -> None:
    (two_rounds / "real.csv").write_text("x,y\n1,2\n")
    (two_rounds / "out").mkdir()
    (two_rounds / "out" / "table.csv").symlink_to("../real.csv")
    plan_round(project=two_rounds)
    assert check(two_rounds).report.all_satisfied
    assert faults(two_rounds) == []
    assert any(
        "out/table.csv was not kept (too large, or a link)" in message for _, message in unknown(two_rounds)
    )


def test_results_that_an_earlier_step_was_decided_on_are_remembered_at_the_freeze(
    ruled, write_results
) -> None:
    prereg = (ruled / "prereg.toml").read_text()
    unfreeze(ruled, reason="not yet", terminal=True)
    (ruled / "prereg.toml").unlink()
    check(ruled)
    results = (ruled / "results" / "results.json").read_text()
    (ruled / "results" / "results.json").unlink()
    (ruled / "prereg.toml").write_text(prereg)
    freeze(ruled)
    (ruled / "results" / "results.json").write_text(results)
    assert faults(ruled) == []
    assert any("says that results/results.json was not there" in message for _, message in unknown(ruled))


def test_a_step_that_a_kill_cut_off_is_told_as_that(two_rounds, write_results) -> None:
    state = two_rounds / ".autoscirub"
    before = (state / "verification.json").read_bytes()
    head = anchor(two_rounds).head
    write_results(two_rounds, slope=0.52)
    verify(two_rounds)
    assert (state / "verification.json").read_bytes() != before
    (state / "verification.json").write_bytes(before)
    (state / ".lock.step").write_text(f"{head}\n")
    assert faults(two_rounds) == []
    assert any("a kill cut this step off" in message for _, message in unknown(two_rounds))


# Anchors


def test_rounds_are_unanchored_until_an_anchor_is_recorded_and_those_after_it_again(
    two_rounds, write_results
) -> None:
    assert audit(two_rounds).basis.unanchored == [1, 2]
    held = anchor(two_rounds, record="  the tag a1 on origin ")
    basis = audit(two_rounds).basis
    assert (basis.anchor.head, basis.anchor.where) == (held.head, "the tag a1 on origin")
    assert basis.unanchored == []
    plan_round(project=two_rounds)
    check(two_rounds)
    assert audit(two_rounds).basis.unanchored == [3]
    assert audit(two_rounds).basis.anchor.rounds_after == [3]
    assert faults(two_rounds, expect=held.head) == []


def test_an_anchor_of_an_earlier_head_covers_only_what_came_before_it(two_rounds) -> None:
    head = anchor(two_rounds).head
    plan_round(project=two_rounds)
    check(two_rounds)
    anchor(two_rounds, record="a note on origin", head=head)
    assert audit(two_rounds).basis.unanchored == [3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": "  "}, "say in one line"),
        ({"record": "a\x1b[2Jb"}, "say in one line"),
        ({"record": "x" * 501}, "at most 500 characters"),
        ({"record": "a tag", "head": "0" * 40}, "is no step of this record"),
        ({"record": "a tag", "head": "abc"}, "expected all 40 hex digits"),
        ({"head": "0" * 40}, "goes with --record"),
    ],
)
def test_an_anchor_that_says_nothing_or_names_another_head_is_refused(
    two_rounds, options, message: str
) -> None:
    head = anchor(two_rounds).head
    with pytest.raises(CheckError, match=message):
        anchor(two_rounds, **options)
    assert anchor(two_rounds).head == head


def test_expect_takes_whole_heads_alone(two_rounds) -> None:
    head = anchor(two_rounds).head
    assert faults(two_rounds, expect=head.upper()) == []
    with pytest.raises(CheckError, match="expected all 40 hex digits"):
        verify_record(two_rounds, expect=head[:12])
    [(group, message)] = faults(two_rounds, expect="0" * 40)
    assert (group, "is not in this record" in message) == ("anchors", True)


# Export


def test_an_export_can_be_audited_where_it_lies_and_names_no_place_of_this_machine(
    two_rounds, tmp_path
) -> None:
    made = export_record(tmp_path / "out", lambda found: f"text of {found.project}", project=two_rounds)
    folder = Path(made.path)
    assert audit(folder, state_dir=folder / "state").criteria == audit(two_rounds).criteria
    assert audit(two_rounds, state_dir=folder / "state").head == made.head
    assert faults(folder, state_dir=folder / "state") == []
    assert len((folder / "README.md").read_text().splitlines()) == 5
    assert (folder / "audit.txt").read_text() == "text of slope\n"
    data = json.loads((folder / "audit.json").read_text())
    assert (data["ok"], data["head"], data["state_dir"]) == (True, made.head, "state")
    assert {path.name for path in (folder / "schemas").iterdir()} >= {
        "run_manifest.schema.json",
        "verification_report.schema.json",
        "revision_plan.schema.json",
    }
    for path in folder.rglob("*"):
        if path.is_file():
            assert str(two_rounds).encode() not in path.read_bytes()


def test_the_git_commands_of_the_readme_work(two_rounds, tmp_path) -> None:
    folder = Path(export_record(tmp_path / "out", lambda _: "", project=two_rounds).path)
    git = {"cwd": folder, "check": True, "capture_output": True, "text": True}
    subprocess.run(["git", "clone", "-q", "--bare", "state/history.bundle", "record.git"], **git)
    log = subprocess.run(["git", "-C", "record.git", "log", "--format=%h %cI %s", "main"], **git).stdout
    assert len(log.splitlines()) == 4
    facts = subprocess.run(["git", "-C", "record.git", "show", "main:facts.json"], **git).stdout
    assert json.loads(facts)["event"] == "check"


def test_an_export_to_a_zip_file_holds_the_same_files(two_rounds, tmp_path) -> None:
    (tmp_path / "out").mkdir()  # an empty folder is fine
    folder = export_record(tmp_path / "out", lambda _: "", project=two_rounds)
    packed = export_record(tmp_path / "out.zip", lambda _: "", project=two_rounds)
    with zipfile.ZipFile(packed.path) as archive:
        assert sorted(archive.namelist()) == folder.files == packed.files
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("name", ["full", "file", "there.zip", "link", "slope/.autoscirub/out"])
def test_an_export_overwrites_nothing_and_goes_not_into_the_state_directory(
    two_rounds, tmp_path, tree, name: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "there.zip").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    before = tree(tmp_path)
    with pytest.raises(StateError, match=r"not (empty|written over)|lies in the state directory"):
        export_record(tmp_path / name, lambda _: "", project=two_rounds)
    assert tree(tmp_path) == before
