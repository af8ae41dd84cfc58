"""`install`, `uninstall` and `doctor` with the real clients, offline, each in a fresh home."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Read when this module loads: each test starts with no AUTOSCIRUB_ variable.
CLIENTS = Path(os.environ.get("AUTOSCIRUB_CLIENTS") or ROOT / ".clients")
ID = "autoscirub@autoscirub"

pytestmark = pytest.mark.slow


def program(name: str) -> Path:
    """A client in the folder of clients, else on PATH; the test skips where it is in neither."""
    path = CLIENTS / "node_modules" / ".bin" / name
    found = str(path) if path.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is neither in {CLIENTS} nor on PATH")
    return Path(found)


@functools.cache
def without_network() -> list[str]:
    """How to run something in a network of its own, where that is allowed here."""
    for flags in ("-n", "-Urn"):
        if (
            shutil.which("unshare")
            and subprocess.run(["unshare", flags, "true"], capture_output=True).returncode == 0
        ):
            return ["unshare", flags]
    return []


@dataclass(frozen=True)
class Machine:
    """A home of its own, and what is run in it."""

    home: Path
    python: Path
    path: str

    @property
    def project(self) -> Path:
        return self.home / "project"

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        home = self.home
        environment = {
            "HOME": str(home),
            "PATH": self.path,
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "CODEX_HOME": str(home / "codex"),
            "AUTOSCIRUB_DATA_DIR": str(home / "data"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        return subprocess.run(
            [*without_network(), *map(str, command)],
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    def autoscirub(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.python, "-m", "autoscirub", *arguments)

    def doctor(self) -> dict[str, Any]:
        return {
            one["subject"]: one for one in json.loads(self.autoscirub("doctor", "--json").stdout)["decisions"]
        }


@pytest.fixture
def machine(tmp_path: Path, own_python: Path) -> Machine:
    for name in ("claude", "codex", "data", "project"):
        (tmp_path / name).mkdir()
    # No `autoscirub` on PATH: what is installed must start without it.
    folders = [
        CLIENTS / "node" / "bin",
        *(Path(found).parent for name in ("node", "git") if (found := shutil.which(name))),
    ]
    return Machine(tmp_path, own_python, os.pathsep.join(map(str, [*folders, "/usr/bin", "/bin"])))


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest, machine: Machine) -> tuple[str, Machine]:
    folder = machine.home / "programs"
    folder.mkdir()
    (folder / request.param).symlink_to(program(request.param))
    return request.param, Machine(machine.home, machine.python, f"{folder}{os.pathsep}{machine.path}")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SETTINGS = {
    "claude": ("claude/settings.json", '{\n    "model": "x",\n    "enabledPlugins": {"a@b": true}\n}\n'),
    "codex": ("codex/config.toml", '# mine\nmodel = "x" # keep\n\n[analytics]\nenabled = false\n'),
}


def test_the_client_loads_it_the_server_starts_and_everything_is_taken_back(client) -> None:
    name, machine = client
    settings = machine.home / SETTINGS[name][0]
    settings.write_text(SETTINGS[name][1], "utf-8")
    done = machine.autoscirub("install", name, "--yes")
    assert done.returncode == 0, done.stderr
    assert f"✓ {name}: installed" in done.stdout

    listed = json.loads(machine.run(name, "plugin", "list", "--json").stdout)
    ours = [
        entry
        for entry in (listed if name == "claude" else listed["installed"])
        if entry.get("id", entry.get("pluginId")) == ID
    ]
    assert [entry["enabled"] for entry in ours] == [True]

    found = machine.doctor()
    assert (found[f"{name}: plugin"]["answer"], found[f"{name}: server"]["answer"]) == ("holds", "holds")

    data_files = files_of(machine.home / "data")
    again = machine.autoscirub("install", name)
    assert (again.returncode, "nothing was changed" in again.stdout) == (0, True)
    assert files_of(machine.home / "data") == data_files

    gone = machine.autoscirub("uninstall", name, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert settings.read_text("utf-8") == SETTINGS[name][1]
    assert ID not in machine.run(name, "plugin", "list", "--json").stdout
    assert files_of(machine.home / "data") == {}
    assert list(machine.project.iterdir()) == []


def test_doctor_writes_nothing_beside_the_real_client(client, tree) -> None:
    name, machine = client
    machine.autoscirub("install", name, "--yes")
    before = tree(machine.home)
    assert machine.doctor()[name]["answer"] == "holds"
    assert tree(machine.home) == before


def test_the_published_plugin_of_the_same_name_is_refused_and_left_alone(client) -> None:
    name, machine = client
    other = machine.home / "published"
    for path, content in {
        ".claude-plugin/marketplace.json": {
            "name": "autoscirub-local",
            "owner": {"name": "others"},
            "plugins": [{"name": "autoscirub", "source": "./plugins/autoscirub"}],
        },
        "plugins/autoscirub/.claude-plugin/plugin.json": {"name": "autoscirub", "version": "0.1.0"},
        "plugins/autoscirub/.codex-plugin/plugin.json": {"name": "autoscirub", "version": "0.1.0"},
    }.items():
        (other / path).parent.mkdir(parents=True, exist_ok=True)
        (other / path).write_text(json.dumps(content), "utf-8")
    verb = {"claude": "install", "codex": "add"}[name]
    for command in (["marketplace", "add", str(other)], [verb, "autoscirub@autoscirub-local"]):
        added = machine.run(name, "plugin", *command)
        assert added.returncode == 0, added.stderr
    settings = machine.home / SETTINGS[name][0]
    before = settings.read_bytes()
    refused = machine.autoscirub("install", name, "--yes")
    assert refused.returncode == 3
    assert "another plugin of the same name: autoscirub@autoscirub-local" in refused.stderr
    assert settings.read_bytes() == before
    assert files_of(machine.home / "data") == {}


def test_for_a_project_of_claude_code_the_settings_of_that_project_name_it(client) -> None:
    name, machine = client
    done = machine.autoscirub("install", name, "--scope", "project", "--yes")
    if name == "codex":
        assert (done.returncode, "for the user alone" in done.stderr) == (3, True)
        return
    settings = machine.project / ".claude" / "settings.json"
    assert json.loads(settings.read_text("utf-8")) == {"enabledPlugins": {ID: True}}
    assert machine.autoscirub("uninstall", name, "--yes").returncode == 0
    assert list(machine.project.iterdir()) == []


def test_codex_s_hooks_are_told_to_be_untrusted_and_trusted_once_they_are(machine) -> None:
    codex = program("codex")
    folder = machine.home / "programs"
    folder.mkdir()
    (folder / "codex").symlink_to(codex)
    with_codex = Machine(machine.home, machine.python, f"{folder}{os.pathsep}{machine.path}")
    assert with_codex.autoscirub("install", "codex", "--yes").returncode == 0
    hooks = with_codex.doctor()["codex: hooks"]
    assert (hooks["answer"], hooks["word"]) == ("inconclusive", "0 of 3 trusted")

    trusting = (
        "import json, subprocess\n"
        "p = subprocess.Popen(['codex', 'app-server'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "def ask(number, method, params):\n"
        "    p.stdin.write(json.dumps({'id': number, 'method': method, 'params': params}) + '\\n'); p.stdin.flush()\n"
        "    while (answer := json.loads(p.stdout.readline())).get('id') != number: pass\n"
        "    return answer['result']\n"
        "ask(1, 'initialize', {'clientInfo': {'name': 'x', 'version': '1'}, 'capabilities': {'experimentalApi': True}})\n"
        "[found] = ask(2, 'hooks/list', {'cwds': ['.']})['data']\n"
        "state = {hook['key']: {'trusted_hash': hook['currentHash']} for hook in found['hooks']}\n"
        "edit = {'keyPath': 'hooks.state', 'value': state, 'mergeStrategy': 'upsert'}\n"
        "ask(3, 'config/batchWrite', {'edits': [edit]})\n"
        "p.kill()\n"
    )
    done = with_codex.run(machine.python, "-c", trusting)
    assert done.returncode == 0, done.stderr
    hooks = with_codex.doctor()["codex: hooks"]
    assert (hooks["answer"], hooks["word"]) == ("holds", "all 3 trusted")

    copy = next((machine.home / "codex" / "plugins" / "cache").rglob("LICENSE"))
    copy.write_text("changed", "utf-8")
    assert with_codex.doctor()["codex: hooks"]["answer"] == "inconclusive"


def test_the_checkout_is_a_plugin_that_the_directory_would_take(machine) -> None:
    claude = program("claude")
    done = machine.run(claude, "plugin", "validate", ROOT, "--profile", "directory", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["success"]) == (0, True)
    assert report["directory"]["findings"] == []


def test_in_a_stranger_s_project_doctor_and_install_run_nothing_of_it(client) -> None:
    name, machine = client
    ran = machine.home / "ran"
    ran.mkdir()

    def touch(what: str) -> str:
        return f"touch {ran / what}"

    hook = [{"hooks": [{"type": "command", "command": touch("hook")}]}]
    server = {"command": "touch", "args": [str(ran / "server")]}
    claude = {
        "apiKeyHelper": touch("key"),
        "statusLine": {"type": "command", "command": touch("status")},
        "hooks": {"SessionStart": hook, "Setup": hook},
        "env": {"PATH": str(machine.project)},
        "enabledPlugins": {ID: True, "autoscirub@evil": True},
        "extraKnownMarketplaces": {
            "autoscirub": {"source": {"source": "directory", "path": str(machine.project)}}
        },
    }
    codex = f"notify = {json.dumps(['touch', str(ran / 'notify')])}\n[mcp_servers.autoscirub]\ncommand = 'touch'\nargs = {json.dumps(server['args'])}\n"
    for path, content in {
        ".claude/settings.json": json.dumps(claude),
        ".codex/config.toml": codex,
        ".mcp.json": json.dumps({"mcpServers": {"autoscirub": server}}),
        "autoscirub.py": f"open({str(ran / 'module')!r}, 'w')",
        "json.py": f"open({str(ran / 'json')!r}, 'w')",
    }.items():
        (machine.project / path).parent.mkdir(exist_ok=True)
        (machine.project / path).write_text(content, "utf-8")
    # As its entry point starts it: with `-m` alone, Python itself would take the modules of the working directory.
    command = [machine.python, "-P", "-m", "autoscirub"]
    assert machine.run(*command, "install", name, "--yes").returncode == 0
    found = json.loads(machine.run(*command, "doctor", "--json").stdout)["decisions"]
    assert [one["answer"] for one in found if one["subject"] == f"{name}: server"] == ["holds"]
    assert list(ran.iterdir()) == []
