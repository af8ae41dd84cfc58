"""`state/layout.toml` names every file of a project's state, and tells the truth about it."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from autoscirub.data import data_dir, load_layout, template
from autoscirub.models.base import StateModel
from autoscirub.models.layout import PLACEHOLDERS, Layout
from autoscirub.models.schema import MODELS
from autoscirub.store.files import TEMPORARY_PREFIX
from autoscirub.store.locks import HOLDER_NAME, LEASE_NAME, LOCK_NAME
from autoscirub.store.session import MARK_NAME

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = {
    "NNN": "001",
    "FILE": "verification.json",
    "FRAME": "rests",
    "KEY": "0a1b",
    "PROBLEM": "tutorial",
    "TIME": "20260131T090000Z",
}


def filled(path: str) -> str:
    return re.sub(rf"\b({'|'.join(PLACEHOLDERS)})\b", lambda word: EXAMPLES[word[1]], path)


FILES = [
    # path, where, schema, commit: every file there is, and nothing else
    ("autoscirub.toml", "project", "config", True),
    ("prereg.toml", "project", "prereg", True),
    (".prereg.lock", "project", "prereg_lock", True),
    ("rubric.toml", "project", None, True),
    ("results.json", "project", None, True),
    ("results/results.json", "project", None, True),
    ("report.md", "project", None, True),
    (".gitignore", "state", None, True),
    ("config.yaml", "state", "config", True),
    ("run_manifest.json", "state", "run_manifest", True),
    ("unfrozen/NNN/prereg.toml", "state", "prereg", True),
    ("unfrozen/NNN/.prereg.lock", "state", "prereg_lock", True),
    ("unfrozen/NNN/verification.json", "state", "verification", True),
    ("unfrozen/NNN/", "state", None, True),
    ("rubric_skeleton.json", "state", "rubric_skeleton", True),
    ("literature_sources.json", "state", "literature_sources", True),
    ("literature_grounding.json", "state", "literature_grounding", True),
    ("task_data_profile.json", "state", "task_data_profile", True),
    ("executable_rubric.json", "state", "executable_rubric", True),
    ("verification.json", "state", "verification", True),
    ("verification_report.json", "state", "verification_report", True),
    ("rerun.json", "state", "rerun", True),
    ("revisions/round-NNN/verification.json", "state", "verification_report", True),
    ("revisions/round-NNN/revision_plan.json", "state", "revision_plan", True),
    ("revisions/round-NNN/change_summary.json", "state", "change_summary", True),
    ("revisions/events.jsonl", "state", "event", True),
    ("verdicts/KEY.json", "state", "verdict", True),
    ("asks.jsonl", "state", "ask", True),
    ("calibration.json", "state", "calibration", True),
    ("frames/FRAME.yaml", "state", None, True),
    ("carriage/FRAME/records.jsonl", "state", None, True),
    ("leaderboards/PROBLEM.csv", "state", None, True),
    ("exposure.jsonl", "state", None, True),
    ("history.bundle", "state", None, True),
    ("jobs/", "state", None, False),
    ("logs/", "state", None, False),
    (".lock", "state", None, False),
    (".lock.holder", "state", None, False),
    (".lock.step", "state", None, False),
    (".lock.lease", "state", None, False),
    ("FILE.aside-TIME", "state", None, True),
    ("FILE.corrupt-TIME", "state", None, True),
]


def test_the_table_has_every_file_of_the_design_and_no_other() -> None:
    assert [
        (entry.path, entry.where, entry.schema_name, entry.commit) for entry in load_layout().file
    ] == FILES


def test_every_schema_that_is_named_ships_and_every_schema_that_ships_is_named() -> None:
    named = {entry.schema_name for entry in load_layout().file if entry.schema_name}
    assert named == set(MODELS)
    assert {path.name for path in data_dir("schemas").glob("*.json")} == {
        f"{name}.schema.json" for name in named
    }


@pytest.mark.parametrize("model", [model for model in MODELS.values() if issubclass(model, StateModel)])
def test_a_model_that_knows_its_file_is_the_schema_of_that_file(model: type[StateModel]) -> None:
    entries = [entry for entry in load_layout().file if entry.path.rsplit("/", 1)[-1] == model.file_name]
    assert entries
    assert MODELS[entries[0].schema_name or ""] is model


def test_what_is_json_and_written_now_or_next_has_a_schema() -> None:
    without = [
        entry.path
        for entry in load_layout().file
        if re.search(r"\.jsonl?$", entry.path)
        and entry.arrives_with in {None, "criteria", "rounds"}
        and not entry.schema_name
        and entry.writer != ["project"]
    ]
    assert without == []


def test_the_locks_are_those_that_the_store_makes() -> None:
    named = {entry.path for entry in load_layout().file if ".lock" in entry.path and not entry.commit}
    assert named == {LOCK_NAME, HOLDER_NAME, LEASE_NAME, MARK_NAME}


FOUND = [
    # path, where, the entry it belongs to
    ("verification.json", "state", "verification.json"),
    ("verification.json", "project", None),
    ("prereg.toml", "project", "prereg.toml"),
    ("prereg.toml", "state", None),
    ("revisions/round-001/verification.json", "state", "revisions/round-NNN/verification.json"),
    ("revisions/round-999/verification.json", "state", "revisions/round-NNN/verification.json"),
    ("revisions/round-1000/verification.json", "state", "revisions/round-NNN/verification.json"),
    ("revisions/round-000/verification.json", "state", None),
    ("revisions/round-10/verification.json", "state", None),
    ("revisions/round-0004/verification.json", "state", None),
    ("revisions/round-0004.bak/verification.json", "state", None),
    ("revisions/round-001/notes.txt", "state", None),
    ("revisions/round-001/verificationXjson", "state", None),
    ("unfrozen/002/prereg.toml", "state", "unfrozen/NNN/prereg.toml"),
    ("unfrozen/002/verification.json", "state", "unfrozen/NNN/verification.json"),
    ("unfrozen/002/results.json", "state", "unfrozen/NNN/"),
    ("verdicts/0a1b.json", "state", "verdicts/KEY.json"),
    ("verdicts/a/b.json", "state", None),
    ("jobs/1/result.json", "state", "jobs/"),
    ("jobs", "state", None),
    ("revisions/round-001/revision_plan.json.corrupt-20260131T090000Z-2", "state", "FILE.corrupt-TIME"),
    ("mine.json", "state", None),
    ("", "state", None),
]


@pytest.mark.parametrize(("path", "where", "expected"), FOUND)
def test_a_path_is_found_in_the_table(path: str, where: Any, expected: str | None) -> None:
    entry = load_layout().find(path, where)
    assert (entry.path if entry else None) == expected


def test_every_entry_finds_itself() -> None:
    for entry in load_layout().file:
        assert load_layout().find(filled(entry.path) + ("x" if entry.is_folder else ""), entry.where) is entry


BROKEN = [
    # the change to one entry, what the fault is about
    ({"path": "/etc/passwd"}, ("file", 0, "path")),
    ({"writer": []}, ("file", 0, "writer")),
    ({"writer": ["nobody"]}, ("file", 0, "writer", 0)),
    ({"readers": "any"}, ("file", 0, "readers")),
    ({"commit": "yes"}, ("file", 0, "commit")),
    ({"what": "no sentence"}, ("file", 0, "what")),
    ({"arrives_with": "luck"}, ("file", 0, "arrives_with")),
    ({"shema": "x"}, ("file", 0, "shema")),
    ({"path": "logs/", "schema": "event"}, ("file", 0, "schema")),
]


@pytest.mark.parametrize(("change", "path"), BROKEN)
def test_a_broken_entry_is_refused_at_its_field(change: dict[str, Any], path: tuple[Any, ...]) -> None:
    entry = {"path": "a.json", "writer": ["any"], "readers": ["any"], "commit": True, "what": "A file."}
    assert Layout.model_validate({"file": [entry]})
    with pytest.raises(ValidationError) as refusal:
        Layout.model_validate({"file": [{**entry, **change}]})
    assert [fault["loc"] for fault in refusal.value.errors()] == [path]


def test_a_path_that_stands_twice_is_refused() -> None:
    entry = {"path": "a.json", "writer": ["any"], "readers": ["any"], "commit": True, "what": "A file."}
    assert Layout.model_validate({"file": [entry, {**entry, "where": "project"}]})
    with pytest.raises(ValidationError, match="stands in the table twice"):
        Layout.model_validate({"file": [entry, entry]})


def test_git_ignores_what_the_table_says_and_nothing_else(tmp_path: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, env=environment)
    (tmp_path / ".autoscirub").mkdir()
    (tmp_path / ".autoscirub" / ".gitignore").write_text(template("gitignore"), encoding="utf-8")
    commit = {filled(entry.path): entry.commit for entry in load_layout().file if entry.where == "state"}
    paths = {path + ("x" if path.endswith("/") else ""): committed for path, committed in commit.items()}
    paths |= {
        f"{TEMPORARY_PREFIX}0a1b": False,
        f"revisions/round-001/{TEMPORARY_PREFIX}0a1b": False,
        "frames/logs/a.yaml": True,
        "unfrozen/001/jobs/a": True,
    }
    answered = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", "--stdin"],
        input="\n".join(f".autoscirub/{path}" for path in paths),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    ignored = {line.removeprefix(".autoscirub/") for line in answered.stdout.splitlines()}
    assert ignored == {path for path, committed in paths.items() if not committed}
