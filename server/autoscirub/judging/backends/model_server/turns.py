"""What a model answered in one turn, and how its parts are read: calls, texts, counts, why it stopped.

A server may be anybody's, and leave out or misspell what its format asks for: what can be forgiven is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autoscirub.store import JsonFault, parse


@dataclass(frozen=True)
class ModelCall:
    """A call of a tool, as the model made it; `arguments` is None where they are no JSON object, for `fault`."""

    identity: str
    name: str
    arguments: dict[str, Any] | None
    fault: str = ""


@dataclass(frozen=True)
class ModelTurn:
    """What a model answered: calls, or a text. `ended` says why it is no whole answer."""

    text: str = ""
    calls: list[ModelCall] = field(default_factory=list)
    ended: str = ""
    cut_off: bool = False
    """Whether it ended because no more tokens were allowed."""
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def call_of(identity: Any, name: Any, arguments: Any, number: int) -> ModelCall:
    """A call out of an answer. `number` makes an id where the server gives none."""
    identity = identity if isinstance(identity, str) and identity else f"call_{number}"
    try:
        value = (
            parse(arguments.encode(errors="replace"))
            if isinstance(arguments, str) and arguments
            else arguments
        )
    except JsonFault as fault:
        return ModelCall(identity, str(name)[:100], None, f"the arguments are no JSON: {fault}")
    if value in (None, ""):
        value = {}
    if not isinstance(value, dict):
        return ModelCall(identity, str(name)[:100], None, "the arguments must be a JSON object")
    return ModelCall(identity, str(name)[:100], value)


def text_of(content: Any) -> str:
    """The text of a message, which is a text or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def stopped(why: Any) -> str:
    """What a reason to stop means, where it means that the answer is not whole; empty for all others."""
    return {
        "length": "it wrote as many tokens as one answer may have; raise the server's limit, or its context",
        "max_output_tokens": "it wrote as many tokens as one answer may have; raise the server's limit",
        "content_filter": "a content filter of the server stopped it",
        "error": "the server says that it failed in the middle",
    }.get(why if isinstance(why, str) else "", "")


def problem_of(data: Any) -> str:
    """What an answer says about its error."""
    error = data.get("error")
    found = error.get("message") if isinstance(error, dict) else error
    return str(found or "it does not say why")


def tokens_of(data: Any, *names: str) -> list[int | None]:
    """The counts of these names; None for what was not reported."""
    usage = data.get("usage") or {}
    counts = [usage.get(name) for name in names]
    return [count if isinstance(count, int) and not isinstance(count, bool) else None for count in counts]


def model_of(data: Any) -> str | None:
    """The model that an answer names."""
    model = data.get("model")
    return model if isinstance(model, str) and model else None
