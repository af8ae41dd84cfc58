"""`install`: adds the plugin to a client; previewed first, checked afterwards, rolled back where a step fails."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, ClientError, ConfigError, StateError
from autoscirub.models import Answer, ClientChange, ClientSetup, Decision, Evidence, now
from autoscirub.setup.clients import MARKETPLACE, PLUGIN, PLUGIN_ID, open_client, render_command
from autoscirub.setup.install.folder import (
    lay_folder,
    passing_interpreter,
    plugin_files,
    refuse_unstartable,
    same_files,
    server_command,
)
from autoscirub.setup.install.saved_settings import keep_settings, put_back, saved_settings
from autoscirub.store import DATA_DIR_VARIABLE, held, open_project, user_data_dir, user_data_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.models import ClientName, Scope
    from autoscirub.setup.clients import Client, Plugin

_NOWHERE = (
    "there is no data directory of yours to keep the plugin in, or it cannot be written; "
    f"set {DATA_DIR_VARIABLE} to a folder that can"
)


def place_of(client: str) -> Path | None:
    """A client's folder in the user's data directory; None where there can be none. Creates nothing."""
    data = user_data_path()
    return None if data is None else data / "clients" / client


def folder_of(place: Path) -> Path:
    """Where the clean copy of the plugin lies in a client's folder."""
    return place / PLUGIN


def same_place(one: str, other: Path) -> bool:
    """Whether both lead to the same folder."""
    return os.path.realpath(one) == os.path.realpath(other)


def others_of_this_name(plugins: list[Plugin]) -> list[Plugin]:
    """Enabled plugins that are also called autoscirub but come from another marketplace."""
    return [one for one in plugins if one.name == PLUGIN and one.id != PLUGIN_ID and one.enabled]


@dataclass
class Installation:
    """A planned installation: `view` describes it, `carry_out` does it."""

    client: Client
    place: Path
    cwd: Path | None
    project: Path | None
    view: ClientSetup
    files: dict[str, bytes]
    lay: bool = False
    add: bool = False
    install: bool = False
    was_there: bool = False
    """Whether the plugin was installed for this scope before, so that a failure must not remove it."""
    undo: list[Callable[[], object]] = field(default_factory=list)

    @property
    def nothing_to_do(self) -> bool:
        """Whether all of it is there already."""
        return not (self.lay or self.add or self.install)

    def carry_out(self) -> ClientSetup:
        """Do it, and check that the client has it. If a step fails, roll everything back and raise."""
        if user_data_dir() is None:
            raise StateError(_NOWHERE)
        self.place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with held(self.place.parent / f".{self.client.name}.lock"):
            try:
                if not self.nothing_to_do:
                    self._do()
                self.view.decision = self._seen()
            except BaseException as error:
                left = self._take_back()
                if left and isinstance(error, AutoscirubError):
                    raise ClientError(f"{error}; taken back, but for: {'; '.join(left)}") from error
                raise
        self.view.done = True
        return self.view

    def _do(self) -> None:
        folder = folder_of(self.place)
        if not saved_settings(self.place):
            # Settings saved at an earlier install are for its uninstall to restore.
            self.undo.append(lambda: put_back(self.place))
        keep_settings(self.place, self.client.settings(self.project))
        if self.lay:
            aside = lay_folder(folder, self.files)
            self.undo.append(lambda: _swap_back(folder, aside))
        if self.add:
            self.client.tell(self.client.add_marketplace(folder), self.cwd)
            self.undo.append(lambda: self.client.tell(self.client.remove_marketplace(), self.cwd))
        if self.install:
            if not self.was_there:
                self.undo.append(lambda: self._uninstalled())
            self.client.tell(self.client.install(self.view.scope), self.cwd)

    def _uninstalled(self) -> None:
        if _entry(self.client.plugins(self.cwd), self.view.scope, self.project) is not None:
            self.client.tell(self.client.uninstall(self.view.scope), self.cwd)

    def _take_back(self) -> list[str]:
        left: list[str] = []
        for step in reversed(self.undo):
            try:
                step()
            except (AutoscirubError, OSError) as error:
                left.append(str(error))
        with contextlib.suppress(OSError):
            self.place.rmdir()
        return left

    def _seen(self) -> Decision:
        """Ask the client itself whether it has the plugin. Raises ClientError where it does not."""
        entry = _entry(self.client.plugins(self.cwd), self.view.scope, self.project)
        name = self.client.name
        if entry is None or not entry.enabled:
            state = "does not list it" if entry is None else "lists it as disabled"
            raise ClientError(
                f"{name} was told to install {PLUGIN_ID}, and {state}; look at: {name} plugin list"
            )
        server = self.client.server(self.cwd)
        if server != self.view.server:
            raise ClientError(
                f"{name} has the plugin, but starts its server as {' '.join(server or ('(not at all)',))}, expected "
                f"{self.view.server_command}; autoscirub uninstall {name} and install it again, or update {name}"
            )
        copy = self.client.copy_of_plugin()
        if copy is not None and not same_files(copy, self.files):
            raise ClientError(f"{copy}: is not what was installed; remove it and run this again")
        for aside in (*self.place.glob(".old-*"), *self.place.glob(".new-*")):
            shutil.rmtree(aside, ignore_errors=True)
        return Decision(
            subject=name,
            question="Does the client list the plugin, switched on, and start the server by its absolute path?",
            answer=Answer.HOLDS,
            word="installed",
            evidence=[Evidence(path=str(folder_of(self.place)), note=self.view.server_command)],
            at=now(),
        )


