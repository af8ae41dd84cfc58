"""The `replay` backend: answers with recorded replies, without asking anybody; also records those of any backend.

A record is a file that anyone can write: it shows what a judge once replied, to those who trust its folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoscirub.errors import ConfigError, JudgeError
from autoscirub.judging.backends.protocol import person_of, with_faults
from autoscirub.models import JudgeReply, strict_json
from autoscirub.store import JsonFault, leads_out, parse, read_regular, sha256_bytes, write_atomic

if TYPE_CHECKING:
    from autoscirub.judging.backends.protocol import Backend
    from autoscirub.models import JudgeRequest

RECORD_BYTES = 4_000_000
"""Of one record: above what a reply may hold."""


def record_name(request: JudgeRequest) -> str:
    """The file of a reply: the sha256 of prompt and workspace digest. Each member of a panel has a reply of its own."""
    key = sha256_bytes(f"{request.prompt_digest}\n{request.workspace_digest}".encode())
    return f"{key}.json" if request.member == 1 else f"{key}-{request.member}.json"


def recording_folder(folder: Path, root: Path, *hidden: Path | str | None) -> Path:
    """`folder`, absolute, for the records of a project's judge.

    Raises ConfigError where it lies in the project, outside of the folders that no judge sees (`hidden`).
    """
    folder, root = folder.resolve(), root.resolve()
    unseen = {(root / each).resolve() for each in hidden if each is not None} - {root}
    if folder.is_relative_to(root) and not any(folder.is_relative_to(each) for each in unseen):
        raise ConfigError(
            f"--record: a judge would see {folder.relative_to(root)} and the verdicts in it; name that folder in "
            "judge.replay, or one outside of the project"
        )
    return folder


def record_reply(folder: Path, request: JudgeRequest, reply: JudgeReply) -> Path:
    """Record a reply for `replay`. Raises StateError where the folder cannot be written."""
    path = folder / record_name(request)
    write_atomic(path, strict_json(reply).encode())
    return path


class RecordingBackend:
    """Another backend, each of whose replies is recorded for `replay`, also one that cannot be read later."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        self.name, self._backend, self._folder = backend.name, backend, folder
        self.person = person_of(backend)

    def settings(self) -> dict[str, Any]:
        """The other backend's: its verdicts are the same ones."""
        return self._backend.settings()

    def price(self, request: JudgeRequest) -> float | None:
        """The other backend's."""
        return self._backend.price(request)

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """The other backend's reply. Raises what that raises, and StateError where the reply cannot be written."""
        return self._recorded(request, await self._backend.ask(request))

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:
        """The same of a repair. `replay` finds it as the question with the faults."""
        again = with_faults(request, faults)
        if not callable(getattr(self._backend, "repair", None)):  # of a package, which may do without
            return self._recorded(again, await self._backend.ask(again))
        return self._recorded(again, await self._backend.repair(request, reply, faults))

    def _recorded(self, request: JudgeRequest, reply: JudgeReply) -> JudgeReply:
        record_reply(self._folder, request, reply)
        return reply


class ReplayBackend:
    """A judge that knows recorded replies and nothing else."""

    name = "replay"

    def __init__(self, folder: str, root: Path) -> None:
        """Raises ConfigError for a folder that does not lie in the project."""
        if Path(folder).is_absolute() or "\0" in folder or leads_out(root / folder, root):
            raise ConfigError(f"judge.replay: {folder!r}: leads out of the project; expected a folder in it")
        self._named, self._root, self._folder = folder, root, root / folder

    def settings(self) -> dict[str, Any]:
        """The folder alone, not which records it holds: otherwise each new record would cause all to be asked again."""
        return {"backend": self.name, "replay": self._named}

    def price(self, request: JudgeRequest) -> float | None:  # noqa: ARG002 - the protocol's
        """Free: nobody is asked."""
        return 0.0

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:  # noqa: ARG002
        """The recorded answer to the question with the faults."""
        return await self.ask(with_faults(request, faults))

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """The recorded reply, with the model and the usage of then; it costs nothing now. Raises JudgeError."""
        path = self._folder / record_name(request)
        data = read_regular(path, limit=RECORD_BYTES, within=self._root, error=JudgeError)
        if data is None:
            raise JudgeError(
                f"judge replay: no reply of member {request.member} on {request.subject!r} is recorded: no {path.name} "
                f"in {self._folder} (prompt {request.prompt_digest}, workspace {request.workspace_digest}); "
                "record one, or ask a judge that answers"
            )
        try:
            reply = JudgeReply.model_validate(parse(data))
        except JsonFault as fault:
            raise JudgeError(f"judge replay: {path}: {fault}; record it again", _raw(data)) from None
        except ValidationError as cause:
            first = cause.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the document"
            raise JudgeError(
                f"judge replay: {path}: is not a recorded reply: {where}: {first['msg']}; record it again",
                _raw(data),
            ) from None
        paid = reply.usage.cost_usd
        before = reply.usage.recorded_cost_usd if paid in (None, 0.0) else paid
        usage = reply.usage.model_copy(update={"cost_usd": 0.0, "recorded_cost_usd": before})
        return reply.model_copy(update={"usage": usage})


def _raw(data: bytes) -> str:
    return data[:65536].decode("utf-8", "replace")
