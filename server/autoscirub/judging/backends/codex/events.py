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
    """The events of one run; `take` gets each piece of what it prints. `home` is its CODEX_HOME."""

    def __init__(self, turns_allowed: int, home: Path) -> None:
        self._allowed, self._home, self._rest = turns_allowed, home, b""
        self._error, self._rerouted = "", ""
        self._tokens: dict[str, Any] = {}
        self.failed = False
        """Whether the run failed, by its own word."""
        self.over = False
        """Whether it went on after the last turn that it may take, and is to be ended."""

    def take(self, chunk: bytes) -> bool:
        """Read a piece. Returns True where the run must end."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for event in _objects(lines):
            self._read(event.get("type"), event)
        return self.over

    def _read(self, kind: Any, event: dict[str, Any]) -> None:
        item, used = event.get("item"), event.get("usage")
        if isinstance(item, dict):
            if item.get("type") == "error" and (found := _REROUTED.match(str(item.get("message")))):
                self._rerouted = found[1]
            elif kind == "item.started" and item.get("type") not in _NO_CALLS:
                self.over = (self._turns() or 0) >= self._allowed
        elif kind == "turn.completed" and isinstance(used, dict):
            self._tokens = {name: used.get(name) for name in ("input_tokens", "output_tokens")}
        elif kind == "turn.failed":
            self.failed = True
            error = event.get("error")
            self._error = str(error.get("message", "")) if isinstance(error, dict) else ""

    def _turns(self) -> int | None:
        """How often the model answered so far; None where codex did not note it."""
        records = [*_session(self._home)]
        answers = {record["response_id"] for record in records if {"response_id", "usage"} <= record.keys()}
        # Versions without these note the tokens alone.
        return len(answers) or sum(1 for record in records if isinstance(record.get("info"), dict)) or None

    @property
    def usage(self) -> Usage:
        """What the run used."""
        return Usage.model_validate({**self._tokens, "turns": self._turns()})

    @property
    def model(self) -> str | None:
        """The model that answered. Codex reports one only where it is not the one that it asked for."""
        asked = [record["model"] for record in _session(self._home) if isinstance(record.get("model"), str)]
        return self._rerouted or (asked[-1] if asked else None)

    def failure(self, status: int, errors: str) -> str:
        """Why it failed, and what to do. `errors`: the end of its standard error."""
        todo = "run this again; where it fails again, update codex"
        for record in _session(self._home):
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
