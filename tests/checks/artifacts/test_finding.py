"""What a file looks like, and what a library's exception means."""

from __future__ import annotations

import errno
import logging
import warnings

import pytest

from autoscirub.checks.artifacts.finding import from_error, likeness, quiet

BOTH_QUOTES = b"SECRET'\"\0SECRET"


@pytest.mark.parametrize(
    ("error", "fault", "unknown"),
    [
        (ValueError("bad header"), "not a PDF: bad header", None),
        (ValueError(f"Invalid object {BOTH_QUOTES!r} @ 3"), "not a PDF: Invalid object @ 3", None),
        (ValueError('Invalid object b"SECRET'), "not a PDF: Invalid object", None),
        (KeyError(), "not a PDF: KeyError", None),
        (ValueError("two\nlines \x1b[2J"), r"not a PDF: two lines \x1b[2J", None),
        (OSError("image file is truncated"), "not a PDF: image file is truncated", None),
        (OSError(errno.EIO, "Input/output error"), None, "could not be read: Input/output error"),
        (MemoryError(), None, "opening it needs more memory than there is"),
        (RecursionError("x"), None, "it is nested deeper than can be read here"),
        (BufferError("too big"), None, "could not be opened within the reader's limits: too big"),
    ],
)
def test_an_exception_is_the_files_fault_unless_it_is_a_limit_or_a_read_error(
    error: Exception, fault: str | None, unknown: str | None
) -> None:
    found = from_error(error, "not a PDF", BufferError)
    assert (found.fault, found.unknown) == (fault, unknown)


def test_a_long_message_is_cut() -> None:
    assert len(from_error(ValueError("x" * 10_000), "not a PDF").fault or "") < 200


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"<!-- saved --><HTML lang=en>", "it is an HTML page"),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html>", "it is an HTML page"),
        (b"<htmlish>", "it is text"),
        (b"<!---->" * 140 + b"<html>", "it is an HTML page"),
        (b"<!---->" * 140, "it is text"),
        (b"<svg>", "it is an SVG image"),
        (b"\xff\xfea\0", "it is UTF-16 text"),
        ("é".encode() * 600, "it is text"),
        (b"x" + "é".encode() * 512, "it is text"),
        (b"M\xfcnchen und Umgebung", "it is not UTF-8 text"),
        (b"a\0b", "it is binary data of another kind"),
    ],
)
def test_a_file_is_told_by_its_head(head: bytes, expected: str) -> None:
    assert likeness(head[:1024]) == expected


def test_a_library_is_quiet_inside_and_as_before_after(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("some.library")
    logger.setLevel(logging.INFO)

    def read() -> None:
        with quiet("some.library"):
            warnings.warn("a warning", stacklevel=1)
            logger.error("a line")
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        read()
    assert caplog.records == []
    assert logger.level == logging.INFO
