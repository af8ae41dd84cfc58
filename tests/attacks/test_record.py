"""Ways to make a record say more than was found: each is found, or what cannot be shown is said."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoscirub.models import Answer
from autoscirub.report.audit import render_audit
from autoscirub.report.audit_record import render_record_verified
from autoscirub.store import sha256_bytes
from autoscirub.workflow import check, freeze, plan_round
from autoscirub.workflow.auditing import audit
from autoscirub.workflow.auditing_anchor import anchor
from autoscirub.workflow.auditing_verify import verify_record

RUBRIC = (Path(__file__).parent / "rubric.toml").read_text("utf-8")
REPORT = "state/verification_report.json"


@pytest.fixture
def work(slope_project, write_results) -> Path:
    """Two rounds; of three criteria the last one is not satisfied."""
    (slope_project / "rubric.toml").write_text(RUBRIC, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.51)
    check(slope_project)
    plan_round(project=slope_project)
    write_results(slope_project, slope=0.51, low=0.4, high=0.6)
    check(slope_project)
    return slope_project


def faults(project: Path, **options) -> dict[str, str]:
    """Group -> all that is at fault there, in one text."""
    found: dict[str, str] = {}
    for entry in verify_record(project, **options).findings:
        if entry.answer is Answer.DOES_NOT_HOLD:
            found[entry.group] = f"{found.get(entry.group, '')}{entry.where}: {entry.said}\n"
    return found


def utf8() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


@dataclass
class Forger:
    """Somebody with plain git and an editor, who knows how the record is made."""

    project: Path
    folder: Path

    def git(self, *arguments: str) -> str:
        options = ["-c", "user.name=f", "-c", "user.email=f@f", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=self.folder,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    @property
    def bundle(self) -> Path:
        return self.project / ".autoscirub" / "history.bundle"

    def open(self) -> Forger:
        self.folder.mkdir()
        self.git("clone", "-q", "-b", "main", str(self.bundle), ".")
        return self

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text("utf-8"))

    def write(self, name: str, value: Any) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, bytes) else (json.dumps(value, indent=1) + "\n").encode()
        (self.folder / name).write_bytes(data)

    def edit(self, name: str, change: Callable[[Any], None]) -> None:
        value = self.read(name)
        change(value)
        self.write(name, value)

    def facts(self, **changes: Any) -> None:
        self.edit("facts.json", lambda facts: facts["facts"].update(changes))

    def commit(self, *options: str) -> None:
        """Put what was changed into the bundle, and lay the state files out as the new head has them."""
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "check", *options)
        self.export()

    def export(self) -> None:
        self.git("bundle", "create", "-q", str(self.folder / ".git" / "new"), "main")
        shutil.move(self.folder / ".git" / "new", self.bundle)
        shutil.copytree(self.folder / "state", self.project / ".autoscirub", dirs_exist_ok=True)


@pytest.fixture
def forger(tmp_path) -> Callable[[Path], Forger]:
    def begin(project: Path) -> Forger:
        return Forger(project, tmp_path / "forged").open()

    return begin


def all_satisfied(report: dict[str, Any]) -> None:
    """Everything that a report, taken alone, would be believed for."""
    for result in report["criteria"]:
        result |= {"satisfied": True, "status": "satisfied", "evidence_gap": "", "reused_from_round": None}
    report["all_satisfied"] = True
    report["summary"] |= {"passed": len(report["criteria"]), "failed": 0}
    for decision in report["decisions"]:
        decision |= {"answer": "holds", "word": "satisfied", "open": []}


def say_satisfied(forger: Forger) -> None:
    """A check step whose every file agrees that the loop ended satisfied."""
    forger.edit(REPORT, all_satisfied)
    shutil.copy(forger.folder / REPORT, forger.folder / "state/revisions/round-002/verification.json")
    ended = {
        "state": "satisfied",
        "round": 2,
        "why": "every criterion is satisfied",
        "at": "2026-01-01T00:00:00Z",
    }
    ids = [result["criterion_id"] for result in forger.read(REPORT)["criteria"]]
    forger.facts(passed=len(ids), failed=0, evaluated=ids, reused=0, ended=ended)
    forger.edit("state/run_manifest.json", lambda manifest: manifest["loop"].update(ended=ended))


# On the disk


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
    kept = path.read_bytes()
    for data in (kept.replace(b"1", b"2"), b"{", b"\xff", b""):
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
    assert any("round-003" in said for said in audit(work).odd)


def test_predictions_and_requirements_that_were_changed_after_the_freeze_are_found(work) -> None:
    prereg, rubric = work / "prereg.toml", work / "rubric.toml"
    prereg.write_text(prereg.read_text().replace("0.1", "0.9"))
    rubric.write_text(rubric.read_text().replace("results.low < results.high", "results.slope < 9"))
    found = faults(work)["files"]
    assert "prereg.toml: changed after it was frozen" in found
    assert "changed or weakened C2" in found


# The bundle put back, or begun again


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
    assert any("could have begun the whole record again" in said for said in found.cannot_show)
    assert "it was begun again, rewritten" in faults(work, expect=head)["anchors"]


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


# Steps added with plain git


def test_a_forged_step_that_says_satisfied_is_found_by_deciding_again(work, forger) -> None:
    forged = forger(work)
    say_satisfied(forged)
    forged.commit()
    found = faults(work)
    assert set(found) == {"answers"}
    assert (
        "C3: is recorded as satisfied; the kept files give not_satisfied: out/table.csv: is not there"
        in found["answers"]
    )


def test_a_forged_answer_is_found_though_its_files_are_taken_off_the_list(work, forger) -> None:
    forged = forger(work)
    say_satisfied(forged)
    shutil.rmtree(forged.folder / "project")
    forged.facts(files=[])
    forged.commit()
    assert "C2: is recorded as satisfied; the kept files give cannot_assess" in faults(work)["answers"]


def test_kept_bytes_that_are_not_those_that_are_listed_are_found(work, forger) -> None:
    forged = forger(work)
    say_satisfied(forged)
    forged.write("project/out/table.csv", b"x,y\n1,2\n")
    forged.commit()
    assert "project" not in faults(work)
    assert "out/table.csv: is kept and not listed" in faults(work)["answers"]
    forged.facts(
        files=[*forged.read("facts.json")["facts"]["files"], listed("out/table.csv", b"other bytes")]
    )
    forged.commit()
    assert "out/table.csv: is not what is listed of it" in faults(work)["answers"]


def listed(path: str, data: bytes) -> dict[str, Any]:
    return {"path": path, "sha256": sha256_bytes(data), "size": len(data), "kept": True}


def test_whoever_forges_the_files_too_is_found_by_nothing_but_a_head_held_before(work, forger) -> None:
    head = anchor(work).head
    forged = forger(work)
    say_satisfied(forged)
    forged.write("project/out/table.csv", b"x,y\n1,2\n")
    forged.facts(files=[*forged.read("facts.json")["facts"]["files"], listed("out/table.csv", b"x,y\n1,2\n")])
    forged.commit()
    assert faults(work) == {}  # it is what an honest step would be, had the table been there
    found = verify_record(work, expect=head)
    assert found.ok
    assert "The 1 steps after it its owner could have written anew" in found.cannot_show[0]
    forged.git("commit", "-q", "--amend", "--allow-empty", "-m", "check", "--date", "2020-01-01T00:00:00Z")
    forged.git("reset", "-q", "--soft", "HEAD~2")
    forged.commit()
    assert "anchors" in faults(work, expect=head)


def flipped_counts(report: dict[str, Any]) -> None:
    report["summary"] |= {"passed": 3, "failed": 0}


def flipped_flag(report: dict[str, Any]) -> None:
    report["criteria"][2]["satisfied"] = True


def flipped_status(report: dict[str, Any]) -> None:
    report["criteria"][2] |= {"satisfied": True, "status": "satisfied", "reused_from_round": None}
    report["summary"] |= {"passed": 3, "failed": 0}


def removed_criterion(report: dict[str, Any]) -> None:
    del report["criteria"][2], report["decisions"][2]
    report["summary"] |= {"failed": 0}


def reused_lie(report: dict[str, Any]) -> None:
    report["criteria"][2] |= {"satisfied": True, "status": "satisfied", "reused_from_round": 1}
    report["decisions"][2] |= {"answer": "holds", "word": "satisfied"}
    report["summary"] |= {"passed": 3, "failed": 0}


def added_criterion(report: dict[str, Any]) -> None:
    report["criteria"].append({**report["criteria"][0], "criterion_id": "x"})
    report["summary"]["passed"] += 1


REPORTS = [
    (flipped_counts, "summary.passed"),
    (flipped_flag, "the two must agree"),
    (flipped_status, "C3: is satisfied, and its Decision says does_not_hold"),
    (flipped_status, "all_satisfied is False, and the criteria say True"),
    (removed_criterion, "lacks criteria of the locked rubric: C3"),
    (reused_lie, "C3: says that it is reused, and the report before has another answer"),
    (lambda report: report.update(all_satisfied=True), "not satisfied: C3"),
    (lambda report: report["criteria"].reverse(), "in another order than the locked rubric"),
    (lambda report: report.update(round=7), "the step says round 2, and its report 7"),
    (lambda report: report["decisions"].clear(), "C1: has no status, or no Decision"),
    (added_criterion, "has criteria that the locked rubric does not have: x"),
]


@pytest.mark.parametrize(("change", "said"), [pytest.param(*row, id=row[1][:30]) for row in REPORTS])
def test_a_forged_report_that_does_not_add_up_is_found(work, forger, change, said: str) -> None:
    forged = forger(work)
    forged.edit(REPORT, change)
    shutil.copy(forged.folder / REPORT, forged.folder / "state/revisions/round-002/verification.json")
    forged.commit()
    found = faults(work)["reports"]
    assert said in found
    audit(work)


def test_a_forged_outcome_is_found_by_evaluating_again(work, forger) -> None:
    forged = forger(work)
    results = b'{"slope": 9.5}'
    forged.write("project/results/results.json", results)
    files = [entry for entry in forged.read("facts.json")["facts"]["files"] if "results" not in entry["path"]]
    forged.facts(files=[*files, listed("results/results.json", results)])
    forged.edit(
        "state/verification.json", lambda outcome: outcome["digests"].update(results=sha256_bytes(results))
    )
    forged.commit()
    assert "slope: is recorded as True; the kept files give False" in faults(work)["predictions"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it.update(outcome="refuted"), "its outcome is refuted"),
        (lambda it: it["checks"].clear(), "lacks the check slope"),
        (
            lambda it: it["checks"].append({**it["checks"][0], "id": "more"}),
            "a check that was not frozen: more",
        ),
        (lambda it: it["digests"].update(prereg="0" * 64), "is of other predictions than are frozen"),
        (lambda it: it.update(headline="refuted: x"), "its headline says otherwise"),
        (lambda it: it["decisions"][0].update(word="refuted"), "its Decision says otherwise"),
    ],
)
def test_a_forged_outcome_that_does_not_add_up_is_found(work, forger, change, said: str) -> None:
    forged = forger(work)
    forged.edit("state/verification.json", change)
    forged.commit()
    assert said in faults(work)["predictions"]


# Locks


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
    from autoscirub.workflow import scope

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


def test_an_earlier_round_that_a_later_step_changed_is_found(work, forger) -> None:
    forged = forger(work)
    forged.edit("state/revisions/round-001/verification.json", all_satisfied)
    forged.commit()
    assert (
        "changes state/revisions/round-001/verification.json, though it is of round 2"
        in faults(work)["rounds"]
    )


# The line


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


ODD_FACTS: list[dict[str, Any]] = [
    {"round": "2"},
    {"round": True},
    {"round": -1},
    {"round": 10**30},
    {"files": 5},
    {"files": [5, {"path": 5}, {"path": "x"}, {"path": "../x", "sha256": "y", "size": "z", "kept": True}]},
    {"ended": [1], "outcome": {"a": 1}, "settings": "all of them"},
    {"ended": {"state": "\x1b[2J", "why": ["a"]}, "evaluated": {}, "reused": None},
    {"settings": {"results": ["a"], "judge.model": {"\x1b[2J": 1}}},
    {"settings": {"results": "../../etc/passwd"}},
    {"targets": "C1", "scope": "none", "locked": 7, "locks": "none"},
]


UNUSED = {"targets", "scope", "locked", "locks"}
"""Facts that a check step does not have."""


@pytest.mark.parametrize("odd", ODD_FACTS, ids=str)
def test_facts_of_any_shape_end_in_findings_and_send_nothing_to_the_terminal(
    work, forger, odd: dict[str, Any]
) -> None:
    forged = forger(work)
    forged.facts(**odd)
    forged.commit()
    for event in ("check", "freeze", "scope", "unfreeze", "continued", "anchor", "void", "surprise"):
        forged.edit("facts.json", lambda facts, event=event: facts.update(event=event))
        forged.commit("--amend")
        found, stream = verify_record(work), utf8()
        assert "\x1b" not in render_audit(audit(work), stream) + render_record_verified(found, stream)
        assert not found.ok or event == "surprise" or set(odd) <= UNUSED


HOSTILE = r"\u001b]0;pwned\u0007\u001b[2J\u202eid\nx"


def test_a_criterion_cannot_send_escapes_to_the_terminal(slope_project, write_results, cli) -> None:
    rubric = RUBRIC.replace("There is a table.", f"There is {HOSTILE} a table.").replace(
        'id = "C3"', f'id = "C3{HOSTILE}"'
    )
    rubric = rubric.replace('id = "table"', f'id = "t{HOSTILE}"')
    (slope_project / "rubric.toml").write_text(rubric, "utf-8")
    freeze(slope_project)
    write_results(slope_project, slope=0.5)
    check(slope_project)
    plan_round(project=slope_project)
    write_results(slope_project, slope=0.5, low=0.1, high=0.7)
    (slope_project / "out").mkdir()
    (slope_project / "out" / "table.csv").write_text("a,b\n1,2\n")
    check(slope_project)
    anchor(slope_project, record="a tag")
    (slope_project / ".autoscirub" / "verification_report.json").unlink()
    stream = utf8()
    shown = render_audit(audit(slope_project), stream)
    shown += render_record_verified(verify_record(slope_project), stream)
    assert "C3" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
