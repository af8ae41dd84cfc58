"""Builds the prompts for a judge: the question from the frozen rubric or predictions, the files as data, the schema.

The texts are the `.txt` files here, with golden files in the tests. Whoever changes one, or the order of what is put
into it, raises `PROMPT_VERSION`: verdicts that were given on another prompt are then asked for again.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from autoscirub.judging.prompts.framing import frame, plain, quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autoscirub.models import Criterion, WorkspaceManifest

PROMPT_VERSION = "2"
INLINE_CHARS = 60_000
"""Characters of files that a question includes unless told otherwise."""
FILES_LISTED = 500


@dataclass(frozen=True)
class Prompt:
    """One question. `digest` covers everything in it except the random code in the marks."""

    system: str
    text: str
    answer_schema: dict[str, Any]
    version: str
    digest: str
    asked: str
    """What is asked, without the files: for a person, who needs no instructions and opens them."""


def criterion_prompt(
    criterion: Criterion,
    manifest: WorkspaceManifest,
    inline: Sequence[tuple[str, str]],
    nonce: str,
    *,
    avoid: Sequence[str] = (),
    limit: int = INLINE_CHARS,
) -> Prompt:
    """The question whether one criterion is satisfied.

    `criterion` and `avoid` (the claims that the report must not make) come from the frozen rubric, never from the
    workspace. `inline`: the path and text of each file that stands in the question, the report first; `limit`: the
    characters of one. `nonce` is fresh for each question: `secrets.token_hex(16)`.
    """
    values = {
        "criterion": "\n".join(
            [*_criterion_lines(criterion, manifest), *_listed("claims that the report must not make", avoid)]
        ),
        "id": json.dumps(criterion.criterion_id, ensure_ascii=False),
        "files": _files(manifest, nonce),
        "inline": _inline(inline, nonce, limit),
    }
    basis = [values["criterion"], _sizes(manifest), [list(file) for file in inline]]
    return _prompt("criterion", values, criterion_schema(criterion.criterion_id), basis, values["criterion"])


def hypothesis_prompt(
    hypothesis: str,
    predictions: Sequence[str],
    analysis_plan: str,
    manifest: WorkspaceManifest,
    inline: Sequence[tuple[str, str]],
    nonce: str,
    *,
    results_contract: Mapping[str, str] | None = None,
    limit: int = INLINE_CHARS,
) -> Prompt:
    """The question whether the evidence supports the hypothesis. What is asked comes from the frozen predictions.

    `inline`: the path and text of each file that stands in the question: QUESTION.md, the results, the code.
    """
    lines = [
        *_section("THE HYPOTHESIS", [hypothesis]),
        *_section("ITS PREDICTIONS", predictions),
        *_section("THE PLAN OF THE ANALYSIS", [analysis_plan]),
        *_section(
            "WHAT THE RESULTS MEAN",
            [f"{key}: {meaning}" for key, meaning in (results_contract or {}).items()],
        ),
    ]
    registered = "\n".join(lines).rstrip()
    values = {
        "registered": registered,
        "files": _files(manifest, nonce),
        "inline": _inline(inline, nonce, limit),
    }
    basis = [registered, _sizes(manifest), [list(file) for file in inline]]
    return _prompt("hypothesis", values, hypothesis_schema(), basis, registered)


def criterion_schema(criterion_id: str) -> dict[str, Any]:
    """The shape of a verdict on one criterion: closed, every key required, reasons before the flag."""
    return _schema(
        {
            "criterion_id": {"type": "string", "enum": [criterion_id]},
            "reasoning": {"type": "string"},
            "evidence": _EVIDENCE,
            "evidence_gap": {"type": "string"},
            "required_actions": _LIST,
            "artifact_references": _LIST,
            "confidence": {"type": ["number", "null"]},
            "satisfied": {"type": ["boolean", "null"]},
        }
    )


def hypothesis_schema() -> dict[str, Any]:
    """The shape of a verdict on the hypothesis."""
    return _schema(
        {
            "reasoning": {"type": "string"},
            "evidence": _EVIDENCE,
            "concerns": _LIST,
            "confidence": {"type": ["number", "null"]},
            "supports_hypothesis": {"type": ["boolean", "null"]},
        }
    )


def _schema(properties: dict[str, Any]) -> dict[str, Any]:
    # Bounds on numbers and lengths are left out: not every service that promises a schema knows them.
    return {
        "type": "object",
        "properties": {key: dict(value) for key, value in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


_LIST = {"type": "array", "items": {"type": "string"}}
_PLACE = _schema(
    {
        "kind": {"type": "string", "enum": ["key", "line", "cell", "quote", "page"]},
        "where": {"type": "string"},
    }
)
_EVIDENCE = {
    "type": "array",
    "items": _schema(
        {
            "path": {"type": "string"},
            "at": _PLACE,
            "value": {"type": ["string", "number", "boolean", "null"]},
            "shows": {"type": "string"},
        }
    ),
}


@functools.cache
def _text(name: str) -> str:
    return (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")


def _prompt(
    name: str, values: dict[str, str], schema: dict[str, Any], basis: list[Any], asked: str
) -> Prompt:
    system, template = _text("judge").strip(), _text(name)
    text = Template(template).substitute(values).strip()
    # Over the framed contents, not the frames: those differ with every random code.
    whole = json.dumps(
        [PROMPT_VERSION, system, template, schema, basis], ensure_ascii=True, sort_keys=True, allow_nan=False
    )
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return Prompt(system, text, schema, PROMPT_VERSION, digest, asked)


def _criterion_lines(criterion: Criterion, manifest: WorkspaceManifest) -> Iterator[str]:
    """What is asked. Without priority and weight: they do not bear on whether it is met."""
    yield f"id: {json.dumps(criterion.criterion_id, ensure_ascii=False)}"
    yield f"requirement: {_indented(criterion.requirement)}"
    yield from _listed("data it should use", criterion.data_sources)
    yield from _listed("required analysis", criterion.required_analysis)
    yield from _listed("metrics", criterion.metrics)
    yield from _listed("comparisons", criterion.comparisons)
    yield from _listed(
        "expected artifacts",
        [
            "; ".join(
                [
                    *(text for text in (artifact.type, artifact.name) if text),
                    *([f"at {artifact.path}"] if artifact.path else []),
                    *([f"must show: {artifact.must_show}"] if artifact.must_show else []),
                ]
            )
            for artifact in criterion.expected_artifacts
        ],
    )
    if criterion.satisfaction_condition:
        yield f"satisfied when: {_indented(criterion.satisfaction_condition)}"
    yield from _listed(
        "to be read", [check.description for check in criterion.checks if check.kind == "judge"]
    )
    named = criterion.named_paths()
    yield from _listed(
        "named by the criterion and not among your files",
        [
            f"{quoted_path(entry.path)}: {entry.why}"
            for entry in manifest.withheld
            if entry.path.rstrip("/") in named
        ],
    )


def _listed(title: str, items: Sequence[str]) -> Iterator[str]:
    if present := [item for item in items if item.strip()]:
        yield f"{title}:"
        yield from (f"- {_indented(item)}" for item in present)


def _section(title: str, texts: Sequence[str]) -> list[str]:
    present = [text for text in texts if text.strip()]
    if not present:
        return []
    marked = present if len(present) == 1 else [f"- {text}" for text in present]
    return [title, *(_indented(text) for text in marked), ""]


def _indented(text: str) -> str:
    """A text of several lines with the later ones indented, so that one sees where it ends."""
    return "\n  ".join(plain(line) for line in text.strip().splitlines())


def _sizes(manifest: WorkspaceManifest) -> list[list[str | int]]:
    return [[file.path, file.size] for file in sorted(manifest.files, key=lambda file: file.path)]


def _inline(files: Sequence[tuple[str, str]], nonce: str, limit: int) -> str:
    if not files:
        return "None of them is repeated here: read them."
    return "\n\n".join(f"{quoted_path(path)}:\n{frame(text, nonce, limit=limit)}" for path, text in files)


def _files(manifest: WorkspaceManifest, nonce: str) -> str:
    files = sorted(manifest.files, key=lambda file: file.path)
    lines = [f"{quoted_path(file.path)} ({file.size:,} bytes)" for file in files[:FILES_LISTED]]
    if more := len(files) - len(lines):
        lines.append(f"and {more:,} more; look for them in the folder")
    if not lines:
        return "There are no files."
    # Names are data too: a file may be called like an instruction.
    return frame("\n".join(lines), nonce, limit=200_000, numbered=False)
