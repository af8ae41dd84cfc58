"""The audit in a terminal: what it rests on first, then criteria by rounds, flips, and what changed in between.

However long the record, the text stays bounded: the middle is left out, and says so. `--json` has all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO, TypeVar

from autoscirub.models import SIGNS, Answer
from autoscirub.report.terminal import plain, sign, sign_for_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from autoscirub.models.audit import (
        Anchored,
        Audit,
        Basis,
        Between,
        Cell,
        CriterionRow,
        Finding,
        Flip,
        RecordVerified,
        Unread,
    )

__all__ = ["render_anchor", "render_audit", "render_record_verified"]

Entry = TypeVar("Entry")

_TEXT = 200
"""Characters of one text of the record on one line."""
_LIST = 8
"""Paths, ids or texts of one list."""
_UNREAD = 12
_NOTICES = 20
_STEPS = 12
_ROWS = 40
_ID_WIDTH = 28
_FIRST_ROUNDS, _LAST_ROUNDS = 3, 9
_FIRST_FLIPS, _LAST_FLIPS = 8, 16
_FIRST_BETWEEN, _LAST_BETWEEN = 3, 7
_FINDINGS = 60

_DECIDED = {"code": "code", "nobody": "nobody (could not be told)", "error": "nobody, for an error"}
_PARTS = {
    "rules": "the rules of deciding (another version)",
    "criterion": "the criterion itself",
    "judge": "the judge's settings",
}
"""What an answer rests on, in words, where its name alone says too little."""


def render_audit(found: Audit, stream: TextIO) -> str:
    """The whole audit as text."""
    lines = [
        f"record of {_text(found.project)}: {_count(found.steps, 'step')}, {_text(found.first_at)} to "
        f"{_text(found.last_at)}, the newest {found.head}",
        "This is what was recorded. Whether the files are still so: autoscirub check --read-only",
        "",
        "what this rests on",
        *_basis(found.basis, stream),
    ]
    if found.rounds:
        lines += ["", "criteria by rounds", *_table(found, stream)]
    lines += [f"  {_text(said)}" for said in _some(found.odd, _NOTICES, 0)]
    if found.ended is not None:
        lines.append(
            f"  the loop ended in round {found.ended.round}: {found.ended.state} ({_text(found.ended.why)})"
        )
    if found.flips:
        lines += ["", "why an answer changed"]
        lines += _elided(found.flips, _FIRST_FLIPS, _LAST_FLIPS, "changes", lambda flip: _flip(flip, stream))
    if found.between:
        lines += ["", "what changed between rounds"]
        lines += _elided(found.between, _FIRST_BETWEEN, _LAST_BETWEEN, "such gaps", _between)
    return "\n".join(lines)


def _basis(basis: Basis, stream: TextIO) -> list[str]:
    lines = [f"  {line}" for line in _counts(basis)]
    lines += _unread(basis.unread, basis.criteria, stream)
    outcome = sign(basis.predictions.answer, stream) if basis.predictions else "–"
    lines.append(f"  predictions: {outcome} {_text(basis.headline)}")
    if basis.freeze and basis.freeze not in basis.headline:
        lines.append(f"    {_text(basis.freeze)}")
    lines += [
        f"    unfrozen at {entry.at} (by {entry.by}): {_text(entry.reason)}; "
        + ("results existed by then" if entry.results_existed else "no results file was there by then")
        for entry in _some(basis.unfreezes, _LIST, 0)
    ]
    if basis.freeze and not basis.unfreezes:
        lines.append("    never unfrozen")
    if basis.not_done:
        lines.append(f"  {' · '.join(basis.not_done)}")
    lines += _scope(basis)
    lines.append(f"  asks: {_text(basis.asks)}")
    if not basis.notices:
        lines.append("  history: nothing amiss was noted")
    lines += [f"  history: {_text(notice)}" for notice in _some(basis.notices, _NOTICES, 0)]
    lines += _anchor(basis.anchor, basis.unanchored)
    lines.append("  what the owner could have forged")
    return [*lines, *(f"    {line}" for line in basis.forgeable)]


def _counts(basis: Basis) -> list[str]:
    if basis.round is None:
        return ["requirements: none were verified"]
    decided = [f"{count} decided by {_DECIDED.get(name, name)}" for name, count in basis.decided.items()]
    lines = [
        f"requirements, round {basis.round}: {basis.criteria} criteria, {', '.join(decided) or 'none decided'}"
    ]
    if basis.reused:
        kept = ", ".join(
            f"{count} from round {number}" for number, count in _some(basis.reused.items(), _LIST, 0)
        )
        lines.append(
            f"reused, since nothing they rest on changed: {sum(basis.reused.values())} answers ({kept})"
        )
    return lines


def _unread(unread: Sequence[Unread], criteria: int, stream: TextIO) -> list[str]:
    if not unread:
        return []
    lines = [f"  looked at by no judge and no person, code alone decided: {len(unread)} of {criteria}"]
    for entry in unread[:_UNREAD]:
        lines.append(
            f"    {sign(entry.answer, stream)} {_text(entry.criterion_id)}: {_text(entry.requirement)}"
        )
        lines += [
            f'        "{_text(claim.text)}" is what {_text(claim.check)} claims to settle'
            for claim in _some(entry.claims, _LIST, 0)
        ]
        if entry.checks:
            lines.append(f"        decided by {_listed(entry.checks)}")
    if len(unread) > _UNREAD:
        lines.append(f"    and {len(unread) - _UNREAD} more; --json has all")
    return lines


def _scope(basis: Basis) -> list[str]:
    if not basis.scope_changes:
        return ["  scope: not changed after a freeze"]
    lines = [f"  scope: changed {_count(len(basis.scope_changes), 'time')} after a freeze"]
    for change in _some(basis.scope_changes, 0, _LIST):
        what = _listed([*change.criteria, *change.settings])
        lines.append(f"    {change.at} by {change.by} ({what}): {_text(change.reason)}")
    return lines


def _anchor(anchor: Anchored | None, unanchored: Sequence[int]) -> list[str]:
    if anchor is None:
        rounds = f"; {_rounds(unanchored)} rest on this record alone" if unanchored else ""
        return [f"  anchored: nowhere{rounds}. `autoscirub anchor` says how"]
    rounds = f"not covered: {_rounds(unanchored)}" if unanchored else "every round is covered"
    return [
        f"  anchored at {anchor.head} ({_text(anchor.where)}), said at {anchor.at}; {_count(len(unanchored), 'round')} "
        f"since; {rounds}"
    ]


def _rounds(numbers: Sequence[int]) -> str:
    """`rounds 1–3, 5`: each run of numbers in short."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    said = _some(["–".join(map(str, run)) for run in runs], _LIST, _LIST)
    return f"round{'s' if len(numbers) != 1 else ''} {', '.join(said)}"


