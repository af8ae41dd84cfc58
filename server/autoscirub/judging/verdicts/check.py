"""Checks a verdict from its fields before it counts, and says what the judge is to be asked about once more."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoscirub.judging.verdicts.consistency import limits, mismatches, open_actions, open_gap
from autoscirub.judging.verdicts.entries import FLAGS, ReplyEntry, entry_of, with_published
from autoscirub.judging.verdicts.evidence import look_up
from autoscirub.judging.verdicts.replies import HYPOTHESIS_SUBJECT, read_answer, verdict_objects
from autoscirub.judging.verdicts.visible_files import VisibleFiles
from autoscirub.models import CriterionVerdict, HypothesisVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autoscirub.models import AskKind, JudgeReply, WorkspaceManifest

MAX_POINTS = 20


@dataclass(frozen=True)
class CheckedVerdict:
    """A verdict, and what stands against it."""

    verdict: CriterionVerdict | HypothesisVerdict
    faults: list[str] = field(default_factory=list)
    """What the judge's word cannot settle: evidence that is not there, or not its own."""
    questions: list[str] = field(default_factory=list)
    """What the judge is asked to confirm or to correct."""
    remarks: list[str] = field(default_factory=list)
    """For readers alone."""

    @property
    def counts(self) -> bool:
        """Whether the flag counts as it is, with nothing to ask."""
        return not self.faults and not self.questions


def check_verdict(
    entry: ReplyEntry, root: Path, manifest: WorkspaceManifest, *, prose: str = ""
) -> CheckedVerdict:
    """What stands against the verdict in `entry`. Raises nothing, whatever it says.

    `prose`: what the reply says around its object, fences aside.
    """
    assert entry.verdict is not None  # noqa: S101 - whoever parsed it has refused the others
    files = VisibleFiles(root, manifest)
    verdict = with_published(entry.verdict, files.paths)
    faults = list(entry.faults)
    questions = [*entry.questions, *mismatches(verdict)]
    remarks: list[str] = []
    rests = verdict.flag is True or (verdict.flag is False and isinstance(verdict, HypothesisVerdict))
    resolved = 0
    for number, cited in enumerate(verdict.evidence):
        found = look_up(files, cited)
        if found.fault:
            (faults if rests else remarks).append(f"evidence[{number}]: {found.fault}")
        else:
            resolved += 1
            questions += (
                [f"evidence[{number}] cuts a sentence short: {found.cut}"] if found.cut and rests else []
            )
            remarks += [found.remark] if found.remark else []
    if rests and not resolved and not faults:
        faults.append("no evidence was given that can be looked up: a file, a place in it, and what is there")
    if rests and (copied := _copied(files, verdict)):
        faults.append(copied)
    if verdict.flag is not None and prose.strip():
        questions.append("text stands around the JSON object; expected the object alone")
    return CheckedVerdict(
        verdict, faults[:MAX_POINTS], list(dict.fromkeys(questions))[:MAX_POINTS], remarks[:MAX_POINTS]
    )


def question_back(checked: CheckedVerdict, subject: str, kind: AskKind) -> str:
    """The one question that a judge is asked about its verdict, naming each point."""
    name = FLAGS[kind]
    listed = "\n".join(f"- {point}" for point in (*checked.faults, *checked.questions))
    own = {"criterion_id": subject, "confirmed": True} if kind == "criterion" else {"confirmed": True}
    return (
        f"Your verdict ({name}: {json.dumps(checked.verdict.flag)}) cannot be used as it is:\n{listed}\n"
        "Look at these points again. Then send one JSON object and nothing else: either the fields that you correct "
        f"(evidence as a list of path, at, value and shows; {name} as true, false or null), or, where your verdict "
        f"stands and its evidence needs no correction, {json.dumps(own, ensure_ascii=False)} (false where it does not "
        "stand). Both together are fine. Evidence that cannot be looked up does not count, whatever is confirmed."
    )


