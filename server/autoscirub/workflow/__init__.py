"""The jobs that people and agents ask for; this room alone wires the rooms below."""

from autoscirub.workflow.checking import Checked, check
from autoscirub.workflow.evaluating import evaluate
from autoscirub.workflow.freezing import Frozen, freeze, unfreeze
from autoscirub.workflow.standing import status
from autoscirub.workflow.validation import validate
from autoscirub.workflow.verifying import Verified, verify

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
