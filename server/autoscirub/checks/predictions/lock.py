"""The lock over the predictions: what was frozen, what is there now, and whether the two agree.

Three places say what was frozen: `.prereg.lock`, `run_manifest.json` and the history. The history wins,
because it alone cannot be edited by editing a file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autoscirub.checks.predictions.read import PREDICTIONS_NAME
from autoscirub.errors import PredictionsError, TamperedError
from autoscirub.models import FileDigest, PredictionsLock, PreregLock
from autoscirub.store import decode, leads_out, sha256_bytes, sha256_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from autoscirub.store import Project

LOCK_NAME = PreregLock.file_name
_LISTED = 1000
_MAX_SCANNED = 100_000
_LOCK_LIMIT = 64 * 1024 * 1024


def read_lock(project: Project) -> PreregLock | None:
    """`.prereg.lock`; None when it is not there. Raises CorruptError when it is no lock."""
    data = project.read(LOCK_NAME, limit=_LOCK_LIMIT)
    return None if data is None else decode(data, PreregLock, LOCK_NAME)


def require_frozen(
    predictions: bytes | None,
    lock: PreregLock | None,
    manifest: PredictionsLock | None,
    history: PredictionsLock | None,
) -> PredictionsLock:
    """The recorded freeze, when the predictions, their lock, the manifest and the history all agree on it.

    Raises PredictionsError when nothing was frozen, and TamperedError, naming every digest that
    disagrees, otherwise. A difference in line endings alone is an error too, and said to be one.
    """
    if predictions is None:
        raise PredictionsError(f"{PREDICTIONS_NAME}: is not there; `autoscirub init` creates one to fill in")
    if history is None:
        raise _not_recorded(lock, manifest)
    found = sha256_bytes(predictions)
    if lock is None:
        raise TamperedError(
            f"{LOCK_NAME}: is gone, but the freeze of {history.frozen_at} is recorded with sha256 {history.sha256}. "
            "Restore the file, or take the freeze off on the record: autoscirub unfreeze --reason '…'"
        )
    if found != history.sha256:
        raise TamperedError(_changed(predictions, found, lock, history))
    if lock.sha256 != history.sha256:
        raise TamperedError(
            f"{LOCK_NAME}: was edited: it says sha256 {lock.sha256}, the recorded freeze of {history.frozen_at} says "
            f"sha256 {history.sha256}. Restore {LOCK_NAME}"
        )
    if lock.checks != history.checks:
        raise TamperedError(
            f"{LOCK_NAME}: was edited: its check ids are not those of the recorded freeze of {history.frozen_at}, "
            f"sha256 {history.sha256}. Restore {LOCK_NAME}"
        )
    if manifest is not None and manifest != history:  # one that is gone says nothing, and is written again
        raise TamperedError(
            f"run_manifest.json: was edited: of the frozen predictions it says sha256 {manifest.sha256} and what goes "
            f"with it; the recorded freeze of {history.frozen_at} says sha256 {history.sha256}. Restore it, or remove "
            "it: the next command that writes takes it from the history"
        )
    return history


def _not_recorded(lock: PreregLock | None, manifest: PredictionsLock | None) -> PredictionsError:
    if lock is None and manifest is None:
        return PredictionsError(f"{PREDICTIONS_NAME}: is not frozen; run `autoscirub freeze` first")
    names = [name for name, value in ((LOCK_NAME, lock), ("run_manifest.json", manifest)) if value]
    there = f"{names[0]} says" if len(names) == 1 else f"{names[0]} and {names[1]} say"
    return PredictionsError(
        f"{PREDICTIONS_NAME}: no freeze of it is recorded in the history, though {there} that it was frozen. "
        "A lock written by hand is no freeze: restore history.bundle, or run `autoscirub freeze` to freeze it now"
    )


def _changed(predictions: bytes, found: str, lock: PreregLock, history: PredictionsLock) -> str:
    recorded = f"the recorded freeze of {history.frozen_at} says sha256 {history.sha256}"
    if history.sha256 in _other_line_endings(predictions):
        return (
            f"{PREDICTIONS_NAME}: differs from what was frozen in line endings only: sha256 {found} now, {recorded}. "
            f"Something converted them (git's core.autocrlf, an editor); restore the bytes, for example with "
            f"`{PREDICTIONS_NAME} -text` in .gitattributes and a fresh checkout"
        )
    both = f", and {LOCK_NAME} was rewritten to sha256 {lock.sha256}" if lock.sha256 != history.sha256 else ""
    return (
        f"{PREDICTIONS_NAME}: changed after it was frozen: sha256 {found} now{both}; {recorded}. "
        "Restore it, or take the freeze off on the record: autoscirub unfreeze --reason '…'"
    )


def _other_line_endings(data: bytes) -> set[str]:
    unix = data.replace(b"\r\n", b"\n")
    return {sha256_bytes(unix), sha256_bytes(unix.replace(b"\n", b"\r\n"))}


def existing_results(
    root: Path, results: Iterable[str], artifacts: Iterable[str]
) -> tuple[list[FileDigest], int]:
    """Every results file there is now: the results file, what lies beside it, every declared artifact.

    Beside it means its folder and what is below, unless that folder is the project itself. Returns the
    files and how many more there are than are listed (over 1,000). Empty files do not count as results, and
    nothing is followed out of the project.
    """
    named = list(results)
    paths = {*named, *artifacts}
    for folder in {os.path.dirname(path) for path in named} - {""}:  # noqa: PTH120 - a relative path, as text
        if leads_out(root / folder, root):
            continue
        for base, _, names in os.walk(root / folder):
            paths.update(os.path.relpath(os.path.join(base, name), root) for name in names)  # noqa: PTH118
            if len(paths) > _MAX_SCANNED:
                break
    present = [
        path for path in sorted(paths) if not leads_out(root / path, root) and _has_content(root / path)
    ]
    return [_digest(root, path) for path in present[:_LISTED]], max(0, len(present) - _LISTED)


def _has_content(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except (OSError, ValueError):
        return False


def _digest(root: Path, path: str) -> FileDigest:
    target = root / path
    return FileDigest(path=path, sha256=sha256_file(target), size=target.stat().st_size)


def is_late(lock: PredictionsLock, earlier: Iterable[FileDigest] = ()) -> bool:
    """Whether results existed when the predictions were frozen, or at an earlier unfreeze."""
    return bool([*lock.results_at_freeze, *earlier])


def freeze_note(lock: PredictionsLock, earlier: Iterable[FileDigest] = ()) -> str:
    """What every later outcome says of the freeze: whether results existed by then, or at an earlier unfreeze."""
    existing = [*lock.results_at_freeze, *earlier]
    if not existing:
        return "no results file was there at freeze"
    names = list(dict.fromkeys(file.path for file in existing))
    more = len(names) - 3 + lock.results_not_listed
    return f"predictions frozen after results existed ({', '.join(names[:3])}{f' and {more} more' if more > 0 else ''})"
