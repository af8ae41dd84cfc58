"""Digests of everything that a rerun's answer is bound to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autoscirub.checks.rerun.copying import measure_project
from autoscirub.checks.rerun.plan import configured, planned, read_results
from autoscirub.checks.rerun.program import find_program
from autoscirub.models import TOO_LARGE, RerunBasis, strict_json
from autoscirub.store import sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.checks.rerun.copying import Copied
    from autoscirub.checks.rerun.program import RunProgram
    from autoscirub.models import RunConfig
    from autoscirub.store import Project


def rerun_basis(project: Project, *, ask: bool) -> RerunBasis:
    """What a rerun now would be bound to, without running the command: to see whether an answer is stale.

    With `ask` the interpreter outside is started and asked what is installed, so only in a trusted project; without,
    nothing is started, and the environment stays unknown. Raises as `rerun` does, and SandboxError where a rerun
    would not start.
    """
    config, plan = configured(project), planned(project)
    plan.refuse_undeclared()
    copied = measure_project(plan.layout)
    program = find_program(config.command, project.root) if ask else None
    before, _ = read_results(project.root, plan.layout, plan.names)
    return basis_of(config, copied, program, digests_of(before))


def basis_of(
    config: RunConfig, copied: Copied, program: RunProgram | None, compared: Mapping[str, str]
) -> RerunBasis:
    """The digests of one rerun. `program` None: nobody was asked what it runs on."""
    how = {"rtol": config.rtol, "atol": config.atol, "ignore": config.ignore, "network": config.network}
    variables = {
        name: sha256_bytes(value.encode("utf-8", "replace"))
        for name, value in named_variables(config).items()
    }
    environment = None
    if program is not None:
        digest = _digest({**program.environment, "variables": variables})
        # The record has one value for an unidentified environment: nothing equals it, whatever the reason.
        environment = TOO_LARGE if program.unidentified else digest
    return RerunBasis(
        code=_digest({"files": copied.code, "command": config.command}),
        inputs=_digest(copied.inputs),
        environment=environment,
        results=_digest({**how, "files": dict(compared)}),
    )


def named_variables(config: RunConfig) -> dict[str, str]:
    """The environment variables that the command may see, as far as they are set."""
    return {name: os.environ[name] for name in config.env if name in os.environ}


def digests_of(results: Mapping[str, bytes]) -> dict[str, str]:
    """The SHA-256 of each file."""
    return {path: sha256_bytes(data) for path, data in results.items()}


def _digest(value: object) -> str:
    return sha256_bytes(strict_json(value, indent=None).encode("utf-8", "replace"))
