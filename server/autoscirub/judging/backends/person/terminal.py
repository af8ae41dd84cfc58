"""The terminal at which a person is asked: what is written there does it no harm, and a line is awaited."""

from __future__ import annotations

import functools
import os
import sys

from autoscirub.judging.prompts import plain

_UNATTENDED = ("CI", "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_THREAD_ID")
"""Variables of those who start commands without a person in front of them, some of them at a terminal of their own."""
_LINE_BYTES = 1 << 16


class PersonTerminal:
    """Standard input and standard error of this process. Standard output is for the command's answer."""

    def __init__(self) -> None:
        import anyio

        self.lock = anyio.Lock()
        """Held while a question is put: two at once would share one keyboard."""
        self.names: dict[int, str] = {}
        """Who answers in this session, by the member of the panel."""

    def attended(self) -> bool:
        """Whether somebody can see a question here, and answer it."""
        if any(os.environ.get(name) for name in _UNATTENDED):
            return False
        try:
            streams = (sys.stdin, sys.stdout, sys.stderr)
            return all(each is not None and each.isatty() for each in streams) and _in_front(
                sys.stdin.fileno()
            )
        except (OSError, ValueError):  # closed, or replaced by what is no file
            return False

    def show(self, text: str = "") -> None:
        """Write `text` and end the line. No character of it can steer the terminal: it is written out instead."""
        self._write(f"{text}\n")

    async def line(self, prompt: str) -> str:
        """One line in answer to `prompt`, without its end. Raises EOFError where no more will come."""
        import anyio

        self._write(prompt)
        source = sys.stdin.fileno()
        # Not read in a thread: that could not be cancelled, and would outlive the command.
        await anyio.wait_readable(source)
        try:
            data = os.read(source, _LINE_BYTES)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            raise EOFError
        return plain(data.decode(sys.stdin.encoding or "utf-8", "replace")).strip()

    def discard(self) -> None:
        """Forget what was typed before it was asked for, such as the rest of a text that was pasted."""
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def _write(self, text: str) -> None:
        sys.stderr.write(plain(text))
        sys.stderr.flush()


@functools.cache
def own_terminal() -> PersonTerminal:
    """The one terminal of this process, which remembers who sits there."""
    return PersonTerminal()


def _in_front(source: int) -> bool:
    """Whether this process may read from its terminal: in the background it would be stopped for trying to."""
    try:
        return os.tcgetpgrp(source) == os.getpgrp()
    except OSError:  # a terminal that controls nobody
        return True
