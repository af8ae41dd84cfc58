"""Finds the artifacts that need not be opened again: their bytes are those that a cached result rests on.

Decoding a figure or parsing a table costs far more than taking its digest, and gives the same for the same bytes. So
only a file whose digest changed is opened again.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import (
    MARKDOWN,
    ArtifactFinding,
    Directories,
    digest,
    format_of,
    open_file,
    path_faults,
    project_root,
    stamp,
)
from autoscirub.checks.criteria.basis import rules_and_criterion
from autoscirub.checks.criteria.inputs import artifact_keys
from autoscirub.checks.criteria.parts import part_keys
from autoscirub.models import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autoscirub.checks.criteria.decide import CachedResult
    from autoscirub.checks.criteria.inputs import ArtifactKey
    from autoscirub.models import Decision, ExecutableRubric


def known_artifacts(
    root: Path, rubric: ExecutableRubric, cached: Mapping[str, CachedResult]
) -> dict[ArtifactKey, Decision]:
    """The cached results on artifacts that are unchanged: they held, with no note on them, and the same bytes are
    still at the same path. Takes the digest of every such file once, and decodes none."""
    before = dict(_held_before(rubric, cached))
    directories = Directories(project_root(root))
    now = {path: _sha256(directories, path) for path in {path for path, _ in before}}
    same = {key: found for key, found in before.items() if now[key[0]] == found.evidence[0].sha256}
    asked = {
        key: (key[0], format_of(*key)) for criterion in rubric.criteria for key in artifact_keys(criterion)
    }
    return {key: same[opened_as] for key, opened_as in asked.items() if opened_as in same}


def _held_before(
    rubric: ExecutableRubric, cached: Mapping[str, CachedResult]
) -> Iterator[tuple[ArtifactKey, Decision]]:
    """Each path, with the format that it was opened as, and the answer on it."""
    for criterion in rubric.criteria:
        earlier = cached.get(criterion.criterion_id)
        keys = part_keys(criterion)
        if earlier is None or earlier.decision is None or not any(keys):
            continue
        parts, rests_on = earlier.decision.parts, earlier.result.rests_on
        # The same rules and the same criterion: only then are the parts those of `keys`, one by one.
        if len(parts) != len(keys) or not rules_and_criterion(criterion).items() <= rests_on.items():
            continue
        for key, part in zip(keys, parts, strict=True):
            if key is not None and _held_plainly(part, key[0]):
                yield (key[0], format_of(*key)), part.model_copy(update={"subject": key[0]})


def _held_plainly(part: Decision, path: str) -> bool:
    if part.answer is not Answer.HOLDS or len(part.evidence) != 1:
        return False
    if path.casefold().endswith(MARKDOWN):  # its answer is also about the files that it embeds
        return False
    [seen] = part.evidence
    return seen.path == path and seen.sha256 is not None and seen.note is None


def _sha256(directories: Directories, path: str) -> str | None:
    """The digest of a regular file of the project, plainly named and behind no link; None for all else, which
    is then inspected again."""
    if path_faults(path) is not None or path != posixpath.normpath(path):
        return None
    # Taken as if it were resolved: no link on the way is followed, so a file behind one does not open.
    source = open_file(directories, path, os.path.join(directories.root, path))  # noqa: PTH118 - as in files.py
    if isinstance(source, ArtifactFinding):
        return None
    with source:
        before = stamp(source)
        try:
            found, _ = digest(source, before[2])
        except OSError:
            return None
        return found if stamp(source) == before else None
