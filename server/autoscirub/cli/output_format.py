"""Finds the requested output format before the command line is parsed, so that usage errors follow it too."""

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
    """The format on stdout, and the file for JUnit XML, if any."""

    format: str = "text"
    junit_file: str | None = None


def output_format_of(arguments: Sequence[str]) -> OutputFormat:
    """The format of a whole command line, valid or not: a program that reads answers must be able to read errors."""
    asked = _last(arguments, "--format")
    form = "json" if "--json" in arguments else asked if asked in FORMATS else "text"
    return OutputFormat(form, _last(arguments, "--junit-file"))


def _last(arguments: Sequence[str], option: str) -> str | None:
    found = [entry.partition("=")[2] for entry in arguments if entry.startswith(f"{option}=")]
    found += [value for name, value in itertools.pairwise(arguments) if name == option]
    return found[-1] if found else None
