"""The tools as an agent meets them: listed, led from one to the next, and refusing with the allowed move."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.mcp_server.agents import RefusedError, agent

from autoscirub.errors import CheckError
from autoscirub.mcp_server.brief import ANSWER_BYTES
from autoscirub.mcp_server.server import INSTRUCTIONS
from autoscirub.mcp_server.tools import TOOLS
from autoscirub.models.toolsets import BUILT, TOOLSETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_an_agent_sees_the_core_tools_by_default_in_their_order(bare: Path) -> None:
    with agent(bare) as some:
        assert [tool.name for tool in some.ask("list_tools").tools] == list(TOOLSETS["core"])


def test_every_tool_says_all_four_annotations_and_none_is_refused_by_a_client_that_does_not_ask(
    bare: Path,
) -> None:
    with agent(bare, toolsets=["evidence", "audit"]) as some:
        tools = some.ask("list_tools").tools
    assert {tool.name for tool in tools} == BUILT == set(TOOLS)
    for tool in tools:
        hints = tool.annotations
        assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
        # The combinations that Codex runs without asking.
        assert (hints.destructive_hint, hints.open_world_hint) == (False, False)
        assert tool.output_schema["type"] == tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert {"project", "state_dir"} <= set(tool.input_schema["properties"])
        assert {"next", "project", "state_dir"} <= set(tool.output_schema["required"])
        slow = "wait_seconds" in tool.input_schema["properties"]
        assert slow == ("job" in tool.output_schema["properties"])


@pytest.mark.parametrize(
    ("toolset", "message"), [("everything", "expected core, research"), ("research", "none of its tools yet")]
)
def test_a_toolset_that_is_not_there_is_refused(toolset: str, message: str, bare: Path) -> None:
    with pytest.raises(CheckError, match=message), agent(bare, toolsets=[toolset]):
        pass


def test_the_instructions_say_the_path_in_under_a_kilobyte(bare: Path) -> None:
    assert len(INSTRUCTIONS.encode()) < 1024
    with agent(bare) as some:
        assert some.client.instructions == INSTRUCTIONS
    path = ["next", "write_state", "freeze", "check", "plan_round", "revise", "check", "next"]
    at = -1
    for step in path:
        at = INSTRUCTIONS.index(step, at + 1)


def test_an_agent_that_follows_next_is_led_to_satisfied(
    bare: Path, rubric: dict[str, Any], write_results: Callable[..., Path]
) -> None:
    with agent(bare) as some:
        answer = some.call("next")
        assert answer["next"]["tool"] == "write_state"
        assert (bare / ".autoscirub" / ".gitignore").is_file()
        answer = some.follow(answer, content=rubric)
        assert answer["changed"]
        assert answer["faults"] == []
        answer = some.follow(answer)
        assert (answer["locked"], answer["next"]["tool"]) == (["rubric", "settings"], "check")

        write_results(bare, slope=0.5)
        checked = some.follow(answer)
        assert (checked["state"], checked["answer"], checked["round"]) == ("done", "does_not_hold", 1)
        assert (checked["satisfied"], checked["criteria"], checked["all_satisfied"]) == (1, 2, False)
        [gap] = checked["open"]
        assert (gap["criterion_id"], gap["gap"]) == ("table", "out/table.csv: is not there")

        planned = some.follow(checked)
        assert (planned["round"], planned["targets"]) == (1, ["table"])
        (bare / "out").mkdir()
        (bare / "out" / "table.csv").write_text("x,y\n1,2\n", encoding="utf-8")
        done = some.follow(
            planned, changes=[{"criterion_id": "table", "artifacts_changed": ["out/table.csv"]}]
        )
        assert (done["ended"], done["all_satisfied"], done["round"]) == ("satisfied", True, 2)
        assert done["next"]["tool"] is None
        assert "every criterion is satisfied" in done["next"]["why"]
        assert some.call("next")["ended"] == "satisfied"

        (bare / "out" / "table.csv").unlink()
        again = some.call("next")
        assert (again["next"]["tool"], "changed" in again["next"]["why"]) == ("check", True)
    summary = json.loads((bare / ".autoscirub/revisions/round-001/change_summary.json").read_text())
    assert summary["changes"][0]["artifacts_changed"] == ["out/table.csv"]


def test_what_does_not_hold_beside_satisfied_criteria_is_to_be_said_too(frozen: Path) -> None:
    (frozen / "out").mkdir()
    (frozen / "out" / "table.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (frozen / "report.md").write_text("The slope is 0.93 per year.\n", encoding="utf-8")
    with agent(frozen) as some:
        done = some.call("check")
        later = some.call("next")
    assert (done["ended"], done["answer"], done["next"]["tool"]) == ("satisfied", "inconclusive", None)
    assert "what else does not hold: report.md: inconclusive" in done["next"]["why"]
    assert "what else does not hold: the report's numbers: inconclusive" in later["next"]["why"]


def test_predictions_alone_end_in_their_outcome_and_what_stands_beside_it(
    slope_project: Path, write_results: Callable[..., Path]
) -> None:
    with agent(slope_project) as some:
        answer = some.call("next")
        assert "freeze() now" in answer["next"]["why"]
        some.call("freeze")
        write_results(slope_project, slope=0.51)
        (slope_project / "report.md").write_text("The slope is 0.93 per year.\n", encoding="utf-8")
        done = some.call("check")
        assert (done["outcome"], done["next"]["tool"]) == ("verified", None)
        assert "came out verified" in done["next"]["why"]
        assert "report.md: inconclusive" in done["next"]["why"]
        assert some.call("next")["next"]["tool"] is None


def test_status_says_which_source_named_the_place(bare: Path) -> None:
    with agent(here=bare, toolsets=["audit"]) as some:
        found = some.call("status")
    assert (found["project_source"], found["state_source"]) == (f"autoscirub.toml in {bare}", "the default")


def test_what_cannot_be_done_is_said_and_ends_the_loop_unsatisfied(frozen: Path) -> None:
    with agent(frozen) as some:
        planned = some.follow(some.call("check"))
        done = some.follow(
            planned, changes=[], infeasible=[{"criterion_id": "table", "reason": "the readings are lost"}]
        )
    assert (done["ended"], done["all_satisfied"]) == ("infeasible", False)
    assert (done["next"]["tool"], "not satisfied: table" in done["next"]["why"]) == (None, True)


def test_every_answer_names_the_project_and_the_state_directory_it_used(frozen: Path) -> None:
    calls: dict[str, dict[str, Any]] = {
        "next": {},
        "freeze": {"dry_run": True},
        "evaluate_expr": {"expr": "results.slope"},
        "check_artifact": {"path": "results/results.json"},
        "verify_criterion": {"criterion_id": "slope"},
        "blind_workspace": {"profile": "criterion"},
        "status": {},
        "validate_state": {},
        "audit": {},
    }
    with agent(frozen, toolsets=["audit"]) as some:
        for tool, arguments in calls.items():
            if tool == "freeze":
                continue  # nothing new to lock: refused
            answer = some.call(tool, **arguments)
            assert (answer["project"], answer["state_dir"]) == (str(frozen), str(frozen / ".autoscirub"))
            assert answer["next"]["why"]


def test_looking_at_a_criterion_opens_no_round_and_writes_no_report(frozen: Path) -> None:
    with agent(frozen) as some:
        inspected = some.call("verify_criterion", criterion_id="slope")
    assert (inspected["criterion"]["status"], inspected["decision"]["answer"]) == ("satisfied", "holds")
    assert not (frozen / ".autoscirub" / "verification_report.json").exists()
    assert not (frozen / ".autoscirub" / "revisions" / "round-001").exists()


EXPRESSIONS = [
    # arguments, answer, value
    ({"expr": "results.a < 3", "results": {"a": 2}}, "holds", True),
    ({"expr": "results.a > 3", "results": {"a": 2}}, "does_not_hold", False),
    ({"expr": "results.a + 1", "results": {"a": 2}}, "inconclusive", 3),
    ({"expr": "results.b", "results": {"a": 2}}, "inconclusive", None),
    ({"expr": "results.b", "results": {"b": None}}, "inconclusive", None),
    ({"expr": "results.slope"}, "inconclusive", 0.5),
    ({"expr": "results.slope", "results_file": "results/results.json"}, "inconclusive", 0.5),
    ({"expr": "results.slope", "results_file": "results/none.json"}, "inconclusive", None),
]


@pytest.mark.parametrize(("arguments", "answer", "value"), EXPRESSIONS)
def test_an_expression_has_a_value_or_inconclusive(
    arguments: dict[str, Any], answer: str, value: Any, frozen: Path
) -> None:
    with agent(frozen) as some:
        evaluated = some.call("evaluate_expr", **arguments)
    assert (evaluated["answer"], evaluated["value"]) == (answer, value)


REFUSED = [
    # tool, arguments, what the refusal says
    ("evaluate_expr", {"expr": "__import__('os')"}, "__import__"),
    ("evaluate_expr", {"expr": "1", "results": {}, "results_file": "x"}, "give one of them"),
    ("evaluate_expr", {}, "expr: field required"),
    ("check_artifact", {"path": "x.csv", "format": "elephant"}, "elephant"),
    ("verify_criterion", {"criterion_id": "nobody"}, "it has slope, table"),
    ("plan_round", {"targets": [{"criterion_id": "table"}]}, "no round is open"),
    ("plan_round", {"targets": []}, "targets"),
    ("freeze", {}, "nothing new to lock"),
    ("job", {"id": "check-000000000000"}, "there is none"),
    ("job", {"id": "../../x"}, "id"),
    ("judge", {}, "no judge is set up"),
    ("blind_workspace", {"profile": "elephant"}, "elephant"),
    ("check", {"wait_seconds": 1e9}, "wait_seconds"),
    ("nothing", {}, "there is no tool 'nothing'; there is next, write_state"),
    ("status", {}, "there is no tool 'status'"),
]


@pytest.mark.parametrize(("tool", "arguments", "message"), REFUSED)
def test_a_refusal_says_what_was_wrong_and_the_allowed_move(
    tool: str, arguments: dict[str, Any], message: str, frozen: Path
) -> None:
    with agent(frozen) as some, pytest.raises(RefusedError) as refused:
        some.call(tool, **arguments)
    assert message in str(refused.value)
    assert "Allowed next: next()" in str(refused.value)


def test_what_comes_next_is_to_be_done_in_the_place_that_a_call_named(
    bare: Path, rubric: dict[str, Any], write_results: Callable[..., Path]
) -> None:
    part = bare / "part"
    part.mkdir()
    (part / "autoscirub.toml").write_text('results = "results/results.json"\n', encoding="utf-8")
    with agent(bare) as some:
        answer = some.call("write_state", file="executable_rubric.json", content=rubric, project="part")
        assert answer["whole"] is None
        answer = some.follow(answer)
        assert answer["project"] == str(part)
        write_results(part, slope=0.5)
        running = some.follow(answer, wait_seconds=0)
        done = some.follow(running) if running["state"] == "running" else running
        assert done["project"] == str(part)
        assert done["next"]["arguments"]["project"] == "part"
    assert not (bare / ".autoscirub").exists()


def test_a_draft_that_cannot_be_read_is_named_and_not_circled_around(
    bare: Path, rubric: dict[str, Any]
) -> None:
    with agent(bare) as some:
        some.call("write_state", file="executable_rubric.json", content=rubric)
        (bare / ".autoscirub" / "literature_sources.json").write_text('{"sources": [', encoding="utf-8")
        answer = some.call("next")
    assert answer["next"]["tool"] == "next"
    assert "literature_sources.json" in answer["next"]["why"]


def test_predictions_that_come_after_the_rubric_s_freeze_are_to_be_frozen(
    bare: Path, rubric: dict[str, Any], slope_project: Path
) -> None:
    with agent(bare) as some:
        some.call("write_state", file="executable_rubric.json", content=rubric)
        some.call("freeze")
        shutil.copy(slope_project / "prereg.toml", bare)
        answer = some.call("next")
        assert (answer["next"]["tool"], "predictions" in answer["next"]["why"]) == ("freeze", True)
        assert some.follow(answer)["locked"] == ["predictions", "rubric", "settings"]


def test_a_refusal_is_bounded(bare: Path) -> None:
    criteria = [
        {
            "criterion_id": f"C{number}",
            "requirement": "x",
            "checks": [{"id": "c", "kind": "expr", "expr": "1 == 1 and 'a long text that is shown' == 'x'"}],
        }
        for number in range(1000)
    ]
    with agent(bare) as some:
        some.call("write_state", file="executable_rubric.json", content={"goals": [], "criteria": criteria})
        with pytest.raises(RefusedError) as refused:
            some.call("freeze")
    assert len(str(refused.value)) < 9_000
    assert "Allowed next: next()" in str(refused.value)


ODD = [
    ("next", {"project": "\x00"}),
    ("next", {"project": "x" * 4000}),
    ("next", {"state_dir": "x" * 4000}),
    ("next", {"state_dir": "a\x00b"}),
    ("validate_state", {"files": ["\x00"]}),
    ("check_artifact", {"path": "\x00"}),
    ("evaluate_expr", {"expr": "results", "results_file": "\x00"}),
]


@pytest.mark.parametrize(("tool", "arguments"), ODD)
def test_what_is_no_path_is_no_error_of_ours(tool: str, arguments: dict[str, Any], frozen: Path) -> None:
    with agent(frozen, toolsets=["audit"]) as some:
        try:
            message = json.dumps(some.call(tool, **arguments))
        except RefusedError as refused:
            message = str(refused)
    assert "error of ours" not in message


def test_a_large_answer_stays_small_and_a_link_leads_to_the_whole(
    bare: Path, write_results: Callable[..., Path]
) -> None:
    criteria = [
        {
            "criterion_id": f"C{number}",
            "requirement": "A long requirement. " * 20,
            "judge": "never",
            "expected_artifacts": [{"expected_path": f"out/{'deep/' * 20}{number}.csv"}],
        }
        for number in range(300)
    ]
    rubric = {"schema_version": "1.0", "goals": [], "criteria": criteria}
    with agent(bare) as some:
        some.call("write_state", file="executable_rubric.json", content=rubric)
        some.call("freeze")
        write_results(bare, slope=0.5)
        result = some.ask("call_tool", "check", {})
        answer = result.structured_content
        assert len(json.dumps(answer).encode()) < 1.2 * ANSWER_BYTES
        assert (answer["satisfied"], answer["criteria"], answer["all_satisfied"]) == (0, 300, False)
        assert len(answer["open"]) + answer["left_out"]["open"] == 300
        [link] = [part for part in result.content if part.type == "resource_link"]
        whole = json.loads(some.read(str(link.uri)))
    assert len(whole["verification"]["criteria"]) == 300
