"""Finds the command that makes the results: scripts, Makefile targets, pipelines, commands in the README."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING

from autoscirub.models import Candidate
from autoscirub.setup.discover.code import Code, read_code

if TYPE_CHECKING:
    from autoscirub.setup.discover.scan import ProjectScan

_SUFFIXES = (".py", ".r", ".sh")
_NAMES = {
    "run": 80, "run_all": 80, "runall": 80,
    "main": 70, "analysis": 70, "analyse": 70, "analyze": 70, "reproduce": 70, "experiment": 70,
    "experiments": 70, "pipeline": 70,
}  # fmt: skip
_FOLDERS = frozenset({
    "src", "scripts", "script", "code", "analysis", "bin", "experiments",
})  # fmt: skip
_NOT_RUN = re.compile(
    r"(?i)(test_.*|.*_test|tests?|setup|conftest|noxfile|fabfile|manage|revise|util(s|ities)?|helpers?|config|settings"
    r"|common|constants|plot.*|figures?|install.*|download.*|__\w+__|[.-].*)"
)
_TARGETS = ("results", "reproduce", "run", "all")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = re.compile(r"^([\w./ -]{1,200}?)\s{0,8}:(?![=:])([^=\n]*)$")
_README_COMMAND = re.compile(
    r"^\s{0,12}(?:[$>%] )?(?:python3?|Rscript|bash|sh|make)\s+[\w./=:,+ -]{1,200}$", re.MULTILINE
)
_DATA = (
    ".csv", ".tsv", ".json", ".parquet", ".xlsx", ".npy", ".npz", ".h5", ".nc", ".feather", ".txt",
    ".dat",
)  # fmt: skip
_DATA_FOLDERS = frozenset({
    "data", "dataset", "datasets", "input", "inputs", "raw",
})  # fmt: skip
_MOST_SCRIPTS = 200
_WRITES = 20
_IN_README = 10
_SEVERAL = 110
"""The rank of a script or target that runs several others: it is the whole, and each of them a part."""


def script_code(seen: ProjectScan) -> dict[str, Code]:
    """What each script, Makefile and pipeline of the project names and writes."""
    scripts = [path for path in seen.files if _is_code(path)][:_MOST_SCRIPTS]
    return {path: read_code(seen.text(path), path) for path in scripts}


def find_commands(
    seen: ProjectScan, code: dict[str, Code], readme: tuple[str, str], results: list[str]
) -> list[Candidate]:
    """The commands that may make the results, best first. None of them is run."""
    scripts = [path for path in code if path.lower().endswith(_SUFFIXES)]
    found = [
        one for path in scripts if (one := _script(seen, path, code[path], scripts, results)) is not None
    ]
    found += _pipelines(seen)
    found += _targets(seen, scripts)
    return sorted(_with_readme(found, readme, scripts), key=lambda one: -one.rank)


def _is_code(path: str) -> bool:
    if path in (*_MAKEFILES, "Snakefile", "workflow/Snakefile", "dvc.yaml"):
        return True
    folder, name = posixpath.split(path)
    is_script = path.lower().endswith(_SUFFIXES) and not _NOT_RUN.fullmatch(posixpath.splitext(name)[0])
    return is_script and (not folder or folder.split("/")[0].lower() in _FOLDERS)


def _script(
    seen: ProjectScan, path: str, part: Code, scripts: list[str], results: list[str]
) -> Candidate | None:
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    folder = posixpath.dirname(path)
    written = next((name for name in results if name in part.writes), None)
    rank = _NAMES.get(stem.lower())
    reason = "a script to run, by its name"
    if rank is None:
        alone = not folder and sum(1 for one in scripts if one.lower().endswith(suffix.lower())) == 1
        if not (alone or written):
            return None
        rank, reason = 55, f"the only {suffix} file" if alone else ""
    if folder:
        rank -= 10 * min(2, folder.count("/") + 1)
    if written is not None:
        rank, reason = rank + _WRITES, "; ".join(filter(None, [reason, f"writes {written}"]))
    if suffix == ".sh" and len(called := _called(seen.text(path), scripts, path)) > 1:
        rank, reason = _SEVERAL, f"runs {_few(called)}"
    return Candidate(_command(seen, path), reason, rank, inputs=_inputs(seen, part, results))


def _command(seen: ProjectScan, path: str) -> tuple[str, ...]:
    suffix = posixpath.splitext(path)[1].lower()
    if suffix == ".sh":
        return ("bash" if re.match(r"#!.{0,40}bash", seen.text(path)) else "sh", path)
    return ("python3" if suffix == ".py" else "Rscript", path)


def _inputs(seen: ProjectScan, part: Code, results: list[str]) -> tuple[str, ...]:
    """The data files in a data folder that a script names and does not write."""
    there = set(seen.files)
    return tuple(
        path
        for path in sorted(part.names - part.writes - set(results))
        if path in there
        and path.lower().endswith(_DATA)
        and _DATA_FOLDERS & set(path.lower().split("/")[:-1])
    )


def _pipelines(seen: ProjectScan) -> list[Candidate]:
    found = []
    snakefile = next((path for path in ("Snakefile", "workflow/Snakefile") if path in seen.files), None)
    if snakefile:
        found.append(Candidate(("snakemake", "--cores", "1"), f"{snakefile} is a pipeline", 105))
    if "dvc.yaml" in seen.files:
        found.append(Candidate(("dvc", "repro"), "dvc.yaml is a pipeline", 105))
    return found


def _targets(seen: ProjectScan, scripts: list[str]) -> list[Candidate]:
    makefile = next((path for path in _MAKEFILES if path in seen.files), None)
    if makefile is None:
        return []
    rules = _rules(seen.text(makefile))
    found = []
    for place, target in enumerate(name for name in _TARGETS if name in rules):
        rank, reason = 75 - place, f"a target of {makefile}"
        called = _called(_whole(rules, target), scripts)
        if len(called) > 1:
            rank, reason = _SEVERAL - place, f"{reason} that runs {_few(called)}"
        elif called:
            reason = f"{reason} that runs {called[0]}"
        found.append(Candidate(("make", target), reason, rank))
    return found


def _rules(text: str) -> dict[str, tuple[list[str], str]]:
    """A Makefile's targets, each with what it needs and its recipe. Variables and includes are not followed."""
    rules: dict[str, tuple[list[str], str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if len(line) > 1_000:
            continue
        if line.startswith("\t"):
            for target in current:
                needs, recipe = rules[target]
                rules[target] = (needs, f"{recipe}{line}\n"[:10_000])
        elif match := _RULE.match(line):
            current = match[1].split()
            for target in current:
                needs, recipe = rules.get(target, ([], ""))
                rules[target] = ([*needs, *match[2].split()][:200], recipe)
        elif line.strip() and not line.startswith("#"):
            current = []
    return rules


def _whole(rules: dict[str, tuple[list[str], str]], target: str) -> str:
    """The recipes of a target and of all that it needs."""
    waiting, text = [target], ""
    seen: set[str] = set()
    while waiting and len(seen) < 200:
        name = waiting.pop()
        if name in rules and name not in seen:
            seen.add(name)
            needs, recipe = rules[name]
            text += recipe
            waiting += needs
    return text


def _called(text: str, scripts: list[str], besides: str = "") -> list[str]:
    words = set(re.findall(r"[\w./-]+", text[:100_000]))
    words |= {word.removeprefix("./") for word in words}
    return [path for path in scripts if path in words and path != besides]


def _few(names: list[str]) -> str:
    named = " and ".join(names[:2])
    return named if len(names) < 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _with_readme(found: list[Candidate], readme: tuple[str, str], scripts: list[str]) -> list[Candidate]:
    """The candidates, and the commands in the README: each is a candidate of its own where it adds arguments."""
    by_value = {one.value: one for one in found}
    spoken: set[str] = set()
    for match in _README_COMMAND.finditer(readme[1]):
        words = tuple(shlex.split(match[0].strip().lstrip("$>% ")))
        if words[0] == "python":
            words = ("python3", *words[1:])
        target = words[1].removeprefix("./") if len(words) > 1 else ""
        words = (words[0], target, *words[2:])
        known = by_value.get(words) or by_value.get(words[:2])
        if len(words) > 12 or target in spoken or (known is None and target not in scripts):
            continue
        spoken.add(target)
        reason = f"{readme[0]} says to run it"
        if known is not None:
            reason = "; ".join(filter(None, [known.reason, reason]))
        rank = known.rank if known is not None else 65
        inputs = known.inputs if known is not None else ()
        by_value[words] = Candidate(words, reason, rank + _IN_README, inputs=inputs)
    return list(by_value.values())
