"""Puts one question to a person at a terminal, and makes a verdict of what they type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoscirub.errors import JudgeError
from autoscirub.judging.backends.person.citing import FORMS, cited_evidence, typed_path
from autoscirub.judging.backends.spend_limit import NotAsked
from autoscirub.judging.verdicts import VisibleFiles, check_verdict, look_up, read_reply
from autoscirub.models import JudgeReply, WorkspaceManifest

if TYPE_CHECKING:
    from autoscirub.judging.backends.person.terminal import PersonTerminal
    from autoscirub.models import CitedEvidence, JudgeRequest

LEFT = "left unanswered; `autoscirub judge` at a terminal goes on from here"
_FLAGS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "yes"), True),
    **dict.fromkeys(("n", "no"), False),
    **dict.fromkeys(("c", "cannot", "cannot tell"), None),
}
_ANSWERS = {True: "yes", False: "no", None: "cannot tell"}
_FILES_LISTED = 60
_ASKED_CHARACTERS = 20_000
_STOP = "stop"


class PersonDialogue:
    """One question, put to a person. Whatever they are asked, `stop` leaves it: raises NotAsked."""

    def __init__(self, terminal: PersonTerminal, request: JudgeRequest) -> None:
        self._terminal, self._request = terminal, request
        files = sorted(request.files, key=lambda file: file.path)
        self._manifest = WorkspaceManifest(profile=request.kind, files=files, digest=request.workspace_digest)
        self._files = VisibleFiles(Path(request.workspace), self._manifest)

    async def name(self) -> str:
        """Who answers: asked once in a session, for each member of a panel."""
        names, member = self._terminal.names, self._request.member
        if member not in names:
            whose = (
                "your name" if member == 1 else f"the name of the panel's member {member}, who answers now"
            )
            typed = await self._required(f"{whose}, which is recorded with the answers: ")
            names[member] = " ".join(typed.split())[:100]
        return names[member]

    def introduce(self, done: int, total: int) -> None:
        """Show the question: what is asked, what code found, and the files."""
        request, show = self._request, self._terminal.show
        asked = request.asked[:_ASKED_CHARACTERS]
        left = len(request.asked) - len(asked)
        show(f"\n{done + 1} of {total}\n\n{asked}" + (f"\n… and {left:,} more characters" if left else ""))
        if request.established:
            show("\nwhat code found:")
            for found in request.established:
                show(f"- {' '.join(found.split())}")  # on one line: it quotes the work that is judged
        files = self._manifest.files
        show(
            f"\nthe files, as a copy for you to open: {request.workspace}"
            if files
            else "\nthere are no files"
        )
        for number, file in enumerate(files[:_FILES_LISTED], 1):
            show(f"{number:>4}  {file.path} ({file.size:,} bytes)")
        if len(files) > _FILES_LISTED:
            show(f"      and {len(files) - _FILES_LISTED:,} more there")
        show("")

    async def verdict(self) -> dict[str, Any]:
        """The fields of a verdict, as the person typed and confirmed them."""
        while True:
            fields, summary = await self._fields()
            typed = "?"
            while typed not in ("", "a"):
                typed = (await self._line(f"{summary}. Enter records it, a begins again: ")).casefold()
            if not typed:
                return fields

    async def about(self, points: str) -> dict[str, Any]:
        """What the person says of these points against their verdict: the fields that they correct, or if it stands.

        Raises NotAsked where they leave.
        """
        fields: dict[str, Any] = {}
        own = {"criterion_id": self._request.subject} if self._request.kind == "criterion" else {}
        while points:
            self._terminal.show(f"\nyour answer does not count yet:\n{points}")
            key = (
                await self._line("c corrects it, s: it stands as it is, w withdraws it, stop leaves: ")
            ).casefold()
            if key in ("s", "w"):
                return {**fields, **own, "confirmed": key == "s"}
            if key == "c":
                fields = await self.verdict()
                points = self._points(fields)
        return fields

    def _points(self, fields: dict[str, Any]) -> str:
        """What stands against a corrected verdict: there is no second question about it."""
        kind, subject = self._request.kind, self._request.subject
        try:
            entry = read_reply(JudgeReply(text="", structured=fields), [subject], kind).entry(subject)
        except JudgeError as error:
            return f"- {error}"
        checked = check_verdict(entry, Path(self._request.workspace), self._manifest)
        return "\n".join(f"- {point}" for point in (*checked.faults, *checked.questions))

    async def _fields(self) -> tuple[dict[str, Any], str]:
        of_criterion = self._request.kind == "criterion"
        evidence: list[CitedEvidence] | None = None
        while evidence is None:
            flag = await self._flag(
                "is it satisfied?" if of_criterion else "does the evidence support the hypothesis?"
            )
            evidence = [] if flag is None else await self._evidence(needed=flag or not of_criterion)
        gap = (
            await self._required("what is missing, and in which file: ")
            if flag is False and of_criterion
            else ""
        )
        if flag is not None and not of_criterion:
            note = await self._required("why you answer so: ")
        else:
            note = await self._line("a note on why you answer so (Enter: none): ")
        count = f" ({len(evidence)} piece{'s' if len(evidence) > 1 else ''} of evidence)" if evidence else ""
        summary = f"{_ANSWERS[flag]}{count}"
        cited = [entry.model_dump(mode="json") for entry in evidence]
        fields: dict[str, Any] = {"reasoning": note, "evidence": cited}
        if not of_criterion:
            return {**fields, "concerns": [], "confidence": None, "supports_hypothesis": flag}, summary
        return {
            "criterion_id": self._request.subject,
            **fields,
            "evidence_gap": gap,
            "required_actions": [],
            "artifact_references": list(dict.fromkeys(entry.path for entry in evidence)),
            "confidence": None,
            "satisfied": flag,
        }, summary

    async def _flag(self, question: str) -> bool | None:
        while True:
            self._terminal.discard()
            typed = (await self._line(f"{question} y(es), n(o), c(annot tell), stop: ")).casefold()
            if typed in _FLAGS:
                return _FLAGS[typed]

    async def _evidence(self, *, needed: bool) -> list[CitedEvidence] | None:
        """What they cite, each piece looked up at once. None: they begin again, where nothing can be cited."""
        found: list[CitedEvidence] = []
        paths = self._files.paths
        while True:
            enter = "" if needed and not found else "; Enter: no more" if found else "; Enter: none"
            typed = await self._line(
                f"evidence: a file of the list (number or path{enter}; a begins again): "
            )
            if not typed and (found or not needed):
                return found
            named = typed_path(typed, paths)
            if named is None and typed.casefold() == "a":
                return None
            if named is None:
                self._terminal.show(f"  a number from 1 to {len(paths)}, or a path as it is in the list")
                continue
            text = self._files.text(named.path)
            if text.fault or text.binary:
                why = text.fault or "is no text, so nothing can be looked up in it"
                self._terminal.show(f"  {named.path} {why}; name another")
                continue
            place = named.rest or await self._line(f"  where in {named.path}, and what is there ({FORMS}): ")
            lines = text.text.splitlines()
            cited = cited_evidence(named.path, place, lines)
            if cited is None:
                self._terminal.show(
                    f"  {named.path} has {len(lines):,} lines. Write a place as one of: {FORMS}"
                )
                continue
            lookup = look_up(self._files, cited)
            if lookup.fault:
                self._terminal.show(f"  not found: {lookup.fault}")
                continue
            found.append(cited)
            where = " ".join(part for part in (cited.at.kind, cited.at.where) if part)
            self._terminal.show(f"  found: {cited.path}, {where}: {cited.value}")

    async def _required(self, prompt: str) -> str:
        while not (typed := await self._line(prompt)):
            pass
        return typed

    async def _line(self, prompt: str) -> str:
        try:
            typed = await self._terminal.line(prompt)
        except EOFError:
            self._terminal.show()
            typed = _STOP
        if typed.casefold() == _STOP:
            raise NotAsked(LEFT)
        return typed
