"""How the source is laid out and named: folders with a door, one name for one class, no decision on the words of a message."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "server/autoscirub"
FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def module(path: Path) -> str:
    parts = path.relative_to(ROOT / "server").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path): path for path in FILES}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


def imports() -> Iterator[tuple[str, str, str]]:
    """Each import of ours: the module that imports, the module it names, the name."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "autoscirub":
                door = MODULES.get(node.module or "", path).with_suffix(".pyi")
                offered = (
                    door.read_text(encoding="utf-8") if door.is_file() and node.module in PACKAGES else ""
                )
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    is_module = whole in MODULES and f" as {name.name}\n" not in offered
                    yield module(path), whole if is_module else node.module or "", name.name
            assert not (isinstance(node, ast.ImportFrom) and node.level), path
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.name.split(".")[0] == "autoscirub":
                        yield module(path), name.name, ""


def package_of(name: str) -> str:
    return name if name in PACKAGES else name.rpartition(".")[0]


def test_a_folder_is_entered_by_its_door() -> None:
    """A module imports what lies outside of its folder from a package, never from a module in it."""
    entered = [
        f"{importer} imports {target}"
        for importer, target, _ in imports()
        if target not in PACKAGES
        and package_of(target) != "autoscirub"
        and not f"{package_of(importer)}.".startswith(f"{package_of(target)}.")
    ]
    assert entered == []


@pytest.mark.parametrize(
    "package", sorted(PACKAGES - {"autoscirub.cli", "autoscirub.client_hooks", "autoscirub.mcp_server"})
)
def test_what_a_door_offers_is_there_and_its_own(package: str) -> None:
    door = MODULES[package].with_suffix(".pyi")
    offered = [
        (node.module, name.name)
        for node in ast.parse(door.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for name in node.names
    ]
    assert offered, "a door that offers nothing"
    for source, name in offered:
        inner = f"{package}.{source}"
        where = MODULES[inner].with_suffix(".pyi") if inner in PACKAGES else MODULES[inner]
        defined = {
            target
            for node in ast.walk(ast.parse(where.read_text(encoding="utf-8")))
            for target in (
                [node.name]
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                else [t.id for each in node.targets for t in ast.walk(each) if isinstance(t, ast.Name)]
                if isinstance(node, ast.Assign)
                else [node.target.id]
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
                else [alias.asname or alias.name for alias in node.names]
                if isinstance(node, ast.ImportFrom) and inner in PACKAGES
                else []
            )
        }
        assert name in defined, f"{package} offers {name}, which {inner} does not define"
        assert not name.startswith("_") or name == "__version__"
    names = [name for _, name in offered]
    assert len(set(names)) == len(names)


def test_nobody_inside_imports_the_package_itself() -> None:
    assert [importer for importer, target, _ in imports() if target == "autoscirub"] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = defaultdict(set)
    for importer, target, _ in imports():
        if importer != target:
            graph[importer].add(target)
    state: dict[str, int] = {}

    def visit(name: str, path: list[str]) -> None:
        state[name] = 1
        for other in sorted(graph[name]):
            if state.get(other) == 1:
                pytest.fail(
                    " -> ".join([*path[path.index(other) :], other] if other in path else [name, other])
                )
            if other not in state:
                visit(other, [*path, other])
        state[name] = 2

    for name in sorted(MODULES):
        if name not in state:
            visit(name, [name])


def test_a_class_name_is_used_once() -> None:
    names = Counter(
        node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_what_shares_a_prefix_is_a_folder() -> None:
    families = Counter(
        (path.parent, path.stem.lstrip("_").split("_")[0]) for path in FILES if path.stem != "__init__"
    )
    assert [
        f"{folder.relative_to(PACKAGE)}/{prefix}_*"
        for (folder, prefix), count in families.items()
        if count > 2
    ] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_says_in_its_first_line_what_it_is_for(path: Path) -> None:
    text = ast.get_docstring(TREES[path]) or ""
    assert re.fullmatch(r"\S.{15,115}[.:?)]", text.splitlines()[0] if text else ""), text.splitlines()[:1]


OLD_WORDS = frozenset(
    [
        "told",
        "untold",
        "came",
        "standing",
        "amiss",
        "beside",
        "ground",
        "given",
        "shown",
        "looked",
        "said",
        "reached",
        "kept",
        "purse",
        "face",
        "spot",
        "spots",
        "spotted",
        "readings",
        "exempt",
        "asking",
        "begun",
    ]
)
"""Names that a reader had to learn here; docs/CONTRIBUTING say what is written instead."""
OTHERS_NAMES = {"LimitReachedError"}
"""Names of libraries."""
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def test_no_name_is_of_the_private_language() -> None:
    found = []
    for path in FILES:
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            named = token.type == tokenize.NAME and token.string not in OTHERS_NAMES
            if named and OLD_WORDS & {part.lower() for part in PART.findall(token.string)}:
                found.append(f"{path.relative_to(PACKAGE)}:{token.start[0]} {token.string}")
        if OLD_WORDS & {part.lower() for part in PART.findall(path.stem)}:
            found.append(str(path.relative_to(PACKAGE)))
    assert found == []


PHRASES = re.compile(r"could[ _]not[ _]be[ _]told|\buntold\b|\bamiss\b", re.IGNORECASE)


def test_the_third_answer_is_called_inconclusive_everywhere() -> None:
    pages = [ROOT / "README.md", ROOT / "AGENTS.md"]
    for folder in ("server", "schemas", "docs", "skills", "state"):
        pages += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".pyi", ".json", ".md", ".toml", ".txt"}
        ]
    assert [
        f"{page.relative_to(ROOT)}: {hit[0]}"
        for page in pages
        for hit in PHRASES.finditer(page.read_text("utf-8"))
    ] == []


