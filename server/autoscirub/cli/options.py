"""What all commands share: the application, the common options, and the example in a command's help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="autoscirub",
    help="Decides whether a coding agent's research is done: predictions fixed first, requirements met by evidence.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Project = Annotated[
    Path | None,
    typer.Option("--project", help="The project's folder. Default: AUTOSCIRUB_PROJECT, else found upwards."),
]
StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", help="The state directory. Default: AUTOSCIRUB_STATE_DIR, config, .autoscirub/."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Re-evaluate everything; ignore cached results.")]
AcceptScope = Annotated[
    bool, typer.Option("--accept-scope", help="Exit 0 also when an agent changed the scope.")
]
Accept = Annotated[
    str | None,
    typer.Option("--accept", help="refuted: refuted predictions do not count for the exit status."),
]
JunitFile = Annotated[
    Path | None, typer.Option("--junit-file", help="Write JUnit XML there too, of the same check.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stays in the record for good.")]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge", help="Use this judge instead of the configured one; none: no judge. A locked judge stays."
    ),
]
Continue = Annotated[bool, typer.Option("--continue", help="Go on after an ending, on the record.")]


def example(*lines: str) -> str:
    """The end of a command's help."""
    return "Example:\n\n" + "\n\n".join(f"  $ {line}" for line in lines)
