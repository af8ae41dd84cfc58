"""What a command line would do to what is guarded; and whether it verifies, as `autoscirub check` does."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.client_hooks.fence import UNKNOWN, Hit, How
from autoscirub.client_hooks.shell.expand import Surroundings, expand
from autoscirub.client_hooks.shell.rules import operands, option, touched
from autoscirub.client_hooks.shell.words import HIDDEN, Command, Sign, hide, parse, show

if TYPE_CHECKING:
    from autoscirub.client_hooks.fence import Fences

_MOST_DEPTH = 6
_KEYWORDS = {
    "if",
    "then",
    "elif",
    "else",
    "do",
    "while",
    "until",
    "time",
    "!",
    "{",
    "fi",
    "done",
    "esac",
    "}",
}
_SHELLS = {"sh", "bash", "zsh", "dash", "ksh", "ash"}
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
# Wrapper -> the letters of its options that take a word, and how many words of its own come before the command.
_WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("ugpCDhRT", 0),
    "doas": ("uC", 0),
    "env": ("uSC", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cn", 0),
    "stdbuf": ("ioe", 0),
    "timeout": ("ks", 1),
    "chronic": ("", 0),
    "busybox": ("", 0),
    "unbuffer": ("", 0),
    "xvfb-run": ("nsefpw", 0),
    "watch": ("n", 0),
    "flock": ("wE", 1),
    "strace": ("eo", 0),
    "caffeinate": ("tw", 0),
}
_RUNNERS = {
    ("uv", "run"),
    ("pipx", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("hatch", "run"),
    ("pixi", "run"),
}
_OTHER_CODE = {
    "node": "-e",
    "deno": "eval",
    "bun": "-e",
    "ruby": "-e",
    "perl": "-e",
    "php": "-r",
    "Rscript": "-e",
}
_WRITES_IN_CODE = re.compile(
    r"(?:write\w*|append\w*|unlink\w*|\brm\w*|rename\w*|truncate\w*|delete\w*|remove\w*|copy\w*|file\.create|mkdir\w*"
    r"|createWriteStream|file_put_contents|open\w*\s*\(?[^;\n]{0,60}['\"]\+?[>aw])"
)
_QUOTED = re.compile(r"""(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1""")
_READING_HEADS = {"ls", "find", "echo", "printf", "git", "fd", "rg", "grep", "cat"}


@dataclass(frozen=True)
class Verifying:
    """A call of `autoscirub check`, `round` or `run`: which project it is about, as it is named."""

    cwd: str | None
    project: str | None
    state_dir: str | None


class Shell:
    """Looks through one command line. Nothing is run."""

    def __init__(self, fences: Fences) -> None:
        self.fences = fences
        self.verifying: list[Verifying] = []

    def look(self, text: str, here: Surroundings, depth: int = 0) -> Hit | None:
        """The first thing in `text` that would touch what is guarded."""
        if depth > _MOST_DEPTH:
            return None
        around: list[Surroundings] = []
        for part in parse(text):
            if isinstance(part, Sign):
                if part.opens:
                    around.append(here)
                    here = here.copy()
                elif around:
                    here = around.pop()
                continue
            for inner in part.inner:
                if hit := self.look(inner, here.copy(), depth + 1):
                    return hit
            if hit := self._command(part, here, depth):
                return hit
        return None

    def arguments(self, words: list[str], cwd: str | None) -> Hit | None:
        """The same for a command that is given word by word, and no shell sees."""
        here = Surroundings(cwd)
        return self._run([hide(word) for word in words], Command(), here, 0)

    def _command(self, command: Command, here: Surroundings, depth: int) -> Hit | None:
        for operator, word in command.redirects:
            if operator != "<":
                for path in expand(word, here):
                    if hit := self.fences.hit(path, here.cwd, "write"):
                        return hit
        words = _without_keywords(command.words, here)
        while words and (match := _ASSIGNED.fullmatch(words[0])):
            here.variables[match[1]] = expand(match[2], here)
            words = words[1:]
        return self._run([text for word in words for text in expand(word, here)], command, here, depth)

    def _run(self, words: list[str], command: Command, here: Surroundings, depth: int) -> Hit | None:
        words = _unwrapped(words)
        if not words or depth > _MOST_DEPTH:
            return None
        name, rest = show(words[0]).rsplit("/", 1)[-1], words[1:]
        if name in ("cd", "pushd"):
            here.enter((operands(rest) or [os.path.expanduser("~")])[0])
            return None
        if name in ("export", "declare", "local", "readonly", "typeset"):
            for match in filter(None, map(_ASSIGNED.fullmatch, rest)):
                here.variables[match[1]] = [match[2]]
            return None
        if name in _SHELLS or name == "eval":
            return self._shell(name, rest, command, here, depth)
        if name == "xargs":
            return self._xargs(rest, command, here, depth)
        if name == "find":
            return self._find(rest, here, depth)
        if name == "parallel" and ":::" in rest:
            at = rest.index(":::")
            runs = ([*rest[:at], path] for path in rest[at + 1 :])
            return next(
                (hit for run in runs if (hit := self._run(run, Command(), here.copy(), depth + 1))), None
            )
        if name in ("apply_patch", "applypatch"):
            return self.patch(show(rest[0]) if rest else command.stdin or "", here.cwd)
        self._note(name, rest, here)
        if _PYTHON.fullmatch(name):
            return self._python(rest, command, here, depth)
        if name in _OTHER_CODE and (
            code := option(rest, _OTHER_CODE[name], "--eval", "-p", "-E", "-pe", "-ne")
        ):
            hit = self._other_code(show(code[0]), here)
            if hit or name != "perl":
                return hit
        if name == "git":
            from autoscirub.client_hooks.shell.git import git_touched

            found = git_touched(rest, here.cwd)
        else:
            found = touched(name, rest, here.cwd)
        return next((hit for path, how in found if (hit := self.fences.hit(path, here.cwd, how))), None)

    def patch(self, text: str, cwd: str | None) -> Hit | None:
        """The same for a patch."""
        from autoscirub.client_hooks.patches import patch_touched

        return self._first(((path, how) for path, how in patch_touched(text)), cwd)

    def _first(self, found: object, cwd: str | None) -> Hit | None:
        for path, how in found:  # type: ignore[attr-defined]
            if hit := self.fences.hit(hide(path), cwd, how):
                return hit
        return None

    def _shell(
        self, name: str, rest: list[str], command: Command, here: Surroundings, depth: int
    ) -> Hit | None:
        scripts: list[str] = []
        if name == "eval":
            scripts = [" ".join(map(show, rest))]
        else:
            flags = [at for at, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c[a-z]*", word)]
            if flags:
                scripts = [show(word) for word in rest[flags[0] + 1 :][:1]]
            elif not operands(rest, "oO") and (text := _standard_input(command, here)) is not None:
                scripts = [text]
        inner = here.copy() if name != "eval" else here
        return next((hit for script in scripts if (hit := self.look(script, inner, depth + 1))), None)

    def _python(self, rest: list[str], command: Command, here: Surroundings, depth: int) -> Hit | None:
        from autoscirub.client_hooks.shell.python_code import python_commands, python_touched

        code = option(rest, "-c") or option(rest, "-Ic", "-Bc", "-uc", "-Sc")
        text = _standard_input(command, here)
        if not code and text is not None and (not operands(rest, "WX") or "-" in rest):
            code = [text]
        if rest[:2] == ["-m", "json.tool"]:
            return self._first(((path, "write") for path in operands(rest[2:])[1:2]), here.cwd)
        for program in map(show, code):
            if hit := self._first(python_touched(program), here.cwd):
                return hit
            for line in python_commands(program):
                if hit := self.look(line, here.copy(), depth + 1):
                    return hit
        return None

    def _other_code(self, code: str, here: Surroundings) -> Hit | None:
        # Recognised by a writing word followed by a quoted path in the same statement.
        for statement in re.split(r"[;\n]", code):
            match = _WRITES_IN_CODE.search(statement)
            for _, text in _QUOTED.findall(statement) if match else ():
                how: How = (
                    "remove"
                    if re.match(r"rm|unlink|rename|delete|remove", match[0] if match else "")
                    else "write"
                )
                if hit := self.fences.hit(hide(text), here.cwd, how):
                    return hit
        return None

    def _xargs(self, rest: list[str], command: Command, here: Surroundings, depth: int) -> Hit | None:
        position = 0
        while position < len(rest) and rest[position].startswith("-"):
            position += (
                2 if rest[position] in ("-I", "-n", "-P", "-L", "-s", "-d", "-a", "-E", "--max-args") else 1
            )
        placeholder = (option(rest[:position], "-I") or [""])[0]
        inner = rest[position:]
        piped_words = _piped_words(command, here)
        if not inner or not piped_words or show(piped_words[0]) not in _READING_HEADS:
            return None
        if show(piped_words[0]) == "find":
            found = self._found(piped_words[1:], here)
        else:
            # Of a listing, what it names itself; that a search goes through a whole project tells nothing.
            found = [path for path in piped_words[1:] if self.fences.hit(path, here.cwd, "write")]
        for path in found:
            words = [word.replace(placeholder, path) for word in inner] if placeholder else [*inner, path]
            if hit := self._run(words, Command(), here.copy(), depth + 1):
                return hit
        return None

    def _find(self, rest: list[str], here: Surroundings, depth: int) -> Hit | None:
        from autoscirub.client_hooks.shell.find import run_by

        commands = run_by(rest)
        for path in self._found(rest, here) if commands else ():
            for words in commands:
                filled = [word.replace("{}", hide(path)).replace(_BOTH, hide(path)) for word in words]
                if hit := self._run(filled, Command(), here.copy(), depth + 1):
                    return hit
        return None

    def _found(self, rest: list[str], here: Surroundings) -> list[str]:
        from autoscirub.client_hooks.shell.find import found_by

        starts = [rest[0]] if rest and not rest[0].startswith("-") else ["."]
        base = os.path.join(here.cwd or "/", show(starts[0]))
        fences = {
            id(each): each for folder in (here.cwd, base) if folder and (each := self.fences.at(folder))
        }
        return [path for fence in fences.values() for path in found_by(rest, here.cwd, fence)]

    def _note(self, name: str, rest: list[str], here: Surroundings) -> None:
        """Remember a call that opens a round."""
        if _PYTHON.fullmatch(name):
            while rest and rest[0] != "-m" and rest[0].startswith("-"):
                rest = rest[1:]  # the interpreter's own, such as -P
            if rest[:2] == ["-m", "autoscirub"]:
                name, rest = "autoscirub", rest[2:]
        if name != "autoscirub" or not rest or show(rest[0]) not in ("check", "round", "run"):
            return
        if "--read-only" not in rest:
            named = [(option(rest, flag) or [""])[0] for flag in ("--project", "--state-dir")]
            project, state_dir = (show(value) if UNKNOWN not in value else None for value in named)
            self.verifying.append(Verifying(here.cwd, project, state_dir))


_BOTH = f"{HIDDEN['{']}{HIDDEN['}']}"


def _without_keywords(words: list[str], here: Surroundings) -> list[str]:
    while words and words[0] in _KEYWORDS:
        words = words[1:]
    if words[:1] == ["for"] and len(words) > 3 and words[2] == "in":
        here.variables[words[1]] = [text for word in words[3:] for text in expand(word, here)]
        return []
    return [] if words[:1] in (["case"], ["for"], ["function"]) else words


def _standard_input(command: Command, here: Surroundings) -> str | None:
    """What a command reads, where the line says it: a here-document, or what echo or cat passes on."""
    if command.stdin is not None or command.piped is None:
        return command.stdin
    piped_words = _piped_words(command, here)
    if piped_words[:1] in (["echo"], ["printf"]):
        return " ".join(map(show, piped_words[1:]))
    return command.piped.stdin if piped_words == ["cat"] else None


def _piped_words(command: Command, here: Surroundings) -> list[str]:
    """The words of the command whose output it reads."""
    words = _without_keywords(command.piped.words, here) if command.piped else []
    return [text for word in words for text in expand(word, here)]


def _unwrapped(words: list[str]) -> list[str]:
    """Without what only runs another command: sudo, env, timeout and their kind."""
    for _ in range(_MOST_DEPTH):
        name = show(words[0]).rsplit("/", 1)[-1] if words else ""
        if tuple(words[:2]) in _RUNNERS or name == "uvx":
            words = words[1 if name == "uvx" else 2 :]
            while words and words[0].startswith("-"):
                words = words[2 if words[0] in ("--with", "--python", "-p", "--project") else 1 :]
        elif name in _WRAPPERS:
            valued, own = _WRAPPERS[name]
            words = words[1:]
            while words and (
                words[0].startswith("-") or (name in ("env", "sudo") and _ASSIGNED.fullmatch(words[0]))
            ):
                words = words[
                    2 if words[0][0] == "-" and len(words[0]) == 2 and words[0][1] in valued else 1 :
                ]
            words = words[own:]
        else:
            break
    return words