MESSAGES = frozenset(
    [
        "message",
        "why",
        "note",
        "notes",
        "gap",
        "evidence_gap",
        "headline",
        "reason",
        "reasons",
        "reasoning",
        "notice",
        "notices",
        "problem",
        "problems",
        "fault",
        "faults",
        "hint",
        "detail",
        "concern",
        "concerns",
        "open",
        "explanation",
        "remark",
        "warning",
    ]
)
"""Fields and variables that hold sentences for people."""
READERS = frozenset({"startswith", "endswith", "partition", "rpartition", "find", "index"})
FOREIGN = {
    # Exceptions of libraries that say in words alone what happened.
    "checks/artifacts/images.py": "Pillow",
    "checks/artifacts/data.py": "the standard library's csv",
    "store/git.py": "GitPython",
    # The record is about to be replaced.
    "workflow/audit/": "notices of the history are text",
    # What these attacks are after is that a notice says it.
    "setup/selftest/state.py": "it tests notices",
}
CLIENTS_TEXT = ("client_hooks/shell/", "checks/expressions/", "checks/numbers/", "judging/injection/")
"""What these read is text of others: commands, expressions, reports."""


def _names_a_message(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in MESSAGES
    if isinstance(node, ast.Name):
        return node.id in MESSAGES
    if isinstance(node, ast.Subscript):
        return _names_a_message(node.value)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "str"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id in {"error", "fault", "problem", "refusal", "cause"}
    )


def decisions_on_words(tree: ast.Module) -> Iterator[int]:
    """Lines on which code asks what a message says."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in READERS and _names_a_message(node.func.value):
                yield node.lineno
            if node.func.attr in {"match", "search", "fullmatch"} and any(map(_names_a_message, node.args)):
                yield node.lineno
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
                literal = isinstance(left, ast.Constant | ast.JoinedStr) and not (
                    isinstance(left, ast.Constant) and not isinstance(left.value, str)
                )
                if isinstance(operator, ast.In | ast.NotIn) and literal and _names_a_message(right):
                    yield node.lineno


def test_no_flow_of_control_reads_a_message() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, tree in TREES.items()
        if not str(path.relative_to(PACKAGE)).startswith((*CLIENTS_TEXT, *FOREIGN))
        for line in decisions_on_words(tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        'if note.startswith("no results file"): pass',
        'late = not decision.why.startswith("the judge")',
        'if "freeze" in step.reason: pass',
        'x = re.match("a", line.message)',
        'if "missing" in str(error): pass',
        'if any("cap" in part.open[0] for part in parts): pass',
    ],
)
def test_a_decision_on_words_is_found(code: str) -> None:
    assert list(decisions_on_words(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ['if step.kind == "freeze": pass', 'x = f"{note}; more"', "if name in problems: pass"]
)
def test_other_code_is_left_alone(code: str) -> None:
    assert not list(decisions_on_words(ast.parse(code)))
