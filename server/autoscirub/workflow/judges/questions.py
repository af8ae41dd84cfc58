"""The questions for a judge: for each subject the files shown, the prompt, and the key of the answer."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autoscirub.checks import find_report
from autoscirub.errors import AutoscirubError, ConfigError, StateError
from autoscirub.judging import decoded
from autoscirub.judging.backends import open_backend
from autoscirub.judging.profiles import CRITERION, HYPOTHESIS
from autoscirub.judging.prompts import PROMPT_VERSION, criterion_prompt, hypothesis_prompt
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT
from autoscirub.judging.workspace import WorkspaceDigests, measure_workspace
from autoscirub.models import JudgeRequest, strict_json
from autoscirub.store import is_trusted, read_regular, sha256_bytes, trust_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.judging.backends import Backend
    from autoscirub.judging.prompts import Prompt
    from autoscirub.models import Criterion, JudgeConfig, Prereg, WorkspaceFile, WorkspaceManifest
    from autoscirub.store import Project

_INLINE_BYTES = 2 * 1024 * 1024
_CODE = (".py", ".r", ".jl", ".ipynb", ".sh", ".m", ".c", ".cpp", ".rs", ".toml", "makefile")
_FILES_NAMED = 40
"""Files that an answer's basis names one by one, so that it says which of them changed; with more, one digest."""


@dataclass(frozen=True)
class JudgeQuestion:
    """One question as it would be put now."""

    subject: str
    """The criterion's id, or `hypothesis`."""
    criterion: Criterion | None
    manifest: WorkspaceManifest
    prompt: Prompt
    key: str
    """Digest of everything that the answer would rest on: files, prompt, judge, panel."""
    judge: str
    established: tuple[str, ...] = ()
    """What code found of the criterion: for a person alone."""

    @property
    def kind(self) -> Literal["hypothesis", "criterion"]:
        """What it is about."""
        return "hypothesis" if self.criterion is None else "criterion"

    def request(self, config: JudgeConfig, workspace: str) -> JudgeRequest:
        """What the judge is sent, with the copy that it may see at `workspace`."""
        return JudgeRequest(
            kind=self.kind,
            subject=self.subject,
            system=self.prompt.system,
            prompt=self.prompt.text,
            answer_schema=self.prompt.answer_schema,
            workspace=workspace,
            files=self.manifest.files,
            model=config.model,
            seconds=config.seconds,
            turns=config.turns,
            money=config.money,
            asked=self.prompt.asked,
            established=list(self.established),
            prompt_digest=self.prompt.digest,
            workspace_digest=self.manifest.digest,
        )

    def material(self) -> dict[str, str]:
        """What the answer rests on, each thing with its digest: the parts of the key, and the files that are shown."""
        files = {file.path: file.sha256 for file in self.manifest.files}
        named = files if len(files) <= _FILES_NAMED else {}
        return {
            **named,
            "all files": self.manifest.digest,
            "question": self.prompt.digest,
            "who judges": self.judge,
        }


