"""What the words of a command judge start: nothing that lies in the folder that is judged, whatever stands around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.judging.judges import command

from autoscirub.errors import ConfigError
from autoscirub.judging.backends import JudgeProgram

STARTS_WHAT_IS_JUDGED = [
    ["python3", "judge.py"],
    ["bash", "-x", "./judge.sh"],
    ["/usr/bin/python3.11", "a/b.py"],
    # An option of the script is none of the interpreter.
    ["python3", "judge.py", "-m", "gpt"],
    ["python3", "judge.py", "-c"],
    ["bash", "judge.sh", "-e"],
    ["node", "judge.js", "--eval", "1"],
    # Nor is every letter inline, nor what is the value of another option.
    ["bash", "-e", "judge.sh"],
    ["bash", "-eo", "pipefail", "judge.sh"],
    ["python3", "-Wm", "judge.py"],
    ["python3", "-X", "dev", "judge.py"],
    ["python3", "--", "judge.py"],
    ["perl", "-ie", "judge.pl"],
    ["lua5.4", "-e", "x = 1", "judge.lua"],
    ["node", "-r", "./hook", "{project}/judge.js"],
    ["deno", "run", "eval"],
    # Behind a launcher too.
    ["env", "./judge"],
    ["env", "tools/judge"],
    ["/usr/bin/env", "bash", "judge"],
    ["env", "python3", "judge.py"],
    ["env", "python3", "judge.py", "-m", "gpt"],
    ["env", "-S", "python3 judge.py"],
    ["timeout", "60", "bash", "judge.sh", "-c"],
    ["uv", "run", "judge.py"],
    ["uv", "run", "python", "judge.py", "-m", "gpt"],
    ["uv", "run", "llm", "-m", "org/model"],
]


@pytest.mark.parametrize("words", STARTS_WHAT_IS_JUDGED, ids=" ".join)
def test_a_script_of_the_judged_folder_is_refused(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(ConfigError, match=r'from the folder that is judged.*write "\{project\}/'):
        command(tmp_path, *words)


STARTS_NOTHING_JUDGED = [
    ["python3", "{project}/j.py"],
    ["python3", "{project}/j.py", "-m", "org/model"],
    ["python3", "-m", "judge"],
    ["python3", "-c", "1"],
    ["python3", "-X", "dev", "-W", "error", "-m", "judge"],
    ["python3", "-EPm", "judge"],
    ["sh", "-ec", "x"],
    ["bash", "-eo", "pipefail", "-c", "x"],
    ["node", "--eval", "1"],
    ["perl", "-lne", "print"],
    ["deno", "run", "-A", "{project}/j.ts"],
    ["python3", "/opt/j.py"],
    ["llm", "report.md"],
    ["llm", "-m", "org/model"],
    ["env", "MODEL=org/model", "python3", "{project}/j.py", "org/model"],
    ["uv", "run", "--with", "git+https://host/a", "{project}/j.py"],
    ["uv", "run", "llm", "--model=org/model"],
]


@pytest.mark.parametrize("words", STARTS_NOTHING_JUDGED, ids=" ".join)
def test_what_starts_no_file_under_judgement_is_allowed(tmp_path: Path, words: list[str]) -> None:
    command(tmp_path, *words)


def test_a_script_for_a_program_that_nobody_knows_is_refused_where_the_project_has_it(tmp_path: Path) -> None:
    command(tmp_path, "wrap", "python3", "judge.py", "-m", "gpt")
    (tmp_path / "judge.py").write_text("")
    with pytest.raises(ConfigError, match="from the folder that is judged"):
        command(tmp_path, "wrap", "python3", "judge.py", "-m", "gpt")


def test_a_word_of_a_launcher_that_may_be_no_file_is_refused_with_the_way_to_write_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="where it is no file, .* as one word: --name=org/model"):
        command(tmp_path, "uv", "run", "llm", "-m", "org/model")


@pytest.mark.parametrize(
    "words",
    [["env", "python3"], ["uv", "run", "python"], ["wrap", "/usr/bin/python3.12"], ["uv", "run"]],
    ids=" ".join,
)
def test_python_behind_another_program_takes_no_module_from_the_judged_folder_either(
    tmp_path: Path, words: list[str]
) -> None:
    safe = {"PYTHONSAFEPATH": "1"}
    assert JudgeProgram([*words, "-m", "judge"], tmp_path).environment() == safe
    assert JudgeProgram([*words, "{project}/judge.py"], tmp_path).environment() == {}


@pytest.mark.parametrize(
    "words",
    [
        ["python3", "-Em", "judge"],
        ["env", "python3", "-E", "-c", "1"],
        ["env", "-i", "python3", "-m", "judge"],
        ["env", "-u", "PYTHONSAFEPATH", "python3", "-m", "judge"],
        ["env", "--unset=PYTHONSAFEPATH", "python3", "-m", "judge"],
        ["env", "PYTHONSAFEPATH=", "python3", "-m", "judge"],
    ],
    ids=" ".join,
)
def test_python_that_could_not_be_kept_from_modules_of_the_judged_folder_is_refused(
    tmp_path: Path, words: list[str]
) -> None:
    with pytest.raises(ConfigError, match="ignores PYTHONSAFEPATH .* give it -P or -I"):
        command(tmp_path, *words)
