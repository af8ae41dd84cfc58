"""Takes out of a reply what a model prints of its thinking: what stands there is a draft, and no verdict."""

from __future__ import annotations

import re

from autoscirub.judging.verdicts.json_objects import UnreadableObject, end_of

_THOUGHT = r"(?:think|thinking|thoughts?|reasoning|scratchpad|analysis|reflection|monologue|draft)"
_THINKING = re.compile(
    rf"(?P<tag><(?:\w{{1,20}}:)?{_THOUGHT}\b[^<>]{{0,80}}>|◁think▷)"
    r"|(?P<bracket>\[(?:THINK|THINKING|REASONING)\])"
    r"|(?P<channel><\|channel\|>\s*(?:analysis|commentary)\b)"
    r"|(?P<token><\|(?:START_THINKING|begin_of_thought|think)\|>)"
    rf"|(?P<orphan></(?:\w{{1,20}}:)?{_THOUGHT}\s*>|◁/think▷|\[/(?:THINK|THINKING|REASONING)\]"
    r"|<\|(?:END_THINKING|end_of_thought|/think)\|>|<\|channel\|>\s*final\b(?:\s*<\|message\|>)?)",
    re.IGNORECASE,
)
_CLOSED = {
    "tag": re.compile(rf"</(?:\w{{1,20}}:)?{_THOUGHT}\s*>|◁/think▷", re.IGNORECASE),
    "bracket": re.compile(r"\[/(?:THINK|THINKING|REASONING)\]", re.IGNORECASE),
    "channel": re.compile(
        r"<\|channel\|>\s*final\b(?:\s*<\|message\|>)?|<\|(?:end|return)\|>", re.IGNORECASE
    ),
    "token": re.compile(r"<\|(?:END_THINKING|end_of_thought|/think)\|>", re.IGNORECASE),
}
"""How the block ends that each kind of mark opens, in the models that print their thinking."""


def without_thinking(text: str) -> str:
    """A reply without the blocks in which a model thinks: what stands there is a draft, and no verdict.

    Raises UnreadableObject where one does not end: the reply was cut off before the model had decided.
    """
    parts, at, look, budget = list[str](), 0, 0, 4 * len(text) + 100_000
    while (mark := _THINKING.search(text, look)) is not None:
        if (begins := text.find("{", look, mark.start())) != -1:
            # A mark in an object's string is the judge's own words.
            end = end_of(text, begins)
            budget -= (len(text) if end is None else end) - begins
            if budget < 0:
                raise UnreadableObject(
                    "the reply holds more brackets than are read; expected one JSON object"
                )
            look = begins + 1 if end is None else end
            continue
        kind = mark.lastgroup or ""
        if kind == "orphan":  # the server has cut off the mark that begins it
            parts, at, look = [], mark.end(), mark.end()
            continue
        closed = _CLOSED[kind].search(text, mark.end())
        if closed is None:
            raise UnreadableObject(
                "the reply ends inside its thinking, so what is in it is a draft; expected the verdict after it"
            )
        parts.append(text[at : mark.start()])
        at = look = closed.end()
    return "".join([*parts, text[at:]])
