"""The project's configuration: three sources, what is refused in each, and what a hostile one costs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from autoscirub.errors import ConfigError, PredictionsError
from autoscirub.models import LimitsConfig, ProjectConfig, RunConfig
from autoscirub.store.config import CONFIG_NAMES, load_config, read_toml

TOML, PYPROJECT, YAML = "autoscirub.toml", "pyproject.toml", ".autoscirub/config.yaml"


def _project(root: Path, files: dict[str, str | bytes]) -> Path:
    (root / ".autoscirub").mkdir(exist_ok=True)
    for name, content in files.items():
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


SAME = {
    TOML: 'report = "paper.md"\n[run]\ncommand = ["python", "run.py"]\nseconds = 5\n[audit]\nkeep_file = 7\n',
    PYPROJECT: '[project]\nname = "x"\n[tool.autoscirub]\nreport = "paper.md"\naudit = {keep_file = 7}\n'
    '[tool.autoscirub.run]\ncommand = ["python", "run.py"]\nseconds = 5.0\n',
    YAML: "report: paper.md\naudit:\n  keep_file: 7\nrun:\n  command: [python, run.py]\n  seconds: 5\n",
}


def test_there_are_three_sources_and_none_is_needed(tmp_path: Path) -> None:
    assert tuple(SAME) == CONFIG_NAMES
    loaded = load_config(tmp_path)
    assert loaded.values == ProjectConfig()
    assert loaded.source is None


@pytest.mark.parametrize("name", CONFIG_NAMES)
def test_each_source_says_the_same_thing_in_its_own_way(tmp_path: Path, name: str) -> None:
    loaded = load_config(_project(tmp_path, {name: SAME[name]}))
    assert loaded.source == name
    assert loaded.values.report == "paper.md"
    assert loaded.values.audit.keep_file == 7
    assert loaded.values.audit.keep_round == ProjectConfig().audit.keep_round
    assert loaded.values.run is not None
    assert loaded.values.run.command == ["python", "run.py"]
    assert loaded.values.run.seconds == 5.0


def test_three_sources_that_agree_are_fine(tmp_path: Path) -> None:
    assert load_config(_project(tmp_path, dict(SAME))).source == TOML


@pytest.mark.parametrize(
    ("files", "both", "keys"),
    [
        (
            {
                TOML: 'report = "a"\nresults = "x"',
                PYPROJECT: '[tool.autoscirub]\nreport = "b"\nresults = "y"',
            },
            (TOML, PYPROJECT),
            "report, results",
        ),
        ({TOML: 'report = "a"', YAML: "report: b"}, (TOML, YAML), "report"),
        ({PYPROJECT: "[tool.autoscirub]", YAML: "audit: {keep_file: 1}"}, (PYPROJECT, YAML), "audit"),
        ({**SAME, YAML: "report: b"}, (TOML, YAML), "audit, report, run"),
        ({TOML: "", YAML: "state_dir: elsewhere"}, (TOML, YAML), "state_dir"),
    ],
)
def test_two_sources_that_disagree_are_named_with_the_keys(
    tmp_path: Path, files: dict[str, str | bytes], both: tuple[str, str], keys: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(_project(tmp_path, files))
    assert str(caught.value) == (
        f"{both[0]} and {both[1]} disagree on {keys}; keep the settings in one of them"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[tool]",
        "[tool.other]\na = 1",
        "[project]\nname = 'x'",
        "tool = 1",
        "[[tool]]\na = 1",
        "autoscirub = 1",
    ],
)
def test_a_pyproject_without_our_table_is_no_configuration(tmp_path: Path, text: str) -> None:
    assert load_config(_project(tmp_path, {PYPROJECT: text})).source is None


def test_an_empty_configuration_is_one_all_the_same(tmp_path: Path) -> None:
    for name, text in [(TOML, ""), (PYPROJECT, "[tool.autoscirub]"), (YAML, "# nothing yet\n")]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        assert load_config(tmp_path).source == name
        (tmp_path / name).unlink()


def test_a_mark_and_crlf_are_read_as_if_they_were_not_there(tmp_path: Path) -> None:
    for name in CONFIG_NAMES:
        data = b"\xef\xbb\xbf" + SAME[name].replace("\n", "\r\n").encode()
        loaded = load_config(_project(tmp_path, {name: data}))
        assert loaded.values.report == "paper.md"
        (tmp_path / name).unlink()


KNOWN = ", ".join(sorted(ProjectConfig.model_fields))
REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    # unknown keys name the known ones
    "unknown key": (TOML, "reprot = 'a'", f"unknown key reprot; known here: {KNOWN}"),
    "unknown key in a table": (
        TOML,
        "run.command = ['a']\nrun.second = 1",
        f"unknown key run.second; known here: {', '.join(sorted(RunConfig.model_fields))}",
    ),
    "unknown key in pyproject": (
        PYPROJECT,
        "[tool.autoscirub]\njugde = 1",
        f"unknown key jugde; known here: {KNOWN}",
    ),
    "unknown key in YAML": (
        YAML,
        "limits: {a: 1}",
        f"unknown key limits.a; known here: {', '.join(sorted(LimitsConfig.model_fields))}",
    ),
    "an empty key": (TOML, '"" = 1', "unknown key ; known here"),
    "a key that is no text": (YAML, "1: 2", "the key 1 is not text"),
    # wrong types say what was found
    "a number for a path": (TOML, "report = 1", "report = 1: input should be a valid string"),
    "text for a number": (
        TOML,
        "audit.keep_file = '1'",
        "audit.keep_file = '1': input should be a valid integer",
    ),
    "true for a number": (
        TOML,
        "audit.keep_file = true",
        "audit.keep_file = True: input should be a valid integer",
    ),
    "a negative number": (
        TOML,
        "audit.keep_file = -1",
        "audit.keep_file = -1: input should be greater than or equal",
    ),
    "infinitely many seconds": (
        TOML,
        "limits.lock_seconds = inf",
        "limits.lock_seconds = inf: input should be a fin",
    ),
    "no number of seconds": (
        YAML,
        "limits: {lock_seconds: .nan}",
        "limits.lock_seconds = nan: input should be a fin",
    ),
    "no seconds": (
        TOML,
        "limits.lock_seconds = 0",
        "limits.lock_seconds = 0: input should be greater than 0",
    ),
    "a date": (
        TOML,
        "report = 2001-01-01",
        "report = datetime.date(2001, 1, 1): input should be a valid string",
    ),
    "a table for a path": (TOML, "[report]\na = 1", "report = a table: input should be a valid string"),
    "a list for a table": (TOML, "run = [1]", "run = a list: input should be"),
    "a command line for a list": (
        TOML,
        "run.command = 'python x.py'",
        "run.command = 'python x.py': input should be",
    ),
    "an empty command": (TOML, "run.command = []", "run.command = a list: list should have at least 1 item"),
    "a command without a program": (
        TOML,
        "run.command = ['', 'x']",
        "run.command: the first part is empty; it is the program to start",
    ),
    "a reviser without a program": (TOML, "rounds.revise = [' ']", "rounds.revise: the first part is empty"),
    "a command with a NUL": (TOML, r'run.command = ["a", "b\u0000"]', "run.command: holds a NUL character"),
    "seconds beyond any clock": (
        TOML,
        "run.command = ['a']\nrun.seconds = 1e308",
        "run.seconds = 1e+308: input should be less than or equal to 10000000",
    ),
    "seconds of waiting beyond any clock": (
        TOML,
        "limits.lock_seconds = 1e300",
        "limits.lock_seconds = 1e+300: input should be less than or equal to 10000000",
    ),
    "a tolerance that takes anything": (
        TOML,
        "run.command = ['a']\nrun.rtol = 1.0",
        "run.rtol = 1.0: input should be less than 1",
    ),
    "a variable with its value": (
        TOML,
        "run.command = ['a']\nrun.env = ['A', 'B=1']",
        "run.env.1: 'B=1' is not a variable name",
    ),
    "no source of numbers": (
        TOML,
        "numbers.sources = []",
        "numbers.sources = a list: list should have at least 1 item",
    ),
    "a run without a command": (TOML, "[run]\nseconds = 1", "run.command is missing"),
    "our table is a list": (PYPROJECT, "[[tool.autoscirub]]", "tool.autoscirub is a list, expected a table"),
    "our table is a number": (PYPROJECT, "tool.autoscirub = 1", "tool.autoscirub is 1, expected a table"),
    "YAML that is a list": (YAML, "- a", "holds a list, expected keys and values"),
    "YAML that is text": (YAML, "just words", "holds 'just words', expected keys and values"),
    # not what the format is
    "broken TOML": (TOML, "report = ", "is not TOML"),
    "a repeated TOML key": (TOML, "report = 'a'\nreport = 'b'", "is not TOML: Cannot overwrite a value"),
    "a broken pyproject": (PYPROJECT, "x", "is not TOML"),
    "broken YAML": (YAML, "a: [", "is not YAML"),
    "a repeated YAML key": (YAML, "report: a\nreport: b", "the key 'report' appears twice (line 2)"),
    "a repeated YAML key inside": (
        YAML,
        "run:\n  command:\n  - a\n  command: [b]",
        "'command' appears twice (line 4)",
    ),
    "two YAML documents": (YAML, "report: a\n---\nreport: b", "is not YAML: expected a single document"),
    "a YAML date that there is not": (YAML, "report: 2001-99-99", "is not YAML: month must be in 1..12"),
    "a YAML number that is none": (YAML, "report: 0b_", "is not YAML: invalid literal"),
    "half of a surrogate pair": (YAML, r'report: "\ud800"', "half of a surrogate pair"),
    # encodings
    "Latin-1 TOML": (TOML, "# a\nreport = 'é'".encode("latin-1"), "is not UTF-8: byte 0xe9 (line 2)"),
    "Latin-1 YAML": (YAML, "# a\nreport: é".encode("latin-1"), "is not UTF-8: byte 0xe9 (line 2)"),
    "UTF-16": (YAML, "report: a".encode("utf-16"), "is not UTF-8: byte 0xff (line 1)"),
    # what a stranger may have put there
    "a YAML alias": (
        YAML,
        "report: &a x\nresults: *a",
        "anchors, aliases and tags (& * !) are not read here (line 1)",
    ),
    "a YAML merge": (
        YAML,
        "<<: {report: a}\nx: *x",
        "anchors, aliases and tags (& * !) are not read here (line 2)",
    ),
    "YAML that runs a program": (
        YAML,
        'report: !!python/object/apply:os.system ["true"]',
        "are not read here",
    ),
    "a YAML tag that PyYAML stumbles on": (YAML, "report: !!int ''", "are not read here"),
    "a YAML tag without a name": (YAML, "report: ! x", "are not read here"),
    "a number of 5,000 digits": (TOML, "report = " + "1" * 5000, "holds a number of too many digits"),
    "a number of 9,000 hex digits": (
        TOML,
        "report = 0x" + "f" * 9000,
        "report = a very large number: input should",
    ),
    "a value nested deeply": (TOML, "report = " + "[" * 400 + "]" * 400, "report = a list: input should be"),
    "a value nested too deeply": (TOML, "report = " + "[" * 9999 + "]" * 9999, "is nested too deeply"),
    "a key of 33 parts": (
        TOML,
        "# a\n" + "a." * 32 + "a = 1",
        "a dotted key of more than 32 parts (line 2)",
    ),
    "a table name of 33 parts": (
        TOML,
        "[" + "a . 'b'.\"c\"." * 11 + "a]",
        "a dotted key of more than 32 parts",
    ),
    "a pyproject key of 33 parts": (PYPROJECT, "a." * 32 + "a = 1", "a dotted key of more than 32 parts"),
    "a file that is too large": (YAML, "#" * 65_537, "65,537 bytes, more than the limit of 65,536"),
    "a very long value": (TOML, "audit.keep_file = '" + "x" * 9999 + "'", "input should be a valid integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_configuration_that_cannot_be_used_says_where_and_why(tmp_path: Path, name: str) -> None:
    source, content, problem = REFUSED[name]
    with pytest.raises(ConfigError) as caught:
        load_config(_project(tmp_path, {source: content}))
    message = str(caught.value)
    assert source in message
    assert problem in message
    assert len(message) < 500 + len(str(tmp_path))


def test_every_fault_is_listed_up_to_twenty(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(_project(tmp_path, {TOML: "a = 1\nb = 1\nreport = 1"}))
    assert [line.split(":")[1][:14] for line in str(caught.value).splitlines()] == [
        " report = 1",
        " unknown key a",
        " unknown key b",
    ]
    many = "\n".join(f"k{number} = 1" for number in range(1000))
    with pytest.raises(ConfigError) as caught:
        load_config(_project(tmp_path, {TOML: many}))
    assert str(caught.value).splitlines()[20:] == [f"{TOML}: and 980 more faults"]


@pytest.mark.parametrize("name", CONFIG_NAMES)
def test_a_configuration_that_is_no_file_of_the_project_is_refused(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(SAME[name].encode())
    root = tmp_path / "project"
    (root / ".autoscirub").mkdir(parents=True)
    (root / name).symlink_to(outside)
    with pytest.raises(ConfigError, match="is a symbolic link, expected a regular file"):
        load_config(root)
    (root / name).unlink()
    (root / name).mkdir()
    with pytest.raises(ConfigError, match="is a directory, expected a regular file"):
        load_config(root)


def test_a_config_yaml_outside_the_project_is_not_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root = tmp_path / "project"
    root.mkdir()
    (root / ".autoscirub").symlink_to(elsewhere)
    assert load_config(root).source is None
    (elsewhere / "config.yaml").write_text("report: a")
    with pytest.raises(ConfigError, match="leads out of"):
        load_config(root)


def test_keys_with_as_many_parts_as_there_may_be_and_prose_with_dots_are_read() -> None:
    key = ".".join(["a"] * 32)
    assert read_toml(f"{key} = 1".encode(), "x")["a"]["a"]["a"]
    prose = 'plan = """' + "Fit a line. Then, e.g., plot it... and so on. " * 100 + '"""'
    assert read_toml(prose.encode(), "x")["plan"].startswith("Fit a line.")
    numbers = "x = [" + ", ".join(f"{number}.5" for number in range(1000)) + "]"
    assert len(read_toml(numbers.encode(), "x")["x"]) == 1000


def test_toml_faults_are_the_callers_error() -> None:
    for data in (b"\xff", b"x", b"a=" + b"1" * 5000, b"a=" + b"[" * 9999, b"a." * 99 + b"a=1"):
        with pytest.raises(PredictionsError, match=r"^prereg\.toml: "):
            read_toml(data, "prereg.toml", PredictionsError)


TOML_TEXT = st.text("abrunpoteslimdk_.='\"[]{},#\n 0123x-:é\\&*!|>?%@")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(CONFIG_NAMES), st.binary() | st.text().map(str.encode) | TOML_TEXT.map(str.encode))
@example(YAML, b"a: !!bool x")
@example(YAML, b"? [a]\n: b")
@example(YAML, b"{{}: 1}")
@example(YAML, b"=: =")
@example(YAML, b"<<: <<")
@example(YAML, b"%YAML 9.9\n---\na")
def test_random_bytes_are_a_configuration_or_a_config_error(tmp_path: Path, name: str, data: bytes) -> None:
    _project(tmp_path, {name: data})
    with contextlib.suppress(ConfigError):
        load_config(tmp_path)
    (tmp_path / name).unlink()


BOMBS = {
    "a TOML key of very many parts": (TOML, "'a.' * 100_000 + 'a = 1'"),
    "a TOML table name of very many parts": (TOML, "'[' + 'a.' * 100_000 + 'a]'"),
    "many TOML keys of as many parts as there may be": (
        TOML,
        "''.join('a.' * 31 + f'a{n} = 1\\n' for n in range(3000))",
    ),
    "a TOML list of very many wrong items": (TOML, "'run.command = [' + '1,' * 120_000 + ']'"),
    "one long TOML word": (TOML, "'a' * 250_000"),
    "many TOML quotes": (TOML, "'\"a\" ' * 50_000"),
    "YAML aliases of aliases": (
        YAML,
        "'a: &a0 [x]\\n' + ''.join(f'a{n}: &a{n} [' + f'*a{n - 1},' * 9 + ']\\n' for n in range(1, 10))"
        " + 'report: *a9'",
    ),
    "YAML merges of merges": (
        YAML,
        "'a0: &a0 {x: 1}\\n' + ''.join(f'a{n}: &a{n} {{<<: [' + f'*a{n - 1},' * 9 + ']}\\n' for n in range(1, 12))",
    ),
    "YAML brackets": (YAML, "'report: ' + '[' * 60_000"),
    "YAML sequences in sequences": (YAML, "'- ' * 30_000"),
}
CHILD = """
import os, resource, sys
from pathlib import Path
import yaml
from autoscirub.errors import ConfigError
from autoscirub.store.config import load_config
root = Path(sys.argv[1])
(root / ".autoscirub").mkdir()
for title, name, text in {bombs}:
    (root / name).write_text(text)
    if (child := os.fork()) == 0:
        status = 1
        try:
            pages = int(open("/proc/self/statm").read().split()[0])
            memory = pages * resource.getpagesize() + 5 * 50 * 1024 * 1024
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            used = resource.getrusage(resource.RUSAGE_SELF)
            seconds = int(used.ru_utime + used.ru_stime) + 6
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            try:
                load_config(root)
            except ConfigError as error:
                status = 0 if len(str(error)) < 4000 else 2
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        sys.stderr.write(title + "\\n")
    (root / name).unlink()
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and address-space limits")
def test_every_bomb_in_a_configuration_is_refused_within_250_mb_and_five_seconds(tmp_path: Path) -> None:
    bombs = ", ".join(f"({title!r}, {name!r}, {text})" for title, (name, text) in BOMBS.items())
    child = subprocess.run(
        [sys.executable, "-c", CHILD.replace("{bombs}", f"({bombs})"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")


def test_defaults_are_json(tmp_path: Path) -> None:
    assert json.loads(load_config(tmp_path).values.model_dump_json())["limits"]["lock_seconds"] == 60
