"""Names of files and folders that no judge may see, whatever a profile includes, each with the reason."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fnmatch import translate


@dataclass(frozen=True)
class Rule:
    """Why something is withheld, and whether files with the same bytes are withheld too."""

    why: str
    compared: bool = False

    def __bool__(self) -> bool:
        return bool(self.why)


NO_RULE = Rule("")
STATE_DIRECTORY = Rule("the state directory: verdicts, plans and history")
REPOSITORY = Rule("version control")
ENVIRONMENT = Rule("an environment or a cache")

_VERDICT = Rule("an earlier verdict or plan", compared=True)
_MANIFEST = Rule("configuration", compared=True)
_INSTRUCTIONS = Rule("agent instructions", compared=True)
_AGENT_FOLDER = Rule("agent instructions")  # may hold whole checkouts, and so rightly copies of results

WITHHELD: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    (REPOSITORY, (".git", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs", "cvs", ".fslckout")),
    (STATE_DIRECTORY, (".autoscirub",)),
    (Rule("run history"), ("/runs", "history.bundle", "history.bundle.aside-*")),
    (
        _VERDICT,
        (
            "verification.json",
            "verification_report.json",
            "revision_plan.json",
            "change_summary.json",
        ),
    ),
    (
        _MANIFEST,
        ("capsule.toml", "autoscirub.toml", "autoscirub.yaml", "autoscirub.yml", "run_manifest.json"),
    ),
    (
        _INSTRUCTIONS,
        (
            "agents.md",
            "agents.*.md",
            "agent.md",
            "claude.md",
            "claude.*.md",
            "gemini.md",
            "gemini.*.md",
            "qwen.md",
            "copilot-instructions.md",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            ".roorules*",
            ".goosehints",
            ".mcp.json",
            ".github/agents.md",
        ),
    ),
    (
        _AGENT_FOLDER,
        (
            ".cursor*",
            ".claude*",
            ".codex*",
            ".gemini*",
            ".aider*",
            ".windsurf*",
            ".clinerules*",
            ".roo",
            ".continue",
            ".continuerc*",
            ".junie",
            ".kiro",
            ".amazonq",
            ".opencode*",
            ".agents",
            ".github/instructions",
            ".github/prompts",
            ".github/chatmodes",
            ".github/agents",
            ".github/skills",
        ),
    ),
    (
        ENVIRONMENT,
        (
            "__pycache__",
            "*.pyc",
            ".venv",
            ".pixi",
            ".tox",
            ".nox",
            ".mypy_cache",
            ".pytest_cache",
            ".ruff_cache",
            ".hypothesis",
            ".ipynb_checkpoints",
        ),
    ),
)
"""In this order, case-folded. A name matches in every folder; `/name` only at the top of the project, and
`folder/name` only in a folder of that name."""

_EXACT: dict[str, Rule] = {}
_GLOBS: list[tuple[str, Rule]] = []
for _rule, _names in WITHHELD:
    for _name in _names:
        if "*" in _name:
            _GLOBS.append((_name, _rule))
        else:
            _EXACT.setdefault(_name, _rule)
_ANY_GLOB = re.compile("|".join(translate(name) for name, _ in _GLOBS)).match
_EACH_GLOB = tuple((re.compile(translate(name)).match, rule) for name, rule in _GLOBS)


def folded(name: str) -> str:
    """A name as a case-insensitive file system, or a reader, would take it: `AGENTS.MD` is `agents.md`.

    Look-alikes such as full-width letters are folded too; invisible characters such as joiners are removed.
    """
    if name.isascii():
        return name.lower()
    seen = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def rule_for(path: str) -> Rule:
    """The rule for a path, by its own name and its folder's; NO_RULE where none matches."""
    above, _, last = path.rpartition("/")
    name = folded(last)
    found = _EXACT.get(name)
    if found is None and not above:
        found = _EXACT.get(f"/{name}")
    if found is None and above:
        found = _EXACT.get(f"{folded(above.rpartition('/')[2])}/{name}")
    if found is None and _ANY_GLOB(name):
        found = next(rule for match, rule in _EACH_GLOB if match(name))
    return found or NO_RULE
