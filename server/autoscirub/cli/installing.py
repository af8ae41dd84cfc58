"""The commands `install`, `uninstall`, `doctor` and `skills`: the plugin for coding agents, and what it needs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import Json, Project, StateDir, app, example

if TYPE_CHECKING:
    from autoscirub.setup.install import Installation, Removal

_Yes = Annotated[bool, typer.Option("--yes", help="Ask nothing; what is changed is shown all the same.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be changed, and change nothing.")]


class _Client(StrEnum):
    claude = "claude"
    codex = "codex"


class _Scope(StrEnum):
    project = "project"
    user = "user"


@app.command(epilog=example("autoscirub install claude", "autoscirub install codex --dry-run"))
def install(
    client: Annotated[_Client, typer.Argument(help="The coding agent.", show_default=False)],
    scope: Annotated[
        _Scope, typer.Option("--scope", help="For you, or for this project alone (Claude Code).")
    ] = _Scope.user,
    yes: _Yes = False,
    dry_run: _DryRun = False,
    project: Project = None,
    state_dir: StateDir = None,  # noqa: ARG001 - every command takes it
    as_json: Json = False,
) -> int:
    """Put skills, tools and hooks into a coding agent, through its own commands. Shows first what that changes.

    The agent loads a clean copy from your data directory, which starts this very installation.
    Running it again changes nothing.
    """
    from autoscirub.setup.install import plan_install

    plan = plan_install(client.value, scope=scope.value, project=project)
    return _carry_out(plan, yes=yes, dry_run=dry_run, as_json=as_json)


@app.command(epilog=example("autoscirub uninstall claude"))
def uninstall(
    client: Annotated[_Client, typer.Argument(help="The coding agent.", show_default=False)],
    yes: _Yes = False,
    dry_run: _DryRun = False,
    project: Project = None,  # noqa: ARG001 - every command takes it; this one takes back what was installed anywhere
    state_dir: StateDir = None,  # noqa: ARG001
    as_json: Json = False,
) -> int:
    """Take back what install did, for you and in every project, and nothing else. Shows first what that changes."""
    from autoscirub.setup.install import plan_uninstall

    return _carry_out(plan_uninstall(client.value), yes=yes, dry_run=dry_run, as_json=as_json)


@app.command(epilog=example("autoscirub doctor", "autoscirub doctor --json"))
def doctor(project: Project = None, state_dir: StateDir = None, as_json: Json = False) -> int:
    """What is there on this machine, what is missing, and how to get it. Writes nothing.

    Exit status: 0 everything needed is there; 1 something needed is missing. ?: not needed yet, or inconclusive.
    """
    from autoscirub.models import Answer
    from autoscirub.setup.doctor import look_around

    found = look_around(project, state_dir=state_dir)
    ok = not any(one.answer is Answer.DOES_NOT_HOLD for one in found)
    if as_json:
        output.json_answer(found, ok=ok)
    else:
        from autoscirub.report import render_doctor

        output.text(render_doctor(found, sys.stdout))
    return 0 if ok else 1


skills_app = typer.Typer(
    help="The skills that agents follow, and what each is for.",
    epilog=example("autoscirub skills", "autoscirub skills lint"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(skills_app, name="skills")


@skills_app.callback(invoke_without_command=True)
def skills(
    context: typer.Context,
    project: Project = None,  # noqa: ARG001 - every command takes it
    state_dir: StateDir = None,  # noqa: ARG001
    as_json: Json = False,
) -> int:
    """The skills that agents follow, and what each is for."""
    context.obj = {"as_json": as_json}  # `skills --json lint` means what `skills lint --json` does
    if context.invoked_subcommand is not None:
        return 0
    from autoscirub.setup import describe_skills

    found = describe_skills()
    if as_json:
        output.json_answer([], ok=True, skills=found)
    else:
        output.text("\n".join(f"{name}\n    {what}" for name, what in found.items()))
    return 0


@skills_app.command(epilog=example("autoscirub skills lint", "autoscirub skills lint my-skills"))
def lint(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(help="Holds a folder for each skill. Default: those that ship.", show_default=False),
    ] = None,
    project: Project = None,  # noqa: ARG001 - every command takes it
    state_dir: StateDir = None,  # noqa: ARG001
    as_json: Json = False,
) -> int:
    """Check each SKILL.md against its format, the tools that exist, and the state files.

    Exit status: 0 without faults, 1 with.
    """
    from autoscirub.models import Answer
    from autoscirub.setup import lint_skills

    found = lint_skills(folder)
    ok = all(one.answer is Answer.HOLDS for one in found)
    if as_json or context.obj["as_json"]:
        output.json_answer(found, ok=ok)
    else:
        from autoscirub.report import render_skills

        output.text(render_skills(found, sys.stdout))
    return 0 if ok else 1


def _carry_out(plan: Installation | Removal, *, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Show the plan, ask at a terminal, carry it out, and print the result."""
    from autoscirub.cli.prompts import at_terminal
    from autoscirub.errors import ConfigError
    from autoscirub.report import render_done, render_plan

    changed = not plan.nothing_to_do
    if not as_json:
        output.text(render_plan(plan.view))
    if changed and not (yes or dry_run):
        if as_json or not at_terminal():
            raise ConfigError("nothing was changed: there is no terminal to ask at; to go ahead, add --yes")
        if not typer.confirm("Do this?", err=True):
            raise ConfigError("nothing was changed")
    if not dry_run:
        plan.carry_out()
    view = plan.view
    if as_json:
        output.json_answer([view.decision] if view.decision else [], ok=True, changed=changed, **view.facts())
    elif dry_run:
        output.text("nothing was changed (a dry run)" if changed else "there is nothing to change")
    else:
        output.text(render_done(view, sys.stdout, changed=changed))
    return 0
