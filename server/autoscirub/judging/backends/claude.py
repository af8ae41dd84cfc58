"""The `claude` backend: Claude Code, with the login that the user has, and four read-only tools on the workspace.

Its SDK runs in a process of its own (`claude_session.py`), because it passes on the environment that it finds: ours
holds the project's path. What that process and the client start ends with it, or with us.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import JudgeError, TrustError
from autoscirub.judging.backends.command import judge_environment
from autoscirub.judging.backends.limits import OverLimit, one_line
from autoscirub.judging.backends.protocol import keep_so_far, with_faults
from autoscirub.models import JudgeReply, strict_json
from autoscirub.sandbox import AskedProgram, remove_tree

if TYPE_CHECKING:
    from autoscirub.models import JudgeRequest

_SDK = "claude-agent-sdk"
_OUTPUT_BYTES = 16_000_000
_RAW_CHARACTERS = 64 * 1024
_OUR_PATH = str(Path(__file__).resolve().parents[3])
_SESSION = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from autoscirub.judging.backends.claude_session import main; sys.exit(main())"
)
_CLIENT_SETTINGS = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # about 2 s; ten, its own number, are three minutes
    "DISABLE_AUTOUPDATER": "1",
    "ENABLE_TOOL_SEARCH": "false",  # else it offers a tool of its own, from which others could be loaded
}
_OUTER_SESSION = frozenset(
    [
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_NOTES_DIR",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_EFFORT",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PID",
        "CLAUDE_PLUGIN_DATA",
        "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_PROJECT_DIR",
    ]
)
"""What Claude Code gives to servers and commands that it starts: a judge that is asked from there is no part of it."""


class ClaudeBackend:
    """Claude Code as a judge."""

    name = "claude"

    def __init__(self, *, model: str | None, trusted: bool) -> None:
        self._model, self._trusted = model, trusted

    def settings(self) -> dict[str, Any]:
        """The model, and the versions of the SDK and of the client in it; null: not installed."""
        sdk = client = None
        try:
            installed = metadata.distribution(_SDK)
            sdk = installed.version
            client = Path(str(installed.locate_file("claude_agent_sdk/_bundled/claude.version"))).read_text(
                "utf-8"
            )
        except (metadata.PackageNotFoundError, OSError):
            pass
        return {
            "backend": self.name,
            "model": self._model,
            "sdk": sdk,
            "client": client and client.split()[0],
        }

    def price(self, request: JudgeRequest) -> float | None:  # noqa: ARG002 - the protocol's
        """Unknown: how many turns it takes is known afterwards."""
        return None

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:  # noqa: ARG002
        """Ask the question again, with the faults, in a new conversation: none is stored to go on with."""
        again = with_faults(request, faults)
        # This client's schema may leave keys out: a correction, or `confirmed` alone, is an answer.
        schema = {**again.answer_schema, "required": []}
        return await self.ask(again.model_copy(update={"answer_schema": schema}))

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Ask once. Raises TrustError where nobody allowed it, and JudgeError for any other failure."""
        if not self._trusted:
            raise TrustError(
                "not judged: judge.backend claude was not trusted on this machine in this folder; it sends files to "
                "whom Claude Code is set up to use, at this user's cost; look with `autoscirub trust`, and allow it"
            )
        if find_spec("claude_agent_sdk") is None:
            raise JudgeError(f"judge claude: {_SDK} is not installed here; pip install 'autoscirub[claude]'")
        if request.model is None and self._model is not None:
            request = request.model_copy(update={"model": self._model})
        scratch = Path(tempfile.mkdtemp(prefix="judge-")).resolve()
        try:
            return await self._run(request, scratch)
        finally:
            remove_tree(scratch)

    async def _run(self, request: JudgeRequest, scratch: Path) -> JudgeReply:
        # The model is shown the path of the client's folder; what is in the folder, it cannot read.
        folder = scratch / "work"
        folder.mkdir()
        asked = AskedProgram(
            [sys.executable, "-P", "-c", _SESSION, _OUR_PATH],
            cwd=folder,
            environment=_environment(str(folder), str(scratch)),
            mark=scratch,
            output_limit=_OUTPUT_BYTES,
        )
        ended = False
        try:
            status = await asked.run(strict_json(request, indent=None).encode())
            ended = True
        finally:
            if not ended:
                keep_so_far(_lines(asked.output)[1])
        last, raw = _lines(asked.output)
        if "reply" in last:
            return JudgeReply.model_validate(last["reply"])
        if "error" not in last:
            why = "wrote too much" if asked.flooded else f"ended with exit status {status}"
            errors = one_line(asked.errors.decode("utf-8", "replace")) or "nothing on its standard error"
            raise JudgeError(f"judge claude: its session {why}, without an answer ({errors}); try again", raw)
        if last["over"] is None:
            raise JudgeError(last["error"], raw)
        raise OverLimit(last["error"], JudgeReply.model_validate({"text": raw, **last["over"]}))


def _environment(folder: str, scratch: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in _OUTER_SESSION}
    # Its cache would keep a folder for each question.
    return {
        **judge_environment(own, cwd=folder, temporary=scratch),
        **_CLIENT_SETTINGS,
        "XDG_CACHE_HOME": f"{scratch}/cache",
    }


def _lines(output: bytes) -> tuple[dict[str, Any], str]:
    """The last whole line, and the text of all others."""
    lines = [json.loads(line) for line in output.split(b"\n")[:-1]]
    text = "".join(line.get("text", "") for line in lines).strip()
    return (lines[-1] if lines else {}), text[-_RAW_CHARACTERS:]
