"""Points made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autoscirub.models import Annotation, Answer, Decision


@pytest.fixture
def point() -> Callable[..., Annotation]:
    """One point."""

    def make(
        answer: Answer,
        subject: str = "slope",
        message: str = "0.9 < 0.6",
        *,
        word: str = "did not hold",
        part: str = "predictions",
        path: str | None = "prereg.toml",
        line: int | None = 4,
        accepted: bool = False,
    ) -> Annotation:
        decision = Decision(
            subject=subject, question="Does it?", answer=answer, word=word, at="2026-01-31T09:00:00Z"
        )
        return Annotation(decision, part, message, path, line, accepted)

    return make
