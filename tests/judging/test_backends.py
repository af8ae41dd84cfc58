"""Backends: opening, what a command may be, recorded replies, packages that register one, limits from outside, money."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
import tomllib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from autoscirub.errors import AutoscirubError, ConfigError, JudgeError, TrustError
from autoscirub.judging import (
    Backend,
    Purse,
    ask_within,
    keep_so_far,
    open_backend,
    record_name,
    record_reply,
    repair_within,
    with_faults,
)
from autoscirub.judging.backends import BUILT_IN
from autoscirub.judging.backends.limits import GRACE_SECONDS
from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest, ProjectConfig, Usage
from autoscirub.store import trust_view


@pytest.fixture
def question(tmp_path: Path) -> Callable[..., JudgeRequest]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def build(**changes: Any) -> JudgeRequest:
        own = {
            "kind": "criterion",
            "subject": "c1",
            "system": "a judge",
            "prompt": "is it so?",
            "answer_schema": {},
            "workspace": str(workspace),
            "seconds": 60.0,
            "turns": 10,
            "prompt_digest": "a" * 64,
            "workspace_digest": "b" * 64,
        }
        return JudgeRequest.model_validate({**own, **changes})

    return build


class Saying:
    """A judge of the test's own: does what it is told."""

    name = "saying"

    def __init__(self, answer: Callable[[JudgeRequest], Any], price: float | None = None) -> None:
        self._answer, self._price = answer, price
        self.asked: list[JudgeRequest] = []

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        self.asked.append(request)
        found = self._answer(request)
        return await found if hasattr(found, "__await__") else found

    async def repair(self, request: JudgeRequest, _reply: JudgeReply, faults: str) -> JudgeReply:
        return await self.ask(with_faults(request, faults))

    def settings(self) -> dict[str, Any]:
        return {"backend": self.name}

    def price(self, _request: JudgeRequest) -> float | None:
        return self._price


def cost(amount: float | None) -> JudgeReply:
    return JudgeReply(text="{}", usage=Usage(cost_usd=amount))


# Opening


def test_none_is_no_judge(tmp_path: Path) -> None:
    assert open_backend(JudgeConfig(), tmp_path, trusted=True) is None


def test_an_unknown_name_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'oracle' is not known; known are none, command, replay"):
        open_backend(JudgeConfig(backend="oracle"), tmp_path, trusted=True)


@pytest.mark.parametrize("backend", ["command", "replay"])
def test_one_without_what_it_needs_is_refused(tmp_path: Path, backend: str) -> None:
    with pytest.raises(ConfigError, match=f"judge.{backend} is not set"):
        open_backend(JudgeConfig(backend=backend), tmp_path, trusted=True)


def test_what_is_built_in_is_a_backend(tmp_path: Path) -> None:
    for config in (JudgeConfig(backend="command", command=["x"]), JudgeConfig(backend="replay", replay="r")):
        assert isinstance(open_backend(config, tmp_path, trusted=False), Backend)


# Registered by a package


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, entry: str, module: str) -> None:
    """A distribution on the path, as an installer leaves it."""
    package = name.replace("-", "_")
    (folder / f"{package}-1.0.dist-info").mkdir(parents=True)
    info = folder / f"{package}-1.0.dist-info"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[autoscirub.judges]\n{entry}\n")
    (folder / f"{package}.py").write_text(module)
    monkeypatch.syspath_prepend(str(folder))


ORACLE = """
from autoscirub.models import JudgeReply

class Oracle:
    name = "oracle"
    def __init__(self, config, root, trusted): self.config, self.root, self.trusted = config, root, trusted
    async def ask(self, request): return JudgeReply(text=f"{self.config.model} {self.root.name} {self.trusted}")
    async def repair(self, request, reply, faults): return await self.ask(request)
    def settings(self): return {"backend": self.name, "model": self.config.model}
    def price(self, request): return 0.5

def open_oracle(config, root, trusted): return Oracle(config, root, trusted)
"""


