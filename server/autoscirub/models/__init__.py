"""Floor 0: the models that everything passes around. No I/O."""

from autoscirub.models.base import SCHEMA_VERSION, Closed, Frozen, StateModel, now, strict_json
from autoscirub.models.config import AuditConfig, LimitsConfig, ProjectConfig, RunConfig
from autoscirub.models.decision import SIGNS, Answer, Asks, Cost, DecidedBy, Decision, Evidence, weakest
from autoscirub.models.manifest import FileDigest, Instruction, Locks, PredictionsLock, RunManifest, Unfreeze
from autoscirub.models.prereg import ArtifactCheck, Check, ExprCheck, Prereg, PreregLock
from autoscirub.models.verification import CheckResult, Digests, JudgeVerdict, Outcome, Verification

__all__ = [
    "SCHEMA_VERSION",
    "SIGNS",
    "Answer",
    "ArtifactCheck",
    "Asks",
    "AuditConfig",
    "Check",
    "CheckResult",
    "Closed",
    "Cost",
    "DecidedBy",
    "Decision",
    "Digests",
    "Evidence",
    "ExprCheck",
    "FileDigest",
    "Frozen",
    "Instruction",
    "JudgeVerdict",
    "LimitsConfig",
    "Locks",
    "Outcome",
    "PredictionsLock",
    "Prereg",
    "PreregLock",
    "ProjectConfig",
    "RunConfig",
    "RunManifest",
    "StateModel",
    "Unfreeze",
    "Verification",
    "now",
    "strict_json",
    "weakest",
]
