"""The numbers check: is every number in a report found in the results?"""

from autoscirub.checks.numbers.check import (
    FORMATS,
    NumbersFound,
    check_numbers,
    classify,
    decide_numbers,
    names_number,
)
from autoscirub.checks.numbers.gather import source_fault, source_files
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
    "NumbersFound",
    "Source",
    "SourceIndex",
    "Spotted",
    "check_numbers",
    "classify",
    "csv_values",
    "decide_numbers",
    "find_numbers",
    "match",
    "names_number",
    "prediction_values",
    "source_fault",
    "source_files",
    "source_values",
]
