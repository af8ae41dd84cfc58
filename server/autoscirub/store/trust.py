"""Which programs a project's files would run on this machine, and whether that was allowed here."""

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
SENDS_FILES = {
    "claude": "Anthropic, or whom your Claude Code is set up to use",
    "codex": "OpenAI, or whom your Codex is set up to use",
    "openai": "the server at judge.base_url",
}
"""Judges that send what they are shown to somebody, with this user's login or key, and to whom."""


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
        # Its access to variables and the network is part of what is allowed.
        if config.run.env:
            programs["run.env"] = list(config.run.env)
        if config.run.network:
            programs["run.network"] = ["allowed"]
    if config.rounds.revise:
        programs["rounds.revise"] = list(config.rounds.revise)
    # Even when the backend does not use it today: one changed word in the same file would start it.
    if config.judge.command:
        programs["judge.command"] = list(config.judge.command)
    # A stranger's file must not spend this user's money, nor send a key of theirs to an address of its choice.
    if config.judge.backend in SENDS_FILES:
        judge = config.judge
        programs["judge"] = [
            word for word in (judge.backend, judge.model, judge.base_url, judge.key_env) if word
        ]
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

    Raises TrustError when `digest` is not what would run now, or when there is nowhere to store it.
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
        earlier = places if isinstance(places, dict) else {}
        return {**data, "granted": {**granted, digest: {**earlier, project: entry}}}

    update_user_json(_FILE, add)


def _granted(data: dict[str, Any]) -> dict[str, Any]:
    granted = data.get("granted")
    return granted if isinstance(granted, dict) else {}
