"""Chooses among the candidates that were found: by asking, or without asking where the choice is clear."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import path_faults
from autoscirub.errors import ConfigError
from autoscirub.models import Choice, SetupQuestion
from autoscirub.store import leads_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.models import Candidate, Value

    Ask = Callable[[SetupQuestion, str | None], str]
    """Shows a question, or what was wrong with the last answer, and returns the line that was typed."""

_NONE = ("none", "-")
_EXAMPLES: dict[str, Value] = {
    "report": "report.md", "results": "results/results.json", "run": ("python3", "run.py"),
}  # fmt: skip
_SCRIPT = re.compile(r"(?i)[^/].*\.(py|r|sh|ipynb)")
_PROGRAMS = {".py": "python3", ".r": "Rscript", ".sh": "sh"}
_NAMED = 3


def choose(question: SetupQuestion, root: Path, *, ask: Ask | None, yes: bool) -> Choice:
    """The choice for `question`: what `ask` is answered; with `yes` the best candidate; else a clear one.

    Among equally good candidates none is taken without an answer, and a last resort only with `yes`.
    """
    if ask is not None:
        return _asked(question, root, ask)
    best = question.best
    if best is None:
        return Choice(None, "open", _open(question))
    if best.last_resort and not yes:
        return Choice(None, "open", f"{best.display}: {best.reason}; if it is: {_say(question, best.value)}")
    return Choice(best.value, "found", best.reason)


def _asked(question: SetupQuestion, root: Path, ask: Ask) -> Choice:
    problem: str | None = None
    while True:
        line = ask(question, problem)
        try:
            return _read(question, line.strip(), root)
        except ConfigError as error:
            problem = str(error)


def _read(question: SetupQuestion, answer: str, root: Path) -> Choice:
    """What an answer says. Raises ConfigError with what to answer instead."""
    if not answer:
        if question.candidates and question.best is None:
            raise ConfigError("these are equally good, so none is taken for you: answer with a number")
        return _of(question.best)
    if answer.lower() in _NONE:
        return Choice(None, "answer", "you said that there is none")
    if re.fullmatch(r"[0-9]{1,3}", answer) and question.candidates:
        number = int(answer)
        if not 1 <= number <= len(question.candidates):
            raise ConfigError(
                f"{number}: there are {len(question.candidates)}; answer with one of their numbers"
            )
        return _of(question.candidates[number - 1])
    if question.subject != "run":
        return Choice(path_of("the answer", posixpath.normpath(answer), root), "answer", "you said so")
    command = command_of("the answer", answer)
    if len(command) == 1 and _SCRIPT.fullmatch(command[0]):
        program = _PROGRAMS.get(posixpath.splitext(command[0])[1].lower(), "python3")
        raise ConfigError(
            f"{command[0]!r} is a script; name the program too: {program} {shlex.quote(command[0])}"
        )
    return Choice(command, "answer", "you said so")


def _of(candidate: Candidate | None) -> Choice:
    if candidate is None:
        return Choice(None, "answer", "you said that there is none")
    return Choice(candidate.value, "answer", candidate.reason)


def _open(question: SetupQuestion) -> str:
    if not question.candidates:
        return f"nothing found; when there is one: {_say(question, _EXAMPLES[question.subject])}"
    equal = [one.display for one in question.equal]
    more = f" and {len(equal) - _NAMED} more" if len(equal) > _NAMED else ""
    named = " and ".join(equal) if len(equal) == 2 else ", ".join(equal[:_NAMED]) + more
    return f"{named} are equally good; say which: {_say(question, question.equal[0].value)}"


def _say(question: SetupQuestion, value: Value) -> str:
    return f"{question.setting(value)} in autoscirub.toml"


def path_of(source: str, value: str, root: Path) -> str:
    """`value` where it is a path in the project, whether or not it is there. Raises ConfigError, naming `source`."""
    if fault := path_faults(value):
        raise ConfigError(f"{source} {value!r}: name a file inside the project; {fault}")
    if leads_out(root / value, root):
        raise ConfigError(
            f"{source} {value!r}: leads out of the project through a link; put the file itself there"
        )
    return value


def command_of(source: str, text: str) -> tuple[str, ...]:
    """Program and arguments, as a shell would split them. Raises ConfigError, naming `source`."""
    try:
        command = tuple(shlex.split(text))
        "".join(command).encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"{source} {text!r}: is not UTF-8; name the program in text") from None
    except ValueError as error:
        raise ConfigError(f"{source} {text!r}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    if not command or not command[0].strip():  # as the configuration has it, which it is written into
        raise ConfigError(f"{source} is empty; name a program and its arguments, such as 'python3 run.py'")
    return command
