"""Six registered checks, evaluated again and again: this package, asteval, simpleeval, and CPython's own eval.

Every side parses once and then evaluates on results that change each time; no side keeps an answer. Times of
one run on one machine are compared with each other alone, the best of several repeats, sides alternating.

    python benchmarks/expressions.py
"""

from __future__ import annotations

import random
from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import asteval
import simpleeval
from table import Row

from autoscirub.checks.expressions import compile_expr

if TYPE_CHECKING:
    from collections.abc import Callable

EXPRESSIONS = {
    "abs": "abs(results.slope + 0.5) < 0.05",
    "chain": "10.2 < results.ratio < 12.4",
    "len": "len(results.seeds) >= 5",
    "nested": "results.model.fit.r2[0] > 0.9",
    "and/or": "results.n > 0 and results.total / results.n > 1",
    "1,000 floats": "sum(results.loss) / len(results.loss) < max(results.loss)",
}

FASTER_THAN_LIBRARIES = {name: 1.0 if name == "1,000 floats" else 5.0 for name in EXPRESSIONS}
"""At least this many times as fast as the faster library."""
SLOWER_THAN_EVAL = 6.0
"""At most this many times the time of `eval` on compiled code."""

HELPERS = {"abs": abs, "all": all, "any": any, "len": len, "max": max, "min": min, "round": round, "sum": sum}
SETS = 16
REPEATS = 9
SECONDS = 0.03
"""Of each side in each repeat."""


class Times(NamedTuple):
    """One expression: microseconds per evaluation of each side, and whether the goals are met."""

    name: str
    ours: float
    asteval: float
    simpleeval: float
    eval: float

    @property
    def faster(self) -> float:
        """How many times as fast as the faster library."""
        return min(self.asteval, self.simpleeval) / self.ours

    @property
    def slower(self) -> float:
        """How many times the time of CPython's eval."""
        return self.ours / self.eval


def make_results(seed: int) -> dict[str, Any]:
    """Results of one imaginary run; no two seeds share a value."""
    chance = random.Random(seed)  # noqa: S311 - data, not a secret
    return {
        "slope": -0.5 + chance.gauss(0, 0.05),
        "ratio": chance.uniform(9, 14),
        "seeds": list(range(chance.randint(3, 8))),
        "model": {"fit": {"r2": [chance.random(), chance.random()]}},
        "n": chance.randint(0, 3),
        "total": chance.uniform(0, 6),
        "loss": [chance.gauss(1, 0.3) for _ in range(1_000)],
    }


def as_namespace(value: Any) -> Any:
    """The same results with attributes, which is what the other sides look up."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_namespace(item) for key, item in value.items()})
    return value


def sides(source: str) -> dict[str, Callable[[Any], Any]]:
    """Each side as a function of one results object, with everything done that can be done once."""
    ours = compile_expr(source).evaluate

    interpreter = asteval.Interpreter()
    tree = interpreter.parse(source)
    symbols, run = interpreter.symtable, interpreter.run

    def with_asteval(results: Any) -> Any:
        symbols["results"] = results
        return run(tree)

    evaluator = simpleeval.SimpleEval(functions=HELPERS)
    parsed = evaluator.parse(source)

    def with_simpleeval(results: Any) -> Any:
        evaluator.names = {"results": results}
        return evaluator.eval(source, previously_parsed=parsed)

    code = compile(source, "<check>", "eval")
    names = {"__builtins__": {}, **HELPERS}

    def with_eval(results: Any) -> Any:
        names["results"] = results
        return eval(code, names)

    return {"ours": ours, "asteval": with_asteval, "simpleeval": with_simpleeval, "eval": with_eval}


def measure(name: str) -> Times:
    """Time all sides on one expression, in turn."""
    plain = [make_results(seed) for seed in range(SETS)]
    named = [as_namespace(results) for results in plain]
    functions = sides(EXPRESSIONS[name])
    inputs = {side: plain if side == "ours" else named for side in functions}
    answers = {side: [run(results) for results in inputs[side]] for side, run in functions.items()}
    if any(answer != answers["eval"] for answer in answers.values()):
        raise SystemExit(f"{name}: the sides do not agree: {answers}")

    best = dict.fromkeys(functions, float("inf"))
    rounds = {
        side: max(1, round(SECONDS / _time(run, inputs[side], 1) / SETS)) for side, run in functions.items()
    }
    for _ in range(REPEATS):
        for side, run in functions.items():
            best[side] = min(best[side], _time(run, inputs[side], rounds[side]))
    return Times(name, *(1e6 * best[side] for side in ("ours", "asteval", "simpleeval", "eval")))


def _time(run: Callable[[Any], Any], inputs: list[Any], rounds: int) -> float:
    """Seconds per evaluation."""
    start = perf_counter()
    for _ in range(rounds):
        for results in inputs:
            run(results)
    return (perf_counter() - start) / rounds / len(inputs)


def main() -> list[Row]:
    """Two rows an expression: against the faster library, and against CPython's eval."""
    rows: list[Row] = []
    for times in map(measure, EXPRESSIONS):
        detail = f"µs: ours {times.ours:.2f}, asteval {times.asteval:.2f}, simpleeval {times.simpleeval:.2f}"
        goal = FASTER_THAN_LIBRARIES[times.name]
        rows.append(
            Row(f"{EXPRESSIONS[times.name]}: times as fast", times.faster, goal, detail, at_least=True)
        )
        rows.append(Row("   times CPython's eval", times.slower, SLOWER_THAN_EVAL, f"eval {times.eval:.2f}"))
    return rows
