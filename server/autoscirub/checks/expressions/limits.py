"""Limits on what an expression may cost. A registered check is a line or two; these leave it a hundredfold room."""

from __future__ import annotations

MAX_LENGTH = 10_000
"""Characters of source. Checked before anything is parsed, so a 1 MB expression costs nothing."""

MAX_NODES = 1_000
"""Nodes of the parsed tree. Bounds the time of one evaluation, since nothing in the grammar repeats."""

MAX_DEPTH = 100
"""Levels of nesting, in an expression and in a container that is compared.

One level is one Python frame or two, and the interpreter stops at 1,000; the rest is the caller's.
"""

MAX_INT_DIGITS = 4_300
"""Decimal digits of an integer, written, read or computed: Python's own limit for int <-> str.

Beyond it an integer can be computed and compared but no longer printed, and multiplying gets slow.
"""

INT_BOUND: int = 10**MAX_INT_DIGITS
"""The smallest positive integer over the limit."""

MAX_INT_BITS: int = INT_BOUND.bit_length()
"""Bits of `INT_BOUND`: lets `*` and `**` be refused by the size of their operands, before the work."""

MAX_SEQUENCE = 100_000
"""Length of a string, list or tuple that `+` makes. What is read from results may be longer."""

CACHED_EXPRESSIONS = 256
"""Compiled expressions cached by `evaluate_expr`. Many more than a project registers."""

MAX_MESSAGE_KEYS = 20
"""Keys that a message about a missing key lists."""

MAX_MESSAGE_ITEMS = 6
"""Items of a list or dict that a message lists."""

MAX_MESSAGE_CHARACTERS = 200
"""Characters of a string, or of a piece of source, that a message shows."""

MAX_MESSAGE_VALUES = 2_000
"""Characters of all the values together that the message of a check shows."""
