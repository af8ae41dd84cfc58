"""The `command` backend: any program that reads the request as JSON on stdin and prints the verdict on stdout.

It is the user's own program, allowed by `trust`: it gets the user's environment, because it may need a login or a key,
without AUTOSCIRUB_* and GIT_*. It is not confined to the workspace, only started there.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.errors import JudgeError, TrustError
from autoscirub.judging.backends.limits import one_line
from autoscirub.judging.backends.protocol import keep_so_far, with_faults
from autoscirub.models import JudgeReply, strict_json
from autoscirub.sandbox import AskedProgram, remove_tree
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.judging.backends.judge_program import JudgeProgram
    from autoscirub.models import JudgeRequest

OUTPUT_BYTES = 1_000_000
"""The most that a program may print: some thousand times a long verdict."""

_RAW_CHARACTERS = 64 * 1024
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL", re.IGNORECASE)
_SECRET_LENGTH = 8
_OURS = ("AUTOSCIRUB_", "GIT_")
_ENVELOPE = {"text", "structured", "model_served", "usage"}


class CommandBackend:
    """A program of the user's own."""

    name = "command"

    def __init__(self, program: JudgeProgram, *, model: str | None, trusted: bool) -> None:
        self._program, self._model, self._trusted = program, model, trusted
        self._digests: dict[str, str | None] | None = None

    def settings(self) -> dict[str, Any]:
        """The command's words, and the digest of each file that they start."""
        self._digests = self._program.digests()
        return {
            "backend": self.name,
            "command": self._program.command,
            "model": self._model,
            "programs": self._digests,
        }

    def price(self, request: JudgeRequest) -> float | None:  # noqa: ARG002 - the protocol's
        """Unknown: only the program knows what it asks."""
        return None

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:  # noqa: ARG002
        """Ask the question again, with the faults: a program has no memory."""
        return await self.ask(with_faults(request, faults))

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Run the program once. Raises TrustError where nobody allowed it, and JudgeError for any other failure."""
        if not self._trusted:
            raise TrustError(
                "not judged: judge.command was not trusted on this machine in this folder; "
                "look at what would run with `autoscirub trust`, and allow it"
            )
        if self._digests is not None and (digests := self._program.digests()) != self._digests:
            changed = sorted(word for word, digest in digests.items() if digest != self._digests.get(word))
            raise JudgeError(
                f"judge command: {', '.join(changed)} was changed while it was judging; "
                "it is not asked; find out what changed it, and start again"
            )
        words = self._program.words()
        scratch = Path(tempfile.mkdtemp(prefix="judge-")).resolve()
        try:
            return await self._run(words, request, scratch)
        finally:
            remove_tree(scratch)

    async def _run(self, words: list[str], request: JudgeRequest, scratch: Path) -> JudgeReply:
        environment = {
            **judge_environment(os.environ, cwd=request.workspace, temporary=str(scratch)),
            **self._program.environment(),
        }
        asked = AskedProgram(
            words,
            cwd=Path(request.workspace),
            environment=environment,
            mark=scratch,
            output_limit=OUTPUT_BYTES,
        )
        secrets = _secrets(environment)
        ended = False
        try:
            status = await asked.run(strict_json(request, indent=None).encode())
            ended = True
        finally:
            if not ended:
                keep_so_far(_redacted(asked.output, secrets)[:_RAW_CHARACTERS])
        raw = _redacted(asked.output, secrets)[:_RAW_CHARACTERS]
        errors = one_line(_redacted(asked.errors, secrets))
        stderr = f"; its standard error ends: {errors}" if errors else "; nothing on its standard error"
        if asked.flooded:
            raise JudgeError(
                f"judge command: printed more than {OUTPUT_BYTES:,} bytes, and was ended; "
                f"one verdict was expected{stderr}",
                raw,
            )
        if asked.left:
            raise JudgeError(
                f"judge command: {len(asked.left)} of its processes could not be ended{stderr}", raw
            )
        if status:
            raise JudgeError(f"judge command: {_how_it_ended(status)}{stderr}", raw)
        return _reply(asked.output, secrets, stderr, raw)


def judge_environment(own: Mapping[str, str], *, cwd: str, temporary: str) -> dict[str, str]:
    """The user's environment, without what is ours or git's and without the project's path, in a folder of its own."""
    inherited = {
        name: value for name, value in own.items() if not name.startswith(_OURS) and name != "OLDPWD"
    }
    return {**inherited, "PWD": cwd, "TMPDIR": temporary, "AUTOSCIRUB_JUDGE": "1"}


def _reply(output: bytes, secrets: list[tuple[str, str]], stderr: str, raw: str) -> JudgeReply:
    try:
        output.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise JudgeError(
            f"judge command: printed what is not UTF-8: byte 0x{output[cause.start]:02x} at offset {cause.start}"
            f"{stderr}",
            raw,
        ) from None
    text = _redacted(output, secrets)
    if not text.strip():
        raise JudgeError(f"judge command: ended well and printed nothing; one verdict was expected{stderr}")
    try:
        structured = parse(text.encode())
    except JsonFault:
        return JudgeReply(text=text)  # prose around a verdict is parsed by the caller
    # A program that knows what it cost says so around its verdict.
    if (
        isinstance(structured, dict)
        and structured.keys() <= _ENVELOPE
        and structured.keys() & {"text", "structured"}
    ):
        try:
            return JudgeReply.model_validate({"text": text, **structured})
        except ValidationError as cause:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
                for fault in cause.errors(include_url=False)
            )
            raise JudgeError(
                f"judge command: its answer is not a JudgeReply: {one_line(faults)}", raw
            ) from None
    return JudgeReply(text=text, structured=structured)


def _how_it_ended(status: int) -> str:
    try:
        return f"crashed: ended by {signal.Signals(status - 128).name} (exit status {status})"
    except ValueError:
        return f"ended with exit status {status}, expected 0"


def _secrets(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    found = [
        (name, value)
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SECRET_LENGTH
    ]
    return sorted(found, key=lambda pair: -len(pair[1]))


def _redacted(data: bytes, secrets: list[tuple[str, str]]) -> str:
    """Its output without the values of secret variables: it is recorded, and travels with the project."""
    text = data.decode("utf-8", "replace")
    for name, value in secrets:
        text = text.replace(value, f"[{name}]")
    return text
