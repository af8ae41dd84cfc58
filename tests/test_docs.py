"""What the pages say is so: links, commands, variables, limits, tables, messages and snippets."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
import typer.main

import autoscirub
from autoscirub import errors
from autoscirub.checks import (
    check_expr,
    compile_expr,
    lint_rubric,
    read_rubric,
    read_short,
    rubric,
    rubric_lint,
)
from autoscirub.checks.artifacts import finding, images, paths
from autoscirub.checks.artifacts.formats import FORMATS
from autoscirub.checks.criteria import CRITERION_WORDS
from autoscirub.checks.expressions import limits, tree
from autoscirub.checks.expressions.grammar import HELPER_ARGUMENTS
from autoscirub.checks.outcome import OUTCOME_ANSWERS
from autoscirub.cli.app import app
from autoscirub.errors import ExpressionRefused
from autoscirub.models import (
    POLICY_RULES,
    SIGNS,
    Criterion,
    CriterionStatus,
    LoopEnding,
    Policy,
    Priority,
    ProjectConfig,
    RubricCheck,
)
from autoscirub.models.config import RunConfig
from autoscirub.store import strictjson
from autoscirub.workflow.auditing_findings import GROUPS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("examples/**/*.md")])
PROSE = [page for page in PAGES if page.name != "cli.md"]  # cli.md is made from the commands themselves
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SOURCE = "\n".join(path.read_text("utf-8") for path in sorted(ROOT.glob("server/**/*.py")))


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def table(page: str, heading: str, *, every: bool = False) -> list[list[str]]:
    """The cells of the first table under a heading, without its header; or of `every` table there."""
    section = re.split(r"^#+ ", text_of(DOCS / page).split(f"# {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    tables = re.findall(r"^\|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", section, flags=re.MULTILINE)
    rows = [row for found in (tables if every else tables[:1]) for row in found.splitlines()]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))] for row in rows]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# Links


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), flags=re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_a_heading_that_are_there(page) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text_of(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        if not to.exists() or (anchor and anchor not in anchors(to)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=name_of)
def test_every_page_is_in_the_index(page) -> None:
    assert page.name == "README.md" or f"({page.name})" in text_of(DOCS / "README.md")


# Commands


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
    shown = "\n".join([*(block for _, block in FENCE.findall(text)), *spans])
    for name, rest in CALL.findall(shown):
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


# Configuration and environment


def test_the_configuration_page_has_every_key_with_its_default() -> None:
    expected = {}
    for key, field in ProjectConfig.model_fields.items():
        model = RunConfig if key == "run" else field.annotation
        if not hasattr(model, "model_fields"):
            default = field.get_default(call_default_factory=True)
            expected[key] = "not set" if default is None else json.dumps(default)
            continue
        for inner, part in model.model_fields.items():
            if part.is_required():
                expected[f"{key}.{inner}"] = "needed in"
                continue
            default = part.get_default(call_default_factory=True)
            expected[f"{key}.{inner}"] = "not set" if default is None else json.dumps(default)
    found = {code(row[0])[0]: row[1] for row in table("configuration.md", "Keys")}
    assert found.keys() == expected.keys()
    assert {key: value for key, value in found.items() if expected[key] not in value} == {}


def test_the_configuration_page_names_every_setting_that_decides() -> None:
    section = text_of(DOCS / "configuration.md").split("## Settings that decide\n")[1].split("\n## ")[0]
    assert set(code(section)) - {"freeze"} == set(ProjectConfig().deciding())


def test_the_configuration_page_has_the_policy_s_rules_in_their_order_and_shows_every_key() -> None:
    rows = table("configuration.md", "A policy")
    assert [code(row[0])[0] for row in rows] == [rule.key for rule in POLICY_RULES]
    for rule, row in zip(POLICY_RULES, rows, strict=True):
        assert rule.own in code(row[1])
        assert ("asked where a judge is used" in row[1]) is rule.judged
    policy = tomllib.loads(blocks("configuration.md", "toml")[1])
    assert {f"{top}.{key}" for top, keys in policy.items() for key in keys} == {
        rule.key for rule in POLICY_RULES
    }


def test_every_variable_of_ours_is_on_the_configuration_page_and_no_page_names_another() -> None:
    pattern = re.compile(r"AUTOSCIRUB_[A-Z_]+[A-Z]")
    in_code = set(pattern.findall(SOURCE))
    described = {code(row[0])[0] for row in table("configuration.md", "Environment")}
    assert in_code == {name for name in described if name.startswith("AUTOSCIRUB_")}
    assert {name for page in PAGES for name in pattern.findall(text_of(page))} <= in_code
    asked = set(re.findall(r"""environ(?:\.get\(|\[)"([A-Z_]+)\"""", SOURCE))
    assert asked <= described | {"HOME"}


