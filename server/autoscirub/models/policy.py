"""A lab's policy: limits for every project on a machine. A project may tighten them, and never loosen them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from autoscirub.models.base import Closed

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.models.config import ProjectConfig

_Name = Annotated[str, Field(min_length=1)]
_Members = Annotated[int, Field(ge=1, le=99)]
_Dollars = Annotated[float, Field(gt=0)]
_MAX_SHORT = 200
"""Characters of a value in a message: a list of allowed names may be long."""


class PolicyJudge(Closed):
    """`[judge]`: who may read what code cannot decide, for how much."""

    backends: list[_Name] | None = Field(default=None, description='allowed; "none" is always allowed')
    models: list[_Name] | None = Field(default=None, description="allowed")
    repeats: _Members | None = Field(default=None, description="members of the panel, at least")
    agree: _Members | None = Field(default=None, description="alike answers, at least")
    money_round: _Dollars | None = Field(default=None, description="US dollars, at most")
    money_day: _Dollars | None = Field(default=None, description="US dollars, at most")

    @model_validator(mode="after")
    def _can_be_met(self) -> PolicyJudge:
        # A project that says nothing has as many members as the policy asks for: they must be able to agree.
        if self.agree is not None and self.agree > (self.repeats or 1):
            raise ValueError(
                f"agree = {self.agree} of a panel of at least {self.repeats or 1} could never be met; "
                f"set repeats to {self.agree} or more"
            )
        return self


class PolicyRerun(Closed):
    """`[rerun]`: what is asked of a rerun."""

    required: bool = Field(default=False, description="whether what is decided needs a rerun")


class Policy(Closed):
    """All of `policy.toml`. What it leaves out, it leaves to the project."""

    judge: PolicyJudge = Field(default_factory=PolicyJudge)
    rerun: PolicyRerun = Field(default_factory=PolicyRerun)


@dataclass(frozen=True)
class PolicyRule:
    """What one key of a policy asks of one key of a project. A new key is a new row, and nothing else."""

    key: str
    """The policy's."""
    own: str
    """The project's."""
    mend: str
    """What to do about a value that is looser."""
    allows: Callable[[Any, Any], bool]
    """Whether the project's value is no looser than the policy's."""
    tightened: Callable[[Any, Any], Any]
    """What holds of the two, where the project's files do not set it."""
    judged: bool = False
    """Asked only where a judge is used: without one, nothing is judged too loosely."""


def _own(own: Any, _bound: Any) -> Any:
    return own


def _smaller(own: float | None, bound: float) -> float:
    return bound if own is None else min(own, bound)


POLICY_RULES = (
    PolicyRule(
        "judge.backends",
        "judge.backend",
        'choose one of these, or "none"',
        lambda own, bound: own == "none" or own in bound,
        _own,
    ),
    PolicyRule(
        "judge.models", "judge.model", "name one of these", lambda own, bound: own in bound, _own, judged=True
    ),
    PolicyRule(
        "judge.repeats",
        "judge.repeats",
        "set it to that or more, or leave it out",
        lambda own, bound: own >= bound,
        max,
        judged=True,
    ),
    PolicyRule(
        "judge.agree",
        "judge.agree",
        "set it to that or more, or leave it out",
        lambda own, bound: own >= bound,
        max,
        judged=True,
    ),
    PolicyRule(
        "judge.money_round",
        "judge.money_round",
        "set it to that or less, or leave it out",
        lambda own, bound: own <= bound,
        _smaller,
    ),
    PolicyRule(
        "judge.money_day",
        "judge.money_day",
        "set it to that or less, or leave it out",
        lambda own, bound: own <= bound,
        _smaller,
    ),
    PolicyRule(
        "rerun.required",
        "rerun.required",
        "set it to true, or leave it out",
        lambda own, bound: own or not bound,
        lambda own, bound: own or bound,
    ),
)
"""In the order of the policy's keys; docs/configuration.md shows them in the same one."""


def against_policy(config: ProjectConfig, policy: Policy) -> list[str]:
    """What of a project's configuration is looser than the policy: a line each, none where it may be used."""
    return [
        f"{rule.own} = {_toml(value)}, and the policy has {rule.key} = {_toml(bound)}: {rule.mend}"
        for rule, value, bound in _applied(config, policy)
        if not rule.allows(value, bound)
    ]


def under_policy(config: ProjectConfig, policy: Policy) -> ProjectConfig:
    """The configuration that holds: the project's, and the policy's where the project does not set one."""
    tables: dict[str, dict[str, Any]] = {}
    for rule, value, _ in _applied(config, policy):
        if value != _of(config, rule.own):
            table, key = rule.own.split(".")
            tables.setdefault(table, {})[key] = value
    changed = {table: getattr(config, table).model_copy(update=keys) for table, keys in tables.items()}
    return config.model_copy(update=changed) if changed else config


def _applied(config: ProjectConfig, policy: Policy) -> list[tuple[PolicyRule, Any, Any]]:
    """Each rule that this policy sets and this project is asked: the project's value as it would hold, the policy's."""
    found: list[tuple[PolicyRule, Any, Any]] = []
    for rule in POLICY_RULES:
        own, bound = _of(config, rule.own), _of(policy, rule.key)
        if bound is None or (rule.judged and config.judge.backend == "none"):
            continue
        found.append((rule, own if _is_set(config, rule.own) else rule.tightened(own, bound), bound))
    return found


def _of(model: ProjectConfig | Policy, key: str) -> Any:
    table, name = key.split(".")
    return getattr(getattr(model, table), name)


def _is_set(config: ProjectConfig, key: str) -> bool:
    """Whether the project's files set the key. `null`, which YAML can write, counts as leaving it out."""
    table, name = key.split(".")
    return name in getattr(config, table).model_fields_set and _of(config, key) is not None


def _toml(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHORT else f"{text[:_MAX_SHORT]}…"
