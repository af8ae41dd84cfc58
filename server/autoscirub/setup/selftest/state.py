"""Self-test of the store: one writer at a time, no half-written files, and edits of locked files are noticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from autoscirub.checks.predictions import LOCK_NAME, PREDICTIONS_NAME, read_lock, require_frozen
from autoscirub.errors import BusyError, HistoryError, PredictionsError, TamperedError
from autoscirub.models import PredictionsLock, PreregLock, now, strict_json
from autoscirub.programs import on_path
from autoscirub.setup.selftest.test_bed import AttackResult, Check, listed
from autoscirub.store import StateStore, open_project, sha256_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.setup.selftest.test_bed import TestBed

_GIT = "install git: apt-get install git"
_WRITES = 10
_READ_SECONDS = 0.5

# Both end with whoever started them, or they would create their folder again after it was removed.
ADDS = """
import os, sys
from pathlib import Path
from autoscirub.store import StateStore
folder, parent = Path(sys.argv[1]), int(sys.argv[4])
folder.with_name(f"{folder.name}-{sys.argv[3]}").touch()
while os.getppid() == parent and len([*folder.parent.glob(f"{folder.name}-*")]) < 2: pass  # both at once
for number in range(int(sys.argv[2])):
    if os.getppid() != parent: break
    StateStore(folder).append_line("lines.jsonl", {"by": sys.argv[3], "number": number})
"""
REWRITES = """
import os, sys
from pathlib import Path
from autoscirub.store import write_atomic
while os.getppid() == int(sys.argv[2]):
    for letter in b"ab":
        write_atomic(Path(sys.argv[1]), bytes([letter]) * 200_000)