# Checks


LIMITS = {
    "characters of an expression": limits.MAX_LENGTH,
    "parts of an expression": limits.MAX_NODES,
    "levels of nesting in an expression, or in values that it compares": limits.MAX_DEPTH,
    "digits of an integer": limits.MAX_INT_DIGITS,
    "items or characters that `+` makes": limits.MAX_SEQUENCE,
    "the results file, in bytes": ProjectConfig().limits.results_bytes,
    "levels of nesting in a JSON file": strictjson.MAX_DEPTH,
    "characters of an artifact's path": paths.MAX_PATH,
    "CSV, JSON, SVG, PDF, and a Parquet footer, in bytes": finding.PARSED_BYTES,
    "PNG and JPEG, in bytes": images.IMAGE_BYTES,
    "pixels of a picture": images.MAX_PIXELS,
}


def test_the_limits_are_the_code_s_own() -> None:
    assert {what: int(limit.replace(",", "")) for what, limit in table("checks.md", "Limits")} == LIMITS


def test_the_grammar_s_operators_and_helpers_are_all_there() -> None:
    rows = {part: code(cell) for part, cell in table("checks.md", "Expressions")}
    assert rows["arithmetic"] == [*tree.BINARY.values(), "+", "-"]
    assert rows["comparison"][: len(tree.COMPARISONS)] == list(tree.COMPARISONS.values())
    assert list(dict.fromkeys(span.split("(")[0] for span in rows["helpers"])) == list(HELPER_ARGUMENTS)


INPUTS = table("checks.md", "What an input gives")
REFUSED = table("checks.md", "What is refused")


@pytest.mark.parametrize(("expression", "results", "answer"), INPUTS, ids=[row[0] + row[1] for row in INPUTS])
def test_an_input_gives_what_the_page_says(expression, results, answer) -> None:
    passed, _, message = check_expr(compile_expr(code(expression)[0]), json.loads(code(results)[0]))
    word, _, why = answer.partition(": ")
    assert passed is {"True": True, "False": False, "could not be told": None}[word]
    if passed is None:
        assert re.sub("`", "", why) in message


