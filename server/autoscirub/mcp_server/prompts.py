"""Offers each skill as a prompt, for clients that offer prompts to people and know nothing of skills."""

from __future__ import annotations

import re

import mcp_types as types
from mcp import MCPError

from autoscirub.mcp_server.resources import skill_names, skill_text

_INVALID = -32602


def listed() -> list[types.Prompt]:
    """Every skill as a prompt, with the description that its front matter has."""
    return [types.Prompt(name=name, title=name, description=_description(name)) for name in skill_names()]


def got(name: str) -> types.GetPromptResult:
    """The skill's text, as the user's message. Raises MCPError for a name that is no skill's."""
    text = skill_text(name)
    if text is None:
        raise MCPError(
            _INVALID, f"there is no prompt {name[:100]!r}; there is {', '.join(skill_names()) or 'none'}"
        )
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=body.strip()))
    return types.GetPromptResult(description=_description(name), messages=[message])


def _description(name: str) -> str:
    import yaml

    text = skill_text(name) or ""
    matter = re.match(r"\A---\n(.*?)\n---\n", text, flags=re.DOTALL)
    values = yaml.safe_load(matter.group(1)) if matter else {}
    return str(values.get("description", name)) if isinstance(values, dict) else name
