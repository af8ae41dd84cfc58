"""`doctor`, the clients: which are there, whether they have the plugin, and whether its server starts."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import AutoscirubError
from autoscirub.models.clients import CLIENTS
from autoscirub.setup.clients import GET, PLUGIN_ID, find_client, open_client
from autoscirub.setup.installing import folder_of, others_of_this_name, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoscirub.models import Decision
    from autoscirub.models.clients import ClientName
    from autoscirub.setup.clients import Client

__all__ = ["look_at_clients", "server_problem"]

_START_SECONDS = 20.0
_ANSWER_BYTES = 1024 * 1024
_LIMIT = 16 * 1024 * 1024


def look_at_clients() -> Iterator[Decision]:
    """For each client: is it there, does it have the plugin, does the server start, will its hooks run."""
    from autoscirub.setup.doctor import finding

    for name in CLIENTS:
        question = "Is this coding agent there?"
        if find_client(name) is None:
            yield finding(name, question, None, "not on PATH", f"only if you use it: {GET[name]}")
            continue
        try:
            client = open_client(name)
            yield finding(name, question, True, client.version(), note=client.program)
            yield from _plugin(name, client)
        except AutoscirubError as error:
            yield finding(name, question, None, "could not be asked", str(error))


def _plugin(name: ClientName, client: Client) -> Iterator[Decision]:
    from autoscirub.setup.doctor import finding

    plugins = client.plugins()
    ours = [one for one in plugins if one.id == PLUGIN_ID]
    others = others_of_this_name(plugins)
    question = "Is no other plugin of the same name in the way?"
    if others:
        how = f"{others[0].id} has the same name; uninstall or disable one of the two"
        yield finding(f"{name}: other plugin", question, False if ours else None, others[0].id, how)
    question = "Does it have the plugin: skills, tools and hooks?"
    if not ours:
        yield finding(f"{name}: plugin", question, None, "not installed", f"only if you want it: autoscirub install {name}")
        return
    on = [one for one in ours if one.enabled]
    if not on and all(one.project for one in ours):
        where = ", ".join(one.project or "" for one in ours)
        yield finding(f"{name}: plugin", question, None, "installed for other projects alone", note=where)
        return
    if not on:
        how = f"to switch it on: autoscirub install {name}"
        yield finding(f"{name}: plugin", question, None, "installed, and switched off", how)
        return
    yield finding(f"{name}: plugin", question, True, f"installed ({on[0].scope})")
    yield _server(name, client)
    if name == "codex":
        yield _hooks(client)


def _server(name: ClientName, client: Client) -> Decision:
    from autoscirub.setup.doctor import finding

    question = "Does the server start that it would start?"
    command = client.server()
    again = f"to write it anew: autoscirub install {name}"
    if not command:
        return finding(f"{name}: server", question, False, "none", f"{name} names no server for the plugin; {again}")
    place = place_of(name)
    if place is not None and not folder_of(place).is_dir() and client.copy_of_plugin() is None:
        return finding(f"{name}: server", question, False, "its folder is gone", f"{folder_of(place)} is missing; {again}")
    problem = server_problem(command)
    shown = " ".join(command)
    if problem is not None:
        return finding(f"{name}: server", question, False, "does not start", problem, again, note=shown)
    return finding(f"{name}: server", question, True, "starts and answers", note=shown)


def server_problem(command: Sequence[str], seconds: float = _START_SECONDS) -> str | None:
    """Start the server as a client would, ask it to initialize, and end it. None where it answers as it should.

    It gets what Codex passes on, and no more, and starts in a folder that is nobody's project.
    """
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PATH", "TMPDIR") if name in os.environ}
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "autoscirub-doctor", "version": "1"},
        },
    }
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [*command],
                cwd=tempfile.gettempdir(),
                env=kept,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as cause:
            return f"{command[0]}: cannot be started: {cause.strerror}"
        late = threading.Timer(seconds, _end, [process])
        late.start()
        line = b""
        try:
            assert process.stdin is not None  # noqa: S101 - pipes were asked for
            assert process.stdout is not None  # noqa: S101
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
            line = process.stdout.readline(_ANSWER_BYTES)
        finally:
            timed_out = not late.is_alive()
            late.cancel()
            _end(process)
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.wait()
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace").strip().splitlines()
    if not line:
        return f"it did not answer within {seconds:g} s" if timed_out else f"it ended at once: {said[-1] if said else 'it said nothing'}"
    return None if _is_answer(line) else f"it answered {line[:200]!r}, which is no answer to initialize"


def _is_answer(line: bytes) -> bool:
    try:
        answer = json.loads(line)
    except ValueError:
        return False
    result = answer.get("result") if isinstance(answer, dict) else None
    return isinstance(result, dict) and "serverInfo" in result


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _hooks(client: Client) -> Decision:
    """Read from its configuration: asked itself, it would write. Whether a trust is for an older hook is not told there."""
    from autoscirub.setup.clients_codex import HOOKS_HOW
    from autoscirub.setup.doctor import finding
    from autoscirub.store import read_regular

    question = "Will it run the plugin's hooks?"
    [path] = client.settings(None)
    try:
        data = read_regular(Path(os.path.realpath(path)), limit=_LIMIT)
        table = tomllib.loads((data or b"").decode("utf-8"))
    except (AutoscirubError, ValueError) as error:
        return finding("codex: hooks", question, None, "could not be read", f"{path}: {error}")
    known = {key: state for key, state in _states(table) if key.startswith(f"{PLUGIN_ID}:")}
    trusted = [key for key, state in known.items() if state.get("trusted_hash") and state.get("enabled") is not False]
    hooks = _hooks_of(client)
    if hooks and len(trusted) >= hooks:
        note = "after an install of another version it asks for them anew, and runs none until then"
        return finding("codex: hooks", question, True, f"{len(trusted)} trusted", note=note)
    how = f"it skips hooks that are not trusted, and says nothing; {HOOKS_HOW}"
    return finding("codex: hooks", question, None, f"{len(trusted)} of {hooks or '?'} trusted", how)


def _states(table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    hooks = table.get("hooks")
    states = hooks.get("state") if isinstance(hooks, dict) else None
    for key, state in (states.items() if isinstance(states, dict) else ()):
        if isinstance(state, dict):
            yield key, state


def _hooks_of(client: Client) -> int:
    """How many hooks its copy of the plugin has; 0 where that cannot be read."""
    copy = client.copy_of_plugin()
    try:
        content = json.loads((copy / "hooks" / "hooks.json").read_bytes()) if copy else {}
        groups = [group for event in content["hooks"].values() for group in event]
        return sum(len(group["hooks"]) for group in groups)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0
