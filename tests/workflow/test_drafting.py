"""Writing what an agent may write: validated, atomically, on the record, and over nobody's work unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autoscirub.workflow.locks.freezing as freezing
from autoscirub.errors import AutoscirubError, CheckError, CorruptError, NewerVersionError, TamperedError
from autoscirub.models import Answer
from autoscirub.store import open_project, sha256_file
from autoscirub.workflow import validate
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.drafting import DRAFTS, write_state
from autoscirub.workflow.locks import freeze

CONTENTS: dict[str, dict[str, Any]] = {
    "rubric_skeleton.json": {
        "schema_version": "1.0",
        "source": "instruction",
        "goals": [
            {"goal_id": "G1", "title": "t", "requirement": "r", "instruction_evidence": ["find the slope"]}
        ],
        "task_id": "T",
        "unknown": {"kept": True},
    },
    "literature_sources.json": {"schema_version": "1.0", "sources": [{"title": "A paper"}]},
    "literature_grounding.json": {"schema_version": "1.0", "sources": [], "goals": [{"goal_id": "G1"}]},
    "task_data_profile.json": {
        "schema_version": "1.0",
        "files": [],
        "datasets": [],
        "relationships": [],
        "constraints": [],
        "goal_support": [],
    },
    "executable_rubric.json": {
        "schema_version": "1.0",
        "goals": [],
        "criteria": [{"criterion_id": "C1", "requirement": "The slope is there.", "judge": "auto"}],
    },
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "autoscirub.toml").write_text('results = "results/results.json"\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize("file", DRAFTS)
def test_each_draft_is_written_with_all_its_fields_and_is_on_the_record(file: str, project: Path) -> None:
    written = write_state(file, CONTENTS[file], project=project)
    path = project / ".autoscirub" / file
    assert json.loads(path.read_text("utf-8")) == CONTENTS[file]
    assert (written.file, written.sha256, written.changed) == (file, sha256_file(path), True)
    assert validate([path], project=project).ok
    with open_project(project).reading() as session:
        assert session.knows(file)
        assert session.history is not None
        assert session.history.commits()[0].facts["by"] == "agent"


@pytest.mark.parametrize("file", DRAFTS)
def test_the_same_content_again_changes_nothing_and_needs_no_digest(file: str, project: Path, tree) -> None:
    first = write_state(file, CONTENTS[file], project=project)
    before = tree(project / ".autoscirub")
    again = write_state(file, CONTENTS[file], project=project)
    assert (again.changed, again.sha256) == (False, first.sha256)
    after = tree(project / ".autoscirub")
    passing = {".", ".lock"}
    assert {name: after[name] for name in after if name not in passing} == {
        name: before[name] for name in before if name not in passing
    }


def test_a_file_is_replaced_only_by_who_names_the_digest_of_what_is_there(project: Path) -> None:
    first = write_state("rubric_skeleton.json", CONTENTS["rubric_skeleton.json"], project=project)
    other = {**CONTENTS["rubric_skeleton.json"], "task_id": "another"}
    with pytest.raises(CheckError, match=f"exists already.*{first.sha256}"):
        write_state("rubric_skeleton.json", other, project=project)
    with pytest.raises(CheckError, match="somebody wrote it meanwhile"):
        write_state("rubric_skeleton.json", other, expected_sha256="0" * 64, project=project)
    assert sha256_file(project / ".autoscirub" / "rubric_skeleton.json") == first.sha256
    assert write_state("rubric_skeleton.json", other, expected_sha256=first.sha256, project=project).changed


def test_a_digest_of_what_is_not_there_is_refused(project: Path) -> None:
    with pytest.raises(CheckError, match="does not exist, but expected_sha256 is given"):
        write_state(
            "rubric_skeleton.json",
            CONTENTS["rubric_skeleton.json"],
            expected_sha256="0" * 64,
            project=project,
        )


FAULTY = [
    ("rubric_skeleton.json", {"source": "a paper", "goals": []}, CorruptError, "source"),
    ("rubric_skeleton.json", {"source": "instruction"}, CorruptError, "goals"),
    (
        "rubric_skeleton.json",
        {
            "source": "instruction",
            "goals": [
                {"goal_id": name, "title": "t", "requirement": "r", "instruction_evidence": []}
                for name in ("G1", " g1")
            ],
        },
        CorruptError,
        "ids must differ",
    ),
    ("literature_sources.json", {"sources": "none"}, CorruptError, "sources"),
    ("task_data_profile.json", {"files": []}, CorruptError, "datasets"),
    ("literature_grounding.json", {"sources": [], "goals": [float("nan")]}, CheckError, "not strict JSON"),
    ("literature_grounding.json", {"sources": [], "goals": ["\ud800"]}, CheckError, "not strict JSON"),
    (
        "literature_grounding.json",
        {"schema_version": "9.0", "sources": [], "goals": []},
        NewerVersionError,
        "9.0",
    ),
    ("executable_rubric.json", {"criteria": []}, CheckError, "criteria"),
    ("executable_rubric.json", {"criteria": [{"criterion_id": "C1"}]}, CheckError, "requirement"),
    (
        "executable_rubric.json",
        {"goals": [], "criteria": [{}] * 200_000},
        CheckError,
        "executable_rubric.json",
    ),
]


@pytest.mark.parametrize(("file", "content", "error", "message"), FAULTY)
def test_content_with_faults_is_refused_whole_with_every_fault_and_nothing_is_written(
    file: str, content: dict[str, Any], error: type[AutoscirubError], message: str, project: Path
) -> None:
    with pytest.raises(error, match=message):
        write_state(file, content, project=project)
    assert not (project / ".autoscirub" / file).exists()


def test_what_a_freeze_would_refuse_of_a_rubric_is_said_when_it_is_written(project: Path) -> None:
    rubric = json.loads(json.dumps(CONTENTS["executable_rubric.json"]))
    rubric["criteria"][0]["checks"] = [{"id": "x", "kind": "expr", "expr": "1 == 1"}]
    written = write_state("executable_rubric.json", rubric, project=project)
    assert written.faults
    with pytest.raises(AutoscirubError, match="decides nothing"):
        freeze(project)


def test_where_people_wrote_the_short_form_that_is_the_rubric(project: Path) -> None:
    (project / "rubric.toml").write_text('[[criteria]]\nid = "C1"\nrequirement = "x"\n', encoding="utf-8")
    with pytest.raises(CheckError, match="are in rubric.toml"):
        write_state("executable_rubric.json", CONTENTS["executable_rubric.json"], project=project)


def test_after_the_freeze_the_rubric_is_not_written_not_even_where_the_history_is_gone(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rubric = CONTENTS["executable_rubric.json"]
    write_state("executable_rubric.json", rubric, project=project)
    freeze(project)
    with pytest.raises(TamperedError, match="the rubric is frozen"):
        write_state("executable_rubric.json", rubric, project=project)
    (project / ".autoscirub" / "history.bundle").unlink()
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "another-machine"))
    with pytest.raises(AutoscirubError):
        write_state("executable_rubric.json", rubric, project=project)


def test_a_rubric_that_an_agent_wrote_is_in_a_record_that_holds_together(project: Path) -> None:
    for file in DRAFTS:
        write_state(file, CONTENTS[file], project=project)
    freeze(project)
    write_state(
        "rubric_skeleton.json",
        {**CONTENTS["rubric_skeleton.json"], "task_id": "another"},
        expected_sha256=sha256_file(project / ".autoscirub" / "rubric_skeleton.json"),
        project=project,
    )
    verified = verify_record(project)
    assert [
        (finding.where, finding.message)
        for finding in verified.findings
        if finding.answer is not Answer.HOLDS
    ] == []


def test_what_is_written_while_a_freeze_looks_is_what_it_locks(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_state("executable_rubric.json", CONTENTS["executable_rubric.json"], project=project)
    more = json.loads(json.dumps(CONTENTS["executable_rubric.json"]))
    more["criteria"].append({"criterion_id": "C2", "requirement": "The table is there."})
    look = freezing._look

    def look_and_be_overtaken(*arguments: Any) -> Any:
        found = look(*arguments)
        monkeypatch.setattr(freezing, "_look", look)
        write_state("executable_rubric.json", more, expected_sha256=first.sha256, project=project)
        return found

    monkeypatch.setattr(freezing, "_look", look_and_be_overtaken)
    lock = freeze(project).locks.rubric
    assert lock is not None
    assert lock.criteria == ["C1", "C2"]


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        ({"goals": ["G1"]}, "write goal_ids"),
        ({"artifacts": []}, "write expected_artifacts"),
        ({"expected_artifacts": [{"path": "x.csv"}]}, "write expected_path"),
    ],
)
def test_words_of_the_short_form_are_refused_and_not_kept_without_a_meaning(
    criterion: dict[str, Any], message: str, project: Path
) -> None:
    rubric = {"goals": [], "criteria": [{"criterion_id": "C1", "requirement": "x", **criterion}]}
    with pytest.raises(CheckError, match=message):
        write_state("executable_rubric.json", rubric, project=project)


def test_a_draft_may_still_be_written_after_the_freeze(
    project: Path, write_results: Callable[..., Path]
) -> None:
    write_state("executable_rubric.json", CONTENTS["executable_rubric.json"], project=project)
    freeze(project)
    assert write_state("rubric_skeleton.json", CONTENTS["rubric_skeleton.json"], project=project).changed
