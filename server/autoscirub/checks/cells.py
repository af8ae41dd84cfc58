"""Reads the cell of a table as a number."""

from __future__ import annotations

import math


def number_in(text: str) -> int | float | None:
    """The number that a text is, NaN and the infinities by their names too; None for any other text.

    A text with an underscore is none: `1_000` is one thousand to Python alone, and more likely an identifier. Nor is
    one beyond any float, such as `1e400`: as an infinity it would be the same as every other one.
    """
    if "_" in text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isinf(value) and any(sign.isdigit() for sign in text) else value
