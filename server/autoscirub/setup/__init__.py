"""Setting a project up, and saying what may run in it."""

from autoscirub.setup.initialise import Initialised, initialise
from autoscirub.setup.trusting import look_at_trust, record_trust

__all__ = ["Initialised", "initialise", "look_at_trust", "record_trust"]
