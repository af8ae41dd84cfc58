"""Ways to be done without doing the work: each refused, or shown."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autoscirub.errors import AutoscirubError, PredictionsError, TamperedError, TrustError
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze, scope, unfreeze
from autoscirub.workflow.rounds import plan_round, round_step, run_rounds
from autoscirub.workflow.status import status

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))
from conftest import RUBRIC

sys.path.pop(0)


@pytest.fixture
def ruled(slope_project, write_results):
    (slope_project / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    return slope_project


ONE = '[[criteria]]\nid = "E"\nrequirement = "Something."\njudge = "never"\n'
CHECK = '[[criteria.checks]]\nid = "e"\nkind = "expr"\nexpr = "{}"\n'
THIRD = '[[criteria]]\nid = "C3"'

SWAPS = [
    (
        "an easy rubric swapped in",
        lambda _text: ONE + CHECK.format("results.slope > -9"),
        ["lost", "C1", "C2", "C3", "gained", "E"],
    ),
    (
        "a criterion weakened",
        lambda text: text.replace("results.low < results.high", "results.slope < 99"),
        ["changed", "C2"],
    ),
    ("a criterion renamed", lambda text: text.replace('"C3"', '"C3b"'), ["lost", "C3", "gained", "C3b"]),
    ("a criterion dropped", lambda text: text[: text.index(THIRD)], ["lost", "C3"]),
    (
        "a check taken away",
        lambda text: (
            text[: text.rindex("[[criteria.checks]]")] + 'expected_artifacts = [{expected_path = "a.csv"}]\n'
        ),
        ["C3"],
    ),
    (
        "words changed alone",
        lambda text: text.replace("There is a table.", "There may be a table."),
        ["changed", "C3"],
    ),
]


@pytest.mark.parametrize(("what", "swap", "named"), SWAPS, ids=[row[0] for row in SWAPS])
def test_a_frozen_rubric_that_was_changed_is_refused_naming_the_criteria(ruled, what, swap, named) -> None:
    check(ruled)
    for path in (ruled / "rubric.toml", ruled / ".autoscirub" / "executable_rubric.json"):
        if path.suffix == ".toml":
            path.write_text(swap(path.read_text()))
        else:
            path.unlink()  # so that the two forms do not merely disagree
    for doing in (check, round_step, lambda project: plan_round(project=project)):
        with pytest.raises(TamperedError) as caught:
            doing(ruled)
        for word in named:
            assert word in str(caught.value)
        assert "autoscirub scope" in str(caught.value)


def test_a_scope_change_by_hand_in_the_rubric_is_refused(ruled) -> None:
    check(ruled)
    path = ruled / ".autoscirub" / "executable_rubric.json"
    value = json.loads(path.read_text())
    value["scope_changes"] = [
        {"at": "2026-01-01T00:00:00Z", "by": "terminal", "reason": "agreed", "criteria": ["C3"]}
    ]
    path.write_text(json.dumps(value))
    with pytest.raises(AutoscirubError, match="scope_changes"):
        check(ruled)


def test_an_agent_s_scope_change_ends_in_reduced_scope_and_a_person_s_does_not(
    ruled, write_results, tmp_path
) -> None:
    for by, ending in (("agent", "satisfied_in_reduced_scope"), ("terminal", "satisfied")):
        project = tmp_path / by
        shutil.copytree(ruled, project)
        check(project)
        text = (project / "rubric.toml").read_text()
        (project / "rubric.toml").write_text(text[: text.index(THIRD)])
        with pytest.raises(TrustError, match="--digest"):
            scope(project, reason="no table needed")
        scoped = scope(project, reason="no table needed", by=by)
        assert scoped.lost == ["C3"]
        write_results(project, slope=0.51, low=0.4, high=0.6)
        plan_round(project=project)
        checked = check(project)
        assert checked.ended.state == ending
        assert len(checked.report.criteria) == 2


def test_an_added_check_is_no_scope_change_and_holds_from_then_on(ruled) -> None:
    check(ruled)
    more = '\n[[criteria.checks]]\nid = "more"\nkind = "artifact"\npath = "out/more.csv"\n'
    (ruled / "rubric.toml").write_text(RUBRIC + more)
    (ruled / ".autoscirub" / "executable_rubric.json").unlink()
    checked = check(ruled)
    assert "out/more.csv" in checked.report.criteria[2].evidence_gap
    (ruled / "rubric.toml").write_text(RUBRIC)
    (ruled / ".autoscirub" / "executable_rubric.json").unlink()
    with pytest.raises(TamperedError, match="C3"):
        check(ruled)


def test_a_report_written_by_hand_is_not_believed_and_is_set_aside(ruled) -> None:
    check(ruled)
    path = ruled / ".autoscirub" / "verification_report.json"
    value = json.loads(path.read_text())
    for result in value["criteria"]:
        result |= {"satisfied": True, "status": "satisfied"}
    value |= {"all_satisfied": True, "summary": {"passed": 3, "failed": 0, "highest_priority_gaps": []}}
    path.write_text(json.dumps(value))
    checked = check(ruled)
    assert checked.report.summary.passed == 1
    assert list((ruled / ".autoscirub").glob("verification_report.json.aside-*"))


def test_a_round_written_by_hand_is_counted_shown_and_nothing_rests_on_it(ruled) -> None:
    check(ruled)
    folder = ruled / ".autoscirub" / "revisions" / "round-007"
    folder.mkdir()
    value = json.loads((ruled / ".autoscirub" / "verification_report.json").read_text())
    value |= {"round": 7}
    (folder / "verification.json").write_text(json.dumps(value))
    checked = check(ruled)
    assert checked.report.round == 1
    [odd] = [entry for entry in checked.rounds if entry.number == 7]
    assert not odd.known
    assert "not in the history" in " ".join(odd.problems)
    plan_round(project=ruled)
    assert check(ruled).report.round == 8


def test_settings_that_decide_changed_between_rounds_are_refused_until_put_on_the_record(ruled) -> None:
    check(ruled)
    (ruled / "autoscirub.toml").write_text('[judge]\nmodel = "kinder"\n')
    with pytest.raises(TamperedError, match="judge.model was None and is 'kinder'"):
        check(ruled)
    scope(ruled, reason="another model", by="agent")
    assert check(ruled).report is not None


REVISER_CHEATS = {
    "the predictions": "p = pathlib.Path('prereg.toml'); p.write_text(p.read_text().replace('0.1', '9'))",
    "the lock": "p = pathlib.Path('.prereg.lock'); p.write_text(p.read_text().replace('a', 'b'))",
    "the rubric": "p = pathlib.Path('rubric.toml'); p.write_text(p.read_text().replace('low <', 'low <='))",
    "the executable rubric": "pathlib.Path('.autoscirub/executable_rubric.json').unlink()",
    "a round": "pathlib.Path('.autoscirub/revisions/round-001/verification.json').write_text('{}')",
    "a new round": "d = pathlib.Path('.autoscirub/revisions/round-009'); d.mkdir(); (d / 'verification.json').write_text('{}')",
    "the history": "pathlib.Path('.autoscirub/history.bundle').write_bytes(b'')",
    "the configuration": "pathlib.Path('autoscirub.toml').write_text('[rounds]\\nmax = 99\\n')",
    "a folder for the rubric": "p = pathlib.Path('rubric.toml'); p.unlink(); p.mkdir(); (p / 'x').write_text('x')",
    "a link for the predictions": "p = pathlib.Path('prereg.toml'); p.rename('p2'); p.symlink_to('p2')",
    "a FIFO in the state": "import os; os.mkfifo('.autoscirub/fifo')",
    "a link for the rounds": (
        "import shutil; shutil.move('.autoscirub/revisions', 'r2'); "
        "pathlib.Path('.autoscirub/revisions').symlink_to('../r2')"
    ),
    "a link for what is set aside": (
        "import tempfile; pathlib.Path('.autoscirub/jobs').symlink_to(tempfile.mkdtemp()); "
        "pathlib.Path('rubric.toml').write_text('x')"
    ),
    "the whole state": "import shutil; shutil.rmtree('.autoscirub')",
}


@pytest.mark.parametrize("what", REVISER_CHEATS)
def test_a_reviser_that_touches_what_is_locked_is_put_back_and_void(ruled, reviser_at, what) -> None:
    before = {name: (ruled / name).read_bytes() for name in ("prereg.toml", ".prereg.lock", "rubric.toml")}
    meets = 'r = pathlib.Path(\'results/results.json\'); r.write_text(\'{"slope": 0.51, "low": 0.0, "high": 1.0}\')'
    ran = run_rounds(ruled, revise=reviser_at(f"import pathlib\n{REVISER_CHEATS[what]}\n{meets}\n"))
    assert ran.ended.state == "error"
    assert "what is locked" in ran.ended.why
    assert {name: (ruled / name).read_bytes() for name in before} == before
    assert not (ruled / "autoscirub.toml").exists()
    assert not (ruled / ".autoscirub" / "revisions" / "round-009").exists()
    assert not (ruled / ".autoscirub" / "revisions" / "round-002").exists()
    assert not (ruled / ".autoscirub" / "revisions").is_symlink()
    assert not (ruled / ".autoscirub" / "jobs").is_symlink()
    assert not (ruled / ".autoscirub" / "fifo").exists()
    assert check(ruled, read_only=True).report.round == 1


@pytest.fixture
def reviser_at(tmp_path):
    def make(source: str) -> list[str]:
        path = tmp_path / "cheat.py"
        path.write_text(source)
        return [sys.executable, str(path)]

    return make


def test_a_prediction_copied_into_a_criterion_is_refused_at_freeze(slope_project) -> None:
    copied = "(abs( results['slope'] - 0.5 ) < 0.1)"
    (slope_project / "rubric.toml").write_text(ONE + CHECK.format(copied))
    with pytest.raises(PredictionsError, match='the prediction "slope"'):
        freeze(slope_project)
    assert not (slope_project / ".prereg.lock").exists()


def test_the_state_directory_deleted_and_begun_again_is_said(ruled) -> None:
    check(ruled)
    shutil.rmtree(ruled / ".autoscirub")
    (ruled / ".prereg.lock").unlink()
    freeze(ruled)
    checked = check(ruled)
    assert any("started afresh" in note or "removed" in note for note in checked.verification.notes)
    assert any("after results existed" in note for note in checked.verification.notes)


def test_a_prediction_frozen_later_may_not_repeat_a_requirement_either(slope_project) -> None:
    from autoscirub.workflow.locks import unfreeze

    (slope_project / "rubric.toml").write_text(ONE + CHECK.format("results.slope > -9"))
    freeze(slope_project)
    unfreeze(slope_project, reason="one more", terminal=True)
    more = '\n[[checks]]\nid = "twin"\nkind = "expr"\nexpr = "results.slope > -9"\n'
    with (slope_project / "prereg.toml").open("a") as file:
        file.write(more)
    with pytest.raises(PredictionsError, match='the prediction "twin"'):
        freeze(slope_project)


# A history made by hand, or by another machine, is a claim.


def _forge(project: Path, change) -> None:
    """Commit a changed manifest and report on top of the bundle, as anybody with git can."""
    bundle = project / ".autoscirub" / "history.bundle"
    with tempfile.TemporaryDirectory() as folder:

        def git(*arguments: str) -> None:
            names = ["-c", "user.name=autoscirub", "-c", "user.email=a@b"]
            subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)

        git("clone", "-q", "-b", "main", str(bundle), "c")
        tree = Path(folder) / "c"
        change(tree / "state")
        git("-C", "c", "add", "-A", "-f")
        git("-C", "c", "commit", "-q", "-m", "check")
        bundle.unlink()
        git("-C", "c", "bundle", "create", "-q", str(bundle), "main")
        for name in ("verification_report.json", "revisions/round-001/verification.json"):
            shutil.copyfile(tree / "state" / name, project / ".autoscirub" / name)


def _all_satisfied(state: Path) -> None:
    for name in ("verification_report.json", "revisions/round-001/verification.json"):
        report = json.loads((state / name).read_text())
        for result in report["criteria"]:
            result |= {"status": "satisfied", "satisfied": True, "evidence_gap": "none"}
        for decision in report["decisions"]:
            decision |= {"answer": "holds", "word": "satisfied", "open": []}
        count = len(report["criteria"])
        report["summary"] |= {"passed": count, "failed": 0}
        (state / name).write_text(json.dumps(report))


def test_answers_that_only_a_bundle_brings_are_decided_anew(ruled) -> None:
    honest = check(ruled)
    assert not honest.report.all_satisfied
    _forge(ruled, _all_satisfied)
    for seen in (check(ruled, read_only=True), check(ruled)):
        assert not seen.report.all_satisfied
        assert seen.reused == []
        assert [r.status for r in seen.report.criteria] == [r.status for r in honest.report.criteria]


def test_a_step_in_between_does_not_make_forged_answers_our_own(ruled) -> None:
    check(ruled)
    _forge(ruled, _all_satisfied)
    with contextlib.suppress(AutoscirubError):
        round_step(ruled)  # records something on top of what was forged
    assert not check(ruled).report.all_satisfied


def test_answers_reached_here_are_kept_and_said_to_be(ruled) -> None:
    check(ruled)
    assert check(ruled).reused


def test_a_clone_decides_anew_and_keeps_what_comes_out_the_same(ruled, tmp_path) -> None:
    first = check(ruled)
    copy = tmp_path / "copy"
    shutil.copytree(ruled, copy)
    words = [decision.word for decision in status(copy).decisions]
    assert "stale" not in words
    again = check(copy, read_only=True)
    assert again.reused == [result.criterion_id for result in first.report.criteria]
    # Re-evaluated all the same: each answer is of this moment's reading, not of the file's word.
    (copy / ".autoscirub" / "verification_report.json").unlink()
    assert check(copy, read_only=True).reused == again.reused
    (copy / "results" / "results.json").write_text('{"slope": 5000.0}')
    changed = check(copy, read_only=True)
    assert "C1" in changed.evaluated
    assert changed.report.criteria[0].status == "not_satisfied"


@pytest.fixture
def satisfied(ruled, reviser_at):
    meets = (
        "import pathlib; pathlib.Path('out').mkdir(); pathlib.Path('out/table.csv').write_text('x,y\\n1,2\\n'); "
        'pathlib.Path(\'results/results.json\').write_text(\'{"slope": 0.51, "low": 0.0, "high": 1.0}\')'
    )
    ran = run_rounds(ruled, revise=reviser_at(meets))
    assert ran.ended.state == "satisfied"
    return ruled


@pytest.mark.parametrize("doing", [round_step, lambda project: run_rounds(project, revise=["true"])])
def test_an_ended_loop_says_nothing_of_files_that_changed_since(satisfied, doing) -> None:
    assert doing(satisfied).ended.state == "satisfied"
    (satisfied / "results" / "results.json").write_text('{"slope": 9.0, "low": 2.0, "high": 1.0}')
    ran = doing(satisfied)
    assert ran.ended is None
    assert [decision.answer.value for decision in ran.decisions] == ["inconclusive"]
    assert "autoscirub check" in ran.next


@pytest.mark.parametrize("doing", [round_step, lambda project: run_rounds(project, revise=["true"])])
@pytest.mark.parametrize("name", ["rubric.toml", "prereg.toml"])
def test_an_ended_loop_is_refused_when_what_is_locked_changed_since(satisfied, doing, name) -> None:
    path = satisfied / name
    path.write_text(path.read_text().replace("0.5", "5.5").replace("results.low < results.high", "1 < 2"))
    with pytest.raises(TamperedError):
        doing(satisfied)


def test_without_a_history_what_the_manifest_says_was_decided_does_not_stand(
    ruled, tmp_path, monkeypatch
) -> None:
    check(ruled)
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "another-machine"))
    path = ruled / ".autoscirub" / "run_manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["locks"]["rubric"]
    manifest["locks"]["predictions"] = None
    path.write_text(json.dumps(manifest))
    (ruled / ".autoscirub" / "history.bundle").unlink()
    (ruled / ".prereg.lock").unlink()
    for entry in (*(ruled / ".autoscirub").glob("*.json"),):
        if entry.name != "run_manifest.json":
            entry.unlink()
    frozen = freeze(ruled)
    assert (
        frozen.locks.rubric.frozen_at == frozen.locks.predictions.frozen_at
    )  # frozen now, not as was claimed


def test_results_are_not_to_be_chosen_after_the_freeze(ruled) -> None:
    (ruled / "better.json").write_text('{"slope": 0.5, "low": 0.0, "high": 1.0}')
    (ruled / "autoscirub.toml").write_text('results = "better.json"\n')
    with pytest.raises(TamperedError, match="results was None and is 'better.json'"):
        check(ruled)
    (ruled / "autoscirub.toml").write_text('results = "results/results.json"\n')
    check(ruled)


def test_results_that_were_verified_and_then_removed_are_said_at_the_unfreeze(ruled) -> None:
    check(ruled)
    (ruled / "results" / "results.json").unlink()
    entry = unfreeze(ruled, reason="again", terminal=True)
    assert [file.path for file in entry.results_existed] == ["results/results.json"]
    freeze(ruled)
    assert any("after results existed" in note for note in check(ruled).verification.notes)


@pytest.mark.parametrize(
    "statement",
    [
        '{"changes": [], "changes": []}',
        '{"changes": [{"criterion_id": 1}]}',
        "[]",
        "nothing",
        '{"changes": "' + "x" * 2_000_000 + '"}',
    ],
    ids=["twice", "not text", "a list", "no JSON", "too large"],
)
def test_a_reviser_s_words_that_cannot_be_read_end_in_an_error(ruled, reviser_at, statement) -> None:
    source = f"import os, pathlib; pathlib.Path(os.environ['AUTOSCIRUB_CHANGES']).write_text({statement!r})"
    ran = run_rounds(ruled, revise=reviser_at(source))
    assert ran.ended.state == "error"
    assert "AUTOSCIRUB_CHANGES" in ran.ended.why


def test_an_event_log_written_over_is_set_aside_and_goes_on_from_the_history(ruled) -> None:
    check(ruled)
    log = ruled / ".autoscirub" / "revisions" / "events.jsonl"
    honest = log.read_text()
    log.write_text('{"event": "satisfied"}\n')
    check(ruled)
    assert log.read_text().startswith(honest)
    assert [path.read_text() for path in log.parent.glob("events.jsonl.aside-*")] == [
        '{"event": "satisfied"}\n'
    ]
    log.write_text(log.read_text() + "a note of a person\n")
    check(ruled)
    assert "a note of a person" in log.read_text()
