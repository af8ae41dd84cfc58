"""The page of the configuration: its keys, the policy's, and the variables of the environment."""

from __future__ import annotations

import json
import re
import tomllib

from tests.docs.pages import DOCS, PAGES, ROOT, blocks, code, table, text_of

from autoscirub.models import POLICY_RULES, Policy, ProjectConfig
from autoscirub.models.config import RunConfig

SOURCE = "\n".join(path.read_text("utf-8") for path in sorted(ROOT.glob("server/**/*.py")))


def test_the_configuration_page_has_every_key_with_its_default() -> None:
    expected = {}
    for key, field in ProjectConfig.model_fields.items():
        model = RunConfig if key == "run" else field.annotation
        if not hasattr(model, "model_fields"):
            default = field.get_default(call_default_factory=True)
            expected[key] = "not set" if default is None else json.dumps(default)
            continue
        for inner, part in model.model_fields.items():
            if part.is_required():
                expected[f"{key}.{inner}"] = "needed in"
                continue
            default = part.get_default(call_default_factory=True)
            expected[f"{key}.{inner}"] = "not set" if default is None else json.dumps(default)
    found = {code(row[0])[0]: row[1] for row in table("configuration.md", "Keys")}
    assert found.keys() == expected.keys()
    assert {key: value for key, value in found.items() if expected[key] not in value} == {}


def test_the_configuration_page_names_every_setting_that_decides() -> None:
    section = text_of(DOCS / "configuration.md").split("## Settings that decide\n")[1].split("\n## ")[0]
    assert set(code(section)) - {"freeze"} == set(ProjectConfig().deciding())


def test_the_configuration_page_has_the_policy_s_rules_in_their_order_and_shows_every_key() -> None:
    rows = table("configuration.md", "A policy")
    assert [code(row[0])[0] for row in rows] == [rule.key for rule in POLICY_RULES]
    for rule, row in zip(POLICY_RULES, rows, strict=True):
        assert rule.own in code(row[1])
        assert ("asked where a judge is used" in row[1]) is rule.judged
    policy = tomllib.loads(blocks("configuration.md", "toml")[1])
    assert {f"{top}.{key}" for top, keys in policy.items() for key in keys} == {
        rule.key for rule in POLICY_RULES
    }


def test_every_variable_of_ours_is_on_the_configuration_page_and_no_page_names_another() -> None:
    pattern = re.compile(r"AUTOSCIRUB_[A-Z_]+[A-Z]")
    in_code = set(pattern.findall(SOURCE))
    described = {code(row[0])[0] for row in table("configuration.md", "Environment")}
    assert in_code == {name for name in described if name.startswith("AUTOSCIRUB_")}
    assert {name for page in PAGES for name in pattern.findall(text_of(page))} <= in_code
    asked = set(re.findall(r"""environ(?:\.get\(|\[)"([A-Z_]+)\"""", SOURCE))
    assert asked <= described | {"HOME"}


def test_the_configuration_that_a_page_shows_is_one() -> None:
    quoted = blocks("configuration.md", "toml")
    for block, model in zip(quoted, (ProjectConfig, Policy), strict=True):
        model.model_validate(tomllib.loads(block))
