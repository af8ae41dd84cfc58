"""The result of inspecting one file, and what exceptions of the libraries that read it mean for it."""

from __future__ import annotations

import logging
import re
import struct
import threading
import warnings
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts.paths import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

PARSED_BYTES = 64 * 1024 * 1024
"""CSV, JSON, SVG, PDF above this size are not parsed. The same as the default limit of a results file: the
parsers take up to 26 bytes of memory for each byte of a hostile CSV or JSON file, measured, and no bound of ours
should need more than a laptop has."""

HEAD_BYTES = 1024
"""How much of a file's start is read to say what it is."""

LIBRARY_ERRORS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What Pillow, pypdf, expat and pyarrow raise on broken files besides their own classes. Pillow documents only
part of it, and pypdf says "broken PDF files might cause other Exceptions", so this is the standard library's list
of what wrong data can cause. Errors of this package are no part of it."""

_QUIET = threading.Lock()
_BYTES_LITERAL = re.compile(r"""b'(?:[^'\\]|\\.)*'?|b"(?:[^"\\]|\\.)*"?""")


@dataclass(frozen=True)
class ArtifactFinding:
    """One inspection: a fault (the file fails), or something unknown (it is inconclusive), or neither (it passes)."""

    fault: str | None = None
    unknown: str | None = None
    flags: tuple[str, ...] = ()
    """Worth a look, such as a blank figure; the file passes all the same."""
    nothing_like_it: bool = False
    """The file is missing, and all that `fault` adds is what else lies there."""


def broken(what: str, why: str) -> ArtifactFinding:
    """A finding for a file that begins as `what` and is not all there."""
    return ArtifactFinding(fault=f"not a whole {what}: {why}")


def too_large(size: int, limit: int = PARSED_BYTES) -> ArtifactFinding | None:
    """A finding for a file of `size` bytes that is over `limit`, or None."""
    if size <= limit:
        return None
    return ArtifactFinding(
        unknown=f"{size} bytes are too many to be opened here: the limit is {limit} bytes; its start, size and "
        "digest were read, the rest was not"
    )


def from_error(
    error: Exception, fault: str, unread: type[Exception] | tuple[type[Exception], ...] = ()
) -> ArtifactFinding:
    """The finding for `error`, raised by a library that reads a file.

    Our own limits (memory, recursion, and the classes in `unread`) and a read error of the system say nothing about
    the file; everything else is the file's fault, and `fault` begins the message.
    """
    if isinstance(error, MemoryError):
        return ArtifactFinding(unknown="opening it needs more memory than there is")
    if isinstance(error, RecursionError):
        return ArtifactFinding(unknown="it is nested deeper than can be read here")
    if isinstance(error, OSError) and error.errno is not None:
        return ArtifactFinding(unknown=f"could not be read: {error.strerror}")
    # A library may quote the bytes that it stumbled over; they never go into a message.
    words = " ".join(_BYTES_LITERAL.sub("", str(error)).split())
    reason = printable(words, 160) if words else type(error).__name__
    if isinstance(error, unread):
        return ArtifactFinding(unknown=f"could not be opened within the reader's limits: {reason}")
    return ArtifactFinding(fault=f"{fault}: {reason}")


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """Keeps a library's log lines and warnings off the user's terminal while it reads a hostile file.

    Warning filters and logger levels belong to the process, so one thread at a time does this.
    """
    log = logging.getLogger(logger)
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = log.level
        log.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            log.setLevel(before)


_POINTERS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer", "git lfs pull"),
    (b"/annex/objects/", "a git-annex pointer", "git annex get"),
)

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# Atomic and possessive: a page of comments could otherwise be split in exponentially many ways.
_HTML = re.compile(
    rb"(?>(?:<\?xml[^>]*+>\s*+)?)(?>(?:(?><!--.*?-->)\s*+)*)<(?:!doctype\s++html|html|head|body)[\s>]",
    re.I | re.S,
)


def pointer_fault(head: bytes, size: int) -> str | None:
    """Why a file that begins with `head` is only a pointer to its content, or None.

    The pointer format caps a Git LFS pointer at 1,024 bytes; a longer text that quotes one is no pointer.
    """
    for start, name, command in _POINTERS:
        if size <= HEAD_BYTES and head.startswith(start):
            return f"only {name}: the content is not here; run `{command}`"
    return None


def likeness(head: bytes) -> str:
    """What a file that begins with `head` looks like: "it is an HTML page", in words and without its bytes."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _HTML.match(text):
        return "it is an HTML page"
    for start, name in _STARTS:
        if head.startswith(start):
            return f"it is {name}"
    if text.startswith(b"<svg"):
        return "it is an SVG image"
    if text.startswith(b"<?xml"):
        return "it is an XML document"
    if _BINARY.search(head):
        return "it is binary data of another kind"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start <= len(head) - 4:  # later, the head may just end inside a character
            return "it is not UTF-8 text"
    return "it is text"
