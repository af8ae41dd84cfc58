"""What each profile shows: the reference's table, what is withheld from all, a project's own, a criterion's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autoscirub.errors import BlindingError, ConfigError
from autoscirub.judging.profiles import load_profile, profile_names
from autoscirub.judging.profiles.load import HYPOTHESIS_FILES
from autoscirub.judging.profiles.patterns import Patterns
from autoscirub.judging.profiles.rules import WITHHELD, folded, rule_for
from autoscirub.models import Criterion
from autoscirub.store import open_project

COPIED = {
    "QUESTION.md",
    "prereg.toml",
    ".prereg.lock",
    "run.py",
    "src/fit.py",
    "pixi.toml",
    "results/results.json",
}


def test_hypothesis_shows_the_reference_s_table_and_nothing_else(study, visible_files) -> None:
    assert set(visible_files(study)) == COPIED
    assert visible_files.withheld == {
        ".autoscirub": "the state directory: verdicts, plans and history",
        ".git": "version control",
        "AGENTS.md": "agent instructions",
        "REPORT.md": "the report",
        "capsule.toml": "configuration",
        "notes": "not in the profile",
        "runs": "run history",
        "verification.json": "an earlier verdict or plan",
    }


def test_hypothesis_shows_the_results_file_that_is_configured_elsewhere(study, visible_files) -> None:
    (study / "autoscirub.toml").write_text('results = "out/numbers.json"\n')
    (study / "out").mkdir()
    (study / "out" / "numbers.json").write_text("{}")
    (study / "out" / "other.json").write_text("{}")
    assert set(visible_files(study)) == COPIED | {"out/numbers.json"}


@pytest.mark.parametrize("replay", ["replies", "replies/", "./replies"])
@pytest.mark.parametrize("profile", ["hypothesis", "criterion", "own"])
def test_what_a_judge_replied_before_is_withheld(study, visible_files, replay: str, profile: str) -> None:
    (study / "autoscirub.toml").write_text(
        f'judge.replay = "{replay}"\nprofiles.own.include = ["replies", "QUESTION.md"]\n'
    )
    (study / "replies").mkdir()
    (study / "replies" / "1.json").write_text(
        '{"text": "an earlier verdict, of more than 64 bytes, so that copies count"}'
    )
    (study / "results" / "copy.json").write_bytes((study / "replies" / "1.json").read_bytes())
    shown = visible_files(study, profile)
    assert "QUESTION.md" in shown
    assert not {"replies/1.json", "results/copy.json"} & shown.keys()


def test_a_project_that_is_the_folder_of_replies_is_shown_all_the_same(study, visible_files) -> None:
    (study / "autoscirub.toml").write_text('judge.replay = "."\n')
    assert "run.py" in visible_files(study, "criterion")


WHOLE = (COPIED - {".prereg.lock"}) | {"REPORT.md", "notes/todo.txt"}
"""All that a criterion's judge is shown: the lock says what the checks expect, and is not the judge's to know."""


def test_criterion_without_one_shows_all_but_what_is_always_withheld(study, visible_files) -> None:
    assert set(visible_files(study, "criterion")) == WHOLE


ALWAYS = [
    # path, why it is withheld
    (".git", "version control"),
    ("sub/.git", "version control"),
    (".hg", "version control"),
    (".autoscirub", "the state directory"),
    ("sub/.autoscirub", "the state directory"),
    ("runs", "run history"),
    ("src/runs", ""),
    ("history.bundle", "run history"),
    ("verification.json", "an earlier verdict"),
    ("a/b/verification.json", "an earlier verdict"),
    ("capsule.toml", "configuration"),
    ("autoscirub.toml", "configuration"),
    ("AGENTS.md", "agent instructions"),
    ("agents.md", "agent instructions"),
    ("sub/AGENTS.MD", "agent instructions"),
    ("ＡＧＥＮＴＳ.md", "agent instructions"),
    ("AGENTS\u200b.md", "agent instructions"),
    ("AGENTS.override.md", "agent instructions"),
    ("CLAUDE.md", "agent instructions"),
    ("CLAUDE.local.md", "agent instructions"),
    ("GEMINI.md", "agent instructions"),
    (".cursor", "agent instructions"),
    (".cursorrules", "agent instructions"),
    (".claude", "agent instructions"),
    (".codex", "agent instructions"),
    (".aider.conf.yml", "agent instructions"),
    (".github/copilot-instructions.md", "agent instructions"),
    ("sub/.github/instructions", "agent instructions"),
    (".github/workflows", ""),
    ("__pycache__", "an environment or a cache"),
    ("src/__pycache__", "an environment or a cache"),
    ("src/fit.pyc", "an environment or a cache"),
    (".venv", "an environment or a cache"),
    ("src/agents.py", ""),
    ("src/claude.py", ""),
    ("README.md", ""),
    ("verification.py", ""),
]


@pytest.mark.parametrize(("path", "why"), ALWAYS, ids=[path for path, _ in ALWAYS])
def test_what_is_always_withheld(path, why) -> None:
    assert rule_for(path).why.startswith(why)
    assert bool(rule_for(path)) is bool(why)


def test_a_name_is_folded_once_and_for_all() -> None:
    assert folded("AGENTS.MD") == folded("agents.md") == folded("Agents\u2060.md") == "agents.md"


HELD = [
    # pattern, path, held by itself, something in it could be
    ("src/", "src", True, False),
    ("./src//", "src", True, False),
    ("src", "src/fit.py", False, False),
    ("data/a/b.csv", "data", False, True),
    ("data/a/b.csv", "data/a", False, True),
    ("data/a/b.csv", "data/b", False, False),
    ("*.csv", "deep/er/a.csv", True, True),
    ("data/*.csv", "data", False, True),
    ("data/*.csv", "other", False, False),
    ("data/x*", "data", False, True),
    ("data[1].csv", "data[1].csv", True, True),
    (".", "anything/at/all", True, True),
]


@pytest.mark.parametrize(("pattern", "path", "held", "inside"), HELD)
def test_a_pattern_holds(pattern, path, held, inside) -> None:
    patterns = Patterns([pattern])
    assert patterns.holds(path) is held
    assert patterns.may_hold_in(path) is inside


def test_a_path_made_literal_holds_itself_alone() -> None:
    patterns = Patterns([Patterns.literal("a[1]*.csv")])
    assert patterns.holds("a[1]*.csv")
    assert not patterns.holds("a1x.csv")


OWN = [
    # [profiles.…] of autoscirub.toml, profile, what it shows beyond or without
    ("[profiles.hypothesis]\nexclude = ['src/']", "hypothesis", COPIED - {"src/fit.py"}),
    ("[profiles.hypothesis]\ninclude = ['src/', 'notes/']", "hypothesis", {"src/fit.py", "notes/todo.txt"}),
    ("[profiles.hypothesis]\ninclude = ['.']", "hypothesis", COPIED | {"notes/todo.txt"}),
    ("[profiles.hypothesis]\ninclude = ['REPORT.md', 'run.py']", "hypothesis", {"run.py"}),
    ("[profiles.criterion]\nexclude = ['notes']", "criterion", WHOLE - {"notes/todo.txt"}),
    ("[profiles.criterion]\ninclude = ['results/']", "criterion", {"results/results.json"}),
    ("[profiles.mine]\nexclude = ['src/*']", "mine", COPIED - {"src/fit.py"}),
    ("[profiles.mine]\ninclude = ['*.md']", "mine", {"QUESTION.md"}),
    ("[profiles.mine]\ninclude = ['REPORT.md', '.git', '.autoscirub/', 'AGENTS.md']", "mine", {"REPORT.md"}),
]


@pytest.mark.parametrize(
    ("text", "name", "expected"), OWN, ids=[text.split("\n", 1)[1] + name for text, name, _ in OWN]
)
def test_a_project_s_own_profile_shows(study, visible_files, text, name, expected) -> None:
    (study / "autoscirub.toml").write_text(text)
    assert set(visible_files(study, name)) == expected


def test_the_page_shows_the_profile_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "judging.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `hypothesis` |"))
    assert re.findall(r"`([^`]+)`", row.split("|")[2]) == list(HYPOTHESIS_FILES)
    for rule in WITHHELD:
        assert any(f"`{name.strip('/')}" in page.lower() for name in rule[1]), rule[0].why


def criterion(**fields: object) -> Criterion:
    return Criterion.model_validate({"criterion_id": "C1", "requirement": "it is so", **fields})


NAMED = [
    # fields, what is shown of the study
    ({}, WHOLE),
    ({"data_sources": ["the Nile's flow, 1871–1970"]}, WHOLE),
    ({"data_sources": ["data/not-there.csv"]}, WHOLE),
    ({"data_sources": ["notes/todo.txt"]}, {"REPORT.md", "notes/todo.txt"}),
    ({"data_sources": ["notes/"]}, {"REPORT.md", "notes/todo.txt"}),
    ({"data_sources": ["notes/*.txt"]}, {"REPORT.md", "notes/todo.txt"}),
    ({"data_sources": ["../../etc", "/etc/passwd", "runs/1/log.txt", "run.py"]}, {"REPORT.md", "run.py"}),
    ({"expected_artifacts": [{"expected_path": "src/fit.py"}]}, {"REPORT.md", "src/fit.py"}),
    ({"expected_artifacts": [{"expected_path": "gone.png"}]}, {"REPORT.md"}),
    ({"checks": [{"id": "a", "kind": "artifact", "path": "run.py"}]}, {"REPORT.md", "run.py"}),
    # An expression names keys: it narrows nothing by itself, and brings the results along.
    (
        {"checks": [{"id": "a", "kind": "expr", "expr": "results.slope > 0"}]},
        WHOLE,
    ),
    (
        {"data_sources": ["run.py"], "checks": [{"id": "a", "kind": "expr", "expr": "results.slope > 0"}]},
        {"REPORT.md", "run.py", "results/results.json"},
    ),
    (
        {"checks": [{"id": "a", "kind": "numbers", "report": "notes/todo.txt", "sources": ["predictions"]}]},
        {"REPORT.md", "notes/todo.txt", "prereg.toml"},
    ),
    # What is always withheld is so where a criterion names it, too.
    ({"expected_artifacts": [{"expected_path": ".git/HEAD"}]}, {"REPORT.md"}),
    ({"expected_artifacts": [{"expected_path": "verification.json"}]}, {"REPORT.md"}),
]


@pytest.mark.parametrize(("fields", "expected"), NAMED)
def test_a_criterion_shows_the_report_and_what_it_names(study, visible_files, fields, expected) -> None:
    assert set(visible_files(study, "criterion", criterion=criterion(**fields))) == expected


def test_what_a_criterion_names_and_the_profile_does_not_allow_is_withheld(study, visible_files) -> None:
    (study / "autoscirub.toml").write_text("[profiles.criterion]\ninclude = ['src/', 'REPORT.md']")
    asked = criterion(data_sources=["notes/todo.txt", "src/fit.py"])
    assert set(visible_files(study, "criterion", criterion=asked)) == {"src/fit.py", "REPORT.md"}
    assert visible_files.withheld["notes"] == "not in the profile"


def test_the_report_that_is_configured_is_withheld_and_the_usual_one_too(study, visible_files) -> None:
    (study / "autoscirub.toml").write_text("report = 'results/paper.md'")
    (study / "results" / "paper.md").write_text("what we claim\n" * 9)
    assert "results/paper.md" not in visible_files(study)
    assert visible_files.withheld["results/paper.md"] == visible_files.withheld["REPORT.md"] == "the report"


def test_the_report_in_another_form_is_still_the_write_up(study, visible_files) -> None:
    for name in ("report.html", "REPORT.pdf", "report.txt", "report.json", "paper.html", "reports.md"):
        (study / "results" / name).write_text(f"{name}: what we claim")
    (study / "autoscirub.toml").write_text("report = 'results/paper.md'")
    assert set(visible_files(study)) == COPIED | {
        f"results/{name}" for name in ("report.txt", "report.json", "reports.md")
    }


REFUSED = [
    (
        "[profiles.hypothesis]\ninclude = ['../other']",
        "hypothesis",
        "include, entry 1: ../other: leaves the project",
    ),
    ("[profiles.mine]\nexclude = ['src', '/etc']", "mine", "exclude, entry 2: /etc: an absolute path"),
    ("[profiles.mine]\nlinks = ['~/data']", "mine", "links, entry 1: ~/data: starts with ~"),
    ("", "nosuch", "no profile 'nosuch'; there are criterion, hypothesis"),
]


@pytest.mark.parametrize(("text", "name", "message"), REFUSED)
def test_a_profile_is_refused(study, text, name, message) -> None:
    (study / "autoscirub.toml").write_text(text)
    with pytest.raises(BlindingError) as error:
        load_profile(open_project(study), name)
    assert message in str(error.value)


def test_the_hypothesis_is_not_about_a_criterion(study) -> None:
    with pytest.raises(BlindingError, match="is not about a criterion"):
        load_profile(open_project(study), "hypothesis", criterion())


def test_two_reports_are_asked_about_only_where_one_must_be_chosen(study, visible_files) -> None:
    (study / "report.md").write_text("another\n")
    if len(list(study.glob("[Rr][Ee][Pp]*"))) == 1:
        pytest.skip("the file system ignores case")
    assert set(visible_files(study)) == COPIED
    with pytest.raises(ConfigError, match="both exist"):
        load_profile(open_project(study), "criterion", criterion(data_sources=["run.py"]))


def test_every_profile_has_its_name_in_the_list(study) -> None:
    (study / "autoscirub.toml").write_text("[profiles.mine]\n")
    assert profile_names(open_project(study).config) == ["criterion", "hypothesis", "mine"]


def test_settings_in_pyproject_are_configuration_and_withheld(study, visible_files) -> None:
    (study / "pyproject.toml").write_text("[tool.other]\n")
    assert "pyproject.toml" in visible_files(study, "criterion")
    (study / "pyproject.toml").write_text("[tool.autoscirub]\n")
    assert "pyproject.toml" not in visible_files(study, "criterion")
