"""A policy over a project's configuration: what is looser, and what holds where the project says nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from autoscirub.models import (
    POLICY_RULES,
    JudgeConfig,
    Policy,
    PolicyJudge,
    PolicyRerun,
    ProjectConfig,
    RerunConfig,
    against_policy,
    under_policy,
)

BACKENDS = ("none", "claude", "command")


def project(judge: dict[str, Any] | None = None, rerun: dict[str, Any] | None = None) -> ProjectConfig:
    """A configuration of which exactly these keys stand in the file; with judges that later versions have."""
    return ProjectConfig(
        judge=JudgeConfig.model_construct(**(judge or {})), rerun=RerunConfig.model_validate(rerun or {})
    )


def policy(**tables: dict[str, Any]) -> Policy:
    return Policy.model_validate(tables)


CLAUDE = {"backend": "claude"}
RULES: list[tuple[str, Policy, ProjectConfig, str | None, Any]] = [
    # the rule, the policy, the project, what is refused (None: nothing), the value that holds
    ("judge.backends", policy(judge={"backends": []}), project(), None, "none"),
    ("judge.backends", policy(judge={"backends": ["claude"]}), project({"backend": "none"}), None, "none"),
    ("judge.backends", policy(judge={"backends": ["claude"]}), project(CLAUDE), None, "claude"),
    (
        "judge.backends",
        policy(judge={"backends": ["none", "command"]}),
        project(CLAUDE),
        'judge.backend = "claude", and the policy has judge.backends = ["none", "command"]: choose one of these, or "none"',
        "claude",
    ),
    ("judge.models", policy(judge={"models": ["a"]}), project(), None, None),
    ("judge.models", policy(judge={"models": ["a"]}), project({"model": "b"}), None, "b"),
    ("judge.models", policy(judge={"models": ["a", "b"]}), project({**CLAUDE, "model": "b"}), None, "b"),
    (
        "judge.models",
        policy(judge={"models": ["a", "b"]}),
        project({**CLAUDE, "model": "c"}),
        'judge.model = "c", and the policy has judge.models = ["a", "b"]: name one of these',
        "c",
    ),
    (
        "judge.models",
        policy(judge={"models": ["a"]}),
        project(CLAUDE),
        'judge.model = not set, and the policy has judge.models = ["a"]: name one of these',
        None,
    ),
    ("judge.repeats", policy(judge={"repeats": 3}), project(), None, 1),
    ("judge.repeats", policy(judge={"repeats": 3}), project({"repeats": 2}), None, 2),
    ("judge.repeats", policy(judge={"repeats": 3}), project(CLAUDE), None, 3),
    ("judge.repeats", policy(judge={"repeats": 3}), project({**CLAUDE, "repeats": 5}), None, 5),
    (
        "judge.repeats",
        policy(judge={"repeats": 3}),
        project({**CLAUDE, "repeats": 2}),
        "judge.repeats = 2, and the policy has judge.repeats = 3: set it to that or more, or leave it out",
        2,
    ),
    ("judge.agree", policy(judge={"repeats": 3, "agree": 2}), project(CLAUDE), None, 2),
    (
        "judge.agree",
        policy(judge={"repeats": 3, "agree": 2}),
        project({**CLAUDE, "agree": 1}),
        "judge.agree = 1, and the policy has judge.agree = 2: set it to that or more, or leave it out",
        1,
    ),
    ("judge.money_round", policy(judge={"money_round": 5}), project(), None, 5.0),
    ("judge.money_round", policy(judge={"money_round": 5}), project({"money_round": None}), None, 5.0),
    ("judge.money_round", policy(judge={"money_round": 5.0}), project({"money_round": 4.0}), None, 4.0),
    (
        "judge.money_round",
        policy(judge={"money_round": 5.0}),
        project({"money_round": 9.0}),
        "judge.money_round = 9.0, and the policy has judge.money_round = 5.0: set it to that or less, or leave it out",
        9.0,
    ),
    ("judge.money_day", policy(judge={"money_day": 20.0}), project(), None, 20.0),
    (
        "judge.money_day",
        policy(judge={"money_day": 20.0}),
        project({"money_day": 20.5}),
        "judge.money_day = 20.5, and the policy has judge.money_day = 20.0: set it to that or less, or leave it out",
        20.5,
    ),
    ("rerun.required", policy(), project(), None, False),
    ("rerun.required", policy(rerun={"required": False}), project(rerun={"required": True}), None, True),
    ("rerun.required", policy(rerun={"required": False}), project(rerun={"required": False}), None, False),
    ("rerun.required", policy(rerun={"required": True}), project(), None, True),
    ("rerun.required", policy(rerun={"required": True}), project(rerun={"required": True}), None, True),
    (
        "rerun.required",
        policy(rerun={"required": True}),
        project(rerun={"required": False}),
        "rerun.required = false, and the policy has rerun.required = true: set it to true, or leave it out",
        False,
    ),
]


@pytest.mark.parametrize(("key", "held_to", "config", "refused", "holds"), RULES)
def test_a_looser_value_is_named_and_one_that_is_not_said_is_the_policy_s(
    key: str, held_to: Policy, config: ProjectConfig, refused: str | None, holds: Any
) -> None:
    assert against_policy(config, held_to) == ([refused] if refused else [])
    [rule] = [rule for rule in POLICY_RULES if rule.key == key]
    table, name = rule.own.split(".")
    assert getattr(getattr(under_policy(config, held_to), table), name) == holds


def test_every_key_of_a_policy_has_one_rule_and_every_rule_is_tried_in_both_directions() -> None:
    keys = [f"judge.{name}" for name in PolicyJudge.model_fields]
    keys += [f"rerun.{name}" for name in PolicyRerun.model_fields]
    assert [rule.key for rule in POLICY_RULES] == keys
    assert {"judge", "rerun"} == Policy.model_fields.keys()
    assert {(key, refused is None) for key, _, _, refused, _ in RULES} == {
        (key, fine) for key in keys for fine in (True, False)
    }


def test_every_looser_key_is_listed_in_the_policy_s_order() -> None:
    held_to = policy(judge={"backends": [], "repeats": 3, "money_day": 1.0}, rerun={"required": True})
    config = project({**CLAUDE, "money_day": 2.0, "repeats": 1}, {"required": False})
    assert [line.split(" = ")[0] for line in against_policy(config, held_to)] == [
        "judge.backend",
        "judge.repeats",
        "judge.money_day",
        "rerun.required",
    ]


def test_a_long_list_of_allowed_names_is_cut_off_in_the_message() -> None:
    [line] = against_policy(project(CLAUDE), policy(judge={"backends": ["x" * 50] * 50}))
    assert len(line) < 500


def test_a_policy_that_says_nothing_leaves_the_configuration_as_it_is() -> None:
    config = project({**CLAUDE, "repeats": 1, "money_round": 1e9}, {"required": False})
    assert under_policy(config, Policy()) is config


@pytest.mark.parametrize("judge", [{"agree": 2}, {"repeats": 2, "agree": 3}])
def test_a_panel_that_could_never_agree_is_no_policy(judge: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match=r"could never be met; set repeats to \d or more"):
        policy(judge=judge)


@pytest.mark.parametrize(
    "judge",
    [
        {"money_round": 0.0},
        {"money_day": -1.0},
        {"money_day": float("inf")},
        {"repeats": 0},
        {"repeats": 3.0},
        {"repeats": True},
        {"backends": "claude"},
        {"backends": [""]},
        {"budget": 1},
    ],
)
def test_what_no_policy_can_say_is_refused(judge: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        policy(judge=judge)


names = st.sampled_from(["a", "b", "c"])
members = st.integers(1, 6)
money = st.floats(0.01, 100, allow_nan=False)
projects = st.builds(
    project,
    st.fixed_dictionaries(
        {},
        optional={
            "backend": st.sampled_from(BACKENDS),
            "model": st.none() | names,
            "repeats": members,
            "agree": members,
            "money_round": st.none() | money,
            "money_day": st.none() | money,
        },
    ).filter(lambda judge: judge.get("agree", 1) <= judge.get("repeats", 1)),
    st.fixed_dictionaries({}, optional={"required": st.booleans()}),
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    judge: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "backends": st.lists(st.sampled_from(BACKENDS)),
                "models": st.lists(names),
                "repeats": members,
                "money_round": money,
                "money_day": money,
            },
        )
    )
    if draw(st.booleans()):
        judge["agree"] = draw(st.integers(1, judge.get("repeats", 1)))
    return policy(judge=judge, rerun={"required": draw(st.booleans())})


def looser(config: ProjectConfig, held_to: Policy) -> list[str]:
    """What of an effective configuration is looser: the rules again, written out without the table."""
    own, asked = config.judge, held_to.judge
    judged = own.backend != "none"
    found = {
        "backend": judged and asked.backends is not None and own.backend not in asked.backends,
        "model": judged and asked.models is not None and own.model not in asked.models,
        "repeats": judged and asked.repeats is not None and own.repeats < asked.repeats,
        "agree": judged and asked.agree is not None and own.agree < asked.agree,
        "money_round": asked.money_round is not None
        and (own.money_round is None or own.money_round > asked.money_round),
        "money_day": asked.money_day is not None
        and (own.money_day is None or own.money_day > asked.money_day),
        "rerun": held_to.rerun.required and not config.rerun.required,
    }
    return [key for key, is_looser in found.items() if is_looser]


@given(projects, policies())
def test_what_holds_is_never_looser_than_the_policy_and_never_than_the_project(
    config: ProjectConfig, held_to: Policy
) -> None:
    if against_policy(config, held_to):
        return
    holds = under_policy(config, held_to)
    assert looser(holds, held_to) == []
    assert against_policy(holds, held_to) == []
    assert under_policy(holds, held_to) == holds
    own = config.judge
    as_a_policy = policy(
        judge={"money_round": own.money_round, "money_day": own.money_day, "repeats": own.repeats},
        rerun={"required": config.rerun.required},
    )
    assert looser(holds, as_a_policy) == []


@given(projects, policies())
def test_what_the_project_s_files_say_is_refused_or_holds_as_they_say_it(
    config: ProjectConfig, held_to: Policy
) -> None:
    holds = under_policy(config, held_to)
    for table in ("judge", "rerun"):
        own = getattr(config, table)
        for name in own.model_fields_set:
            if (value := getattr(own, name)) is not None:
                assert getattr(getattr(holds, table), name) == value
    untouched = {name for name in ProjectConfig.model_fields if name not in ("judge", "rerun")}
    assert config.model_dump(include=untouched) == holds.model_dump(include=untouched)
