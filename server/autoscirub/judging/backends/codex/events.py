"""Reads what `codex exec --json` prints while it runs: how many turns it took, what it used, why it failed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from autoscirub.judging.backends.limits import one_line
from autoscirub.models import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_NO_CALLS = frozenset({"agent_message", "reasoning", "error", "todo_list"})
_REROUTED = re.compile(r"model rerouted: \S+ -> (\S+)")
_REFUSED = "its login or key is not accepted: run `codex login`, or correct the key of its provider"
_USED_UP = "a limit of its provider is used up: wait, and run this again, or set another judge.model"
_BROKEN = "its provider failed: run this again later"
_TODO: dict[Any, str] = {
    **dict.fromkeys(("unauthorized", 401, 403), _REFUSED),
    **dict.fromkeys(("usage_limit_exceeded", "rate_limit_exceeded", 429), _USED_UP),
    **dict.fromkeys(("internal_server_error", "server_overloaded", *range(500, 600)), _BROKEN),
    "context_window_exceeded": "lower judge.inline, or set a judge.model that reads more",
    None: "its provider cannot be reached: check the network, the proxy, and the address in Codex's config.toml",
}
"""What to do, by Codex's own name of the error, or the status of HTTP; None: no answer at all."""


class CodexEvents:
    """The events of one run; `take` gets each piece of what it prints."""

    def __init__(self, turns_allowed: int) -> None:
        self._allowed, self._rest, self._calls = turns_allowed, b"", 0
        self._running: set[Any] = set()
        self._error, self._served = "", ""
        self.failed = False
        """Whether the run failed, by its own word."""
        self.over = False
        """Whether it began more turns than it may, and is to be ended."""
        self.usage = Usage()

    def take(self, chunk: bytes) -> bool:
        """Read a piece. Returns True where the run must end."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for event in _objects(lines):
            self._read(event.get("type"), event)
        return self.over

    def _read(self, kind: Any, event: dict[str, Any]) -> None:
        item, used = event.get("item"), event.get("usage")
        if isinstance(item, dict):
            self._read_item(kind, item)
        elif kind == "turn.completed" and isinstance(used, dict):
            tokens = {name: used.get(name) for name in ("input_tokens", "output_tokens")}
            self.usage = Usage.model_validate({**tokens, "turns": self._calls + 1})
        elif kind == "turn.failed":
            self.failed = True
            error = event.get("error")
            self._error = str(error.get("message", "")) if isinstance(error, dict) else ""

    def _read_item(self, kind: Any, item: dict[str, Any]) -> None:
        text = str(item.get("message", ""))
        if item.get("type") == "error" and (found := _REROUTED.match(text)):
            self._served = found[1]
        if item.get("type") in _NO_CALLS:
            return
        # Calls of one turn run at the same time; the next turn begins when all have ended.
        if kind == "item.started":
            self._calls += not self._running
            self._running.add(item.get("id"))
            self.over = self._calls >= self._allowed
        elif kind == "item.completed":
            self._running.discard(item.get("id"))

    def model(self, home: Path) -> str | None:
        """The model that answered. Codex reports one only where it is not the one that it asked for."""
        asked = [found for record in _session(home) if isinstance(found := record.get("model"), str)]
        return self._served or (asked[-1] if asked else None)

    def failure(self, home: Path, status: int, errors: str) -> str:
        """Why it failed, and what to do. `errors`: the end of its standard error."""
        todo = "run this again; where it fails again, update codex"
        for record in _session(home):
            if isinstance(error := record.get("error"), dict):
                info = error.get("codex_error_info") or ""
                if isinstance(info, dict):  # {"http_connection_failed": {"http_status_code": 401}}
                    [detail, *_] = [*info.values(), None]
                    info = detail.get("http_status_code", "") if isinstance(detail, dict) else ""
                todo = _TODO.get(info, todo)
        if self._error:
            return f"{one_line(self._error)}; {todo}"
        return (
            f"it ended with exit status {status}, and its standard error with: {errors or 'nothing'}; {todo}"
        )


def _session(home: Path) -> Iterator[dict[str, Any]]:
    """What codex noted of the run in its own home: there an error has a name, and not only a message."""
    for path in sorted(home.glob("sessions/**/rollout-*.jsonl")):
        for record in _objects(path.read_bytes().splitlines()):
            if isinstance(payload := record.get("payload"), dict):
                yield payload


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line cut short, or one that is no event
        if isinstance(found, dict):
            yield found
