"""Answers of a calibration under way, on this machine alone, so that a kill loses none and nobody is asked twice.

They lie in the user's data directory, not in the project: what comes with somebody else's repository is no answer.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autoscirub.errors import StateError
from autoscirub.models import CalibrationAnswer, FrozenModel, strict_json
from autoscirub.store import read_regular, sha256_bytes, user_data_dir, write_atomic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autoscirub.store import Project

_LIMIT = 64 * 1024 * 1024

AnswerKey = tuple[str, int]
"""The question's key, and which repeat."""


class _Line(FrozenModel):
    key: str
    answer: CalibrationAnswer


class UnrecordedAnswers:
    """The file with the answers that no step has recorded yet. Without a data directory nothing is there."""

    def __init__(self, opened: Project) -> None:
        self._name = sha256_bytes(os.fsencode(os.path.realpath(opened.state.root)))[:32]

    def read(self) -> dict[AnswerKey, CalibrationAnswer]:
        """What an earlier command left. A line that a kill cut off is no answer."""
        path = self._path(create=False)
        data = read_regular(path, limit=_LIMIT) if path is not None else None
        found: dict[AnswerKey, CalibrationAnswer] = {}
        for line in (data or b"").splitlines():
            with contextlib.suppress(ValidationError):
                entry = _Line.model_validate_json(line)
                found[entry.key, entry.answer.repeat] = entry.answer
        return found

    def begin(self, answers: Mapping[AnswerKey, CalibrationAnswer]) -> None:
        """Begin the file anew with these. Raises StateError where it cannot be written."""
        path = self._path(create=True)
        if path is not None:
            write_atomic(path, b"".join(_encoded(key, answer) for (key, _), answer in answers.items()))

    def append(self, key: str, answer: CalibrationAnswer) -> None:
        """Add one answer, so that it is on the disk. Raises StateError where it cannot be written."""
        path = self._path(create=True)
        if path is None:
            return
        try:
            descriptor = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(_encoded(key, answer))
                file.flush()
                os.fsync(file.fileno())
        except OSError as cause:
            raise StateError(f"{path}: cannot be written: {cause.strerror}; free some space there") from cause

    def clear(self) -> None:
        """They are recorded, and so no longer needed."""
        path = self._path(create=False)
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _path(self, *, create: bool) -> Path | None:
        data = user_data_dir(create=create)
        return data / "calibrations" / f"{self._name}.jsonl" if data is not None else None


def _encoded(key: str, answer: CalibrationAnswer) -> bytes:
    return strict_json(_Line(key=key, answer=answer), indent=None).encode("utf-8")