def _table(found: Audit, stream: TextIO) -> list[str]:
    """Criteria by rounds: one sign for each answer, with = where it was reused."""
    places = list(range(len(found.rounds)))
    shown = (
        places
        if len(places) <= _FIRST_ROUNDS + _LAST_ROUNDS + 1
        else places[:_FIRST_ROUNDS] + places[-_LAST_ROUNDS:]
    )
    gap = _FIRST_ROUNDS if len(shown) < len(places) else None
    rows = _chosen(found.criteria)
    columns = [found.rounds[place] for place in shown]
    head = [str(column.number) for column in columns]
    counts = [f"{column.passed}/{column.passed + column.failed}" for column in columns]
    often = [f"{column.verified}×" for column in columns]
    width = max(len(text) for text in [*head, *counts, *often, "[ok]="]) + 1
    names = min(_ID_WIDTH, max((len(_text(row.criterion_id)) for row in rows), default=0))
    names = max(names, len("satisfied"))

    def line(name: str, cells: Sequence[tuple[str, int]]) -> str:
        parts = [" " * (width - length) + text for text, length in cells]
        if gap is not None:
            parts.insert(gap, " …")
        return f"  {name:<{names}}{''.join(parts)}".rstrip()

    def told(texts: Sequence[str]) -> list[tuple[str, int]]:
        return [(text, len(text)) for text in texts]

    lines = [line("round", told(head))]
    lines += [
        line(_text(row.criterion_id, names), [_sign(row.cells[place], stream) for place in shown])
        for row in rows
    ]
    lines.append(line("satisfied", told(counts)))
    if any(column.verified > 1 for column in columns):
        lines.append(line("verified", told(often)))
    if gap is not None:
        lines.append(f"  … {len(places) - len(shown)} rounds in between are left out; --json has all")
    if len(rows) < len(found.criteria):
        lines.append(f"  and {len(found.criteria) - len(rows)} criteria more; --json has all")
    legend = [f"{sign(answer, stream)} {words}" for answer, (_, words) in SIGNS.items()]
    lines.append(
        f"  {' · '.join(legend)} · {sign_for_error(stream)} error · = reused · blank: not in that rubric"
    )
    return lines


def _chosen(rows: Sequence[CriterionRow]) -> list[CriterionRow]:
    """The rows to show: of too many, those that were not satisfied at some time come first."""
    if len(rows) <= _ROWS:
        return list(rows)
    open_once = [row for row in rows if any(cell and cell.answer is not Answer.HOLDS for cell in row.cells)]
    kept = {row.criterion_id for row in open_once[:_ROWS]}
    for row in rows:
        if len(kept) >= _ROWS:
            break
        kept.add(row.criterion_id)
    return [row for row in rows if row.criterion_id in kept]


def _sign(cell: Cell | None, stream: TextIO) -> tuple[str, int]:
    """What stands in a cell, and its width without colours."""
    if cell is None:
        return " ", 1
    mark = "=" if cell.reused_from is not None else " "
    text = sign_for_error(stream) if cell.status == "error" else sign(cell.answer, stream)
    return text + mark, len(plain(text)) + 1