def test_a_package_s_own_is_opened_with_configuration_place_and_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: Callable[..., JudgeRequest]
) -> None:
    install(
        tmp_path / "site", monkeypatch, "oracle-judge", "oracle = oracle_judge:open_oracle\nx = a:b", ORACLE
    )
    backend = open_backend(JudgeConfig(backend="oracle", model="m1"), tmp_path, trusted=True)
    assert backend is not None
    assert backend.settings() == {"backend": "oracle", "model": "m1"}
    assert anyio.run(ask_within, backend, question()).text == f"m1 {tmp_path.name} True"
    with pytest.raises(ConfigError, match="known are none, command, replay, oracle, x;"):
        open_backend(JudgeConfig(backend="oracel"), tmp_path, trusted=True)


def test_a_package_cannot_take_over_what_is_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = "\n".join(f"{name} = taking_judge:open_oracle" for name in BUILT_IN)
    install(tmp_path / "site", monkeypatch, "taking-judge", entries, ORACLE)
    assert open_backend(JudgeConfig(backend="none"), tmp_path, trusted=True) is None
    for config in (JudgeConfig(backend="command", command=["x"]), JudgeConfig(backend="replay", replay="r")):
        found = open_backend(config, tmp_path, trusted=True)
        assert found is not None
        assert found.name == config.backend


def test_a_name_that_two_packages_register_is_nobody_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "one", monkeypatch, "one-judge", "seer = one_judge:open_oracle", ORACLE)
    install(tmp_path / "two", monkeypatch, "two-judge", "seer = two_judge:open_oracle", ORACLE)
    with pytest.raises(ConfigError, match="'seer' is registered by one-judge and two-judge; uninstall all"):
        open_backend(JudgeConfig(backend="seer"), tmp_path, trusted=True)


@pytest.mark.parametrize(
    ("entry", "module", "words"),
    [
        ("bad = {}:gone", "", "cannot be loaded: AttributeError"),
        ("bad = nowhere_{}:f", "", "cannot be loaded: ModuleNotFoundError"),
        ("bad = {}:f", "1/0", "cannot be loaded: ZeroDivisionError"),
        ("bad = {}:f", "raise SystemExit(1)", "cannot be loaded: SystemExit"),
        ("bad = {}:f", "f = 3", "is int, expected a function"),
        ("bad = {}:f", "def f(): pass", "cannot be opened: TypeError"),
        ("bad = {}:f", "def f(c, r, t): raise OSError('no key\\x1b[2J')", r"cannot be opened: OSError: no key \[2J;"),
        ("bad = {}:f", "def f(c, r, t): return None", "gave NoneType, which is no judge: it lacks name, ask,"),
    ],
)  # fmt: skip
def test_a_broken_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, module: str, words: str
) -> None:
    name = f"broken{abs(hash((entry, module)))}"
    install(tmp_path / "site", monkeypatch, name, entry.format(name), module)
    with pytest.raises(ConfigError, match=f"registered by {name} as .*{words}"):
        open_backend(JudgeConfig(backend="bad"), tmp_path, trusted=True)


# Command


def command(root: Path, *words: str, trusted: bool = True) -> Backend:
    backend = open_backend(JudgeConfig(backend="command", command=list(words)), root, trusted=trusted)
    assert backend is not None
    return backend


