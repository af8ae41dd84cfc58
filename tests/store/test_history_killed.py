"""A process killed at any moment leaves nothing that would have to be explained."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscirub.store.history.steps import History

Record = Callable[..., tuple[str, list[str]]]
Events = Callable[[Path], list[str | None]]

AT = "2026-01-31T09:00:00Z"
PACKAGE = Path(__file__).resolve().parents[2] / "server"

KILLED_AT = {
    # where the process is killed: (module, what is never reached), and whether the step counts afterwards
    "after the objects, before the mark": ("autoscirub.store.history.memory.Memory.save", False),
    "after the mark, before main moves": ("autoscirub.store.history.repository.Repository.update_refs", True),
    "between commit and export": ("autoscirub.store.history.working.write_bundle", True),
    "while the bundle waits to be renamed": ("pathlib.Path.replace", True),
    "after the bundle, before it is remembered": (
        "autoscirub.store.history.working.WorkingHistory.remember",
        True,
    ),
}

CHILD = """
import os, signal, sys
from importlib import import_module
from pathlib import Path
from autoscirub.store.history.steps import History

state, history_id, target = Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3]

def killed(*_arguments, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

def only_the_bundle(path, to, real=Path.replace):
    return killed() if to.name == "history.bundle" else real(path, to)

with History.open_for_writing(state, history_id, state.parent) as history:
    module, _, name = target.rpartition(".")
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        package, _, kind = module.rpartition(".")
        owner = getattr(import_module(package), kind)
    setattr(owner, name, only_the_bundle if name == "replace" else killed)
    history.commit("cut off", {"state/x": b"1"}, facts={}, at="2026-01-31T09:00:00Z")
    history.export()
"""


@pytest.mark.parametrize("started", [False, True], ids=["first step", "later step"])
@pytest.mark.parametrize("moment", KILLED_AT)
def test_a_process_killed_at_any_moment_leaves_nothing_to_explain(
    state: Path, record: Record, events: Events, moment: str, started: bool
) -> None:
    target, counts = KILLED_AT[moment]
    history_id = record(state, "one")[0] if started else "0" * 32
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(state), history_id, target],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    _, notices = record(state, history_id=history_id)
    assert notices == []
    expected = (["cut off"] if counts else []) + (["one"] if started else [])
    assert (events(state) if expected else []) == expected
    assert record(state, "next", history_id=history_id)[1] == []
    assert events(state) == ["next", *expected]
    assert [path.name for path in state.iterdir()] == ["history.bundle"]


def test_a_cut_off_step_that_the_bundle_has_passed_by_is_kept_and_said(
    state: Path, record: Record, events: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history_id, _ = record(state, "one")
    with History.open_for_writing(state, history_id, state.parent) as history:
        history.commit("never exported", {}, facts={}, at=AT)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path / "other machine"))
        record(state, "two", history_id=history_id)
    with History.open_for_writing(state, history_id, state.parent) as history:
        assert "written here and not yet exported" in history.notices[0]
        assert len(history.notices) == 1
        assert len(history.other_lines) == 1
    assert events(state) == ["two", "one"]


def test_a_mark_whose_commit_never_reached_the_disk_is_passed_over(
    state: Path, record: Record, events: Events, data: Path
) -> None:
    history_id, _ = record(state, "one")
    (checkout,) = (data / "checkouts").iterdir()
    value = json.loads(checkout.read_text())
    checkout.write_text(json.dumps({**value, "pending": {"head": "1" * 40, "before": value["head"]}}))
    assert record(state, "two", history_id=history_id)[1] == []
    assert events(state) == ["two", "one"]


def test_what_a_killed_export_left_beside_the_bundle_is_removed(state: Path, record: Record) -> None:
    history_id, _ = record(state, "one")
    for name in (".tmp-0011-history.bundle", ".tmp-0011-history.bundle.lock"):
        (state / name).write_bytes(b"half")
    (state / ".tmp-0011-other.json").write_bytes(b"half")
    record(state, history_id=history_id)
    assert sorted(path.name for path in state.iterdir()) == [".tmp-0011-other.json", "history.bundle"]
