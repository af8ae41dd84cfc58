"""Every command, option and exit status that a page names is there, and every one is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import typer.main
from tests.docs.pages import FENCE, PAGES, ROOT, code, name_of, table, text_of

from autoscirub.checks.predictions.outcome import OUTCOME_ANSWERS
from autoscirub.cli.app import app

PROSE = [page for page in PAGES if page.name != "cli.md"]  # cli.md is made from the commands themselves


class Command(NamedTuple):
    name: str
    rest: str


CALL = re.compile(r"(?:^|\$ |`|: |&& |; |-m )autoscirub +([a-z][\w-]*|--?[a-z][\w-]*)([^`\n]*)", re.MULTILINE)


def options() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}

    def add(name: str, command: typer.main.TyperCommand) -> None:
        found[name] = {*(opt for param in command.params for opt in param.opts), "--help", "-h"}
        for inner, below in getattr(command, "commands", {}).items():
            add(f"{name} {inner}".strip(), below)

    add("", typer.main.get_command(app))  # type: ignore[arg-type]
    return found


OPTIONS = options()


def longest(text: str) -> str:
    """The command that a span begins with: `audit verify` where there is one, else its first word."""
    words = text.split()
    both = " ".join(words[:2])
    return both if both in OPTIONS else words[0]


def calls(text: str) -> Iterator[Command]:
    """`autoscirub NAME …`, and a span that begins with a command's name, such as `check --read-only`."""
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    quoted = "\n".join([*(block for _, block in FENCE.findall(text)), *spans])
    for name, rest in CALL.findall(quoted):
        whole = longest(name + rest)
        yield Command("", name) if name.startswith("-") else Command(whole, f"{name}{rest}"[len(whole) :])
    for span in spans:
        name = longest(span) if span.strip() else ""
        rest = span[len(name) :].strip()
        if name in OPTIONS and rest.startswith("-"):
            yield Command(name, rest)


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_every_command_and_option_that_a_page_names_is_there(page) -> None:
    unknown = []
    for name, rest in calls(text_of(page)):
        unquoted = re.split(r" #|&&|\|\||[;|]| -- ", re.sub(r"'[^']*'|\"[^\"]*\"", "", rest))[0]
        for option in [None, *re.findall(r"(?<![\w-])--?[a-z][\w-]*", unquoted)]:
            if name not in OPTIONS or (option and option not in OPTIONS[name]):
                unknown.append(f"{name} {option or ''}")
    assert unknown == []


def test_a_command_that_is_not_built_would_be_found() -> None:
    found = [
        call.name for call in calls("`autoscirub nosuch`, `check --x`\n```console\n$ autoscirub other\n```")
    ]
    assert found == ["other", "nosuch", "check"]


def test_the_readme_and_the_exit_statuses_list_every_command_and_no_other() -> None:
    listed = {longest(span) for row in table("exit-status.md", "Exit status") for span in code(row[0])}
    assert listed == {name for name in OPTIONS if name}
    rows = re.findall(r"^\| (`.+?) \|", text_of(ROOT / "README.md").split("## The commands")[1], re.MULTILINE)
    assert {name for row in rows for name in code(row)} == {
        name for name in OPTIONS if name and " " not in name
    }


def test_the_outcomes_in_the_readme_have_the_command_line_s_exit_statuses() -> None:
    from autoscirub.cli.predictions import OUTCOME_STATUS

    rows = re.findall(r"^\| (\w+) \| .+ \| (\d) \|$", text_of(ROOT / "README.md"), re.MULTILINE)
    assert {word: int(status) for word, status in rows} == OUTCOME_STATUS
    assert {outcome.value for outcome in OUTCOME_ANSWERS} == OUTCOME_STATUS.keys()
