"""The data files that ship with the package: where they are, and the templates that `init` writes."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoscirub.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import Layout

__all__ = ["PLUGIN_PARTS", "Kind", "config_text", "data_dir", "load_layout", "template"]

Kind = Literal["skills", "schemas", "state", "hooks", "examples", "plugin"]

PLUGIN_PARTS = (".claude-plugin", ".codex-plugin", ".agents", ".mcp.json", "README.md", "LICENSE")
"""What the folder of the kind "plugin" holds for a client, skills and hooks aside.

In a checkout that folder is the checkout itself, so whoever copies a plugin takes these and nothing else.
"""

_TEMPLATES = {
    "config": "config-template.toml",
    "prereg": "prereg-template.toml",
    "gitignore": "gitignore-template",
}


def data_dir(kind: Kind) -> Path:
    """The folder with the shipped `kind` of data: in an installed package, else in the checkout.

    Raises StateError when neither is there: the installation is broken.
    """
    from importlib.resources import files

    installed = Path(str(files("autoscirub"))) / "_data" / kind
    if installed.is_dir():
        return installed
    checkout = Path(__file__).resolve().parents[2]
    in_checkout = checkout if kind == "plugin" else checkout / kind
    if (checkout / "pyproject.toml").is_file() and in_checkout.is_dir():
        return in_checkout
    raise StateError(
        f"autoscirub is not installed completely: its {kind} folder is neither in {installed} nor in "
        f"{in_checkout}; install the package again, from a wheel or an unpacked checkout"
    )


@functools.cache
def load_layout() -> Layout:
    """The table of `state/layout.toml`, read once. Raises StateError when it is not what it should be."""
    import tomllib

    from pydantic import ValidationError

    from autoscirub.models import Layout, describe_faults

    path = data_dir("state") / Layout.file_name
    data = tomllib.loads(_read(path))
    try:
        return Layout.model_validate(data)
    except ValidationError as error:
        raise StateError(f"{path}: {'; '.join(describe_faults(error, data))}") from None


def template(name: Literal["config", "prereg", "gitignore"]) -> str:
    """The text of a template as it ships. Raises StateError when it is missing."""
    return _read(data_dir("state") / _TEMPLATES[name])


def config_text(
    *,
    report: str | None = None,
    results: str | None = None,
    command: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> str:
    """A commented `autoscirub.toml` with what `init` found; what it did not find is left commented out.

    `report`, `results`, `inputs` and `outputs` are paths relative to the project root; `command` is program and
    arguments. `inputs` and `outputs` belong to a command, and are left out where there is none.
    """
    text = template("config")
    for line, value, example in (
        ('report = "{report}"', report and f"report = {_toml_string(report)}", '# report = "report.md"'),
        (
            'results = "{results}"',
            results and f"results = {_toml_string(results)}",
            '# results = "results.json"',
        ),
        ("[run] # {run}", command and "[run]", "# [run]"),
        (
            'command = ["{command}"]',
            command and f"command = {_toml_list(command)}",
            '# command = ["python3", "run.py"]',
        ),
        (
            'inputs = ["{inputs}"]',
            command and inputs and f"inputs = {_toml_list(inputs)}",
            '# inputs = ["data/"]',
        ),
        (
            'outputs = ["{outputs}"]',
            command and outputs and f"outputs = {_toml_list(outputs)}",
            '# outputs = ["results/"]',
        ),
    ):
        text = text.replace(f"\n{line}\n", f"\n{value or example}\n")
    return text


def _toml_list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_toml_string, values))}]"


def _toml_string(text: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as cause:
        raise StateError(
            f"{path}: cannot be read: {cause.strerror}; it ships with autoscirub, so install the package again"
        ) from cause
