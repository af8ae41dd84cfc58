"""What code decides: expressions over results, artifacts, predictions and their lock."""

from autoscirub.checks.artifacts import check_artifact, check_artifacts, path_faults, path_warnings
from autoscirub.checks.evaluate import CHECK_WORDS, Evaluated, evaluate_checks, plain_value
from autoscirub.checks.expressions import Expression, check_expr, compile_expr, evaluate_expr
from autoscirub.checks.lock import (
    LOCK_NAME,
    existing_results,
    freeze_note,
    frozen_bytes,
    read_lock,
    require_frozen,
)
from autoscirub.checks.outcome import OUTCOME_ANSWERS, decide_outcome
from autoscirub.checks.predictions import (
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    Lint,
    Predictions,
    lint_predictions,
    read_predictions,
)
from autoscirub.checks.results import DEFAULT_RESULTS, Results, find_results, load_results, read_results

__all__ = [
    "CHECK_WORDS",
    "DEFAULT_RESULTS",
    "LOCK_NAME",
    "OUTCOME_ANSWERS",
    "PREDICTIONS_LIMIT",
    "PREDICTIONS_NAME",
    "Evaluated",
    "Expression",
    "Lint",
    "Predictions",
    "Results",
    "check_artifact",
    "check_artifacts",
    "check_expr",
    "compile_expr",
    "decide_outcome",
    "evaluate_checks",
    "evaluate_expr",
    "existing_results",
    "find_results",
    "freeze_note",
    "frozen_bytes",
    "lint_predictions",
    "load_results",
    "path_faults",
    "path_warnings",
    "plain_value",
    "read_lock",
    "read_predictions",
    "read_results",
    "require_frozen",
]
