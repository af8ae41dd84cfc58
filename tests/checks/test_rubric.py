"""A rubric is read in both its forms, and every fault names the file, the criterion and the field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoscirub.checks import (
    Rubric,
    lint_rubric,
    load_rubric,
    needs_reading,
    read_predictions,
    read_rubric,
    read_short,
    rubric_changes,
)
from autoscirub.errors import CheckError, NewerVersionError, StateError
from autoscirub.models import Criterion, ExecutableRubric
from autoscirub.store import open_project

SHORT = """\
[[goals]]
goal_id = "G1"

[[criteria]]
id = "C1"
goals = ["G1"]
requirement = "The slope is estimated, with an interval."
artifacts = [{path = "figures/slope.png", must_show = "the fit"}]
priority = "high"

[[criteria.checks]]
id = "slope"
kind = "expr"
expr = "results.slope_interval_width > 0"

[[criteria.checks]]
id = "figure"
kind = "artifact"
path = "figures/slope.png"
covers = ["the fit"]
"""

PREDICTIONS = read_predictions(
    b'hypothesis = "h"\n[results_contract]\nslope = "s"\n[[checks]]\nid = "p1"\nkind = "expr"\n'
    b'expr = "abs(results.slope - 0.5) < 0.1"\n'
)


def rubric_of(*criteria: dict[str, Any], **rest: Any) -> Rubric:
    criteria_ = [{"requirement": "r", **criterion} for criterion in criteria]
    return read_rubric(json.dumps({"criteria": criteria_, **rest}).encode(), "executable_rubric.json")


def expr(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "x", "kind": "expr", "expr": text, **more}


def project(folder: Path, files: dict[str, str]) -> Any:
    (folder / ".autoscirub").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return open_project(folder)


def test_each_malformed_field_rubric_is_refused_naming_file_criterion_and_field(
    malformed_rubric: Any,
) -> None:
    name = malformed_rubric.file.name
    with pytest.raises(CheckError) as refusal:
        read_rubric(malformed_rubric.file.read_bytes(), name)
    lines = str(refusal.value).splitlines()
    assert [line for line in lines if not line.startswith(f"{name}: ")] == []
    assert [part for part in malformed_rubric.faults if not any(part in line for line in lines)] == []


def test_a_malformed_rubric_is_refused_at_load_and_left_where_it_is(
    malformed_rubric: Any, tmp_path: Path
) -> None:
    text = malformed_rubric.file.read_text(encoding="utf-8")
    opened = project(tmp_path / "p", {".autoscirub/executable_rubric.json": text})
    with pytest.raises(CheckError, match=r"executable_rubric\.json: "):
        load_rubric(opened)
    assert (opened.root / ".autoscirub/executable_rubric.json").read_text(encoding="utf-8") == text


def test_every_file_of_field_case_06_is_in_the_table(
    field_case: Callable[[str], Path], malformed_rubrics: dict[str, list[str]]
) -> None:
    names = {path.stem for path in field_case("06").glob("*.json")} - {"case"}
    assert names == set(malformed_rubrics)


def test_an_empty_rubric_is_nothing_to_verify(field_case: Callable[[str], Path]) -> None:
    with pytest.raises(CheckError, match=r"empty-rubric\.json: criteria: nothing to verify"):
        read_rubric((field_case("07") / "empty-rubric.json").read_bytes(), "empty-rubric.json")


@pytest.mark.parametrize("case", ["22", "23"])
def test_rubrics_of_the_published_format_load(field_case: Callable[[str], Path], case: str) -> None:
    rubric = load_rubric(open_project(field_case(case)))
    assert rubric is not None
    assert rubric.source == "executable_rubric.json"
    assert rubric.sha256 == rubric.source_sha256
    assert rubric.model.criteria[0].criterion_id == "C1"


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(field_case: Callable[[str], Path]) -> None:
    folder = field_case("14")
    with_mark, with_crlf = ((folder / f"rubric-{name}.json").read_bytes() for name in ("bom", "crlf"))
    assert read_rubric(with_mark, "a").model == read_rubric(with_crlf, "b").model


UNREADABLE = [
    # bytes of executable_rubric.json, what the refusal says
    (b"", "rubric.json: is empty"),
    (b"{", "rubric.json: is cut off"),
    (b'{"criteria": [], "criteria": []}', "the key 'criteria' stands twice"),
    (b"\xff\xfe", "UTF-16"),
    (b'"text"', "rubric.json: the file: "),
    (b'{"schema_version": "x", "criteria": [{"criterion_id": "C1", "requirement": "r"}]}', "schema_version"),
    (
        b'{"criteria": [{"criterion_id": "C1", "requirement": "r", "mine": [NaN]}]}',
        "criteria[0].mine[0] (criterion 'C1')",
    ),
    (
        b'{"criteria": [{"criterion_id": "C1", "requirement": "r", "mine": 1e999}]}',
        "criteria[0].mine (criterion 'C1')",
    ),
]


@pytest.mark.parametrize(("data", "part"), UNREADABLE, ids=[part for _, part in UNREADABLE])
def test_a_rubric_that_cannot_be_read_is_refused_saying_why(data: bytes, part: str) -> None:
    with pytest.raises(CheckError) as refusal:
        read_rubric(data, "rubric.json")
    assert part in str(refusal.value)
    assert str(refusal.value).startswith("rubric.json: ")


def test_a_rubric_that_a_newer_version_wrote_is_not_read() -> None:
    with pytest.raises(NewerVersionError, match=r"schema_version 2\.0"):
        read_rubric(b'{"schema_version": "2.0", "criteria": [{"new": 1}]}', "executable_rubric.json")


def test_a_file_of_nothing_but_faults_is_told_in_a_bounded_message() -> None:
    data = json.dumps({"criteria": [{"criterion_id": f"C{n}"} for n in range(300)]}).encode()
    with pytest.raises(CheckError) as refusal:
        read_rubric(data, "r.json")
    assert len(str(refusal.value).splitlines()) == 51
    assert str(refusal.value).endswith("r.json: and 250 faults more")


MANY = 100_001


@pytest.mark.parametrize(
    "data",
    [
        b'{"criteria": [' + b"1," * MANY + b"1]}",
        b'{"criteria": [{"criterion_id": "C1", "requirement": "r", "metrics": [' + b"1," * MANY + b"1]}]}",
        b'{"criteria": [' + b"[],{}," * MANY + b"1]}",
    ],
)
def test_a_rubric_of_too_many_values_is_refused_before_it_is_validated(data: bytes) -> None:
    with pytest.raises(CheckError, match=r"^r\.json: holds more than 100,000 values"):
        read_rubric(data, "r.json")
    with pytest.raises(CheckError, match=r"^rubric\.toml: holds more than 100,000 values"):
        read_short(b"criteria = [" + b"1," * MANY + b"1]", "rubric.toml")


def test_a_rubric_of_too_many_goals_is_refused() -> None:
    data = json.dumps({"goals": [{"goal_id": f"G{n}"} for n in range(1_001)], "criteria": []}).encode()
    with pytest.raises(CheckError, match=r"^r\.json: goals: 1,001 are more than 1,000"):
        read_rubric(data, "r.json")


def test_a_rubric_of_an_older_version_is_read_and_its_faults_are_told_by_criterion() -> None:
    old = {"schema_version": "0.9", "criteria": [{"criterion_id": "C1", "requirement": "r"}]}
    assert read_rubric(json.dumps(old).encode(), "r.json").model.schema_version == "0.9"
    old["criteria"] = [{"criterion_id": "C1"}]
    with pytest.raises(CheckError, match=r"r\.json: criteria\[0\]\.requirement \(criterion 'C1'\)"):
        read_rubric(json.dumps(old).encode(), "r.json")


def test_commas_in_texts_are_no_values() -> None:
    data = json.dumps({"criteria": [{"criterion_id": "C1", "requirement": "a, " * MANY}]}).encode()
    assert read_rubric(data, "r.json").model.criteria[0].criterion_id == "C1"


def test_the_short_form_becomes_the_published_one() -> None:
    rubric = read_short(SHORT.encode(), "rubric.toml")
    [criterion] = rubric.model.criteria
    assert (criterion.criterion_id, criterion.goal_ids, criterion.priority) == ("C1", ["G1"], "high")
    assert criterion.expected_artifacts[0].path == "figures/slope.png"
    assert [check.id for check in criterion.checks] == ["slope", "figure"]
    assert rubric.source_sha256 != rubric.sha256
    assert read_rubric(rubric.executable, "executable_rubric.json").model == rubric.model
    assert rubric.criterion("C1") is criterion
    assert rubric.criterion("c1") is None


SHORT_FAULTS = [
    # what is changed in the short form, what the refusal says
    (('id = "C1"', ""), "criteria[0].id: field required"),
    (('id = "C1"', 'id = "C1"\ncriterion_id = "C1"'), "has id and criterion_id, which are the same"),
    (
        ('path = "figures/slope.png", must', 'path = "a", expected_path = "a", must'),
        "(criterion 'C1'): artifacts[0]",
    ),
    (('priority = "high"', 'priority = "urgent"'), "criteria[0].priority (criterion 'C1')"),
    (('priority = "high"', "due = 2026-01-31"), "criteria[0].due (criterion 'C1'): a date or time"),
    (
        ('priority = "high"', "due = {at = [07:32:00]}"),
        "criteria[0].due.at[0] (criterion 'C1'): a date or time",
    ),
    (('priority = "high"', "weight = nan"), "criteria[0].weight (criterion 'C1')"),
    (('priority = "high"', "weight = -inf"), "criteria[0].weight (criterion 'C1')"),
    (('expr = "results', 'expression = "results'), "criteria[0].checks[0].expr.expr (criterion 'C1')"),
    (('goals = ["G1"]', 'goals = ["G2"]'), "criteria[0].goal_ids[0] (criterion 'C1'): no goal 'G2'"),
    ((SHORT, "criteria = 3"), "has no criteria; each begins with a line [[criteria]]"),
    ((SHORT, ""), "has no criteria"),
    ((SHORT, "criteria = []"), "nothing to verify"),
    ((SHORT, "criteria = ["), "is not TOML"),
]


@pytest.mark.parametrize(("change", "part"), SHORT_FAULTS, ids=[part for _, part in SHORT_FAULTS])
def test_a_fault_in_the_short_form_names_file_criterion_and_field(change: tuple[str, str], part: str) -> None:
    with pytest.raises(CheckError) as refusal:
        read_short(SHORT.replace(*change).encode(), "rubric.toml")
    assert str(refusal.value).startswith("rubric.toml: ")
    assert part in str(refusal.value)


def test_a_project_without_a_rubric_has_none(tmp_path: Path) -> None:
    assert load_rubric(project(tmp_path / "p", {})) is None


def test_the_short_form_alone_is_the_rubric(tmp_path: Path) -> None:
    rubric = load_rubric(project(tmp_path / "p", {"rubric.toml": SHORT}))
    assert rubric is not None
    assert (rubric.source, rubric.model) == ("rubric.toml", read_short(SHORT.encode(), "x").model)


def test_both_forms_that_agree_are_one_rubric_and_the_written_bytes_count(tmp_path: Path) -> None:
    made = json.loads(read_short(SHORT.encode(), "rubric.toml").executable)
    made["scope_changes"] = [
        {"at": "2026-01-31T09:00:00Z", "by": "terminal", "reason": "why", "criteria": ["C1"]}
    ]
    text = json.dumps(made)
    opened = project(tmp_path / "p", {"rubric.toml": SHORT, ".autoscirub/executable_rubric.json": text})
    rubric = load_rubric(opened)
    assert rubric is not None
    assert (rubric.source, rubric.executable) == ("rubric.toml", text.encode())
    assert len(rubric.model.scope_changes) == 1


DIFFERING = [
    # what is changed in rubric.toml after the other form was made of it, what the error names
    (("priority", "# priority"), "criteria changed: C1"),
    (('id = "C1"', 'id = "C2"'), "criteria lost: C1; criteria added: C2"),
    (('goal_id = "G1"', 'goal_id = "G1"\ntitle = "Slope"'), "in its goals"),
    (("covers =", "description ="), "criteria changed: C1"),
]


@pytest.mark.parametrize(("change", "named"), DIFFERING, ids=[named for _, named in DIFFERING])
def test_both_forms_that_differ_are_an_error_that_names_what_differs(
    tmp_path: Path, change: tuple[str, str], named: str
) -> None:
    made = read_short(SHORT.encode(), "rubric.toml").executable.decode()
    short = SHORT.replace(*change).replace('description = ["the fit"]', 'description = "the fit"')
    opened = project(tmp_path / "p", {"rubric.toml": short, ".autoscirub/executable_rubric.json": made})
    with pytest.raises(CheckError) as refusal:
        load_rubric(opened)
    assert f"rubric.toml and executable_rubric.json are both there and differ ({named})" in str(refusal.value)


def test_the_configuration_names_the_rubric_in_either_form(tmp_path: Path) -> None:
    published = read_short(SHORT.encode(), "x").executable.decode()
    for name, text in (("mine.toml", SHORT), ("mine.json", published)):
        opened = project(tmp_path / name, {"autoscirub.toml": f'rubric = "{name}"\n', name: text})
        rubric = load_rubric(opened)
        assert rubric is not None
        assert rubric.source == name


def test_a_rubric_that_the_configuration_names_must_be_there(tmp_path: Path) -> None:
    opened = project(tmp_path / "p", {"autoscirub.toml": 'rubric = "mine.toml"\n', "rubric.toml": SHORT})
    with pytest.raises(CheckError, match=r"mine\.toml: is not there, though the configuration names it"):
        load_rubric(opened)


def test_a_rubric_that_is_a_link_is_refused(tmp_path: Path) -> None:
    opened = project(tmp_path / "p", {"other.toml": SHORT})
    (opened.root / "rubric.toml").symlink_to("other.toml")
    with pytest.raises(StateError, match="a symbolic link"):
        load_rubric(opened)


LINT_FAULTS = [
    # criterion, what the fault says
    ({"checks": [expr("True")]}, 'check "x", expr: decides nothing: it reads no result'),
    ({"checks": [expr("len(results.a) >= 0")]}, "decides nothing"),
    ({"checks": [expr("results.a == results.a")]}, "decides nothing"),
    ({"checks": [expr("results.a is 1")]}, 'check "x", expr: '),
    ({"checks": [expr("results.a >")]}, 'check "x", expr: '),
    ({"checks": [expr("abs(results.slope - 0.5) < 0.1")]}, 'is the prediction "p1" again'),
    ({"checks": [expr('(abs((results["slope"])-0.50)<.1)')]}, 'is the prediction "p1" again'),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "../a.png"}]}, 'check "x", path: ../a.png: leaves'),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "/a.png"}]}, "an absolute path"),
    ({"expected_artifacts": [{"expected_path": "~/a.png"}]}, "expected_path: ~/a.png: starts with ~"),
    (
        {"expected_artifacts": [{"name": "plot", "expected_path": "../a"}]},
        "expected_path of 'plot': ../a: leaves",
    ),
]


@pytest.mark.parametrize(("criterion", "part"), LINT_FAULTS, ids=[part for _, part in LINT_FAULTS])
def test_a_freeze_refuses_naming_criterion_and_field(criterion: dict[str, Any], part: str) -> None:
    lint = lint_rubric(rubric_of({"criterion_id": "C1", **criterion}), PREDICTIONS)
    [fault] = lint.faults
    assert fault.startswith('criterion "C1", ')
    assert part in fault
    with pytest.raises(CheckError) as refusal:
        lint.refuse("not frozen")
    assert str(refusal.value).startswith("executable_rubric.json: not frozen: 1 fault\n")
    assert fault in str(refusal.value)


def test_a_requirement_that_is_no_prediction_of_this_project_is_not_refused() -> None:
    criterion = {"criterion_id": "C1", "checks": [expr("abs(results.slope - 0.5) < 0.1")]}
    assert lint_rubric(rubric_of(criterion)).faults == []
    assert (
        lint_rubric(rubric_of({**criterion, "checks": [expr("results.slope_n > 3")]}), PREDICTIONS).faults
        == []
    )


WARNINGS = [
    # criterion, whether a judge is set up, what the warning says
    (
        {"checks": [expr("results.slop > 0")]},
        True,
        "reads results.slop, which [results_contract] does not name; did",
    ),
    ({"checks": [expr("results.slope == 0.5")]}, True, 'check "x", expr: '),
    (
        {"checks": [expr("results.slope > 0"), {"id": "n", "kind": "score"}]},
        True,
        "score is not decided by",
    ),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "a\\b.png"}]}, True, "a backslash"),
    ({"checks": [{"id": "x", "kind": "artifact", "path": "figures/*.png"}]}, True, "name one file"),
    ({"expected_artifacts": [{"expected_path": "figures/"}]}, True, "ends in a slash"),
    (
        {"judge": "never", "required_analysis": ["fit"], "checks": [expr("results.slope > 0")]},
        True,
        'judge: is never, and no check covers "fit"',
    ),
    ({"required_analysis": ["fit"]}, False, 'no check settles "fit", and no judge is set up'),
    ({}, False, "no check settles it, and no judge is set up"),
    (
        {"satisfaction_conditon": "x"},
        True,
        "unknown field, and not looked at; did you mean satisfaction_condition?",
    ),
    ({"check": []}, True, 'criterion "C1", check: unknown field, and not looked at; did you mean checks?'),
    ({"checks": [expr("results.slope > 0", cover=["x"])]}, True, 'check "x", cover: unknown field'),
]


@pytest.mark.parametrize(("criterion", "judged", "part"), WARNINGS, ids=[part for _, _, part in WARNINGS])
def test_a_freeze_warns_naming_criterion_and_field(
    criterion: dict[str, Any], judged: bool, part: str
) -> None:
    lint = lint_rubric(rubric_of({"criterion_id": "C1", **criterion}), PREDICTIONS, judged=judged)
    assert lint.faults == []
    [warning] = lint.warnings
    assert warning.startswith('criterion "C1", ')
    assert part in warning
    lint.refuse("not frozen")


def test_unknown_fields_of_the_published_format_are_let_be_and_those_of_the_short_form_named() -> None:
    assert lint_rubric(rubric_of({"criterion_id": "C1", "owner": "ada"})).warnings == []
    lint = lint_rubric(
        read_short(SHORT.replace('priority = "high"', 'owner = "ada"').encode(), "rubric.toml")
    )
    assert lint.warnings == ['criterion "C1", owner: unknown field, and not looked at']


def test_goals_that_no_computed_or_judged_criterion_covers_are_listed() -> None:
    goals = [{"goal_id": f"G{number}"} for number in (1, 2, 3, 4)]
    rubric = rubric_of(
        {"criterion_id": "C1", "goal_ids": ["G1"], "checks": [expr("results.a > 0")]},
        {"criterion_id": "C2", "goal_ids": ["G2"]},
        {
            "criterion_id": "C3",
            "goal_ids": ["G3"],
            "judge": "never",
            "checks": [{"id": "r", "kind": "score"}],
        },
        goals=goals,
    )

    def listed(judged: bool) -> list[str]:
        return [text[:9] for text in lint_rubric(rubric, judged=judged).warnings if text.startswith("goal ")]

    assert listed(True) == ['goal "G3"', 'goal "G4"']
    assert listed(False) == ['goal "G2"', 'goal "G3"', 'goal "G4"']


READING = [
    # criterion, whether a judge must read
    ({}, True),
    ({"judge": "always", "checks": [expr("results.a > 0")]}, True),
    ({"judge": "never", "required_analysis": ["fit"], "checks": [expr("results.a > 0")]}, False),
    ({"checks": [expr("results.a > 0")]}, False),
    ({"required_analysis": ["fit"], "checks": [expr("results.a > 0")]}, True),
    ({"required_analysis": ["fit"], "checks": [expr("results.a > 0", covers=["fit"])]}, False),
    ({"expected_artifacts": [{"expected_path": "a.png"}]}, False),
    ({"expected_artifacts": [{"expected_path": " "}]}, True),
    ({"expected_artifacts": [{"expected_path": "a.png", "must_show": "it"}]}, True),
    ({"checks": [{"id": "j", "kind": "judge"}]}, True),
]


@pytest.mark.parametrize(("criterion", "needed"), READING)
def test_a_judge_must_read_what_no_check_settles(criterion: dict[str, Any], needed: bool) -> None:
    found = Criterion.model_validate({"criterion_id": "C1", "requirement": "r", **criterion})
    assert needs_reading(found) is needed


LOCKED: dict[str, Any] = {
    "goals": [{"goal_id": "G1"}],
    "criteria": [
        {
            "criterion_id": "C1",
            "requirement": "one",
            "checks": [expr("results.a > 0"), {"id": "r", "kind": "rerun"}],
        },
        {"criterion_id": "C2", "requirement": "two", "required_analysis": ["fit"]},
        {"criterion_id": "C3", "requirement": "three"},
    ],
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(LOCKED)
    target: Any = data
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    return data


MORE = {"id": "more", "kind": "expr", "expr": "results.b > 0"}
C1_CHECKS = LOCKED["criteria"][0]["checks"]
CHANGES: list[tuple[str, dict[str, Any], dict[str, list[str]]]] = [
    ("nothing", LOCKED, {}),
    (
        "the record of scope changes",
        {
            **LOCKED,
            "scope_changes": [
                {"at": "2026-01-31T09:00:00Z", "by": "terminal", "reason": "r", "criteria": ["C9"]}
            ],
        },
        {},
    ),
    ("defaults written out", changed(["criteria", 2, "priority"], "medium"), {}),
    ("a check is added", changed(["criteria", 0, "checks"], [*C1_CHECKS, MORE]), {"strengthened": ["C1"]}),
    (
        "a check is added before",
        changed(["criteria", 0, "checks"], [MORE, *C1_CHECKS]),
        {"strengthened": ["C1"]},
    ),
    ("a check on what is read", changed(["criteria", 1, "checks"], [MORE]), {"strengthened": ["C2"]}),
    (
        "a check that covers",
        changed(["criteria", 1, "checks"], [{**MORE, "covers": ["fit"]}]),
        {"changed": ["C2"]},
    ),
    ("a first check, so that nobody reads", changed(["criteria", 2, "checks"], [MORE]), {"changed": ["C3"]}),
    ("a check is lost", changed(["criteria", 0, "checks"], C1_CHECKS[:1]), {"changed": ["C1"]}),
    ("a check is exchanged", changed(["criteria", 0, "checks"], [C1_CHECKS[0], MORE]), {"changed": ["C1"]}),
    (
        "a check is weakened",
        changed(["criteria", 0, "checks", 0], expr("results.a > -9")),
        {"changed": ["C1"]},
    ),
    (
        "a check is described anew",
        changed(["criteria", 0, "checks", 0, "description"], "d"),
        {"changed": ["C1"]},
    ),
    ("judge", changed(["criteria", 0, "judge"], "never"), {"changed": ["C1"]}),
    ("a requirement", changed(["criteria", 1, "requirement"], "2"), {"changed": ["C2"]}),
    ("an unknown field", changed(["criteria", 1, "mine"], 1), {"changed": ["C2"]}),
    ("renamed", changed(["criteria", 1, "criterion_id"], "C2b"), {"lost": ["C2"], "added": ["C2b"]}),
    ("renamed by case", changed(["criteria", 1, "criterion_id"], "c2"), {"lost": ["C2"], "added": ["c2"]}),
    ("lost", changed(["criteria"], LOCKED["criteria"][1:]), {"lost": ["C1"]}),
    ("order", changed(["criteria"], LOCKED["criteria"][::-1]), {"other": ["order"]}),
    ("goals", changed(["goals", 0, "title"], "t"), {"other": ["goals"]}),
    ("claims", {**LOCKED, "claims_to_avoid": ["x"]}, {"other": ["claims_to_avoid"]}),
    ("an unknown field of the file", {**LOCKED, "mine": 1}, {"other": ["mine"]}),
]


@pytest.mark.parametrize(("now", "expected"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_became_of_a_locked_rubric_is_told_by_id(
    now: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    found = rubric_changes(ExecutableRubric.model_validate(LOCKED), ExecutableRubric.model_validate(now))
    names = ("lost", "changed", "added", "strengthened", "other")
    assert {name: getattr(found, name) for name in names if getattr(found, name)} == expected
    assert found.any_change == bool(expected)
    assert found.needs_scope == bool(set(expected) - {"strengthened"})
    assert bool(found.described()) == bool(expected)


def test_a_description_of_many_changes_names_five() -> None:
    before = [{"criterion_id": f"C{number}", "requirement": "r"} for number in range(9)]
    found = rubric_changes(
        ExecutableRubric.model_validate({"criteria": before}),
        ExecutableRubric.model_validate({"criteria": before[:1]}),
    )
    assert found.described() == "criteria lost: C1, C2, C3, C4, C5 and 3 more"
