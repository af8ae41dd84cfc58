"""Asking at a terminal: the question on stderr, one line from standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError

if TYPE_CHECKING:
    from autoscirub.models import SetupQuestion

_LONGEST = 4096


def at_terminal() -> bool:
    """Whether somebody sees what is asked, and can answer."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: SetupQuestion, problem: str | None) -> str:
    """One line in answer to `question`, or to `problem`, which says why the last one could not be used.

    Raises ConfigError where the answer is broken off.
    """
    from autoscirub.report import plain, render_prompt, render_question, sign_for_error

    shown = f"{sign_for_error(sys.stderr)} {plain(problem)}" if problem else render_question(question)
    try:
        # Both in here: whoever sees the prompt may break off at once.
        sys.stderr.write(f"{shown}\n{render_prompt(question)}")
        sys.stderr.flush()
        # As bytes: what is typed need not be text in the terminal's encoding, and is then refused as an answer.
        line = sys.stdin.buffer.readline(_LONGEST)
    except KeyboardInterrupt:
        line = b""
    if not line:
        sys.stderr.write("\n")
        raise ConfigError(
            f"the question for --{question.subject} was broken off; nothing was written. Begin again, "
            "say what it asks for with flags, or take the best of what is found with --yes"
        )
    return line.decode(sys.stdin.encoding or "utf-8", "surrogateescape")
