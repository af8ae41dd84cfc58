"""Ways to be done without doing the work: each refused, or shown."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from autoscirub.errors import AutoscirubError, PredictionsError, TamperedError, TrustError
from autoscirub.workflow import check, freeze, plan_round, round_step, run_rounds, scope

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
    assert any("begun again" in note or "removed" in note for note in checked.verification.notes)
    assert any("after results existed" in note for note in checked.verification.notes)


def test_a_prediction_frozen_later_may_not_repeat_a_requirement_either(slope_project) -> None:
    from autoscirub.workflow import unfreeze

    (slope_project / "rubric.toml").write_text(ONE + CHECK.format("results.slope > -9"))
    freeze(slope_project)
    unfreeze(slope_project, reason="one more", terminal=True)
    more = '\n[[checks]]\nid = "twin"\nkind = "expr"\nexpr = "results.slope > -9"\n'
    with (slope_project / "prereg.toml").open("a") as file:
        file.write(more)
    with pytest.raises(PredictionsError, match='the prediction "twin"'):
        freeze(slope_project)
