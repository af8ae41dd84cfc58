"""Python code that stands in a command line: which files it writes to, moves or deletes, as far as it says."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from autoscirub.client_hooks.fence import UNKNOWN
from autoscirub.client_hooks.shell.rules import Touched

if TYPE_CHECKING:
    from collections.abc import Iterator

# Function or method -> which of its arguments it writes to or removes; -1 is the object that a method is called on.
_CALLS: dict[str, tuple[tuple[int, str], ...]] = {
    "write_text": ((-1, "write"),),
    "write_bytes": ((-1, "write"),),
    "touch": ((-1, "write"),),
    "mkdir": ((-1, "write"), (0, "write")),
    "makedirs": ((0, "write"),),
    "symlink_to": ((-1, "write"), (0, "write")),
    "hardlink_to": ((-1, "write"), (0, "write")),
    "unlink": ((-1, "remove"), (0, "remove")),
    "rmdir": ((-1, "remove"), (0, "remove")),
    "rmtree": ((0, "remove"),),
    "remove": ((0, "remove"),),
    "removedirs": ((0, "remove"),),
    "rename": ((-1, "remove"), (0, "remove"), (1, "write")),
    "renames": ((0, "remove"), (1, "write")),
    "replace": ((-1, "remove"), (0, "remove"), (1, "write")),
    "move": ((0, "remove"), (1, "write")),
    "copy": ((1, "write"),),
    "copy2": ((1, "write"),),
    "copyfile": ((1, "write"),),
    "copytree": ((1, "write"),),
    "symlink": ((0, "write"), (1, "write")),
    "link": ((0, "write"), (1, "write")),
    "truncate": ((0, "write"),),
    "chmod": ((-1, "write"), (0, "write")),
    "to_csv": ((0, "write"),),
    "to_json": ((0, "write"),),
    "savefig": ((0, "write"),),
    "save": ((0, "write"),),
}
_PATHS = {"Path", "PurePath", "PosixPath", "str", "abspath", "realpath", "fspath", "expanduser", "resolve"}
_RUNS = {"system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput"}
_MODULES = {"io", "os", "codecs", "gzip", "bz2", "lzma"}
"""Whose `open` takes the path first, as the built-in one does."""
_MOST = 100_000


def _tree(code: str) -> ast.Module | None:
    try:
        return ast.parse(code[:_MOST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def python_touched(code: str) -> Iterator[Touched]:
    """What the code writes to, moves or deletes. A path keeps what is known of its parts."""
    tree = _tree(code)
    names: dict[str, list[str]] = {}
    for node in ast.walk(tree) if tree else ():
        _bind(node, names)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    entered = [
        "",
        *(text for node in calls if _called(node) == "chdir" for text in _texts(_argument(node, 0), names)),
    ]
    for node in calls:
        for path, how in _call(node, names):
            for folder in entered:
                yield Touched(os.path.join(folder, path), "remove" if how == "remove" else "write")


def python_commands(code: str) -> Iterator[str]:
    """The shell commands that the code starts."""
    import shlex

    tree = _tree(code)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and _called(node) in _RUNS and node.args:
            value = node.args[0]
            if isinstance(value, ast.List | ast.Tuple):
                yield shlex.join(text for part in value.elts for text in _texts(part, {})[:1])
            else:
                yield from _texts(value, {})


_KEYWORDS = (
    ("path", "file", "filename", "src", "source", "name", "fname", "path_or_buf"),
    ("dst", "target", "dest", "destination"),
)
"""How the first and the second argument may be named instead."""


def _argument(node: ast.Call, position: int) -> ast.expr | None:
    """An argument by its place or its name; None where it is not given."""
    if position < len(node.args):
        return node.args[position]
    names = _KEYWORDS[position] if position < len(_KEYWORDS) else ()
    return next((keyword.value for keyword in node.keywords if keyword.arg in names), None)


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _bind(node: ast.AST, names: dict[str, list[str]]) -> None:
    """Remember what a name stands for, where that is a path: of an assignment, a loop, a `with`."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.NamedExpr):
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.For | ast.comprehension):
        pairs = [(node.target, node.iter)]
    for target, value in pairs:
        if isinstance(target, ast.Name):
            names.setdefault(target.id, []).extend(_texts(value, names)[:8])


