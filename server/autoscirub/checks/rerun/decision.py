"""The Decision on a rerun: what was reproduced, what moved, and what is inconclusive."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from autoscirub.checks.artifacts import printable
from autoscirub.checks.rerun.copying import LINK_OUT, SAME_BYTES, CannotRead
from autoscirub.checks.rerun.pairs import Unclear, ValueComparison, ValueStatus
from autoscirub.models import PLAIN_PROCESS, VALUES, Answer, DecidedBy, Decision, Evidence, now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.checks.rerun.copying import Copied
    from autoscirub.models import RunConfig
    from autoscirub.sandbox import Isolated

RERUN_WORDS: dict[Answer, str] = {
    Answer.HOLDS: "reproduced",
    Answer.DOES_NOT_HOLD: "moved",
    Answer.INCONCLUSIVE: "inconclusive",
}
"""Reproduced, never computed: numbers that are written into the code come out of it too."""

_QUESTION = "Do the results come out of the code again?"
_RECORDED = 2_000
"""Comparisons that are recorded, of each of the two kinds: those that agree, and all others."""
_EVIDENCE = 100
_OUTPUT_LINES = 15
_NAMES = 20
_FEW = 5
LAST_OUTPUT = "last output"
"""The key of the evidence with a failed command's output. It is displayed and never recorded: it may hold secrets."""


class Tally:
    """Every comparison counted, and enough of them recorded."""

    def __init__(self) -> None:
        self.agreeing: list[ValueComparison] = []
        self.other: list[ValueComparison] = []
        self.counts: dict[ValueStatus, int] = dict.fromkeys(ValueStatus, 0)
        self.unclear: list[Unclear] = []
        self.ignored: list[str] = []
        self.compared: set[str] = set()
        """The files of which at least one value was compared."""

    def ignore(self, found: ValueComparison | Unclear) -> None:
        """Count what `[run] ignore` leaves out: nothing compared it, and that is reported."""
        self.counts[ValueStatus.IGNORED] += 1
        if len(self.ignored) < _FEW:
            self.ignored.append(found.name if isinstance(found, ValueComparison) else found.path)

    def add(self, found: ValueComparison | Unclear) -> None:
        if isinstance(found, Unclear):
            self.unclear.append(found)
            return
        self.counts[found.status] += 1
        if found.status is not ValueStatus.NEW:
            self.compared.add(found.path)
        group = (
            self.agreeing if found.status in (ValueStatus.EQUAL, ValueStatus.WITHIN_TOLERANCE) else self.other
        )
        if len(group) < _RECORDED:
            group.append(found)

    @property
    def recorded(self) -> list[ValueComparison]:
        return [*self.other, *self.agreeing]

    @property
    def left_out(self) -> list[str]:
        """In words, what was not compared because somebody said so; nothing where all was."""
        count = self.counts[ValueStatus.IGNORED]
        if not count:
            return []
        more = ", …" if count > len(self.ignored) else ""
        return [f"{count:,} not compared, as [run] ignore says: {some(self.ignored)}{more}"]


def decide(
    tally: Tally,
    config: RunConfig,
    digest: str,
    ran: Isolated,
    copied: Copied,
    remarks: Sequence[str],
    unseen: Sequence[str],
) -> Decision:
    """The Decision on everything that was compared.

    `remarks`: what else is open. `unseen`: files that something is decided on and of which nothing was compared.
    """
    counts = tally.counts
    agreeing = counts[ValueStatus.EQUAL] + counts[ValueStatus.WITHIN_TOLERANCE]
    notes = [
        f"{printable(found.path)}: could not be compared: {printable(found.why)}" for found in tally.unclear
    ]
    if counts[ValueStatus.MOVED] or counts[ValueStatus.MISSING]:
        answer = Answer.DOES_NOT_HOLD
    elif tally.unclear or unseen or not agreeing:
        answer = Answer.INCONCLUSIVE
        notes += [
            f"{printable(name)}: nothing of it was compared, and it is decided on; see [run] ignore"
            for name in unseen
        ]
        notes += [] if notes or agreeing else ["nothing was compared: all of it is new or ignored"]
    else:
        answer = Answer.HOLDS
    notes += [*tally.left_out, *remarks]
    if counts[ValueStatus.NEW]:
        new = [found.name for found in tally.other if found.status is ValueStatus.NEW]
        notes.append(f"{counts[ValueStatus.NEW]:,} new, with nothing to compare with: {some(new[:5])}")
    return Decision(
        subject="rerun",
        question=_QUESTION,
        answer=answer,
        word=RERUN_WORDS[answer],
        decided_by=DecidedBy.RERUN,
        evidence=_evidence(tally, config, ran),
        open=[*notes, *_always_open(ran, copied)],
        inputs_digest=digest,
        at=now(),
    )


