"""An agent that is told nothing but `next`: it makes the call that each answer names, and does the work in between."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.clients.sandboxing import Box
from tests.e2e.clients.scripted_model import Asked, Call, Json, Say, Turn

from autoscirub.checks.rubric import read_short

ENOUGH = 20  # calls; an agent that needs more goes round in circles
# What this researcher does when it is to do the work, and when there is a plan.
WORK = "python3 run.py"
REVISE = "AUTOSCIRUB_PLAN=$(echo .autoscirub/revisions/*/revision_plan.json) AUTOSCIRUB_CHANGES=../changes.json python3 revise.py"


@dataclass
class Agent:
    """Plays a client's model, on the Nile example without its rubric, which it writes itself.

    `shell` is the client's tool that runs a command, and its argument. `program`: all tools are called from a program.
    """

    box: Box
    shell: tuple[str, str]
    program: bool = False
    called: list[str] = field(default_factory=list)
    answers: list[tuple[str, Json]] = field(default_factory=list)
    """What each of autoscirub's tools answered, as it was on the wire."""
    _then: Call | None = None

    def __post_init__(self) -> None:
        short = self.box.work / "rubric.toml"
        self.rubric = json.loads(read_short(short.read_bytes(), short.name).executable)
        short.unlink()

    def __call__(self, asked: Asked) -> Turn:
        assert len(self.called) < ENOUGH, self.called
        if not self.called:
            return self._call("next", {})
        result = asked.results[-1]
        assert not result.is_error, result.text
        if self._then is not None:  # the work is done
            then, self._then = self._then, None
            changes = self.box.work.parent / "changes.json"
            changed = json.loads(changes.read_text("utf-8")) if changes.exists() else {}
            return self._call(then.tool, {**then.arguments, **changed})
        self.answers.append((self.called[-1], result.structured))
        assert "next" in result.structured, result.text
        tool, arguments = (result.structured["next"][key] for key in ("tool", "arguments"))
        if tool is None:
            return Say(result.structured["next"]["why"])
        if tool == "write_state":
            arguments = {**arguments, "content": self.rubric}
        if tool != "check":
            return self._call(tool, arguments)
        self._then = Call("check", arguments)
        return self._call(self.shell[0], {self.shell[1]: REVISE if "changes" in arguments else WORK})

    def _call(self, tool: str, arguments: Any) -> Call:
        self.called.append(tool)
        if not self.program:
            return Call(tool, arguments)
        name = tool if tool == self.shell[0] else f"mcp__autoscirub__{tool}"
        take = "it" if tool == self.shell[0] else "it.structuredContent ?? it"
        json_arguments = json.dumps(arguments)
        return Call(
            "exec",
            {"input": f"const it = await tools.{name}({json_arguments}); text(JSON.stringify({take}))"},
        )
