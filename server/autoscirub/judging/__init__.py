"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""

from autoscirub.judging.addressing import Addressed, Searched, addressing, search_addressing
from autoscirub.judging.looking import problems_of
from autoscirub.judging.prompting import PROMPT_VERSION, Prompt, criterion_prompt, hypothesis_prompt
from autoscirub.judging.replies import HYPOTHESIS, Reading, Unused, read_reply, repair_request

__all__ = [
    "HYPOTHESIS",
    "PROMPT_VERSION",
    "Addressed",
    "Prompt",
    "Reading",
    "Searched",
    "Unused",
    "addressing",
    "criterion_prompt",
    "hypothesis_prompt",
    "problems_of",
    "read_reply",
    "repair_request",
    "search_addressing",
]
