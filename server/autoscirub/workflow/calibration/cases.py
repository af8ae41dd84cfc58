"""Reads the labelled cases: a folder for each, with `case.toml` and the work's files, or one `cases.toml` for all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from autoscirub.checks.artifacts import path_faults, printable
from autoscirub.checks.rubric import needs_reading, read_criterion
from autoscirub.errors import CheckError
from autoscirub.models import Label
from autoscirub.store import is_path, leads_out, read_regular, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.models import Criterion

CASE_NAME, CASES_NAME = "case.toml", "cases.toml"
MOST_CASES = 1_000
_LIMIT = 8 * 1024 * 1024
"""Bytes of one file."""
_DEFAULT_ID = "criterion"
"""Never the case's name: the judge sees the id, and a name may give the label away."""
_LABELS = get_args(Label)
_OWN = {CASE_NAME: ("criterion", "label", "note"), CASES_NAME: ("name", "path", "criterion", "label", "note")}
_LISTED = 50


@dataclass(frozen=True)
class LabelledCase:
    """A case as a person labelled it."""

    name: str
    label: Label
    note: str
    criterion: Criterion
    folder: Path
    """The work: what a judge may see of it is copied from here."""


def read_cases(cases: str | Path) -> list[LabelledCase]:
    """The cases at `cases`: a folder, or a `cases.toml`. Sorted by name where each has a folder of its own.

    Raises CheckError with every fault: the file, what was found, what is expected.
    """
    if not is_path(cases):
        raise CheckError(f"{str(cases)!r}: is not a path; name the folder with the labelled cases")
    place = Path(os.path.realpath(os.path.expanduser(cases)))  # noqa: PTH111 - no such user is no error here
    if place.is_file():
        return _all(_listed_in(place))
    if not place.is_dir():
        raise CheckError(
            f"{cases}: is not there; name a folder with a subfolder for each case ({CASE_NAME} and the files of the "
            f"work), or a {CASES_NAME}"
        )
    folders = sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith("."))
    if os.path.lexists(place / CASES_NAME):
        both = next((folder for folder in folders if os.path.lexists(folder / CASE_NAME)), None)
        if both is not None:
            raise CheckError(
                f"{place / CASES_NAME} and {both / CASE_NAME} are both there; describe the cases in one of the two ways"
            )
        return _all(_listed_in(place / CASES_NAME))
    return _all(_one(folder) for folder in folders)


def _all(found: Iterator[LabelledCase | str]) -> list[LabelledCase]:
    """All cases, or CheckError with every fault."""
    cases: list[LabelledCase] = []
    faults: list[str] = []
    for entry in found:
        if isinstance(entry, LabelledCase):
            cases.append(entry)
        else:
            faults.append(entry)
        if len(cases) > MOST_CASES:
            raise CheckError(f"more than {MOST_CASES:,} cases; calibrate on fewer")
    if faults:
        more = [f"and {len(faults) - _LISTED:,} faults more"] if len(faults) > _LISTED else []
        raise CheckError("\n".join([*faults[:_LISTED], *more]))
    if not cases:
        raise CheckError(
            f"no cases: expected a subfolder for each, with {CASE_NAME} (criterion, label) and the files of the work, "
            f"or a {CASES_NAME} with [[cases]]"
        )
    return cases


def _one(folder: Path) -> LabelledCase | str:
    file = folder / CASE_NAME
    name = f"{folder.name}/{CASE_NAME}"
    try:
        data = read_regular(file, limit=_LIMIT, within=folder.parent, error=CheckError)
        if data is None:
            return f"{name}: is not there; each case says its criterion and its label in it (or move the folder away)"
        return _case(read_toml(data, name, CheckError), name, "", folder.name, folder)
    except CheckError as error:
        return str(error)


def _listed_in(file: Path) -> Iterator[LabelledCase | str]:
    data = read_regular(file, limit=_LIMIT, error=CheckError)
    table = read_toml(data or b"", file.name, CheckError)
    entries = table.get("cases")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CheckError(f"{file.name}: has no cases; each begins with a line [[cases]]")
    if unknown := sorted(table.keys() - {"cases"}):
        raise CheckError(f"{file.name}: unknown key {printable(unknown[0], 60)}; known here: cases")
    names: set[str] = set()
    for index, entry in enumerate(entries):
        place = f"cases[{index}]"
        try:
            name = _text(entry, "name", file.name, place)
            if name in names:
                raise CheckError(
                    f"{file.name}: {place}.name: {name!r} is the name of an earlier case; take another"
                )
            names.add(name)
            yield _case(entry, file.name, place, name, _folder(file, place, entry))
        except CheckError as error:
            yield str(error)


def _folder(file: Path, place: str, entry: dict[str, Any]) -> Path:
    path = _text(entry, "path", file.name, place)
    label = f"{file.name}: {place}.path"
    if fault := path_faults(path):
        raise CheckError(f"{label}: {fault}; expected a folder below the one of {file.name}")
    folder = Path(os.path.normpath(file.parent / path))
    if leads_out(folder, file.parent) or folder == file.parent:
        raise CheckError(
            f"{label}: {path!r} is not below the folder of {file.name}; put the files of the work in a folder there"
        )
    if not folder.is_dir():
        raise CheckError(f"{label}: {path!r} is no folder; expected the one with the files of the work")
    return folder


def _case(table: dict[str, Any], file: str, place: str, name: str, folder: Path) -> LabelledCase:
    """One case from its table. Raises CheckError with the first kind of fault that it has."""
    at = f"{place}." if place else ""
    known = _OWN[CASES_NAME if place else CASE_NAME]
    if unknown := sorted(table.keys() - set(known)):
        raise CheckError(
            f"{file}: unknown key {at}{printable(unknown[0], 60)}; known here: {', '.join(known)}"
        )
    label, criterion, note = table.get("label"), table.get("criterion"), table.get("note", "")
    if not isinstance(label, str) or label not in _LABELS:
        found = "is missing" if label is None else f"is {str(label)[:60]!r}"
        raise CheckError(
            f'{file}: {at}label {found}; expected "satisfied" or "not_satisfied", as a person who read the work says'
        )
    if not isinstance(note, str):
        raise CheckError(f"{file}: {at}note: is {type(note).__name__}, expected text")
    if not isinstance(criterion, dict):
        found = "is missing" if criterion is None else f"is {type(criterion).__name__}"
        raise CheckError(f"{file}: {at}criterion {found}; expected a table with at least its requirement")
    read = read_criterion(criterion, file, f"{at}criterion", default_id=_DEFAULT_ID)
    if not needs_reading(read):
        raise CheckError(
            f"{file}: {at}criterion: code alone decides it, so no judge would read it; leave out its checks, or write "
            'judge = "always"'
        )
    return LabelledCase(name, cast("Label", label), note, read, folder)


def _text(entry: dict[str, Any], key: str, file: str, place: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 200:
        found = "is missing" if value is None else f"is {str(value)[:60]!r}"
        raise CheckError(f"{file}: {place}.{key} {found}; expected one line of text, at most 200 characters")
    return value
