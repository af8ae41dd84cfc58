"""Renders Decisions as text: each answer has one sign and one phrase, the same on every surface."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TYPE_CHECKING, TextIO

from autoscirub.models import (
    JUDGE_REMARK,
    PLAIN_PROCESS,
    SIGNS,
    VALUES,
    Answer,
    counted_values,
    weakly_isolated,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import Decision, Verification

_ASCII_SIGNS = {Answer.HOLDS: "[ok]", Answer.DOES_NOT_HOLD: "[NO]", Answer.INCONCLUSIVE: "[??]"}
_COLOURS = {Answer.HOLDS: "32", Answer.DOES_NOT_HOLD: "31", Answer.INCONCLUSIVE: "33"}
_LINES_LIMIT = 20
_REASON, _CONCERNS = 200, 5
"""Characters of a judge's reasons on a terminal, and how many of its concerns; `--json` has all."""
_HELD_LIMIT = 30
"""How many checks that hold are listed one by one; every other check is always listed."""

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")


def plain(value: str, *, keep_lines: bool = False) -> str:
    """`value` without anything that a terminal would obey: escapes, controls, and direction overrides."""
    value = _ESCAPES.sub("", value)
    allowed = "\n" if keep_lines else ""
    return "".join(
        character
        if character in allowed or unicodedata.category(character) not in {"Cc", "Cf", "Cs"}
        else " "
        for character in value
    )


def sign(answer: Answer, stream: TextIO) -> str:
    """The answer's sign, in colour at a terminal.

    ASCII where the stream cannot hold it: a "?" that some encoder put in its place would be another answer.
    """
    text = SIGNS[answer][0] if _holds_signs(stream) else _ASCII_SIGNS[answer]
    return f"\x1b[{_COLOURS[answer]}m{text}\x1b[0m" if _takes_colour(stream) else text


def sign_for_error(stream: TextIO) -> str:
    """The sign of an error, ours or the request's: never one of the answers'."""
    return "!" if _holds_signs(stream) else "[!]"


def _takes_colour(stream: TextIO) -> bool:
    # https://no-color.org: set and not empty means no colour.
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _holds_signs(stream: TextIO) -> bool:
    try:
        "✓✗·…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def shorten(text: str, most: int) -> str:
    """A text on one line, cut at its end."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def render_verification(verification: Verification, stream: TextIO) -> str:
    """An outcome: notes that qualify it, the headline, then every check with its reason."""
    [decision] = verification.decisions
    lines = [f"{plain(note)}" for note in verification.notes]
    lines.append(f"{sign(decision.answer, stream)} {plain(verification.headline)}")
    width = min(28, max((len(check.id) for check in verification.checks), default=0))
    held = 0
    for part, check in zip(decision.parts, verification.checks, strict=True):
        if check.passed:
            held += 1
            if held > _HELD_LIMIT:
                continue
        # Of what held, the values say enough; of what did not, the whole check stands there.
        message = check.message.split(" is True: ", 1)[-1] if check.passed else check.message
        lines.append(f"  {sign(part.answer, stream)} {plain(check.id):<{width}}  {plain(message)}")
        if check.passed is not True and check.description:
            lines.append(f"    {'':<{width}}  {plain(check.description)}")
    if held > _HELD_LIMIT:
        lines.append(f"  and {held - _HELD_LIMIT} more that hold; all of them are in verification.json")
    if verification.judge is not None:
        lines.append(f"  the judge's reasons: {plain(shorten(verification.judge.reasoning, _REASON))}")
        concerns = verification.judge.concerns
        lines += [f"  the judge's concern: {plain(shorten(text, _REASON))}" for text in concerns[:_CONCERNS]]
        remarks = [entry.note or "" for entry in decision.evidence if entry.key == JUDGE_REMARK]
        lines += [f"  {JUDGE_REMARK}: {plain(remark)}" for remark in remarks]
    return "\n".join(lines)


def render_decision(decision: Decision, stream: TextIO, *, indent: int = 0) -> str:
    """One Decision: its sign, subject and word, then what is open, then what it rests on."""
    pad = " " * indent
    lines = [f"{pad}{sign(decision.answer, stream)} {plain(decision.subject)}: {_words(decision)}"]
    lines += [f"{pad}  {plain(entry)}" for entry in decision.open]
    lines += [f"{pad}  {plain(entry.note)}" for entry in decision.evidence if entry.note]
    return "\n".join(lines)


def render_numbers(decision: Decision, stream: TextIO, set_aside_counts: str = "") -> str:
    """The numbers of the report: how many of each kind, and then those that are not plainly in the results.

    `set_aside_counts`: how many were not searched for and why, on its own line, so that nobody takes them for found.
    """
    counted = next((entry.note for entry in decision.evidence if entry.note), decision.word)
    lines = [f"{sign(decision.answer, stream)} numbers of {plain(decision.subject)}: {plain(counted)}"]
    lines += [f"  set aside: {plain(set_aside_counts)}"] if set_aside_counts else []
    wrong = [entry.note for entry in decision.evidence[1:] if entry.note]
    open_ = [] if decision.answer is Answer.HOLDS else decision.open
    listed = [*wrong, *open_]
    lines += [f"  {plain(line)}" for line in listed[:_LINES_LIMIT]]
    if len(listed) > _LINES_LIMIT:
        lines.append(f"  and {len(listed) - _LINES_LIMIT} more; all of them with --json")
    return "\n".join(lines)


def render_rerun(decision: Decision, stream: TextIO, *, short: bool = False, elsewhere: bool = False) -> str:
    """Whether a rerun gave the same results: what moved, what was enforced, what is open. Equal values are counted.

    `short`: of the isolation only that it was a plain process, and of what is open only why the rerun is
    inconclusive, or that it was run `elsewhere`.
    """
    counted = counted_values(decision)
    lines = [
        f"{sign(decision.answer, stream)} rerun: {_words(decision)}"
        + (f" · {plain(counted)}" if counted else "")
        + (f" · {PLAIN_PROCESS}" if short and weakly_isolated(decision) else "")
    ]
    noted = [
        plain(
            ": ".join(part for part in (" ".join(filter(None, (entry.path, entry.key))), entry.note) if part)
        )
        for entry in decision.evidence
        if entry.note and entry.note != "equal" and (entry.path or (entry.key != VALUES and not short))
    ]
    lines += [f"  {line}" for line in noted[: _LINES_LIMIT if short else None]]
    if short and len(noted) > _LINES_LIMIT:
        lines.append(f"  and {len(noted) - _LINES_LIMIT} more; all of them with `autoscirub rerun`")
    inconclusive = decision.answer is Answer.INCONCLUSIVE
    open_ = decision.open[:1] if short and (elsewhere or inconclusive) else [] if short else decision.open
    return "\n".join([*lines, *(f"  {plain(entry)}" for entry in open_)])


def _words(decision: Decision) -> str:
    phrase = SIGNS[decision.answer][1]
    return phrase if decision.word == phrase else f"{phrase} ({plain(decision.word)})"


def render_list(title: str, entries: Sequence[str]) -> str:
    """A short titled list; nothing when it is empty."""
    return "\n".join([title, *(f"  {plain(entry)}" for entry in entries)]) if entries else ""
