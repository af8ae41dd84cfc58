"""The tools of the Model Context Protocol's own people: the Inspector's command line and the conformance runner."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.clients.sandboxing import Box, Ended, first_line, program

SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]


def inspect(box: Box, target: list[str | Path], method: str, *arguments: str, **env: str) -> Any:
    """One call of the Inspector, over stdio for a command, over HTTP for a URL; its answer."""
    done = inspected(box, target, method, *arguments, **env)
    assert done.status == 0, done
    return json.loads(done.out)


def inspected(box: Box, target: list[str | Path], method: str, *arguments: str, **env: str) -> Ended:
    """The same, as it ended."""
    command: list[str | Path] = [program("node"), program("mcp-inspector"), "--cli", *target]
    command += ["--method", method, *arguments]
    return box.run(command, box.environment(**env))


def conformance(box: Box, url: str, scenario: str) -> Ended:
    """One scenario of the conformance runner: exit status 0 where the server conforms."""
    command: list[str | Path] = [program("node"), program("conformance"), "server"]
    command += ["--url", url, "--scenario", scenario]
    return box.run(command, box.environment())


@contextmanager
def with_token(box: Box, port: int, token: str) -> Iterator[int]:
    """The port of a proxy to `port` that adds the token."""
    proxy = box.start(
        [sys.executable, Path(__file__).with_name("bearer_proxy.py"), str(port), token], box.environment()
    )
    yield int(first_line(proxy))
