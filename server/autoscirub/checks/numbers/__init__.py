"""The numbers check: is every number in a report found in the results?"""

from autoscirub.checks.numbers.check import (
    FORMATS,
    NumberClass,
    NumbersFound,
    ReportNumber,
    check_numbers,
    classify,
)
from autoscirub.checks.numbers.match import match
from autoscirub.checks.numbers.sources import (
    Source,
    SourceIndex,
    csv_values,
    prediction_values,
    source_values,
)
from autoscirub.checks.numbers.spot import Format, Spotted, find_numbers

__all__ = [
    "FORMATS",
    "Format",
    "NumberClass",
    "NumbersFound",
    "ReportNumber",
    "Source",
    "SourceIndex",
    "Spotted",
    "check_numbers",
    "classify",
    "csv_values",
    "find_numbers",
    "match",
    "prediction_values",
    "source_values",
]
