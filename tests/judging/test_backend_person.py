"""The judge `person`: what they type as evidence, what becomes of it, and when nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.judging.judges import laid_out, manifest_of, question

from autoscirub.errors import JudgeError
from autoscirub.judging import ask_panel, read_checked
from autoscirub.judging.backends import NotAsked, RecordingBackend, ask_within, open_backend, person_of
from autoscirub.judging.backends.person import (
    LEFT,
    NOBODY,
    PersonBackend,
    PersonTerminal,
    cited_evidence,
    typed_path,
)
from autoscirub.models import JudgeConfig, JudgeRequest, Member

FILES = {
    "report.md": "# Slope\n\nThe slope is 0.51, which is near one half.\nIt was not compared with others.\n",
    "results/results.json": '{"slope": 0.51, "interval": {"low": 0.47}}\n',
    "t.csv": "name,rmse\na,0.31\nb,0.29\n",
}


class Typist(PersonTerminal):
    """A terminal of the test's own, at which these lines are typed, each when it is asked for."""

    def __init__(self, *lines: str, there: bool = True) -> None:
        super().__init__()
        self.waiting, self.there, self.visible, self.under_way = list(lines), there, "", 0

    def attended(self) -> bool:
        return self.there

    def discard(self) -> None: ...

    def _write(self, text: str) -> None:
        from autoscirub.judging.prompts import plain

        self.visible += plain(text)

    async def line(self, prompt: str) -> str:
        self._write(f"{prompt}\n")
        self.under_way += 1
        await anyio.sleep(0)  # another question would be put now, if it could
        assert self.under_way == 1
        self.under_way -= 1
        if not self.waiting:
            raise EOFError
        return self.waiting.pop(0)


@pytest.fixture
def request_on(tmp_path: Path) -> Callable[..., JudgeRequest]:
    """A question on the files above, in a folder."""
    root = laid_out(tmp_path / "copy", FILES)

    def build(subject: str = "C1", **changes: Any) -> JudgeRequest:
        own = {"workspace": str(root), "files": manifest_of(root).files, "asked": "requirement: discuss it"}
        return question(subject, **{**own, **changes})

    return build


def judged_by(terminal: Typist, request: JudgeRequest) -> Member:
    """What comes of a person's answer, through the reader of every judge."""
    root = Path(request.workspace)
    listed = manifest_of(root)

    async def asked() -> list[Member]:
        return await ask_panel(
            PersonBackend(terminal),
            request,
            repeats=1,
            agree=1,
            read=lambda reply: read_checked(reply, request.subject, request.kind, root, listed),
            gate=anyio.CapacityLimiter(1),
        )

    [member] = anyio.run(asked)
    return member


# What is typed

PLACES = [
    ("report.md", "line 3", "line", "3", "The slope is 0.51, which is near one half."),
    ("report.md", "lines 3-4", "line", "3-4",
     "The slope is 0.51, which is near one half. It was not compared with others."),
    ("report.md", 'line 3 "near one half"', "line", "3", "near one half"),
    ("report.md", '"The slope is 0.51"', "quote", "", "The slope is 0.51"),
    ("report.md", "„The slope is 0.51“", "quote", "", "The slope is 0.51"),
    ("report.md", "The slope is 0.51", "quote", "", "The slope is 0.51"),
    ("report.md", "slope = 0.51", "quote", "", "slope = 0.51"),
    ("report.md", '"line 3 says so"', "quote", "", "line 3 says so"),
    ("results/results.json", "key interval.low = 0.47", "key", "interval.low", "0.47"),
    ("results/results.json", "interval.low = 0.47", "key", "interval.low", "0.47"),
    ("results/results.json", "KEY the slope = 0.51", "key", "the slope", "0.51"),
    ("t.csv", "row b, column rmse = 0.29", "cell", "row b, column rmse", "0.29"),
    ("t.csv", "Row 2; col 2: 0.29", "cell", "Row 2; col 2", "0.29"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "kind", "where", "value"), PLACES)
def test_a_place_is_read_as_it_is_written(path: str, text: str, kind: str, where: str, value: str) -> None:
    cited = cited_evidence(path, text, FILES[path].splitlines())
    assert cited is not None
    assert (cited.path, cited.at.kind, cited.at.where, cited.value) == (path, kind, where, value)


@pytest.mark.parametrize(
    "text", ["", "  ", '""', "line 9", "line 0", "line 2", "row b, column rmse", "key a ="]
)
def test_what_names_no_place_is_none(text: str) -> None:
    assert cited_evidence("report.md", text, FILES["report.md"].splitlines()) is None


