"""The loop: verify, plan, revise, verify again, and each way in which it ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from autoscirub.errors import CheckError, StateError, TrustError
from autoscirub.models import Infeasible
from autoscirub.workflow import check, verify_criterion
from autoscirub.workflow.rounds import plan_round, round_step, run_rounds
from autoscirub.workflow.rounds.verification import RoundVerification


def statuses(report) -> dict[str, str]:
    return {result.criterion_id: result.status for result in report.criteria}


def test_the_first_check_opens_round_one_with_every_criterion_of_the_rubric(ruled, state) -> None:
    checked = check(ruled)
    assert statuses(checked.report) == {"C1": "satisfied", "C2": "not_satisfied", "C3": "not_satisfied"}
    written = state(ruled, "revisions/round-001/verification.json")
    assert written == state(ruled, "verification_report.json")
    assert (written["round"], written["all_satisfied"], written["summary"]["passed"]) == (1, False, 1)
    assert [entry["criterion_id"] for entry in written["criteria"]] == ["C1", "C2", "C3"]
    assert "results/results.json" in written["criteria"][1]["evidence_gap"]
    assert "out/table.csv" in written["criteria"][2]["evidence_gap"]


def test_a_check_without_a_plan_verifies_the_open_round_again_and_opens_none(ruled, state) -> None:
    check(ruled)
    checked = check(ruled)
    assert checked.report.round == 1
    assert checked.evaluated == []
    assert {result.reused_from_round for result in checked.report.criteria} == {1}
    assert not (ruled / ".autoscirub" / "revisions" / "round-002").exists()


def test_plan_then_check_closes_the_round_with_a_summary_and_opens_the_next(
    ruled, state, write_results
) -> None:
    check(ruled)
    plan = plan_round(project=ruled).plan
    assert [target.criterion_id for target in plan.targets] == ["C2", "C3"]
    assert all(target.gap and target.planned_actions for target in plan.targets)
    write_results(ruled, slope=0.51, low=0.4, high=0.6)
    checked = check(ruled)
    assert checked.report.round == 2
    assert statuses(checked.report) == {"C1": "satisfied", "C2": "satisfied", "C3": "not_satisfied"}
    summary = state(ruled, "revisions/round-001/change_summary.json")
    assert [change["criterion_id"] for change in summary["changes"]] == ["C2", "C3"]
    assert summary["changes"][0]["remaining_gap"] == "none"
    assert "out/table.csv" in summary["changes"][1]["remaining_gap"]
    events = (ruled / ".autoscirub" / "revisions" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in events] == [
        "opened",
        "verified",
        "planned",
        "revised",
        "opened",
        "verified",
    ]


def test_a_changed_key_of_the_results_asks_only_the_criterion_that_reads_it_again(
    ruled, write_results
) -> None:
    check(ruled)
    plan_round(project=ruled)
    write_results(ruled, slope=0.51, low=0.4, high=0.6)
    checked = check(ruled)
    assert checked.evaluated == ["C2"]
    assert {"results.low", "results.high"} <= set(checked.report.criteria[1].asked_again_because)
    assert checked.report.criteria[0].reused_from_round == 1


def test_the_unattended_loop_ends_satisfied_after_two_rounds(ruled, reviser, state) -> None:
    ran = run_rounds(ruled, revise=reviser())
    assert (ran.ended.state, ran.ended.round) == ("satisfied", 2)
    assert state(ruled, "run_manifest.json")["loop"]["ended"]["state"] == "satisfied"
    assert state(ruled, "revisions/round-001/change_summary.json")["changes"][1]["actions_completed"] == [
        "wrote the table"
    ]
    assert state(ruled, "verification_report.json")["all_satisfied"] is True


def test_round_does_one_step_each_time_and_says_what_is_next(ruled, write_results) -> None:
    first = round_step(ruled)
    assert first.checked.report.round == 1
    assert "plan" in first.next
    second = round_step(ruled)
    assert second.checked is None
    assert "revise" in second.next
    write_results(ruled, slope=0.51, low=0.4, high=0.6)
    third = round_step(ruled)
    assert third.checked.report.round == 2


NOTHING = "pass"
SIDE = "import pathlib; pathlib.Path('notes.txt').write_text('x')"
SLOW = """
import json, pathlib, uuid
p = pathlib.Path('results/results.json'); v = json.loads(p.read_text()); v['low'] = v.get('low', 9.0) + 1; v['high'] = 0.0
p.write_text(json.dumps(v))
"""
CANNOT = """
import json, os, pathlib
said = [{"criterion_id": c, "reason": "the data end in 1970"} for c in ("C2", "C3")]
pathlib.Path(os.environ["AUTOSCIRUB_CHANGES"]).write_text(json.dumps({"infeasible": said}))
"""

ENDINGS = [
    # reviser, max rounds, ending, part of the reason
    (NOTHING, 5, "stalled", "changed nothing that is judged"),
    (SIDE, 5, "stalled", "changed nothing that is judged"),
    (SLOW, 3, "budget_spent", "rounds: 3 of 3 used"),
    (CANNOT, 5, "infeasible", "C2, C3"),
    ("raise SystemExit(7)", 5, "error", "ended with status 7"),
]


@pytest.mark.parametrize(
    ("source", "most", "ending", "reason"), ENDINGS, ids=[f"{row[2]}-{n}" for n, row in enumerate(ENDINGS)]
)
def test_each_ending_is_reached_and_said_and_a_person_can_go_on(
    ruled, reviser, source, most, ending, reason
) -> None:
    ran = run_rounds(ruled, revise=reviser(source), max_rounds=most)
    assert ran.ended.state == ending
    assert reason in ran.ended.why
    for stays in (run_rounds(ruled, revise=reviser(), max_rounds=most), round_step(ruled)):
        assert stays.ended == ran.ended
        assert "--continue" in stays.next
        assert stays.checked is None
    with pytest.raises(CheckError, match="the loop has ended"):
        plan_round(project=ruled)
    again = run_rounds(ruled, revise=reviser(), max_rounds=most, go_on=True)
    assert again.ended.state == "satisfied"


def test_the_time_budget_ends_the_loop(ruled, reviser) -> None:
    (ruled / "autoscirub.toml").write_text("[rounds]\nseconds = 0.001\n")
    ran = run_rounds(ruled, revise=reviser(SLOW))
    assert (ran.ended.state, ran.ended.why.split(":")[0]) == ("budget_spent", "time")


def test_a_reviser_that_does_not_end_is_ended(ruled, reviser) -> None:
    (ruled / "autoscirub.toml").write_text("[rounds]\nrevise_seconds = 0.5\n")
    ran = run_rounds(ruled, revise=reviser("import signal; signal.pause()"))
    assert ran.ended.state == "error"
    assert "did not end within 0.5 s" in ran.ended.why


def test_a_reviser_named_by_the_project_runs_only_when_trusted(ruled, reviser) -> None:
    from autoscirub.setup import look_at_trust, record_trust

    (ruled / "autoscirub.toml").write_text(f"[rounds]\nrevise = {json.dumps(reviser())}\n")
    with pytest.raises(TrustError, match="not trusted"):
        run_rounds(ruled)
    record_trust(look_at_trust(ruled).digest, by="ci", project=ruled)
    assert run_rounds(ruled).ended.state == "satisfied"


def test_infeasible_criteria_stay_unmet_and_do_not_hide_what_can_be_done(ruled, write_results) -> None:
    check(ruled)
    plan_round(project=ruled)
    write_results(ruled, slope=0.51, low=0.4, high=0.6)
    checked = check(ruled, infeasible=[Infeasible(criterion_id="C3", reason="no data")])
    assert checked.ended.state == "infeasible"
    assert statuses(checked.report)["C3"] == "not_satisfied"
    assert checked.report.all_satisfied is False


def test_a_criterion_that_must_be_read_cannot_be_assessed_without_a_judge(
    slope_project, write_results
) -> None:
    from autoscirub.workflow.locks import freeze

    text = '[[criteria]]\nid = "C1"\nrequirement = "Limits are discussed."\n'
    (slope_project / "rubric.toml").write_text(text)
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    checked = check(slope_project)
    assert statuses(checked.report) == {"C1": "cannot_assess"}
    assert checked.report.all_satisfied is False
    result, decision = verify_criterion(slope_project, "C1")
    assert (result.status, decision.answer) == ("cannot_assess", "inconclusive")


def test_looking_at_one_criterion_records_nothing(ruled, tree) -> None:
    check(ruled)
    before = tree(ruled)
    result, _ = verify_criterion(ruled, "C2")
    assert result.status == "not_satisfied"
    assert tree(ruled) == before
    with pytest.raises(CheckError, match="no criterion 'C9'; it has C1, C2, C3"):
        verify_criterion(ruled, "C9")


def test_read_only_gives_the_same_answers_and_writes_nothing(ruled, tree) -> None:
    check(ruled)
    before = tree(ruled)
    checked = check(ruled, read_only=True)
    assert statuses(checked.report) == {"C1": "satisfied", "C2": "not_satisfied", "C3": "not_satisfied"}
    assert len(checked.reused) == 3
    assert tree(ruled) == before


def test_a_plan_for_a_criterion_that_is_met_or_unknown_is_refused(ruled) -> None:
    from autoscirub.models import RevisionTarget

    with pytest.raises(CheckError, match="no round is open"):
        plan_round(project=ruled)
    check(ruled)
    for name in ("C1", "C9"):
        with pytest.raises(CheckError, match=f"{name} is no unmet criterion"):
            plan_round([RevisionTarget(criterion_id=name)], project=ruled)
    plan_round(project=ruled)
    with pytest.raises(CheckError, match="round-001: is planned"):
        plan_round(project=ruled)


def test_case_22_odd_and_unfinished_rounds_are_named_left_alone_and_counted(field_case, tree) -> None:
    from autoscirub.workflow.locks import freeze

    project = field_case("22")
    listing = tree(project / ".autoscirub" / "revisions")
    freeze(project)
    checked = check(project)
    assert checked.report.round == 4
    found = {entry.name: entry for entry in checked.rounds}
    assert found["round-001"].status == "complete"
    assert found["round-002"].status == "incomplete"
    assert found["round-003"].status == "empty"
    assert found["round-10"].status == found["round-0004.bak"].status == "odd"
    assert not any(entry.known for entry in checked.rounds)
    after = tree(project / ".autoscirub" / "revisions")
    for path, entry in listing.items():
        if path not in {".", "events.jsonl"}:
            assert after[path] == entry, path
    lines = (project / ".autoscirub" / "revisions" / "events.jsonl").read_text().splitlines()
    assert lines[:3] == ['{"round": 1, "event": "start"}', '{"round": 1, "event": "end"}', '{"round": 2, "ev']
    assert [json.loads(line)["event"] for line in lines[3:]] == ["opened", "verified"]


def test_case_23_a_verdict_that_the_history_does_not_know_is_not_reused(field_case) -> None:
    from autoscirub.workflow.locks import freeze

    project = field_case("23")
    freeze(project)
    checked = check(project)
    assert checked.reused == []
    assert statuses(checked.report) == {"C1": "not_satisfied"} or statuses(checked.report) == {
        "C1": "cannot_assess"
    }
    [aside] = (project / ".autoscirub").glob("verification_report.json.aside-*")
    assert json.loads(aside.read_text())["judge_model"] == "judge-a"


CUT_OFF = """
import os, pathlib, signal
pathlib.Path('results/results.json').write_text('{"slope": 0.0}')
pathlib.Path('notes.txt').write_text('half done')
os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.fixture
def cut_off(reviser):
    """Run the loop in a process that is killed while its reviser is at work."""
    import subprocess
    import sys

    def run(project) -> None:
        program = "import sys; from autoscirub.workflow.rounds import run_rounds; run_rounds(sys.argv[1], revise=sys.argv[2:])"
        command = [sys.executable, "-c", program, str(project), *reviser(CUT_OFF)]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "server")}
        )
        assert done.returncode == -signal.SIGKILL

    return run


