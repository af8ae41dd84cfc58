"""Setting a project up, saying what may run in it, and trying on this machine what is promised."""

from autoscirub.models.found import Initialised
from autoscirub.setup.finding import find_setup
from autoscirub.setup.initialise import initialise
from autoscirub.setup.selftest import run_selftest
from autoscirub.setup.trusting import look_at_trust, record_trust

__all__ = ["Initialised", "find_setup", "initialise", "look_at_trust", "record_trust", "run_selftest"]
