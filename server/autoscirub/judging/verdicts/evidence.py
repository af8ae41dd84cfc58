"""Looks up a judge's evidence in the workspace: the file, the place in it, and exactly what is cited there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from autoscirub.judging.injection import addresses
from autoscirub.judging.verdicts.consistency import limits
from autoscirub.judging.verdicts.passages import flat, pieces_of, size
from autoscirub.judging.verdicts.tables import cells_at
from autoscirub.judging.verdicts.values import same_value

if TYPE_CHECKING:
    from autoscirub.judging.verdicts.visible_files import VisibleFiles
    from autoscirub.models import CitedEvidence

_LISTED = 8
_LONG_ENOUGH = (4, 20)
"""A quotation has at least so many words, or characters; or it is a whole line or sentence."""
_WHOLE = 2
"""Words of a whole line or sentence, and of each part between words that are left out."""
_ADDRESSES = "addresses the judge, which is no evidence"
_LINES = re.compile(r"\s*(?:lines?\s+)?([0-9]{1,9})(?:\s*[-–]\s*([0-9]{1,9}))?\s*")
_KEY = re.compile(r"""\.?([^.\[\]"']+)|\[\s*(-?[0-9]{1,9})\s*\]|\[\s*(?:"([^"]*)"|'([^']*)')\s*\]""")
_NAMED = re.compile(r"\s*([\w.\[\]]{1,80})\s*[=≈]\s*(\S.*)")
"""A value that repeats its key: *slope = 0.51*."""
_NOTHING = object()


class Lookup(NamedTuple):
    """What came of looking up one entry. Without a fault it resolves."""

    fault: str = ""
    sentence: str = ""
    """Of a quotation: the whole sentences that it was taken from."""
    cut: str = ""
    """Why those sentences may say less than the quotation alone."""
    remark: str = ""


def look_up(files: VisibleFiles, entry: CitedEvidence) -> Lookup:
    """Whether `entry` is what its file says. Raises nothing, whatever it cites."""
    path = files.path_of(entry.path)
    if path not in files.paths:
        there = ", ".join(files.paths[:_LISTED]) + (", …" if len(files.paths) > _LISTED else "")
        return Lookup(
            f"{path or 'no path'} is not one of the files that were shown; those are {there or 'none'}"
        )
    text = files.text(path)
    if text.fault or text.binary:
        return Lookup(f"{path} {text.fault or 'is no text, so nothing can be looked up in it'}")
    kind, where = entry.at.kind, entry.at.where.strip()
    if kind == "key":
        return _key(files, path, where, entry.value)
    if kind == "cell":
        return _cell(text.text, path, where, entry.value)
    quotation = entry.value if isinstance(entry.value, str) else where if kind == "quote" else ""
    if not quotation.strip():
        return Lookup(f"{path}: a {kind} needs the words that are there, as its value")
    if kind == "page":
        return Lookup(f"{path}: pages cannot be looked up in it; cite a line with its words")
    found = _quotation(files, path, quotation)
    return found if found.fault or kind == "quote" else _line(text.text, path, where, found)


def _key(files: VisibleFiles, path: str, where: str, value: Any) -> Lookup:
    root = files.json(path)
    if not isinstance(root, dict | list):
        return Lookup(f"{path} holds no JSON object, so it has no keys")
    found = next(
        (
            node
            for name in (where, where.removeprefix("results").removeprefix("$"), where.replace("/", "."))
            if (node := _at(root, name)) is not _NOTHING
        ),
        _NOTHING,
    )
    if found is _NOTHING:
        keys = [str(key)[:60] for key in root][:_LISTED] if isinstance(root, dict) else []
        return Lookup(f"{path} has no key {where!r}; it has {', '.join(keys) or 'none'}")
    if value is None and found is not None:
        return Lookup(f"{path}: {where} needs the value that is there")
    if isinstance(value, str) and (named := _NAMED.fullmatch(value)) and named[1] in f"results.{where}":
        value = named[2]
    if not same_value(found, value):
        return Lookup(f"{path}: {where} is {_brief(found)}, not {_brief(value)}")
    return Lookup(_addressing(path, found))


def _addressing(path: str, value: Any) -> str:
    found = isinstance(value, str) and addresses(value)
    return f"{path}: {_brief(value)} {_ADDRESSES}" if found else ""


def _at(root: Any, where: str) -> Any:
    """The value at a path such as `interval.low` or `seeds[2]`, or at that whole name; else `_NOTHING`."""
    if isinstance(root, dict) and where in root:
        return root[where]
    parts, at = [], 0
    while at < len(where):
        part = _KEY.match(where, at)
        if part is None:
            return _NOTHING
        name, index, double, single = part.groups()
        parts.append(
            int(index)
            if index is not None
            else next(each for each in (name, double, single) if each is not None).strip()
        )
        at = part.end()
    node = root
    for step in parts:
        if isinstance(node, list) and isinstance(step, str) and step.isdecimal() and len(step) < 10:
            step = int(step)
        if isinstance(node, str):
            return _NOTHING
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return _NOTHING
    return node if parts else _NOTHING


def _cell(text: str, path: str, where: str, value: Any) -> Lookup:
    if value is None:
        return Lookup(f"{path}: {where} needs the value that is there")
    cells = cells_at(text, path, where)
    if cells.fault:
        return Lookup(f"{path}: {cells.fault}")
    right = next((cell for cell in cells.found if same_value(cell.strip(), value)), None)
    if right is None:
        return Lookup(f"{path}: {where} is {_brief(cells.found[0])}, not {_brief(value)}")
    return Lookup(_addressing(path, right))


def _quotation(files: VisibleFiles, path: str, quotation: str) -> Lookup:
    found = files.passages(path).find(quotation)
    if found is None:
        return Lookup(f"{path} does not say {_brief(quotation)}")
    pieces, (words, characters) = pieces_of(quotation), _LONG_ENOUGH
    quoted = " ".join(pieces)
    whole = size(quoted) >= _WHOLE and not found.rest
    if not (whole or size(quoted) >= words or len(quoted) >= characters) or (
        len(pieces) > 1 and min(map(size, pieces)) < _WHOLE
    ):
        return Lookup(f"{path}: {_brief(quotation)} is too short to be looked up; quote the whole sentence")
    if addresses(found.sentence) or any(piece in line for line in files.addressing(path) for piece in pieces):
        return Lookup(f"{path}: {_brief(quotation)} {_ADDRESSES}")
    cut = ""
    if found.doubt:
        cut = f"{_brief(quotation)} {found.doubt}"
    elif limits(found.rest):
        cut = f"{path} says in full: {_brief(found.sentence, 300)}"
    elif limits(found.introduction):
        cut = f"{path} has it in a list under {_brief(found.introduction)}"
    return Lookup(sentence=found.sentence, cut=cut)


def _line(text: str, path: str, where: str, found: Lookup) -> Lookup:
    place = _LINES.fullmatch(where)
    if place is None:
        return Lookup(f"{path}: {where!r} is no line; expected a number, or a range such as 12-14")
    lines = text.splitlines()
    first, last = int(place[1]), int(place[2] or place[1])
    if not 1 <= first <= last <= len(lines):
        return Lookup(f"{path} has {len(lines):,} lines, so there is no line {where}")
    near = flat(" ".join(lines[max(0, first - 2) : last + 1]))
    if not any(word in near for word in flat(found.sentence).split() if len(word) > 3):
        return found._replace(remark=f"{path}: the words that are cited are not on line {where}")
    return found


def _brief(value: Any, most: int = 120) -> str:
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    text = (
        f'"{" ".join(value.split())}"' if isinstance(value, str) else "null" if value is None else str(value)
    )
    return text if len(text) <= most else f"{text[: most - 1]}…"
