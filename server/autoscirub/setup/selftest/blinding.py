"""Self-test of blinding: nothing that is withheld appears in what a judge receives."""

from __future__ import annotations

import os
import secrets
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from autoscirub.judging.backends import ask_within, open_backend
from autoscirub.judging.prompts import criterion_prompt, hypothesis_prompt
from autoscirub.judging.workspace import build_workspace
from autoscirub.models import Criterion, JudgeConfig, JudgeRequest, strict_json
from autoscirub.setup.selftest.test_bed import AttackResult, Check, listed
from autoscirub.store import open_project

if TYPE_CHECKING:
    from autoscirub.judging.workspace import Workspace
    from autoscirub.setup.selftest.test_bed import TestBed

ALL = Criterion(criterion_id="C1", requirement="The slope is reported.")
NAMING = Criterion(
    criterion_id="C1",
    requirement="The slope is reported.",
    data_sources=["verification.json", ".git/description", "AGENTS.md", ".autoscirub", "results/table.csv"],
)
"""A criterion that names what is withheld."""

PROFILES = [
    # subject, profile, criterion, what it contains by design
    ("workspace of hypothesis", "hypothesis", None, ()),
    ("workspace of criterion", "criterion", ALL, ("the write-up",)),
    ("workspace of a criterion that names what is withheld", "criterion", NAMING, ("the write-up",)),
]
"""The profiles, each with the canaries that a judge rightly sees there."""

SAYS_ALL = """
import json, os, sys
seen = {"request": sys.stdin.read(), "environment": dict(os.environ), "folder": os.getcwd(), "files": []}
for place, _, names in os.walk(os.getcwd()):
    for name in names:
        with open(os.path.join(place, name), errors="replace") as file:
            seen["files"].append(file.read())
print(json.dumps(seen))
"""
"""A judge that prints everything that it receives."""


def request_of(workspace: Workspace, criterion: Criterion | None, *, seconds: float = 20) -> JudgeRequest:
    """The request that a judge receives about a workspace, built as a real one is."""
    manifest, code = workspace.manifest, secrets.token_hex(16)
    if criterion is None:
        prompt = hypothesis_prompt(
            "The slope is near one half.", ["between 0.4 and 0.6"], "Least squares.", manifest, (), code
        )
    else:
        report = workspace.root / "REPORT.md"
        text = [("REPORT.md", report.read_text("utf-8"))] if report.is_file() else []
        prompt = criterion_prompt(criterion, manifest, text, code)
    return JudgeRequest(
        kind="hypothesis" if criterion is None else "criterion",
        subject="hypothesis" if criterion is None else criterion.criterion_id,
        system=prompt.system,
        prompt=prompt.text,
        answer_schema=prompt.answer_schema,
        workspace=str(workspace.root),
        files=manifest.files,
        seconds=seconds,
        turns=10,
        prompt_digest=prompt.digest,
        workspace_digest=manifest.digest,
    )


def ask(test_bed: TestBed, script: str, request: JudgeRequest, *arguments: str) -> Any:
    """The reply of a judge program to a request. Raises as asking any judge does."""
    import anyio

    program = test_bed.place("judge") / "judge.py"
    program.write_text(script, encoding="utf-8")
    config = JudgeConfig(backend="command", command=[sys.executable, str(program), *arguments])
    backend = open_backend(config, program.parent, trusted=True)
    assert backend is not None  # noqa: S101 - "command" is built in
    return anyio.run(ask_within, backend, request)


def _workspace(
    profile: str, criterion: Criterion | None, by_design: tuple[str, ...], test_bed: TestBed
) -> AttackResult:
    through: list[str] = []
    with build_workspace(open_project(test_bed.study), profile, criterion=criterion) as workspace:
        files = [path for path in workspace.root.rglob("*") if not path.is_dir() or path.is_symlink()]
        for path in files:
            name = path.relative_to(workspace.root).as_posix()
            if path.is_symlink() or path.stat().st_nlink != 1:
                through.append(f"{name} is a link")
            text = f"{name}\n{path.read_text('utf-8', 'replace')}"
            through += [f"{what} in {name}" for what in test_bed.found_in(text, but=by_design)]
        on_disk = {path.relative_to(workspace.root).as_posix() for path in files}
        in_list = {file.path for file in workspace.manifest.files}
        through += [f"{name} is there and not in the manifest" for name in sorted(on_disk - in_list)]
        paths = "\n".join(in_list)
        through += [f"{what} in the manifest" for what in test_bed.found_in(paths, but=by_design)]
        if str(test_bed.study) in str(workspace.root):
            through.append("its folder lies in the project")
    if not {"results/results.json", "results/table.csv"} & on_disk:
        return AttackResult(
            "", cannot="the workspace lacks files that it should contain, so nothing can be concluded"
        )
    tried = f"{len(test_bed.canaries)} canaries searched for in {len(files)} files and their manifest"
    return AttackResult(tried, listed(through), cannot="; ".join(test_bed.missing) or None)


def _request(
    profile: str, criterion: Criterion | None, by_design: tuple[str, ...], test_bed: TestBed
) -> AttackResult:
    with build_workspace(open_project(test_bed.study), profile, criterion=criterion) as workspace:
        text = strict_json(request_of(workspace, criterion), indent=None)
    through = [f"{what} in the request" for what in test_bed.found_in(text, but=by_design)]
    through += ["the project's folder in the request"] if str(test_bed.study) in text else []
    return AttackResult(f"{len(text):,} characters of JSON searched", listed(through))


def _program(test_bed: TestBed) -> AttackResult:
    """Inspect what a judge program really receives: request, folder, environment."""
    with build_workspace(open_project(test_bed.study)) as workspace:
        seen = ask(test_bed, SAYS_ALL, request_of(workspace, None)).structured
        at = str(workspace.root)
    environment: dict[str, str] = seen["environment"]
    received = "\n".join([seen["request"], *seen["files"]])
    through = [f"{what} in what it reads" for what in test_bed.found_in(received)]
    values = "\n".join(environment.values())
    hidden = [name for name in test_bed.canaries if name != "the environment"]
    through += [f"{what} in its environment" for what in test_bed.found_in(values) if what in hidden]
    # Its own folder for temporary files lies in ours, which lies next to the project: that path gives nothing away.
    through += [
        f"the project's folder in its {name}"
        for name, value in environment.items()
        if str(test_bed.study) in value
    ]
    if os.path.realpath(seen["folder"]) != os.path.realpath(at):
        through.append(f"it runs in {seen['folder']} and not in the workspace")
    tried = f"{len(environment)} variables, the user's own by design; taken out: AUTOSCIRUB_*, GIT_*, OLDPWD"
    return AttackResult(tried, listed(through))


CHECKS = [
    *(
        Check(
            subject,
            "Is what is withheld found nowhere in the copy and its manifest?",
            partial(_workspace, profile, criterion, by_design),
        )
        for subject, profile, criterion, by_design in PROFILES
    ),
    *(
        Check(
            subject.replace("workspace of", "request on"),
            "Is what is withheld found nowhere in the request to a judge?",
            partial(_request, profile, criterion, by_design),
        )
        for subject, profile, criterion, by_design in PROFILES
    ),
    Check(
        "what a judge program gets",
        "Does a program that judges get nothing that is withheld, from where it runs and from its environment?",
        _program,
    ),
]
