"""Who judged and who wrote, by model family."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.workflow.calibration.scripted import verdict

from autoscirub.workflow.audit import audit
from autoscirub.workflow.audit.families import families_line, model_family
from autoscirub.workflow.rounds import run_rounds

MODELS = [
    ("claude-opus-4-1", "Claude"),
    ("us.anthropic.claude-sonnet-4-5-v1:0", "Claude"),
    ("gpt-5.1-codex-max", "GPT"),
    ("openai/gpt-oss-120b", "GPT"),
    ("o3-mini", "GPT"),
    ("o4", "GPT"),
    ("Qwen/Qwen3-32B", "Qwen"),
    ("meta-llama/Llama-3.3-70B", "Llama"),
    ("gemini-2.5-pro", "Gemini"),
    ("mistral-large", "Mistral"),
    ("deepseek-r1", "DeepSeek"),
    ("oracle-1", None),
    ("o1x", None),
    ("proto3", None),
    ("", None),
]


@pytest.mark.parametrize(("model", "family"), MODELS)
def test_a_model_s_family_is_known_by_its_name(model: str, family: str | None) -> None:
    assert model_family(model) == family


ALIKE = ": judged by the family that wrote it"
LINES = [
    # judges, clients, programs, and what is said
    ([], ["claude"], [], ""),
    (
        [("claude", "claude-x")],
        ["claude"],
        [],
        f"judged by Claude (claude-x), revised by Claude (claude){ALIKE}",
    ),
    ([("claude", None)], ["claude"], [], f"judged by Claude (claude), revised by Claude (claude){ALIKE}"),
    ([("openai", "gpt-5")], ["codex"], [], f"judged by GPT (gpt-5), revised by GPT (codex){ALIKE}"),
    ([("claude", "claude-x")], ["codex"], [], "judged by Claude (claude-x), revised by GPT (codex)"),
    (
        [("command", None)],
        [],
        ["python3"],
        "judged by an unknown family (command), revised by an unknown family (python3)",
    ),
    # Two unknown families are not the same one, and a program that is called like a client is none.
    (
        [("claude", "claude-x")],
        [],
        ["claude"],
        "judged by Claude (claude-x), revised by an unknown family (claude)",
    ),
    ([("claude", "claude-x")], [], [], "judged by Claude (claude-x), and who wrote the work is not recorded"),
    (
        [("openai", "qwen3"), ("openai", "claude-x")],
        ["claude"],
        [],
        f"judged by Claude (claude-x), Qwen (qwen3), revised by Claude (claude){ALIKE}",
    ),
]


@pytest.mark.parametrize(("judges", "clients", "programs", "line"), LINES)
def test_the_line_says_who_judged_who_revised_and_whether_these_are_alike(
    judges, clients, programs, line
) -> None:
    assert families_line(judges, clients, programs) == line


@pytest.mark.slow
def test_the_record_has_who_revised_by_name_and_not_by_its_arguments(study, oracle, tmp_path: Path) -> None:
    project = study("")
    oracle.REPLIES |= {"READ": verdict("READ", yes=False), "BOTH": verdict("BOTH")}
    program = tmp_path / "reviser.py"
    program.write_text("import pathlib\npathlib.Path('more.md').write_text('more')\n")
    run_rounds(project, revise=[sys.executable, str(program), "--token=SECRET"], max_rounds=2)
    found = audit(project)
    name = Path(sys.executable).name
    assert (
        found.basis.families
        == f"judged by an unknown family (oracle-1), revised by an unknown family ({name})"
    )
    assert b"SECRET" not in (project / ".autoscirub" / "history.bundle").read_bytes()


def test_the_clients_that_can_revise_are_recorded_as_clients() -> None:
    from autoscirub.workflow.rounds import loop

    ours = [sys.executable, "-P", "-m", "autoscirub.workflow.rounds.agents", "claude"]
    assert loop._reviser(ours) == {"client": "claude"}
    assert loop._reviser(["/opt/claude", "-p"]) == {"program": "claude"}
