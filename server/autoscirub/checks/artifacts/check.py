"""Checks promised files: is each one there, non-empty, and really of its format?"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from autoscirub.checks.artifacts.embedded import MARKDOWN, look_embedded
from autoscirub.checks.artifacts.files import Stamp, digest, open_file, project_root, resolve, stamp
from autoscirub.checks.artifacts.finding import ArtifactFinding, pointer_fault
from autoscirub.checks.artifacts.formats import FORMATS, format_of
from autoscirub.checks.artifacts.nearby import Directories
from autoscirub.checks.artifacts.paths import path_faults, printable
from autoscirub.errors import PathRefused
from autoscirub.models import Answer, Decision, Evidence, now

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

Ignored = Callable[[list[str]], set[str]]
"""Which of these paths, relative to the project, does git ignore?"""

_WORDS = {
    Answer.HOLDS: "passed",
    Answer.DOES_NOT_HOLD: "failed",
    Answer.INCONCLUSIVE: "inconclusive",
}
ABSENT = "missing"
"""The status of a file that is not there, nor anything like it."""
_IGNORED = "git ignores this file: a clone will lack it"


class _Seen(NamedTuple):
    """One path, inspected; `sha256` and `size` are there once the whole file was read."""

    path: str
    real: str
    """Relative to the project, links followed."""
    format: str | None
    finding: ArtifactFinding
    sha256: str | None = None
    size: int | None = None


@dataclass
class _ArtifactReader:
    """Inspects the files of one project, and remembers each by its inode, so that it is read once."""

    directories: Directories
    digests: dict[Stamp, tuple[str, bytes]] = field(default_factory=dict)
    findings: dict[tuple[Stamp, str], ArtifactFinding] = field(default_factory=dict)

    def see(self, path: str, asked: str | None) -> _Seen:
        """Raises PathRefused for a path that leaves the project, and CheckError for an unknown format."""
        if (fault := path_faults(path)) is not None:
            raise PathRefused(fault)
        kind = format_of(path, asked)
        target = resolve(self.directories.root, path)
        real = os.path.relpath(target, self.directories.root)
        source = open_file(self.directories, path, target)
        if isinstance(source, ArtifactFinding):
            return _Seen(path, real, kind, source)
        with source:
            return self._read(_Seen(path, real, kind, ArtifactFinding()), source)

    def _read(self, seen: _Seen, source: BinaryIO) -> _Seen:
        before = stamp(source)
        try:
            if before not in self.digests:
                self.digests[before] = digest(source, before[2])
            sha256, head = self.digests[before]
            finding = self._look(seen, source, before, head)
        except OSError as error:
            return seen._replace(finding=ArtifactFinding(unknown=f"could not be read: {error.strerror}"))
        if stamp(source) != before:
            self.digests.pop(before, None)
            return seen._replace(
                finding=ArtifactFinding(unknown="it changed while it was being read; check again")
            )
        return seen._replace(finding=finding, sha256=sha256, size=before[2])

    def _look(self, seen: _Seen, source: BinaryIO, at: Stamp, head: bytes) -> ArtifactFinding:
        kind = seen.format
        if (pointer := pointer_fault(head, at[2])) is not None:
            return ArtifactFinding(fault=pointer)
        if kind is None and seen.real.casefold().endswith(MARKDOWN):
            return look_embedded(self.directories.root, seen.real, source, at[2])
        if kind is None:
            return ArtifactFinding()
        if (at, kind) not in self.findings:
            source.seek(0)
            self.findings[at, kind] = FORMATS[kind].look(source, at[2])
        return self.findings[at, kind]


def _decision(seen: _Seen, ignored: bool) -> Decision:
    finding = seen.finding
    if finding.unknown is not None:
        answer = Answer.INCONCLUSIVE
    else:
        answer = Answer.HOLDS if finding.fault is None else Answer.DOES_NOT_HOLD
    notes = [] if finding.fault is None else [finding.fault]
    notes += finding.flags
    if seen.sha256 is not None and seen.real != posixpath.normpath(seen.path):
        notes.append(f"reached through a link; the file is {printable(seen.real)}")
    if ignored and answer is not Answer.DOES_NOT_HOLD:
        notes.append(_IGNORED)
    really = f", non-empty, and really {FORMATS[seen.format].spoken}" if seen.format else " and non-empty"
    return Decision(
        subject=seen.path,
        question=f"Is {printable(seen.path)} there{really}?",
        answer=answer,
        word=_WORDS[answer],
        evidence=[
            Evidence(
                path=seen.path,
                sha256=seen.sha256,
                size=seen.size,
                note="; ".join(notes) or None,
                status=ABSENT if finding.nothing_like_it else None,
            ),
        ],
        open=[] if finding.unknown is None else [f"{printable(seen.path)}: {finding.unknown}"],
        at=now(),
    )


def _ignored_among(seen: Sequence[_Seen], ignored: Ignored | None) -> set[str]:
    """Of what is there, what git ignores: by its own name, or by that of the file a link leads to."""
    paths = sorted(
        {name for each in seen if each.sha256 for name in (posixpath.normpath(each.path), each.real)}
    )
    return ignored(paths) if ignored is not None and paths else set()


def _is_ignored(seen: _Seen, names: set[str]) -> bool:
    return posixpath.normpath(seen.path) in names or seen.real in names


def check_artifact(
    project: str | Path,
    path: str,
    format: str | None = None,  # noqa: A002 - the word of the file format and of the API
    *,
    ignored: Ignored | None = None,
) -> Decision:
    """Is `path` a regular, non-empty file of `project`, and really of its format?

    The format is `format`, else what the suffix says, else none, and then only existence is asked. Flags, such as
    a blank figure, stand in the evidence's note and do not fail the file. The file is opened once, read-only, and
    never waited for.

    Raises PathRefused when `path` leaves the project, also by a link, and CheckError when `format` is not known or
    `project` is no directory.
    """
    seen = _ArtifactReader(Directories(project_root(project))).see(path, format)
    return _decision(seen, _is_ignored(seen, _ignored_among([seen], ignored)))


def check_artifacts(
    project: str | Path,
    items: Sequence[tuple[str, str | None]],
    progress: Callable[[int, int], None] | None = None,
    *,
    ignored: Ignored | None = None,
) -> list[Decision | PathRefused]:
    """`check_artifact` for each (path, format), in order; a refused path is its PathRefused, not raised.

    Every distinct file is read once, however many paths and links lead to it, and `ignored` is asked once.
    `progress` is called with how many are done and how many there are.

    Raises CheckError when a format is not known or `project` is no directory, before any file is opened.
    """
    reader = _ArtifactReader(Directories(project_root(project)))
    for path, asked in items:
        format_of(path, asked)
    inspected: list[_Seen | PathRefused] = []
    for path, asked in items:
        try:
            inspected.append(reader.see(path, asked))
        except PathRefused as refusal:
            inspected.append(refusal)
        if progress is not None:
            progress(len(inspected), len(items))
    names = _ignored_among([each for each in inspected if isinstance(each, _Seen)], ignored)
    return [
        each if isinstance(each, PathRefused) else _decision(each, _is_ignored(each, names))
        for each in inspected
    ]