def joined(
    first: ReplyEntry, answer: Mapping[str, Any], subject: str, kind: AskKind
) -> tuple[ReplyEntry, bool | None]:
    """The first entry with what the answer to the question back corrects, and whether the answer confirms it.

    Evidence in the answer takes the place of all that there was, in either form.
    """
    fields = dict(answer)
    confirmed = fields.pop("confirmed", None)
    if confirmed is not True and confirmed is not False:
        confirmed = None
    if not fields.keys() - {"criterion_id"}:
        return first, confirmed
    evidence = {"evidence", "evidence_found"}
    if {FLAGS[kind], "reasoning"} <= fields.keys() and evidence & fields.keys():
        return entry_of(fields, subject, kind), confirmed  # a whole verdict, in place of the first
    corrects = evidence if evidence & fields.keys() else set()
    before = {key: value for key, value in first.fields.items() if key not in corrects}
    return entry_of({**before, **fields}, subject, kind), confirmed


@dataclass(frozen=True)
class SettledVerdict:
    """A verdict after the question back, where there was one. With a problem it does not count."""

    verdict: CriterionVerdict | HypothesisVerdict
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    confirmed: bool | None = None


def settle(
    first: ReplyEntry,
    answer: JudgeReply,
    root: Path,
    manifest: WorkspaceManifest,
    subject: str,
    kind: AskKind,
) -> SettledVerdict:
    """The verdict that a judge's answer to the question back leaves: corrected, confirmed, or set aside."""
    fields, prose, fault = read_answer(answer, subject, kind)
    entry, confirmed = joined(first, fields, subject, kind)
    checked = check_verdict(entry, root, manifest, prose=prose)
    if fault:
        unsettled = [*checked.faults, *checked.questions, fault]
        return SettledVerdict(checked.verdict, problems=unsettled, remarks=checked.remarks)
    sent = checked.verdict.flag is False and FLAGS[kind] in fields
    # Sent again, a *no* passes nothing, and needs no further word. A condition around a yes takes it back.
    confirms = confirmed is True and not limits(prose) and not _brings_more(first, entry)
    settled = confirms or (sent and kind == "criterion")
    open_ = [] if settled else checked.questions
    if confirmed is False and not (sent and first.flag is not False):
        open_ = [*open_, "asked again, the judge does not confirm it"]
    elif open_:
        open_ = [*open_, "asked again, the judge neither corrected nor confirmed it"]
    return SettledVerdict(
        checked.verdict,
        problems=[*checked.faults, *open_],
        remarks=[*checked.remarks, *(checked.questions if not open_ else [])],
        confirmed=confirmed,
    )


def _brings_more(first: ReplyEntry, entry: ReplyEntry) -> bool:
    """Whether the answer brings against a *yes* what nobody asked about: `confirmed` beside it clears none of that."""
    if entry.flag is not True:
        return False
    if set(entry.questions) - set(first.questions):  # another field that says otherwise
        return True
    now, before = entry.verdict, first.verdict
    if not isinstance(now, CriterionVerdict) or not isinstance(before, CriterionVerdict):
        return False
    return bool({open_gap(now), *open_actions(now)} - {open_gap(before), *open_actions(before), ""})


def _copied(files: VisibleFiles, verdict: CriterionVerdict | HypothesisVerdict) -> str | None:
    """Why a verdict may not be the judge's own: it stands in a judged file, whose author then wrote it."""
    kind: AskKind = "criterion" if isinstance(verdict, CriterionVerdict) else "hypothesis"
    subject = verdict.criterion_id if isinstance(verdict, CriterionVerdict) else HYPOTHESIS_SUBJECT
    # A cheap filter first: a file without the words of the verdict cannot hold it.
    words = [FLAGS[kind], max(re.findall(r"[A-Za-z0-9]+", verdict.reasoning), key=len, default="")]
    unread = None
    for path in files.paths:
        if not files.may_hold(path, words):
            continue
        text = files.text(path)
        entries, whole = verdict_objects(text.text, subject, kind)
        for entry in entries:
            there = entry_of(entry, subject, kind).verdict
            if there is not None and with_published(there, files.paths) == verdict:
                return f"the verdict stands word for word in {path}, so it is not the judge's own"
        if unread is None and (text.fault or not whole):
            unread = (
                f"the verdict may stand in {path}, which cannot be searched whole; so it may not be its own"
            )
    return unread
