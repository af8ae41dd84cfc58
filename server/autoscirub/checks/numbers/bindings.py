"""Applies the configuration's bindings: a snippet of the report's text, and the key whose value it prints."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from autoscirub.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.checks.numbers.extract import Occurrences

MAX_BINDINGS = 1000
_MAX_SNIPPET = 300
_NUMBER = r"(?P<n>[-+\u2212]?[0-9.][0-9.,]*)"


def apply_bindings(occurrences: Occurrences, bindings: Mapping[str, str]) -> list[str]:
    """Bind each number that a snippet points at; returns what is open about them, in words.

    In a snippet `#` stands for the number, whatever it is: `fell by # TWh` still binds when the number or the text
    around the snippet changes. Without `#` the snippet must hold exactly one number. White space is one with any
    other, and the snippet is compared with the text as a reader sees it, without markup. A snippet that is nowhere
    in the report is open, never skipped. Raises CheckError for too many bindings or a snippet that is too long.
    """
    if len(bindings) > MAX_BINDINGS:
        raise CheckError(f"{len(bindings):,} bindings, more than the limit of {MAX_BINDINGS:,}")
    starts = [number.start for number in occurrences.numbers]
    opened = []
    for snippet, key in bindings.items():
        if len(snippet) > _MAX_SNIPPET:
            raise CheckError(f'the binding "{snippet[:40]}…" is longer than {_MAX_SNIPPET} characters')
        if snippet.count("#") > 1 or not snippet.strip():
            opened.append(f'the binding "{snippet}" must hold exactly one number, or # in its place')
            continue
        bound = 0
        for match in _pattern(snippet).finditer(occurrences.text):
            start, end = match.span("n") if "#" in snippet else match.span()
            inside = occurrences.numbers[bisect_left(starts, start) : bisect_left(starts, end)]
            if "#" not in snippet and len(inside) != 1:
                opened.append(
                    f'the binding "{snippet}" holds {len(inside)} numbers; put # in place of the one'
                )
                bound = -1
                break
            for number in inside[:1]:
                number.bound_to = key
                number.set_aside = number.soft = None
                bound += 1
        if not bound:
            opened.append(f'the binding "{snippet}" -> {key} is found nowhere in the report')
    return opened


def _pattern(snippet: str) -> re.Pattern[str]:
    words = (
        "".join(_NUMBER if piece == "#" else re.escape(piece) for piece in re.split("(#)", word))
        for word in snippet.split()
    )
    return re.compile(r"\s+".join(words))