def test_what_a_cut_off_revision_had_changed_is_put_back_and_kept_beside(ruled, reviser, cut_off) -> None:
    cut_off(ruled)
    (ruled / "mine.txt").write_text("a person wrote this meanwhile")
    ran = run_rounds(ruled, revise=reviser())
    assert ran.ended.state == "satisfied"
    assert json.loads((ruled / "results" / "results.json").read_text())["slope"] == 0.51
    [folder] = (ruled / ".autoscirub" / "jobs").iterdir()
    assert (folder / "notes.txt").read_text() == "half done"
    assert (folder / "mine.txt").read_text() == "a person wrote this meanwhile"
    assert not (ruled / "notes.txt").exists()


def test_a_file_too_large_to_keep_that_a_cut_off_revision_changed_is_named_and_asked_about(
    ruled, reviser, cut_off
) -> None:

    (ruled / "autoscirub.toml").write_text("[audit]\nkeep_file = 5\n")
    cut_off(ruled)
    with pytest.raises(StateError, match=r"results/results\.json.*--as-is"):
        run_rounds(ruled, revise=reviser())
    assert run_rounds(ruled, revise=reviser(), as_is=True).ended is not None


def test_requirements_alone_are_enough(slope_project, write_results) -> None:
    from autoscirub.workflow.locks import freeze

    (slope_project / "prereg.toml").unlink()
    text = '[[criteria]]\nid = "C1"\nrequirement = "r"\njudge = "never"\n[[criteria.checks]]\nid = "c"\nkind = "expr"\nexpr = "results.slope > -9"\n'
    (slope_project / "rubric.toml").write_text(text)
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    for checked in (check(slope_project), check(slope_project, read_only=True)):
        assert [decision.subject for decision in checked.decisions] == ["C1"]
        assert checked.report.all_satisfied
    assert checked.verification is None


