"""The commands `hook stop` and `hook pre-tool-use`, which a coding agent's client runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from autoscirub.cli.options import Json, Project, StateDir, app, example

if TYPE_CHECKING:
    from pathlib import Path

hook = typer.Typer(
    help="What a coding agent's client runs at its hooks: JSON on stdin, an answer or nothing on stdout.",
    no_args_is_help=True,
)
app.add_typer(hook, name="hook")


@hook.command(epilog=example("""echo '{"cwd": "."}' | autoscirub hook stop"""))
def stop(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,  # noqa: ARG001 - every command takes it; this one answers in no other form
) -> int:
    """At Stop and SubagentStop: send the agent back, once, with what is open of the frozen requirements.

    It runs nothing and asks nobody. Exit status: 0, whatever was found.
    """
    return _answer("stop", project, state_dir)


@hook.command("pre-tool-use", epilog=example("autoscirub hook pre-tool-use < call.json"))
def pre_tool_use(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,  # noqa: ARG001
) -> int:
    """At PreToolUse: refuse what would write to the state directory, a lock or what is frozen.

    Reading, git add and autoscirub itself pass. Exit status: 0, whatever was found.
    """
    return _answer("pre-tool-use", project, state_dir)


def _answer(event: str, project: Path | None, state_dir: Path | None) -> int:
    from autoscirub.client_hooks import main

    return main(event, str(project) if project else None, str(state_dir) if state_dir else None)
