"""Inspects CSV, JSON and Parquet files: are they whole, and do they hold any data?"""

from __future__ import annotations

import codecs
import csv
import io
import json
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from autoscirub.checks.artifacts.finding import (
    HEAD_BYTES,
    LIBRARY_ERRORS,
    PARSED_BYTES,
    ArtifactFinding,
    from_error,
    likeness,
    quiet,
    too_large,
)
from autoscirub.checks.artifacts.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_DELIMITERS = ",;\t|"
_FIELD_LIMIT = threading.Lock()


def _text_fault(source: BinaryIO, what: str) -> str | None:
    """Why the file is no UTF-8 text without NUL bytes, with the line, or None. Leaves `source` at its start."""
    head = source.read(HEAD_BYTES)
    source.seek(0)
    like = likeness(head)
    if like == "it is an HTML page" or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"not {what}: {like}; UTF-8 is needed" if "UTF-16" in like else f"not {what}: {like}"
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    while True:
        block = source.read(1 << 20)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            return f"not {what}: line {line} is not UTF-8" + ("" if "text" in like else f"; {like}")
        if (nul := text.find("\0")) >= 0:
            return f"not {what}: line {line + text.count(chr(10), 0, nul)} holds a NUL byte"
        if not block:
            source.seek(0)
            return None
        line += text.count("\n")


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lets a CSV field be as long as a file may be; the module's limit is the process's, so it is put back."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(PARSED_BYTES)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def look_csv(source: BinaryIO, size: int) -> ArtifactFinding:
    """A CSV: UTF-8, every quote closed, and whether it has rows of one length.

    The delimiter is the most frequent of comma, semicolon, tab and bar in the first line: files called .csv come
    with each of them.
    """
    if (large := too_large(size)) is not None:
        return large
    if (fault := _text_fault(source, "a CSV")) is not None:
        return ArtifactFinding(fault=fault)
    text = io.TextIOWrapper(source, encoding="utf-8-sig", newline="")
    try:
        first = next((line for line in text if line.strip()), "")
        counted = Counter(c for c in first if c in _DELIMITERS)
        ranked = sorted(counted, key=lambda c: (-counted[c], _DELIMITERS.index(c))) or [","]
        with _long_fields():
            findings = []
            for delimiter in ranked:
                text.seek(0)
                findings.append(_rows(text, delimiter))
                # Text after a closing quote is the sign of a wrongly guessed delimiter; nothing else is.
                if "after a closing quote" not in (findings[-1].fault or ""):
                    return findings[-1]
            return findings[0]
    except LIBRARY_ERRORS as error:
        return from_error(error, "not a CSV")
    finally:
        text.detach()  # or the wrapper closes a descriptor that is not its own


def _rows(text: io.TextIOWrapper, delimiter: str) -> ArtifactFinding:
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    width, rows, ragged, first_ragged, line = 0, 0, 0, "", 1
    try:
        for fields in reader:
            if not fields:
                pass
            elif not width:
                width = len(fields)
            else:
                rows += 1
                if len(fields) != width:
                    ragged += 1
                    first_ragged = first_ragged or f"line {line} has {len(fields)} fields, the header {width}"
            line = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            return ArtifactFinding(
                fault=f"not a whole CSV: a quote in the row of line {line} is never closed"
            )
        if "expected after" in str(error):
            return ArtifactFinding(fault=f"not a CSV: line {reader.line_num} has text after a closing quote")
        return from_error(error, f"not a CSV: line {reader.line_num}")
    flags = []
    if not rows:
        flags.append("blank: no rows, only a header" if width else "blank: no rows")
    if ragged:
        flags.append(f"ragged: {first_ragged}" + (f" (and {ragged - 1} more rows)" if ragged > 1 else ""))
    return ArtifactFinding(flags=tuple(flags))


def look_json(source: BinaryIO, size: int) -> ArtifactFinding:
    """JSON: one document; duplicate keys and NaN tokens are flagged."""
    if (large := too_large(size)) is not None:
        return large
    if (fault := _text_fault(source, "JSON")) is not None:
        return ArtifactFinding(fault=fault)
    twice: list[str] = []
    tokens: list[str] = []

    def keys(pairs: list[tuple[str, Any]]) -> None:
        # Values are dropped as they are read: only the shape matters, and memory is bounded by it.
        if not twice and len(pairs) > 1:
            twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    def constant(token: str) -> None:
        if not tokens:
            tokens.append(token)

    def number(_digits: str) -> None:
        # Not converted: a 5,000-digit integer is JSON, and Python refuses to convert it.
        return None

    try:
        json.loads(
            source.read().decode("utf-8-sig"),
            object_pairs_hook=keys,
            parse_constant=constant,
            parse_int=number,
            parse_float=number,
        )
    except json.JSONDecodeError as error:
        why = "a second document begins" if error.msg == "Extra data" else printable(error.msg, 80)
        return ArtifactFinding(fault=f"not JSON: {why} (line {error.lineno}, column {error.colno})")
    except LIBRARY_ERRORS as error:
        return from_error(error, "not JSON")
    flags = []
    if twice:
        flags.append(
            f"the key {printable(twice[0], 40)} is there twice in one object; readers disagree on which counts"
        )
    if tokens:
        flags.append(f"it holds {tokens[0]}, which strict JSON does not allow")
    return ArtifactFinding(flags=tuple(flags))


def look_parquet(source: BinaryIO, size: int) -> ArtifactFinding:
    """Parquet: both magic numbers, and a footer that says how many rows and columns there are.

    The rows themselves are not read: a page says how large it becomes, up to 2 GB, and nothing bounds that.
    """
    head = source.read(HEAD_BYTES)
    if not head.startswith((b"PAR1", b"PARE")):
        if b"PAR1".startswith(head):
            return ArtifactFinding(fault="not a whole Parquet file: it ends within its first 4 bytes")
        return ArtifactFinding(fault=f"not a Parquet file: {likeness(head)}")
    source.seek(max(0, size - 8))
    end = source.read()
    if size < 12 or end[4:] not in (b"PAR1", b"PARE"):
        return ArtifactFinding(
            fault="not a whole Parquet file: cut off before its footer (no PAR1 at the end)"
        )
    footer = int.from_bytes(end[:4], "little")
    if footer > size - 12:
        return ArtifactFinding(
            fault=f"not a whole Parquet file: its footer says {footer} bytes, more than there are"
        )
    if b"PARE" in (head[:4], end[4:]):
        return ArtifactFinding(unknown="an encrypted Parquet file: its footer cannot be read without the key")
    if (large := too_large(footer)) is not None:
        return large
    try:
        import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
        from pyarrow import parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return ArtifactFinding(unknown="needs pyarrow: pip install 'autoscirub[parquet]'")
    source.seek(0)
    raised: tuple[type[Exception], ...] = (pyarrow.ArrowException, *LIBRARY_ERRORS)
    with quiet("pyarrow"):
        try:
            metadata = parquet.ParquetFile(
                source, thrift_string_size_limit=PARSED_BYTES, thrift_container_size_limit=1_000_000
            ).metadata
            rows, columns = int(metadata.num_rows), int(metadata.num_columns)
        except raised as error:
            return from_error(error, "not a whole Parquet file")
    if rows < 1 or columns < 1:
        return ArtifactFinding(flags=(f"blank: {max(rows, 0)} rows and {columns} columns",))
    return ArtifactFinding()
