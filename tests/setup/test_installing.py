"""`install` and `uninstall`, with clients that are small programs: what is changed, refused, taken back and restored."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from autoscirub.errors import ClientError, ConfigError
from autoscirub.setup.install import plan_install, plan_uninstall

BOTH = pytest.mark.parametrize("client", ["claude", "codex"])
ID = "autoscirub@autoscirub"


def commands_in(value) -> list[list[str]]:
    """Every command in a file, as program and arguments."""
    if isinstance(value, list):
        return [found for entry in value for found in commands_in(entry)]
    if not isinstance(value, dict):
        return []
    found = commands_in([*value.values()])
    if "command" in value:
        found.append([value["command"], *value["args"]] if "args" in value else shlex.split(value["command"]))
    return found


@BOTH
def test_what_is_planned_is_shown_and_changes_nothing(agents, client, tmp_path, tree) -> None:
    before = tree(tmp_path)
    view = plan_install(client).view
    assert tree(tmp_path) == before
    kinds = [(change.kind, change.what.split(" ")[0]) for change in view.changes]
    folder = str(agents.folder(client) / "autoscirub")
    assert kinds[:3] == [("make", folder), ("run", client), ("run", client)]
    assert [kind for kind, _ in kinds[3:]] == ["change"]
    assert view.server[0] == sys.executable


@BOTH
def test_it_is_installed_when_the_client_itself_says_so(agents, client) -> None:
    view = plan_install(client).carry_out()
    assert (view.done, view.decision.word) == (True, "installed")
    [entry] = agents.knows(client)["plugins"]
    assert (entry["id"], entry["enabled"]) == (ID, True)


@BOTH
def test_a_second_time_changes_nothing(agents, client, tree) -> None:
    plan_install(client).carry_out()
    before = tree(agents.folder(client)), tree(getattr(agents, client))
    again = plan_install(client)
    assert again.nothing_to_do
    assert again.carry_out().decision.word == "installed"
    assert (tree(agents.folder(client)), tree(getattr(agents, client))) == before


@BOTH
def test_every_command_in_the_copy_is_absolute_and_cannot_be_taken_over_by_the_folder_it_starts_in(
    agents, client
) -> None:
    plan_install(client).carry_out()
    folder = agents.folder(client) / "autoscirub"
    found = [
        command
        for name in (".mcp.json", "hooks/hooks.json")
        for command in commands_in(json.loads((folder / name).read_text("utf-8")))
    ]
    commands = [command[:4] for command in found]
    assert len(found) >= 3
    assert commands == [[sys.executable, "-P", "-m", "autoscirub"]] * len(found)


def test_the_copy_holds_what_belongs_to_a_plugin_and_nothing_else_of_a_checkout(agents) -> None:
    plan_install("claude").carry_out()
    folder = agents.folder("claude") / "autoscirub"
    assert {path.name for path in folder.iterdir()} == {
        *(".claude-plugin", ".codex-plugin", ".agents", ".mcp.json"),
        *("README.md", "LICENSE", "skills", "hooks"),
    }


INSTALL = {"claude": "plugin install", "codex": "plugin add"}


@BOTH
@pytest.mark.parametrize(
    ("how", "step", "expected"),
    [
        ("FAKE_FAIL", "plugin marketplace add", "it cannot be done today"),
        ("FAKE_FAIL", "install", "it cannot be done today"),
        ("FAKE_LIE", "install", "does not list it"),
    ],
)
def test_a_step_that_fails_takes_everything_back(agents, client, how, step, expected, monkeypatch) -> None:
    settings = agents.claude / "settings.json"
    settings.write_text('{ "model": "mine" }\n', "utf-8")
    monkeypatch.setenv(how, INSTALL[client] if step == "install" else step)
    with pytest.raises(ClientError, match=expected):
        plan_install(client).carry_out()
    assert agents.knows(client) == {"markets": {}, "plugins": []}
    assert not agents.folder(client).exists()
    assert settings.read_text("utf-8") == '{ "model": "mine" }\n'


def test_a_failure_at_an_upgrade_leaves_the_installed_one(agents, monkeypatch) -> None:
    plan_install("codex").carry_out()
    skill = agents.folder("codex") / "autoscirub" / "skills" / "autoscirub" / "SKILL.md"
    skill.write_text("older", "utf-8")
    (agents.codex / "plugins/cache/autoscirub/autoscirub/0.1.0/LICENSE").write_text("older", "utf-8")
    monkeypatch.setenv("FAKE_FAIL", "plugin add")
    plan = plan_install("codex")
    with pytest.raises(ClientError, match="cannot be done today"):
        plan.carry_out()
    assert skill.read_text("utf-8") == "older"
    assert [entry["id"] for entry in agents.knows("codex")["plugins"]] == [ID]


@BOTH
def test_what_was_changed_in_the_copy_is_replaced(agents, client) -> None:
    plan_install(client).carry_out()
    stray = agents.folder(client) / "autoscirub" / "stray.txt"
    stray.write_text("x", "utf-8")
    plan = plan_install(client)
    assert [change.kind for change in plan.view.changes][:1] == ["replace"]
    plan.carry_out()
    assert not stray.exists()
    assert sorted(path.name for path in agents.folder(client).iterdir() if path.name.startswith(".")) == []


def test_codex_s_own_copy_is_made_anew_when_it_is_another(agents) -> None:
    plan_install("codex").carry_out()
    copy = agents.codex / "plugins/cache/autoscirub/autoscirub/0.1.0/.mcp.json"
    ours = copy.read_bytes()
    copy.write_text("{}", "utf-8")
    plan_install("codex").carry_out()
    assert copy.read_bytes() == ours


@BOTH
def test_another_plugin_of_the_name_is_named_with_what_to_do(agents, client, tree) -> None:
    other = {
        "id": "autoscirub@autoscirub-local",
        "project": None,
        "scope": "user",
        "enabled": True,
        "folder": "/x",
    }
    agents.know(client, plugins=[other])
    before = tree(getattr(agents, client))
    with pytest.raises(
        ClientError, match=r"another plugin of the same name: autoscirub@autoscirub-local.*To go on"
    ):
        plan_install(client)
    assert tree(getattr(agents, client)) == before
    agents.know(client, plugins=[{**other, "enabled": False}])
    plan_install(client).carry_out()
    assert {one["id"] for one in agents.knows(client)["plugins"]} == {ID, "autoscirub@autoscirub-local"}


@BOTH
def test_a_marketplace_of_the_name_from_elsewhere_is_not_taken_over(agents, client, tmp_path) -> None:
    agents.know(client, markets={"autoscirub": str(tmp_path / "elsewhere")})
    with pytest.raises(ClientError, match=r"marketplace named autoscirub from .*elsewhere"):
        plan_install(client)
    assert agents.knows(client)["markets"] == {"autoscirub": str(tmp_path / "elsewhere")}
    assert plan_uninstall(client).nothing_to_do


def test_a_server_of_the_user_s_own_that_would_stand_over_ours_is_named(agents, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_SERVERS", json.dumps({"autoscirub": {"command": "mine", "args": ["x"]}}))
    with pytest.raises(ClientError, match="MCP server named autoscirub of its own, mine x"):
        plan_install("codex")


def test_an_interpreter_without_the_package_is_refused_before_anything_is_changed(
    agents, tmp_path, monkeypatch, tree
) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2] / "server"))
    with pytest.raises(ClientError, match="could not start the server"):
        plan_install("claude")
    assert not agents.data.exists()


def test_codex_has_no_project_scope_and_says_how_its_hooks_are_trusted(agents) -> None:
    with pytest.raises(ConfigError, match="--scope project: codex keeps plugins for the user alone"):
        plan_install("codex", scope="project")
    assert any("/hooks" in note for note in plan_install("codex").view.notes)


SETTINGS = ['{ "model": "mine" }\n', '{"enabledPlugins": {"a@b": true}}', "{}", None]


@pytest.mark.parametrize("content", SETTINGS)
def test_uninstalling_gives_the_settings_back_to_the_byte(agents, content) -> None:
    settings = agents.claude / "settings.json"
    if content is not None:
        settings.write_text(content, "utf-8")
        settings.chmod(0o600)
    plan_install("claude").carry_out()
    assert ID in settings.read_text("utf-8")
    view = plan_uninstall("claude").carry_out()
    assert view.decision.word == "uninstalled"
    assert agents.knows("claude") == {"markets": {}, "plugins": []}
    assert not agents.folder("claude").exists()
    assert (settings.read_text("utf-8") if settings.exists() else None) == content
    if content is not None:
        assert settings.stat().st_mode & 0o777 == 0o600


def test_settings_that_were_changed_since_keep_the_change(agents) -> None:
    settings = agents.claude / "settings.json"
    settings.write_text('{"model":"mine"}', "utf-8")
    plan_install("claude").carry_out()
    table = json.loads(settings.read_text("utf-8"))
    settings.write_text(json.dumps({**table, "theme": "dark"}), "utf-8")
    plan_uninstall("claude").carry_out()
    table = json.loads(settings.read_text("utf-8"))
    assert {key: value for key, value in table.items() if value} == {"model": "mine", "theme": "dark"}


def test_a_comment_that_came_into_a_toml_file_since_is_not_lost(agents) -> None:
    config = agents.codex / "config.toml"
    config.write_text('model = "x"\n', "utf-8")
    plan_install("codex").carry_out()
    config.write_text('model = "x" # a comment\n', "utf-8")
    plan_uninstall("codex").carry_out()
    assert config.read_text("utf-8") == 'model = "x" # a comment\n'


def test_settings_that_are_a_link_stay_one(agents, tmp_path) -> None:
    dotfile = tmp_path / "dotfiles.json"
    dotfile.write_text('{"model":"mine"}', "utf-8")
    (agents.claude / "settings.json").symlink_to(dotfile)
    plan_install("claude").carry_out()
    plan_uninstall("claude").carry_out()
    assert (agents.claude / "settings.json").is_symlink()
    assert dotfile.read_text("utf-8") == '{"model":"mine"}'


def test_for_a_project_it_is_installed_there_and_taken_back_from_anywhere(
    agents, tmp_path, monkeypatch
) -> None:
    project, away = tmp_path / "project", tmp_path / "away"
    project.mkdir()
    away.mkdir()
    plan_install("claude", scope="project", project=project).carry_out()
    settings = project / ".claude" / "settings.json"
    assert json.loads(settings.read_text("utf-8")) == {"enabledPlugins": {ID: True}}
    monkeypatch.chdir(away)
    plan_uninstall("claude").carry_out()
    assert list(project.iterdir()) == []
    assert agents.knows("claude") == {"markets": {}, "plugins": []}


@BOTH
def test_without_an_installation_there_is_nothing_to_take_back(agents, client, tmp_path, tree) -> None:
    before = tree(tmp_path)
    plan = plan_uninstall(client)
    assert plan.nothing_to_do
    plan.carry_out()
    assert tree(tmp_path) == before


@BOTH
def test_what_the_client_still_lists_is_not_called_uninstalled(agents, client, monkeypatch) -> None:
    plan_install(client).carry_out()
    monkeypatch.setenv("FAKE_LIE", {"claude": "plugin uninstall", "codex": "plugin remove"}[client])
    with pytest.raises(ClientError, match="still lists it"):
        plan_uninstall(client).carry_out()


def test_a_client_that_a_relative_entry_of_path_would_find_is_not_run(agents, monkeypatch, tmp_path) -> None:
    (tmp_path / "stranger").mkdir()
    (agents.data.parent / "programs" / "claude").rename(tmp_path / "stranger" / "claude")
    monkeypatch.chdir(tmp_path / "stranger")
    monkeypatch.setenv("PATH", ":.:stranger:/usr/bin:/bin")
    with pytest.raises(ClientError, match="no such program on PATH"):
        plan_install("claude")


# Through the command line


def test_without_a_client_it_says_how_to_get_one(cli, tmp_path) -> None:
    ran = cli("install", "claude", cwd=tmp_path, env={"PATH": "/nowhere"})
    assert ran.status == 3
    assert "claude: no such program on PATH; to get it:" in ran.err


def test_where_nobody_can_be_asked_nothing_is_changed(agents, own_python, tmp_path, tree) -> None:
    before = tree(tmp_path)
    done = subprocess.run(
        [str(own_python), "-m", "autoscirub", "install", "claude"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
    )
    assert (done.returncode, tree(tmp_path)) == (3, before)
    assert "run      claude plugin install autoscirub@autoscirub --scope user" in done.stdout
    assert "to go ahead, add --yes" in done.stderr


@pytest.mark.parametrize(("answer", "status"), [("n", 3), ("", 3), ("y", 0)])
def test_at_a_terminal_it_is_done_only_after_a_yes(agents, own_python, tmp_path, answer, status) -> None:
    parent, child = pty.openpty()
    os.write(parent, f"{answer}\n".encode())
    done = subprocess.run(
        [str(own_python), "-m", "autoscirub", "install", "claude"],
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=tmp_path,
        timeout=60,
    )
    printed = os.read(parent, 100_000).decode("utf-8")
    os.close(parent)
    os.close(child)
    assert done.returncode == status
    assert "Do this? [y/N]" in printed
    assert [one["id"] for one in agents.knows("claude")["plugins"]] == ([ID] if status == 0 else [])
