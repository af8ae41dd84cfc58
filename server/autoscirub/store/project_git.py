"""Questions about the user's own repository, read-only: its HEAD, whether it is dirty, what it ignores.

The repository may be a stranger's. Its configuration cannot make git run anything here, nothing is written
(not even the index), and where git refuses or fails the answer is None, with a note.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypedDict

from autoscirub.errors import HistoryError
from autoscirub.store.git import GitRunner, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.store.git import GitAnswer

_SECONDS = 30.0
_MOST_FILTERS = 200
_MOST_REFUSED = 16
_MOST_MODIFIED = 1000
# Of a line of `status --porcelain=v2`: how many spaces come before the path.
_SPACES = {"1": 8, "2": 9, "u": 10}
_DUBIOUS = "dubious ownership"
_UNREADABLE = re.compile(r"beyond a symbolic link")


class ProjectHead(TypedDict):
    """What the project's own repository is at. None where git could not tell, and `note` says why."""

    head: str | None
    dirty: bool | None
    note: str | None


@dataclass(frozen=True)
class Ignored:
    """The asked paths that git ignores and does not track: a clone will lack them.

    `note` says what git could not tell about; then `paths` may be incomplete.
    """

    paths: frozenset[str]
    note: str | None = None


def project_head(project: Path, exclude: Sequence[str] = ()) -> ProjectHead:
    """The commit that the project's repository is at, and whether the project differs from it.

    Untracked files that are not ignored count as a difference, since a clone lacks them. Submodules, and
    what lies under the `exclude` paths (relative to the project, such as the state directory), do not.
    Never raises; writes nothing.
    """
    try:
        repository = _Repository.around(project)
        if repository is None:
            return {"head": None, "dirty": None, "note": "not in a git repository"}
        return repository.head(tuple(exclude))
    except (HistoryError, OSError) as error:
        return {"head": None, "dirty": None, "note": f"git could not tell: {plain(str(error))}"}


def repository_top(project: Path) -> Path | None:
    """The folder of the repository whose work tree holds the project; None outside of any. Runs no git."""
    repository = _Repository.around(project)
    return repository.top if repository is not None else None


def ignored_paths(project: Path, paths: Sequence[str]) -> set[str]:
    """Those of `paths` (relative to the project) that git ignores and does not track. See `ask_ignored`."""
    return set(ask_ignored(project, paths).paths)


def ask_ignored(project: Path, paths: Sequence[str]) -> Ignored:
    """Ask git about all `paths` (relative to the project) in one call. Never raises; writes nothing.

    The user's own excludes file counts too. Without a repository nothing is ignored.
    """
    try:
        repository = _Repository.around(project) if paths else None
        return repository.ignored(paths) if repository is not None else Ignored(frozenset())
    except (HistoryError, OSError) as error:
        return Ignored(frozenset(), f"git could not tell what it ignores: {plain(str(error))}")


