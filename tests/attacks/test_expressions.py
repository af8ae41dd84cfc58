"""Expressions written to hang, to eat memory, to recurse or to get out: each ends at once, with a refusal.

Promised: 100 ms and 50 MB each. Every one runs in a child process that is killed at five times that.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import autoscirub

SERVER = str(Path(autoscirub.__file__).resolve().parents[1])
MEGABYTES, SECONDS = 50, 0.1
LONG = 90_000
"""Items of the long list, and characters of the long text, in the results that the bombs read."""

BOMBS = {
    "a tower of powers": "9**9**9 > 0",
    "a higher tower": "9**9**9**9**9",
    "a tower on the other side": "0 < (9**9)**(9**9)",
    "a power of a power": "(10**4000)**(10**4000)",
    "a small base and a huge exponent": "3**10**4000",
    "a negative base": "(-7)**(10**9)",
    "a power just over": "2**15000",
    "many products": "*".join(["10**4200"] * 90),
    "a product of two": "(10**4000)*(10**4000) > 0",
    "a float power": "10.0**10**10",
    "a float and a huge exponent": "1.5**(10**4000)",
    "a shift": "1 << 10**9",
    "a long string": '"a"*10**10 == ""',
    "a long list": "[0]*10**9 == []",
    "a long tuple": "10**9*(0,)",
    "a sum of a long list": "sum([results.n]*10**8) > 0",
    "a wide format": "'%1000000000d' % 1",
    "a wide format method": "'{:>1000000000}'.format(1)",
    "rounding to the left of everything": "round(10**4000, -10**9) + 1 == '1'",
    "a concatenation": "+".join(["results.long"] * 90) + " == []",
    "a concatenation of strings": "+".join(["results.text"] * 90) + " == ''",
    "10,000 parentheses": "(" * 10_000 + "1" + ")" * 10_000,
    "4,000 parentheses": "(" * 4_000 + "1" + ")" * 4_000,
    "4,000 open brackets": "[" * 4_000,
    "4,000 dicts": "{1:" * 2_000 + "1" + "}" * 2_000,
    "lists within lists": "[" * 150 + "]" * 150,
    "10,000 unary minuses": "-" * 10_000 + "1",
    "9,000 unary minuses": "-" * 9_000 + "1",
    "150 unary minuses": "-" * 150 + "1",
    "2,000 nots": "not " * 2_000 + "True",
    "9,000 inversions": "~" * 9_000 + "1",
    "a long reference": "results" + ".a" * 4_900,
    "a long index": "results" + "[0]" * 3_000,
    "a long sum": "1+" * 4_900 + "1",
    "a long tower of ones": "1**" * 3_000 + "1",
    "a long chain": "1<" * 4_900 + "2",
    "a long list of ones": "[" + "1," * 4_900 + "]",
    "a long or": "results.n or " * 700 + "1",
    "calls of calls": "abs" + "(1)" * 3_000,
    "calls in calls": "abs(" * 1_500 + "1" + ")" * 1_500,
    "broken calls in calls": "abs(a=" * 1_400 + "1 1" + ")" * 1_400,
    "lambdas": "lambda:" * 1_400 + "1",
    "conditionals": "1 if 1 else " * 800 + "1",
    "f-strings": "f'{" * 150 + "1" + "}'" * 150,
    "a 1 MB sum": "1+" * 500_000 + "1",
    "a 1 MB name": "x" * 1_000_000,
    "a 1 MB string": '"' + "a" * 1_000_000 + '"',
    "1 MB of blanks": " " * 1_000_000 + "1",
    "a long integer": "9" * 9_000,
    "a long hexadecimal integer": "0x" + "f" * 9_000,
    "a long exponent": "1e" + "9" * 9_000,
    "a list that holds itself": "results.loop == [[[1]]]",
    "a walk in a circle": "1 in results.loop",
}
"""None of these has a value; every one must end in a `CheckError`."""

WORK = {
    "100 integers of 4,200 digits": "<=".join(["10**4200"] * 100),
    "remainders of long integers": "%".join(["10**4299"] * 90) + " == 0",
    "a string in itself": " and ".join(["results.text in results.text"] * 50),
    "20 walks": " and ".join(["max(results.long) == sum(results.long)"] * 10),
    "99 lists within each other": "[" * 98 + "]" * 98 + " == []",
    "150 parentheses": "(" * 150 + "True" + ")" * 150,
}
"""Allowed, and as much work as the limits leave."""

ESCAPES = [
    "().__class__.__bases__[0].__subclasses__()",
    "results.__class__.__mro__[1].__subclasses__()",
    "results['__class__']",
    "results.a.__globals__",
    "abs.__self__.__import__('os').system('true')",
    "__import__('os').system('true')",
    "__builtins__",
    "eval('1')",
    "exec('1')",
    "open('/etc/passwd').read()",
    "getattr(results, 'keys')()",
    "results.keys()",
    "results.update({'a': 1})",
    "'{0.__class__}'.format(results)",
    "f'{results.__class__}'",
    "(lambda: 1)()",
    "[c for c in ().__class__.__base__.__subclasses__()]",
    "(x := results)",
    "results.a.append(1)",
    "sorted(results, key=print)",
    "max(results, key=print)",
    "max([1], default=print)",
    "abs(*[1])",
    "ａbs(results.n)",
    "results.__ｃlass__",
    "import os",
    "results.n = 2",
    "del results",
    "print(results)\nTrue",
    "True; print(results)",
]

CHILD = """
import json, resource, signal, sys

