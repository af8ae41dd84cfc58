"""Writes the references that are made from the code, or says which have drifted.

    python docs/generate.py [--check]

`docs/cli.md` from the command line itself, `docs/tools.md` from the MCP server's table of tools, `docs/state.md` from
`state/layout.toml`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WIDTH = "100"


def main() -> int:
    """Write the files, or with --check compare them. Returns 1 when something differs."""
    for name in ("FORCE_COLOR", "NO_COLOR"):
        os.environ.pop(name, None)
    os.environ.update(TERMINAL_WIDTH=WIDTH, COLUMNS=WIDTH, TERM="dumb")  # before typer is imported
    made = {"cli.md": cli_reference(), "tools.md": tool_reference(), "state.md": state_reference()}
    drifted = [name for name, text in made.items() if _read(HERE / name) != text]
    if "--check" in sys.argv[1:]:
        for name in drifted:
            sys.stderr.write(f"docs/{name} is not what the code says; run: make docs\n")
        return 1 if drifted else 0
    for name in drifted:
        (HERE / name).write_text(made[name], encoding="utf-8")
        sys.stderr.write(f"wrote docs/{name}\n")
    return 0


def cli_reference() -> str:
    """Each command's `--help`, as a plain terminal shows it."""
    import typer.main

    from autoscirub.cli.app import app

    names: list[str] = []

    def add(name: str, command: Any) -> None:
        if name:
            names.append(name)
        for inner, below in getattr(command, "commands", {}).items():
            add(f"{name} {inner}".strip(), below)

    add("", typer.main.get_command(app))
    parts = ["# Command line\n\nMade from the commands' own `--help` by `make docs`; do not edit.\n"]
    parts.append("What each exit status means is in [exit-status.md](exit-status.md).\n")
    parts.append(f"```text\n{_help()}\n```\n")
    parts += [f"## autoscirub {name}\n\n```text\n{_help(*name.split())}\n```\n" for name in names]
    return "\n".join(parts)


def _help(*command: str) -> str:
    """What `--help` prints. In this process, which main() has made look like one without a terminal: one for each
    command would take half a second each."""
    from autoscirub.cli import main as run

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = run([*command, "--help"])
    if status != 0:
        raise RuntimeError(f"autoscirub {' '.join(command)} --help ended with {status}")
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def tool_reference() -> str:
    """Every MCP tool: what it takes, what it answers, and what it tells a client of itself."""
    from autoscirub.mcp_server.resources import TEMPLATES
    from autoscirub.mcp_server.server import INSTRUCTIONS
    from autoscirub.mcp_server.tools import TOOLS
    from autoscirub.models.toolsets import BUILT, TOOLSETS

    parts = ["# MCP tools\n\nMade from the server's own table by `make docs`; do not edit.\n"]
    parts.append(
        "`autoscirub serve` gives the toolset *core*; `--toolsets` adds others. Every answer names the project and the "
        "state directory, and carries `next`: the one call to make next. `?` marks what may be left out.\n"
    )
    parts.append(f"What a client shows its model first:\n\n> {INSTRUCTIONS}\n")
    for toolset, names in TOOLSETS.items():
        built = [name for name in names if name in BUILT]
        later = [f"`{name}`" for name in names if name not in BUILT]
        if built:
            parts.append(f"## Toolset {toolset}\n")
            parts += [_tool(TOOLS[name]) for name in built]
            if later:
                parts.append(f"*Later: {', '.join(later)}.*\n")
    parts.append("## Resources\n\n| address | what it is |\n|---|---|")
    parts += [f"| `{template.uri_template}` | {template.description} |" for template in TEMPLATES]
    return "\n".join(parts) + "\n"


def _tool(spec: Any) -> str:
    from autoscirub.mcp_server.answers import SlowAnswer, ToolAnswer
    from autoscirub.mcp_server.arguments import Arguments, SlowArguments

    marks = [
        "reads only" if spec.reads_only else "writes",
        "same call twice, same end" if spec.idempotent else "each call counts",
        *(["may answer with a job"] if spec.slow else []),
    ]
    common = SlowArguments if issubclass(spec.takes, SlowArguments) else Arguments
    shared = SlowAnswer if issubclass(spec.answers, SlowAnswer) else ToolAnswer
    lines = [
        f"### {spec.name}\n",
        f"{spec.description}\n",
        f"*{', '.join(marks)}.*\n",
        "| takes | |",
        "|---|---|",
    ]
    for name, field in spec.takes.model_fields.items():
        if name not in common.model_fields:
            mark = "" if field.is_required() else "?"
            lines.append(f"| `{name}{mark}` | {field.description or ''} |")
    lines.append(f"| {', '.join(f'`{name}?`' for name in common.model_fields)} | as for every such tool |")
    own = [name for name in spec.answers.model_fields if name not in shared.model_fields]
    lines.append(f"\nAnswers: {', '.join(f'`{name}`' for name in [*shared.model_fields, *own])}.\n")
    return "\n".join(lines)


def state_reference() -> str:
    """The table of every state file."""
    from autoscirub.data import load_layout

    parts = ["# State files\n\nMade from `state/layout.toml` by `make docs`; do not edit.\n"]
    parts.append(
        "Shapes are in `schemas/`; `autoscirub validate` holds the files against them. Files marked *later* are "
        "named here so that nothing else takes their place; this version does not write them.\n"
    )
    for where, title in (("project", "In the project's folder"), ("state", "In the state directory")):
        parts.append(f"## {title}\n")
        parts.append(
            "| file | what it is | written by | read by | schema | commit it |\n|---|---|---|---|---|---|"
        )
        for entry in load_layout().file:
            if entry.where != where:
                continue
            schema = f"`{entry.schema_name}`" if entry.schema_name else "–"
            later = f" *Later, with {entry.arrives_with}.*" if entry.arrives_with else ""
            row = (
                f"`{entry.path}`",
                entry.what + later,
                ", ".join(entry.writer),
                ", ".join(entry.readers),
                schema,
                "yes" if entry.commit else "no",
            )
            parts.append(f"| {' | '.join(row)} |")
        parts.append("")
    return "\n".join(parts)


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
