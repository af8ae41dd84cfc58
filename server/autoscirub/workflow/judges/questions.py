"""What a judge would be asked: for each subject what it is shown, the question, and the key of its answer."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autoscirub.checks import find_report
from autoscirub.errors import AutoscirubError, ConfigError, StateError
from autoscirub.judging.backends import open_backend
from autoscirub.judging.profiles import CRITERION, HYPOTHESIS
from autoscirub.judging.prompts import PROMPT_VERSION, criterion_prompt, hypothesis_prompt
from autoscirub.judging.verdicts import HYPOTHESIS_SUBJECT
from autoscirub.judging.workspace import WorkspaceDigests, measure_workspace
from autoscirub.models import JudgeRequest, strict_json
from autoscirub.store import is_trusted, read_regular, sha256_bytes, trust_view

if TYPE_CHECKING:
    from autoscirub.judging.backends import Backend
    from autoscirub.judging.prompts import Prompt
    from autoscirub.models import Criterion, JudgeConfig, Prereg, WorkspaceManifest
    from autoscirub.store import Project

_REPORT_BYTES = 2 * 1024 * 1024
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
    """Digest of everything that the answer would be reached on: files, prompt, judge, panel."""
    judge: str

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
            prompt_digest=self.prompt.digest,
            workspace_digest=self.manifest.digest,
        )

    def shown(self) -> dict[str, str]:
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

    def _own_settings(self) -> dict[str, Any]:
        """What the backend says of itself. Raises ConfigError where it fails at it, or says what is no plain data."""
        if self.backend is None:
            return {}
        try:
            own = self.backend.settings()
            strict_json(own)
        except AutoscirubError:
            raise
        except Exception as cause:
            raise ConfigError(
                f"judge {self.backend.name}: what it rests on cannot be told: {type(cause).__name__}: "
                f"{str(cause)[:200]}; mend the package that brings it, or take another backend"
            ) from cause
        return own

    def of(self, criterion: Criterion) -> JudgeQuestion:
        """The question on one criterion. Raises BlindingError where its workspace could not be built."""
        manifest = measure_workspace(self.opened, CRITERION, criterion=criterion, digests=self._digests)
        prompt = criterion_prompt(criterion, manifest, self._report(manifest), secrets.token_hex(16))
        return self._question(criterion.criterion_id, criterion, manifest, prompt)

    def of_hypothesis(self, prereg: Prereg) -> JudgeQuestion:
        """The question on the hypothesis, of the frozen predictions. Raises BlindingError as `of` does."""
        manifest = measure_workspace(self.opened, HYPOTHESIS, digests=self._digests)
        prompt = hypothesis_prompt(
            prereg.hypothesis,
            prereg.predictions,
            prereg.analysis_plan,
            manifest,
            secrets.token_hex(16),
            results_contract=prereg.results_contract,
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
        judge = _digest(self.settings)
        key = _digest([PROMPT_VERSION, subject, prompt.digest, manifest.digest, judge])
        return JudgeQuestion(subject, criterion, manifest, prompt, key, judge)

    def _report(self, manifest: WorkspaceManifest) -> tuple[str, str] | None:
        """The report as the workspace has it, where the profile shows it."""
        name = find_report(self.opened.root, self.opened.config.report)
        if name is None or name not in {file.path for file in manifest.files}:
            return None
        try:
            data = read_regular(self.opened.root / name, limit=_REPORT_BYTES, within=self.opened.root)
        except StateError:  # too large to stand in a question; it is read with the tools
            return None
        return None if data is None else (name, data.decode("utf-8", "replace"))


def _digest(value: Any) -> str:
    return sha256_bytes(strict_json(value, indent=None).encode("utf-8", "replace"))
