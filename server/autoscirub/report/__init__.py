"""Showing conclusions, from Decisions and models alone."""

from autoscirub.report.criteria import render_criterion, render_ending, render_judged, render_report
from autoscirub.report.github import github_error, inert, render_github
from autoscirub.report.junit import junit_error, render_junit
from autoscirub.report.setting_up import render_initialised, render_prompt, render_question
from autoscirub.report.terminal import (
    plain,
    render_decision,
    render_list,
    render_numbers,
    render_rerun,
    render_verification,
    sign,
    sign_for_error,
)
from autoscirub.report.views import render_evaluation, render_status, render_trust, render_validation

__all__ = [
    "github_error",
    "inert",
    "junit_error",
    "plain",
    "render_criterion",
    "render_decision",
    "render_ending",
    "render_evaluation",
    "render_github",
    "render_initialised",
    "render_judged",
    "render_junit",
    "render_list",
    "render_numbers",
    "render_prompt",
    "render_question",
    "render_report",
    "render_rerun",
    "render_status",
    "render_trust",
    "render_validation",
    "render_verification",
    "sign",
    "sign_for_error",
]