def test_a_command_that_nobody_trusted_is_not_run_and_can_be_looked_at(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    ran = tmp_path / "ran"
    backend = command(tmp_path, sys.executable, "-c", f"open({str(ran)!r}, 'w')", trusted=False)
    assert backend.settings()["programs"]
    assert backend.price(question()) is None
    with pytest.raises(TrustError, match="judge.command was not trusted"):
        anyio.run(ask_within, backend, question())
    assert not ran.exists()


def test_the_judge_s_command_is_part_of_what_is_trusted() -> None:
    def digest(**judge: Any) -> str | None:
        return trust_view(ProjectConfig(judge=JudgeConfig(**judge))).digest

    assert digest() is None
    view = trust_view(ProjectConfig(judge=JudgeConfig(command=["judge", "--now"])))
    assert view.programs == {"judge.command": ["judge", "--now"]}
    assert len({digest(command=["a"]), digest(command=["a", "b"]), digest(command=["c"])}) == 3
    # Also where another backend is set: one more word in the file would start it.
    assert digest(command=["a"], backend="none") == digest(command=["a"], backend="command")


@pytest.mark.parametrize("words", [["python3", "judge.py"], ["bash", "-x", "./judge.sh"], ["/usr/bin/python3.11", "a/b.py"]])  # fmt: skip
def test_a_script_of_the_judged_folder_is_refused(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(ConfigError, match=r'of the folder that is judged.*write "\{project\}/'):
        command(tmp_path, *words)


@pytest.mark.parametrize("words", [["python3", "{project}/j.py"], ["python3", "-m", "judge"], ["python3", "-c", "1"], ["sh", "-ec", "x"], ["node", "--eval", "1"], ["python3", "/opt/j.py"], ["llm", "report.md"]])  # fmt: skip
def test_what_starts_no_file_under_judgement_is_allowed(tmp_path: Path, words: list[str]) -> None:
    command(tmp_path, *words)


@pytest.mark.parametrize("words", [["env", "python3", "judge.py"], ["uv", "run", "judge.py"]])
def test_a_script_behind_a_launcher_is_refused_where_the_project_has_it(
    tmp_path: Path, words: list[str]
) -> None:
    command(tmp_path, *words)
    (tmp_path / "judge.py").write_text("")
    with pytest.raises(ConfigError, match="of the folder that is judged"):
        command(tmp_path, *words)


def test_a_module_under_judgement_is_not_taken_for_python_s_own(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    planted = Path(question().workspace) / "base64.py"
    planted.write_text("print('planted')")
    backend = command(tmp_path, sys.executable, "-c", "import base64, json; print('{}')")
    assert anyio.run(ask_within, backend, question()).text == "{}\n"
    backend = command(tmp_path, sys.executable, "-m", "base64", "-t")
    assert "planted" not in anyio.run(ask_within, backend, question()).text


@pytest.mark.parametrize("words", [[""], ["a\0b"], ["a", "\0"]])
def test_words_that_are_no_command_are_refused(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises((ConfigError, ValueError), match="empty|NUL"):
        command(tmp_path, *words)


def test_a_program_in_the_project_is_started_from_the_project(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    project = tmp_path / "project"
    (project / "tools").mkdir(parents=True)
    script = project / "tools" / "judge"
    script.write_text('#!/bin/sh\necho "{\\"from\\": \\"$0\\"}"\n')
    script.chmod(0o755)
    workspace = Path(question().workspace)
    (workspace / "tools").mkdir()
    (workspace / "tools" / "judge").write_text("#!/bin/sh\necho planted\n")
    (workspace / "tools" / "judge").chmod(0o755)
    for words in (
        ["./tools/judge"],
        ["tools/judge"],
        ["{project}/tools/judge"],
        ["sh", "{project}/tools/judge"],
    ):
        backend = command(project, *words)
        assert anyio.run(ask_within, backend, question()).structured == {"from": str(script)}
        assert str(script) not in json.dumps(backend.settings())  # a clone elsewhere has the same key


def test_a_program_that_was_edited_is_another_judge(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    script = tmp_path / "judge.py"
    script.write_text("print('{}')")
    backend = command(tmp_path, sys.executable, "{project}/judge.py")
    first = backend.settings()
    assert backend.settings() == first
    assert len(first["programs"]["{project}/judge.py"]) == 64
    assert anyio.run(ask_within, backend, question()).structured == {}
    script.write_text("print('{\"satisfied\": true}')")
    with pytest.raises(JudgeError, match=r"\{project\}/judge.py was changed while it was judging"):
        anyio.run(ask_within, backend, question())
    assert command(tmp_path, sys.executable, "{project}/judge.py").settings() != first


@pytest.mark.parametrize(
    ("name", "mode", "words"),
    [
        ("no-such-program-anywhere", None, "unreachable: .*no such program on PATH"),
        ("/nowhere/judge", None, "no such program at /nowhere/judge"),
        ("./judge", 0o644, "cannot be executed"),
    ],
)
def test_a_program_that_cannot_be_started_is_unreachable(
    tmp_path: Path, question: Callable[..., JudgeRequest], name: str, mode: int | None, words: str
) -> None:
    if mode is not None:
        if os.geteuid() == 0 and mode & 0o111:
            pytest.skip("root executes everything")
        (tmp_path / "judge").write_text("x")
        (tmp_path / "judge").chmod(mode)
    backend = command(tmp_path, name)
    assert None in backend.settings()["programs"].values() or mode is not None
    with pytest.raises(JudgeError, match=words):
        anyio.run(ask_within, backend, question())


def test_a_bare_name_is_not_found_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: Callable[..., JudgeRequest]
) -> None:
    (tmp_path / "judge-here").write_text("#!/bin/sh\necho '{}'\n")
    (tmp_path / "judge-here").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    with pytest.raises(JudgeError, match="no such program on PATH"):
        anyio.run(ask_within, command(tmp_path, "judge-here"), question())


def test_a_workspace_that_is_gone_is_said(tmp_path: Path, question: Callable[..., JudgeRequest]) -> None:
    with pytest.raises(AutoscirubError, match="cannot be started in /nowhere"):
        anyio.run(
            ask_within, command(tmp_path, sys.executable, "-c", "1"), question(workspace="/nowhere/at/all")
        )


def test_a_command_may_say_what_it_used(tmp_path: Path, question: Callable[..., JudgeRequest]) -> None:
    told = {"structured": {"satisfied": True}, "model_served": "m", "usage": {"cost_usd": 0.25, "turns": 2}}
    backend = command(tmp_path, sys.executable, "-c", f"print({json.dumps(told)!r})")
    purse = Purse()

    async def asked() -> JudgeReply:
        return await ask_within(backend, question(), purse=purse)

    reply = anyio.run(asked)
    assert (reply.structured, reply.model_served, reply.usage.cost_usd) == ({"satisfied": True}, "m", 0.25)
    assert purse.spent == 0.25
    for wrong in ({"text": 3}, {"structured": {}, "usage": {"cost_usd": "much"}}):
        backend = command(tmp_path, sys.executable, "-c", f"print({json.dumps(wrong)!r})")
        with pytest.raises(JudgeError, match="no JudgeReply"):
            anyio.run(ask_within, backend, question())


def test_a_command_is_asked_to_repair_with_the_faults_in_the_question(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    script = "import json, sys; print(json.dumps({'prompt': json.load(sys.stdin)['prompt']}))"
    backend = command(tmp_path, sys.executable, "-c", script)
    reply = anyio.run(repair_within, backend, question(), JudgeReply(text="?"), "criterion c1: no verdict")
    assert reply.structured["prompt"].startswith("is it so?\n\n")
    assert "could not be used:\ncriterion c1: no verdict\n" in reply.structured["prompt"]


class _Model(BaseHTTPRequestHandler):
    """A language model that always says the same."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)  # type: ignore[attr-defined]
        answer = {
            "model": "served-1",
            "choices": [{"message": {"content": '{"criterion_id": "c1", "satisfied": null}'}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5},
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        pass


def test_the_program_of_the_page_asks_a_model_and_passes_on_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: Callable[..., JudgeRequest]
) -> None:
    whole = (Path(__file__).resolve().parents[2] / "docs" / "judging.md").read_text("utf-8")
    page = whole.split("\n## Plugging in a judge\n")[1].split("\n## ")[0]
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "judge.py").write_text(program, "utf-8")
    config = tomllib.loads(re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[0])["judge"]
    backend = open_backend(
        JudgeConfig.model_validate({**config, "model": "m", "seconds": 60}), tmp_path, trusted=True
    )
    assert backend is not None
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        server.asked = []  # type: ignore[attr-defined]
        monkeypatch.setenv("JUDGE_URL", f"http://127.0.0.1:{server.server_port}/v1/chat/completions")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            reply = anyio.run(ask_within, backend, question(model="m"))
        finally:
            server.shutdown()
    assert json.loads(reply.text) == {"criterion_id": "c1", "satisfied": None}
    assert reply.model_served == "served-1"
    assert (reply.usage.input_tokens, reply.usage.turns, reply.usage.cost_usd) == (7, 1, None)
    [asked] = server.asked  # type: ignore[attr-defined]
    assert [message["content"] for message in asked["messages"]] == ["a judge", "is it so?"]


def test_the_page_lists_the_request_s_fields_the_backend_s_members_and_the_grace() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "judging.md").read_text("utf-8")
    rows = page.split("| in the request |")[1].split("\n\n")[0]
    named = {name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(JudgeRequest.model_fields)
    assert f"within {GRACE_SECONDS:g} seconds is left behind" in " ".join(page.split())
    assert all(
        f"`{name}`" in page or f"{name}(" in page for name in ("name", "ask", "repair", "settings", "price")
    )


# Replay


def replay(root: Path, folder: str = "records") -> Backend:
    backend = open_backend(JudgeConfig(backend="replay", replay=folder), root, trusted=False)
    assert backend is not None
    return backend


def test_a_recorded_reply_is_given_again_for_nothing(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    usage = Usage(input_tokens=10, turns=3, cost_usd=0.5, seconds=7.0)
    said = JudgeReply(text="words", structured={"satisfied": True}, model_served="m-1", usage=usage)
    record_reply(tmp_path / "records", question(), said)
    purse = Purse(limit_round=0.1)

    async def asked() -> JudgeReply:
        return await ask_within(replay(tmp_path), question(), purse=purse)

    reply = anyio.run(asked)
    assert (reply.text, reply.structured, reply.model_served) == (
        said.text,
        said.structured,
        said.model_served,
    )
    assert reply.usage == usage.model_copy(update={"cost_usd": 0.0, "recorded_cost_usd": 0.5})
    assert (purse.spent, purse.unknown) == (0.0, 0)


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
    for told in (record_name(other), str(tmp_path / "records"), other.prompt_digest, other.workspace_digest):
        assert told in str(caught.value)


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
        (b'{"text": "a", "text": "b"}', "stands twice"),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b"[]", "is no recorded reply"),
        (b"{}", "is no recorded reply: text: Field required"),
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


# Limits from outside


def test_what_a_judge_says_is_kept_when_it_is_cut_off(question: Callable[..., JudgeRequest]) -> None:
    async def slow() -> JudgeReply:
        try:
            await anyio.sleep_forever()
        finally:
            keep_so_far("half of a ver")
        raise AssertionError

    with pytest.raises(JudgeError, match=r"saying: no answer within 0.05 s \(judge.seconds\);") as caught:
        anyio.run(ask_within, Saying(lambda _: slow()), question(seconds=0.05))
    assert caught.value.raw == "half of a ver"


def test_a_judge_that_swallows_its_cancellation_is_left_behind(
    question: Callable[..., JudgeRequest],
) -> None:
    async def stubborn() -> JudgeReply:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def asked() -> None:
        with anyio.fail_after(30):
            await ask_within(Saying(lambda _: stubborn()), question(seconds=0.05), grace=0.05)

    with pytest.raises(JudgeError, match="did not stop when told to, and was left behind"):
        anyio.run(asked)  # and the loop ends, too


def test_an_answer_that_comes_after_the_limit_does_not_count(question: Callable[..., JudgeRequest]) -> None:
    async def late() -> JudgeReply:
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            return JudgeReply(text="late")
        raise AssertionError

    with pytest.raises(JudgeError, match="no answer within"):
        anyio.run(ask_within, Saying(lambda _: late()), question(seconds=0.05))


def test_a_judge_that_waits_for_a_thread_does_not_hold_the_caller(
    question: Callable[..., JudgeRequest],
) -> None:
    free = threading.Event()

    async def asked() -> None:
        backend = Saying(lambda _: anyio.to_thread.run_sync(free.wait))
        try:
            with pytest.raises(JudgeError, match="no answer within"):
                await ask_within(backend, question(seconds=0.05), grace=0.05)
            assert not free.is_set()
        finally:
            free.set()

    anyio.run(asked)


def test_other_asks_go_on_while_one_judge_hangs(question: Callable[..., JudgeRequest]) -> None:
    async def asked() -> None:
        release = anyio.Event()

        async def waits() -> JudgeReply:
            await release.wait()
            return JudgeReply(text="after")

        async def releases() -> None:
            await ask_within(Saying(lambda _: JudgeReply(text="x")), question())
            release.set()

        async with anyio.create_task_group() as group:
            group.start_soon(releases)
            assert (await ask_within(Saying(lambda _: waits()), question())).text == "after"

    anyio.run(asked)


def _raise(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("what\nis this"), "saying: failed: ValueError: what is this"),
        (SystemExit(3), "saying: failed: SystemExit: 3"),
        (JudgeError("its own words"), "^its own words$"),
        (asyncio.CancelledError(), "it cancelled its own answer"),
        (TimeoutError(), "failed: TimeoutError"),
    ],
)
def test_whatever_a_backend_raises_is_a_judge_error(
    question: Callable[..., JudgeRequest], error: BaseException, words: str
) -> None:
    with pytest.raises(JudgeError, match=words):
        anyio.run(ask_within, Saying(lambda _: _raise(error)), question())


def test_a_reply_that_is_none_is_a_judge_error(question: Callable[..., JudgeRequest]) -> None:
    with pytest.raises(JudgeError, match="returned dict, expected a JudgeReply"):
        anyio.run(ask_within, Saying(lambda _: {"satisfied": True}), question())


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ({"turns": 11}, r"turn limit reached: 11 turns of 10 \(judge.turns\)"),
        ({"cost_usd": 2.5}, r"money limit reached: \$2.5 of \$2 \(judge.money\)"),
        ({"cost_usd": -1.0}, "says cost_usd = -1.0, which cannot be"),
        ({"input_tokens": -1}, "says input_tokens = -1"),
    ],
)
def test_a_limit_that_was_passed_is_named_and_the_answer_does_not_count(
    question: Callable[..., JudgeRequest], usage: dict[str, Any], words: str
) -> None:
    reply = JudgeReply(text="kept", usage=Usage(**usage))
    with pytest.raises(JudgeError, match=words) as caught:
        anyio.run(ask_within, Saying(lambda _: reply), question(money=2.0))
    assert caught.value.raw == "kept"


def test_what_reaches_a_limit_and_what_is_unknown_passes(question: Callable[..., JudgeRequest]) -> None:
    for usage in (Usage(turns=10, cost_usd=2.0), Usage()):
        reply = JudgeReply(text="x", usage=usage)
        got = anyio.run(ask_within, Saying(lambda _, reply=reply: reply), question(money=2.0))
        assert got.usage.cost_usd == usage.cost_usd


def test_a_backend_without_a_repair_is_asked_again(question: Callable[..., JudgeRequest]) -> None:
    backend = Saying(lambda _: JudgeReply(text="again"))
    backend.repair = None  # type: ignore[assignment, method-assign]
    assert anyio.run(repair_within, backend, question(), cost(None), "what was wrong").text == "again"
    [asked] = backend.asked
    assert "what was wrong" in asked.prompt
    assert asked.prompt_digest != question().prompt_digest


# Money


def spend(purse: Purse, request: JudgeRequest, told: float | None, price: float | None) -> None:
    async def asked() -> None:
        await ask_within(Saying(lambda _: cost(told), price), request, purse=purse)

    anyio.run(asked)


def test_a_price_that_does_not_fit_is_not_asked(question: Callable[..., JudgeRequest]) -> None:
    purse = Purse(limit_round=1.0)
    spend(purse, question(), 0.6, 0.5)
    with pytest.raises(
        JudgeError, match=r"not asked: money limit reached: \$0.6 of \$1 \(judge.money_round\)"
    ):
        spend(purse, question(), 0.6, 0.5)
    spend(purse, question(), 0.4, 0.4)
    assert purse.spent == pytest.approx(1.0)
    spend(purse, question(), 0.0, 0.0)  # what is free is always asked


def test_the_day_counts_what_was_paid_before(question: Callable[..., JudgeRequest]) -> None:
    with pytest.raises(JudgeError, match=r"\$9.8 of \$10 \(judge.money_day\)"):
        spend(Purse(limit_day=10.0, spent_day=9.8), question(), 0.5, 0.5)
    spend(Purse(limit_day=10.0, spent_day=9.8), question(), 0.1, 0.1)


def test_an_unknown_price_is_asked_until_the_limit_is_reached(question: Callable[..., JudgeRequest]) -> None:
    purse = Purse(limit_round=1.0)
    spend(purse, question(), 0.9, None)
    spend(purse, question(), 0.9, None)
    with pytest.raises(JudgeError, match="at a price that is unknown"):
        spend(purse, question(), 0.9, None)
    assert purse.spent == pytest.approx(1.8)


def test_a_cost_that_nobody_tells_is_unknown_and_never_nothing(question: Callable[..., JudgeRequest]) -> None:
    purse = Purse(limit_round=10.0)
    spend(purse, question(), None, None)
    spend(purse, question(), None, 0.25)
    spend(purse, question(), 0.5, None)
    assert (purse.spent, purse.estimated, purse.unknown) == (0.75, 1, 1)
    assert purse.said == "$0.75 spent, 1 of it by estimate, the cost of 1 more unknown"


def test_a_failure_may_have_cost_something_and_a_refusal_to_start_did_not(
    question: Callable[..., JudgeRequest], tmp_path: Path
) -> None:
    purse = Purse(limit_round=1.0)

    async def asked(backend: Backend) -> None:
        with pytest.raises(AutoscirubError):
            await ask_within(backend, question(), purse=purse)

    anyio.run(asked, Saying(lambda _: _raise(ValueError()), 0.3))
    assert (purse.spent, purse.estimated) == (0.3, 1)
    anyio.run(asked, Saying(lambda _: JudgeReply(text="", usage=Usage(turns=99, cost_usd=0.2)), 0.3))
    assert purse.spent == pytest.approx(0.5)
    anyio.run(asked, Saying(lambda _: _raise(TrustError("no")), 0.3))
    anyio.run(asked, command(tmp_path, "x", trusted=False))
    assert purse.spent == pytest.approx(0.5)
    assert purse.unknown == 0


def test_what_is_promised_to_asks_under_way_counts(question: Callable[..., JudgeRequest]) -> None:
    purse = Purse(limit_round=1.0)

    async def asked() -> None:
        release, running = anyio.Event(), anyio.Event()

        async def answer() -> JudgeReply:
            running.set()
            await release.wait()
            return cost(0.1)

        async with anyio.create_task_group() as group:

            async def first() -> None:
                await ask_within(Saying(lambda _: answer(), 0.8), question(), purse=purse)

            group.start_soon(first)
            await running.wait()
            with pytest.raises(JudgeError, match="spent or promised"):
                await ask_within(Saying(lambda _: cost(0.1), 0.8), question(), purse=purse)
            release.set()
        await ask_within(Saying(lambda _: cost(0.1), 0.8), question(), purse=purse)

    anyio.run(asked)
    assert purse.spent == pytest.approx(0.2)


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0, "much", True])
def test_an_estimate_that_is_no_amount_is_unknown(question: Callable[..., JudgeRequest], price: Any) -> None:
    purse = Purse(limit_round=1.0)
    spend(purse, question(), None, price)
    assert (purse.spent, purse.unknown) == (0.0, 1)


def test_judging_loads_no_event_loop_library_until_it_is_used() -> None:
    import subprocess

    code = "import sys, autoscirub.judging, autoscirub.sandbox; sys.exit('anyio' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "server")}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
