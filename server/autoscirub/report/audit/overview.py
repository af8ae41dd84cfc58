"""Renders the audit as text: what the conclusions rest on, then criteria by rounds, flips, and what changed in between.

The text stays bounded however long the record is: it says where the middle is left out. `--json` has all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from autoscirub.models import SIGNS, Answer
from autoscirub.report.audit.bounded_text import bounded, counted, elided, listed, short
from autoscirub.report.terminal import plain, sign, sign_for_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.models import Anchored, Audit, Basis, Between, Cell, CriterionRow, Flip, Unfreeze, Unread

_UNREAD = 12
_NOTICES = 20
_STEPS = 12
_ROWS = 40
_ID_WIDTH = 28
_FIRST_ROUNDS, _LAST_ROUNDS = 3, 9
_FIRST_FLIPS, _LAST_FLIPS = 8, 16
_FIRST_BETWEEN, _LAST_BETWEEN = 3, 7

_DECIDED = {"code": "code", "nobody": "nobody (inconclusive)", "error": "nobody, for an error"}
_PARTS = {
    "rules": "the rules of deciding (another version)",
    "criterion": "the criterion itself",
    "judge": "the judge's settings",
}
"""What an answer rests on, in words, where its name alone says too little."""


def render_audit(found: Audit, stream: TextIO) -> str:
    """The whole audit as text."""
    lines = [
        f"record of {short(found.project)}: {counted(found.steps, 'step')}, {short(found.first_at)} to "
        f"{short(found.last_at)}, the newest {found.head}",
        "This is what was recorded. Whether the files are still so: autoscirub check --read-only",
        "",
        "what this rests on",
        *_basis(found.basis, stream),
    ]
    if found.rounds:
        lines += ["", "criteria by rounds", *_table(found, stream)]
    lines += bounded([f"  {short(note)}" for note in found.odd], _NOTICES)
    if found.ended is not None:
        lines.append(
            f"  the loop ended in round {found.ended.round}: {found.ended.state} ({short(found.ended.why)})"
        )
    if found.flips:
        lines += ["", "why an answer changed"]
        lines += elided(found.flips, _FIRST_FLIPS, _LAST_FLIPS, "changes", lambda flip: _flip(flip, stream))
    if found.between:
        lines += ["", "what changed between rounds"]
        lines += elided(found.between, _FIRST_BETWEEN, _LAST_BETWEEN, "such gaps", _between)
    return "\n".join(lines)


def _basis(basis: Basis, stream: TextIO) -> list[str]:
    lines = [f"  {line}" for line in _counts(basis)]
    lines += _unread(basis.unread, basis.criteria, stream)
    outcome = sign(basis.predictions.answer, stream) if basis.predictions else "–"
    lines.append(f"  predictions: {outcome} {short(basis.headline)}")
    if basis.freeze and basis.freeze not in basis.headline:
        lines.append(f"    {short(basis.freeze)}")
    lines += bounded([_unfreeze(entry) for entry in basis.unfreezes])
    if basis.freeze and not basis.unfreezes:
        lines.append("    never unfrozen")
    if basis.rerun:
        lines.append(f"  rerun: {short(basis.rerun)}")
    if basis.not_done:
        lines.append(f"  {' · '.join(basis.not_done)}")
    lines += _scope(basis)
    lines.append(f"  asks: {short(basis.asks)}")
    lines += [f"  calibration: {short(basis.calibration, 600)}"] if basis.calibration else []
    lines += [f"  {short(basis.families)}"] if basis.families else []
    lines += bounded([f"  the judge's reasons on {short(reason)}" for reason in basis.reasons], _NOTICES)
    lines += bounded([f"  concern: {short(concern)}" for concern in basis.concerns], _NOTICES)
    if not basis.notices:
        lines.append("  history: no irregularities were noted")
    lines += bounded([f"  history: {short(notice)}" for notice in basis.notices], _NOTICES)
    lines += _anchor(basis.anchor, basis.unanchored)
    lines.append("  what the owner could have forged")
    return [*lines, *(f"    {line}" for line in basis.forgeable)]


def _unfreeze(entry: Unfreeze) -> str:
    existed = "results existed by then" if entry.results_existed else "no results file was there by then"
    return f"    unfrozen at {short(entry.at)} (by {entry.by}): {short(entry.reason)}; {existed}"


def _counts(basis: Basis) -> list[str]:
    if basis.round is None:
        return ["requirements: none were verified"]
    decided = [f"{count} decided by {_DECIDED.get(name, name)}" for name, count in basis.decided.items()]
    lines = [
        f"requirements, round {basis.round}: {basis.criteria} criteria, {', '.join(decided) or 'none decided'}"
    ]
    if basis.reused:
        sources = listed([f"{count} from round {number}" for number, count in basis.reused.items()])
        lines.append(
            f"reused, since nothing they rest on changed: {sum(basis.reused.values())} answers ({sources})"
        )
    return lines


def _unread(unread: Sequence[Unread], criteria: int, stream: TextIO) -> list[str]:
    if not unread:
        return []
    lines = [
        f"  on this record no judge and no person looked at, code or a rerun alone decided: {len(unread)} of {criteria}"
    ]
    # Those that hold come first: it is their words that nobody read.
    for entry in sorted(unread, key=lambda entry: entry.answer is not Answer.HOLDS)[:_UNREAD]:
        lines.append(
            f"    {sign(entry.answer, stream)} {short(entry.criterion_id)}: {short(entry.requirement)}"
        )
        claims = [(f'        "{short(claim.text)}"', short(claim.check)) for claim in entry.claims]
        lines += bounded(
            [line for text, check in claims for line in (text, f"          is claimed by {check}")]
        )
        if entry.checks:
            lines.append(f"        decided by {listed(entry.checks)}")
    if len(unread) > _UNREAD:
        lines.append(f"    and {len(unread) - _UNREAD} more; --json has all")
    return lines


def _scope(basis: Basis) -> list[str]:
    if not basis.scope_changes:
        return ["  scope: not changed after a freeze"]
    lines = [f"  scope: changed {counted(len(basis.scope_changes), 'time')} after a freeze"]
    changes = [
        f"    {short(change.at)} by {change.by} ({listed([*change.criteria, *change.settings])}): "
        f"{short(change.reason)}"
        for change in reversed(basis.scope_changes)
    ]
    return [*lines, *bounded(changes)]


def _anchor(anchor: Anchored | None, unanchored: Sequence[int]) -> list[str]:
    if anchor is None:
        rounds = f"; {_rounds(unanchored)} rest on this record alone" if unanchored else ""
        return [f"  anchored: nowhere{rounds}. `autoscirub anchor` says how"]
    since = (
        f"{counted(len(unanchored), 'round')} since: {_rounds(unanchored)}"
        if unanchored
        else "no round since"
    )
    return [f"  anchored at {anchor.head} ({short(anchor.where)}), recorded at {short(anchor.at)}; {since}"]


def _rounds(numbers: Sequence[int]) -> str:
    """`rounds 1–3, 5`: each run of numbers in short."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return f"round{'s' if len(numbers) != 1 else ''} {listed(['–'.join(map(str, run)) for run in runs])}"


