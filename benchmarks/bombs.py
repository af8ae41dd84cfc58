"""A predictions file full of expressions that want to hang or fill the memory: freeze and evaluate them all.

Each expression is asked for on its own too, as `eval` would. The bounds are those that people are promised:
two seconds for the whole file, 200 MB for the process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from table import Row

SECONDS, MEGABYTES = 2.0, 200.0

BOMBS = (
    "9**9**9 > 0",
    "(10**4000)*(10**4000) > 0",
    "[0]*10**9 == []",
    '"a"*10**9 == ""',
    "1 << 10**9",
    "sum([results.x]*10**8) > 0",
    "(" * 200 + "1" + ")" * 200,
    "-" * 5_000 + "1",
    "(" * 10_000 + "1" + ")" * 10_000,
    "results.x > 0 or " * 60_000 + "True",
    "f'{results}'",
    "(lambda: 1)()",
    "results.x = 1",
    "max(results.empty) > 0",
    "results.x / results.n > 1",
    "",
)

_CHILD = """
import json, resource, sys
from autoscirub.checks.expressions import check_expr, compile_expr
from autoscirub.checks.predictions import lint_predictions
from autoscirub.errors import CheckError
bombs = json.loads(sys.stdin.read())
checks = "".join(f"[[checks]]\\nid = 'b{n}'\\nkind = 'expr'\\nexpr = {json.dumps(b)}\\n" for n, b in enumerate(bombs))
lint = lint_predictions(('hypothesis = "h"\\n' + checks).encode())
assert lint.faults
for bomb in bombs:
    try:
        passed, _, _ = check_expr(compile_expr(bomb), {"n": 0, "x": 1.0, "empty": []})
        assert passed is not True or bomb.startswith(("(", "-")), bomb[:60]
    except CheckError:
        pass
sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
"""


def main() -> list[Row]:
    """The measured rows."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(BOMBS),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    seconds, megabytes = time.perf_counter() - started, float(done.stdout)
    return [
        Row(
            f"{len(BOMBS)} bombs, start-up included",
            seconds / SECONDS,
            1.0,
            f"{seconds:.2f} s of {SECONDS:g} s",
        ),
        Row(
            "largest size of the process",
            megabytes / MEGABYTES,
            1.0,
            f"{megabytes:.0f} MB of {MEGABYTES:g} MB",
        ),
    ]
