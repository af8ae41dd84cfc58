"""The real MCP server: a process of its own, started elsewhere with nothing in its environment, over both transports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import anyio
import filelock
import pytest
from mcp import Client, MCPError, StdioServerParameters

import autoscirub
from autoscirub.store import StateStore
from autoscirub.store.jobs import Job, jobs
from autoscirub.workflow.locks import freeze

SERVER = Path(autoscirub.__file__).resolve().parents[1]

RUBRIC = """\
[[criteria]]
id = "slope"
requirement = "The slope is computed."
judge = "never"
[[criteria.checks]]
id = "there"
kind = "expr"
expr = "0 < results.slope < 1"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "results").mkdir(parents=True)
    (folder / "autoscirub.toml").write_text('results = "results/results.json"\n', encoding="utf-8")
    (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    freeze(folder)
    (folder / "results" / "results.json").write_text('{"slope": 0.5}', encoding="utf-8")
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def command(project: Path, *more: str) -> list[str]:
    """The server with an environment in which it is found, and where it keeps its data; and nothing else."""
    bare = [f"PYTHONPATH={SERVER}", f"AUTOSCIRUB_DATA_DIR={os.environ['AUTOSCIRUB_DATA_DIR']}"]
    return ["env", "-i", *bare, sys.executable, "-m", "autoscirub", "serve", "--project", str(project), *more]


class Wire:
    """The server's standard input and output, line by line, with nothing of a client between."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self.lines = process, list[bytes]()
        self._id = 0

    def send(self, message: dict[str, Any]) -> None:
        pipe: IO[bytes] = self.process.stdin  # type: ignore[assignment]
        pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        pipe.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The response; every line until then is kept."""
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()  # type: ignore[union-attr]
            assert line, "the server is gone"
            self.lines.append(line)
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._id:
                return message

    def begin(self) -> None:
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        assert self.ask("initialize", about)["result"]["serverInfo"]["name"] == "autoscirub"
        self.send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result


@contextmanager
def wire(*started: str, cwd: Path) -> Iterator[Wire]:
    process = subprocess.Popen(
        started, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    errors = threading.Thread(target=lambda: process.stderr.read())  # type: ignore[union-attr]
    errors.start()
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait()
        errors.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()  # type: ignore[union-attr]


PRINTING = """\
import os, subprocess, sys
print("printed at import")
os.write(1, b"written to descriptor 1 at import\\n")
subprocess.run(["echo", "a child's words"])

def evaluate(*arguments):
    print("printed while a tool worked")
    os.write(1, b"written to descriptor 1\\n")
    subprocess.run(["echo", "a child's words"])
    return real(*arguments)

from autoscirub.mcp_server import handlers as work
real, work.evaluate = work.evaluate, evaluate
"""


def test_nothing_but_the_protocol_is_on_stdout_whatever_a_check_a_library_or_a_child_prints(
    project: Path, elsewhere: Path
) -> None:
    (elsewhere / "noisy.py").write_text(PRINTING, encoding="utf-8")
    start = (
        "import sys; from autoscirub.wire import take_wire, serve_wire; wire = take_wire(); import noisy, anyio; "
        "from pathlib import Path; from autoscirub.mcp_server.projects import ServedProjects; "
        "from autoscirub.mcp_server.server import make_server; "
        "anyio.run(serve_wire, make_server(ServedProjects(project=Path(sys.argv[1]))), *wire)"
    )
    environment = ["env", "-i", f"PYTHONPATH={SERVER}{os.pathsep}{elsewhere}"]
    with wire(*environment, sys.executable, "-c", start, str(project), cwd=elsewhere) as server:
        server.begin()
        assert server.call("evaluate_expr", expr="results.slope")["structuredContent"]["value"] == 0.5
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.lines)
        assert b"printed" not in b"".join(server.lines)


def test_it_starts_elsewhere_with_an_empty_environment_and_answers_while_a_check_prints(
    project: Path, elsewhere: Path
) -> None:
    """The check reruns a command that prints, in a process of the job's."""
    (project / "run.py").write_text("print('noise ' * 1000)\n", encoding="utf-8")
    with wire(*command(project), cwd=elsewhere) as server:
        server.begin()
        tools = server.ask("tools/list", {})["result"]["tools"]
        assert "evaluate_expr" in {tool["name"] for tool in tools}
        checked = server.call("check")["structuredContent"]
        assert (checked["project"], checked["ended"]) == (str(project), "satisfied")
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.lines)


