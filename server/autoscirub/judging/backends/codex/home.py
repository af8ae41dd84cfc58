"""Lays a fresh home for one run of Codex: the user's login and model provider, and nothing else of theirs.

What else would steer a run is found through CODEX_HOME: AGENTS.md, skills, MCP servers, hooks, memories, rules. The
login is linked, not copied: Codex renews its tokens in that file, and the user's would be void afterwards.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ClientError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OWN_KEYS = ("model", "model_provider", "openai_base_url", "chatgpt_base_url")
_KEY_VARIABLES = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN")
_ALWAYS: dict[str, Any] = {
    "approval_policy": "never",
    "web_search": "disabled",
    "project_doc_max_bytes": 0,
    **dict.fromkeys(
        (
            *("analytics.enabled", "check_for_update_on_startup", "skills.bundled.enabled"),
            *("features.apps", "features.plugins", "features.hooks", "features.memories", "features.goals"),
            *("features.daemon_auto_start", "features.image_generation", "features.tool_suggest"),
            "features.unbounded_connection_retries",  # else a server that is not there is waited for without end
        ),
        False,
    ),
}


def lay_codex_home(home: Path, settings: Mapping[str, Any], *, model: str | None = None) -> None:
    """Make the folder `home` for a run with `settings`, whose keys are those of Codex's config.toml, dotted.

    `model` goes before the user's own. Raises ClientError where there is no login, or the user's config.toml is broken.
    """
    own = own_provider(model)
    home.mkdir(mode=0o700)
    login = _own_home() / "auth.json"
    if login.is_file():
        (home / "auth.json").symlink_to(login.resolve())
    elif _needs_login(own) and not any(os.environ.get(name) for name in _KEY_VARIABLES):
        raise ClientError(
            f"not logged in: there is no {login}; run `codex login` (a login in the system's keyring cannot be passed "
            'on: set cli_auth_credentials_store = "file" before it), or set CODEX_API_KEY'
        )
    lines = [f"{key} = {value}\n" for key, value in _toml({**own, **_ALWAYS, **settings})]
    (home / "config.toml").write_text("".join(lines), encoding="utf-8")


def own_provider(model: str | None) -> dict[str, Any]:
    """The model and its provider, as the user's config.toml has them. Raises ClientError where it cannot be read."""
    path = _own_home() / "config.toml"
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as cause:
        raise ClientError(f"{path} cannot be read: {cause}; correct it") from None
    own = {key: config[key] for key in _OWN_KEYS if isinstance(config.get(key), str)}
    name, providers = own.get("model_provider"), config.get("model_providers")
    if isinstance(providers, dict) and isinstance(providers.get(name), dict):
        own["model_providers"] = {name: providers[name]}
    return own | ({"model": model} if model else {})


def _own_home() -> Path:
    named = os.environ.get("CODEX_HOME", "")
    return Path(named) if named else Path(os.path.expanduser("~")) / ".codex"  # noqa: PTH111 - no home must not raise


def _needs_login(own: Mapping[str, Any]) -> bool:
    """Whether the provider takes Codex's own login: OpenAI does, and one that says so. Others have their own keys."""
    name = own.get("model_provider", "openai")
    return (
        name == "openai" or own.get("model_providers", {}).get(name, {}).get("requires_openai_auth") is True
    )


def _toml(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Each value with its dotted key. JSON's strings, numbers and arrays of these are TOML's too."""
    for key, value in table.items():
        dotted = f"{above}{json.dumps(key)}" if above else key
        if isinstance(value, dict):
            yield from _toml(value, f"{dotted}.")
        else:
            yield dotted, json.dumps(value, ensure_ascii=False)
