"""The MCP server as it is served, in the hands of the protocol's own tools: the Inspector and the conformance runner."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.clients.mcp_tools import SCENARIOS, conformance, inspect, inspected, with_token
from tests.e2e.clients.sandboxing import REPOSITORY, Box, boxed, first_line

pytestmark = pytest.mark.slow

WHERE = {"PYTHONPATH": str(REPOSITORY / "server")}
TOKEN = "0123456789abcdef" * 4
SERVE = [sys.executable, "-m", "autoscirub", "serve"]


@dataclass(frozen=True)
class Served:
    """The server over HTTP, in a box."""

    box: Box
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with boxed(tmp_path_factory.mktemp("served")) as box:
        (box.work / "prereg.toml").write_text(
            'hypothesis = "It falls."\npredictions = ["the slope is below 0"]\n'
        )
        environment = box.environment(**WHERE, AUTOSCIRUB_TOKEN=TOKEN)
        started = box.start([*SERVE, "--http", "--port", "0"], environment)
        address = re.search(r"127\.0\.0\.1:(\d+)/mcp", first_line(started, "stderr"))
        assert address is not None
        yield Served(box, int(address[1]))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_runner_finds_no_fault_with_the_server(served: Served, scenario: str) -> None:
    with with_token(served.box, served.port, TOKEN) as port:
        done = conformance(served.box, f"http://127.0.0.1:{port}/mcp", scenario)
    assert done.status == 0, done
    assert "0 failed, 0 warnings" in done.out, done


def test_the_inspector_is_let_in_with_the_token_alone(served: Served) -> None:
    target: list[str | Path] = [served.url]
    assert inspected(served.box, target, "tools/list").status != 0
    token = ("--header", f"Authorization: Bearer {TOKEN}")
    assert "next" in {tool["name"] for tool in inspect(served.box, target, "tools/list", *token)["tools"]}


def test_the_inspector_finds_the_same_tools_over_both_transports_and_no_schema_that_clients_stumble_over(
    served: Served,
) -> None:
    local: list[str | Path] = ["/usr/bin/env", f"PYTHONPATH={WHERE['PYTHONPATH']}", *SERVE]
    over_stdio = inspect(served.box, local, "tools/list", "--strict")
    token = ("--header", f"Authorization: Bearer {TOKEN}")
    assert over_stdio == inspect(served.box, [served.url], "tools/list", *token)
    for tool in over_stdio["tools"]:
        assert {*tool["annotations"]} >= {
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        }
        assert tool["outputSchema"]["type"] == "object"
