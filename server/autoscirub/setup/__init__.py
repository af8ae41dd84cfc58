"""Setting up: a project, what may run in it, coding agents; and what this machine has and holds."""

from autoscirub.models.found import Initialised
from autoscirub.setup.doctor import look_around
from autoscirub.setup.finding import find_setup
from autoscirub.setup.initialise import initialise
from autoscirub.setup.installing import plan_install
from autoscirub.setup.selftest import run_selftest
from autoscirub.setup.skills import describe_skills, lint_skills
from autoscirub.setup.trusting import look_at_trust, record_trust
from autoscirub.setup.uninstalling import plan_uninstall

__all__ = [
    "Initialised",
    "describe_skills",
    "find_setup",
    "initialise",
    "lint_skills",
    "look_around",
    "look_at_trust",
    "plan_install",
    "plan_uninstall",
    "record_trust",
    "run_selftest",
]
