"""JSON Schemas (2020-12) of the state files, made from the models.

`python -m autoscirub.models.schema [--check] [DIR]` writes `DIR/<name>.schema.json` (default: `schemas`),
or says which files differ. Everything above `main` is pure; only `main` touches files.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from autoscirub.models.base import SCHEMA_VERSION
from autoscirub.models.calibration import Calibration
from autoscirub.models.config import ProjectConfig
from autoscirub.models.drafts import LiteratureGrounding, LiteratureSources, RubricSkeleton, TaskDataProfile
from autoscirub.models.judging import Ask, CachedVerdict
from autoscirub.models.manifest import RunManifest
from autoscirub.models.prereg import Prereg, PreregLock
from autoscirub.models.report import VerificationReport
from autoscirub.models.rerun import RerunRecord
from autoscirub.models.rounds import ChangeSummary, Event, RevisionPlan
from autoscirub.models.rubric import ExecutableRubric
from autoscirub.models.verification import Verification

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

MODELS: dict[str, type[BaseModel]] = {
    "ask": Ask,
    "calibration": Calibration,
    "change_summary": ChangeSummary,
    "config": ProjectConfig,
    "event": Event,
    "executable_rubric": ExecutableRubric,
    "literature_grounding": LiteratureGrounding,
    "literature_sources": LiteratureSources,
    "prereg": Prereg,
    "prereg_lock": PreregLock,
    "rerun": RerunRecord,
    "revision_plan": RevisionPlan,
    "rubric_skeleton": RubricSkeleton,
    "run_manifest": RunManifest,
    "task_data_profile": TaskDataProfile,
    "verdict": CachedVerdict,
    "verification": Verification,
    "verification_report": VerificationReport,
}
"""Schema name -> the model that it is made from."""


class _SchemaGenerator(GenerateJsonSchema):
    """Pydantic's generator, without a title on every field: it would only repeat the field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def schemas() -> dict[str, dict[str, Any]]:
    """Schema name -> JSON Schema of the file, by `MODELS`.

    A rule of the model that JSON Schema cannot express is stated in the description, so that nobody expects
    every file that fits the schema to load.
    """
    return {name: _schema(name, model) for name, model in MODELS.items()}


def schema_files() -> dict[str, str]:
    """File name -> text, as `schemas/` must hold it."""
    return {
        f"{name}.schema.json": json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
        for name, schema in schemas().items()
    }


def _schema(name: str, model: type[BaseModel]) -> dict[str, Any]:
    body = model.model_json_schema(by_alias=True, schema_generator=_SchemaGenerator)
    _plain_descriptions(body)
    rules: tuple[str, ...] = getattr(model, "rules", ())
    if rules:
        body["description"] += f" The model also checks what a schema cannot express: {'; '.join(rules)}."
    return {
        "$schema": _SchemaGenerator.schema_dialect,
        "$id": f"urn:autoscirub:schema:{name}:{SCHEMA_VERSION}",
        "title": model.__name__,
        "description": body.pop("description"),
        **{key: value for key, value in body.items() if key != "title"},
    }


def _plain_descriptions(node: Any) -> None:
    """Docstrings are wrapped for the source's line length; a description is one line a paragraph."""
    if isinstance(node, list):
        for item in node:
            _plain_descriptions(item)
    elif isinstance(node, dict):
        if isinstance(text := node.get("description"), str):
            node["description"] = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
        for item in node.values():
            _plain_descriptions(item)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the schemas, or with `--check` compare them; 1 when a file differs, is missing or is left over."""
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(prog="python -m autoscirub.models.schema", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; say which files differ")
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=Path("schemas"))
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    wanted = schema_files()

    here = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.schema.json"))}
    differing = [name for name, text in wanted.items() if here.get(name) != text]
    left_over = [name for name in here if name not in wanted]
    if not options.check:
        folder.mkdir(parents=True, exist_ok=True)
        for name in differing:
            (folder / name).write_text(wanted[name], encoding="utf-8", newline="\n")
            sys.stdout.write(f"{folder / name}: written\n")
        differing = []
    for name in differing:
        problem = "differs from the models" if name in here else "is missing"
        sys.stderr.write(f"{folder / name}: {problem}; run python -m autoscirub.models.schema {folder}\n")
    for name in left_over:
        sys.stderr.write(f"{folder / name}: no model makes this schema; delete it\n")
    return 1 if differing or left_over else 0


if __name__ == "__main__":
    raise SystemExit(main())