def undecided(why: str, digest: str | None, ran: Isolated | None, copied: Copied | None = None) -> Decision:
    answer = Answer.INCONCLUSIVE
    return Decision(
        subject="rerun",
        question=_QUESTION,
        answer=answer,
        word=RERUN_WORDS[answer],
        decided_by=DecidedBy.RERUN,
        evidence=_output_evidence(ran) if ran else [],
        open=[why, *(_always_open(ran, copied) if ran and copied else [])],
        inputs_digest=digest,
        at=now(),
    )


def _evidence(tally: Tally, config: RunConfig, ran: Isolated) -> list[Evidence]:
    counted = ", ".join(
        f"{count:,} {status.replace('_', ' ')}"
        for status, count in tally.counts.items()
        if count and status is not ValueStatus.IGNORED
    )
    how = f"rtol {config.rtol:g}, atol {config.atol:g}"
    note = "; ".join([counted or "nothing compared", *tally.left_out, how])
    found = [
        Evidence(
            path=printable(one.path),
            key=None if one.key is None else printable(one.key),
            value=_bounded(one.before),
            note=_note(one),
            status=one.status.value,
        )
        for one in tally.recorded[:_EVIDENCE]
    ]
    return [Evidence(key=VALUES, note=note), Evidence(key="isolation", note=_isolation_note(ran)), *found]


def _note(one: ValueComparison) -> str:
    if one.status is ValueStatus.EQUAL:
        return "equal"
    if one.status is ValueStatus.MISSING:
        return "missing: did not come out again"
    if one.status is ValueStatus.NEW:
        return f"new: {_value(one.after)}"
    return f"{one.status.replace('_', ' ')}: {_value(one.before)} before, {_value(one.after)} after"


def fell_out(entry: Evidence) -> bool:
    """Whether an entry of a rerun's evidence is of a value that moved or is missing: what it does not hold for."""
    return entry.path is not None and entry.status in (ValueStatus.MOVED, ValueStatus.MISSING)


def _value(value: object) -> str:
    return printable(value if isinstance(value, str) else repr(value))


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**64):
        return value
    return printable(repr(value))


def _isolation_note(ran: Isolated) -> str:
    what = PLAIN_PROCESS.removeprefix("plain ") if ran.isolation == "process" else ran.isolation
    return f"{what}; enforced: {', '.join(ran.enforced)}"


def _always_open(ran: Isolated, copied: Copied) -> list[str]:
    """What no rerun settles, and what this one did not enforce."""
    same = [path for path, why in copied.left_out.items() if why == SAME_BYTES]
    links = [path for path, why in copied.left_out.items() if why == LINK_OUT or isinstance(why, CannotRead)]
    return [
        "reproduced is not computed: numbers that are written into the code come out again too",
        *(f"not enforced ({ran.isolation}): {word}" for word in ran.not_enforced),
        *([f"left out, with the same bytes as an output: {some(same)}"] if same else []),
        *([f"left out, a link out of the project or unreadable: {some(links)}"] if links else []),
    ]


def some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(printable(name) for name in names[:_NAMES]) + more


def _output_evidence(ran: Isolated) -> list[Evidence]:
    lines = [printable(line) for line in ran.output.splitlines() if line.strip()][-_OUTPUT_LINES:]
    output = [Evidence(key=LAST_OUTPUT, note="\n".join(lines))] if lines else []
    return [Evidence(key="isolation", note=_isolation_note(ran)), *output]
