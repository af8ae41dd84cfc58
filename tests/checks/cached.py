"""Results of an earlier round, as a later one finds them cached."""

from __future__ import annotations

from autoscirub.checks.criteria import CachedResult, CriteriaVerification
from autoscirub.models import (
    VerificationReport,
    strict_json,
)

AT, LATER = "2026-01-31T09:00:00Z", "2026-02-01T09:00:00Z"


def keep(verification: CriteriaVerification, round_number: int = 1) -> dict[str, CachedResult]:
    """What a later round has: the answers as a report carries them, written and read again."""
    report = VerificationReport.counted(
        round=round_number, criteria=verification.results, decisions=verification.decisions
    )
    read = VerificationReport.model_validate_json(strict_json(report))
    return {
        result.criterion_id: CachedResult(result, decision, read.round)
        for result, decision in zip(read.criteria, read.decisions, strict=True)
    }