def test_ten_calls_at_once_are_each_answered(project: Path, elsewhere: Path) -> None:
    async def talk() -> list[Any]:
        words = command(project)
        async with Client(StdioServerParameters(command=words[0], args=words[1:], cwd=elsewhere)) as client:
            answers: list[Any] = [None] * 10

            async def call(at: int) -> None:
                slow = at % 5 == 0
                tool = "verify_criterion" if slow else "evaluate_expr"
                arguments = (
                    {"criterion_id": "slope"} if slow else {"expr": f"results.a + {at}", "results": {"a": 1}}
                )
                answers[at] = await client.call_tool(tool, arguments)

            async with anyio.create_task_group() as group:
                for at in range(10):
                    group.start_soon(call, at)
            return answers

    answers = anyio.run(talk)
    assert not any(answer.is_error for answer in answers)
    assert [answers[at].structured_content["value"] for at in (1, 2, 3, 4, 6)] == [2, 3, 4, 5, 7]
    # Both ask the same: the second learns of the first one's job, or does it again.
    states = [answers[at].structured_content["state"] for at in (0, 5)]
    assert sorted(states) in (["done", "done"], ["done", "running"])


def ended(job: Job) -> dict[str, Any]:
    """The job's answer, once its process lets go of the job's lock."""
    with filelock.FileLock(job.folder / ".lock", timeout=60):
        answer = job.answer
    assert answer is not None
    assert answer.answer is not None
    return answer.answer


@pytest.mark.slow
def test_a_call_of_three_times_the_client_s_time_out_has_its_answer_afterwards(
    project: Path, elsewhere: Path
) -> None:
    time_out = 3.0

    async def talk() -> dict[str, Any]:
        words = command(project)
        parameters = StdioServerParameters(command=words[0], args=words[1:], cwd=elsewhere)
        store = StateStore(project / ".autoscirub")
        async with Client(parameters, read_timeout_seconds=time_out) as client:
            with store.writing():  # what must write waits
                with pytest.raises(MCPError, match="(?i)timed out"):
                    await client.call_tool("check", {})
                [job] = jobs(store.root)
                for _ in range(2):
                    with pytest.raises(MCPError, match="(?i)timed out"):
                        await client.call_tool("job", {"id": job.id})
                next_answer = await client.call_tool("next", {})
                assert next_answer.structured_content["next"]["arguments"] == {"id": job.id, "action": "wait"}
            await anyio.to_thread.run_sync(ended, job)
            answer = await client.call_tool("job", {"id": job.id})
            return dict(answer.structured_content)

    done = anyio.run(talk)
    assert (done["state"], done["answer"]["ended"]) == ("done", "satisfied")


def test_the_answer_is_there_when_client_and_server_died_meanwhile(project: Path, elsewhere: Path) -> None:
    store = StateStore(project / ".autoscirub")
    with store.writing(), wire(*command(project), cwd=elsewhere) as server:
        server.begin()
        name = server.call("check", wait_seconds=0)["structuredContent"]["job"]
        wait_for_start(Job(store.root / "jobs" / name))
        server.process.kill()
        server.process.wait()
    assert ended(Job(store.root / "jobs" / name))["ended"] == "satisfied"
    with wire(*command(project), cwd=elsewhere) as server:
        server.begin()
        answer = server.call("job", id=name)["structuredContent"]
    assert (answer["state"], answer["answer"]["all_satisfied"]) == ("done", True)


def wait_for_start(job: Job) -> None:
    """Wait until a process holds the job's lock: a lock that nobody holds is had at once, and let go of."""
    for _ in range(3000):
        if job.started:
            return
        threading.Event().wait(0.02)
    raise AssertionError(f"{job.id} did not begin")


UNREADABLE = [
    # a line, the id that is answered
    (b"garbage", None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\\ud800"}}', 7),
    (
        b'{"jsonrpc":"2.0","id":"seven","method":"ping","params":{"x":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}",
        "seven",
    ),
    (b'{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":' + b"9" * 5_000 + b"}}", 8),
]


def test_a_line_that_is_no_message_is_answered_with_the_protocol_s_error(
    project: Path, elsewhere: Path
) -> None:
    with wire(*command(project), cwd=elsewhere) as server:
        server.begin()
        for line, name in UNREADABLE:
            server.process.stdin.write(line + b"\n")  # type: ignore[union-attr]
            server.process.stdin.flush()  # type: ignore[union-attr]
            answer = json.loads(server.process.stdout.readline())  # type: ignore[union-attr]
            assert (answer["id"], answer["error"]["code"]) == (name, -32700)
        assert server.call("evaluate_expr", expr="1 + 1")["structuredContent"]["value"] == 2


def test_the_server_ends_with_its_client(project: Path, elsewhere: Path) -> None:
    with wire(*command(project), cwd=elsewhere) as server:
        server.begin()
        server.process.stdin.close()  # type: ignore[union-attr]
        assert server.process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (("--toolsets", "everything"), "toolset 'everything': expected core"),
        (("--http", "--port", "70000"), "--port"),
    ],
)
def test_a_wrong_request_is_said_on_stderr_with_status_3(
    more: tuple[str, ...], expected: str, project: Path, cli: Callable[..., Any]
) -> None:
    ran = cli("serve", "--project", project, *more)
    assert (ran.status, ran.out) == (3, "")
    assert expected in ran.err