@dataclass(frozen=True)
class _Repository:
    """The repository whose work tree holds the project: `top` is the folder with `.git`."""

    project: Path
    top: Path

    @classmethod
    def around(cls, project: Path) -> _Repository | None:
        project = Path(os.path.realpath(project))
        for folder in (project, *project.parents):
            if os.path.lexists(folder / ".git"):
                return cls(project, folder)
        return None

    def head(self, exclude: tuple[str, ...]) -> ProjectHead:
        answer = self._ask(
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=all",
            "--no-renames",
            "--",
            os.path.relpath(self.project, self.top),
            configuration=[pair for name in self._filters() for pair in _disabled(name)],
        )
        if answer.status != 0:
            return {"head": None, "dirty": None, "note": f"git could not tell: {plain(answer.err)}"}
        head, different, modified = None, False, list[str]()
        left_out = [self._from_top(path) for path in exclude]
        for line in answer.out.decode("utf-8", "surrogateescape").split("\0"):
            if line.startswith("# branch.oid "):
                head = line.split(" ")[2]
            elif line and not line.startswith("# "):
                path = line.split(" ", _SPACES.get(line[0], 1))[-1].rstrip("/")
                if any(path == left or path.startswith(f"{left}/") for left in left_out):
                    continue
                if line.startswith("1 .M"):
                    modified.append(path)
                else:
                    different = True
        if head is not None and not re.fullmatch(r"[0-9a-f]{40,64}", head):
            head = None
        dirty = True if different else self._really_modified(modified)
        notes = ["no commit yet"] if head is None else []
        if dirty is None:
            notes.append(
                f"content filters (such as Git LFS) are not run here, and {modified[0]!r} passes one"
            )
        return {"head": head, "dirty": dirty, "note": "; ".join(notes) or None}

    def _really_modified(self, paths: list[str]) -> bool | None:
        """Whether files that git found modified are. None when every one of them passes a content filter.

        Filters are programs, so none is run, and git compares such a file by other bytes than it keeps.
        """
        if not paths or len(paths) > _MOST_MODIFIED:
            return bool(paths)
        answer = self._ask("check-attr", "-z", "filter", "--", *paths)
        values = answer.out.split(b"\0")[2::3]
        if answer.status != 0 or len(values) != len(paths):
            return None
        return None if all(value not in (b"unspecified", b"unset") for value in values) else True

    def ignored(self, paths: Sequence[str]) -> Ignored:
        asked: dict[str, list[str]] = {}
        notes: list[str] = []
        for path in paths:
            if _askable(path):
                asked.setdefault(self._from_top(path), []).append(path)
            elif not notes:
                notes.append(f"git was not asked about {plain(repr(path), 80)}, which leaves the project")
        matched: set[str] = set()
        waiting = list(asked)
        for _ in range(_MOST_REFUSED):
            answer, seen, ignored = self._check_ignore(waiting)
            matched.update(ignored)
            if answer.status in (0, 1):
                break
            if not _UNREADABLE.search(answer.err) or seen >= len(waiting):
                notes.append(f"git could not tell what it ignores: {plain(answer.err)}")
                break
            # Git stops at a path behind a link: pass over its folder and go on.
            folder = os.path.dirname(waiting[seen])  # noqa: PTH120 - text of git's, not a place
            notes.append(f"git cannot tell about {plain(folder or waiting[seen])}")
            waiting = [name for name in waiting[seen + 1 :] if os.path.dirname(name) != folder]  # noqa: PTH120
        else:
            notes.append("git was asked about too many folders that it cannot tell about")
        if matched:
            matched -= self._tracked()
        found = frozenset(path for name in matched for path in asked.get(name, ()))
        return Ignored(found, "; ".join(notes) or None)

    def _check_ignore(self, names: list[str]) -> tuple[GitAnswer, int, list[str]]:
        """Git's answer, how many of `names` it answered about, and those that it ignores."""
        with tempfile.TemporaryFile() as file:
            file.write(b"".join(b"./" + os.fsencode(name) + b"\0" for name in names))
            file.seek(0)
            answer = self._ask(
                "check-ignore",
                "--no-index",  # with the index, names are read as glob patterns and match other files' names
                "--stdin",
                "-z",
                "--verbose",
                "--non-matching",
                stdin=file,
                configuration=[("core.excludesFile", _own_excludes())],
            )
        fields = answer.out.split(b"\0")
        records = [fields[start : start + 4] for start in range(0, len(fields) - 3, 4)]
        # With --verbose a pattern that takes a path back in (`!keep.png`) is listed as well.
        ignored = [
            os.fsdecode(name[2:])
            for _, _, pattern, name in records
            if pattern and not pattern.startswith(b"!")
        ]
        return answer, len(records), ignored

    def _tracked(self) -> set[str]:
        """Every path in the index: what is tracked is not lost in a clone, whatever the patterns say."""
        answer = self._ask("ls-files", "-z", "--cached")
        if answer.status != 0:
            raise HistoryError(plain(answer.err))
        return {os.fsdecode(name) for name in answer.out.split(b"\0")[:-1]}

    def _from_top(self, path: str) -> str:
        return os.path.normpath(os.path.join(os.path.relpath(self.project, self.top), path))  # noqa: PTH118

    def _filters(self) -> list[str]:
        """The content filters that any configuration file of the repository's names. Raises HistoryError."""
        answer = self._ask("config", "-z", "--name-only", "--get-regexp", r"^filter\.")
        if answer.status not in (0, 1):
            raise HistoryError(plain(answer.err))
        keys = answer.out.decode("utf-8", "surrogateescape").split("\0")
        names = sorted({key[len("filter.") :].rpartition(".")[0] for key in keys if key.count(".") >= 2})
        strange = [name for name in names if not name.isprintable() or "=" in name]
        if strange or len(names) > _MOST_FILTERS:
            # They could not be switched off one by one, so nothing is run that might start them.
            raise HistoryError(f"the repository names {len(names)} content filters, some with strange names")
        return names

    def _ask(
        self,
        *arguments: str,
        stdin: BinaryIO | None = None,
        configuration: Sequence[tuple[str, str]] = (),
    ) -> GitAnswer:
        answer = self._run(arguments, stdin, configuration)
        if answer.status not in (0, 1) and _DUBIOUS in answer.err:
            trusted = [("safe.directory", folder) for folder in _trusted_folders()]
            if trusted:
                answer = self._run(arguments, stdin, [*configuration, *trusted])
        return answer

    def _run(
        self, arguments: tuple[str, ...], stdin: BinaryIO | None, configuration: Sequence[tuple[str, str]]
    ) -> GitAnswer:
        # Found from `top` and not above it, so that git checks who owns the repository; the work tree is
        # named, because the repository's own core.worktree may point anywhere.
        runner = GitRunner(
            self.top,
            options=[f"--work-tree={self.top}", "--no-optional-locks"],
            configuration=configuration,
            environment={
                "GIT_CEILING_DIRECTORIES": os.fspath(self.top.parent),
                # check-ignore takes no such setting; its paths begin with ./ instead.
                "GIT_LITERAL_PATHSPECS": None if arguments[0] == "check-ignore" else "1",
            },
        )
        if stdin is not None:
            stdin.seek(0)
        return runner.run(*arguments, stdin=stdin, accept=None, seconds=_SECONDS)


