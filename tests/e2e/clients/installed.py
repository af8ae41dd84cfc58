"""The plugin in a client, as a user has it, and a look at which of its hooks ran.

That nobody was sent back shows nothing where no hook ran; so the interpreter that runs the server and the hooks is one
that notes how it was started, in the home of the box.
"""

from __future__ import annotations

import html
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tests.e2e.clients.claude_client import Claude
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.nile import FREE
from tests.e2e.clients.sandboxing import NODE, Box, Ended, program
from tests.e2e.clients.scripted_model import Asked, Call, ScriptedModel

Name = Literal["claude", "codex"]
SERVER = "mcp__plugin_autoscirub_autoscirub"  # in claude, before each tool's name
ALLOWED = (SERVER, "Agent", "Bash", "Edit", "Read", "Write")
STARTED = "started"
NOTING = f"""\
import os, sys
if "autoscirub" in sys.orig_argv:
    with open(os.path.join(os.environ["HOME"], "{STARTED}"), "a") as file:
        file.write(" ".join(sys.orig_argv[sys.orig_argv.index("autoscirub") + 1 :]) + "\\n")
"""


def noting_python(own_python: Path, folder: Path) -> Path:
    """A copy of an environment whose interpreter notes in HOME with which arguments autoscirub was started."""
    shutil.copytree(own_python.parents[1], folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text(NOTING, encoding="utf-8")
    return folder / "bin" / own_python.name


@dataclass(frozen=True)
class Installed:
    """A client that has the plugin, and the project that it works in. `path` goes before the others of PATH."""

    name: Name
    box: Box
    path: str = ""

    def within(self, work: Path) -> Installed:
        """The same client in another project."""
        return replace(self, box=replace(self.box, work=work))

    def ask(self, model: ScriptedModel, *arguments: str) -> Ended:
        """One prompt, to its end. What a person would have allowed is allowed, so that a refusal is a hook's."""
        (self.box.home / STARTED).unlink(missing_ok=True)
        path = os.pathsep.join(filter(None, [self.path, self.box.environment()["PATH"]]))
        if self.name == "claude":
            return Claude(self.box).ask(model, "Go on.", allow=ALLOWED, arguments=arguments, PATH=path)
        all_arguments = [*FREE, *arguments]
        return Codex(self.box).ask(model, "Go on.", plugins=True, arguments=all_arguments, PATH=path)

    @property
    def shell_tool(self) -> tuple[str, str]:
        """The tool that runs a command, and its argument."""
        return ("Bash", "command") if self.name == "claude" else ("exec_command", "cmd")

    def shell(self, command: str) -> Call:
        """The model runs a command."""
        tool, argument = self.shell_tool
        return Call(tool, {argument: command})

    def offered(self, asked: Asked) -> set[str]:
        """Our server's tools, as they are called on this client's wire."""
        if self.name == "claude":
            return {tool.name for tool in asked.tools if tool.name.startswith("mcp__")}
        return {
            f"{tool.namespace}__{tool.name}" for tool in asked.tools if tool.namespace == "mcp__autoscirub"
        }

    def hooks_that_ran(self) -> list[str]:
        """During the last prompt, in order: `stop`, `pre-tool-use`."""
        file = self.box.home / STARTED
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return [line.removeprefix("hook ") for line in lines if line.startswith("hook ")]


def sent_back(asked: Asked) -> list[str]:
    """What the model was told, in this conversation so far, when it wanted to end and was sent back."""
    if asked.wire == "anthropic":
        messages = [text.partition("Stop hook feedback:\n")[2] for text in asked.texts]
        return [text.removesuffix("\n</system-reminder>") for text in messages if text]
    messages = [text for text in asked.texts if text.startswith("<hook_prompt ")]
    return [html.unescape(text.partition(">")[2].removesuffix("</hook_prompt>")) for text in messages]


def install(name: Name, box: Box, python: Path) -> Installed:
    """Run `autoscirub install` in the box, with the client on PATH, and no `autoscirub`."""
    client = Claude(box) if name == "claude" else Codex(box)
    programs = box.home.parent / "programs"
    programs.mkdir()
    (programs / name).symlink_to(program(name))
    client.command("--version")  # codex wants its folder to be there
    path = os.pathsep.join([str(programs), str(NODE.parent), "/usr/bin", "/bin"])
    command: list[str | Path] = [python, "-P", "-m", "autoscirub", "install", name, "--yes"]
    done = box.run(command, {**client.environment(), "PATH": path})
    assert (done.status, f"✓ {name}: installed" in done.out) == (0, True), done
    return Installed(name, box)