def plan_install(
    name: ClientName, *, scope: Scope | None = None, project: str | Path | None = None
) -> Installation:
    """Inspect the client and plan what installing would change. Changes nothing.

    Raises ClientError where it is not there, where something of the same name is in the way, or where the server could
    not be started; ConfigError for a scope that it does not have.
    """
    client = open_client(name)
    scope = scope or "user"
    if scope not in client.scopes:
        raise ConfigError(f"--scope {scope}: {name} keeps plugins for the user alone; leave --scope out")
    root = open_project(project).root if scope == "project" else None
    place = place_of(name)
    if place is None:
        raise StateError(_NOWHERE)
    refuse_unstartable()
    folder, files = folder_of(place), plugin_files()
    view = ClientSetup(name, client.program, client.version(), str(folder), scope, server_command())
    plan = Installation(client, place, root, root, view, files)
    plugins, markets = client.plugins(root), client.marketplaces()
    entry = _entry(plugins, scope, root)
    _refuse_what_is_in_the_way(client, plugins, markets, folder, plan)
    copy = client.copy_of_plugin()
    plan.lay = not same_files(folder, files)
    plan.add = MARKETPLACE not in markets
    plan.was_there = entry is not None
    stale = copy is not None and not same_files(copy, files)
    plan.install = entry is None or not entry.enabled or plan.add or stale
    if passing := passing_interpreter():
        view.notes.append(passing)
    _show(plan)
    return plan


def _refuse_what_is_in_the_way(
    client: Client, plugins: list[Plugin], markets: dict[str, str], folder: Path, plan: Installation
) -> None:
    name = client.name
    if others := others_of_this_name(plugins):
        other = others[0]
        remove = {
            "claude": f"claude plugin uninstall {other.id} --scope {other.scope}",
            "codex": f"codex plugin remove {other.id}",
        }[name]
        raise ClientError(
            f"{name} has another plugin of the same name: {other.id}. Two of that name, with skills of the same "
            f"names, lead an agent astray. To go on with this one: {remove}; nothing was changed"
        )
    source = markets.get(MARKETPLACE)
    if source is not None and not same_place(source, folder):
        raise ClientError(
            f"{name} has a marketplace named {MARKETPLACE} from {source}. To go on with this one: "
            f"{name} plugin marketplace remove {MARKETPLACE}; nothing was changed"
        )
    if name == "codex" and not any(one.id == PLUGIN_ID and one.enabled for one in plugins):
        server = client.server()
        if server is not None:
            raise ClientError(
                f"codex has an MCP server named {PLUGIN} of its own, {' '.join(server)}, which would stand over the "
                f"plugin's. To go on: codex mcp remove {PLUGIN}; nothing was changed"
            )
    if name == "codex":
        from autoscirub.setup.clients import HOOKS_HOW

        plan.view.notes.append(
            f"Codex runs no hook that you have not trusted, and says nothing of it. So: {HOOKS_HOW}"
        )
    if plan.view.scope == "project":
        plan.view.notes.append(
            "the project's .claude/settings.json then names the plugin for all who share it; they need their own "
            "`autoscirub install claude`"
        )


def _entry(plugins: list[Plugin], scope: str, project: Path | None) -> Plugin | None:
    for one in plugins:
        here = project is None or (one.project is not None and same_place(one.project, project))
        if one.id == PLUGIN_ID and one.scope == scope and here:
            return one
    return None


def _show(plan: Installation) -> None:
    view, client, folder = plan.view, plan.client, folder_of(plan.place)
    changes = view.changes
    if plan.lay:
        counts = f"{len(plan.files)} files: skills, hooks, and how the server is started"
        changes.append(ClientChange("replace" if folder.exists() else "make", str(folder), counts))
    if plan.add:
        changes.append(_run_change(client, client.add_marketplace(folder)))
    if plan.install:
        changes.append(_run_change(client, client.install(view.scope)))
    if plan.add or plan.install:
        keys = {"claude": "extraKnownMarketplaces, enabledPlugins", "codex": "[marketplaces], [plugins]"}[
            client.name
        ]
        for path in client.settings(plan.project):
            changes.append(
                ClientChange(
                    "change", str(path), f"{client.name} itself writes {keys}; a copy of before is kept"
                )
            )


def _run_change(client: Client, arguments: list[str]) -> ClientChange:
    return ClientChange("run", render_command(client, arguments))


def _swap_back(folder: Path, aside: Path | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if aside is not None:
        aside.rename(folder)
        with contextlib.suppress(OSError):
            aside.parent.rmdir()
