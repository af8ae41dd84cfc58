"""The `person` backend: whoever sits at the terminal answers, one question at a time, with a name that is recorded."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from autoscirub.judging.backends.person.dialogue import PersonDialogue
from autoscirub.judging.backends.person.terminal import own_terminal
from autoscirub.judging.backends.spend_limit import NotAsked
from autoscirub.models import JudgeReply, Usage

if TYPE_CHECKING:
    from autoscirub.judging.backends.person.terminal import PersonTerminal
    from autoscirub.judging.backends.protocol import AskedPerson
    from autoscirub.models import JudgeRequest

NOBODY = "waits for a person's verdict: `autoscirub judge` at a terminal asks for it"


class PersonBackend:
    """A person. Nothing runs and nothing is sent, so that no trust is needed."""

    name = "person"

    def __init__(self, terminal: PersonTerminal | None = None) -> None:
        self._terminal = terminal or own_terminal()
        self._left = ""
        self._done, self._total = 0, 1

    @property
    def person(self) -> AskedPerson:
        """This one is asked, and no program."""
        return self

    def away(self) -> str:
        """Why nobody can be asked now: no terminal, or they stopped. Empty where somebody can."""
        return self._left or ("" if self._terminal.attended() else NOBODY)

    def progress(self, done: int, total: int) -> None:
        """For the line above the next question."""
        self._done, self._total = done, total

    def settings(self) -> dict[str, Any]:
        """Not the name: it is not known before they answer."""
        return {"backend": self.name}

    def price(self, request: JudgeRequest) -> float | None:  # noqa: ARG002 - the protocol's
        """Nothing that is counted here."""
        return 0.0

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Show the question, and wait for the answer. Raises NotAsked where nobody is there, or they leave."""
        async with self._terminal.lock:
            dialogue = self._opened(request)
            return await self._answered(dialogue, introduce=True)

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:  # noqa: ARG002
        """Show what is asked about the answer, and have it corrected or confirmed. Raises NotAsked as `ask` does."""
        # Of a message to a model they need the points alone.
        points = "\n".join(line for line in faults.splitlines() if line[:2] == "- ") or faults
        async with self._terminal.lock:
            return await self._answered(self._opened(request), points=points)

    def _opened(self, request: JudgeRequest) -> PersonDialogue:
        if away := self.away():
            raise NotAsked(away)
        return PersonDialogue(self._terminal, request)

    async def _answered(
        self, dialogue: PersonDialogue, *, introduce: bool = False, points: str = ""
    ) -> JudgeReply:
        try:
            name = await dialogue.name()
            if introduce:
                dialogue.introduce(self._done, self._total)
            fields = await (dialogue.about(points) if points else dialogue.verdict())
        except NotAsked as left:
            self._left = str(left)
            raise
        except asyncio.CancelledError:
            self._terminal.show("\ninterrupted; what was answered before is recorded")
            raise
        text = json.dumps(fields, ensure_ascii=False)
        # What they type is data: a note that looks like a verdict, or like a model's thinking, stays a note.
        return JudgeReply(
            text=text, structured=fields, model_served=f"person {name}", usage=Usage(cost_usd=0.0)
        )
