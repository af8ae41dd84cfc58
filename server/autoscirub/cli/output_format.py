"""How an answer, and an error in its place, is to be shown: read from the command line before it is parsed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("text", "json", "github", "junit")
"""What `check --format` takes."""


@dataclass(frozen=True)
class OutputFormat:
    """The form on stdout, and the file that JUnit XML goes to besides, if any."""

    format: str = "text"
    junit_file: str | None = None


def output_format_of(arguments: Sequence[str]) -> OutputFormat:
    """Of a whole command line, usable or not: whoever reads an answer by a program must be able to read an error."""
    asked = _last(arguments, "--format")
    form = "json" if "--json" in arguments else asked if asked in FORMATS else "text"
    return OutputFormat(form, _last(arguments, "--junit-file"))


def _last(arguments: Sequence[str], option: str) -> str | None:
    found = [entry.partition("=")[2] for entry in arguments if entry.startswith(f"{option}=")]
    found += [value for name, value in itertools.pairwise(arguments) if name == option]
    return found[-1] if found else None