def test_a_round_part_that_is_a_directory_is_named_and_the_other_rounds_stand(ruled) -> None:
    check(ruled)
    (ruled / ".autoscirub" / "revisions" / "round-005" / "verification.json").mkdir(parents=True)
    checked = check(ruled)
    assert checked.report.round == 1
    [odd] = [entry for entry in checked.rounds if entry.number == 5]
    assert (odd.status, odd.known) == ("incomplete", False)
    assert "directory" in odd.problems[0]


DAEMON = """
import os, pathlib, signal
child = os.fork()
if child == 0:
    os.setsid()
    signal.pause()  # holds the pipe of its parent for ever
pathlib.Path(__file__).with_suffix(".pid").write_text(str(child))
print("gone")
"""


def test_a_grandchild_that_left_the_group_and_holds_the_pipe_is_not_waited_for(ruled, reviser) -> None:
    output: list[bytes] = []
    command = reviser(DAEMON)
    try:
        ran = run_rounds(ruled, revise=command, on_output=output.append)
    finally:
        os.kill(int(Path(command[1]).with_suffix(".pid").read_text()), signal.SIGKILL)
    assert ran.ended.state == "stalled"
    assert output == [b"gone"]


def test_a_changes_file_that_cannot_be_read_fails_the_revision_and_what_it_locked_is_put_back(
    ruled, reviser
) -> None:
    before = (ruled / "rubric.toml").read_bytes()
    source = "import os, pathlib\npathlib.Path(os.environ['AUTOSCIRUB_CHANGES']).write_text('[')\n"
    ran = run_rounds(ruled, revise=reviser(source))
    assert ran.ended.state == "error"
    assert "AUTOSCIRUB_CHANGES file cannot be read" in ran.ended.why
    touching = "pathlib.Path('rubric.toml').write_text('')\n"
    ran = run_rounds(ruled, revise=reviser(source + touching), go_on=True)
    assert "what is locked" in ran.ended.why
    assert (ruled / "rubric.toml").read_bytes() == before