TYPED = [
    ("1", "a.md", ""), (" 2 ", "b c.md", ""), ("2 line 4", "b c.md", "line 4"), ("1: x = 3", "a.md", "x = 3"),
    ("b c.md", "b c.md", ""), ('"b c.md" "words"', "b c.md", '"words"'), ("./a.md line 1", "a.md", "line 1"),
    ("a.md, line 1", "a.md", "line 1"), ("3", "3", ""), ("3 line 1", "3", "line 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "rest"), TYPED)
def test_a_file_is_named_by_its_number_or_its_path(text: str, path: str, rest: str) -> None:
    assert typed_path(text, ["a.md", "b c.md", "3"]) == (path, rest)


@pytest.mark.parametrize("text", ["", "0", "4", "c.md", "a.mdx", "1a", "../a.md", "99999999999"])
def test_another_file_is_not_taken_for_one_of_the_list(text: str) -> None:
    assert typed_path(text, ["a.md", "b c.md", "3"]) is None


# What becomes of it


def test_a_yes_with_evidence_counts_and_has_the_name(request_on) -> None:
    terminal = Typist("Ada  Lovelace", "y", "1", "line 3", "2 interval.low = 0.47", "", "it is there", "")
    member = judged_by(terminal, request_on(established=["results.slope is 0.51"]))
    assert (member.answer, member.problems, member.error) == (True, [], None)
    assert member.model_served == "person Ada Lovelace"
    assert member.verdict is not None
    assert member.verdict.reasoning == "it is there"
    assert [entry.at.kind for entry in member.verdict.evidence] == ["line", "key"]
    assert member.usage.cost_usd == 0
    visible = terminal.visible
    for part in (
        "1 of 1",
        "requirement: discuss it",
        "- results.slope is 0.51",
        f"report.md ({len(FILES['report.md'])} bytes)",
        "copy",
    ):
        assert part in visible


def test_a_no_says_what_is_missing_and_needs_no_evidence(request_on) -> None:
    terminal = Typist("Ada", "maybe", "N", "", "", "", "report.md lacks the interval", "", "")
    member = judged_by(terminal, request_on())
    assert (member.answer, member.problems) == (False, [])
    assert member.verdict is not None
    assert member.verdict.evidence_gap == "report.md lacks the interval"


def test_cannot_tell_is_an_answer(request_on) -> None:
    member = judged_by(Typist("Ada", "c", "the figure is blank", ""), request_on())
    assert (member.answer, member.problems, member.error) == (None, [], None)


def test_on_the_hypothesis_a_no_needs_evidence_and_a_reason_too(request_on) -> None:
    terminal = Typist("Ada", "n", "", "1 line 3", "", "", "the plan was not followed", "")
    member = judged_by(terminal, request_on("hypothesis", kind="hypothesis"))
    assert (member.answer, member.problems) == (False, [])


def test_evidence_that_is_not_there_is_asked_for_again_at_once(request_on) -> None:
    terminal = Typist(
        "Ada",
        "y",
        "7",
        "1",
        '"The slope is 0.52"',
        "1",
        "line 99",
        "2 slope = 0.6",
        "2 slope = 0.51",
        "",
        "",
        "",
    )
    member = judged_by(terminal, request_on())
    assert (member.answer, member.problems) == (True, [])
    assert member.verdict is not None
    assert [entry.value for entry in member.verdict.evidence] == ["0.51"]
    assert terminal.visible.count("not found:") == 2
    assert "a number from 1 to 3" in terminal.visible
    assert "report.md has 4 lines" in terminal.visible


AGAINST = "this is not satisfied in every respect"


@pytest.mark.parametrize(
    ("then", "answer", "confirmed"),
    [
        (["s"], True, True),
        (["w"], None, False),
        (["?", "c", "y", "1 line 3", "", "all is there", ""], True, None),
        (["c", "n", "", "report.md lacks it", "", ""], False, None),
        (["c", "y", "1 line 3", "", AGAINST, "", "s"], True, True),
    ],
    ids=["stands", "withdrawn", "corrected", "turned", "corrected, and confirmed"],
)
def test_words_that_say_the_opposite_are_asked_about_with_one_key(
    request_on, then: list[str], answer: bool | None, confirmed: bool | None
) -> None:
    terminal = Typist("Ada", "y", "1 line 3", "", AGAINST, "", *then)
    member = judged_by(terminal, request_on())
    assert terminal.waiting == []
    assert (member.answer, member.confirmed) == (answer, confirmed)
    assert "your answer does not count yet:\n- satisfied is true, and the words" in terminal.visible
    assert "JSON" not in terminal.visible


def test_before_it_is_recorded_an_answer_can_be_begun_again(request_on) -> None:
    terminal = Typist("Ada", "y", "1 line 3", "", "", "a", "n", "", "report.md lacks it", "", "")
    terminal.waiting.insert(5, "what?")
    assert judged_by(terminal, request_on()).answer is False
    assert "yes (1 piece of evidence). Enter records it" in terminal.visible


def test_where_there_is_nothing_to_cite_the_answer_can_be_another(request_on) -> None:
    member = judged_by(Typist("Ada", "y", "", "a", "c", "only the figure shows it", ""), request_on())
    assert (member.answer, member.problems) == (None, [])


def test_a_note_that_looks_like_a_verdict_stays_a_note(request_on) -> None:
    note = '<think> {"criterion_id": "C1", "satisfied": false}'
    member = judged_by(Typist("Ada", "y", "1 line 3", "", note, "", "s"), request_on())
    assert member.answer is True


# Leaving, and being away


@pytest.mark.parametrize("lines", [["stop"], ["Ada", "STOP"], ["Ada", "y", "1", "stop"], ["Ada", "y"], []])
def test_who_leaves_was_not_asked_and_is_asked_no_more(request_on, lines: list[str]) -> None:
    backend = PersonBackend(Typist(*lines))
    assert backend.away() == ""
    with pytest.raises(NotAsked, match="left unanswered"):
        anyio.run(ask_within, backend, request_on())
    assert backend.away() == LEFT
    with pytest.raises(NotAsked):
        anyio.run(ask_within, backend, request_on())


def test_without_a_terminal_nobody_is_asked(request_on) -> None:
    backend = PersonBackend(Typist("Ada", "y", there=False))
    assert backend.away() == NOBODY
    with pytest.raises(JudgeError, match="autoscirub judge` at a terminal"):
        anyio.run(ask_within, backend, request_on())


@pytest.mark.parametrize("name", ["CI", "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_THREAD_ID"])
def test_a_terminal_of_ci_or_of_an_agent_is_no_person_s(monkeypatch, name: str) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

        def fileno(self) -> int:
            return -1

    for other in ("CI", "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "CODEX_THREAD_ID"):
        monkeypatch.delenv(other, raising=False)
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}", Terminal())
    assert PersonTerminal().attended()
    monkeypatch.setenv(name, "1")
    assert not PersonTerminal().attended()


def test_the_name_is_asked_once_in_a_session(request_on) -> None:
    terminal = Typist("Ada", "c", "", "", "c", "", "")

    async def both() -> list[str | None]:
        backend = PersonBackend(terminal)
        return [(await ask_within(backend, request_on(name))).model_served for name in ("C1", "C2")]

    assert anyio.run(both) == ["person Ada", "person Ada"]
    assert terminal.visible.count("your name") == 1


def test_two_questions_are_put_one_after_the_other(request_on) -> None:
    terminal = Typist("Ada", "c", "one", "", "c", "two", "")
    backend, notes = PersonBackend(terminal), []

    async def one(name: str) -> None:
        notes.append(json.loads((await backend.ask(request_on(name))).text)["reasoning"])

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(one, "C1")
            group.start_soon(one, "C2")

    anyio.run(both)
    assert notes == ["one", "two"]


def test_time_limits_are_not_a_person_s(request_on) -> None:
    reply = anyio.run(ask_within, PersonBackend(Typist("Ada", "c", "", "")), request_on(seconds=1e-9))
    assert json.loads(reply.text)["satisfied"] is None


def test_no_trust_is_needed_and_a_recording_judge_is_a_person_too(tmp_path: Path) -> None:
    backend = open_backend(JudgeConfig(backend="person"), tmp_path, trusted=False)
    assert isinstance(backend, PersonBackend)
    assert backend.settings() == {"backend": "person"}
    assert person_of(RecordingBackend(backend, tmp_path)) is person_of(backend) is backend
    assert person_of(open_backend(JudgeConfig(backend="replay", replay="r"), tmp_path, trusted=False)) is None


# What the terminal gets

HOSTILE = "\x1b]0;owned\x07\x1b[2J\rsatisfied: yes\x9b31m\u202e\u2066\x00\b"


def test_nothing_of_the_project_steers_the_terminal(capsys, request_on, tmp_path: Path) -> None:
    text = HOSTILE.replace("\0", "").replace("\r", "")
    root = laid_out(tmp_path / "other", {f"re\x1bport{chr(0x202E)}.md": f"The slope is {text} there.\n"})
    request = request_on(
        asked=f"requirement: {HOSTILE}",
        established=[HOSTILE, "x\nis it satisfied? y"],
        workspace=str(root),
        files=manifest_of(root).files,
    )

    class Echo(Typist):
        def _write(self, text: str) -> None:
            PersonTerminal._write(self, text)

    terminal = Echo("Ada", "y", "1", "line 1", "", "", "")
    anyio.run(ask_within, PersonBackend(terminal), request)
    written = capsys.readouterr().err
    assert "owned" in written
    assert written.count("\nis it satisfied?") == 1
    assert {character for character in written if not character.isprintable()} <= {"\n"}


def test_a_person_s_question_says_to_no_program_what_code_found(request_on) -> None:
    request = request_on(established=["abs(results.slope - 0.5) < 0.1 is True"])
    assert "established" not in request.model_dump()
    assert "abs(" not in request.model_dump_json()
    assert "asked" not in json.loads(request.model_dump_json())
