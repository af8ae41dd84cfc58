"""Who judged and who wrote, by model family: a model tends to be lenient with what its own family wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CLIENTS: Mapping[str, str] = {"claude": "Claude", "codex": "GPT"}
"""A client -> the family that it runs, unless its user has set up another one."""
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("claude", "Claude"),
    (r"gpt|codex|o[134](?![a-z0-9])", "GPT"),
    ("gemini|gemma", "Gemini"),
    ("llama", "Llama"),
    ("qwen|qwq", "Qwen"),
    ("deepseek", "DeepSeek"),
    ("mistral|mixtral|ministral|magistral|codestral|devstral", "Mistral"),
    ("grok", "Grok"),
    ("glm", "GLM"),
    ("kimi", "Kimi"),
    ("phi", "Phi"),
)
"""How a model of a family is called -> the family. The first that fits: a distilled model is of both."""


def model_family(model: str) -> str | None:
    """The family of a model by its name, such as `us.anthropic.claude-x` or `Qwen/Qwen3-32B`; None: not known."""
    name = model.casefold()
    return next(
        (family for called, family in _FAMILIES if re.search(rf"(?<![a-z0-9])(?:{called})", name)), None
    )


def families_line(
    judges: Iterable[tuple[str, str | None]], clients: Iterable[str], programs: Iterable[str]
) -> str:
    """`judged by Claude (claude-x), revised by Claude (claude): judged by the family that wrote it`.

    `judges`: the backend of each verdict, and the model that answered, or that was asked for. `clients` and `programs`
    revised. Empty where nobody judged.
    """
    judged = {
        model or backend: (model_family(model) if model else _CLIENTS.get(backend))
        for backend, model in judges
    }
    if not judged:
        return ""
    wrote = dict.fromkeys(programs) | {client: _CLIENTS.get(client) for client in clients}
    line = f"judged by {_listed(judged)}, " + (
        f"revised by {_listed(wrote)}" if wrote else "and who wrote the work is not recorded"
    )
    same = {family for family in judged.values() if family} & set(wrote.values())
    return f"{line}: judged by the family that wrote it" if same else line


def _listed(names: Mapping[str, str | None]) -> str:
    return ", ".join(f"{family or 'an unknown family'} ({name})" for name, family in sorted(names.items()))