def test_a_cut_off_revision_that_had_touched_what_is_locked_is_put_back_and_begins_again(
    ruled, reviser
) -> None:
    import subprocess
    import sys

    before = {name: (ruled / name).read_bytes() for name in ("rubric.toml", "prereg.toml", ".prereg.lock")}
    touching = "import os, pathlib, signal\n"
    touching += "".join(f"pathlib.Path({name!r}).write_text('x')\n" for name in before)
    touching += (
        "pathlib.Path('.autoscirub/run_manifest.json').unlink()\nos.kill(os.getppid(), signal.SIGKILL)\n"
    )
    program = "import sys; from autoscirub.workflow.rounds import run_rounds; run_rounds(sys.argv[1], revise=sys.argv[2:])"
    command = [sys.executable, "-c", program, str(ruled), *reviser(touching)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "server")}
    )
    assert done.returncode == -signal.SIGKILL
    assert run_rounds(ruled, revise=reviser()).ended.state == "satisfied"
    assert {name: (ruled / name).read_bytes() for name in before} == before


def test_a_check_after_an_ending_opens_nothing_unless_the_work_is_done(ruled, reviser, write_results) -> None:
    run_rounds(ruled, revise=reviser(NOTHING))
    assert check(ruled).ended.state == "stalled"
    write_results(ruled, slope=0.51, low=0.4, high=0.6)
    assert check(ruled).ended.state == "stalled"
    (ruled / "out").mkdir()
    (ruled / "out" / "table.csv").write_text("x,y\n1,2\n")
    assert check(ruled).ended.state == "satisfied"
    (ruled / "out" / "table.csv").unlink()
    assert check(ruled).ended is None  # what no longer holds is not called satisfied


