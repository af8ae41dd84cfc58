"""Asks Codex one question: a `codex exec` in fresh folders, with our four tools as its only MCP server."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ClientError, JudgeError, TrustError
from autoscirub.judging.backends.codex.events import CodexEvents
from autoscirub.judging.backends.codex.home import lay_codex_home, own_provider
from autoscirub.judging.backends.command import judge_environment
from autoscirub.judging.backends.limits import OverLimit, one_line
from autoscirub.judging.backends.protocol import keep_so_far, with_faults
from autoscirub.models import JudgeReply
from autoscirub.programs import CLIENT_INSTALL, client_program
from autoscirub.sandbox import AskedProgram, remove_tree

if TYPE_CHECKING:
    from autoscirub.models import JudgeConfig, JudgeRequest

OUTPUT_BYTES = 256 * 1024 * 1024
"""The most that codex may print: it repeats what the tools answered, pictures included."""

_RAW_CHARACTERS = 64 * 1024
_ARGUMENTS = ("exec", "--json", "--skip-git-repo-check", "--ignore-rules", "--sandbox", "read-only")
_NO_TOOLS = (
    *("agents.enabled", "skills.include_instructions", "features.shell_tool", "features.view_image"),
    *("features.sleep_tool", "features.code_mode_host"),
    # These would name the user's folders to the judge, and tools that it has not.
    *("include_environment_context", "include_permissions_instructions", "include_apps_instructions"),
    "include_collaboration_mode_instructions",
)


class CodexBackend:
    """Codex, as the user has it. What the judge may see is sent to its provider, so it needs `trust`."""

    name = "codex"

    def __init__(self, config: JudgeConfig, *, trusted: bool) -> None:
        self._model, self._trusted = config.model, trusted

    def settings(self) -> dict[str, Any]:
        """The model, and by whom it is served. Not the client's version: it is renewed every few days."""
        own = own_provider(self._model)
        name = own.get("model_provider")
        address = own.get("model_providers", {}).get(name, {}).get("base_url", own.get("openai_base_url"))
        return {"backend": self.name, "model": own.get("model"), "provider": name, "base_url": address}

    def price(self, request: JudgeRequest) -> float | None:  # noqa: ARG002 - the protocol's
        """Unknown: it is paid by a subscription, or to a provider that names no price."""
        return None

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:  # noqa: ARG002
        """The question again, with the faults: the folders of the first run are gone."""
        return await self.ask(with_faults(request, faults))

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Ask once. Raises TrustError where nobody allowed it, and JudgeError for any other failure."""
        if not self._trusted:
            raise TrustError(
                "not judged: that files go to whom your Codex is set up to use was not allowed on this machine in this "
                "folder; look at what would be sent, and to whom, with `autoscirub trust`, and allow it"
            )
        program = client_program("codex")
        if program is None:
            raise JudgeError(
                f"judge codex: no such program on PATH; to get it: {CLIENT_INSTALL['codex']}; then `codex login`"
            )
        scratch = Path(tempfile.mkdtemp(prefix="judge-")).resolve()
        try:
            return await self._run(program, request, scratch)
        except ClientError as error:
            raise JudgeError(f"judge codex: {error}") from None
        finally:
            remove_tree(scratch)

    async def _run(self, program: str, request: JudgeRequest, scratch: Path) -> JudgeReply:
        home, work, temporary = (scratch / name for name in ("home", "work", "tmp"))
        instructions, schema, answer = (scratch / name for name in ("judge.md", "schema.json", "answer"))
        instructions.write_text(request.system, encoding="utf-8")
        schema.write_text(json.dumps(request.answer_schema), encoding="utf-8")
        lay_codex_home(home, _settings(request.workspace, instructions), model=request.model or self._model)
        work.mkdir()
        temporary.mkdir()
        events = CodexEvents(request.turns, home)
        asked = AskedProgram(
            [program, *_ARGUMENTS, "--output-schema", str(schema), "-o", str(answer), "-"],
            cwd=work,
            environment={
                **judge_environment(os.environ, cwd=str(work), temporary=str(temporary)),
                # HOME too: ~/.agents holds skills, and a question that names one would be answered with its text.
                **dict.fromkeys(("HOME", "CODEX_HOME", "CODEX_SQLITE_HOME"), str(home)),
            },
            mark=scratch,
            output_limit=OUTPUT_BYTES,
            watch=events.take,
        )
        ended = False
        try:
            status = await asked.run(request.prompt.encode())
            ended = True
        finally:
            if not ended:
                keep_so_far(_text(asked.output[-_RAW_CHARACTERS:]))
        raw = _text(asked.output[-_RAW_CHARACTERS:])
        if asked.flooded:
            raise JudgeError(f"judge codex: printed more than {OUTPUT_BYTES:,} bytes, and was ended", raw)
        if asked.left:
            raise JudgeError(f"judge codex: {len(asked.left)} of its processes could not be ended", raw)
        if events.over:
            used = JudgeReply(text=raw, model_served=events.model, usage=events.usage)
            raise OverLimit(
                f"judge codex: turn limit reached: more than {request.turns} turns (judge.turns); "
                "raise it, or ask for less at a time",
                used,
            )
        if status or events.failed:
            why = events.failure(status, one_line(_text(asked.errors)))
            raise JudgeError(f"judge codex: failed: {why}", raw)
        text = _text(answer.read_bytes()) if answer.is_file() else ""
        if not text.strip():
            raise JudgeError(
                "judge codex: ended without a final message, as after a refusal; ask again, or set another judge.model",
                raw,
            )
        return JudgeReply(text=text, structured=_object(text), model_served=events.model, usage=events.usage)


def _settings(workspace: str, instructions: Path) -> dict[str, Any]:
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    server = {
        "command": sys.executable,
        "args": ["-P", "-m", "autoscirub.judging.tools.server", workspace],
        # Codex passes on HOME, LANG, PATH and TMPDIR; a checkout may be found by this alone.
        "env": {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in paths if path)},  # noqa: PTH100
        "required": True,  # else the first request may go out without its tools
        "startup_timeout_sec": 60,
        # Offered as they are: not to be searched for first, nor to be called from a program alone.
        "omit_tools_from": ["deferred", "code_mode"],
    }
    off = dict.fromkeys(_NO_TOOLS, False)
    return {**off, "model_instructions_file": str(instructions), "mcp_servers": {"judge": server}}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _object(text: str) -> Any:
    """The object in a reply; None where it is anything else, which the caller reads."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
