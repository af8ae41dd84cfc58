"""autoscirub: decides whether a coding agent's work is done, from evidence.

`import autoscirub` loads nothing heavy; each name below loads its room when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoscirub.checks import check_artifact, evaluate_expr
    from autoscirub.models import Answer, Decision, Evidence, Verification
    from autoscirub.workflow import (
        blind_workspace,
        check,
        freeze,
        plan_round,
        round_step,
        run_rounds,
        scope,
        status,
        unfreeze,
        validate,
        verify,
        verify_criterion,
    )

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Decision",
    "Evidence",
    "Verification",
    "__version__",
    "blind_workspace",
    "check",
    "check_artifact",
    "evaluate_expr",
    "freeze",
    "plan_round",
    "round_step",
    "run_rounds",
    "scope",
    "status",
    "unfreeze",
    "validate",
    "verify",
    "verify_criterion",
]

_ROOMS = {
    **dict.fromkeys(("evaluate_expr", "check_artifact"), "autoscirub.checks"),
    **dict.fromkeys(("Answer", "Decision", "Evidence", "Verification"), "autoscirub.models"),
    **dict.fromkeys(
        (
            "blind_workspace",
            "check",
            "freeze",
            "plan_round",
            "round_step",
            "run_rounds",
            "scope",
            "status",
            "unfreeze",
            "validate",
            "verify",
            "verify_criterion",
        ),
        "autoscirub.workflow",
    ),
}


if not TYPE_CHECKING:  # or a type checker would take any name for one of ours
    from autoscirub.parts import loads

    __getattr__ = loads(__name__, _ROOMS, globals())


def __dir__() -> list[str]:
    return sorted(__all__)
