"""Runs the self-test: attacks on blinding, tools, replies, verdicts, programs, sandbox and state, on this machine.

A few run at a time, each in a thread, in one temporary test bed. One that fails, breaks or hangs does not prevent
the others.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.models import Answer, Decision, Evidence, now, overall
from autoscirub.setup.selftest.test_bed import AttackResult, Check, decided, own_test_bed, processes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from autoscirub.setup.selftest.test_bed import TestBed

GROUPS = {
    "blinding": "Does a judge see nothing that is withheld from it?",
    "tools": "Can a judge's tools not be made to leave the workspace?",
    "replies": "Is no hostile reply read as a pass?",
    "verdicts": "Does no verdict count that does not survive checking?",
    "programs": "Is a judge program that misbehaves an error of its own, with no process left?",
    "sandbox": "What is enforced for the code that a rerun starts?",
    "state": "Is what is stored whole, and is a forgery of it noticed?",
}
"""Each group, implemented in the module of its name, and the question that it answers."""

_AT_ONCE = 4
"""Most attacks wait for a time limit."""
_CHECK_SECONDS = 20.0
"""An attack that takes longer hangs, and does not hold."""
_END_SECONDS = 8.0


@dataclass
class _Job:
    """One check, and when it was started."""

    group: str
    check: Check
    started: float | None = None
    decision: Decision | None = None


def run_selftest(
    *, groups: Sequence[str] = (), progress: Callable[[int, int], None] | None = None
) -> list[Decision]:
    """Make every attack, or those of `groups`; a Decision for each group, with one for each attack as its parts.

    Nothing of the user's is touched, and nothing is left behind, which is checked too. Raises ConfigError where no
    temporary folder can be made.
    """
    chosen = [name for name in GROUPS if not groups or name in groups]
    jobs = [_Job(name, check) for name in chosen for check in _checks(name)]
    report = progress or (lambda _done, _of: None)
    with own_test_bed() as test_bed:
        root = test_bed.root
        _run(jobs, test_bed, report)
    found = [
        _group(name, GROUPS[name], [_decision_of(job) for job in jobs if job.group == name])
        for name in chosen
    ]
    afterwards = [decided(check, result) for check, result in _afterwards(str(root))]
    return [*found, _group("afterwards", "Is nothing left of this self-test?", afterwards)]


def _checks(group: str) -> list[Check]:
    checks: list[Check] = importlib.import_module(f"autoscirub.setup.selftest.{group}").CHECKS
    return checks


def _run(jobs: list[_Job], test_bed: TestBed, report: Callable[[int, int], None]) -> None:
    waiting: queue.SimpleQueue[_Job] = queue.SimpleQueue()
    ended: queue.SimpleQueue[_Job] = queue.SimpleQueue()
    for job in sorted(jobs, key=_longest_first):
        waiting.put(job)

    def work() -> None:
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            job.started = time.monotonic()
            decision = _attempt(job.check, test_bed)
            if job.decision is None:
                job.decision = decision
                ended.put(job)

    threads: list[threading.Thread] = []

    def hire() -> None:
        # Daemon threads: one that hangs must not keep the command from ending.
        threads.append(threading.Thread(target=work, daemon=True))
        threads[-1].start()

    try:
        for _ in range(_AT_ONCE):
            hire()
        while open_ := sum(job.decision is None for job in jobs):
            report(len(jobs) - open_, len(jobs))
            with contextlib.suppress(queue.Empty):
                ended.get(timeout=0.5)
            for job in _hanging(jobs):
                job.decision = decided(
                    job.check, AttackResult("", (f"it did not end within {_CHECK_SECONDS:g} s",))
                )
                hire()
    finally:
        _let_end(waiting, threads)


def _let_end(waiting: queue.SimpleQueue[_Job], threads: list[threading.Thread]) -> None:
    """When interrupted: start nothing more, and let what is under way end before its folder is removed."""
    with contextlib.suppress(queue.Empty):
        while True:
            waiting.get_nowait()
    until = time.monotonic() + _END_SECONDS
    for thread in threads:
        thread.join(timeout=max(0.0, until - time.monotonic()))


def _longest_first(job: _Job) -> int:
    """The sort key: attacks that start programs come first, so that the run does not end waiting for one of them."""
    return [*GROUPS].index(job.group) if job.group not in ("programs", "sandbox", "state") else -1


def _hanging(jobs: list[_Job]) -> Iterator[_Job]:
    over = time.monotonic() - _CHECK_SECONDS
    yield from (
        job for job in jobs if job.decision is None and job.started is not None and job.started < over
    )


def _attempt(check: Check, test_bed: TestBed) -> Decision:
    try:
        return decided(check, check.attack(test_bed))
    except Exception as error:  # noqa: BLE001 - whatever one attack breaks, the others are still to be made
        message = f"it broke off: {type(error).__name__}: {error}".splitlines()[0][:400]
        return decided(check, AttackResult("", cannot=message.replace(str(test_bed.root), "(temporary)")))


def _decision_of(job: _Job) -> Decision:
    assert job.decision is not None  # noqa: S101 - `_run` waits for each
    return job.decision


def _afterwards(root: str) -> Iterator[tuple[Check, AttackResult]]:
    there = Check("files", "Is the temporary folder gone?", lambda _: AttackResult(""))
    yield (
        there,
        AttackResult("the temporary folder", (f"{root} is still there",) if os.path.lexists(root) else ()),
    )
    left = processes_of(root)
    running = Check("processes", "Is no process left?", lambda _: AttackResult(""))
    names = tuple(f"process {pid}" for pid in (left or ())[:5])
    cannot = "processes cannot be inspected here (no /proc)" if left is None else None
    yield running, AttackResult("processes that name that folder", names, cannot)


def _group(name: str, question: str, parts: list[Decision]) -> Decision:
    answer = overall(parts)
    counts = [sum(part.answer is each for part in parts) for each in Answer]
    words = [f"{counts[0]} held"]
    words += [f"{counts[1]} did not hold"] if counts[1] else []
    words += [f"{counts[2]} inconclusive"] if counts[2] else []
    return Decision(
        subject=name,
        question=question,
        answer=answer,
        word=", ".join(words),
        evidence=[Evidence(note=f"{len(parts)} attacks")],
        open=[f"{part.subject}: {line}" for part in parts for line in part.open[:1]],
        parts=parts,
        at=now(),
    )
