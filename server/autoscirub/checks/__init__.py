"""What code decides: expressions over results, artifacts, predictions and their lock."""

from autoscirub.checks.artifacts import check_artifact, check_artifacts, path_faults, path_warnings
from autoscirub.checks.criteria import (
    CRITERION_WORDS,
    CriteriaVerification,
    Kept,
    awaiting_reading,
    criterion_status,
    decide_criterion,
    report_of,
    texts_to_read,
    verify_criteria,
)
from autoscirub.checks.criteria_basis import basis
from autoscirub.checks.criteria_gather import gather, numbers_of
from autoscirub.checks.criteria_inputs import NOT_ASKED, Inputs, Reading
from autoscirub.checks.evaluate import CHECK_WORDS, Evaluated, evaluate_checks, plain_value
from autoscirub.checks.expressions import Expression, check_expr, compile_expr, evaluate_expr
from autoscirub.checks.lock import (
    LOCK_NAME,
    existing_results,
    freeze_note,
    read_lock,
    require_frozen,
)
from autoscirub.checks.numbers import NumbersFound, check_numbers
from autoscirub.checks.outcome import OUTCOME_ANSWERS, decide_outcome
from autoscirub.checks.predictions import (
    PREDICTIONS_LIMIT,
    PREDICTIONS_NAME,
    Lint,
    Predictions,
    lint_predictions,
    read_predictions,
)
from autoscirub.checks.report_file import DEFAULT_REPORTS, find_report
from autoscirub.checks.rerun import Rerun, key_lines, last_output, rerun, rerun_basis, rerun_record
from autoscirub.checks.results import (
    DEFAULT_RESULTS,
    Results,
    find_results,
    load_results,
    read_results,
    result_places,
)
from autoscirub.checks.rubric import (
    RUBRIC_LIMIT,
    RUBRIC_NAME,
    SHORT_NAME,
    Rubric,
    load_rubric,
    read_rubric,
    read_short,
)
from autoscirub.checks.rubric_changes import RubricChanges, needs_reading, rubric_changes
from autoscirub.checks.rubric_lint import RubricLint, lint_rubric
from autoscirub.checks.settings_lint import lint_settings

__all__ = [
    "CHECK_WORDS",
    "CRITERION_WORDS",
    "DEFAULT_REPORTS",
    "DEFAULT_RESULTS",
    "LOCK_NAME",
    "NOT_ASKED",
    "OUTCOME_ANSWERS",
    "PREDICTIONS_LIMIT",
    "PREDICTIONS_NAME",
    "RUBRIC_LIMIT",
    "RUBRIC_NAME",
    "SHORT_NAME",
    "CriteriaVerification",
    "Evaluated",
    "Expression",
    "Inputs",
    "Kept",
    "Lint",
    "NumbersFound",
    "Predictions",
    "Reading",
    "Rerun",
    "Results",
    "Rubric",
    "RubricChanges",
    "RubricLint",
    "awaiting_reading",
    "basis",
    "check_artifact",
    "check_artifacts",
    "check_expr",
    "check_numbers",
    "compile_expr",
    "criterion_status",
    "decide_criterion",
    "decide_outcome",
    "evaluate_checks",
    "evaluate_expr",
    "existing_results",
    "find_report",
    "find_results",
    "freeze_note",
    "gather",
    "key_lines",
    "last_output",
    "lint_predictions",
    "lint_rubric",
    "lint_settings",
    "load_results",
    "load_rubric",
    "needs_reading",
    "numbers_of",
    "path_faults",
    "path_warnings",
    "plain_value",
    "read_lock",
    "read_predictions",
    "read_results",
    "read_rubric",
    "read_short",
    "report_of",
    "require_frozen",
    "rerun",
    "rerun_basis",
    "rerun_record",
    "result_places",
    "rubric_changes",
    "texts_to_read",
    "verify_criteria",
]
