"""Stores what the hooks remember of each conversation: when it verified, and what it was sent back for.

One small file in the state directory's `logs/`, which is not committed. Nothing rests on it but reminders.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any

from autoscirub.client_hooks.files import read_json, write_atomic
from autoscirub.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_NAME = "logs/sessions.json"
MOST_SESSIONS = 100
"""Conversations that are remembered, the latest."""
_LIMIT = 256 * 1024
_TRIES = 20


class Sessions:
    """The entries, by the conversation's id. Each: `verified`, `sent_back` and `seen` (seconds since 1970), `for`."""

    def __init__(self, state: str) -> None:
        self.path = f"{state}/{FILE_NAME}"
        try:
            found = (read_json(self.path, _LIMIT) or {}).get("sessions")
        except StateError:
            found = None  # of use only as a reminder: started afresh
        entries = found if isinstance(found, dict) else {}
        self.entries: dict[str, dict[str, Any]] = {
            key: value for key, value in entries.items() if isinstance(value, dict)
        }

    def verified(self, session: str) -> None:
        """This conversation verifies now."""
        self._entry(session)["verified"] = time.time()

    def send_back(self, agent: str, what: str) -> None:
        """This agent is sent back now, for `what`: the digest of what there was to say."""
        self._entry(agent).update(sent_back=time.time(), pending=True, what=what)

    def take_pending(self, agent: str) -> bool:
        """Whether the agent was sent back the last time that it wanted to end. The call clears this."""
        return bool(self.entries.get(agent, {}).pop("pending", False))

    def was_sent_back(self, agent: str, what: str) -> bool:
        """Whether the agent was sent back for exactly this before."""
        return self.entries.get(agent, {}).get("what") == what

    def opener(self, at: float) -> str | None:
        """The conversation that verified last before `at`, the second in which a round was verified."""
        times = {
            key: entry["verified"]
            for key, entry in self.entries.items()
            if isinstance(entry.get("verified"), int | float) and int(entry["verified"]) <= at
        }
        return max(times, key=lambda key: times[key], default=None)

    def save(self) -> None:
        """Write it. Raises StateError where that cannot be done."""
        latest = sorted(self.entries.items(), key=lambda pair: _number(pair[1].get("seen")), reverse=True)
        text = json.dumps({"sessions": dict(latest[:MOST_SESSIONS])}, indent=1)
        write_atomic(self.path, text.encode("utf-8", "backslashreplace"))

    def _entry(self, key: str) -> dict[str, Any]:
        entry = self.entries.setdefault(key, {})
        entry["seen"] = time.time()
        return entry


@contextlib.contextmanager
def opened_sessions(state: str) -> Iterator[Sessions]:
    """The entries, while no other hook writes them. Raises StateError where `logs/` cannot be used."""
    folder = f"{state}/logs"
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
        # A link there came with the repository, and would choose where we write.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StateError(f"{folder}: {error.strerror}") from error
    try:
        _lock(descriptor)
        yield Sessions(state)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait a moment for another hook. One that never ends is not waited for: at worst a note is lost."""
    import fcntl

    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.003)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