def _askable(path: str) -> bool:
    if not path or "\0" in path or os.path.isabs(path):  # noqa: PTH117
        return False
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return os.path.normpath(path).split("/")[0] != ".."


def _disabled(name: str) -> list[tuple[str, str]]:
    settings = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    return [(f"filter.{name}.{key}", value) for key, value in settings]


def _trusted_folders() -> list[str]:
    """Folders of other owners that the user told git to trust, in their own configuration or the system's."""
    return [folder for scope in ("--global", "--system") for folder in _own_setting(scope, "safe.directory")]


def _own_excludes() -> str:
    """The user's own file of ignore patterns. The repository's idea of it is not used: it could be a FIFO."""
    named = _own_setting("--global", "core.excludesFile")
    if named:
        return named[-1]
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - no home is no error
    return os.path.join(home, "git", "ignore")  # noqa: PTH118


def _own_setting(scope: str, key: str) -> list[str]:
    outside = {"GIT_CONFIG_GLOBAL": None, "GIT_CONFIG_SYSTEM": None, "GIT_CONFIG_NOSYSTEM": None}
    answer = GitRunner(Path(os.sep), environment=outside).run(
        "config", scope, "--includes", "-z", "--get-all", key, accept=None, seconds=_SECONDS
    )
    return answer.out.decode("utf-8", "surrogateescape").split("\0")[:-1] if answer.status == 0 else []
