"""Showing conclusions, from Decisions and models alone."""

from autoscirub.report.terminal import (
    plain,
    render_decision,
    render_list,
    render_verification,
    sign,
    sign_for_error,
)
from autoscirub.report.views import render_evaluation, render_status, render_trust, render_validation

__all__ = [
    "plain",
    "render_decision",
    "render_evaluation",
    "render_list",
    "render_status",
    "render_trust",
    "render_validation",
    "render_verification",
    "sign",
    "sign_for_error",
]
