"""Asks questions at a terminal: each on stderr, with one line from standard input as the answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from autoscirub.errors import ConfigError

if TYPE_CHECKING:
    from autoscirub.models import SetupQuestion

_LONGEST = 4096


def at_terminal() -> bool:
    """Whether somebody can see a question, and answer it."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: SetupQuestion, problem: str | None) -> str:
    """One line in answer to `question`, or to `problem`, which says why the last one could not be used.

    Raises ConfigError when the dialogue is interrupted.
    """
    from autoscirub.report import plain, render_prompt, render_question, sign_for_error

    prompt = f"{sign_for_error(sys.stderr)} {plain(problem)}" if problem else render_question(question)
    try:
        # The prompt is inside the try too: Ctrl-C may come as soon as it is visible.
        sys.stderr.write(f"{prompt}\n{render_prompt(question)}")
        sys.stderr.flush()
        # As bytes: what is typed need not be text in the terminal's encoding, and is then refused as an answer.
        line = sys.stdin.buffer.readline(_LONGEST)
    except KeyboardInterrupt:
        line = b""
    if not line:
        sys.stderr.write("\n")
        raise ConfigError(
            f"the question for --{question.subject} was interrupted; nothing was written. Run it again, "
            "answer with flags, or take the best of what is found with --yes"
        )
    return line.decode(sys.stdin.encoding or "utf-8", "surrogateescape")
