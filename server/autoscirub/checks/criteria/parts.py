"""The parts of a criterion that code decides: each check, and each expected artifact with a path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.checks.artifacts import ABSENT, format_of, printable
from autoscirub.checks.criteria.basis import compiled, references
from autoscirub.checks.criteria.inputs import artifact_state
from autoscirub.checks.expressions import (
    MISSING,
    Expression,
    check_expr,
    look_up,
    shorten,
    show,
    spelling,
)
from autoscirub.checks.numbers import open_problems
from autoscirub.checks.predictions import CHECK_WORDS, plain_value
from autoscirub.checks.rerun import RERUN_WORDS, fell_out
from autoscirub.errors import NotEvaluable, PathRefused, ResultsError
from autoscirub.models import (
    PLAIN_PROCESS,
    Answer,
    Decision,
    Evidence,
    counted_values,
    strict_json,
    weakly_isolated,
)

if TYPE_CHECKING:
    from autoscirub.checks.criteria.inputs import ArtifactKey, Inputs
    from autoscirub.checks.results import Results
    from autoscirub.models import Criterion, RubricCheck, RubricExpr, RubricNumbers, RubricRerun

_INCONCLUSIVE = "inconclusive"
_NAMED_NUMBERS = 10
"""Numbers, or values that moved, that a gap names."""
_MAX_VALUE_CHARACTERS = 2_000
"""Characters of a value as JSON that a Decision keeps whole."""


@dataclass(frozen=True)
class Part:
    """One part's Decision, and what a criterion's result says of it."""

    decision: Decision
    found: list[str] = field(default_factory=list)
    """The evidence, in words, of a part that holds."""
    gap: str = ""
    """What is missing, and the file it should be in; empty for a part that holds.

    It says nothing that the criterion's basis does not cover, so that a cached result is never out of date."""
    actions: list[str] = field(default_factory=list)
    """What would close the gap."""
    paths: list[str] = field(default_factory=list)


def decide_parts(criterion: Criterion, inputs: Inputs, *, at: str) -> list[Part]:
    """The checks in their order, then the expected artifacts that no check asks for in the same format."""
    keys = part_keys(criterion)
    parts: list[Part] = []
    for check, key in zip(criterion.checks, keys, strict=False):
        if check.kind == "expr":
            parts.append(_expression(check, inputs.results, at))
        elif key is not None:
            parts.append(_artifact(check.id, key, inputs, at))
        elif check.kind == "numbers":
            parts.append(_numbers(check, inputs.numbers[criterion.criterion_id, check.id], at))
        elif check.kind == "rerun":
            parts.append(_rerun(check, inputs.rerun, at))
        else:
            parts.append(_undecided(check, at))
    parts += [_artifact(key[0], key, inputs, at) for key in keys[len(parts) :] if key is not None]
    return parts


def part_keys(criterion: Criterion) -> list[ArtifactKey | None]:
    """For each of a criterion's parts the artifact that it asks for; None for a part that is about none."""
    keys: list[ArtifactKey | None] = [
        (check.path, check.format) if check.kind == "artifact" else None for check in criterion.checks
    ]
    seen = {(key[0], format_of(*key)) for key in keys if key is not None}
    for artifact in criterion.expected_artifacts:
        if artifact.path and (opened_as := (artifact.path, format_of(artifact.path, None))) not in seen:
            seen.add(opened_as)
            keys.append((artifact.path, None))
    return keys


def _undecided(check: RubricCheck, at: str) -> Part:
    action = f'check "{check.id}" needs a version that decides {check.kind}; nothing in the work closes it'
    return _inconclusive(check, f"{check.kind}: not decided by this version", action, at)


def _inconclusive(check: RubricCheck, why: str, action: str, at: str) -> Part:
    decision = Decision(
        subject=check.id,
        question=check.description or f"Does the {check.kind} check hold?",
        answer=Answer.INCONCLUSIVE,
        word=_INCONCLUSIVE,
        open=[why],
        at=at,
    )
    return Part(decision, gap=f'{why} (check "{check.id}")', actions=[action])


