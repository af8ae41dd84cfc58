"""The command `selftest`: attack a project of its own, to show what holds on this machine."""

from __future__ import annotations

import sys

from autoscirub.cli import output
from autoscirub.cli.options import Json, Project, StateDir, app, example
from autoscirub.cli.showing import worst_of


@app.command(epilog=example("autoscirub selftest", "autoscirub selftest --json"))
def selftest(
    as_json: Json = False,
    project: Project = None,  # noqa: ARG001 - every command takes it; this one makes its own
    state_dir: StateDir = None,  # noqa: ARG001
) -> int:
    """Attack a project of its own on this machine: what held, what did not, what cannot be enforced here.

    No model, no network, nothing of yours touched. Exit status: 1 something did not hold,
    2 something is inconclusive or cannot be enforced here, 0 all held.
    """
    from autoscirub.setup.selftest import run_selftest

    with output.bar("attacking") as progress:
        found = run_selftest(progress=progress)
    worst = worst_of(found)
    if as_json:
        output.json_answer(found, ok=worst == 0)
    else:
        from autoscirub.report import render_selftest

        output.text(render_selftest(found, sys.stdout))
    return worst
