"""Is the value that a judge cites the one in the file? Rounding as it is printed is allowed, and nothing more."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from autoscirub.checks.numbers import Source, SourceIndex, csv_values, find_numbers, match
from autoscirub.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.judging.verdicts.citations import Citation
    from autoscirub.judging.verdicts.visible_files import VisibleFiles

_PART = re.compile(r"[^.\[\]'\"]+")
_NUMBER = re.compile(r"[-+−]?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_NODES = 200_000
"""Values of a JSON file that are walked."""
_NUMBERS = 200_000
_ABOUT = 0.01
"""How far `≈` and `~` may lie beside."""
_SHOWN_KEYS = 8


def fault_of_value(files: VisibleFiles, found: list[str], citation: Citation) -> tuple[str | None, bool]:
    """(what is wrong with a cited key or value, whether it was looked up and is right)."""
    faults: list[str] = []
    for path in found:
        text = files.text(path)
        if text.fault:
            faults.append(f"cannot be looked up: {path} {text.fault}")
            continue
        if text.binary:
            continue
        value = files.json(path) if path.endswith((".json", ".ipynb")) else None
        if isinstance(value, dict | list):
            fault, held = _in_json(value, path, citation)
        elif path.endswith((".csv", ".tsv")):
            fault, held = _in_table(text.text, path, citation)
        else:
            fault, held = _in_text(text.text, path, citation)
        if held:
            return None, True
        if fault:
            faults.append(fault)
    return (faults[0] if faults else None), False


def _in_json(root: Any, path: str, citation: Citation) -> tuple[str | None, bool]:
    nodes = _nodes(root, citation.key or "")
    if nodes is None:
        return f"cannot be looked up: {path} holds more values than are walked", False
    if not nodes:
        if not citation.sure:
            return None, False
        keys = list(root) if isinstance(root, dict) else []
        there = ", ".join(str(key)[:60] for key in keys[:_SHOWN_KEYS]) + (
            ", …" if len(keys) > _SHOWN_KEYS else ""
        )
        return f"names no key of {path}; it has {there or 'none'}", False
    if citation.value is None:
        return None, True
    if any(_is(node, citation) for node in nodes):
        return None, True
    return f"is not what {path} says: it is {_shown(nodes[0])} there", False


def _nodes(root: Any, key: str) -> list[Any] | None:
    """The values that a key may mean: at that very place, else wherever a place ends with it. None: too many."""
    parts = [part.strip() for part in _PART.findall(key) if part.strip()]
    if not parts:
        return []
    for whole in (parts, parts[1:] if parts[0] == "results" else []):
        node, there = root, bool(whole)
        for part in whole:
            if isinstance(node, dict) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isdecimal() and len(part) < 10 and int(part) < len(node):
                node = node[int(part)]
            else:
                there = False
                break
        if there:
            return [node]
    if parts[0] == "results" and len(parts) > 1:
        parts = parts[1:]
    found: list[Any] = []
    waiting: list[tuple[tuple[str, ...], Any]] = [((), root)]
    seen = 0
    while waiting:
        place, value = waiting.pop()
        seen += 1
        if seen > _NODES:
            return None
        inner: Iterator[tuple[str, Any]] = iter(())
        if isinstance(value, dict):
            inner = iter(value.items())
        elif isinstance(value, list):
            inner = ((str(i), item) for i, item in enumerate(value[:_NODES]))
        for name, item in inner:
            here = (*place[-len(parts) :], name)
            if here[-len(parts) :] == tuple(parts):
                found.append(item)
            waiting.append((here, item))
    return found


def _is(node: Any, citation: Citation) -> bool:
    """Whether a value of the file is the one that is cited."""
    said = (citation.value or "").strip()
    word = said.casefold()
    if word in ("true", "false"):
        return node is (word == "true")
    if word in ("null", "none"):
        return node is None
    if word == "nan":
        return isinstance(node, float) and math.isnan(node)
    if said[:1] in "\"'":
        return isinstance(node, str) and node.strip().casefold() == said[1:-1].strip().casefold()
    values = list(_numbers(node))
    if said.startswith("["):
        cited = _NUMBER.findall(said)
        return bool(cited) and all(_agrees(number, values, "=") for number in cited)
    if isinstance(node, list | dict):
        values.append(len(node))
    return _agrees(said, values, citation.op)


def _numbers(node: Any) -> Iterator[int | float]:
    waiting, left = [node], _NUMBERS
    while waiting and left:
        value = waiting.pop()
        left -= 1
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value[:_NUMBERS]
        elif isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            waiting.append(_float(value.strip()))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if isinstance(value, float) and not math.isfinite(value):
                continue
            if abs(value) < 10**30:
                yield value


def _agrees(said: str, values: list[int | float], op: str) -> bool:
    number = _float(said)
    if op in ("<", "<=", "≤", ">", ">=", "≥"):
        if math.isnan(number):
            return False
        less, equal = "<" in op or "≤" in op, op not in ("<", ">")
        return any((v < number if less else v > number) or (equal and v == number) for v in values)
    if op in ("≈", "~") and any(math.isclose(v, number, rel_tol=_ABOUT) for v in values):
        return True
    index = SourceIndex([Source("value", value) for value in values])
    return any(
        match(occurrence, index).count for occurrence in find_numbers(said, "text")[:1] if occurrence.readings
    )


def _float(text: str) -> float:
    found = _NUMBER.search(text)
    try:
        return float(found[0].replace("−", "-").replace(",", "")) if found else math.nan
    except ValueError:
        return math.nan


def _in_table(text: str, path: str, citation: Citation) -> tuple[str | None, bool]:
    """A table has columns: the value must be a cell of the column that is named, where there is one of that name."""
    header = [cell.strip().strip('"') for cell in re.split(r"[,\t;]", text[:10_000].partition("\n")[0])]
    key = (citation.key or "").strip()
    if key not in header:
        return None, False
    if citation.value is None:
        return None, True
    try:
        cells = [
            source.value
            for _, source in zip(range(_NUMBERS), csv_values(text.encode(), path), strict=False)
            if source.key.endswith(f" {key[:60]}")
        ]
    except CheckError as error:
        return f"cannot be looked up: {error}", False
    if _agrees(citation.value, cells, citation.op):
        return None, True
    return f"is not what {path} says: no cell of its column {key} is that", False


def _in_text(text: str, path: str, citation: Citation) -> tuple[str | None, bool]:
    """A text has no keys: the number must stand in it."""
    if citation.value is None or not citation.sure or not _NUMBER.match(citation.value):
        return None, False
    numbers = [_float(found[0]) for _, found in zip(range(_NUMBERS), _NUMBER.finditer(text), strict=False)]
    if _agrees(citation.value, [number for number in numbers if math.isfinite(number)], citation.op):
        return None, True
    return f"is not what {path} says: that number does not stand in it", False


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    text = (
        repr(value)
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    return text if len(text) <= 60 else f"{text[:59]}…"