def _numbers(check: RubricNumbers, answer: Decision, at: str) -> Part:
    report = answer.subject
    decision = answer.model_copy(update={"subject": check.id, "at": at})
    own = next((entry for entry in answer.evidence if entry.path == report and entry.note), None)
    counted = f"{report}: {own.note}" if own else ""
    if answer.answer is Answer.HOLDS:
        return Part(decision, found=[counted], paths=[report])
    # What is wrong stands in the evidence, what is open in `open`: both with line, text, source and value.
    wrong = [entry.note for entry in answer.evidence if entry is not own and entry.note]
    named = [*wrong, *answer.open][:_NAMED_NUMBERS]
    more = len(wrong) + len(answer.open) - len(named)
    gap = "; ".join([*([counted] if counted else []), *named, *([f"and {more:,} more"] if more > 0 else [])])
    actions = []
    problems = open_problems(answer)
    if wrong or len(answer.open) > problems:
        actions.append(
            f"make each of these numbers in {report} one of the results, by computing it or by mending the text; "
            "name its source after it (<!-- =results.key -->) where several would do"
        )
    # What is open besides the numbers, such as a source that cannot be read, stands before them.
    if problems:
        actions.append(f"mend what keeps the numbers of {report} from being decided: {answer.open[0]}")
    if not actions:  # whatever an answer names or does not, whoever must act is told something
        actions.append(f"see which numbers of {report} have no source: autoscirub check")
    return Part(decision, gap=gap or f"{report}: {answer.word}", actions=actions, paths=[report])


def _rerun(check: RubricRerun, answer: Decision | None, at: str) -> Part:
    if answer is None:
        why = "not rerun: nothing says how; name the command in [run] of autoscirub.toml"
        return _inconclusive(
            check, why, "say in [run] of autoscirub.toml how the results come out of the code", at
        )
    decision = answer.model_copy(update={"subject": check.id, "at": at})
    counted = counted_values(answer)
    if answer.answer is Answer.HOLDS:
        # The plain word, wherever it ran: nothing is said here that the basis does not cover.
        weak = f"; {PLAIN_PROCESS}" if weakly_isolated(answer) else ""
        summary = "; ".join(filter(None, [RERUN_WORDS[answer.answer], counted]))
        return Part(decision, found=[f"rerun: {summary}{weak}"])
    if answer.answer is Answer.INCONCLUSIVE:
        why = answer.open[0] if answer.open else answer.word
        return Part(
            decision, gap=f"rerun: {why}", actions=["make it run: autoscirub trust, then autoscirub rerun"]
        )
    # What agrees and what is new stands in the evidence beside it, and is no part of what is missing.
    moved = [
        ": ".join(part for part in (entry.path, entry.key, entry.note) if part)
        for entry in answer.evidence
        if fell_out(entry)
    ][:_NAMED_NUMBERS]
    action = "make the code give the results that are there, or run it again and keep what it gives"
    return Part(decision, gap="; ".join([f"rerun: {counted or answer.word}", *moved]), actions=[action])


