"""What must hold of the repository itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


FORBIDDEN = {
    "a registry's address": rf"https?://[\w.-]*({'pypi'}|{'pythonhosted'}|{'npmjs'}|{'debian'})\.",
    "a path of some machine": r"(?<![\w.])/(work|root|home/\w+)/[\w.]",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_committed_file_names(what) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found = []
    for path in tracked():
        if path == Path(__file__) or (what.startswith("a path") and path.is_relative_to(ROOT / "tests")):
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in pattern.finditer(text)]
    assert found == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_the_locks_pin_every_package_with_hashes_and_nothing_else(name) -> None:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    for line in lines:
        assert re.match(r"^([a-z0-9-]+==[\w.]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?|\s*#.*|)$", line), line
    names = {line.split("==")[0] for line in lines if "==" in line}
    assert {"pydantic", "typer", "gitpython", "filelock"} <= names


def test_both_locks_agree() -> None:
    def pins(name: str) -> dict[str, str]:
        lines = (ROOT / name).read_text("utf-8").splitlines()
        return dict(line.removesuffix(" \\").split("==") for line in lines if "==" in line)

    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")
    assert {name: dev[name] for name in run.keys() & dev.keys()} == {
        name: run[name] for name in run.keys() & dev.keys()
    }


HEAVY = {
    "git",
    "gitdb",
    "yaml",
    "PIL",
    "pypdf",
    "pyarrow",
    "pandas",
    "numpy",
    "jsonschema",
    "filelock",
    "pydantic",
}


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import autoscirub", set()),
        ("import autoscirub.cli.app", set()),
        ("import sys; sys.argv = ['x', '--help']; import autoscirub.cli as c; c.main(['--help'])", set()),
        (
            "from autoscirub import evaluate_expr; evaluate_expr('results.a > 0', {'a': 1})",
            {"pydantic", "filelock"},
        ),
    ],
)
def test_nothing_heavy_loads_before_it_is_used(code, allowed) -> None:
    program = f"import sys\n{code}\nsys.stderr.write(' '.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, encoding="utf-8")
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert loaded & HEAVY <= allowed


def test_every_public_name_is_exported_and_documented() -> None:
    import autoscirub

    for name in autoscirub.__all__:
        assert getattr(autoscirub, name).__doc__ or name == "__version__"
    with pytest.raises(AttributeError, match="attribute nothing"):
        autoscirub.nothing  # noqa: B018
    assert set(autoscirub.__all__) <= set(dir(autoscirub))


def test_the_generated_references_are_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")


SAFE_POSSESSIVE = (r'(?:\\.[^"\\]*+)*+', r'(?:\\.[^"\\\n]*+)*+', r'(?:\\[^\n][^"\\\n]*+)*+')
"""As they stand in the source: a repetition that fails before anything in it was repeated. Before Python 3.11.5 any
other possessive group keeps what a last, failed repetition had consumed, and the match is longer than it says."""


def test_no_possessive_group_relies_on_a_newer_interpreter() -> None:
    found: list[str] = []
    for path in sorted((ROOT / "server" / "autoscirub").rglob("*.py")):
        for line in path.read_text("utf-8").splitlines():
            rest = line
            for safe in SAFE_POSSESSIVE:
                rest = rest.replace(safe, "")
            if re.search(r"[^\\]\)[*?+]\+", rest):
                found.append(f"{path.name}: {line.strip()}")
    assert found == []
