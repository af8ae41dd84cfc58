"""Reading commits and files out of a history, with a limit on each read because it may be a stranger's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoscirub.errors import HistoryError
from autoscirub.store.history.facts import FACTS_LIMIT, FACTS_NAME, HistoryCommit, read_facts

if TYPE_CHECKING:
    from autoscirub.store.history.repository import Repository

MOST_BYTES = 64 * 1024 * 1024
"""Bytes that one `read` returns, and that one listing of files takes."""

MOST_COMMITS = 100_000
_MAX_CACHED_TREES = 64
_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class _Entry:
    mode: str
    oid: str


class HistoryObjects:
    """What a repository holds from `head` back."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._trees: dict[str, dict[str, _Entry]] = {}
        self._listed: tuple[str, list[HistoryCommit]] | None = None

    def commits(self, head: str | None) -> list[HistoryCommit]:
        """Every commit, newest first; one that is not of ours is listed with its `problem`.

        Raises HistoryError above MOST_COMMITS.
        """
        if head is None:
            return []
        if self._listed is None or self._listed[0] != head:
            self._listed = (head, [self.commit(oid, parents) for oid, parents in self._walk(head)])
        return list(self._listed[1])

    def commit(self, oid: str, parents: tuple[str, ...] = ()) -> HistoryCommit:
        """One commit."""
        found = self._repository.git.object_info(f"{oid}:{FACTS_NAME}")
        if found is None or found[1] != "blob":
            return read_facts(oid, parents, None)
        if found[2] > FACTS_LIMIT:
            problem = f"{FACTS_NAME} is {found[2]:,} bytes, more than {FACTS_LIMIT:,}"
            return HistoryCommit(oid, parents=parents, problem=problem)
        return read_facts(oid, parents, self._repository.git.object_bytes(found[0]))

    def files(self, oid: str) -> list[str]:
        """The paths of the regular files in a commit, sorted, without its facts."""
        return sorted(name for name in self._tree(oid) if name != FACTS_NAME)

    def changed(self, oid: str) -> list[str]:
        """The paths that a commit added, changed or took away against its first parent, without its facts."""
        parents = self._repository.git.run(
            "rev-list", "--parents", "-n", "1", _checked(oid), "--"
        ).out.split()[1:]
        before = self._tree(parents[0].decode()) if parents else {}
        after = self._tree(oid)
        names = before.keys() | after.keys()
        return sorted(name for name in names if name != FACTS_NAME and before.get(name) != after.get(name))

    def read(self, oid: str, path: str, most: int = MOST_BYTES) -> bytes | None:
        """A file's bytes in a commit; None when it is not there. Raises HistoryError above `most` bytes."""
        entry = self._tree(oid).get(path)
        if entry is None:
            return None
        found = self._repository.git.object_info(entry.oid)
        if found is None or found[1] != "blob":
            raise HistoryError(f"history: {path} in commit {oid[:12]} is missing or damaged")
        if found[2] > most:
            raise HistoryError(
                f"history: {path} in commit {oid[:12]} is {found[2]:,} bytes, more than {most:,}"
            )
        return self._repository.git.object_bytes(entry.oid)

    def _walk(self, head: str) -> list[tuple[str, tuple[str, ...]]]:
        answer = self._repository.git.run(
            "rev-list", "--topo-order", "--parents", f"--max-count={MOST_COMMITS + 1}", _checked(head), "--"
        )
        lines = answer.out.decode().splitlines()
        if len(lines) > MOST_COMMITS:
            raise HistoryError(f"history: it has more than {MOST_COMMITS:,} commits, so it is not read")
        return [(oid, tuple(parents)) for oid, *parents in (line.split() for line in lines)]

    def _tree(self, oid: str) -> dict[str, _Entry]:
        """The regular files of a commit. Links and submodules, which we never write, are passed over."""
        if oid in self._trees:
            return self._trees[oid]
        if not self._repository.has_commit(_checked(oid)):
            raise HistoryError(f"history: there is no commit {oid}")
        listing = self._repository.git.run("ls-tree", "-r", "-z", "--full-tree", oid, most=MOST_BYTES).out
        tree: dict[str, _Entry] = {}
        for line in listing.split(b"\0")[:-1]:
            facts, _, name = line.partition(b"\t")
            mode, _, blob = facts.decode("ascii").split(" ")
            if mode in ("100644", "100755"):
                tree[name.decode("utf-8", "surrogateescape")] = _Entry(mode, blob)
        if len(self._trees) >= _MAX_CACHED_TREES:
            self._trees.clear()
        self._trees[oid] = tree
        return tree


def _checked(oid: str) -> str:
    if not _OID.fullmatch(oid):
        raise HistoryError(f"history: {oid!r} is not a commit id (40 lower-case hexadecimal digits)")
    return oid