def _expression(check: RubricExpr, results: Results | ResultsError, at: str) -> Part:
    expression = compiled(check.expr)
    if isinstance(expression, str):
        action = f'mend check "{check.id}" in the rubric; once it is frozen, that is a change of scope'
        return _expression_part(
            check, None, expression, [], at, gap=f'check "{check.id}": {expression}', actions=[action]
        )
    names = [spelling(keys) for keys in references(expression)]
    if isinstance(results, ResultsError):
        action = (
            f"write {_joined(names) or 'the results'} into the results file, where it can be read: {results}"
        )
        return _expression_part(check, None, str(results), [], at, gap=str(results), actions=[action])
    values = {
        name: look_up(keys, results.values) for name, keys in zip(names, references(expression), strict=True)
    }
    missing = [name for name, value in values.items() if value is MISSING]
    there = {name: value for name, value in values.items() if value is not MISSING}
    passed, _, message = check_expr(expression, results.values)
    evidence = [
        Evidence(path=results.path, sha256=results.sha256, key=name, value=_bounded_value(value))
        for name, value in there.items()
    ]
    source = shorten(check.expr.strip())
    found, gap, actions = [], "", []
    if passed:
        found = [f"{results.path}: {name} = {show(value)}" for name, value in there.items()]
    elif passed is False:
        gap = f"{results.path}: {message}"
        actions = [f"make {source} true in {results.path} by computing more; {_what_it_is(there)}"]
    elif missing and _unresolved(expression, results.values) in missing:
        gap = f"{results.path}: no {_joined(missing)}, so {source} could not be evaluated"
        actions = [f"write {_keys(missing)} into {results.path}"]
    else:
        gap = f"{results.path}: {message}"
        actions = [f"make {results.path} such that {source} can be evaluated; {_what_it_is(there)}"]
    return _expression_part(
        check, passed, message, evidence, at, found=found, gap=gap, actions=actions, paths=[results.path]
    )


def _expression_part(
    check: RubricExpr, passed: bool | None, message: str, evidence: list[Evidence], at: str, **fields: Any
) -> Part:
    answer, word = CHECK_WORDS["expr", passed]
    decision = Decision(
        subject=check.id,
        question=check.expr,
        answer=answer,
        word=word,
        evidence=[*evidence, *([Evidence(note=message)] if passed is False else [])],
        open=[message] if passed is None else [],
        at=at,
    )
    return Part(decision, **fields)


def _unresolved(expression: Expression, results: dict[str, Any]) -> str | None:
    """The reference that leads nowhere and keeps `expression` from having a value; None where it is something else."""
    try:
        expression.evaluate(results)
    except NotEvaluable as fault:
        return fault.reference
    return None


def _keys(names: list[str]) -> str:
    """`the key 'interval'`, and a reference that leads further as it is written."""
    return _joined(
        [
            f"the key {name.removeprefix('results.')!r}"
            if name.removeprefix("results.").isidentifier()
            else name
            for name in names
        ]
    )


def _what_it_is(values: dict[str, Any]) -> str:
    if len(values) == 1:
        return f"it is {next(show(value) for value in values.values())}"
    return shorten(
        ", ".join(f"{name} is {show(value)}" for name, value in values.items()), _MAX_VALUE_CHARACTERS
    )


def _joined(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _bounded_value(value: Any) -> Any:
    plain = plain_value(value)
    if isinstance(plain, str | list | dict) and len(strict_json(plain, indent=None)) > _MAX_VALUE_CHARACTERS:
        return show(value)
    return plain


def _artifact(subject: str, key: ArtifactKey, inputs: Inputs, at: str) -> Part:
    found = inputs.artifacts[key]
    path, state = printable(key[0]), artifact_state(found)
    if isinstance(found, PathRefused):
        decision = Decision(
            subject=subject,
            question=f"Is {path} there?",
            answer=Answer.INCONCLUSIVE,
            word=_INCONCLUSIVE,
            open=[state],
            at=at,
        )
        return Part(decision, gap=state, actions=[f"produce {path} as a file of the project itself"])
    decision = found.model_copy(update={"subject": subject, "at": at})
    about = state.removeprefix(f"{path}: ")
    if found.answer is Answer.HOLDS:
        [seen] = found.evidence
        words = f"{path} ({seen.size:,} bytes, sha256 {(seen.sha256 or '')[:12]}…)"
        return Part(decision, found=[f"{words}; {about}" if about else words], paths=[key[0]])
    if found.answer is Answer.INCONCLUSIVE:
        action = f"make {path} such that it can be opened here"
    else:
        missing = any(entry.status == ABSENT for entry in found.evidence)
        action = f"produce {path}" if missing else f"produce {path} again, since it fails: {about}"
    return Part(decision, gap=state, actions=[action], paths=[key[0]])
