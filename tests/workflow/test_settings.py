"""Settings that decide, locked: under a policy, without one, and by a version that knew fewer of them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autoscirub.errors import PredictionsError, TamperedError
from autoscirub.models import ProjectConfig, RunManifest
from autoscirub.store import open_project
from autoscirub.workflow import check, verify
from autoscirub.workflow.audit.overview import audit
from autoscirub.workflow.audit.verify import verify_record
from autoscirub.workflow.locks import freeze, scope
from autoscirub.workflow.rounds import plan_round

NEW = ("rerun.required", "judge.money_round", "judge.money_day")
RUBRIC = (Path(__file__).parents[1] / "attacks" / "rubric.toml").read_text("utf-8")
POLICY = "[judge]\nmoney_round = 5.0\n[rerun]\nrequired = true\n"


@pytest.fixture
def project(slope_project: Path, write_results) -> Path:
    write_results(slope_project, slope=0.51)
    return slope_project


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def older_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """A version that had none of these settings."""
    deciding = ProjectConfig.deciding

    @contextlib.contextmanager
    def running() -> Iterator[None]:
        with monkeypatch.context() as context:
            context.setattr(
                ProjectConfig,
                "deciding",
                lambda self: {key: value for key, value in deciding(self).items() if key not in NEW},
            )
            yield

    return running


@pytest.fixture
def frozen_before(project: Path, older_version) -> Path:
    with older_version():
        freeze(project)
    assert not set(NEW) & locked(project).keys()
    return project


def locked(project: Path) -> dict[str, Any]:
    manifest = open_project(project).state.read(RunManifest)
    assert manifest is not None
    assert manifest.locks.settings is not None
    return manifest.locks.settings.values


def test_a_freeze_locks_whether_a_rerun_is_required_and_what_a_judge_may_cost(project: Path) -> None:
    freeze(project)
    assert {key: locked(project)[key] for key in NEW} == dict(zip(NEW, (False, None, None), strict=True))


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("[rerun]\nrequired = true\n", "rerun.required was False and is True"),
        ("[judge]\nmoney_round = 3\n", "judge.money_round was None and is 3.0"),
    ],
)
def test_a_lock_that_is_older_than_a_setting_holds_it_at_its_default(
    frozen_before: Path, text: str, difference: str
) -> None:
    assert verify(frozen_before).verification.outcome == "verified"
    with pytest.raises(PredictionsError, match="nothing new to lock"):
        freeze(frozen_before)
    (frozen_before / "autoscirub.toml").write_text(text)
    with pytest.raises(TamperedError, match=re.escape(difference)):
        verify(frozen_before)
    assert scope(frozen_before, reason="asked for", by="agent").change.settings == [difference.split()[0]]
    assert verify(frozen_before).verification.outcome == "verified"


def test_a_default_that_is_written_out_is_no_change_to_an_older_lock(frozen_before: Path) -> None:
    (frozen_before / "autoscirub.toml").write_text("[rerun]\nrequired = false\n")
    assert verify(frozen_before).verification.outcome == "verified"


def test_a_project_that_was_frozen_without_a_policy_is_not_changed_by_one(
    project: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze(project)
    monkeypatch.setenv("AUTOSCIRUB_POLICY", str(policy))
    assert open_project(project).config.rerun.required
    verify(project)
    with pytest.raises(PredictionsError, match="nothing new to lock"):
        freeze(project)


def test_a_project_that_was_frozen_under_a_policy_is_verified_where_there_is_none(
    project: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setenv("AUTOSCIRUB_POLICY", str(policy))
        freeze(project)
    assert {key: locked(project)[key] for key in NEW} == dict(zip(NEW, (False, None, None), strict=True))
    assert verify(project).verification.outcome == "verified"


def test_the_record_of_an_older_version_holds_together_and_shows_no_setting_as_changed(
    project: Path, older_version, write_results
) -> None:
    (project / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    with older_version():
        freeze(project)
        check(project)
        plan_round(project=project)
    write_results(project, slope=0.52)  # a revision that changes nothing ends the loop
    check(project)
    assert verify_record(project).ok
    assert [key for key in NEW if f"setting {key}" in str(audit(project).between)] == []
    (project / "autoscirub.toml").write_text("[rerun]\nrequired = true\n")
    scope(project, reason="asked for", by="agent")
    plan_round(project=project)
    write_results(project, slope=0.53)
    check(project)
    assert "setting rerun.required: False → True" in str(audit(project).between)
    assert verify_record(project).ok
