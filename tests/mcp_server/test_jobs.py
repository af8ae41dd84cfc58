"""Slow calls: answered in time, or as a job that goes on, is found again, is cancelled, or died."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import anyio
import filelock
import pytest
from tests.mcp_server.agents import RefusedError, agent

from autoscirub.mcp_server import job_process as worker
from autoscirub.mcp_server import server
from autoscirub.models import now
from autoscirub.models.jobs import JobAnswer
from autoscirub.store import StateStore
from autoscirub.store.jobs import MAX_ENDED_JOBS, Job, find_job, jobs, new_job, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def held(frozen: Path) -> Iterator[StateStore]:
    """The project's state directory while somebody else writes in it: what must write waits."""
    store = StateStore(frozen / ".autoscirub")
    with store.writing():
        yield store


def ended(job: Job) -> JobAnswer:
    """The job's answer, once its process lets go of it."""
    with filelock.FileLock(job.folder / ".lock", timeout=60):
        answer = job.answer
    assert answer is not None
    return answer


def wait_for_start(job: Job) -> None:
    """Wait until a process holds the job."""
    for _ in range(3000):
        if job.started:
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"{job.id} did not begin")


def test_a_slow_call_that_takes_longer_than_it_may_answers_with_a_job_that_has_the_answer_later(
    frozen: Path,
) -> None:
    store = StateStore(frozen / ".autoscirub")
    with agent(frozen) as some:
        with store.writing():
            running_ = some.call("check", wait_seconds=0)
            assert (running_["state"], running_["answer"], running_["all_satisfied"]) == (
                "running",
                None,
                None,
            )
            assert running_["next"] == {
                "tool": "job",
                "arguments": {"id": running_["job"], "action": "wait"},
                "why": "it is still under way",
            }
            assert some.call("next")["next"]["arguments"]["id"] == running_["job"]
            still = some.follow(running_, wait_seconds=0)
            assert (still["state"], still["answer"], still["tool"]) == ("running", None, "check")
        done = some.follow(running_)
    assert (done["state"], done["answer"]["satisfied"], done["error"]) == ("done", 1, None)
    assert done["next"]["tool"] == "plan_round"


def test_the_same_call_while_it_is_under_way_begins_nothing_and_names_the_job(
    frozen: Path, held: StateStore
) -> None:
    with agent(frozen) as some:
        first = some.call("check", wait_seconds=0)
        second = some.call("check", wait_seconds=0)
        other = some.call("check", fresh=True, wait_seconds=0)
        assert (second["job"], "under way since" in second["next"]["why"]) == (first["job"], True)
        assert other["job"] != first["job"]
        for each in (first, other):
            wait_for_start(Job(held.root / "jobs" / each["job"]))
            assert some.call("job", id=each["job"], action="cancel")["state"] == "cancelled"


def test_a_cancelled_job_has_no_process_any_more_and_recorded_nothing(frozen: Path, held: StateStore) -> None:
    with agent(frozen) as some:
        name = some.call("check", wait_seconds=0)["job"]
        job = Job(held.root / "jobs" / name)
        wait_for_start(job)
        pid = job.pid
        cancelled = some.call("job", id=name, action="cancel")
        assert (cancelled["state"], cancelled["answer"]) == ("cancelled", None)
        assert running(held.root) == []
        again = some.call("job", id=name, action="cancel")
        assert again["state"] == "cancelled"
    assert pid is not None
    assert not (frozen / ".autoscirub" / "verification_report.json").exists()


def test_a_job_whose_process_was_killed_is_failed_and_never_waited_for(
    frozen: Path, held: StateStore
) -> None:
    with agent(frozen) as some:
        name = some.call("check", wait_seconds=0)["job"]
        job = Job(held.root / "jobs" / name)
        wait_for_start(job)
        assert job.pid is not None
        os.kill(job.pid, signal.SIGKILL)
        died = some.call("job", id=name)
        assert (died["state"], died["answer"]) == ("failed", None)
        assert "died without an answer" in died["error"]
        assert some.call("next")["next"]["tool"] == "check"


def test_what_a_job_refuses_is_refused_to_the_caller(frozen: Path) -> None:
    (frozen / ".autoscirub" / "executable_rubric.json").write_text("{}", encoding="utf-8")
    with agent(frozen) as some, pytest.raises(RefusedError) as refused:
        some.call("check")
    assert "executable_rubric.json" in str(refused.value)
    assert "Allowed next: next()" in str(refused.value)


def test_progress_reaches_the_client_that_waits(frozen: Path, tmp_path: Path) -> None:
    state = frozen / ".autoscirub"
    job = new_job(state, "check", {})
    reports: list[tuple[float, float | None]] = []

    async def hear(done: float, total: float | None, _message: str | None) -> None:
        reports.append((done, total))
        job.end(JobAnswer(state="failed", error="enough", at=now()))

    with job.held(), agent(frozen) as some:
        job.say(3, 7)
        result: Any = some.portal.call(
            lambda: some.client.call_tool("job", {"id": job.id}, progress_callback=hear)
        )
    assert reports == [(3, 7)]
    assert (result.structured_content["state"], result.structured_content["error"]) == ("failed", "enough")


