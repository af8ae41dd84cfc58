"""One line of text for a message, of bounded length and printable."""

from __future__ import annotations

from autoscirub.checks.expressions.limits import MAX_MESSAGE_CHARACTERS


def shorten(text: str, most: int = MAX_MESSAGE_CHARACTERS) -> str:
    """`text` on one line, cut in the middle when it is longer than `most`: both ends say what it is."""
    if len(text) > most:
        text = f"{text[: most * 2 // 3]} … {text[-(most // 3) :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)
