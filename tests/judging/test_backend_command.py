"""The command backend: what may be started, what another judge is, and what a program says."""

from __future__ import annotations

import json
import os
import re
import subprocess
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
from tests.judging.judges import command

from autoscirub.errors import AutoscirubError, ConfigError, JudgeError, TrustError
from autoscirub.judging.backends import SpendLimit, ask_within, open_backend, repair_within
from autoscirub.judging.backends.limits import GRACE_SECONDS
from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest, ProjectConfig
from autoscirub.store import trust_view


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


def test_a_judge_that_cannot_be_ended_has_said_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: Callable[..., JudgeRequest]
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def powerless(process: subprocess.Popen[bytes], *_: object, **__: object) -> list[int]:
        started.append(process)
        return []

    async def wait(_process: object, scope: anyio.CancelScope) -> None:
        scope.cancel()

    monkeypatch.setattr("autoscirub.sandbox.answering.end_all", powerless)
    monkeypatch.setattr("autoscirub.sandbox.answering.descendants", lambda _: [])
    monkeypatch.setattr("autoscirub.sandbox.answering._wait", wait)
    try:
        with pytest.raises(JudgeError, match="1 of its processes could not be ended"):
            anyio.run(ask_within, command(tmp_path, "/bin/sleep", "60"), question())
    finally:
        for process in started:
            process.terminate()
            process.wait()


def test_a_workspace_that_is_gone_is_said(tmp_path: Path, question: Callable[..., JudgeRequest]) -> None:
    with pytest.raises(AutoscirubError, match="cannot be started in /nowhere"):
        anyio.run(
            ask_within, command(tmp_path, sys.executable, "-c", "1"), question(workspace="/nowhere/at/all")
        )


def test_a_command_may_say_what_it_used(tmp_path: Path, question: Callable[..., JudgeRequest]) -> None:
    envelope = {
        "structured": {"satisfied": True},
        "model_served": "m",
        "usage": {"cost_usd": 0.25, "turns": 2},
    }
    backend = command(tmp_path, sys.executable, "-c", f"print({json.dumps(envelope)!r})")
    spend_limit = SpendLimit()

    async def asked() -> JudgeReply:
        return await ask_within(backend, question(), spend_limit=spend_limit)

    reply = anyio.run(asked)
    assert (reply.structured, reply.model_served, reply.usage.cost_usd) == ({"satisfied": True}, "m", 0.25)
    assert spend_limit.spent == 0.25
    for wrong in ({"text": 3}, {"structured": {}, "usage": {"cost_usd": "much"}}):
        backend = command(tmp_path, sys.executable, "-c", f"print({json.dumps(wrong)!r})")
        with pytest.raises(JudgeError, match="not a JudgeReply"):
            anyio.run(ask_within, backend, question())


def test_a_command_is_asked_to_repair_with_the_faults_in_the_question(
    tmp_path: Path, question: Callable[..., JudgeRequest]
) -> None:
    script = "import json, sys; print(json.dumps({'prompt': json.load(sys.stdin)['prompt']}))"
    backend = command(tmp_path, sys.executable, "-c", script)
    reply = anyio.run(repair_within, backend, question(), JudgeReply(text="?"), "criterion c1: no verdict")
    assert reply.structured["prompt"].startswith("is it so?\n\n")
    assert "and replied.\ncriterion c1: no verdict" in reply.structured["prompt"]


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
    sent = {name for name, field in JudgeRequest.model_fields.items() if not field.exclude}
    assert named == sent
    assert f"within {GRACE_SECONDS:g} seconds is left behind" in " ".join(page.split())
    assert all(
        f"`{name}`" in page or f"{name}(" in page for name in ("name", "ask", "repair", "settings", "price")
    )
