"""Floor 1: where state lives and how it is kept. Each part loads when it is used first: a client waits for its hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoscirub.store.config import CONFIG_NAMES, LoadedConfig, load_config
    from autoscirub.store.files import (
        describe_kind,
        leads_out,
        read_regular,
        regular_chunks,
        sha256_bytes,
        sha256_file,
        write_atomic,
    )
    from autoscirub.store.history import History, HistoryCommit
    from autoscirub.store.history_repository import path_problem
    from autoscirub.store.policy import LoadedPolicy, apply_policy, load_policy
    from autoscirub.store.project import Project, open_project
    from autoscirub.store.project_git import ask_ignored, ignored_paths, project_head, repository_top
    from autoscirub.store.resolving import DEFAULT_STATE_DIR, Location, resolve
    from autoscirub.store.session import Session, refuse_moved
    from autoscirub.store.state import ASIDE_MARK, CORRUPT_MARK, StateStore, decode, json_path
    from autoscirub.store.strictjson import JsonFault, line_of, lines_of, parse
    from autoscirub.store.tables import read_toml
    from autoscirub.store.tomllines import toml_strings
    from autoscirub.store.trust import TrustView, grant_trust, is_trusted, trust_view
    from autoscirub.store.userdata import DATA_DIR_VARIABLE, held, user_data_dir, user_data_path

__all__ = [
    "ASIDE_MARK",
    "CONFIG_NAMES",
    "CORRUPT_MARK",
    "DATA_DIR_VARIABLE",
    "DEFAULT_STATE_DIR",
    "History",
    "HistoryCommit",
    "JsonFault",
    "LoadedConfig",
    "LoadedPolicy",
    "Location",
    "Project",
    "Session",
    "StateStore",
    "TrustView",
    "apply_policy",
    "ask_ignored",
    "decode",
    "describe_kind",
    "grant_trust",
    "held",
    "ignored_paths",
    "is_trusted",
    "json_path",
    "leads_out",
    "line_of",
    "lines_of",
    "load_config",
    "load_policy",
    "open_project",
    "parse",
    "path_problem",
    "project_head",
    "read_regular",
    "read_toml",
    "refuse_moved",
    "regular_chunks",
    "repository_top",
    "resolve",
    "sha256_bytes",
    "sha256_file",
    "toml_strings",
    "trust_view",
    "user_data_dir",
    "user_data_path",
    "write_atomic",
]

_PARTS = {
    **dict.fromkeys(
        (
            "CONFIG_NAMES",
            "LoadedConfig",
            "load_config",
        ),
        "config",
    ),
    **dict.fromkeys(
        (
            "describe_kind",
            "leads_out",
            "read_regular",
            "regular_chunks",
            "sha256_bytes",
            "sha256_file",
            "write_atomic",
        ),
        "files",
    ),
    **dict.fromkeys(
        (
            "History",
            "HistoryCommit",
        ),
        "history",
    ),
    **dict.fromkeys(("path_problem",), "history_repository"),
    **dict.fromkeys(
        (
            "LoadedPolicy",
            "apply_policy",
            "load_policy",
        ),
        "policy",
    ),
    **dict.fromkeys(
        (
            "Project",
            "open_project",
        ),
        "project",
    ),
    **dict.fromkeys(
        (
            "ask_ignored",
            "ignored_paths",
            "project_head",
            "repository_top",
        ),
        "project_git",
    ),
    **dict.fromkeys(
        (
            "DEFAULT_STATE_DIR",
            "Location",
            "resolve",
        ),
        "resolving",
    ),
    **dict.fromkeys(
        (
            "Session",
            "refuse_moved",
        ),
        "session",
    ),
    **dict.fromkeys(
        (
            "ASIDE_MARK",
            "CORRUPT_MARK",
            "StateStore",
            "decode",
            "json_path",
        ),
        "state",
    ),
    **dict.fromkeys(
        (
            "JsonFault",
            "line_of",
            "lines_of",
            "parse",
        ),
        "strictjson",
    ),
    **dict.fromkeys(("read_toml",), "tables"),
    **dict.fromkeys(("toml_strings",), "tomllines"),
    **dict.fromkeys(
        (
            "TrustView",
            "grant_trust",
            "is_trusted",
            "trust_view",
        ),
        "trust",
    ),
    **dict.fromkeys(
        (
            "DATA_DIR_VARIABLE",
            "held",
            "user_data_dir",
            "user_data_path",
        ),
        "userdata",
    ),
}


if not TYPE_CHECKING:  # or a type checker would take any name for one of ours
    from autoscirub.parts import loads

    __getattr__ = loads(
        __name__, {name: f"autoscirub.store.{part}" for name, part in _PARTS.items()}, globals()
    )
