"""`init` as a function: what is taken of what was found, what is asked, and what is written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoscirub.errors import ConfigError
from autoscirub.models import Initialised
from autoscirub.models.discovery import SetupQuestion
from autoscirub.setup import initialise
from autoscirub.store import load_config

NUMBERS = json.dumps({"slope": 0.51})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in which each of the three is plain."""
    root = tmp_path / "project"
    (root / "results").mkdir(parents=True)
    (root / "run.py").write_text('open("results/results.json", "w").write(x)\n')
    (root / "report.md").write_text("The slope is 0.51.\n")
    (root / "results" / "results.json").write_text(NUMBERS)
    return root


class Answers:
    """Answers given one after the other; what was asked, and what was said to be wrong with the last answer."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.problems: list[str] = []

    def __call__(self, question: SetupQuestion, problem: str | None) -> str:
        self.asked.append(question.subject)
        if problem:
            self.problems.append(problem)
        return self.answers.pop(0)


def settings_of(root: Path) -> tuple[str | None, str | None, list[str] | None]:
    config = load_config(root).values
    return config.report, config.results, config.run.command if config.run else None


def test_without_anybody_to_ask_what_is_plain_is_taken_and_check_comes_next(project) -> None:
    laid = initialise(project)
    assert settings_of(project) == ("report.md", "results/results.json", ["python3", "run.py"])
    assert load_config(project).values.run.outputs == ["results/results.json"]
    assert {taken.how for taken in laid.taken.values()} == {"found"}
    assert laid.next == "autoscirub check"
    assert "frozen after results existed" in " ".join(laid.notes)


def test_without_results_the_predictions_come_next_and_nothing_is_said_of_results(project) -> None:
    (project / "results" / "results.json").unlink()
    laid = initialise(project)
    assert laid.taken["results"].value == "results/results.json"
    assert laid.next.startswith("fill in prereg.toml")
    assert laid.notes == []


@pytest.mark.parametrize("yes", [False, True])
def test_of_two_that_are_equally_good_none_is_taken_and_both_are_named(project, yes) -> None:
    (project / "results.json").write_text(NUMBERS)
    (project / "run.py").unlink()
    laid = initialise(project, yes=yes)
    assert laid.taken["results"].value is None
    assert "results.json and results/results.json are equally good" in laid.taken["results"].why
    assert 'results = "results.json" in autoscirub.toml' in laid.taken["results"].why
    assert settings_of(project) == ("report.md", None, None)


@pytest.mark.parametrize(("yes", "taken"), [(False, None), (True, "README.md")])
def test_a_last_resort_is_taken_only_where_somebody_agrees(tmp_path, yes, taken) -> None:
    (tmp_path / "README.md").write_text("# A study\n")
    laid = initialise(tmp_path, yes=yes)
    assert laid.taken["report"].value == taken
    assert load_config(tmp_path).values.report == taken


def test_where_nothing_is_found_it_is_said_how_to_say_it(tmp_path) -> None:
    laid = initialise(tmp_path)
    assert {subject: taken.how for subject, taken in laid.taken.items()} == dict.fromkeys(
        ["report", "results", "run"], "open"
    )
    assert '[run] command = ["python3", "run.py"] in autoscirub.toml' in laid.taken["run"].why


def test_flags_come_before_what_is_found_and_nothing_is_asked_about_them(project) -> None:
    answers = Answers("")
    initialise(project, report="paper.md", run="Rscript 'a b.R'", ask=answers)
    assert answers.asked == ["results"]
    assert settings_of(project) == ("paper.md", "results/results.json", ["Rscript", "a b.R"])


ANSWERS = [
    # three answers, what is configured, what is said on the way
    (["", "", ""], ("report.md", "results/results.json", ["python3", "run.py"]), []),
    (["1", "1", "1"], ("report.md", "results/results.json", ["python3", "run.py"]), []),
    (["none", "-", "None"], (None, None, None), []),
    (["./later/paper.md", "out/r.json", "make 'my results'"], ("later/paper.md", "out/r.json", ["make", "my results"]), []),
    (["../x.md", "paper.md", "", ""], ("paper.md", "results/results.json", ["python3", "run.py"]), ["leaves the project"]),
    (["/etc/passwd", "2", "~/x", "1", "", ""], ("report.md", "results/results.json", ["python3", "run.py"]), ["absolute", "there are 1", "home"]),
    (["", "", "run.py", "'open", "python run.py -n 2"], ("report.md", "results/results.json", ["python", "run.py", "-n", "2"]), ["python3 run.py", "no closing quotation"]),
    (["\udcff.md", "", "", "\udcff", ""], ("report.md", "results/results.json", ["python3", "run.py"]), ["remove it", "not UTF-8"]),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "configured", "expected"), ANSWERS)
def test_each_answer_is_taken_or_asked_again_with_what_was_wrong(
    project, answers, configured, expected
) -> None:
    person = Answers(*answers)
    initialise(project, ask=person)
    assert settings_of(project) == configured
    assert person.answers == []
    assert len(person.problems) == len(expected)
    for problem, part in zip(person.problems, expected, strict=True):
        assert part in problem


def test_an_answer_that_leads_out_through_a_link_is_asked_again(project, tmp_path) -> None:
    (project / "away").symlink_to(tmp_path)
    person = Answers("away/report.md", "", "", "")
    initialise(project, ask=person)
    assert "through a link" in person.problems[0]


def test_enter_chooses_none_of_two_that_are_equally_good(project) -> None:
    (project / "report.md").unlink()
    (project / "paper.md").write_text("x")
    (project / "paper.tex").write_text("x")
    person = Answers("", "2", "", "")
    initialise(project, ask=person)
    assert "equally good" in person.problems[0]
    assert settings_of(project)[0] == "paper.tex"


def test_nothing_is_written_before_the_last_answer(project, tree) -> None:
    before = tree(project)

    def ask(question: SetupQuestion, problem: str | None) -> str:
        assert tree(project) == before
        if question.subject == "run":
            raise ConfigError("broken off")
        return ""

    with pytest.raises(ConfigError, match="broken off"):
        initialise(project, ask=ask)
    assert tree(project) == before


def test_where_there_is_a_configuration_nothing_is_asked_or_looked_for(project) -> None:
    (project / "autoscirub.toml").write_text('report = "mine.md"\n')
    laid = initialise(project, ask=Answers())
    assert (project / "autoscirub.toml").read_text() == 'report = "mine.md"\n'
    assert {taken.how for taken in laid.taken.values()} == {"config"}
    assert laid.facts()["found"]["report"]["candidates"] == []
    with pytest.raises(ConfigError, match=r"says results = None, not 'r\.json'; change it there"):
        initialise(project, results="r.json")


@pytest.mark.parametrize("mark", [".prereg.lock", ".autoscirub/run_manifest.json"])
def test_after_a_freeze_nothing_is_set_that_the_freeze_locked_as_not_set(project, mark) -> None:
    (project / ".autoscirub").mkdir()
    (project / mark).write_text("{}")
    laid = initialise(project, yes=True)
    assert settings_of(project) == (None, None, None)
    assert laid.notes == []
    assert "there is a record already" in laid.taken["report"].why


def test_a_name_that_would_be_read_as_a_pattern_is_no_output(tmp_path) -> None:
    initialise(tmp_path, results="out/r[1].json", run="python run.py")
    config = load_config(tmp_path).values
    assert config.results == "out/r[1].json"
    assert config.run.outputs == []


NAME = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12)
SUFFIX = st.sampled_from([".json", ".py", ".md", ".ipynb", ""])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.tuples(NAME, SUFFIX), max_size=6), command=st.none() | st.lists(NAME, min_size=1))
def test_whatever_the_names_the_configuration_loads_again_with_the_same_values(
    tmp_path_factory, names, command
) -> None:
    root = tmp_path_factory.mktemp("named")
    (root / "results").mkdir()
    for name, suffix in names:
        folder = root / "results" if suffix == ".json" else root
        try:
            (folder / f"{name}{suffix}").write_text(NUMBERS)
        except OSError:  # "." or "..", or a name that this file system does not take
            continue
    if command is not None and not command[0].strip():  # no configuration may say that
        with pytest.raises(ConfigError, match="is empty; name a program"):
            initialise(root, yes=True, run=shlex.join(command))
        assert not (root / "autoscirub.toml").exists()
        return
    laid: Initialised = initialise(root, yes=True, run=command and shlex.join(command))
    config = load_config(root).values
    taken = {subject: one.value for subject, one in laid.taken.items()}
    assert (config.report, config.results) == (taken["report"], taken["results"])
    assert (tuple(config.run.command) if config.run else None) == taken["run"]
    assert (config.run.outputs if config.run else []) == laid.outputs
    assert (config.run.inputs if config.run else []) == laid.inputs


@pytest.mark.parametrize(
    "name", ['a"b', "a'b", "a\\b", "a\nb", "{results}", "ü 😀", "a\x7fb", 'x"\nresults = "y']
)
def test_a_command_with_odd_characters_loads_again_as_it_was(tmp_path, name) -> None:
    initialise(tmp_path, run=shlex.join(["python", name]))
    assert settings_of(tmp_path)[2] == ["python", name]
