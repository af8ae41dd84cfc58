"""The package files of the plugin: one version, one name, and manifests that fit what is there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import autoscirub
from autoscirub.data import PLUGIN_PARTS, data_dir
from autoscirub.setup.clients.base import MARKETPLACE, PLUGIN

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> dict[str, Any]:
    return json.loads((ROOT / name).read_text("utf-8"))


VERSIONED = {
    ".claude-plugin/plugin.json": lambda it: [it["version"]],
    ".claude-plugin/marketplace.json": lambda it: [plugin["version"] for plugin in it["plugins"]],
    ".codex-plugin/plugin.json": lambda it: [it["version"]],
    "server.json": lambda it: [it["version"], *(package["version"] for package in it["packages"])],
}


@pytest.mark.parametrize("name", VERSIONED)
def test_its_version_is_the_package_s(name: str) -> None:
    versions = VERSIONED[name](read(name))
    assert versions == [autoscirub.__version__] * len(versions)
    assert (
        tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
        == autoscirub.__version__
    )


def test_both_manifests_say_the_same_of_the_plugin() -> None:
    claude, codex = read(".claude-plugin/plugin.json"), read(".codex-plugin/plugin.json")
    assert claude == {key: codex[key] for key in claude}
    assert claude["name"] == PLUGIN


@pytest.mark.parametrize("name", [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"])
def test_each_marketplace_has_the_one_plugin_at_its_root(name: str) -> None:
    market = read(name)
    [plugin] = market["plugins"]
    source = plugin["source"] if isinstance(plugin["source"], str) else plugin["source"]["path"]
    assert (market["name"], plugin["name"], source) == (MARKETPLACE, PLUGIN, "./")
    assert market.get("owner", market.get("interface"))


def test_what_codex_s_manifest_points_to_is_there() -> None:
    manifest = read(".codex-plugin/plugin.json")
    assert (ROOT / manifest["skills"]).is_dir()
    assert (ROOT / manifest["mcpServers"]).is_file()


def test_a_checkout_starts_the_server_from_path_and_the_clients_wait_for_its_tools() -> None:
    # Without the last two, Codex may lose the race for the first request, and Claude Code offers the names alone.
    server = {"command": "autoscirub", "args": ["serve"], "alwaysLoad": True, "required": True}
    assert read(".mcp.json") == {"mcpServers": {"autoscirub": server}}


def test_the_hooks_run_commands_of_ours_alone() -> None:
    events = read("hooks/hooks.json")["hooks"]
    commands = {hook["command"] for groups in events.values() for group in groups for hook in group["hooks"]}
    assert {"Stop", "SubagentStop", "PreToolUse"} <= events.keys()
    assert commands == {"autoscirub hook stop", "autoscirub hook pre-tool-use"}


def test_the_description_for_registries_starts_the_server_of_this_package() -> None:
    server = read("server.json")
    [package] = server["packages"]
    assert len(server["description"]) <= 100
    assert server["name"].count("/") == 1
    assert (package["identifier"], package["transport"]) == ("autoscirub", {"type": "stdio"})
    assert [argument["value"] for argument in package["packageArguments"]] == ["serve"]


def test_the_icon_is_what_a_plugin_directory_takes() -> None:
    with Image.open(ROOT / ".claude-plugin" / "icon.png") as icon:
        assert (icon.format, icon.size) == ("PNG", (512, 512))


def test_every_part_of_the_plugin_is_there_and_goes_into_the_wheel() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    included = build["targets"]["wheel"]["force-include"]
    for part in PLUGIN_PARTS:
        assert (data_dir("plugin") / part).exists()
        assert included[part] == f"autoscirub/_data/plugin/{part}"
    for kind in ("skills", "hooks"):
        assert included[kind] == f"autoscirub/_data/{kind}"
