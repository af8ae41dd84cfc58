"""Self-test of the judge's tools: they cannot be made to show what lies outside of the workspace."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

from autoscirub.errors import ToolRefused
from autoscirub.judging.tools import ToolBounds, WorkspaceTools
from autoscirub.setup.selftest.test_bed import AttackResult, Check, listed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoscirub.setup.selftest.test_bed import TestBed

_SECONDS = 2.0
_LATE = 5 * (_SECONDS + 1)
_SEARCHED = "CANARY"

SPELLINGS: dict[str, list[str]] = {
    # {outside}: the folder that the workspace lies in, with the canary
    "paths with ..": [
        "../canary.txt",
        "..",
        "data/../../canary.txt",
        "./../canary.txt",
        ".//..//canary.txt",
        "data/t.csv/../../../canary.txt",
        "**/../canary.txt",
    ],
    "absolute paths": [
        "{outside}/canary.txt",
        "{outside}",
        "//{outside}/canary.txt",
        "/proc/self/root/{outside}/canary.txt",
        "/proc/self/cwd",
        "/",
    ],
    "percent-encoded paths": [
        "%2e%2e/canary.txt",
        "%2e%2e%2fcanary.txt",
        "..%2fcanary.txt",
        "%252e%252e/canary.txt",
        "..%c0%afcanary.txt",
        "..%00/canary.txt",
    ],
    "paths with backslashes": [
        "..\\canary.txt",
        "data\\..\\..\\canary.txt",
        "\\\\host\\share\\canary.txt",
        "C:\\canary.txt",
    ],
    "paths with NUL": ["\0", "../canary.txt\0.md", "report.md\0/../../canary.txt"],
    "paths of 5,000 characters": ["a" * 5000, "../" * 1662 + "canary.txt", "data/" * 997 + "../canary.txt"],
    "paths in another case": [
        "../CANARY.TXT",
        "{OUTSIDE}/CANARY.TXT",
        "..//Canary.Txt",
        "DATA/../../canary.txt",
    ],
    "characters that look like a dot or a slash": [
        "\u2025/canary.txt",
        "\uff0e\uff0e/canary.txt",
        "..\u2215canary.txt",
        "..\uff0fcanary.txt",
        ".\u200b./canary.txt",
        "\ud800/canary.txt",
    ],
    "what a shell would expand": [
        "~/canary.txt",
        "$HOME/canary.txt",
        "$(cat ../canary.txt)",
        "file://{outside}/canary.txt",
        "{..,data}/canary.txt",
        "[.][.]/canary.txt",
    ],
}

PLANTED: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    # what was planted after the workspace was built: how, and a path through it
    "a planted link to a file": (lambda at, outside: at.symlink_to(outside / "canary.txt"), "planted"),
    "a planted link to a folder": (lambda at, outside: at.symlink_to(outside), "planted/canary.txt"),
    "a planted hard link": (lambda at, outside: os.link(outside / "canary.txt", at), "planted"),
    "a planted FIFO": (lambda at, _: os.mkfifo(at), "planted"),
}

PATTERNS = ["(a+)+$", "(a|aa)+$", "(.*a){25}$", "(a|a)*$"]
"""Each needs longer than the universe is old on a line of many letters a."""


def _laid(test_bed: TestBed) -> tuple[Path, Path, str]:
    """A folder with a canary, the workspace in it, and the canary."""
    outside = test_bed.place("tools")
    canary = test_bed.canaries["the holdout"]
    (outside / "canary.txt").write_text(f"{canary}\n", encoding="utf-8")
    root = outside / "workspace"
    (root / "data").mkdir(parents=True)
    (root / "report.md").write_text("inside\n", encoding="utf-8")
    (root / "data" / "t.csv").write_text("inside,1\n", encoding="utf-8")
    return outside, root, canary


def _calls(path: str) -> list[tuple[str, dict[str, object]]]:
    return [
        ("read", {"path": path}),
        ("list", {"path": path, "depth": 9}),
        ("glob", {"pattern": path}),
        ("grep", {"pattern": _SEARCHED, "path": path}),
        ("grep", {"pattern": _SEARCHED, "files": path}),
    ]


def _call_output(tools: WorkspaceTools, name: str, arguments: dict[str, object]) -> str:
    try:
        return tools.call(name, arguments).text
    except ToolRefused as refused:
        return str(refused)


def _through(tools: WorkspaceTools, paths: list[str], canary: str) -> tuple[int, list[str]]:
    tried, through = 0, []
    for path in paths:
        for name, arguments in _calls(path):
            tried += 1
            started = time.monotonic()
            text = _call_output(tools, name, arguments)
            if canary in text:
                through.append(f"{name} of {ascii(path)[:60]} showed a canary")
            if name == "list" and '"canary.txt"' in text and " bytes" in text:
                through.append(f"list of {ascii(path)[:60]} named what lies outside")
            if time.monotonic() - started > _LATE:
                through.append(f"{name} of {ascii(path)[:60]} took longer than {_LATE:g} s")
    return tried, through


def _reads(tools: WorkspaceTools) -> str | None:
    """Why the attack is inconclusive where the tools show nothing at all; None where they work."""
    if "inside" in _call_output(tools, "read", {"path": "report.md"}):
        return None
    return "the tools do not read what lies in the workspace, so nothing can be concluded"


def _spelled(paths: list[str], test_bed: TestBed) -> AttackResult:
    outside, root, canary = _laid(test_bed)
    tools = WorkspaceTools(root, ToolBounds(seconds=_SECONDS))
    spelled = [
        path.replace("{outside}", str(outside)).replace("{OUTSIDE}", str(outside).upper()) for path in paths
    ]
    tried, through = _through(tools, spelled, canary)
    return AttackResult(
        f"{len(paths)} spellings, {tried} calls of list, glob, grep and read", listed(through), _reads(tools)
    )


def _planted(what: str, test_bed: TestBed) -> AttackResult:
    plant, path = PLANTED[what]
    outside, root, canary = _laid(test_bed)
    try:
        plant(root / "planted", outside)
    except OSError as cause:
        return AttackResult("", cannot=f"it cannot be planted here: {cause.strerror}")
    tools = WorkspaceTools(root, ToolBounds(seconds=_SECONDS))
    tried, through = _through(tools, [path, ".", "**"], canary)
    return AttackResult(f"{tried} calls of list, glob, grep and read", listed(through), _reads(tools))


def _patterns(test_bed: TestBed) -> AttackResult:
    _, root, _ = _laid(test_bed)
    (root / "a.txt").write_text("found before\n" + "a" * 50_000 + "!\n", encoding="utf-8")
    tools = WorkspaceTools(root, ToolBounds(seconds=0.5))
    through, longest = [], 0.0
    for pattern in PATTERNS:
        started = time.monotonic()
        _call_output(tools, "grep", {"pattern": pattern})
        longest = max(longest, time.monotonic() - started)
        if time.monotonic() - started > _LATE:
            through.append(f"{pattern} took longer than {_LATE:g} s")
    tried = f"{len(PATTERNS)} patterns with a limit of {tools.bounds.seconds:g} s; the longest took {longest:.1f} s"
    return AttackResult(tried, listed(through), _reads(tools))


CHECKS = [
    *(
        Check(what, "Can no such path be made to show what lies outside?", partial(_spelled, paths))
        for what, paths in SPELLINGS.items()
    ),
    *(Check(what, "Is it neither followed nor waited for?", partial(_planted, what)) for what in PLANTED),
    Check("regular expressions without end", "Does each end in time?", _patterns),
]
