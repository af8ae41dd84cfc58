"""Compares two rubrics, and decides whether the difference is a change of scope. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from autoscirub.models import Criterion, ExecutableRubric

_NAMED = 5


@dataclass(frozen=True)
class RubricChanges:
    """What became of the criteria, by id, and what else differs."""

    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    strengthened: list[str] = field(default_factory=list)
    """Those to which checks were added and nothing else was done; the checks cover no text, and what a judge had
    to read, a judge must still read."""
    other: list[str] = field(default_factory=list)
    """The parts of the rubric besides its criteria that differ, such as `goals`, and `order` of the criteria."""

    @property
    def any_change(self) -> bool:
        """Whether anything differs at all."""
        return bool(self.strengthened) or self.needs_scope

    @property
    def needs_scope(self) -> bool:
        """Whether anything but a strengthened criterion is there: after the freeze, a change of scope."""
        return bool(self.lost or self.changed or self.added or self.other)

    def described(self) -> str:
        """The differences in one line, five names of each kind; empty when there is none."""
        words = {
            "lost": self.lost,
            "changed": self.changed,
            "added": self.added,
            "with checks added": self.strengthened,
        }
        parts = [f"criteria {word}: {_names(ids)}" for word, ids in words.items() if ids]
        return "; ".join([*parts, *([f"in its {_names(self.other)}"] if self.other else [])])


def _names(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def rubric_changes(locked: ExecutableRubric, now: ExecutableRubric) -> RubricChanges:
    """What differs between the rubric as it was locked and as it is. Criteria are told apart by their exact id,
    so a renamed one is one lost and one added. `scope_changes` are the record of changes, and no change."""
    before = {criterion.criterion_id: criterion for criterion in locked.criteria}
    after = {criterion.criterion_id: criterion for criterion in now.criteria}
    common = [name for name in before if name in after]
    differing = [name for name in common if canonical_json(before[name]) != canonical_json(after[name])]
    strengthened = [name for name in differing if _is_strengthened(before[name], after[name])]
    return RubricChanges(
        lost=[name for name in before if name not in after],
        changed=[name for name in differing if name not in strengthened],
        added=[name for name in after if name not in before],
        strengthened=strengthened,
        other=[
            *_other_fields(locked, now),
            *([] if common == [name for name in after if name in before] else ["order"]),
        ],
    )


def _is_strengthened(before: Criterion, after: Criterion) -> bool:
    if canonical_json(before.model_copy(update={"checks": []})) != canonical_json(
        after.model_copy(update={"checks": []})
    ):
        return False
    old = [canonical_json(check) for check in before.checks]
    new = {canonical_json(check): check for check in after.checks}
    if any(check not in new for check in old):
        return False
    # A criterion without any check must be read; its first check would let code alone decide it.
    if needs_reading(before) and not needs_reading(after):
        return False
    return all(not check.covers for text, check in new.items() if text not in old)


def _other_fields(locked: ExecutableRubric, now: ExecutableRubric) -> list[str]:
    before, after = (_plain(rubric.model_copy(update={"criteria": []})) for rubric in (locked, now))
    names = [name for name in {**before, **after} if name not in {"criteria", "scope_changes"}]
    return [
        name
        for name in names
        if name not in before or name not in after or _text(before[name]) != _text(after[name])
    ]


def needs_reading(criterion: Criterion) -> bool:
    """Whether a judge must read this criterion's work, once all that code decides about it holds.

    With `judge: auto`: unless checks cover every text and there is something that code decides.
    """
    if criterion.judge == "never":
        return False
    if criterion.judge == "always" or any(check.kind == "judge" for check in criterion.checks):
        return True
    nothing_else = not criterion.checks and not any(
        artifact.path for artifact in criterion.expected_artifacts
    )
    return nothing_else or bool(criterion.uncovered())


def canonical_json(model: BaseModel) -> str:
    """`model` as JSON text that is the same however its file was laid out: keys sorted, defaults written out."""
    return _text(_plain(model))


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
