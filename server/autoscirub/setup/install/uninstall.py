"""`uninstall`: reverts what `install` did for a client, and nothing else."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autoscirub.errors import ClientError
from autoscirub.models import Answer, ClientChange, ClientSetup, Decision, Evidence, now
from autoscirub.setup.clients import MARKETPLACE, PLUGIN_ID, open_client, render_command
from autoscirub.setup.install.plan import folder_of, others_of_this_name, place_of, same_place
from autoscirub.setup.install.saved_settings import put_back, saved_settings
from autoscirub.store import held

if TYPE_CHECKING:
    from autoscirub.models import ClientName
    from autoscirub.setup.clients import Client, Plugin


@dataclass
class Removal:
    """A planned removal: `view` describes it, `carry_out` does it."""

    client: Client
    place: Path | None
    view: ClientSetup
    entries: list[Plugin] = field(default_factory=list)
    marketplace: bool = False

    @property
    def nothing_to_do(self) -> bool:
        """Whether nothing of it is there."""
        return not self.view.changes

    def carry_out(self) -> ClientSetup:
        """Do it, and check that it is gone. Raises ClientError, naming what is left, where it is not."""
        if self.place is None or self.nothing_to_do:
            self.view.done = True
            return self.view
        self.place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with held(self.place.parent / f".{self.client.name}.lock"):
            for entry in self.entries:
                self.client.tell(self.client.uninstall(entry.scope), _folder(entry))
            if self.marketplace:
                self.client.tell(self.client.remove_marketplace())
            self._refuse_what_is_left()
            self.view.notes += put_back(self.place)
            shutil.rmtree(self.place, ignore_errors=True)
        if self.place.exists():
            raise ClientError(
                f"{self.place}: cannot be removed; {self.client.name} no longer loads it, so remove it yourself"
            )
        with contextlib.suppress(OSError):
            (self.place.parent / f".{self.client.name}.lock").unlink()
            self.place.parent.rmdir()
        self.view.done = True
        self.view.decision = Decision(
            subject=self.client.name,
            question="Is the plugin gone from the client?",
            answer=Answer.HOLDS,
            word="uninstalled",
            evidence=[Evidence(note=change.what) for change in self.view.changes],
            at=now(),
        )
        return self.view

    def _refuse_what_is_left(self) -> None:
        name = self.client.name
        for entry in self.entries:
            left = self.client.plugins(_folder(entry))
            if (entry.id, entry.scope, entry.project) in [(one.id, one.scope, one.project) for one in left]:
                raise ClientError(
                    f"{name} was told to remove {PLUGIN_ID}, and still lists it; look at: {name} plugin list"
                )
        if self.marketplace and MARKETPLACE in self.client.marketplaces():
            raise ClientError(
                f"{name} still has the marketplace {MARKETPLACE}; look at: {name} plugin marketplace list"
            )


def plan_uninstall(name: ClientName) -> Removal:
    """Find what `install` left, for the user and in every project. Changes nothing.

    A plugin or a marketplace of the same name from elsewhere is not ours to remove, and is only named.
    """
    client = open_client(name)
    place = place_of(name)
    folder = None if place is None else folder_of(place)
    view = ClientSetup(name, client.program, client.version(), str(folder or ""), scope="all")
    plan = Removal(client, place, view)
    plugins, markets = client.plugins(), client.marketplaces()
    source = markets.get(MARKETPLACE)
    ours = folder is not None and (source is None or same_place(source, folder))
    mine = [one for one in plugins if one.id == PLUGIN_ID]
    if place is not None and ours:
        for one in mine:
            if one.project is not None and not Path(one.project).is_dir():
                view.notes.append(f"{one.project}: is no longer there, so nothing is taken back in it")
                continue
            plan.entries.append(one)
            where = f"in {one.project}" if one.project else ""
            view.changes.append(
                ClientChange("run", render_command(client, client.uninstall(one.scope)), where)
            )
        plan.marketplace = source is not None
        if plan.marketplace:
            view.changes.append(ClientChange("run", render_command(client, client.remove_marketplace())))
        if place.is_dir():
            view.changes.append(ClientChange("remove", str(place)))
            for path in saved_settings(place):
                view.changes.append(
                    ClientChange(
                        "change", str(path), "as it was before, where nothing else was changed since"
                    )
                )
    elif mine or source is not None:
        view.notes.append(f"{PLUGIN_ID} comes from {source}, not from `autoscirub install`; it stays")
    view.notes += [
        f"{one.id}: another plugin of the same name; it stays" for one in others_of_this_name(plugins)
    ]
    return plan


def _folder(entry: Plugin) -> Path | None:
    return Path(entry.project) if entry.project else None
