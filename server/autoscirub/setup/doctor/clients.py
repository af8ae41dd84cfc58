"""`doctor` for coding agents: which are installed, whether they have the plugin, whether its server starts."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, ClientError
from autoscirub.models import CLIENTS
from autoscirub.programs import CLIENT_INSTALL, client_program
from autoscirub.setup.clients import (
    PLUGIN,
    PLUGIN_ID,
    ask_lines,
    command_of,
    open_client,
    passed_on,
)
from autoscirub.setup.doctor.probe import finding
from autoscirub.setup.install import (
    folder_of,
    others_of_this_name,
    place_of,
    plugin_files,
    refuse_unstartable,
    same_files,
    server_command,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoscirub.models import ClientName, Decision
    from autoscirub.setup.clients import Client

_START_SECONDS = 20.0


def look_at_clients(project: Path | None) -> Iterator[Decision]:
    """For each client: is it installed, does it have the plugin, does the server start, will its hooks run."""
    for name in CLIENTS:
        question = "Is this coding agent there?"
        if client_program(name) is None:
            yield finding(name, question, None, "not on PATH", f"only if you use it: {CLIENT_INSTALL[name]}")
            continue
        try:
            client = open_client(name)
            yield finding(name, question, True, client.version(), note=client.program)
            yield from _plugin(name, client, project)
        except AutoscirubError as error:
            yield finding(name, question, None, "could not be asked", str(error))


def _how_to_install(name: ClientName) -> str:
    try:
        refuse_unstartable()
    except ClientError as error:  # it would refuse, and say this
        return f"only if you want it; first: {error}"
    return f"only if you want it: autoscirub install {name}"


def _plugin(name: ClientName, client: Client, project: Path | None) -> Iterator[Decision]:
    plugins = client.plugins(project)
    ours = [one for one in plugins if one.id == PLUGIN_ID]
    others = others_of_this_name(plugins)
    question = "Is no other plugin of the same name in the way?"
    if others:
        how = f"{others[0].id} has the same name; uninstall or disable one of the two"
        yield finding(f"{name}: other plugin", question, False if ours else None, others[0].id, how)
    question = "Does it have the plugin: skills, tools and hooks?"
    if not ours:
        yield finding(
            f"{name}: plugin",
            question,
            None,
            "not installed",
            _how_to_install(name),
        )
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
    yield _as_installed(name, client, question, on[0].scope)
    yield _server(name, client, project)
    if name == "codex":
        yield _hooks(client)


def _as_installed(name: ClientName, client: Client, question: str, scope: str) -> Decision:
    """Whether the plugin that the client has is what this version installs, by its files."""
    place = place_of(name)
    folder = client.copy_of_plugin() or (folder_of(place) if place is not None else None)
    if folder is None:
        return finding(
            f"{name}: plugin",
            question,
            None,
            f"installed ({scope})",
            "its files were not found, so they are not compared",
        )
    if same_files(folder, plugin_files()):
        return finding(f"{name}: plugin", question, True, f"installed ({scope})")
    how = f"{folder} is not what this version installs; to bring it up to date: autoscirub install {name}"
    return finding(
        f"{name}: plugin", question, None, f"installed ({scope}), and another version's or changed", how
    )


def _server(name: ClientName, client: Client, project: Path | None) -> Decision:
    question = "Does the server that it would start really start?"
    command = client.server(project)
    again = f"to write it again: autoscirub install {name}"
    if not command:
        return finding(
            f"{name}: server", question, False, "none", f"{name} names no server for the plugin; {again}"
        )
    place = place_of(name)
    if place is not None and not folder_of(place).is_dir() and client.copy_of_plugin() is None:
        return finding(
            f"{name}: server",
            question,
            False,
            "its folder is gone",
            f"{folder_of(place)} is missing; {again}",
        )
    command_line = " ".join(command)
    if command not in _ours(place):
        # An unknown program is not run just because somebody runs `doctor`.
        how = f"it would start another program than install writes, which is not tried here; {again}"
        return finding(f"{name}: server", question, False, "another program", how, note=command_line)
    problem = server_problem(command)
    if problem is not None:
        return finding(
            f"{name}: server", question, False, "does not start", problem, again, note=command_line
        )
    return finding(f"{name}: server", question, True, "starts and answers", note=command_line)


def _ours(place: Path | None) -> list[tuple[str, ...] | None]:
    """The commands of the server that are ours: what install writes, what it wrote, and what a checkout has."""
    known: list[tuple[str, ...] | None] = [server_command(), ("autoscirub", "serve")]
    if place is not None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            written = json.loads((folder_of(place) / ".mcp.json").read_bytes())
            known.append(command_of(written["mcpServers"][PLUGIN]))
    return known


def server_problem(command: Sequence[str], seconds: float = _START_SECONDS) -> str | None:
    """Start the server as a client would, ask it to initialize, and end it. None where it answers as it should.

    It gets only the environment that Codex passes on, and starts in an empty folder, which is nobody's project.
    """
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
    with tempfile.TemporaryDirectory(prefix="autoscirub-doctor-") as folder:
        try:
            result = ask_lines(command, [asked], cwd=Path(folder), environment=passed_on(), seconds=seconds)
        except ClientError as error:
            return str(error)
    return (
        None
        if "serverInfo" in result
        else f"it answered {str(result)[:200]}, which is no answer to initialize"
    )


def _hooks(client: Client) -> Decision:
    from autoscirub.setup.clients import HOOKS_HOW, Codex

    question = "Will it run the plugin's hooks?"
    assert isinstance(client, Codex)  # noqa: S101 - no other client asks for trust
    try:
        states = client.hooks()
    except (ClientError, OSError) as error:
        return finding("codex: hooks", question, None, "could not be asked", str(error), HOOKS_HOW)
    trusted = [state for state in states if state == "trusted"]
    if states and len(trusted) == len(states):
        note = "an install of another version, and any change of its files, takes the trust away"
        return finding("codex: hooks", question, True, f"all {len(states)} trusted", note=note)
    how = f"it skips hooks that are not trusted, and says nothing about it; {HOOKS_HOW}"
    return finding("codex: hooks", question, None, f"{len(trusted)} of {len(states)} trusted", how)