def _table(found: Audit, stream: TextIO) -> list[str]:
    """Criteria by rounds: one sign for each answer, with = where it was reused."""
    places = list(range(len(found.rounds)))
    visible = (
        places
        if len(places) <= _FIRST_ROUNDS + _LAST_ROUNDS + 1
        else places[:_FIRST_ROUNDS] + places[-_LAST_ROUNDS:]
    )
    gap = _FIRST_ROUNDS if len(visible) < len(places) else None
    rows = _chosen(found.criteria)
    columns = [found.rounds[place] for place in visible]
    head = [str(column.number) for column in columns]
    counts = [f"{column.passed}/{column.passed + column.failed}" for column in columns]
    often = [f"{column.verified}×" for column in columns]
    width = max(len(text) for text in [*head, *counts, *often, "[ok]="]) + 1
    names = min(_ID_WIDTH, max((len(short(row.criterion_id)) for row in rows), default=0))
    names = max(names, len("satisfied"))

    def line(name: str, cells: Sequence[tuple[str, int]]) -> str:
        parts = [" " * (width - length) + text for text, length in cells]
        if gap is not None:
            parts.insert(gap, " …")
        return f"  {name:<{names}}{''.join(parts)}".rstrip()

    def measured(texts: Sequence[str]) -> list[tuple[str, int]]:
        return [(text, len(text)) for text in texts]

    lines = [line("round", measured(head))]
    lines += [
        line(short(row.criterion_id, names), [_sign(row.cells[place], stream) for place in visible])
        for row in rows
    ]
    lines.append(line("satisfied", measured(counts)))
    if any(column.verified > 1 for column in columns):
        lines.append(line("verified", measured(often)))
    if gap is not None:
        lines.append(f"  … {len(places) - len(visible)} rounds in between are left out; --json has all")
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
    listed_ids = {row.criterion_id for row in open_once[:_ROWS]}
    for row in rows:
        if len(listed_ids) >= _ROWS:
            break
        listed_ids.add(row.criterion_id)
    return [row for row in rows if row.criterion_id in listed_ids]


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
        f"  {short(flip.criterion_id)}: {before} in round {flip.before_round}, {after} in round {flip.after_round}; "
        f"changed: {listed(because) if because else 'nothing that the record names'}"
    ]
    for number, texts in ((flip.before_round, flip.gone), (flip.after_round, flip.come)):
        lines += bounded([f"      round {number}: {short(text)}" for text in texts])
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
            lines.append(f"    {word:<8} {listed(paths)}")
    lines += bounded([f"    said     {short(text)}" for text in entry.reviser_notes])
    if len(entry.steps) > _STEPS:
        lines.append(f"    {len(entry.steps) - _STEPS} earlier steps are left out; --json has all")
    lines += [f"    {short(text)}" for text in entry.steps[-_STEPS:]]
    return lines
