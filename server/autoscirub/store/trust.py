"""What a project's files would have this machine run, and whether that was allowed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoscirub.errors import TrustError
from autoscirub.models import now, strict_json
from autoscirub.store.files import sha256_bytes
from autoscirub.store.userdata import read_user_json, update_user_json

if TYPE_CHECKING:
    from autoscirub.models import ProjectConfig

_FILE = "trust.json"


@dataclass(frozen=True)
class TrustView:
    """The programs that a project's files name, and the digest over exactly those. No programs, no digest."""

    programs: dict[str, list[str]]
    digest: str | None


def trust_view(config: ProjectConfig) -> TrustView:
    """Everything in the configuration that names a program, by the key that names it."""
    programs: dict[str, list[str]] = {}
    if config.run:
        programs["run.command"] = list(config.run.command)
        # What it may see and reach is part of what is allowed.
        if config.run.env:
            programs["run.env"] = list(config.run.env)
        if config.run.network:
            programs["run.network"] = ["allowed"]
    if config.rounds.revise:
        programs["rounds.revise"] = list(config.rounds.revise)
    # Named is enough: a backend that does not use it today would start it after one more word in the same file.
    if config.judge.command:
        programs["judge.command"] = list(config.judge.command)
    if not programs:
        return TrustView({}, None)
    return TrustView(programs, sha256_bytes(strict_json(programs, indent=None).encode()))


def is_trusted(view: TrustView, project: str) -> bool:
    """Whether exactly these programs were allowed on this machine, in this project's folder.

    The folder counts: `python3 run.py` is another program in another place.
    """
    granted = _granted(read_user_json(_FILE)).get(view.digest or "")
    return isinstance(granted, dict) and project in granted


def grant_trust(view: TrustView, digest: str, *, by: str, project: str) -> None:
    """Allow exactly what has `digest` on this machine, in the folder `project`.

    Raises TrustError when `digest` is not what would run now, or when there is nowhere to keep it.
    """
    if view.digest is None:
        raise TrustError("trust: the project's files name no program, so there is nothing to allow")
    if digest != view.digest:
        raise TrustError(
            f"trust: --digest {digest} is not what would run, which is {view.digest}; "
            "look at `autoscirub trust` again before accepting it"
        )

    def add(data: dict[str, Any]) -> dict[str, Any]:
        granted = _granted(data)
        places = granted.get(digest)
        entry = {"at": now(), "by": by, "programs": view.programs}
        kept = places if isinstance(places, dict) else {}
        return {**data, "granted": {**granted, digest: {**kept, project: entry}}}

    update_user_json(_FILE, add)


def _granted(data: dict[str, Any]) -> dict[str, Any]:
    granted = data.get("granted")
    return granted if isinstance(granted, dict) else {}
