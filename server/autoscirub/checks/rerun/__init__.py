"""Do the results come out of the code again? Run in a fresh copy without them, and compared key by key."""

from autoscirub.checks.rerun.comparing import Comparison, Status
from autoscirub.checks.rerun.lines import key_lines
from autoscirub.checks.rerun.running import (
    NOT_TRUSTED,
    RERUN_WORDS,
    Rerun,
    rerun,
    rerun_basis,
    rerun_record,
)

__all__ = [
    "NOT_TRUSTED",
    "RERUN_WORDS",
    "Comparison",
    "Rerun",
    "Status",
    "key_lines",
    "rerun",
    "rerun_basis",
    "rerun_record",
]