def _call(node: ast.Call, names: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    name, owner = _called(node), node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in ("open", "fdopen"):
        yield from _opened(node, owner, names)
        return
    for position, how in _CALLS.get(name, ()):
        part = owner if position < 0 else _argument(node, position)
        if part is not None and not (position < 0 and isinstance(part, ast.Constant)):
            for path in _texts(part, names):
                yield path, how


def _opened(node: ast.Call, owner: ast.expr | None, names: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    of_module = owner is None or (isinstance(owner, ast.Name) and owner.id in _MODULES)
    if set("wax+") & set(_mode(node, 1 if of_module else 0)):
        opened = owner if not of_module else _argument(node, 0)
        for path in _texts(opened, names):
            yield path, "write"


def _mode(node: ast.Call, position: int) -> str:
    values = [keyword.value for keyword in node.keywords if keyword.arg == "mode"] or node.args[
        position : position + 1
    ]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
        if isinstance(value, ast.Attribute | ast.BinOp):  # os.O_WRONLY | os.O_CREAT
            return "w" if any(flag in ast.dump(value) for flag in ("O_WRONLY", "O_RDWR", "O_APPEND")) else ""
        return "w"
    return ""


def _texts(node: ast.AST | None, names: dict[str, list[str]], depth: int = 0) -> list[str]:
    """The paths that an expression may stand for; empty where it says nothing of one."""
    if node is None or depth > 20:
        return []
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Name):
        return names.get(node.id, [])
    if isinstance(node, ast.JoinedStr):
        return [
            "".join(
                str(part.value) if isinstance(part, ast.Constant) else _one(part, names, depth)
                for part in node.values
            )
        ]
    if isinstance(node, ast.FormattedValue):
        return _texts(node.value, names, depth + 1)
    if isinstance(node, ast.BinOp):
        left = _texts(node.left, names, depth + 1) or [UNKNOWN]
        right = _texts(node.right, names, depth + 1) or [UNKNOWN]
        join = "/" if isinstance(node.op, ast.Div) else ""
        return [f"{a}{join}{b}" for a in left[:4] for b in right[:4] if (a, b) != (UNKNOWN, UNKNOWN)]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [text for part in node.elts[:50] for text in _texts(part, names, depth + 1)]
    if isinstance(node, ast.Call):
        return _made(node, names, depth)
    if isinstance(node, ast.Attribute) and node.attr in ("parent", "name"):
        return [
            os.path.dirname(text) for text in _texts(node.value, names, depth + 1) if node.attr == "parent"
        ]
    return []


def _one(node: ast.AST, names: dict[str, list[str]], depth: int) -> str:
    return (_texts(node, names, depth + 1) or [UNKNOWN])[0]


def _made(node: ast.Call, names: dict[str, list[str]], depth: int) -> list[str]:
    """The path that a call makes: joined, or found below another."""
    name = _called(node)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in ("join", "joinpath", "Path", "PurePath", "PosixPath"):
        of_path = [owner] if owner is not None and name == "joinpath" else []
        parts = [_one(part, names, depth) for part in [*of_path, *node.args]]
        return [os.path.join(*parts)] if parts else ["."]
    if name in ("cwd", "getcwd"):
        return ["."]
    if name in (
        "glob",
        "iglob",
        "rglob",
        "iterdir",
        "listdir",
        "scandir",
        "walk",
        "with_suffix",
        "with_name",
    ):
        pattern = _texts(node.args[0], names, depth + 1) if node.args else [UNKNOWN]
        module = isinstance(owner, ast.Name) and owner.id in ("glob", "os")
        if module or owner is None:
            return [
                f"{text}/{UNKNOWN}" if name in ("listdir", "scandir", "walk") else text for text in pattern
            ]
        return [f"{text}/{UNKNOWN}" for text in _texts(owner, names, depth + 1)]
    if name in _PATHS:
        return _texts(node.args[0] if node.args else owner, names, depth + 1)
    if name in ("sorted", "list", "set", "enumerate", "reversed"):
        return _texts(node.args[0] if node.args else None, names, depth + 1)
    return []
