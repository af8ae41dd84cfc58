"""Finds the fields of a reply that answer the same question as its flag, and say otherwise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FIELDS = _set(
    "criterion_id reasoning evidence evidence_found evidence_gap required_actions artifact_references confidence "
    "concerns confirmed"
)
_SAYS = _set(
    "status verdict result outcome decision grade answer score rating met passed pass satisfied satisfies supported "
    "supports fulfilled compliant conclusion judgment judgement assessment approved accepted success ok "
    "erfüllt erfuellt cumple cumplido satisfait rempli conforme soddisfatto satisfeito 满足 符合"
)
"""Words in the name of a field that answers the same question as the flag."""
_DENIES = _set("failed fail fails unmet unsatisfied rejected refuted violated insufficient")
"""The same, of one that answers the opposite."""
_YES = _set(
    "true yes pass passed passes satisfied met ok supported supports fulfilled 1 complete completed done accepted "
    "approved verified success valid correct holds confirmed"
)
_FAILS = _set(
    "fail failed fails not_satisfied unsatisfied unmet not_met refuted rejected not_supported not_fulfilled"
)
_NO = _FAILS | {"false", "no", "0"}


def others_against(entry: dict[str, Any], own: str, flag: bool | None) -> Iterator[tuple[str, Any]]:
    """Every field, at any depth, that is none of a verdict's own and says otherwise than `flag`, which is in `own`."""
    waiting = [(name, value) for name, value in entry.items() if name not in _FIELDS and name != own]
    while waiting:
        name, value = waiting.pop(0)
        if _otherwise(flag, name, value):
            yield name, value
        items = value if isinstance(value, list) else [value]
        waiting += [pair for item in items if isinstance(item, dict) for pair in item.items()]


def _otherwise(flag: bool | None, name: str, value: Any) -> bool:
    """Whether another field than the flag says otherwise of the same question."""
    words = set(re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold()))
    word = re.sub(r"[\s_-]+", "_", value.strip().casefold()) if isinstance(value, str) else None
    if not words & (_SAYS | _DENIES):
        return flag is True and word in _FAILS
    meant: bool | None = None
    if isinstance(value, bool):
        meant = value
    elif isinstance(value, int | float):
        meant = False if value < 0.5 else True if value == 1 else None
    elif word is not None:
        parts = re.fullmatch(r"(\d{1,6})/(\d{1,6})", word)
        meant = int(parts[1]) >= int(parts[2]) if parts else True if word in _YES else None
        if meant is None and (
            word in _NO or (flag is True and word.count("_") < 3 and not word[:1].isdigit())
        ):
            meant = False  # a short word that is no yes
    if meant is not None and words & _DENIES:
        meant = not meant
    return meant is not None and meant is not flag