def _flip(flip: Flip, stream: TextIO) -> list[str]:
    before, after = (_sign(cell, stream)[0].rstrip() for cell in (flip.before, flip.after))
    because = [_PARTS.get(part, part) for part in flip.because]
    lines = [
        f"  {_text(flip.criterion_id)}: {before} in round {flip.before_round}, {after} in round {flip.after_round}; "
        f"changed: {_listed(because) if because else 'nothing that the record names'}"
    ]
    for number, texts in ((flip.before_round, flip.gone), (flip.after_round, flip.come)):
        lines += [f"      round {number}: {_text(text)}" for text in _some(texts, _LIST, 0)]
    return lines


def _between(entry: Between) -> list[str]:
    if entry.before is None:
        title = f"before round {entry.after}" if entry.after is not None else "no rounds"
    else:
        title = (
            f"after round {entry.before}" if entry.after is None else f"round {entry.before} → {entry.after}"
        )
    lines = [f"  {title}"]
    for word, paths in (
        ("planned", entry.targets),
        ("added", entry.added),
        ("changed", entry.changed),
        ("removed", entry.removed),
    ):
        if paths:
            lines.append(f"    {word:<8} {_listed(paths)}")
    lines += [f"    said     {_text(text)}" for text in _some(entry.said, _LIST, 0)]
    if len(entry.steps) > _STEPS:
        lines.append(f"    {len(entry.steps) - _STEPS} earlier steps are left out; --json has all")
    lines += [f"    {_text(text)}" for text in entry.steps[-_STEPS:]]
    return lines


def render_record_verified(found: RecordVerified, stream: TextIO) -> str:
    """What held of the record, what did not, what could not be checked here, and what cannot be shown at all."""
    lines = [f"record of {_count(found.steps, 'step')}, the newest {found.head}"]
    for decision in found.decisions:
        lines.append(f"{sign(decision.answer, stream)} {_text(decision.subject)}: {_text(decision.word)}")
        group = [finding for finding in found.findings if finding.group == decision.subject]
        faults = [finding for finding in group if finding.answer is Answer.DOES_NOT_HOLD]
        unknown = [finding for finding in group if finding.answer is Answer.COULD_NOT_BE_TOLD]
        lines += [_finding(finding, stream) for finding in faults[:_FINDINGS]]
        if len(faults) > _FINDINGS:
            lines.append(f"  and {len(faults) - _FINDINGS} faults more; --json has all")
        lines += [_finding(finding, stream) for finding in unknown[:_UNREAD]]
        if len(unknown) > _UNREAD:
            lines.append(f"  and {len(unknown) - _UNREAD} more that could not be told; --json has all")
    return "\n".join([*lines, "what this cannot show", *(f"  {line}" for line in found.cannot_show)])


def _finding(finding: Finding, stream: TextIO) -> str:
    where = f"{_text(finding.where)}: " if finding.where else ""
    return f"  {sign(finding.answer, stream)} {where}{_text(finding.said, 2 * _TEXT)}"


def render_anchor(head: str, recorded: str | None) -> str:
    """The head of a record, and how somebody else gets to hold it."""
    lines = [head]
    if recorded is not None:
        return "\n".join([*lines, f"recorded as held: {_text(recorded)}"])
    name = f"autoscirub-{head[:12]}"
    return "\n".join(
        [
            *lines,
            "Give it to somebody who is not you, and who keeps the time. One of:",
            f"  git tag -a {name} -m {head} && git push origin {name}",
            f"  git notes --ref=autoscirub add -f -m {head} && git push origin refs/notes/autoscirub",
            "  in CI: print it, or keep .autoscirub/history.bundle as an artefact of the run",
            f"Then say so in the record: autoscirub anchor --record 'the tag {name} on origin' --head {head}",
            f"Later, anyone compares: autoscirub audit verify --expect {head}",
        ]
    )


def _text(value: str, most: int = _TEXT) -> str:
    """A text of the record on one bounded line, with nothing that a terminal would obey."""
    value = plain(value[: 4 * most])
    return value if len(value) <= most else f"{value[: most - 1]}…"


def _listed(entries: Sequence[str]) -> str:
    shown = [_text(entry) for entry in entries[:_LIST]]
    more = len(entries) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _some(entries: Iterable[Entry], first: int, last: int) -> list[Entry]:
    """The first and the last of many."""
    every = list(entries)
    return every if len(every) <= first + last else [*every[:first], *every[len(every) - last :]]


def _elided(
    entries: Sequence[Entry], first: int, last: int, what: str, shown: Callable[[Entry], list[str]]
) -> list[str]:
    """Every entry's lines; of too many, those of the first and the last, and how many are left out."""
    if len(entries) <= first + last:
        return [line for entry in entries for line in shown(entry)]
    lines = [line for entry in entries[:first] for line in shown(entry)]
    lines.append(f"  … {len(entries) - first - last} {what} are left out; --json has all")
    return [*lines, *(line for entry in entries[-last:] for line in shown(entry))]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