@pytest.mark.parametrize(("expression", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_expression_is_refused_as_the_page_says(expression, why) -> None:
    with pytest.raises(ExpressionRefused, match=re.escape(why)):
        compile_expr(code(expression)[0])


def test_the_formats_are_those_that_are_opened() -> None:
    rows = {code(row[0])[0]: tuple(code(row[1])) for row in table("checks.md", "Artifacts")}
    assert rows == {name: each.suffixes for name, each in FORMATS.items()}


def test_the_outcomes_in_the_readme_have_the_command_line_s_exit_statuses() -> None:
    from autoscirub.cli.predictions import OUTCOME_STATUS

    rows = re.findall(r"^\| (\w+) \| .+ \| (\d) \|$", text_of(ROOT / "README.md"), re.MULTILINE)
    assert {word: int(status) for word, status in rows} == OUTCOME_STATUS
    assert {outcome.value for outcome in OUTCOME_ANSWERS} == OUTCOME_STATUS.keys()


# Messages


@pytest.fixture(scope="module")
def known() -> list[str]:
    """Every piece of text in the package, implicit concatenations joined."""
    nodes = (node for path in ROOT.glob("server/**/*.py") for node in ast.walk(ast.parse(text_of(path))))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


MESSAGES = [
    line
    for language, block in FENCE.findall(text_of(DOCS / "troubleshooting.md"))
    if language == "text"
    for line in block.splitlines()
]
# What the message says of the example at hand, which the code fills in.
EXAMPLE = re.compile(
    r"…|^(?:prereg\.toml|\.prereg\.lock|run_manifest\.json|results/results\.json"
    r"|rubric\.toml|executable_rubric\.json|autoscirub\.toml|round-\d+): |\b8\b"
    r"|a Git LFS pointer|git lfs pull|recorded here|(?<=nothing new to lock): |(?<=judge is set up); "
)


def unknown_pieces(message: str, known: list[str]) -> list[str]:
    """The pieces of a message that no text of the package holds."""
    pieces = [piece.strip(" :;.,()'\"") for piece in EXAMPLE.split(message) if piece]
    telling = [
        piece for piece in pieces if len(piece) > 3 and not piece.endswith((".toml", ".lock", ".json"))
    ]
    assert telling
    return [piece for piece in telling if not any(piece in text for text in known)]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_in_the_troubleshooting_page_is_one_of_the_package_s(message, known) -> None:
    assert unknown_pieces(message, known) == []


SAID = [
    span
    for page, heading, cell in (
        ("requirements.md", "What is refused", 1),
        ("rounds.md", "Rounds that were not made here", 1),
    )
    for row in table(page, heading, every=True)
    for span in code(row[cell])
]


@pytest.mark.parametrize("message", SAID)
def test_a_message_in_a_table_is_one_of_the_package_s(message, known) -> None:
    # "field required" is the validator's own.
    assert message == "field required" or unknown_pieces(message, known) == []


# Requirements


def blocks(page: str, language: str) -> list[str]:
    return [block for name, block in FENCE.findall(text_of(DOCS / page)) if name == language]


SHORT = read_short(blocks("requirements.md", "toml")[0].encode(), "rubric.toml")


def test_the_rubric_of_the_page_has_no_fault_and_warns_of_what_must_be_read_alone() -> None:
    lint = lint_rubric(SHORT, judged=False)
    assert lint.faults == []
    assert len(lint.warnings) == 1
    assert 'criterion "limits"' in lint.warnings[0]


def test_the_published_form_of_the_page_says_the_same_as_the_short_one() -> None:
    published = read_rubric(blocks("requirements.md", "json")[0].encode(), "executable_rubric.json")
    assert published.model.goals == SHORT.model.goals
    assert published.model.criteria == [SHORT.criterion("interval")]


def test_the_fields_of_a_criterion_are_all_there_with_the_words_of_the_short_form() -> None:
    rows = [[code(cell)[0] for cell in row[:2]] for row in table("requirements.md", "Fields of a criterion")]
    assert {published for _, published in rows} == set(Criterion.model_fields)
    assert {short: name for short, name in rows if short != name} == rubric.SHORT_WORDS["criteria"]
    told = text_of(DOCS / "requirements.md")
    assert all(f"`{priority}`" in told for priority in get_args(Priority))


def test_the_kinds_of_checks_are_all_there_and_those_that_are_decided() -> None:
    rows = {code(row[0])[0]: row[3] for row in table("requirements.md", "Checks")}
    union = get_args(RubricCheck)[0]
    assert list(rows) == [get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(union)]
    assert [kind for kind, decided in rows.items() if decided == "yes"] == list(rubric_lint.DECIDED_KINDS)


def test_the_statuses_are_the_code_s_with_their_signs() -> None:
    rows = {code(row[0])[0]: row for row in table("requirements.md", "The four statuses")}
    assert rows.keys() == set(get_args(CriterionStatus)) == CRITERION_WORDS.keys()
    for status, (answer, _) in CRITERION_WORDS.items():
        assert rows[status][3] == SIGNS[answer][0]
        assert rows[status][1] == ("yes" if status == "satisfied" else "no")


def test_the_limits_of_a_rubric_are_the_code_s_own() -> None:
    limits_of = {
        "bytes of a rubric": rubric.RUBRIC_LIMIT,
        "values in it": rubric.RUBRIC_VALUES,
        "goals": rubric.RUBRIC_GOALS,
    }
    rows = table("requirements.md", "What is refused", every=True)
    assert {row[0]: int(row[1].replace(",", "")) for row in rows if row[0] in limits_of} == limits_of


# Rounds and the audit


def test_the_endings_are_the_code_s() -> None:
    assert {code(row[0])[0] for row in table("rounds.md", "How it ends")} == set(get_args(LoopEnding))


def test_the_reviser_of_the_page_makes_the_figure_and_says_what_it_cannot_do(tmp_path) -> None:
    from autoscirub.workflow import freeze, run_rounds

    project, results = (
        tmp_path / "project",
        {"n": 40, "slope": 0.5, "low": 0.4, "high": 0.6, "resamples": 999},
    )
    project.mkdir()
    (project / "rubric.toml").write_text(blocks("requirements.md", "toml")[0], "utf-8")
    (project / "revise.py").write_text(blocks("rounds.md", "python")[0], "utf-8")
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>'
    (project / "draw.py").write_text(f"open('fit.svg', 'w').write({drawing!r})", "utf-8")
    freeze(project)
    (project / "results.json").write_text(json.dumps(results), "utf-8")
    ran = run_rounds(project, revise=[sys.executable, "revise.py"])
    assert ran.ended is not None
    assert ran.checked is not None
    assert ran.checked.report is not None
    assert (ran.ended.state, ran.ended.round) == ("infeasible", 2)
    assert {result.criterion_id: result.status for result in ran.checked.report.criteria} == {
        "samples": "satisfied",
        "interval": "satisfied",
        "figure": "satisfied",
        "limits": "cannot_assess",
    }


def test_the_groups_of_the_audit_are_the_code_s_with_their_questions() -> None:
    rows = {code(row[0])[0]: row[1] for row in table("audit.md", "Does it hold together?")}
    assert rows == {group: question for group, (question, _) in GROUPS.items()}


def test_the_configuration_that_a_page_shows_is_one() -> None:
    shown = blocks("configuration.md", "toml")
    for block, model in zip(shown, (ProjectConfig, Policy), strict=True):
        model.model_validate(tomllib.loads(block))


# Python


def test_every_python_snippet_runs(tmp_path, monkeypatch) -> None:
    project = tmp_path / "sunspots"
    shutil.copytree(
        ROOT / "examples" / "sunspots", project, ignore=shutil.ignore_patterns("results", ".autoscirub")
    )
    monkeypatch.chdir(project)
    page = text_of(DOCS / "python.md")
    snippets = list(re.finditer(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    assert len(snippets) >= 5
    names: dict[str, object] = {}
    for snippet in snippets:
        above = "\n" * page.count("\n", 0, snippet.start(1))  # so that a failure names the page's own line
        exec(compile(above + snippet[1], "docs/python.md", "exec"), names)  # noqa: S102 - our own page


def test_the_python_page_has_every_public_name_and_every_error() -> None:
    listed = {code(row[0])[0] for row in table("python.md", "Names")}
    assert listed == set(autoscirub.__all__)
    drawn = text_of(DOCS / "python.md")
    assert [name for name in errors.__all__ if name not in drawn] == []
    tree_in_code = re.search(r"::\n\n(.+?)\n\n", errors.__doc__ or "", re.DOTALL)
    assert tree_in_code
    assert "\n".join(line[4:] for line in tree_in_code[1].splitlines()) in drawn


# The pages themselves


def test_the_contributing_page_has_every_target_and_every_room() -> None:
    page = text_of(ROOT / "CONTRIBUTING.md")
    targets = re.findall(r"^(\w+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert [name for name in targets if f"`make {name}`" not in page] == []
    package = ROOT / "server" / "autoscirub"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")} | {
        "data",
        "errors",
        "programs",
        "wire",
    }
    floors = page.split("## Floors")[1].split("## Rules")[0]
    assert {
        name for row in re.findall(r"^\| \d \| (.+?) \|", floors, re.MULTILINE) for name in code(row)
    } == rooms


def test_the_client_s_page_is_one_line_that_leads_to_the_agents_page() -> None:
    assert text_of(ROOT / "CLAUDE.md") == "@AGENTS.md\n"


FORBIDDEN = {
    "a registry": rf"{'py'}pi\.org|{'python'}hosted|{'npm'}js|crates\.io",
    "a path of some machine": r"(?<![\w.~])/(?:work|root|tmp|home|Users)/|[A-Z]:\\",
    "how the repository was made": r"\.\./shared|\bsession\b|\bissue #?\d",
}


@pytest.mark.parametrize("what", FORBIDDEN)
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names(page, what) -> None:
    assert re.findall(FORBIDDEN[what], text_of(page)) == []