"""


def _child(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    # -P: what lies in the folder that this was started in is not imported.
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments, str(os.getpid())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _locks(test_bed: TestBed) -> AttackResult:
    folder = test_bed.place("locked")
    with StateStore(folder).writing():
        try:
            with StateStore(folder, lock_seconds=0.1).writing():
                through = ["two held it at once"]
        except BusyError:
            through = []
    writers = [_child(ADDS, str(folder), str(_WRITES), name) for name in ("one", "other")]
    try:
        failed = [writer for writer in writers if writer.wait(timeout=15)]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    if failed:
        return AttackResult("", cannot=f"a process that writes ended with exit status {failed[0].returncode}")
    lines, faults = StateStore(folder).read_lines("lines.jsonl")
    through += faults
    if len(lines) != 2 * _WRITES:
        through.append(f"{2 * _WRITES} lines were added by two processes, and {len(lines)} are there")
    return AttackResult(f"2 processes, {2 * _WRITES} writes", listed(through))


def _atomic(test_bed: TestBed) -> AttackResult:
    path = test_bed.place("atomic") / "file"
    writer = _child(REWRITES, str(path))
    whole = {letter * 200_000 for letter in (b"a", b"b")}
    reads, torn = 0, 0
    try:
        until = time.monotonic() + 10
        while not path.exists() and time.monotonic() < until and writer.poll() is None:
            time.sleep(0.01)
        until = time.monotonic() + _READ_SECONDS
        while path.exists() and time.monotonic() < until:
            reads, torn = reads + 1, torn + (path.read_bytes() not in whole)
    finally:
        writer.kill()
        writer.wait()
    if not reads:
        return AttackResult("", cannot="a process that writes did not start")
    torn += path.read_bytes() not in whole
    through = [f"{torn} of {reads:,} reads saw a file that was half written"] if torn else []
    return AttackResult(
        f"{reads:,} reads while another process writes, and its end at any moment", listed(through)
    )


def _frozen(test_bed: TestBed) -> Path:
    """A project with a recorded freeze, as `freeze` records it."""
    root = test_bed.place("frozen")
    data = b'hypothesis = "The slope is near one half."\n'
    (root / PREDICTIONS_NAME).write_bytes(data)
    at = now()
    lock = PredictionsLock(path=PREDICTIONS_NAME, sha256=sha256_bytes(data), frozen_at=at, checks=["slope"])
    text = PreregLock(sha256=lock.sha256, frozen_at=at, checks=lock.checks)
    with open_project(root).writing() as session:
        session.manifest.locks = session.manifest.locks.model_copy(update={"predictions": lock})
        locked: dict[str, bytes | None] = {PREDICTIONS_NAME: data, LOCK_NAME: strict_json(text).encode()}
        session.record("freeze", at=at, facts={"locked": ["predictions"]}, locked=locked)
    return root


def _refused(root: Path) -> bool:
    opened = open_project(root)
    with opened.reading() as session:
        try:
            require_frozen(
                opened.read(PREDICTIONS_NAME, limit=1_000_000),
                read_lock(opened),
                session.found_locks.predictions,
                session.recorded_locks.predictions,
            )
        except (TamperedError, PredictionsError):
            return True
    return False


def _forge(root: Path, *, lock: bool, manifest: bool) -> None:
    """Loosen the predictions, and make the lock and the manifest agree where asked to."""
    old = sha256_bytes((root / PREDICTIONS_NAME).read_bytes())
    (root / PREDICTIONS_NAME).write_bytes(b'hypothesis = "The slope is any number."\n')
    new = sha256_bytes((root / PREDICTIONS_NAME).read_bytes())
    for path, forged in ((root / LOCK_NAME, lock), (root / ".autoscirub" / "run_manifest.json", manifest)):
        if forged:
            path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")


FORGERIES: dict[str, Callable[[Path], None]] = {
    "the predictions edited": lambda root: _forge(root, lock=False, manifest=False),
    "predictions and lock edited": lambda root: _forge(root, lock=True, manifest=False),
    "predictions, lock and manifest edited": lambda root: _forge(root, lock=True, manifest=True),
    "the lock removed": lambda root: (root / LOCK_NAME).unlink(),
}


def _forged(test_bed: TestBed) -> AttackResult:
    if on_path("git") is None:
        return AttackResult("", cannot="git is not there, and the history needs it", advice=(_GIT,))
    frozen, through = _frozen(test_bed), []
    if _refused(frozen):
        return AttackResult(
            "", cannot="an honest freeze is refused here, so nothing can be concluded about a forged one"
        )
    for what, forge in FORGERIES.items():
        copy = test_bed.place("forged")
        shutil.copytree(frozen, copy, dirs_exist_ok=True)
        forge(copy)
        if not _refused(copy):
            through.append(f"{what}: not noticed")
    return AttackResult(f"{len(FORGERIES)} forgeries of a freeze", listed(through))


def _bundle(test_bed: TestBed) -> AttackResult:
    if on_path("git") is None:
        return AttackResult("", cannot="git is not there, and the history needs it", advice=(_GIT,))
    root, through = _frozen(test_bed), []
    bundle = root / ".autoscirub" / "history.bundle"
    older = bundle.read_bytes()
    opened = open_project(root)
    with opened.writing() as session:
        session.record("selftest", at=now(), facts={}, state={"note.json": b"{}\n"})
    newer = bundle.read_bytes()
    bundle.write_bytes(older)
    with open_project(root).reading() as session:
        if not any("tampering or a restored backup" in notice for notice in session.notices):
            through.append("an older history put back: not noticed")
    bundle.unlink()
    with open_project(root).reading() as session:
        if not any("was removed" in notice for notice in session.notices):
            through.append("the history removed: not noticed")
    for place in (-100, -len(newer) // 3):
        bundle.write_bytes(newer[:place] + bytes([newer[place] ^ 0xFF]) + newer[place + 1 :])
        try:
            with open_project(root).reading():
                through.append(f"a byte of the history changed, {-place} from its end: not noticed")
        except HistoryError:
            continue
    return AttackResult("an older one put back, one removed, two with a byte changed", listed(through))


CHECKS = [
    Check("the lock", "Does one process write at a time, and is no write lost?", _locks),
    Check("atomic writes", "Does a reader see the old file or the new, and never half of one?", _atomic),
    Check("a forged freeze", "Is it noticed when what is frozen, or its lock, was edited?", _forged),
    Check("a forged history", "Is it noticed when history.bundle was put back, removed or changed?", _bundle),
]
