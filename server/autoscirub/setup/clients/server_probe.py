"""Queries a server program that speaks JSON, one message a line, on its standard streams; then ends it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_LINE_BYTES = 4 * 1024 * 1024
_LINES = 200
_EXCERPT = 300


def passed_on() -> dict[str, str]:
    """The environment that every client passes on to a server: Codex passes no more."""
    return {name: os.environ[name] for name in ("HOME", "LANG", "PATH", "TMPDIR") if name in os.environ}


def ask_lines(
    command: Sequence[str],
    messages: Sequence[Mapping[str, Any]],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
) -> dict[str, Any]:
    """Send `messages`, each when the one before it was answered, and return the result of the last; then end it.

    A message without an id waits for no answer. Raises ClientError where it does not start, does not answer within
    `seconds`, or answers with an error.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [*command],
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as cause:
            raise ClientError(f"{command[0]}: cannot be started: {cause.strerror}") from cause
        late = threading.Event()
        timer = threading.Timer(seconds, _cut_off, [late, process])
        timer.start()
        try:
            result: dict[str, Any] = {}
            for request in messages:
                _send(process, request)
                if "id" in request:
                    result = _answer(process, request["id"])
            return result
        except _Ended:
            _end(process)
            process.wait()
            errors.seek(0)
            output = errors.read().decode("utf-8", "replace").strip()[-_EXCERPT:].splitlines()
            why = f"did not answer within {seconds:g} s" if late.is_set() else "ended without an answer"
            raise ClientError(f"it {why}" + (f"; it said: {output[-1]}" if output else "")) from None
        finally:
            timer.cancel()
            _end(process)
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.wait()


class _Ended(Exception):  # noqa: N818 - it is no error of its own
    """Raised where the program has ended, or closed its end of the conversation."""


def _send(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    try:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        raise _Ended from None


def _answer(process: subprocess.Popen[bytes], number: Any) -> dict[str, Any]:
    """The result of the message with that id; other messages in between are skipped."""
    assert process.stdout is not None  # noqa: S101 - as above
    for _ in range(_LINES):
        line = process.stdout.readline(_LINE_BYTES)
        if not line:
            raise _Ended
        try:
            answer = json.loads(line)
        except ValueError:
            raise ClientError(f"it answered {line[:200]!r}, which is no JSON") from None
        if not isinstance(answer, dict) or answer.get("id") != number or "method" in answer:
            continue
        result = answer.get("result")
        if isinstance(result, dict):
            return result
        raise ClientError(f"it answered {json.dumps(answer)[:_EXCERPT]}")
    raise ClientError(f"it sent {_LINES} other messages, and did not answer")


def _cut_off(late: threading.Event, process: subprocess.Popen[bytes]) -> None:
    late.set()
    _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
