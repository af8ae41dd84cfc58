"""Writing the state files that an agent may write: the rubric before its freeze, and the drafts that lead to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks.rubric import (
    RUBRIC_LIMIT,
    RUBRIC_NAME,
    SHORT_NAME,
    SHORT_WORDS,
    lint_rubric,
    read_rubric,
)
from autoscirub.errors import CheckError, TamperedError
from autoscirub.models import (
    LiteratureGrounding,
    LiteratureSources,
    RubricSkeleton,
    TaskDataProfile,
    now,
    strict_json,
)
from autoscirub.store import decode, open_project, sha256_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.models import StateModel
    from autoscirub.store import Project, Session

DRAFTS: dict[str, type[StateModel] | None] = {
    RubricSkeleton.file_name: RubricSkeleton,
    LiteratureSources.file_name: LiteratureSources,
    LiteratureGrounding.file_name: LiteratureGrounding,
    TaskDataProfile.file_name: TaskDataProfile,
    RUBRIC_NAME: None,
}
"""The files that an agent may write -> their model; the rubric has a reader of its own."""


@dataclass(frozen=True)
class WriteResult:
    """A state file as it is after the call."""

    file: str
    sha256: str
    changed: bool
    """Whether its content changed, or the file is new."""
    faults: list[str] = field(default_factory=list)
    """Everything in it that a freeze would refuse."""
    warnings: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def write_state(
    file: str,
    content: dict[str, Any],
    *,
    expected_sha256: str | None = None,
    project: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> WriteResult:
    """Write one of `DRAFTS`, validated, atomically, on the record.

    An existing file is replaced only when `expected_sha256` is its digest: nobody's work is lost silently.
    Raises CheckError for any other file, a frozen rubric, content with faults (every one of them), a digest that is
    not what is there, and CorruptError and NewerVersionError as reading it would.
    """
    if file not in DRAFTS:
        raise CheckError(_not_writable(file))
    opened = open_project(project, state_dir)
    data = _validated(opened, file, content)
    with opened.writing() as session:
        if file == RUBRIC_NAME:
            _refuse_frozen(opened, session)
        found = opened.state.read_bytes(file)
        digest = sha256_bytes(data)
        if found == data:
            return WriteResult(file, digest, False, *_lint(opened, data, file), session.notices)
        _refuse_unexpected(file, found, expected_sha256)
        facts = {"file": file, "sha256": digest, "by": "agent"}
        session.record("write_state", at=now(), facts=facts, state={file: data})
        return WriteResult(file, digest, True, *_lint(opened, data, file), session.notices)


def _not_writable(file: str) -> str:
    allowed = ", ".join(DRAFTS)
    ours = {
        "verification_report.json": "`check` writes it, from what it finds",
        "verification.json": "`check` writes it, from what it finds",
        "run_manifest.json": "`freeze` writes the locks",
        ".prereg.lock": "`freeze` writes it",
        "revision_plan.json": "`plan_round` writes it",
        "change_summary.json": "`check(changes=…)` writes it",
        "prereg.toml": "write it with your own tools in the project's folder, then `freeze`",
        SHORT_NAME: f"write {RUBRIC_NAME} here instead, or the file with your own tools",
    }
    name = file.rsplit("/", 1)[-1]
    why = f": {ours[name]}" if name in ours else ""
    return f"{file[:200]!r} is not written by an agent{why}; an agent may write {allowed}"


def _validated(opened: Project, file: str, content: dict[str, Any]) -> bytes:
    try:
        data = strict_json(content).encode("utf-8")
    except (ValueError, TypeError) as error:  # NaN, a lone surrogate
        raise CheckError(f"{file}: is not strict JSON: {error}") from None
    if len(data) > RUBRIC_LIMIT:
        raise CheckError(f"{file}: {len(data):,} bytes; at most {RUBRIC_LIMIT:,} are accepted")
    model = DRAFTS[file]
    if model is None:
        if strange := _short_words(content):
            raise CheckError("\n".join(f"{file}: {line}" for line in strange[:20]))
        if read_rubric(data, file).model.scope_changes:
            raise CheckError(
                f"{file}: scope_changes: is the record of changes after a freeze, which autoscirub writes; leave it out"
            )
        source = opened.config.rubric_file
        if opened.read(source, limit=RUBRIC_LIMIT) is not None:
            raise CheckError(
                f"{file}: the requirements of this project are in {source}, which a freeze makes it from; change that"
            )
    else:
        decode(data, model, file)
    return data


def _refuse_frozen(opened: Project, session: Session) -> None:
    if session.recorded_locks.rubric is None and session.found_locks.rubric is None:
        return
    raise TamperedError(
        f"{RUBRIC_NAME}: the rubric is frozen, so it is not written any more. What it asks for is met by work: "
        "`check`, `plan_round`, revise. What cannot be met is reported: `check(infeasible=[…])`. A change of scope "
        f"needs a terminal, and is recorded: autoscirub scope --reason … --project {opened.root}"
    )


def _refuse_unexpected(file: str, found: bytes | None, expected: str | None) -> None:
    if found is None:
        if expected is not None:
            raise CheckError(
                f"{file}: does not exist, but expected_sha256 is given; leave it out to create the file"
            )
        return
    digest = sha256_bytes(found)
    if expected is None:
        raise CheckError(
            f"{file}: exists already, with other content; read it (autoscirub://state/{file}), and to replace it "
            f"give expected_sha256: {digest}"
        )
    if expected != digest:
        raise CheckError(
            f"{file}: is not what you expect ({expected[:64]}) but {digest}: somebody wrote it meanwhile. "
            f"Read it (autoscirub://state/{file}) before you replace it"
        )


def _lint(opened: Project, data: bytes, file: str) -> tuple[list[str], list[str]]:
    if file != RUBRIC_NAME:
        return [], []
    lint = lint_rubric(
        read_rubric(data, file),
        judged=opened.config.judge.backend != "none",
        runnable=opened.config.run is not None,
    )
    return list(lint.faults), list(lint.warnings)


def _short_words(content: dict[str, Any]) -> list[str]:
    """A fault for each word of the short form. Unknown fields are kept and ask for nothing, so what they were meant to
    ask for would be missing from what is frozen."""
    found: list[str] = []
    criteria = content.get("criteria")
    for index, criterion in enumerate(criteria if isinstance(criteria, list) else []):
        if not isinstance(criterion, dict):
            continue
        found += [
            f"criteria[{index}].{word}: means nothing in {RUBRIC_NAME}; write {published}"
            for word, published in SHORT_WORDS["criteria"].items()
            if word in criterion
        ]
        artifacts = criterion.get("expected_artifacts")
        found += [
            f"criteria[{index}].expected_artifacts[{place}].path: means nothing in {RUBRIC_NAME}; write expected_path"
            for place, artifact in enumerate(artifacts if isinstance(artifacts, list) else [])
            if isinstance(artifact, dict) and "path" in artifact
        ]
    return found
