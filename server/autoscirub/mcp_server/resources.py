"""Serves state files, rounds, schemas and skills as resources, as they are, and nothing else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import mcp_types as types
from mcp import MCPError

from autoscirub.data import data_dir, load_layout
from autoscirub.errors import AutoscirubError
from autoscirub.store import JsonFault, parse, read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from autoscirub.mcp_server.projects import ServedProjects

_LIMIT = 4 * 1024 * 1024
_JSON, _MARKDOWN, _TEXT = "application/json", "text/markdown", "text/plain"
_NOT_FOUND = -32002
_ROUND_FILES = ("verification.json", "revision_plan.json", "change_summary.json")

TEMPLATES = [
    types.ResourceTemplate(
        name="state",
        uri_template="autoscirub://state/{+file}",
        description="A file of the state directory, as it lies there.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        name="round",
        uri_template="autoscirub://rounds/{n}",
        description="A round: its verification, its plan, and what was changed.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        name="schema",
        uri_template="autoscirub://schemas/{name}",
        description="The JSON Schema of a state file, such as executable_rubric.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        name="skill",
        uri_template="autoscirub://skills/{name}",
        description="A skill: one step of the work, and how to do it.",
        mime_type=_MARKDOWN,
    ),
]


def listed(places: ServedProjects) -> list[types.Resource]:
    """The schemas, the skills, and the state files that there are."""
    found = [
        types.Resource(
            name=name,
            uri=f"autoscirub://schemas/{name}",
            mime_type=_JSON,
            description=f"The shape of {name}.",
        )
        for name in _schemas()
    ]
    found += [
        types.Resource(
            name=name,
            uri=f"autoscirub://skills/{name}",
            mime_type=_MARKDOWN,
            description=f"The skill {name}.",
        )
        for name in skill_names()
    ]
    try:
        state_dir = places.of(None, None).state_dir
    except AutoscirubError:
        return found
    for entry in load_layout().file:
        path = state_dir / entry.path
        if entry.where == "state" and entry.commit and path.is_file() and _is_text(entry.path):
            found.append(
                types.Resource(
                    name=entry.path,
                    uri=f"autoscirub://state/{entry.path}",
                    mime_type=_mime(entry.path),
                    description=entry.what,
                )
            )
    return found


def read(places: ServedProjects, uri: str) -> types.ReadResourceResult:
    """One resource. Raises MCPError, naming what there is, for any other."""
    matched = re.fullmatch(r"autoscirub://(state|rounds|schemas|skills)/(.+)", uri)
    try:
        if matched is None:
            raise _missing(uri, "autoscirub://state/FILE, rounds/N, schemas/NAME and skills/NAME")
        kind, name = matched.group(1), unquote(matched.group(2))
        text, mime = {"state": _state, "rounds": _round, "schemas": _schema, "skills": _skill}[kind](
            places, uri, name
        )
    except AutoscirubError as error:
        raise MCPError(_NOT_FOUND, str(error)) from None
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=mime)])


def skill_text(name: str) -> str | None:
    """A skill's SKILL.md; None when there is none of that name."""
    if name not in skill_names():
        return None
    return (data_dir("skills") / name / "SKILL.md").read_text(encoding="utf-8")


def skill_names() -> list[str]:
    """The skills that ship."""
    try:
        return sorted(path.parent.name for path in data_dir("skills").glob("*/SKILL.md"))
    except AutoscirubError:
        return []


def _state(places: ServedProjects, uri: str, name: str) -> tuple[str, str]:
    state_dir = places.of(None, None).state_dir
    layout = load_layout()
    entry = layout.find(name) if not _leaves(name) else None
    if entry is None or not entry.commit or not _is_text(name):
        raise _missing(uri, "the state files that docs/state.md lists")
    return _text(state_dir, name, uri), _mime(name)


def _round(places: ServedProjects, uri: str, name: str) -> tuple[str, str]:
    state_dir = places.of(None, None).state_dir
    if not re.fullmatch(r"[1-9][0-9]{0,5}", name):
        raise _missing(uri, "a round by its number")
    folder = f"revisions/round-{int(name):03}"
    parts = {}
    for file in _ROUND_FILES:
        data = read_regular(state_dir / folder / file, limit=_LIMIT, within=state_dir)
        if data is None:
            continue
        try:
            parts[file.removesuffix(".json")] = parse(data)
        except JsonFault as fault:
            raise MCPError(_NOT_FOUND, f"{folder}/{file}: {fault}") from None
    if not parts:
        raise _missing(uri, "the rounds below revisions/ in the state directory")
    return json.dumps(parts, ensure_ascii=False, indent=1), _JSON


def _schema(_places: ServedProjects, uri: str, name: str) -> tuple[str, str]:
    if name not in _schemas():
        raise _missing(uri, ", ".join(_schemas()))
    return (data_dir("schemas") / f"{name}.schema.json").read_text(encoding="utf-8"), _JSON


def _skill(_places: ServedProjects, uri: str, name: str) -> tuple[str, str]:
    text = skill_text(name)
    if text is None:
        raise _missing(uri, ", ".join(skill_names()) or "no skill")
    return text, _MARKDOWN


def _schemas() -> list[str]:
    return sorted(
        path.name.removesuffix(".schema.json") for path in data_dir("schemas").glob("*.schema.json")
    )


def _leaves(name: str) -> bool:
    return (
        name.startswith(("/", "\\"))
        or any(part in {"", ".", ".."} for part in name.split("/"))
        or "\0" in name
    )


def _is_text(name: str) -> bool:
    return name.endswith((".json", ".jsonl", ".toml", ".yaml", ".csv", ".lock"))


def _mime(name: str) -> str:
    return _JSON if name.endswith(".json") else _TEXT


def _text(folder: Path, name: str, uri: str) -> str:
    data = read_regular(folder / name, limit=_LIMIT, within=folder)
    if data is None:
        raise _missing(uri, "the files that are there; next() says where the project stands")
    return data.decode("utf-8", "replace")


def _missing(uri: str, there_is: str) -> MCPError:
    return MCPError(_NOT_FOUND, f"{uri[:300]}: there is no such resource; there is {there_is}")
