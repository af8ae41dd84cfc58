"""The jobs that people and agents ask for; this room alone wires the rooms below."""

from autoscirub.workflow.check import Checked, check
from autoscirub.workflow.evaluate import evaluate
from autoscirub.workflow.freeze import Frozen, freeze, unfreeze
from autoscirub.workflow.status import status
from autoscirub.workflow.validate import validate
from autoscirub.workflow.verify import Verified, verify

__all__ = [
    "Checked",
    "Frozen",
    "Verified",
    "check",
    "evaluate",
    "freeze",
    "status",
    "unfreeze",
    "validate",
    "verify",
]
