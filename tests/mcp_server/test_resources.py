"""Resources and prompts: what ships and what lies in the state directory, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.mcp_server.agents import MCPError, agent

from autoscirub.mcp_server.resources import TEMPLATES, skill_names
from autoscirub.models.schema import MODELS


def test_the_four_kinds_are_offered_as_templates(bare: Path) -> None:
    with agent(bare) as some:
        offered = [
            template.uri_template for template in some.ask("list_resource_templates").resource_templates
        ]
    assert offered == [template.uri_template for template in TEMPLATES]
    assert [uri.split("/")[2] for uri in offered] == ["state", "rounds", "schemas", "skills"]


def test_every_schema_and_every_skill_is_listed_and_can_be_read(bare: Path) -> None:
    with agent(bare) as some:
        uris = [str(resource.uri) for resource in some.ask("list_resources").resources]
        assert uris == [f"autoscirub://schemas/{name}" for name in sorted(MODELS)] + [
            f"autoscirub://skills/{name}" for name in skill_names()
        ]
        for uri in uris:
            assert some.read(uri)


def test_a_state_file_is_listed_once_it_is_there_and_read_as_it_lies_there(frozen: Path) -> None:
    with agent(frozen) as some:
        uris = [str(resource.uri) for resource in some.ask("list_resources").resources]
        assert "autoscirub://state/executable_rubric.json" in uris
        listed = {uri.removeprefix("autoscirub://state/") for uri in uris if "/state/" in uri}
        assert listed == {"run_manifest.json", "executable_rubric.json"}
        text = some.read("autoscirub://state/executable_rubric.json")
        some.call("check")
        nested = some.read("autoscirub://state/revisions/round-001/verification.json")
    assert text == (frozen / ".autoscirub" / "executable_rubric.json").read_text("utf-8")
    assert json.loads(nested)["round"] == 1


MISSING = [
    "autoscirub://state/../prereg.toml",
    "autoscirub://state/revisions/../../secret.json",
    f"autoscirub://state/{quote('../secret.json', safe='')}",
    "autoscirub://state//etc/passwd",
    "autoscirub://state/history.bundle",
    "autoscirub://state/.lock",
    "autoscirub://state/link.json",
    "autoscirub://state/jobs/x/answer.json",
    "autoscirub://state/verification.json",
    "autoscirub://rounds/0",
    "autoscirub://rounds/1",
    "autoscirub://rounds/../1",
    "autoscirub://schemas/../../pyproject",
    "autoscirub://skills/../README",
    "autoscirub://elsewhere/x",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("uri", MISSING)
def test_anything_else_is_no_resource(uri: str, frozen: Path) -> None:
    (frozen / "secret.json").write_text('"canary"', encoding="utf-8")
    (frozen / ".autoscirub" / "link.json").symlink_to(frozen / "secret.json")
    with agent(frozen) as some, pytest.raises(MCPError) as missing:
        some.read(uri)
    assert "canary" not in str(missing.value)


def test_there_is_one_prompt_for_each_skill_with_its_description_and_text(bare: Path) -> None:
    with agent(bare) as some:
        offered = some.ask("list_prompts").prompts
        assert [prompt.name for prompt in offered] == skill_names()
        for prompt in offered:
            assert prompt.description
            [message] = some.ask("get_prompt", prompt.name).messages
            assert "---" not in message.content.text.splitlines()[0]
        with pytest.raises(MCPError, match="there is no prompt"):
            some.ask("get_prompt", "../README")
