"""Renders the status of a project, validated files, an evaluated expression, and trust."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, TextIO

from autoscirub.models import Answer
from autoscirub.report.terminal import plain, render_decision, sign

if TYPE_CHECKING:
    from autoscirub.models import Evaluation, Status, Trust, Validation


def render_status(found: Status, stream: TextIO) -> str:
    """The status of a project, in a few lines."""
    exists = "" if found.state_exists else ", not made yet"
    lines = [
        f"project   {found.project}  ({plain(found.project_source)})",
        f"state     {found.state_dir}  ({plain(found.state_source)}{exists})",
        f"config    {found.config_source or 'none; all defaults'}",
        *([f"policy    {plain(found.policy)} ({found.policy_source})"] if found.policy else []),
        f"results   {plain(found.results)}{'' if found.results_exist else '  (not there yet)'}",
    ]
    valid = sum(1 for file in found.files if file.schema and not file.faults)
    invalid = sum(1 for file in found.files if file.faults)
    lines.append(f"files     {valid} valid" + (f", {invalid} with faults" if invalid else ""))
    lines += [render_decision(decision, stream) for decision in found.decisions]
    lines += [f"judge     {plain(found.calibration)}"] if found.calibration else []
    lines += [f"fault     {plain(fault)}" for fault in found.faults]
    lines += [f"note      {plain(notice)}" for notice in found.notices]
    lines += [f"note      {plain(file.path)}: {file.note}" for file in found.files if file.note]
    lines.append(f"next      {found.next.command}   ({plain(found.next.why)})")
    return "\n".join(lines)


def render_validation(found: Validation, stream: TextIO) -> str:
    """Each file with its faults."""
    lines: list[str] = []
    for file in found.files:
        if file.schema is None:
            lines.append(f"– {plain(file.path)}: {file.note}")
            continue
        answer = Answer.DOES_NOT_HOLD if file.faults else Answer.HOLDS
        lines.append(f"{sign(answer, stream)} {plain(file.path)}")
        lines += [f"    {plain(fault.removeprefix(file.path + ': '))}" for fault in file.faults]
    return "\n".join(lines) or "no state files yet; `autoscirub init` makes the first"


def render_evaluation(found: Evaluation, stream: TextIO) -> str:
    """An expression's value, or why it has none."""
    answer = found.decision.answer
    return f"{sign(answer, stream)} {plain(found.message)}"


def render_trust(found: Trust) -> str:
    """What would run, key by key."""
    if not found.programs:
        return "this project's files name no program to run"
    lines = ["this project's files name these programs:"]
    lines += [f"  {key:<12} {plain(shlex.join(command))}" for key, command in found.programs.items()]
    lines += [f"  what a judge is shown is sent to {plain(found.sends_to)}"] if found.sends_to else []
    lines.append(f"  digest       {found.digest}")
    return "\n".join(lines)
