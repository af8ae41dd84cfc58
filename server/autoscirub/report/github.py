"""Renders a check as GitHub annotations: workflow commands on stdout, which the runner shows at lines of files.

The runner obeys what a step prints. A line that begins with `::`, white space before it or not, is a command; so is
what follows `##[` anywhere in a line. What comes from a repository must be able to be neither.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TextIO

from autoscirub.models import SIGNS, Answer
from autoscirub.report.terminal import plain, sign

if TYPE_CHECKING:
    from autoscirub.models import Annotation, Annotations

ANNOTATIONS = 10
"""Of one kind, in one step: GitHub drops what is more, and says so nowhere."""
_MESSAGE = 2_000
_TITLE = 200
"""Characters. GitHub cuts a title at 255, and a message of many thousands hides the others."""

_LINE_ENDS = re.compile(r"\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_COMMAND_START = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e0fff]"
)
"""Characters that a comparison of texts may pass over, besides those that `plain` takes out."""


def render_github(found: Annotations, stream: TextIO) -> str:
    """What does not hold, what is inconclusive, what was accepted; then one line over all of it."""
    errors, warnings = found.open(Answer.DOES_NOT_HOLD), found.open(Answer.INCONCLUSIVE)
    lines: list[str] = []
    for level, group in (("error", errors), ("warning", warnings), ("notice", found.accepted)):
        lines += [_annotation(level, annotation) for annotation in group[:ANNOTATIONS]]
    lines.append(inert(_last_line(found, stream)))
    return "\n".join(lines)


def github_error(message: str, title: str = "autoscirub") -> str:
    """An error of the request, or of ours, as one annotation."""
    return f"::error title={_property(title)}::{_data(message)}"


def inert(text: str) -> str:
    """`text` without anything that the runner would obey; its lines stay."""
    lines = (_UNSEEN.sub("", plain(line)) for line in _LINE_ENDS.sub("\n", text).split("\n"))
    return _COMMAND_START.sub(r"\1: ", "\n".join(lines)).replace("##[", "## [")


def _annotation(level: str, annotation: Annotation) -> str:
    properties: list[str] = []
    if annotation.path is not None:
        properties.append(f"file={_property(annotation.path)}")
        if annotation.line is not None:
            properties.append(f"line={annotation.line}")
    properties.append(
        f"title={_property(_cut(f'{annotation.decision.subject}: {annotation.decision.word}', _TITLE))}"
    )
    return f"::{level} {','.join(properties)}::{_data(_cut(annotation.message, _MESSAGE))}"


def _last_line(found: Annotations, stream: TextIO) -> str:
    errors, warnings = found.open(Answer.DOES_NOT_HOLD), found.open(Answer.INCONCLUSIVE)
    holds, accepted = found.open(Answer.HOLDS), found.accepted
    counted = [
        *([f"{len(errors)} do{'es' if len(errors) == 1 else ''} not hold"] if errors else []),
        *([f"{len(warnings)} inconclusive"] if warnings else []),
        *([f"{len(accepted)} refuted and accepted"] if accepted else []),
        f"{len(holds)} hold{'s' if len(holds) == 1 else ''}",
    ]
    headlines = [line for lines in found.headlines.values() for line in lines]
    hidden = sum(max(0, len(group) - ANNOTATIONS) for group in (errors, warnings, accepted))
    more = [f"{hidden} more are not listed here: autoscirub check --read-only"] if hidden else []
    words = " · ".join(_cut(_one_line(entry), _MESSAGE) for entry in (", ".join(counted), *headlines, *more))
    return f"{sign(found.answer, stream)} {SIGNS[found.answer][1]}: {words}"


def _data(text: str) -> str:
    """A message as GitHub's toolkit escapes it; a line end of its own stays one in what is shown."""
    return _escaped(inert(text), "%\r\n")


def _property(text: str) -> str:
    return _escaped(inert(_one_line(text)), "%\r\n:,")


def _escaped(text: str, characters: str) -> str:
    for character in characters:  # "%" first, or it would escape what was escaped
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _one_line(text: str) -> str:
    return _LINE_ENDS.sub(" ", text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
