"""Floor 1: running what is not ours, isolated as well as this machine can, and bounded."""

from autoscirub.sandbox.answering import AskedProgram
from autoscirub.sandbox.bubblewrap import bubblewrap_missing
from autoscirub.sandbox.isolation import Isolated, Isolation, available, run_isolated
from autoscirub.sandbox.limits import Limits
from autoscirub.sandbox.process import Finished, run_program
from autoscirub.sandbox.scratch import remove_tree

__all__ = [
    "AskedProgram",
    "Finished",
    "Isolated",
    "Isolation",
    "Limits",
    "available",
    "bubblewrap_missing",
    "remove_tree",
    "run_isolated",
    "run_program",
]