server, cases, length, megabytes, seconds = json.load(sys.stdin)
sys.path.insert(0, server)
from autoscirub.checks.expressions import check_expr, compile_expr
from autoscirub.errors import CheckError

loop = []
loop.append(loop)
results = {"n": 1, "long": [0.0] * length, "text": "a" * length, "loop": loop}
with open("/proc/self/statm") as statm:
    baseline = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (baseline + megabytes * 2**20,) * 2)
for source in cases:
    signal.setitimer(signal.ITIMER_PROF, seconds)  # by default the signal kills
    try:
        expression = compile_expr(source)
        expression.cannot_be_false, expression.warnings, expression.canonical
        answer = check_expr(expression, results)[0]
        expression.evaluate(results)
    except CheckError as refused:
        answer = type(refused).__name__
        assert len(str(refused)) < 2_000, "a short message"
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps(answer), flush=True)
"""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the child measures itself in /proc"
)


def answers_within_limits(cases: list[str]) -> list[object]:
    """Each case's answer, from a child that dies at five times the promised time or memory."""
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD],
        input=json.dumps([SERVER, cases, LONG, 5 * MEGABYTES, 5 * SECONDS]),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    stopped = f"stopped at {cases[len(answers)][:80]!r}" if len(answers) < len(cases) else ""
    assert (child.returncode, stopped, child.stderr) == (0, "", "")
    return answers


@needs_proc
def test_every_bomb_is_refused_within_time_and_memory() -> None:
    answers = answers_within_limits(list(BOMBS.values()))
    found = dict(zip(BOMBS, answers, strict=True))
    assert {
        name: answer for name, answer in found.items() if answer not in ("ExpressionRefused", "NotEvaluable")
    } == {}


@needs_proc
def test_the_most_that_the_limits_allow_stays_within_time_and_memory() -> None:
    answers = answers_within_limits(list(WORK.values()))
    assert dict(zip(WORK, answers, strict=True)) == dict.fromkeys(WORK, True) | {
        "99 lists within each other": False
    }


@needs_proc
def test_no_way_out_of_the_grammar_has_a_value() -> None:
    answers = answers_within_limits(ESCAPES)
    found = dict(zip(ESCAPES, answers, strict=True))
    assert {
        source: answer
        for source, answer in found.items()
        if answer not in ("ExpressionRefused", "NotEvaluable")
    } == {}
