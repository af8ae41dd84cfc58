"""Renders a check as JUnit XML, which most CI systems show.

An inconclusive answer is an error there, never skipped: CI systems show a skipped test as fine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from autoscirub.models import Answer
from autoscirub.report.terminal import plain

if TYPE_CHECKING:
    from autoscirub.models import Annotation, Annotations

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even as a reference."""
_NAME = 200
_MESSAGE = 500
"""Characters of an attribute; the whole message is the element's text."""

_ELEMENTS = {Answer.DOES_NOT_HOLD: "failure", Answer.INCONCLUSIVE: "error"}


def render_junit(found: Annotations) -> str:
    """One document: a suite for each part, a case for each point."""
    parts = dict.fromkeys([*(annotation.part for annotation in found.annotations), *found.headlines])
    suites = {
        part: [annotation for annotation in found.annotations if annotation.part == part] for part in parts
    }
    root = Element("testsuites", {"name": "autoscirub", **_counts(found.annotations)})
    for part, group in suites.items():
        suite = SubElement(root, "testsuite", {"name": f"autoscirub.{part}", **_counts(group), "time": "0"})
        for annotation in group:
            _case(suite, annotation)
        if lines := found.headlines.get(part):
            SubElement(suite, "system-out").text = _text("\n".join(lines))
    return _document(root)


def junit_error(kind: str, message: str) -> str:
    """A document with one error: the request was wrong, or something of ours. Nothing was decided."""
    counts = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": "0"}
    root = Element("testsuites", {"name": "autoscirub", **counts})
    suite = SubElement(root, "testsuite", {"name": "autoscirub", **counts})
    case = SubElement(suite, "testcase", {"classname": "autoscirub", "name": "check", "time": "0"})
    error = SubElement(case, "error", {"type": _attribute(kind), "message": _attribute(message)})
    error.text = _text(message)
    return _document(root)


def _case(suite: Element, annotation: Annotation) -> None:
    decision = annotation.decision
    about = {
        "classname": f"autoscirub.{annotation.part}",
        "name": _attribute(decision.subject, _NAME),
        "time": "0",
    }
    if annotation.path is not None:
        about["file"] = _attribute(annotation.path, len(annotation.path))
        if annotation.line is not None:
            about["line"] = str(annotation.line)
    case = SubElement(suite, "testcase", about)
    kind = _ELEMENTS.get(decision.answer)
    if kind is None or annotation.accepted:
        SubElement(case, "system-out").text = _text(f"{decision.word}: {annotation.message}")
        return
    attributes = {"type": _attribute(decision.word), "message": _attribute(annotation.message)}
    SubElement(case, kind, attributes).text = _text(
        "\n".join([annotation.message, *(line for line in decision.open if line not in annotation.message)])
    )


def _counts(annotations: list[Annotation]) -> dict[str, str]:
    counted = [annotation.decision.answer for annotation in annotations if not annotation.accepted]
    return {
        "tests": str(len(annotations)),
        "failures": str(counted.count(Answer.DOES_NOT_HOLD)),
        "errors": str(counted.count(Answer.INCONCLUSIVE)),
        "skipped": "0",
    }


def _document(root: Element) -> str:
    # Every character beyond ASCII as a reference: the same document in whatever encoding stdout has.
    indent(root)
    body = tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _attribute(text: str, most: int = _MESSAGE) -> str:
    line = " ".join(_text(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _text(text: str) -> str:
    """`text` as XML can hold it, and as a terminal that shows it would not obey it."""
    return _NO_XML.sub("\ufffd", plain(text, keep_lines=True))