def test_a_check_added_after_the_freeze_is_held_to_what_a_freeze_refuses(ruled) -> None:
    from autoscirub.errors import CheckError

    check(ruled)
    text = (ruled / "rubric.toml").read_text()
    for expression in ("abs(results.slope - 0.5) < 0.1", "results.slope >", "len(results.slope) >= 0"):
        more = f'\n[[criteria.checks]]\nid = "more"\nkind = "expr"\nexpr = "{expression}"\n'
        (ruled / "rubric.toml").write_text(text + more)
        with pytest.raises(CheckError, match='check "more"'):
            check(ruled)


def test_that_git_could_not_say_what_it_ignores_is_said_of_criteria_too(ruled) -> None:
    (ruled / ".git").write_text("gitdir: /nowhere\n")
    (ruled / "out").mkdir()
    (ruled / "out" / "table.csv").write_text("x,y\n1,2\n")
    notices = check(ruled, read_only=True).notices
    assert any("could not" in notice and "git" in notice for notice in notices), notices
    assert len(notices) == len(set(notices))
    assert set(notices) <= set(verify_criterion(ruled, "C3")[1].open)


@pytest.mark.parametrize("read_only", [True, False])
def test_predictions_and_criteria_that_read_other_bytes_of_a_file_are_void(
    ruled, monkeypatch, read_only
) -> None:
    real = RoundVerification.verify

    def after_a_write(self, **options) -> None:
        (ruled / "results" / "results.json").write_text('{"slope": 0.52, "low": 0.0, "high": 1.0}')
        real(self, **options)

    monkeypatch.setattr(RoundVerification, "verify", after_a_write)
    with pytest.raises(StateError, match=r"results/results\.json: changed while it was being verified"):
        check(ruled, read_only=read_only)
