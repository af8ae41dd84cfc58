"""A shell command line as simple commands: enough of the shell's grammar to see what a command would write to.

Nothing is expanded and nothing is run. Marks in a word stand for what the shell would put there: the private characters
below, which no file name has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HIDDEN = {character: chr(0xE000 + index) for index, character in enumerate("*?[]{}~,\\$`")}
"""A character with a meaning, quoted -> what stands for it in a word."""
VARIABLE = ("\ue080", "\ue081")
"""Around a variable's name, or around `(` and a command that is substituted."""

_LITERAL = {hidden: character for character, hidden in HIDDEN.items()}
_OPERATORS = ("&&", "||", ";;", "|&", "&>>", "&>", "<<<", "<<-", "<<", "<>", ">>", ">|", ">&", "<&")
_REDIRECTIONS = {">", ">>", ">|", "&>", "&>>", "<>", "<", "<<<", "<<", "<<-", ">&", "<&"}
_NAME = re.compile(r"\w+|[@*#?$!-]")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
MAX_LENGTH = 100_000
"""Characters. Longer lines are not parsed: a client's own limit is far below."""


@dataclass
class Command:
    """One simple command as it is written."""

    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """Operator and word, of those that name a file."""
    stdin: str | None = None
    """What a here-document or a here-string gives it."""
    inner: list[str] = field(default_factory=list)
    """Commands that are substituted into it, as text."""
    piped: Command | None = None
    """The command whose output it reads."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.words or self.redirects or self.inner)


@dataclass(frozen=True)
class Sign:
    """Where a subshell begins or ends."""

    opens: bool


def show(word: str) -> str:
    """A word as text, its quoted characters as they are."""
    return "".join(_LITERAL.get(character, character) for character in word)


def parse(text: str) -> list[Command | Sign]:
    """The simple commands of `text`, in order, and where subshells begin and end.

    What cannot be parsed to the end is taken as far as it goes: the shell would refuse it.
    """
    return _ShellReader(text[:MAX_LENGTH]).read()


class _ShellReader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.word: list[str] | None = None
        self.command = Command()
        self.found: list[Command | Sign] = []
        self.expects: str | None = None  # the redirection whose word comes next
        self.documents: list[tuple[Command, str, bool]] = []

    def read(self) -> list[Command | Sign]:
        while self.at < len(self.text):
            self._step()
        self._end_command()
        return self.found

    def _step(self) -> None:
        text, at = self.text, self.at
        character = text[at]
        if character == "\\":
            if text[at + 1 : at + 2] != "\n":
                self._add(hide(text[at + 1 : at + 2]))
            self.at += 2
        elif character == "'":
            end = _index(text, "'", at + 1)
            self._add(hide(text[at + 1 : end]))
            self.at = end + 1
        elif character == '"':
            self.at = self._double_quoted(at + 1)
        elif character == "$" or character == "`":
            self._dollar(quoted=False)
        elif character == "#" and self.word is None:
            self.at = _index(text, "\n", at)
        elif character in " \t\r":
            self._end_word()
            self.at += 1
        elif character == "\n":
            self._end_command()
            self.at += 1
            self._read_documents()
        elif character in "<>&|;()":
            self._operator()
        else:
            self._add(character)
            self.at += 1

    def _add(self, text: str) -> None:
        self._begin().append(text)

    def _double_quoted(self, at: int) -> int:
        text = self.text
        self._begin()
        while at < len(text) and text[at] != '"':
            if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "$", "`", "\\", "\n"):
                self._add("" if text[at + 1] == "\n" else hide(text[at + 1]))
                at += 2
            elif text[at] in "$`":
                self.at = at
                self._dollar(quoted=True)
                at = self.at
            else:
                self._add(hide(text[at]))
                at += 1
        return at + 1

    def _dollar(self, *, quoted: bool) -> None:
        text, at = self.text, self.at
        after = text[at + 1 : at + 2]
        if text[at] == "`":
            end = _index(text, "`", at + 1)
            self._substitute(text[at + 1 : end].replace("\\`", "`"))
            self.at = end + 1
        elif text.startswith("$((", at):
            end = text.find("))", at)
            self.at = len(text) if end < 0 else end + 2
            self._add(f"{VARIABLE[0]}((){VARIABLE[1]}")
        elif after == "(":
            end = _closing(text, at + 2)
            self._substitute(text[at + 2 : end])
            self.at = end + 1
        elif after == "{":
            end = _index(text, "}", at)
            name = re.match(r"#?!?(\w*)", text[at + 2 : end])
            self._add(f"{VARIABLE[0]}{name[1] if name else ''}{VARIABLE[1]}")
            self.at = end + 1
        elif after == "'" and not quoted:
            end = _index(text, "'", at + 2)
            while text[end - 1] == "\\" and end < len(text):
                end = _index(text, "'", end + 1)
            self._add(hide(_ANSI.sub(_ansi, text[at + 2 : end])))
            self.at = end + 1
        elif after == '"' and not quoted:
            self.at += 1
        elif match := _NAME.match(text, at + 1):
            self._add(f"{VARIABLE[0]}{match[0]}{VARIABLE[1]}")
            self.at = match.end()
        else:
            self._add(hide("$"))
            self.at += 1

    def _substitute(self, command: str) -> None:
        self.command.inner.append(command)
        self._add(f"{VARIABLE[0]}({command.strip()}{VARIABLE[1]}")

    def _operator(self) -> None:
        text, at = self.text, self.at
        operator = next((each for each in _OPERATORS if text.startswith(each, at)), text[at])
        self.at += len(operator)
        if operator in ("<", ">") and text[at + 1 : at + 2] == "(":
            end = _closing(text, at + 2)
            self._substitute(text[at + 2 : end])
            self.at = end + 1
        elif operator in _REDIRECTIONS:
            if self.word is not None and "".join(self.word).isdigit():
                self.word = None  # the number of a file descriptor
            self._end_word()
            self.expects = operator
        elif operator in ("(", ")"):
            self._end_command()
            self.found.append(Sign(operator == "("))
        elif operator in ("|", "|&"):
            source = self.command
            self._end_command()
            self.command.piped = source
        else:
            self._end_command()

    def _begin(self) -> list[str]:
        if self.word is None:
            self.word = []
        return self.word

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, self.word = "".join(self.word), None
        if self.expects is None:
            self.command.words.append(word)
        elif self.expects in ("<<", "<<-"):
            self.documents.append((self.command, show(word), self.expects == "<<-"))
        elif self.expects == "<<<":
            self.command.stdin = show(word)
        elif self.expects not in (">&", "<&") or not re.fullmatch(r"\d*-?", word):
            self.command.redirects.append((self.expects, word))
        self.expects = None

    def _end_command(self) -> None:
        self._end_word()
        self.expects = None
        if not self.command.empty:
            self.found.append(self.command)
        self.command = Command()

    def _read_documents(self) -> None:
        for command, delimiter, indented in self.documents:
            lines: list[str] = []
            while self.at < len(self.text):
                end = _index(self.text, "\n", self.at)
                line = self.text[self.at : end]
                self.at = end + 1
                line = line.lstrip("\t") if indented else line
                if line == delimiter:
                    break
                lines.append(line)
            command.stdin = "\n".join(lines) + "\n"
        self.documents = []


def _index(text: str, character: str, at: int) -> int:
    found = text.find(character, at)
    return len(text) if found < 0 else found


def _closing(text: str, at: int) -> int:
    """Where the parenthesis that was opened before `at` is closed; quotes hide parentheses."""
    depth, quote = 1, ""
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return len(text)


def hide(text: str) -> str:
    """Text that stands for itself, as a word has it."""
    return "".join(HIDDEN.get(character, character) for character in text)


def _ansi(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code[0].isdigit() and code[0] < "8" else _ANSI_LETTERS.get(code, code)
