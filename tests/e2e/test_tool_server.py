"""The stdio server of a judge's tools as a client meets it: a process of its own, in another folder, without environment."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from PIL import Image

import autoscirub
from autoscirub.judging.tools import WorkspaceTools

SERVER = Path(autoscirub.__file__).resolve().parents[1]
BARE = {"PYTHONPATH": str(SERVER)}
"""All the environment that the server gets; a checkout needs to be found."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "private-host-folder" / "workspace"
    root.mkdir(parents=True)
    (root.parent / "canary.txt").write_text("canary-6f1d\n")
    (root / "report.md").write_text("The slope is 0.48.\n")
    for number in range(20):
        (root / f"f{number}.txt").write_text(f"number {number}\n")
    Image.new("RGB", (40, 20), (200, 0, 0)).save(root / "figure.png")
    return root


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def server_of(root: Path) -> list[str]:
    """What the page on judges says to start."""
    return [sys.executable, "-P", "-m", "autoscirub.judging.tools.server", str(root)]


def parameters(root: Path, cwd: Path) -> StdioServerParameters:
    # The SDK's client adds variables of its own, so `env -i` takes them off again.
    bare = [f"{name}={value}" for name, value in BARE.items()]
    return StdioServerParameters(command="env", args=["-i", *bare, *server_of(root)], cwd=cwd)


def ask(root: Path, cwd: Path, *calls: tuple[str, dict[str, Any]], at_once: bool = False) -> list[Any]:
    """What a client gets for its calls; first the list of tools."""

    async def talk() -> list[Any]:
        async with Client(parameters(root, cwd)) as client:
            answers: list[Any] = [await client.list_tools(), *[None] * len(calls)]

            async def call(at: int) -> None:
                answers[at + 1] = await client.call_tool(*calls[at])

            if at_once:
                async with anyio.create_task_group() as group:
                    for at in range(len(calls)):
                        group.start_soon(call, at)
            else:
                for at in range(len(calls)):
                    await call(at)
            return answers

    return anyio.run(talk)


def test_a_client_gets_four_tools_that_say_that_they_only_read(root, elsewhere) -> None:
    [listed] = ask(root, elsewhere)
    assert [tool.name for tool in listed.tools] == ["list", "glob", "grep", "read"]
    for tool, spec in zip(listed.tools, WorkspaceTools(root).tool_specs(), strict=True):
        assert tool.input_schema == spec.input_schema
        assert tool.description == spec.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.idempotent_hint is True
        assert tool.annotations.open_world_hint is False


def test_a_client_reads_text_and_pictures_and_is_refused_what_is_outside(root, elsewhere) -> None:
    _, text, picture, found, refused, unknown, wrong = ask(
        root,
        elsewhere,
        ("read", {"path": "report.md"}),
        ("read", {"path": "figure.png"}),
        ("grep", {"pattern": "number 1?7"}),
        ("read", {"path": "../canary.txt"}),
        ("write", {"path": "x"}),
        ("read", {"path": "report.md", "offset": 3}),
    )
    assert text.is_error is False
    assert text.content[0].text == WorkspaceTools(root).read("report.md").text
    assert [block.type for block in picture.content] == ["text", "image"]
    assert picture.content[1].mime_type == "image/png"
    with Image.open(io.BytesIO(base64.b64decode(picture.content[1].data))) as image:
        assert image.size == (40, 20)
    assert '"f17.txt":1│number 17' in found.content[0].text
    for answer, words in (
        (refused, '".." is not allowed'),
        (unknown, "no such tool"),
        (wrong, 'no argument "offset"'),
    ):
        assert answer.is_error is True
        assert words in answer.content[0].text
        assert "canary-6f1d" not in answer.content[0].text
        assert "private-host-folder" not in answer.content[0].text
    assert not any(answer.structured_content for answer in (text, picture, found))


def test_calls_at_the_same_time_each_get_their_own_answer(root, elsewhere) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [("read", {"path": f"f{number}.txt"}) for number in range(20)]
    calls += [("grep", {"pattern": f"^number {number}$"}) for number in range(20)]
    _, *answers = ask(root, elsewhere, *calls, at_once=True)
    for number in range(20):
        assert f"1│number {number}\n" in answers[number].content[0].text
        assert f'"f{number}.txt":1│number {number}\n' in answers[20 + number].content[0].text


# The wire itself


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}

NOISE = """
import os, sys

class Loud:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mcp", "mcp_types", "anyio"):
            print("noise of", name)
            sys.stdout.flush()
            os.write(1, b"more noise\\n")

sys.meta_path.insert(0, Loud())
"""


def converse(
    command: list[str], cwd: Path, env: dict[str, str], *requests: dict[str, Any]
) -> tuple[list[str], str, int]:
    """The lines on stdout, stderr and the exit status of a server that is asked one thing after the other."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        giving_up = threading.Timer(60, process.kill)  # a request without an answer would be waited for
        giving_up.start()
        lines = []
        for request in requests:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
            process.stdin.flush()
            if "id" in request:
                lines.append(process.stdout.readline())
        rest, errors = process.communicate()
        giving_up.cancel()
    return [*lines, *rest.splitlines()], errors, process.returncode


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_standard_output_holds_the_protocol_and_nothing_else_whatever_a_library_prints(
    root, elsewhere, tmp_path
) -> None:
    loud = tmp_path / "loud"
    loud.mkdir()
    (loud / "sitecustomize.py").write_text(NOISE)
    lines, errors, status = converse(
        server_of(root),
        elsewhere,
        {"PYTHONPATH": f"{loud}:{SERVER}"},
        HELLO,
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
        call(2, "read", path="figure.png"),
        call(3, "read", path="../canary.txt"),
        call(4, "read", path="\x1b[31m"),
        call(5, "grep", pattern="("),
    )
    assert "noise of mcp" in errors
    assert "more noise" in errors
    answers = [json.loads(line) for line in lines]
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4, 5]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert status == 0


def test_the_server_ends_when_its_client_closes_the_pipe(root, elsewhere) -> None:
    lines, errors, status = converse(server_of(root), elsewhere, BARE)
    assert (lines, errors, status) == ([], "", 0)


def test_a_line_that_is_no_message_does_not_end_the_server(root, elsewhere) -> None:
    done = subprocess.run(
        server_of(root),
        cwd=elsewhere,
        env=BARE,
        input=b"\xff\xfe not a message\n{}\n" + json.dumps(HELLO).encode() + b"\n",
        capture_output=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers if answer.get("id") is not None] == [0]
    assert done.returncode == 0


def test_what_lies_in_the_folder_that_it_is_started_in_is_not_imported(root, elsewhere) -> None:
    for name in ("json", "mcp", "anyio", "base64", "autoscirub"):
        (elsewhere / f"{name}.py").write_text("open('ran', 'w')\n")
    lines, _, status = converse(server_of(root), elsewhere, BARE, HELLO)
    assert json.loads(lines[0])["result"]["serverInfo"]["name"] == "autoscirub-judge"
    assert status == 0
    assert not (elsewhere / "ran").exists()


@pytest.mark.parametrize(
    "arguments", [["none"], ["report.md"], ["../workspace/f1.txt"], [], ["a", "b"], ["--help"]]
)
def test_a_root_that_is_no_folder_is_refused_in_words_with_exit_status_3(root, arguments) -> None:
    done = subprocess.run(
        [*server_of(root)[:-1], *arguments],
        cwd=root,
        env=BARE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot be the root of a workspace" in done.stderr or "usage: python -P -m" in done.stderr
    assert done.stderr.count("\n") == 1
