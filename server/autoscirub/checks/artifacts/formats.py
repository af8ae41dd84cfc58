"""The formats that are opened and checked: how a path tells its format, and which function inspects it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

from autoscirub.checks.artifacts.data import look_csv, look_json, look_parquet
from autoscirub.checks.artifacts.documents import look_pdf, look_svg
from autoscirub.checks.artifacts.finding import ArtifactFinding
from autoscirub.checks.artifacts.images import look_jpeg, look_png
from autoscirub.checks.artifacts.paths import printable
from autoscirub.errors import CheckError

Look = Callable[[BinaryIO, int], ArtifactFinding]
"""Inspects an open file of so many bytes. Never raises for what the file holds."""


class Format(NamedTuple):
    """One format: the suffixes that mean it (lower case), its name with an article, and what opens it."""

    suffixes: tuple[str, ...]
    spoken: str
    look: Look


FORMATS: dict[str, Format] = {
    "png": Format((".png",), "a PNG", look_png),
    "jpeg": Format((".jpg", ".jpeg"), "a JPEG", look_jpeg),
    "svg": Format((".svg",), "an SVG", look_svg),
    "pdf": Format((".pdf",), "a PDF", look_pdf),
    "csv": Format((".csv", ".tsv"), "a CSV", look_csv),
    "json": Format((".json",), "JSON", look_json),
    "parquet": Format((".parquet",), "a Parquet file", look_parquet),
}
"""The names are those of `models.prereg.ArtifactFormat`, in its order."""

_BY_SUFFIX = {suffix: name for name, each in FORMATS.items() for suffix in each.suffixes}


def format_of(path: str, asked: str | None) -> str | None:
    """The format that `path` is opened as: `asked`, else by its suffix in any letter case, else None.

    Raises CheckError when `asked` is no format that is known.
    """
    if asked is None:
        return _BY_SUFFIX.get(posixpath.splitext(path)[1].lower())
    if asked not in FORMATS:
        raise CheckError(
            f"{printable(path)}: no format {printable(asked, 40)!r}; the formats are {', '.join(FORMATS)}"
        )
    return asked
