"""What `init` finds in a project: trees as data, and the candidates that come of each, best first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoscirub.setup.discover import find_setup

NUMBERS = json.dumps({"slope": 0.51})
WRITES = 'import json\nfrom pathlib import Path\nPath("{}").write_text(json.dumps({{"a": 1}}))\n'
PIPELINE = 'rule all:\n    input: "results/results.json"\n'


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


REPORTS = [
    # files, candidates, what the first reason says
    (["report.md"], ["report.md"], "the name that is looked for"),
    (["REPORT.md"], ["REPORT.md"], "the name that is looked for"),
    (["report.md", "paper.tex", "README.md"], ["report.md", "paper.tex"], "the name that is looked for"),
    (["paper.md"], ["paper.md"], "a paper by its name"),
    (["main.tex"], ["main.tex"], "a paper by its name"),
    (["main.md"], [], ""),
    (["docs/report.md"], ["docs/report.md"], "in docs/"),
    (["docs/guide.md", "docs/index.html"], [], ""),
    (["deep/down/report.md"], [], ""),
    (["notebooks/look.ipynb"], ["notebooks/look.ipynb"], "the only notebook"),
    (["study.qmd"], ["study.qmd"], "the only Quarto document"),
    (["study.Rmd"], ["study.Rmd"], "the only R Markdown document"),
    (["report.qmd", "report.html"], ["report.qmd", "report.html"], "a report by its name"),
    (["report.html"], ["report.html"], "a report by its name"),
    (["README.md"], ["README.md"], "a last resort"),
    (["README.rst", "CHANGELOG.md", "notes.md"], ["README.rst"], "a last resort"),
    (["paper.tex", "notebook.ipynb"], ["paper.tex", "notebook.ipynb"], "a paper by its name"),
    (["run.py"], [], ""),
]


@pytest.mark.parametrize(("files", "candidates", "reason"), REPORTS)
def test_the_report_is_found_by_its_name(tmp_path, files, candidates, reason) -> None:
    found = find_setup(lay(tmp_path, dict.fromkeys(files, "words\n"))).report
    assert [one.value for one in found] == candidates
    assert reason in (found[0].reason if found else "")


@pytest.mark.parametrize(
    "pair", [("paper.md", "paper.tex"), ("a.ipynb", "b.ipynb"), ("main.tex", "report.tex")]
)
def test_two_reports_of_one_kind_are_equally_good(tmp_path, pair) -> None:
    found = find_setup(lay(tmp_path, dict.fromkeys(pair, "words\n"))).report
    assert {one.value for one in found} == set(pair)
    assert found[0].rank == found[1].rank


def test_of_two_equally_good_reports_the_one_that_the_readme_names_is_better(tmp_path) -> None:
    files = {"paper.md": "x\n", "paper.tex": "x\n", "README.md": "The text is in [paper.tex](paper.tex).\n"}
    first, second = find_setup(lay(tmp_path, files)).report
    assert (first.value, second.value) == ("paper.tex", "paper.md")
    assert first.rank > second.rank
    assert "README.md names it" in first.reason


RESULTS = [
    ({"results.json": NUMBERS}, ["results.json"], "the place where it is looked for"),
    ({"results/results.json": "not JSON"}, ["results/results.json"], "the place where it is looked for"),
    ({"outputs/results.json": NUMBERS}, ["outputs/results.json"], "results by its name, in outputs/"),
    ({"metrics.json": NUMBERS}, ["metrics.json"], "results by its name"),
    ({"output/metrics.json": NUMBERS}, ["output/metrics.json"], "results by its name"),
    ({"results/fit.json": NUMBERS}, ["results/fit.json"], "a JSON file with numbers"),
    ({"results/fit.json": '{"a": {"b": [null, [3]]}}'}, ["results/fit.json"], "a JSON file with numbers"),
    ({"results/words.json": '{"a": "b", "yes": true}'}, [], ""),
    ({"results/list.json": "[1, 2]"}, [], ""),
    ({"results/broken.json": '{"a": 1'}, [], ""),
    ({"fit.json": NUMBERS}, [], ""),
    ({"package.json": NUMBERS, "tsconfig.json": NUMBERS, "package-lock.json": NUMBERS}, [], ""),
    ({"data/results.json": NUMBERS, "results/data/x.json": NUMBERS, "config/metrics.json": NUMBERS}, [], ""),
    ({"results/config.json": NUMBERS, "results/results.schema.json": NUMBERS}, [], ""),
    (
        {
            "node_modules/a/results.json": NUMBERS,
            ".cache/results.json": NUMBERS,
            "venv/results.json": NUMBERS,
        },
        [],
        "",
    ),
    ({"env2/pyvenv.cfg": "", "env2/results/metrics.json": NUMBERS}, [], ""),
    (
        {"fit.json": NUMBERS, "run.py": WRITES.format("fit.json")},
        ["fit.json"],
        "the only JSON file that run.py writes",
    ),
    ({"run.py": WRITES.format("out/fit.json")}, ["out/fit.json"], "not there yet"),
    (
        {"run.py": 'parser.add_argument("--to", default="out/metrics.json")\n'},
        ["out/metrics.json"],
        "run.py names it",
    ),
    (
        {"run.py": 'params = json.loads(open("results/old.json").read())\n', "results/old.json": NUMBERS},
        [],
        "",
    ),
    (
        {"run.R": 'write_json(x, "out/summary.json")\n'},
        ["out/summary.json"],
        "the only JSON file that run.R writes",
    ),
    ({"run.sh": "./model > out/fit.json\n"}, ["out/fit.json"], "the only JSON file that run.sh writes"),
    (
        {"results/fit.json": NUMBERS, "results/metrics.json": NUMBERS},
        ["results/metrics.json", "results/fit.json"],
        "results by its name",
    ),
]


@pytest.mark.parametrize(("files", "candidates", "reason"), RESULTS)
def test_the_results_are_found_by_place_name_content_and_who_writes_them(
    tmp_path, files, candidates, reason
) -> None:
    found = find_setup(lay(tmp_path, files)).results
    assert [one.value for one in found] == candidates
    assert reason in (found[0].reason if found else "")


def test_the_two_places_of_the_results_are_equally_good(tmp_path) -> None:
    found = find_setup(lay(tmp_path, {"results.json": NUMBERS, "results/results.json": NUMBERS})).results
    assert [one.rank for one in found] == [100, 100]


COMMANDS = [
    ({"run.py": ""}, ["python3 run.py"], "a script to run, by its name"),
    ({"main.py": ""}, ["python3 main.py"], "a script to run, by its name"),
    ({"src/run.py": ""}, ["python3 src/run.py"], "a script to run, by its name"),
    ({"src/pkg/analysis.py": ""}, ["python3 src/pkg/analysis.py"], "a script to run, by its name"),
    ({"tests/run.py": "", "lib/main.py": ""}, [], ""),
    ({"fit.py": ""}, ["python3 fit.py"], "the only .py file"),
    ({"fit.py": "", "model.py": ""}, [], ""),
    ({"fit.py": WRITES.format("results.json"), "model.py": ""}, ["python3 fit.py"], "writes results.json"),
    ({"setup.py": "", "conftest.py": "", "test_a.py": "", "-x.py": ""}, [], ""),
    ({"run.sh": "python a.py\n"}, ["sh run.sh"], "a script to run, by its name"),
    ({"run.sh": "#!/usr/bin/env bash\n"}, ["bash run.sh"], "a script to run, by its name"),
    ({"run.sh": "python a.py\npython b.py\n", "a.py": "", "b.py": ""}, ["sh run.sh"], "runs a.py and b.py"),
    ({"model.R": ""}, ["Rscript model.R"], "the only .R file"),
    ({"Snakefile": PIPELINE}, ["snakemake --cores 1"], "Snakefile is a pipeline"),
    ({"dvc.yaml": "stages: {}\n"}, ["dvc repro"], "dvc.yaml is a pipeline"),
    ({"Makefile": "results: x\n\ttouch y\n"}, ["make results"], "a target of Makefile"),
    ({"Makefile": "all: x\n\ttouch y\nrun:\n\t./z\n"}, ["make run", "make all"], "a target of Makefile"),
    ({"Makefile": "results := here\ntest:\n\tpytest\n"}, [], ""),
    (
        {"Makefile": "results: run.py\n\tpython run.py\n", "run.py": ""},
        ["python3 run.py", "make results"],
        "a script to run, by its name",
    ),
    (
        {"Makefile": "results: one\n\tpython run.py\none:\n\tpython fit.py\n", "run.py": "", "fit.py": ""},
        ["make results", "python3 run.py"],
        "runs fit.py and run.py",
    ),
    (
        {"run.py": "", "README.md": "Do:\n\n    $ python3 run.py --seed 3\n"},
        ["python3 run.py --seed 3", "python3 run.py"],
        "README.md says to run it",
    ),
    ({"README.md": "python gone.py\nbash -c 'rm -r x'\nmake love\n"}, [], ""),
    ({"pyproject.toml": '[project.scripts]\nrun = "a:b"\n'}, [], ""),
]


@pytest.mark.parametrize(("files", "candidates", "reason"), COMMANDS)
def test_the_run_command_is_found_and_is_program_and_arguments(tmp_path, files, candidates, reason) -> None:
    found = find_setup(lay(tmp_path, files)).run
    assert [one.display for one in found] == candidates
    assert all(isinstance(one.value, tuple) for one in found)
    assert reason in (found[0].reason if found else "")


def test_two_scripts_of_one_kind_are_equally_good(tmp_path) -> None:
    found = find_setup(lay(tmp_path, {"main.py": "", "analysis.py": ""})).run
    assert found[0].rank == found[1].rank


def test_data_files_in_a_data_folder_that_the_script_names_are_its_inputs(tmp_path) -> None:
    code = (
        'from pathlib import Path\nHERE = Path(__file__).parent\nDATA = HERE / "data"\n'
        'a = (DATA / "a.csv").read_text()\nb = open("data/b.csv").read()\nc = open("data/gone.csv")\n'
        'd = open("notes.csv")\n(HERE / "data" / "made.csv").write_text("1")\n'
    )
    files = {
        "run.py": code,
        **dict.fromkeys(["data/a.csv", "data/b.csv", "data/made.csv", "notes.csv"], "1\n"),
    }
    assert find_setup(lay(tmp_path, files)).run[0].inputs == ("data/a.csv", "data/b.csv")


def test_nothing_is_found_in_an_empty_folder_and_what_is_skipped_is_not_looked_into(tmp_path) -> None:
    assert find_setup(tmp_path).files == 0
    lay(
        tmp_path,
        {"state/results.json": NUMBERS, "state/report.md": "x", "sub/.git/HEAD": "", "sub/report.md": "x"},
    )
    found = find_setup(tmp_path, skip={"state"})
    assert (found.report, found.results, found.run, found.files) == ([], [], [], 0)


def test_looking_writes_nothing(tmp_path, tree) -> None:
    lay(tmp_path, {"run.py": WRITES.format("results.json"), "report.md": "x", "results.json": NUMBERS})
    before = tree(tmp_path)
    find_setup(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("example", ["nile", "sunspots"])
def test_the_shipped_examples_are_found_as_they_say_of_themselves(example) -> None:
    from autoscirub.store import load_config

    root = Path(__file__).resolve().parents[2] / "examples" / example
    config = load_config(root).values
    found = find_setup(root)
    assert config.run is not None
    assert found.report[0].value == config.report
    assert found.results[0].value == config.results
    assert found.run[0].value == tuple(config.run.command)
    assert list(found.run[0].inputs) == config.run.inputs
