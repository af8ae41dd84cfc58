"""Do the results come out of the code again? Run in a fresh copy without them, and compared key by key."""

from autoscirub.checks.rerun.comparing import Comparison, Status
from autoscirub.checks.rerun.running import RERUN_WORDS, Basis, Rerun, rerun, rerun_basis

__all__ = ["RERUN_WORDS", "Basis", "Comparison", "Rerun", "Status", "rerun", "rerun_basis"]
