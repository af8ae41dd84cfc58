"""The table of `state/layout.toml`: every file that the project's state is made of.

What each file is, who writes it, who reads it, which schema it has, and whether it belongs in git.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from autoscirub.models.base import Closed
from autoscirub.models.faults import Fault, raise_faults

PLACEHOLDERS: dict[str, str] = {
    "NNN": r"(?!000$|000/)(?:\d{3}|[1-9]\d{3,})",
    "FILE": r".+",
    "FRAME": r"[^/]+",
    "KEY": r"[^/]+",
    "PROBLEM": r"[^/]+",
    "TIME": r"[0-9TZ-]+",
}
"""What a word in capitals in a path stands for. NNN counts from 001, in three digits or, past 999, more."""

Party = Literal[
    # people, what they set to work, and the project's own code
    "person",
    "agent",
    "project",
    # every command that writes, or that reads
    "any",
    # commands
    "anchor",
    "audit",
    "blind",
    "calibrate",
    "carriage",
    "check",
    "criterion",
    "freeze",
    "hook",
    "init",
    "judge",
    "leaderboard",
    "rerun",
    "round",
    "run",
    "scope",
    "serve",
    "status",
    "submit",
    "unfreeze",
    "verify",
]
"""Who writes or reads: a command by its name (its MCP tool and Python function with it), or who stands outside."""

Room = Literal["criteria", "rounds", "judging", "carriage", "submissions", "sources", "skills", "jobs"]
"""What a file waits for, where nothing in this version writes it yet."""


class LayoutEntry(Closed):
    """One file, or one folder of files where the path ends in a slash."""

    path: Annotated[
        str, Field(pattern=r"^[^/].*$", description="placeholders in capitals, as in PLACEHOLDERS")
    ]
    where: Literal["state", "project"] = Field(
        default="state", description="what the path is relative to: the state directory or the project root"
    )
    schema_name: str | None = Field(
        default=None,
        alias="schema",
        description="schemas/<name>.schema.json; of each line for a .jsonl file, of the content for TOML",
    )
    writer: Annotated[list[Party], Field(min_length=1)]
    readers: Annotated[list[Party], Field(min_length=1)]
    commit: bool = Field(description="whether it belongs in the project's git repository")
    what: Annotated[str, Field(pattern=r"^[A-Z].*\.$", description="one plain sentence")]
    arrives_with: Room | None = None

    @property
    def is_folder(self) -> bool:
        """Whether the entry stands for everything in a folder."""
        return self.path.endswith("/")

    def matches(self, path: str) -> bool:
        """Whether `path` (relative, with forward slashes) is this file, or lies in this folder."""
        words = "|".join(PLACEHOLDERS)
        parts = re.split(rf"\b({words})\b", self.path)
        pattern = "".join(PLACEHOLDERS.get(part) or re.escape(part) for part in parts)
        return re.fullmatch(pattern + (".*" if self.is_folder else ""), path) is not None


class Layout(Closed):
    """The whole table, in the order of the file."""

    file_name: ClassVar[str] = "layout.toml"

    file: Annotated[list[LayoutEntry], Field(min_length=1)]

    def find(self, path: str, where: Literal["state", "project"] = "state") -> LayoutEntry | None:
        """The entry that `path` belongs to, a file's own before its folder's; None for a file not ours."""
        found = [entry for entry in self.file if entry.where == where and entry.matches(path)]
        return min(found, key=lambda entry: (entry.is_folder, "FILE" in entry.path), default=None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seen: set[tuple[str, str]] = set()
        faults: list[Fault] = []
        for index, entry in enumerate(self.file):
            if (entry.where, entry.path) in seen:
                faults.append(Fault(("file", index, "path"), "stands in the table twice", entry.path))
            if entry.is_folder and entry.schema_name:
                faults.append(Fault(("file", index, "schema"), "a folder has no schema", entry.schema_name))
            seen.add((entry.where, entry.path))
        raise_faults("Layout", faults)
        return self
