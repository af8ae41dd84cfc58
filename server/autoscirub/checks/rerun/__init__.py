"""Do the results come out of the code again? Run in a fresh copy without them, and compared key by key."""

from autoscirub.checks.rerun.basis import rerun_basis
from autoscirub.checks.rerun.comparing import Comparison, Status
from autoscirub.checks.rerun.deciding import RERUN_WORDS, fell_out
from autoscirub.checks.rerun.keeping import last_output, rerun_record
from autoscirub.checks.rerun.lines import key_lines
from autoscirub.checks.rerun.running import Rerun, rerun

__all__ = [
    "RERUN_WORDS",
    "Comparison",
    "Rerun",
    "Status",
    "fell_out",
    "key_lines",
    "last_output",
    "rerun",
    "rerun_basis",
    "rerun_record",
]
