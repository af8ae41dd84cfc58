"""What a rerun must compare, whatever the configuration says: the files that something is decided on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from autoscirub.checks.rerun import Rerun, ValueStatus, rerun, rerun_basis
from autoscirub.errors import ConfigError, PathRefused, SandboxError
from autoscirub.models import Answer
from autoscirub.store import open_project

VALUES = {"slope": 0.5, "n": 40}
TYPED = {"slope": 0.9, "n": 40}
HONEST = f"import json; json.dump({VALUES!r}, open('results.json', 'w'))\n"
DECOY = "import pathlib; pathlib.Path('decoy.json').write_text('{\"a\": 1}')\n"
TABLE = "import pathlib; pathlib.Path('table.csv').write_text('a\\n1\\n')\n"

Scripted = Callable[..., Path]
Again = Callable[..., Rerun]


def _decoy(project: Path) -> Path:
    (project / "decoy.json").write_text('{"a": 1}')
    return project


def _moved(found: Rerun) -> list[str]:
    return [one.name for one in found.comparisons if one.status in (ValueStatus.MOVED, ValueStatus.MISSING)]


@pytest.mark.parametrize(
    "lines",
    [
        ('outputs = ["results.json", "decoy.json"]', 'results = ["decoy.json"]'),
        ('outputs = ["decoy.json"]',),
        ('outputs = ["d*.json"]', 'results = ["decoy.json"]'),
    ],
    ids=["results name another", "outputs lack it", "a pattern"],
)
def test_hand_typed_results_are_compared_whatever_is_declared(
    scripted: Scripted, run_again: Again, lines: tuple[str, ...]
) -> None:
    found = run_again(_decoy(scripted(HONEST + DECOY, TYPED, *lines)))
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    assert _moved(found) == ["results.json: slope"]
    assert set(found.compared) == {"results.json", "decoy.json"}


def test_results_that_the_command_does_not_write_are_missing_though_nobody_declared_them(
    scripted: Scripted, run_again: Again
) -> None:
    found = run_again(_decoy(scripted(DECOY, TYPED, 'outputs = ["decoy.json"]')))
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    assert _moved(found) == ["results.json"]


@pytest.mark.parametrize("name", ["./results.json", ".//results.json"])
def test_the_results_file_is_the_same_however_it_is_spelled(
    scripted: Scripted, run_again: Again, name: str
) -> None:
    project = _decoy(scripted(HONEST + DECOY, TYPED, 'outputs = ["decoy.json"]'))
    config = project / "autoscirub.toml"
    config.write_text(f'results = "{name}"\n' + config.read_text())
    assert _moved(run_again(project)) == ["results.json: slope"]


def test_the_results_are_bound_though_nobody_declared_them(scripted: Scripted) -> None:
    project = _decoy(scripted(HONEST + DECOY, VALUES, 'outputs = ["decoy.json"]'))
    before = rerun_basis(open_project(project), ask=False)
    (project / "results.json").write_text(json.dumps(TYPED))
    assert rerun_basis(open_project(project), ask=False).changed_since(before) == ["results"]


def test_two_files_that_could_be_the_results_are_an_error_and_not_a_choice(scripted: Scripted) -> None:
    project = scripted(HONEST, VALUES)
    (project / "results").mkdir()
    (project / "results" / "results.json").write_text("{}")
    with pytest.raises(ConfigError, match="both exist"):
        rerun(open_project(project), trusted=True)


@pytest.mark.parametrize("pattern", ["results.json", "results.json: *", "slope"])
def test_leaving_out_values_of_the_results_is_counted_and_leaving_out_all_tells_nothing(
    scripted: Scripted, run_again: Again, pattern: str
) -> None:
    lines = ('outputs = ["results.json", "decoy.json"]', f"ignore = {json.dumps([pattern])}")
    found = run_again(_decoy(scripted(HONEST + DECOY, TYPED, *lines)))
    values = next(entry.note or "" for entry in found.decision.evidence if entry.key == "values")
    if pattern == "slope":
        assert found.decision.answer is Answer.HOLDS
        assert found.counts[ValueStatus.IGNORED] == 1
        assert "1 not compared, as [run] ignore says: results.json: slope" in values
        assert "1 not compared, as [run] ignore says: results.json: slope" in found.decision.open
    else:
        assert found.decision.answer is Answer.INCONCLUSIVE
        assert "results.json: nothing of it was compared" in found.decision.open[0]
        assert "2 not compared, as [run] ignore says: results.json: slope, results.json: n" in values


@pytest.fixture
def sourced(scripted: Scripted) -> Callable[..., Path]:
    """A project whose report takes numbers from table.csv, which holds another value than the command gives."""

    def make(*lines: str, script: str = HONEST + TABLE) -> Path:
        project = scripted(script, VALUES, *lines)
        (project / "table.csv").write_text("a\n7\n")
        config = project / "autoscirub.toml"
        config.write_text(config.read_text() + '[numbers]\nsources = ["results", "table.csv"]\n')
        return project

    return make


def test_a_source_of_numbers_that_the_command_writes_is_compared_though_results_leave_it_out(
    sourced: Callable[..., Path], run_again: Again
) -> None:
    lines = ('outputs = ["results.json", "*.csv"]', 'results = ["results.json"]')
    found = run_again(sourced(*lines))
    assert found.decision.answer is Answer.DOES_NOT_HOLD
    assert _moved(found) == ["table.csv: row 2, a"]


def test_a_source_of_numbers_that_the_command_reads_is_an_input(
    sourced: Callable[..., Path], run_again: Again
) -> None:
    project = sourced('inputs = ["table.csv"]', script=HONEST)
    assert run_again(project).decision.answer is Answer.HOLDS


def test_a_source_of_numbers_that_is_neither_inconclusive_and_nothing_stands_on_it(
    sourced: Callable[..., Path], run_again: Again
) -> None:
    project = sourced()
    found = run_again(project)
    assert found.ran is None
    assert found.decision.answer is Answer.INCONCLUSIVE
    assert found.decision.open[0].startswith(
        "table.csv: a source of numbers, and no rerun compares it; declare"
    )
    with pytest.raises(SandboxError, match="no rerun compares it"):
        rerun_basis(open_project(project), ask=False)


def test_a_source_that_only_a_criterion_names_counts_as_one(scripted: Scripted, run_again: Again) -> None:
    project = scripted(HONEST, VALUES)
    (project / "table.csv").write_text("a\n7\n")
    (project / "rubric.toml").write_text(
        '[[criteria]]\nid = "N"\nrequirement = "Every number is one of the table."\njudge = "never"\n'
        'checks = [{ id = "numbers", kind = "numbers", sources = ["table.csv"] }]\n'
    )
    assert "table.csv: a source of numbers" in run_again(project).decision.open[0]


@pytest.mark.parametrize("key", ["outputs", "results"])
@pytest.mark.parametrize("pattern", [".", "./", "*", "**", "*/*", "./*", "*.*", "?*", "[!.]*"])
def test_outputs_that_would_be_the_whole_project_are_refused_with_advice(
    scripted: Scripted, key: str, pattern: str
) -> None:
    project = scripted(HONEST, VALUES, f"{key} = {json.dumps([pattern])}")
    with pytest.raises(PathRefused, match=r"would be the whole project, the code too; name the files"):
        rerun(open_project(project), trusted=True)


def test_what_is_written_beside_the_outputs_is_named_since_nobody_compared_it(
    scripted: Scripted, run_again: Again
) -> None:
    script = HONEST + (
        "import os, pathlib\n"
        "pathlib.Path('made.txt').write_text('x'); pathlib.Path('notes.md').write_text('other'); os.remove('old')\n"
        "pathlib.Path('same.txt').write_text('same')\n"
    )
    project = scripted(script, VALUES)
    for name, text in (("notes.md", "notes"), ("old", "old"), ("same.txt", "same")):
        (project / name).write_text(text)
    found = run_again(project)
    assert found.decision.answer is Answer.HOLDS
    assert (
        "written or removed outside of the outputs, and compared with nothing: made.txt, notes.md, old"
        in found.decision.open
    )


def test_many_files_beside_the_outputs_are_named_within_bounds(scripted: Scripted, run_again: Again) -> None:
    script = HONEST + "for n in range(100): open(f'made{n:03}', 'w').write('x')\n"
    [line] = [line for line in run_again(scripted(script, VALUES)).decision.open if "outside of" in line]
    assert line.endswith("made019 and 80 more")
