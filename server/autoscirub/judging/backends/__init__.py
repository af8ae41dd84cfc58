"""Who reads what code cannot decide: one small protocol, the backends behind it, and limits held from outside."""

from autoscirub.judging.backends.limits import ask_within, price_of, repair_within
from autoscirub.judging.backends.opening import BUILT_IN, ENTRY_POINTS, open_backend
from autoscirub.judging.backends.programs import JudgeProgram
from autoscirub.judging.backends.protocol import Backend, keep_so_far, with_faults
from autoscirub.judging.backends.purse import Purse
from autoscirub.judging.backends.replay import record_name, record_reply

__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "Backend",
    "JudgeProgram",
    "Purse",
    "ask_within",
    "keep_so_far",
    "open_backend",
    "price_of",
    "record_name",
    "record_reply",
    "repair_within",
    "with_faults",
]
