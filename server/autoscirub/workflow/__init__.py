"""The jobs that people and agents ask for; this room alone wires the rooms below."""

from autoscirub.workflow.accepting import ACCEPTABLE, ACCEPTED, accepted_of, answer_of
from autoscirub.workflow.blinding import blind_workspace
from autoscirub.workflow.checking import check
from autoscirub.workflow.criterion import verify_criterion
from autoscirub.workflow.evaluating import evaluate
from autoscirub.workflow.freezing import Frozen, freeze, unfreeze
from autoscirub.workflow.judging import JudgeRun, judge
from autoscirub.workflow.planning import Planned, plan_round
from autoscirub.workflow.points import points_of
from autoscirub.workflow.rerunning import rerun
from autoscirub.workflow.round_verification import Checked
from autoscirub.workflow.running import LoopStep, Ran, round_step, run_rounds
from autoscirub.workflow.scoping import Scoped, scope
from autoscirub.workflow.standing import status
from autoscirub.workflow.validation import validate
from autoscirub.workflow.verifying import Verified, verify

__all__ = [
    "ACCEPTABLE",
    "ACCEPTED",
    "Checked",
    "Frozen",
    "JudgeRun",
    "LoopStep",
    "Planned",
    "Ran",
    "Scoped",
    "Verified",
    "accepted_of",
    "answer_of",
    "blind_workspace",
    "check",
    "evaluate",
    "freeze",
    "judge",
    "plan_round",
    "points_of",
    "rerun",
    "round_step",
    "run_rounds",
    "scope",
    "status",
    "unfreeze",
    "validate",
    "verify",
    "verify_criterion",
]