class Questions:
    """The questions that a project's judge can be asked. Without a judge there is none."""

    def __init__(self, opened: Project) -> None:
        self.opened = opened
        self.config = opened.config.judge
        self.trusted = is_trusted(trust_view(opened.config), str(opened.root))
        self.backend: Backend | None = open_backend(self.config, opened.root, trusted=self.trusted)
        self.avoid: Sequence[str] = ()
        """`claims_to_avoid` of the rubric that the criteria are of."""
        self._digests = WorkspaceDigests()
        self._settings: dict[str, Any] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What a verdict rests on besides the question: the backend's own settings, the model, the panel."""
        if self._settings is None:
            own = self._own_settings()
            panel = {"model": self.config.model, "repeats": self.config.repeats, "agree": self.config.agree}
            self._settings = {**panel, "backend": self.config.backend, "own": own}
        return self._settings

    @property
    def judge_digest(self) -> str:
        """The digest of `settings`: a verdict of a judge with another one is no verdict of this judge."""
        return _digest(self.settings)

    def _own_settings(self) -> dict[str, Any]:
        """The backend's own settings. Raises ConfigError where it fails to give them, or they are no plain data."""
        if self.backend is None:
            return {}
        try:
            own = self.backend.settings()
            strict_json(own)
        except AutoscirubError:
            raise
        except Exception as cause:
            raise ConfigError(
                f"judge {self.backend.name}: its settings cannot be determined: {type(cause).__name__}: "
                f"{str(cause)[:200]}; fix the package that provides it, or use another backend"
            ) from cause
        return own

    def of(self, criterion: Criterion) -> JudgeQuestion:
        """The question on one criterion. Raises BlindingError where its workspace could not be built."""
        manifest = measure_workspace(self.opened, CRITERION, criterion=criterion, digests=self._digests)
        report = find_report(self.opened.root, self.opened.config.report)
        inline = self._inline(manifest, [*([report] if report else []), *criterion.named_paths()])
        prompt = criterion_prompt(
            criterion, manifest, inline, secrets.token_hex(16), avoid=self.avoid, limit=self.config.inline
        )
        return self._question(criterion.criterion_id, criterion, manifest, prompt)

    def of_hypothesis(self, prereg: Prereg) -> JudgeQuestion:
        """The question on the hypothesis, of the frozen predictions. Raises BlindingError as `of` does."""
        manifest = measure_workspace(self.opened, HYPOTHESIS, digests=self._digests)
        prompt = hypothesis_prompt(
            prereg.hypothesis,
            prereg.predictions,
            prereg.analysis_plan,
            manifest,
            self._inline(manifest, sorted((file.path for file in manifest.files), key=_first_read)),
            secrets.token_hex(16),
            results_contract=prereg.results_contract,
            limit=self.config.inline,
        )
        return self._question(HYPOTHESIS_SUBJECT, None, manifest, prompt)

    def manifest_of(self, question: JudgeQuestion) -> WorkspaceManifest:
        """What a question would show now. Raises BlindingError as `of` does."""
        return measure_workspace(
            self.opened, question.manifest.profile, criterion=question.criterion, digests=self._digests
        )

    def _question(
        self, subject: str, criterion: Criterion | None, manifest: WorkspaceManifest, prompt: Prompt
    ) -> JudgeQuestion:
        judge = self.judge_digest
        key = _digest([PROMPT_VERSION, subject, prompt.digest, manifest.digest, judge])
        return JudgeQuestion(subject, criterion, manifest, prompt, key, judge)

    def _inline(self, manifest: WorkspaceManifest, names: Sequence[str]) -> list[tuple[str, str]]:
        """The texts of these files, and of those in these folders, as far as `judge.inline` characters reach.

        The first is cut in its middle where it is longer; any other that does not fit is left to the judge's tools.
        """
        visible = {file.path: file for file in manifest.files}
        wanted = [path for name in names for path in visible if path == name or path.startswith(f"{name}/")]
        found: list[tuple[str, str]] = []
        left = self.config.inline
        for path in dict.fromkeys(wanted):
            text = self._text(visible[path])
            if text is None or not left or (len(text) > left and found):
                continue
            found.append((path, text))
            left = max(0, left - len(text))
        return found

    def _text(self, file: WorkspaceFile) -> str | None:
        """A file's text; None where it is none, is too large for a question, or is not what was measured."""
        if file.size > _INLINE_BYTES:
            return None
        try:
            data = read_regular(self.opened.root / file.path, limit=_INLINE_BYTES, within=self.opened.root)
        except StateError:
            return None
        return decoded(data) if data is not None and sha256_bytes(data) == file.sha256 else None


def _first_read(path: str) -> tuple[int, str]:
    """What stands in the question on the hypothesis first: what was asked, the results, the code, all else."""
    name = path.rpartition("/")[2].casefold()
    if name == "question.md":
        return 0, path
    if name.endswith(".json"):
        return 1, path
    return (2 if name.endswith(_CODE) else 3), path


def _digest(value: Any) -> str:
    return sha256_bytes(strict_json(value, indent=None).encode("utf-8", "replace"))
