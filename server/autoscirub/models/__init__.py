"""Floor 0: the models that everything passes around. No I/O.

Each loads when it is first used: building them takes longer than a command that needs none of them should wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoscirub.models.base import SCHEMA_VERSION, Closed, Frozen, StateModel, now, strict_json
    from autoscirub.models.config import (
        AuditConfig,
        JudgeConfig,
        LimitsConfig,
        NumbersConfig,
        ProfileConfig,
        ProjectConfig,
        RerunConfig,
        RoundsConfig,
        RunConfig,
    )
    from autoscirub.models.decision import (
        SIGNS,
        Answer,
        Asks,
        Cost,
        DecidedBy,
        Decision,
        Evidence,
        overall,
        weakest,
    )
    from autoscirub.models.faults import describe_faults, owner
    from autoscirub.models.judging import (
        Ask,
        CriterionVerdict,
        HypothesisVerdict,
        JudgeReply,
        JudgeRequest,
        KeptVerdict,
        Member,
        Usage,
        Withheld,
        WorkspaceFile,
        WorkspaceManifest,
    )
    from autoscirub.models.layout import Layout, LayoutEntry
    from autoscirub.models.manifest import (
        Ended,
        FileDigest,
        Instruction,
        Locks,
        Loop,
        LoopEnding,
        PredictionsLock,
        RubricLock,
        RunManifest,
        ScopeChange,
        SettingsLock,
        Unfreeze,
    )
    from autoscirub.models.numbers import NumberClass, ReportNumber
    from autoscirub.models.points import Point, Points
    from autoscirub.models.policy import (
        POLICY_RULES,
        Policy,
        PolicyJudge,
        PolicyRerun,
        PolicyRule,
        against_policy,
        under_policy,
    )
    from autoscirub.models.prereg import ArtifactCheck, Check, ExprCheck, Prereg, PreregLock
    from autoscirub.models.report import CriterionResult, CriterionStatus, ReportSummary, VerificationReport
    from autoscirub.models.rerun import (
        PLAIN_PROCESS,
        TOO_LARGE,
        VALUES,
        RerunBasis,
        RerunRecord,
        counted_values,
        weakly_isolated,
    )
    from autoscirub.models.rounds import (
        Change,
        ChangeSummary,
        Event,
        Infeasible,
        RevisionPlan,
        RevisionTarget,
    )
    from autoscirub.models.rubric import (
        Criterion,
        ExecutableRubric,
        ExpectedArtifact,
        Goal,
        Priority,
        Provenance,
        RubricArtifact,
        RubricCheck,
        RubricExpr,
        RubricJudge,
        RubricNumbers,
        RubricRerun,
        RubricScore,
    )
    from autoscirub.models.verification import CheckResult, Digests, JudgeVerdict, Outcome, Verification

__all__ = [
    "PLAIN_PROCESS",
    "POLICY_RULES",
    "SCHEMA_VERSION",
    "SIGNS",
    "TOO_LARGE",
    "VALUES",
    "Answer",
    "ArtifactCheck",
    "Ask",
    "Asks",
    "AuditConfig",
    "Change",
    "ChangeSummary",
    "Check",
    "CheckResult",
    "Closed",
    "Cost",
    "Criterion",
    "CriterionResult",
    "CriterionStatus",
    "CriterionVerdict",
    "DecidedBy",
    "Decision",
    "Digests",
    "Ended",
    "Event",
    "Evidence",
    "ExecutableRubric",
    "ExpectedArtifact",
    "ExprCheck",
    "FileDigest",
    "Frozen",
    "Goal",
    "HypothesisVerdict",
    "Infeasible",
    "Instruction",
    "JudgeConfig",
    "JudgeReply",
    "JudgeRequest",
    "JudgeVerdict",
    "KeptVerdict",
    "Layout",
    "LayoutEntry",
    "LimitsConfig",
    "Locks",
    "Loop",
    "LoopEnding",
    "Member",
    "NumberClass",
    "NumbersConfig",
    "Outcome",
    "Point",
    "Points",
    "Policy",
    "PolicyJudge",
    "PolicyRerun",
    "PolicyRule",
    "PredictionsLock",
    "Prereg",
    "PreregLock",
    "Priority",
    "ProfileConfig",
    "ProjectConfig",
    "Provenance",
    "ReportNumber",
    "ReportSummary",
    "RerunBasis",
    "RerunConfig",
    "RerunRecord",
    "RevisionPlan",
    "RevisionTarget",
    "RoundsConfig",
    "RubricArtifact",
    "RubricCheck",
    "RubricExpr",
    "RubricJudge",
    "RubricLock",
    "RubricNumbers",
    "RubricRerun",
    "RubricScore",
    "RunConfig",
    "RunManifest",
    "ScopeChange",
    "SettingsLock",
    "StateModel",
    "Unfreeze",
    "Usage",
    "Verification",
    "VerificationReport",
    "Withheld",
    "WorkspaceFile",
    "WorkspaceManifest",
    "against_policy",
    "counted_values",
    "describe_faults",
    "now",
    "overall",
    "owner",
    "strict_json",
    "under_policy",
    "weakest",
    "weakly_isolated",
]

_LATER = {
    **dict.fromkeys(
        (
            "Closed",
            "Frozen",
            "SCHEMA_VERSION",
            "StateModel",
            "now",
            "strict_json",
        ),
        "base",
    ),
    **dict.fromkeys(
        (
            "AuditConfig",
            "JudgeConfig",
            "LimitsConfig",
            "NumbersConfig",
            "ProfileConfig",
            "ProjectConfig",
            "RerunConfig",
            "RoundsConfig",
            "RunConfig",
        ),
        "config",
    ),
    **dict.fromkeys(
        (
            "Answer",
            "Asks",
            "Cost",
            "DecidedBy",
            "Decision",
            "Evidence",
            "SIGNS",
            "overall",
            "weakest",
        ),
        "decision",
    ),
    **dict.fromkeys(
        (
            "Ended",
            "FileDigest",
            "Instruction",
            "Locks",
            "Loop",
            "LoopEnding",
            "PredictionsLock",
            "RubricLock",
            "RunManifest",
            "ScopeChange",
            "SettingsLock",
            "Unfreeze",
        ),
        "manifest",
    ),
    **dict.fromkeys(
        (
            "ArtifactCheck",
            "Check",
            "ExprCheck",
            "Prereg",
            "PreregLock",
        ),
        "prereg",
    ),
    **dict.fromkeys(
        (
            "CheckResult",
            "Digests",
            "JudgeVerdict",
            "Outcome",
            "Verification",
        ),
        "verification",
    ),
    **dict.fromkeys(("describe_faults", "owner"), "faults"),
    **dict.fromkeys(("Layout", "LayoutEntry"), "layout"),
    **dict.fromkeys(
        (
            "POLICY_RULES",
            "Policy",
            "PolicyJudge",
            "PolicyRerun",
            "PolicyRule",
            "against_policy",
            "under_policy",
        ),
        "policy",
    ),
    **dict.fromkeys(("CriterionResult", "CriterionStatus", "ReportSummary", "VerificationReport"), "report"),
    **dict.fromkeys(("NumberClass", "ReportNumber"), "numbers"),
    **dict.fromkeys(
        (
            "Ask",
            "CriterionVerdict",
            "HypothesisVerdict",
            "JudgeReply",
            "JudgeRequest",
            "KeptVerdict",
            "Member",
            "Usage",
            "Withheld",
            "WorkspaceFile",
            "WorkspaceManifest",
        ),
        "judging",
    ),
    **dict.fromkeys(("Point", "Points"), "points"),
    **dict.fromkeys(
        (
            "PLAIN_PROCESS",
            "TOO_LARGE",
            "VALUES",
            "RerunBasis",
            "RerunRecord",
            "counted_values",
            "weakly_isolated",
        ),
        "rerun",
    ),
    **dict.fromkeys(
        ("Change", "ChangeSummary", "Event", "Infeasible", "RevisionPlan", "RevisionTarget"), "rounds"
    ),
    **dict.fromkeys(
        (
            "Criterion",
            "ExecutableRubric",
            "ExpectedArtifact",
            "Goal",
            "Priority",
            "Provenance",
            "RubricArtifact",
            "RubricCheck",
            "RubricExpr",
            "RubricJudge",
            "RubricNumbers",
            "RubricRerun",
            "RubricScore",
        ),
        "rubric",
    ),
}


if not TYPE_CHECKING:  # or a type checker would take any name for one of ours
    from autoscirub.parts import loads

    __getattr__ = loads(
        __name__, {name: f"autoscirub.models.{part}" for name, part in _LATER.items()}, globals()
    )


def __dir__() -> list[str]:
    return sorted(__all__)
