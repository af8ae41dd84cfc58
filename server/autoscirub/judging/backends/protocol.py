"""The interface of a judge backend: implement `Backend` and register a factory to add one.

In a package's `pyproject.toml`:

    [project.entry-points."autoscirub.judges"]
    oracle = "my_package.judge:open_oracle"

and in the module: `def open_oracle(config: JudgeConfig, project_root: Path, trusted: bool) -> Backend`. Then
`judge.backend = "oracle"` asks it. docs/judging.md has the details.
"""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from autoscirub.models import JudgeReply, JudgeRequest

_SO_FAR: ContextVar[list[str] | None] = ContextVar("so_far", default=None)


@runtime_checkable
class Backend(Protocol):
    """A judge. It runs in the caller's event loop: what blocks, blocks everything, and no limit can help.

    Every failure is a `JudgeError` that says what happened and what to do, with what came in its `raw`. Any other
    exception is treated as one, but says less. The limits of a request are enforced from outside, whatever it does.
    """

    name: str

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Ask one question, and return the reply unparsed.

        Called several times at once, for the members of a panel too; no member may see another's reply. Cancelled
        when `request.seconds` are over: end what was started, call `keep_so_far` with the output so far, and re-raise.
        """
        ...

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:
        """Ask once more, because `reply` could not be read, for the reasons in `faults`.

        A backend without a conversation does `return await self.ask(with_faults(request, faults))`.
        """
        ...

    def settings(self) -> dict[str, Any]:
        """What a verdict depends on besides the question, as JSON data: name, model, digest of what runs, options.

        Part of a verdict's key: when it changes, earlier questions are asked again. It must hold no time and no secret.
        """
        ...

    def price(self, request: JudgeRequest) -> float | None:
        """What this answer should cost, in US dollars; None: unknown. 0 only where it really is free."""
        ...


class AskedPerson(Protocol):
    """What a backend offers as its attribute `person` where a person answers, in front of this very process.

    They are asked one question at a time and without a time limit, a question that they leave was not asked, and each
    answer is recorded as soon as it is there.
    """

    def away(self) -> str:
        """Why nobody can be asked now; empty where somebody can."""
        ...

    def progress(self, done: int, total: int) -> None:
        """How many questions are answered, before the next one is asked, and of how many."""
        ...


def person_of(backend: Backend | None) -> AskedPerson | None:
    """The person whom a backend asks; None for any other judge."""
    person: AskedPerson | None = getattr(backend, "person", None)
    return person


def with_faults(request: JudgeRequest, faults: str) -> JudgeRequest:
    """The question again, with what is asked about the first reply: a new question, with a new digest.

    The first reply itself is not repeated: what it took from the files would come back as our own words. The answer
    may also say whether that reply is `confirmed`.
    """
    text = f"{request.prompt}\n\nYou were asked this before, and replied.\n{faults}"
    digest = hashlib.sha256(f"{request.prompt_digest}\n{faults}".encode()).hexdigest()
    schema = request.answer_schema
    if properties := schema.get("properties"):
        # Null where it does not apply: a strict schema must require every key.
        properties = {**properties, "confirmed": {"type": ["boolean", "null"]}}
        schema = {**schema, "properties": properties, "required": list(properties)}
    return request.model_copy(update={"prompt": text, "prompt_digest": digest, "answer_schema": schema})


def keep_so_far(text: str) -> None:
    """For a backend that is being cut off: save its output so far in the error's `raw`."""
    if (collected := _SO_FAR.get()) is not None:
        collected.append(text)


def collect_so_far() -> list[str]:
    """The list that `keep_so_far` appends to, for everything called from here on in this task."""
    collected: list[str] = []
    _SO_FAR.set(collected)
    return collected
