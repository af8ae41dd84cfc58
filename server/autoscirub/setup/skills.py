"""`skills lint`: checks that every skill declares its tools, inputs and outputs, and that all of them exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autoscirub.data import data_dir, load_layout
from autoscirub.errors import ConfigError, StateError
from autoscirub.models import BUILT, TOOLSETS, Answer, Decision, Evidence, now
from autoscirub.store import leads_out, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autoscirub.models import Layout

FILE = "SKILL.md"
TOOLS_KEY, READS_KEY, WRITES_KEY = "autoscirub-tools", "autoscirub-reads", "autoscirub-writes"
"""Under `metadata`: names with a space between them."""

TOOL_WRITERS = {
    "next": "any",
    "write_state": "agent",
    "freeze": "freeze",
    "check": "check",
    "plan_round": "round",
    "verify_criterion": "criterion",
    "judge": "judge",
    "rerun": "rerun",
    "verify": "verify",
}
"""Tool -> the writer in `state/layout.toml` that it stands for; a tool that is not here writes no state file."""

_KEYS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
"""What the format knows at the top; a client may refuse others."""
_FORM = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION, _MOST_LINES = 64, 1024, 500
_LIMIT = 256 * 1024
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([a-z][a-z0-9_]*)(\([^`]*\))?`")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def skills_in(folder: Path | None = None) -> list[Path]:
    """The folders of the skills in `folder`, or of those that ship. Raises ConfigError where there is none."""
    root = folder or data_dir("skills")
    if not root.is_dir():
        raise ConfigError(f"{root}: is no folder; name the folder that holds the skills, a folder for each")
    found = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not found:
        raise ConfigError(
            f"{root}: holds no skill; each is a folder with a {FILE}, and the folder above is what to name"
        )
    return found


def describe_skills() -> dict[str, str]:
    """The name of each skill that ships, and its description."""
    found = {}
    for skill in skills_in():
        parts = _FORM.fullmatch((skill / FILE).read_text(encoding="utf-8"))
        head = _frontmatter(parts[1]) if parts else {}
        found[skill.name] = str(head.get("description", "")) if isinstance(head, dict) else ""
    return found


def lint_skills(folder: Path | None = None) -> list[Decision]:
    """A Decision for each skill, its faults in `open`. Writes and runs nothing."""
    layout = load_layout()
    return [_decided(skill, [*skill_faults(skill, layout)]) for skill in skills_in(folder)]


def _decided(skill: Path, faults: list[str]) -> Decision:
    return Decision(
        subject=skill.name,
        question="Is every tool and file that the skill names there, and is it in the format?",
        answer=Answer.DOES_NOT_HOLD if faults else Answer.HOLDS,
        word="faults" if faults else "in order",
        evidence=[Evidence(path=f"{skill.name}/{FILE}")],
        open=faults,
        at=now(),
    )


def skill_faults(skill: Path, layout: Layout) -> Iterator[str]:
    """The faults of one skill, each line saying where it is and what was expected."""
    try:
        data = read_regular(skill / FILE, limit=_LIMIT)
        text = None if data is None else data.decode("utf-8")
    except (StateError, UnicodeDecodeError) as error:
        yield f"{FILE}: cannot be read: {error}"
        return
    if text is None:
        yield f"{FILE}: is not there"
        return
    parts = _FORM.fullmatch(text)
    if parts is None:
        yield f"{FILE}: begins with no frontmatter, expected --- , keys, --- and then the text"
        return
    head = _frontmatter(parts[1])
    if isinstance(head, str):
        yield head
        return
    yield from _head_faults(skill.name, head)
    body = parts[2]
    if not body.strip():
        yield f"{FILE}: has no text after the frontmatter"
    if text.count("\n") > _MOST_LINES:
        yield f"{FILE}: {text.count(chr(10))} lines, expected at most {_MOST_LINES}"
    yield from _link_faults(skill, body)
    metadata = head.get("metadata")
    if isinstance(metadata, dict):
        yield from _named_faults(metadata, body, layout)


def _frontmatter(text: str) -> dict[str, Any] | str:
    import yaml

    try:
        head = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return f"frontmatter: is no YAML: {' '.join(str(error).split())}"
    return (
        head if isinstance(head, dict) else f"frontmatter: is {type(head).__name__}, expected keys and values"
    )


def _head_faults(folder: str, head: dict[str, Any]) -> Iterator[str]:
    for key in head:
        if key not in _KEYS:
            yield f"frontmatter: {key!r} is no key of the format, which has {', '.join(sorted(_KEYS))}"
    name = head.get("name")
    if name != folder:
        yield f"name: {name!r}, expected the folder's, {folder!r}"
    elif not _NAME.fullmatch(folder) or len(folder) > _LONGEST_NAME:
        yield f"name: {name!r}, expected lower-case words with hyphens, at most {_LONGEST_NAME} characters"
    description = head.get("description")
    if not isinstance(description, str) or not description.strip():
        yield "description: is missing; say what the skill does, and when to use it"
    elif len(description) > _LONGEST_DESCRIPTION:
        yield f"description: {len(description)} characters, expected at most {_LONGEST_DESCRIPTION}"
    metadata = head.get("metadata")
    if not isinstance(metadata, dict):
        yield f"metadata: is missing; it names {TOOLS_KEY}, {READS_KEY} and {WRITES_KEY}"
        return
    for key in (TOOLS_KEY, READS_KEY, WRITES_KEY):
        if not isinstance(metadata.get(key), str):
            yield f"metadata.{key}: is missing, expected names with a space between them"
    for key, value in metadata.items():
        if not isinstance(value, str):
            yield f"metadata.{key}: is {type(value).__name__}, expected text"


def _named_faults(metadata: dict[str, Any], body: str, layout: Layout) -> Iterator[str]:
    def named(key: str) -> list[str]:
        value = metadata.get(key)
        return value.split() if isinstance(value, str) else []

    known = {name for names in TOOLSETS.values() for name in names}
    tools = named(TOOLS_KEY)
    for tool in tools:
        if tool not in known:
            yield f"metadata.{TOOLS_KEY}: {tool!r} is no tool; there are {', '.join(sorted(BUILT))}"
        elif tool not in BUILT:
            yield f"metadata.{TOOLS_KEY}: this version has no tool {tool!r} yet"
    mentioned = {match[1]: bool(match[2]) for match in _CODE.finditer(_FENCE.sub("", body))}
    for word, called in mentioned.items():
        if called and word not in known:
            yield f"text: `{word}(…)` is no tool"
        elif word in known and word not in tools:
            yield f"text: names the tool `{word}`, which metadata.{TOOLS_KEY} does not"
    for tool in tools:
        if tool in known and tool not in mentioned:
            yield f"metadata.{TOOLS_KEY}: the text never says when to call `{tool}`"
    entries = {entry.path: entry for entry in layout.file}
    writers = {"agent", "any", *(TOOL_WRITERS[tool] for tool in tools if tool in TOOL_WRITERS)}
    for key in (READS_KEY, WRITES_KEY):
        for path in named(key):
            if path not in entries:
                yield f"metadata.{key}: {path!r} is no file of state/layout.toml"
            elif key == WRITES_KEY and not writers & {*entries[path].writer}:
                by = ", ".join(entries[path].writer)
                yield f"metadata.{key}: {path!r} is written by {by}, and by no tool of this skill"


def _link_faults(skill: Path, body: str) -> Iterator[str]:
    for target in _LINK.findall(_FENCE.sub("", body)):
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("#"):
            continue
        path = skill / target.partition("#")[0]
        if leads_out(path, skill):
            yield f"text: the link to {target} leaves the skill's folder, which is all that a client copies"
        elif not path.exists():
            yield f"text: the link to {target} leads to nothing"