def test_a_job_is_alive_as_long_as_its_lock_is_held_whatever_its_files_say(tmp_path: Path) -> None:
    job = new_job(tmp_path, "check", {"fresh": True})
    (job.folder / "pid").write_text(f"{os.getpid()}\n", encoding="ascii")
    assert (job.is_alive(), running(tmp_path)) == (False, [])
    with job.held():
        assert (job.is_alive(), running(tmp_path), job.pid) == (True, [job.id], os.getpid())
    assert (job.is_alive(), running(tmp_path)) == (False, [])
    assert job.request.arguments == {"fresh": True}


def test_a_job_whose_process_has_not_begun_yet_counts_as_under_way_but_not_for_ever(tmp_path: Path) -> None:
    job = new_job(tmp_path, "check", {})
    assert running(tmp_path) == [job.id]
    os.utime(job.folder, (0, 0))
    assert running(tmp_path) == []


def test_looking_whether_a_job_is_alive_is_in_nobody_s_way(tmp_path: Path) -> None:
    job = new_job(tmp_path, "check", {})
    (job.folder / ".lock").touch()
    alive: list[bool] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            alive.append(job.is_alive())

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    for _ in range(50):
        stop.wait(0.002)
    stop.set()
    for looker in lookers:
        looker.join()
    assert set(alive) == {False}


def test_a_cancel_that_comes_after_the_work_was_done_loses_no_answer(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = new_job(frozen / ".autoscirub", "verify_criterion", {"criterion_id": "slope"})
    end = Job.end

    def end_while_cancelled(self: Job, answer: JobAnswer) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        end(self, answer)

    monkeypatch.setattr(Job, "end", end_while_cancelled)
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    try:
        assert worker.main([str(job.folder), str(frozen)]) == 0
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])
    assert job.answer is not None
    assert job.answer.state == "done"


def test_the_first_word_on_how_a_job_ended_stands(tmp_path: Path) -> None:
    job = new_job(tmp_path, "check", {})
    job.end(JobAnswer(state="done", answer={}, at=now()))
    job.end(JobAnswer(state="cancelled", at=now()))
    assert job.answer is not None
    assert job.answer.state == "done"


def test_only_so_many_ended_jobs_are_kept_and_one_under_way_is_never_dropped(tmp_path: Path) -> None:
    under_way = new_job(tmp_path, "judge", {})
    for _ in range(MAX_ENDED_JOBS + 5):
        new_job(tmp_path, "check", {}).end(JobAnswer(state="done", answer={}, at=now()))
    new_job(tmp_path, "check", {})
    found = jobs(tmp_path)
    assert len([job for job in found if job.answer is not None]) == MAX_ENDED_JOBS
    assert find_job(tmp_path, under_way.id) == under_way


@pytest.mark.parametrize(
    "name", ["", "check", "../jobs", "check-00000000000/", "CHECK-000000000000", "x" * 300]
)
def test_what_is_no_job_s_id_finds_none(name: str, tmp_path: Path) -> None:
    new_job(tmp_path, "check", {})
    assert find_job(tmp_path, name) is None


def test_a_folder_that_is_not_whole_holds_nobody_up(frozen: Path) -> None:
    home = frozen / ".autoscirub" / "jobs"
    (home / "check-00000000000a").mkdir(parents=True)
    future = 2**33
    os.utime(home / "check-00000000000a", (future, future))
    with agent(frozen) as some:
        assert some.call("next")["jobs"] == []
        assert some.call("check")["state"] == "done"


def test_a_job_is_seen_only_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[Job]] = []
    write = Job.write

    def look_before_writing(self: Job, value: Any) -> None:
        seen.append(jobs(tmp_path))
        write(self, value)
        seen.append(jobs(tmp_path))

    monkeypatch.setattr(Job, "write", look_before_writing)
    job = new_job(tmp_path, "check", {})
    assert seen == [[], []]
    assert [each.id for each in jobs(tmp_path)] == [job.id]


def test_where_no_process_can_be_started_no_job_is_left(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(frozen / "is-not-there"))
    with agent(frozen) as some, pytest.raises(RefusedError, match="could not be started"):
        some.call("check")
    assert jobs(frozen / ".autoscirub") == []


def test_what_must_write_waits_for_a_lock_only_as_long_as_a_client_would(
    frozen: Path, held: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LOCK_SECONDS", 0.1)
    with agent(frozen) as some, pytest.raises(RefusedError, match="held by") as refused:
        some.call("plan_round", targets=[{"criterion_id": "table"}])
    assert "next() names it" in str(refused.value)


def test_those_who_wait_for_a_lock_keep_nobody_waiting_who_only_looks(frozen: Path, held: StateStore) -> None:
    async def many(client: Any) -> Any:
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(client.call_tool, "plan_round", {"targets": [{"criterion_id": "table"}]})
            with anyio.fail_after(5):
                evaluated = await client.call_tool("evaluate_expr", {"expr": "1 + 1"})
            group.cancel_scope.cancel()
        return evaluated

    with agent(frozen) as some:
        assert some.portal.call(many, some.client).structured_content["value"] == 2


def test_a_link_in_the_place_of_a_job_is_none(tmp_path: Path) -> None:
    job = new_job(tmp_path, "check", {})
    (tmp_path / "jobs" / "judge-000000000000").symlink_to(job.folder)
    assert find_job(tmp_path, "judge-000000000000") is None
    assert [each.id for each in jobs(tmp_path)] == [job.id]
