"""The Stop hook: decides whether an agent that wants to end is sent back once, and with which message.

It is reminded of what is open, and may end by saying so. Where anything is uncertain, it may end.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import Any, Literal

from autoscirub.client_hooks.changes import (
    Bounds,
    changes_since,
    digests_of,
    reference_time,
    seconds_of,
)
from autoscirub.client_hooks.fence import MANIFEST_LIMIT
from autoscirub.client_hooks.files import read_bytes, read_json
from autoscirub.client_hooks.location import HookLocation, find_place
from autoscirub.client_hooks.payload import agent_of, folder_of, session_of, text_of
from autoscirub.errors import StateError

Why = Literal["changed", "own round"]

_REPORT_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class StopContext:
    """The facts that the decision rests on, as they were found; nothing was run."""

    sent_back_before: bool = False
    """Whether this agent was sent back before for exactly the same."""
    ended: str | None = None
    """How the loop ended."""
    changed: bool = False
    """Files have changed since the last check."""
    own_round: bool = False
    """This conversation opened the round that is open."""
    all_satisfied: bool = False


RULES: tuple[tuple[str, Why | None], ...] = (
    # the first that applies; the names are those of StopContext
    ("ended in error", None),  # a check records nothing then
    ("sent_back_before", None),
    ("changed", "changed"),
    ("ended", None),
    ("all_satisfied", None),
    ("own_round", "own round"),
)


def why_back(situation: StopContext) -> Why | None:
    """Why the agent is sent back; None: it may end."""
    for name, why in RULES:
        if situation.ended == "error" if name == "ended in error" else bool(getattr(situation, name)):
            return why
    return None


def answer_stop(
    payload: dict[str, Any], project: str | None = None, state_dir: str | None = None
) -> dict[str, Any] | None:
    """The hook's answer at Stop and SubagentStop; None: the agent may end.

    Raises ConfigError and StateError where the state cannot be used; the agent may end then.
    """
    if os.environ.get("AUTOSCIRUB_PLAN") or text_of(payload, "permission_mode") == "plan":
        return None  # `autoscirub run` verifies by itself; and who may only plan can close nothing
    place = find_place(folder_of(payload), os.environ, project=project, state_dir=state_dir)
    if place is None and os.environ.get(
        "CLAUDE_PROJECT_DIR"
    ):  # it went elsewhere, and the work is still there
        place = find_place(os.environ["CLAUDE_PROJECT_DIR"], os.environ)
    manifest = read_json(f"{place.state}/run_manifest.json", MANIFEST_LIMIT) if place else None
    lock = _part(_part(manifest, "locks"), "rubric")
    if place is None or manifest is None or not lock:
        return None

    from autoscirub.client_hooks.sessions import opened_sessions

    with opened_sessions(place.state) as sessions:
        agent = agent_of(payload)
        pending = sessions.take_pending(agent)
        if pending:
            sessions.save()
        if pending or payload.get("stop_hook_active") or _only_talked(payload):
            return None
        scan = _ChangeScan.at(place, lock)
        if scan is None:
            return None
        opener = sessions.opener(scan.verified_at) if scan.verified_at else None
        situation = StopContext(
            ended=text_of(_part(_part(manifest, "loop"), "ended"), "state"),
            changed=bool(scan.changed),
            own_round=opener == session_of(payload),
            all_satisfied=(scan.report or {}).get("all_satisfied") is True,
            sent_back_before=sessions.was_sent_back(agent, scan.digest),
        )
        why = why_back(situation)
        if why is None or _at_work(place):
            return None
        message = scan.message(
            why, list(lock.get("criteria") or []), started=bool(text_of(payload, "agent_id"))
        )
        if message is None:
            return None
        sessions.send_back(agent, scan.digest)
        sessions.save()  # before answering: without the note the agent might be sent back twice
    return {"decision": "block", "reason": message}


def _at_work(place: HookLocation) -> bool:
    from autoscirub.client_hooks.activity import at_work

    return at_work(place.state)


@dataclass
class _ChangeScan:
    """The last check, and what has changed since."""

    place: HookLocation
    report: dict[str, Any] | None
    changed: list[str]
    verified_at: float | None
    digest: str

    @classmethod
    def at(cls, place: HookLocation, lock: dict[str, Any]) -> _ChangeScan | None:
        """None where the scan would exceed its bounds."""
        name = f"{place.state}/verification_report.json"
        report = read_json(name, _REPORT_LIMIT)
        verification = read_json(f"{place.state}/verification.json", _REPORT_LIMIT)
        times = [
            text_of(each, "at") for each in (report or {}).get("decisions") or [] if isinstance(each, dict)
        ]
        at = max(filter(None, times), default=None)
        if report is None:
            name, at = f"{place.state}/run_manifest.json", text_of(lock, "frozen_at")
        # A result reused from an earlier check has its date; the log says when the last check was.
        last = (_verified_at(place.state) if report is not None else None) or at
        digests, certain = digests_of(report, verification)
        found = changes_since(place.root, place.state, reference_time(name, last), digests, certain, Bounds())
        if found is None:
            return None
        changed = found.known or _not_ignored(place.root, found.other)
        basis = [
            [(report or {}).get("round"), at],
            [[path, _time(f"{place.root}/{path}")] for path in changed],
        ]
        digest = hashlib.sha256(json.dumps(basis).encode()).hexdigest()
        return cls(place, report, changed, seconds_of(last) if report is not None else None, digest)

    def message(self, why: Why, criteria: list[Any], *, started: bool) -> str | None:
        """What the agent reads; None where the report cannot be used or names nothing that is open."""
        from autoscirub.client_hooks.stop_messages import tell

        plan = (
            f"{self.place.state}/revisions/round-{(self.report or {}).get('round', 0):03}/revision_plan.json"
        )
        return tell(
            self.report,
            changed=self.changed,
            why=why,
            planned=os.path.lexists(plan),
            criteria=[str(each) for each in criteria],
            started=started,
        )


def _verified_at(state: str) -> str | None:
    """When a round was last verified, by the log of the rounds; None where that cannot be read."""
    try:
        data = read_bytes(f"{state}/revisions/events.jsonl", _REPORT_LIMIT)
    except StateError:
        return None
    for line in reversed((data or b"").splitlines()):
        if b'"verified"' in line:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            return text_of(event, "at") if isinstance(event, dict) else None
    return None


def _not_ignored(root: str, paths: list[str]) -> list[str]:
    """Those of the newer files that git does not ignore; of very many, only the first are considered."""
    if not paths or not _in_repository(root):
        return paths
    from pathlib import Path

    from autoscirub.store import ask_ignored

    asked = paths[:200]
    ignored = ask_ignored(Path(root), asked).paths
    return [path for path in asked if path not in ignored]


def _in_repository(root: str) -> bool:
    while not os.path.lexists(f"{root}/.git"):
        if root == os.path.dirname(root):
            return False
        root = os.path.dirname(root)
    return True


def _time(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _part(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


_READING = re.compile(
    rb"Read|Glob|Grep|LS|NotebookRead|WebFetch|WebSearch|TodoWrite|ToolSearch|Skill|AskUserQuestion|ExitPlanMode"
    rb"|update_plan|view_image|web_search|mcp__.*autoscirub.*__(?:next|status|audit|evaluate_expr|check_artifact|validate_state|job)"
)
_CALL = re.compile(rb'"(?:tool_use|function_call|custom_tool_call|local_shell_call|mcp_tool_call)"')
_NAMED = re.compile(rb'"name"\s*:\s*"([^"]{1,200})"')
_TRANSCRIPT_LIMIT = 8 * 1024 * 1024


def _only_talked(payload: dict[str, Any]) -> bool:
    """Whether the transcript shows that the agent has called nothing that could change a file.

    Without a transcript that can be read this is not known, and False.
    """
    path = text_of(payload, "agent_transcript_path", "transcript_path")
    if path is None:
        return False
    try:
        data = read_bytes(os.path.expanduser(path), _TRANSCRIPT_LIMIT)
    except StateError:
        return False
    if not data:
        return False
    for line in data.splitlines():
        if _CALL.search(line):
            names = _NAMED.findall(line)
            if not names or not all(_READING.fullmatch(name) for name in names):
                return False
    return True
