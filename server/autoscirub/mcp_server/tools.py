"""The table of tools: for each its name, description, arguments, answer, effects, and the function that does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from autoscirub.errors import CheckError
from autoscirub.mcp_server import answers, arguments
from autoscirub.mcp_server import handlers as work
from autoscirub.models import BUILT, CORE, TOOLSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoscirub.mcp_server.projects import ServedProject


@dataclass(frozen=True)
class ToolSpec:
    """One tool. `run` takes a place and its arguments, and where `slow` also a progress callback."""

    name: str
    title: str
    description: str
    takes: type[arguments.Arguments]
    answers: type[answers.ToolAnswer]
    run: Callable[..., Any]
    slow: bool = False
    """Whether a process of its own does it, which outlives the caller."""
    reads_only: bool = False
    """Whether it writes nothing."""
    idempotent: bool = True
    """Whether the same call twice has the effect of one."""


def _job(_place: ServedProject, _arguments: Any) -> Any:
    raise AssertionError("the server itself waits for jobs")


TOOLS: dict[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        ToolSpec(
            "next",
            "What comes next",
            "Where the project stands, and the one call to make next, with its arguments. Begin here; come back "
            "whenever unsure. Makes the state directory where there is none.",
            arguments.NextArguments,
            answers.NextAnswer,
            work.next_,
        ),
        ToolSpec(
            "write_state",
            "Write a draft or the rubric",
            "Write the rubric before its freeze, or what leads to it, validated against its schema "
            "(autoscirub://schemas/NAME). To replace a file, give the digest of what is there.",
            arguments.WriteArguments,
            answers.WriteAnswer,
            work.write,
        ),
        ToolSpec(
            "freeze",
            "Fix what decides",
            "Lock the predictions (prereg.toml), the rubric and the settings that decide, before there are results. "
            "What is frozen is not changed any more. dry_run says every fault and warning first.",
            arguments.FreezeArguments,
            answers.FreezeAnswer,
            work.freeze,
            idempotent=False,
        ),
        ToolSpec(
            "check",
            "Have the work checked",
            "Decide everything that is set up, once: predictions, requirements, the report's numbers, the rerun. The "
            "first check of a frozen rubric opens round 1; a check after plan_round closes that round with your "
            "changes and opens the next. What it does not call satisfied is not done.",
            arguments.CheckArguments,
            answers.CheckAnswer,
            work.check,
            slow=True,
            idempotent=False,
        ),
        ToolSpec(
            "plan_round",
            "Plan a revision",
            "After a check: write down what you will do about the criteria that are not satisfied. Then revise the "
            "work, and check again.",
            arguments.PlanArguments,
            answers.PlanAnswer,
            work.plan,
            idempotent=False,
        ),
        ToolSpec(
            "evaluate_expr",
            "Evaluate an expression",
            "One restricted expression on the project's results, a file in the project, or results passed here. "
            "Writes nothing.",
            arguments.EvaluateArguments,
            answers.EvaluateAnswer,
            work.evaluate,
            reads_only=True,
        ),
        ToolSpec(
            "check_artifact",
            "Look at a file",
            "Is a file of the project there, not empty, and really of its format? It is opened. Writes nothing.",
            arguments.ArtifactArguments,
            answers.ArtifactAnswer,
            work.artifact,
            reads_only=True,
        ),
        ToolSpec(
            "verify_criterion",
            "Look at one criterion",
            "The result of one criterion now: what was found, what is missing, what would close it. Opens no round "
            "and writes no report; only check counts.",
            arguments.CriterionArguments,
            answers.CriterionAnswer,
            work.criterion,
            slow=True,
        ),
        ToolSpec(
            "blind_workspace",
            "See what a judge sees",
            "Lay out what a judge is shown, in a fresh folder for temporary files, with what was withheld and why.",
            arguments.BlindArguments,
            answers.BlindAnswer,
            work.blind,
            slow=True,
            idempotent=False,
        ),
        ToolSpec(
            "judge",
            "Ask the judge",
            "Ask the configured judge about one criterion, the hypothesis, or all that must be read. Each call is "
            "counted, and nothing with a cached result is asked again. Only a person chooses the judge.",
            arguments.JudgeArguments,
            answers.JudgeToolAnswer,
            work.judge,
            slow=True,
        ),
        ToolSpec(
            "job",
            "Wait for a job, or cancel it",
            "A slow call that did not end in time goes on as a job, also when the client is gone. Wait for its "
            "answer, or cancel it.",
            arguments.JobArguments,
            answers.JobToolAnswer,
            _job,
        ),
        ToolSpec(
            "rerun",
            "Run the code again",
            "The results, from the code, again: in a fresh copy without them, compared key by key. Only what a person "
            "has trusted here is run.",
            arguments.RerunArguments,
            answers.RerunAnswer,
            work.rerun,
            slow=True,
        ),
        ToolSpec(
            "status",
            "Where the project stands",
            "Where the state is and why, what exists, what is valid. Writes and runs nothing.",
            arguments.StatusArguments,
            answers.StatusAnswer,
            work.status,
            reads_only=True,
        ),
        ToolSpec(
            "validate_state",
            "Hold state files against their schemas",
            "Each fault with its JSON path and line. Writes and runs nothing.",
            arguments.ValidateArguments,
            answers.ValidateAnswer,
            work.validate,
            reads_only=True,
        ),
        ToolSpec(
            "verify",
            "Verify the predictions",
            "The frozen predictions against the results, and the judge: verified, refuted or failed. A refuted "
            "prediction is a finding, and nothing to revise.",
            arguments.VerifyArguments,
            answers.VerifyAnswer,
            work.verify,
            slow=True,
        ),
        ToolSpec(
            "audit",
            "What it all rests on",
            "What the record's conclusions rest on, and what it cannot show. Writes nothing.",
            arguments.AuditArguments,
            answers.AuditAnswer,
            work.audit,
            reads_only=True,
        ),
    )
}
"""Every tool that this version has."""


def named_tools(toolsets: Sequence[str]) -> list[ToolSpec]:
    """The tools of those toolsets, core first. Raises CheckError for a toolset that is not there, or not yet."""
    wanted = list(dict.fromkeys((CORE, *toolsets)))
    for name in wanted:
        if name not in TOOLSETS:
            raise CheckError(f"toolset {name!r}: expected {', '.join(TOOLSETS)}")
        if BUILT.isdisjoint(TOOLSETS[name]):
            raise CheckError(f"toolset {name!r}: this version has none of its tools yet")
    return [TOOLS[tool] for name in wanted for tool in TOOLSETS[name] if tool in BUILT]


def read_arguments(spec: ToolSpec, raw: dict[str, Any] | None) -> Any:
    """The arguments as the tool takes them. Raises CheckError with every fault, and what the tool takes."""
    from autoscirub.models import describe_faults

    try:
        return spec.takes.model_validate(raw or {})
    except ValidationError as error:
        faults = "; ".join(describe_faults(error, raw or {})[:20])
        raise CheckError(f"{spec.name}: {faults}. It takes {_taken(spec.takes)}") from None


def _taken(model: type[BaseModel]) -> str:
    return ", ".join(
        name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()
    )
