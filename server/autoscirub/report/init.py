"""Renders the questions that `init` asks, and what it found, chose and wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.models import SUBJECTS, display_value
from autoscirub.report.terminal import plain

if TYPE_CHECKING:
    from autoscirub.models import Initialised, SetupQuestion

_WHAT = {
    "report": "the report: the text that says what was done and what came out",
    "results": "the results: the JSON file with the numbers that came out",
    "run": "the run command: what makes the results (it is not run now)",
}
_OTHER = {
    "report": "a path (it need not be there yet)",
    "results": "a path (it need not be there yet)",
    "run": "a command such as: python3 run.py",
}
_WIDEST = 36


def render_question(question: SetupQuestion) -> str:
    """A question: what it is about, and what there is to choose from."""
    lines = [plain(question.lead)] if question.lead else []
    lines += ["", _WHAT[question.subject]]
    width = min(_WIDEST, max((len(plain(one.display)) for one in question.candidates), default=0))
    for number, one in enumerate(question.candidates, 1):
        lines.append(f"  {number}  {plain(one.display):<{width}}  {plain(one.reason)}")
    if not question.candidates:
        lines.append("  nothing was found")
    elif len(question.equal) > 1:
        lines.append(f"  1 to {len(question.equal)} are equally good")
    return "\n".join(lines)


def render_prompt(question: SetupQuestion) -> str:
    """The possible answers, and in brackets what Enter alone means."""
    number = "a number, " if question.candidates else ""
    default = "" if len(question.equal) > 1 else " [1]" if question.candidates else " [none]"
    return f"{number}{_OTHER[question.subject]}, or none{default}: "


def render_initialised(laid: Initialised) -> str:
    """What was written, what it says and why, what is left open, and what comes next."""
    lines = [f"in    {plain(laid.project)}", *(f"made  {plain(name)}" for name in laid.made)]
    lines += [f"kept  {plain(name)} (it was there; unchanged)" for name in laid.existing]
    for subject in SUBJECTS:
        taken = laid.taken[subject]
        if taken.value is not None and taken.how != "config":
            lines.append(f"took  {subject}: {plain(display_value(taken.value))}  ({plain(taken.why)})")
        elif taken.how == "open":
            lines.append(f"open  {subject}: {plain(taken.why)}")
        elif taken.how == "answer":
            lines.append(f"none  {subject}")
    if laid.inputs:
        lines.append(f"took  inputs: {plain(', '.join(laid.inputs))}  (the program names them)")
    lines += [f"note  {plain(note)}" for note in laid.notes]
    lines += [f"git   commit these: {plain(', '.join(laid.commit))}", f"next  {laid.next}"]
    return "\n".join(lines)
