"""Recorded replies: given again for the same question alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.judging.judges import Saying, cost, failing

from autoscirub.errors import ConfigError, JudgeError
from autoscirub.judging.backends import (
    Backend,
    RecordingBackend,
    SpendLimit,
    ask_within,
    open_backend,
    record_name,
    record_reply,
    recording_folder,
    repair_within,
    with_faults,
)
from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest, Usage


def replay(root: Path, folder: str = "records") -> Backend:
    backend = open_backend(JudgeConfig(backend="replay", replay=folder), root, trusted=False)
    assert backend is not None
    return backend


def test_a_recorded_reply_is_given_again_for_nothing(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    usage = Usage(input_tokens=10, turns=3, cost_usd=0.5, seconds=7.0)
    recorded = JudgeReply(text="words", structured={"satisfied": True}, model_served="m-1", usage=usage)
    record_reply(tmp_path / "records", question(), recorded)
    spend_limit = SpendLimit(limit_round=0.1)

    async def asked() -> JudgeReply:
        return await ask_within(replay(tmp_path), question(), spend_limit=spend_limit)

    reply = anyio.run(asked)
    assert (reply.text, reply.structured, reply.model_served) == (
        recorded.text,
        recorded.structured,
        recorded.model_served,
    )
    assert reply.usage == usage.model_copy(update={"cost_usd": 0.0, "recorded_cost_usd": 0.5})
    assert (spend_limit.spent, spend_limit.unknown) == (0.0, 0)


def test_a_reply_that_was_replayed_can_be_recorded_again(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    record_reply(tmp_path / "records", question(), cost(0.5))
    for _ in range(2):
        record_reply(tmp_path / "records", question(), anyio.run(ask_within, replay(tmp_path), question()))
    assert anyio.run(ask_within, replay(tmp_path), question()).usage.recorded_cost_usd == 0.5


@pytest.mark.parametrize(
    "changes", [{"prompt_digest": "c" * 64}, {"workspace_digest": "c" * 64}, {"member": 2}]
)
def test_another_question_another_folder_and_another_member_have_no_record(
    tmp_path: Path, question: Callable[..., JudgeRequest], changes: dict[str, Any]
) -> None:
    record_reply(tmp_path / "records", question(), cost(None))
    other = question(**changes)
    assert record_name(other) != record_name(question())
    with pytest.raises(JudgeError) as caught:
        anyio.run(ask_within, replay(tmp_path), other)
    for part in (record_name(other), str(tmp_path / "records"), other.prompt_digest, other.workspace_digest):
        assert part in str(caught.value)


def test_a_repair_is_a_question_of_its_own(tmp_path: Path, question: Callable[..., JudgeRequest]) -> None:
    record_reply(tmp_path / "records", question(), JudgeReply(text="first"))
    record_reply(tmp_path / "records", with_faults(question(), "faults"), JudgeReply(text="second"))
    backend = replay(tmp_path)
    assert anyio.run(repair_within, backend, question(), cost(None), "faults").text == "second"


@pytest.mark.parametrize("folder", ["..", "../elsewhere", "/etc", "a\0b", "link"])
def test_records_outside_of_the_project_are_refused(tmp_path: Path, folder: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="leads out of the project"):
        replay(project, folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"{", "is cut off"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"text": "a", "text": "b"}', "appears twice"),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b"[]", "is not a recorded reply"),
        (b"{}", "is not a recorded reply: text: Field required"),
        (b'{"text": "a", "usage": {"cost_usd": "free"}}', "usage.cost_usd"),
        (b'{"text": "a", "usage": {"cost_usd": NaN}}', "NaN"),
        (b'{"text": "' + b"a" * 4_000_001 + b'"}', "more than the limit"),
    ],
)
def test_a_hostile_record_is_an_error_that_names_it(
    tmp_path: Path, question: Callable[..., JudgeRequest], content: bytes, words: str
) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / record_name(question())).write_bytes(content)
    with pytest.raises(JudgeError, match=words) as caught:
        anyio.run(ask_within, replay(tmp_path), question())
    assert record_name(question()) in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("kind", ["fifo", "folder", "link"])
def test_a_record_that_is_no_file_is_never_opened(
    tmp_path: Path, question: Callable[..., JudgeRequest], kind: str
) -> None:
    (tmp_path / "records").mkdir()
    path = tmp_path / "records" / record_name(question())
    {"fifo": os.mkfifo, "folder": os.mkdir, "link": lambda path: path.symlink_to("/etc/passwd")}[kind](path)
    with pytest.raises(JudgeError, match="expected a regular file"):
        anyio.run(ask_within, replay(tmp_path), question())


# Recording the replies of another judge


def test_each_reply_of_another_judge_is_recorded_for_replay(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    judge = Saying(lambda asked: JudgeReply(text=f"{asked.member}: {asked.prompt}"), price=0.25)
    recording = RecordingBackend(judge, tmp_path / "records")
    assert isinstance(recording, Backend)
    assert (recording.name, recording.settings()) == (judge.name, judge.settings())
    assert recording.price(question()) == 0.25

    async def asked(backend: Backend) -> list[str]:
        first = await ask_within(backend, question())
        second = await ask_within(backend, question(member=2))
        back = await repair_within(backend, question(), first, "is it meant?")
        return [reply.text for reply in (first, second, back)]

    replies = anyio.run(asked, recording)
    assert len({*replies}) == len(judge.asked) == 3
    assert anyio.run(asked, replay(tmp_path)) == replies


def test_a_judge_without_a_repair_is_recorded_too(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    judge = Saying(lambda asked: JudgeReply(text=asked.prompt))
    judge.repair = None  # type: ignore[assignment, method-assign]
    recording = RecordingBackend(judge, tmp_path / "records")
    text = anyio.run(repair_within, recording, question(), cost(None), "faults").text
    assert "faults" in text
    assert anyio.run(repair_within, replay(tmp_path), question(), cost(None), "faults").text == text


def test_of_a_judge_that_fails_nothing_is_recorded(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    recording = RecordingBackend(Saying(lambda _: failing(JudgeError("no"))), tmp_path / "records")
    with pytest.raises(JudgeError, match="^no$"):
        anyio.run(ask_within, recording, question())
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("folder", ["records", ".", "results/records", "replies-2", "link"])
def test_records_where_a_judge_would_see_them_are_refused(tmp_path: Path, folder: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    where = tmp_path / folder if folder == "link" else project / folder
    with pytest.raises(ConfigError, match="--record: a judge would see .* and the verdicts in it"):
        recording_folder(where, project, project / ".autoscirub", "replies")
    with pytest.raises(ConfigError, match="a judge would see"):
        recording_folder(where, project, project / ".autoscirub", None)


def test_records_outside_and_where_no_judge_looks_are_fine(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for where in (
        tmp_path / "elsewhere",
        project / "replies",
        project / "replies" / "1",
        project / ".autoscirub",
    ):
        assert recording_folder(where, project, project / ".autoscirub", "replies") == where
