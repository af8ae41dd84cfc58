"""What each tool does: a project and arguments in, an answer out. One function below does the work.

Nothing here knows the protocol, so that a job's process need not load it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from autoscirub.mcp_server.answers import (
    ArtifactAnswer,
    AuditAnswer,
    BlindAnswer,
    CheckAnswer,
    CriterionAnswer,
    EvaluateAnswer,
    FreezeAnswer,
    JudgeToolAnswer,
    Next,
    NextAnswer,
    PlanAnswer,
    RerunAnswer,
    StatusAnswer,
    ValidateAnswer,
    VerifyAnswer,
    WriteAnswer,
)
from autoscirub.mcp_server.brief import briefs, cut, gap_of, next_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoscirub.mcp_server import arguments as inputs
    from autoscirub.mcp_server.projects import ServedProject
    from autoscirub.models import Decision, Status
    from autoscirub.workflow.rounds import RoundCheck

LOOK_AGAIN = Next(tool="next", why="it says where the project stands, and what comes next")
"""After a tool that only looked."""
_MOST_LISTED = 200


def _base(place: ServedProject, next_call: Next = LOOK_AGAIN, **more: Any) -> dict[str, Any]:
    return {"project": str(place.project), "state_dir": str(place.state_dir), "next": next_call, **more}


def _and_next(place: ServedProject, **more: Any) -> dict[str, Any]:
    """With the one next call, looked up: after a tool that changed where the project stands."""
    from autoscirub.workflow import next_call

    return _base(
        place, next_of(next_call(place.project, state_dir=place.state_dir, within=place.job)[1]), **more
    )


def next_(place: ServedProject, _arguments: inputs.NextArguments) -> NextAnswer:
    """Where it stands, and the one next call; the state directory is made where there is none."""
    from autoscirub.workflow import next_call

    found, call = next_call(place.project, state_dir=place.state_dir)
    return NextAnswer(**_base(place, next_of(call)), **_status_fields(place, found))


def _status_fields(place: ServedProject, found: Status) -> dict[str, Any]:
    from autoscirub.store import running

    return {
        "round": found.loop.round if found.loop else None,
        "ended": found.loop.ended if found.loop else None,
        "not_satisfied": [
            *(result.criterion_id for result in (found.loop.unmet if found.loop else [])),
            *(found.loop.inconclusive if found.loop else {}),
        ],
        "decisions": briefs(found.decisions),
        "faults": [cut(fault) for fault in found.faults[:_MOST_LISTED]],
        "notices": [cut(notice) for notice in found.notices[:_MOST_LISTED]],
        "jobs": running(place.state_dir),
    }


def status(place: ServedProject, _arguments: inputs.StatusArguments) -> StatusAnswer:
    """The same, with the files; nothing is written."""
    from autoscirub.store import running
    from autoscirub.workflow import call_of
    from autoscirub.workflow.status import status as look

    found = look(place.project, state_dir=place.state_dir)
    return StatusAnswer(
        **_base(place, next_of(call_of(found, next(iter(running(place.state_dir)), None)))),
        **_status_fields(place, found),
        project_source=place.project_source,
        state_source=place.state_source,
        config=found.config_source,
        results=found.results,
        results_exist=found.results_exist,
        files=[cut(file.path) for file in found.files],
    )


def write(place: ServedProject, arguments: inputs.WriteArguments) -> WriteAnswer:
    """A draft, or the rubric before its freeze."""
    from autoscirub.workflow import write_state

    written = write_state(
        arguments.file,
        arguments.content,
        expected_sha256=arguments.expected_sha256,
        project=place.project,
        state_dir=place.state_dir,
    )
    return WriteAnswer(
        **_and_next(place, notices=written.notices),
        file=written.file,
        sha256=written.sha256,
        changed=written.changed,
        faults=[cut(fault) for fault in written.faults],
        warnings=[cut(warning) for warning in written.warnings],
        whole=f"autoscirub://state/{written.file}",
    )


def freeze(place: ServedProject, arguments: inputs.FreezeArguments) -> FreezeAnswer:
    """Lock what decides."""
    from autoscirub.workflow.locks import freeze as run

    frozen = run(place.project, state_dir=place.state_dir, dry_run=arguments.dry_run)
    locks = frozen.locks
    locked = [name for name in ("predictions", "rubric", "settings") if getattr(locks, name) is not None]
    return FreezeAnswer(
        **_and_next(place, notices=frozen.notices),
        dry_run=arguments.dry_run,
        locked=[] if arguments.dry_run else locked,
        decisions=briefs(frozen.decisions),
        warnings=[cut(warning) for warning in frozen.warnings],
    )


def check(
    place: ServedProject, arguments: inputs.CheckArguments, progress: Callable[[int, int], None]
) -> CheckAnswer:
    """Everything that is set up, once; with a frozen rubric, a verification of a round."""
    from autoscirub.workflow import answer_of, call_after
    from autoscirub.workflow import check as run

    checked = run(
        place.project,
        state_dir=place.state_dir,
        fresh=arguments.fresh,
        changes=arguments.changes,
        infeasible=arguments.infeasible,
        progress=progress,
    )
    report = checked.report
    return CheckAnswer(
        **_base(place, next_of(call_after(checked)), notices=checked.notices),
        answer=answer_of(checked).value,
        outcome=checked.verification.outcome.value if checked.verification else None,
        headline=cut(checked.verification.headline) if checked.verification else None,
        round=report.round if report else None,
        all_satisfied=report.all_satisfied if report else None,
        satisfied=report.summary.passed if report else None,
        criteria=len(report.criteria) if report else None,
        ended=checked.ended.state if checked.ended else None,
        why_ended=cut(checked.ended.why) if checked.ended else None,
        open=[gap_of(result) for result in report.criteria if not result.satisfied] if report else [],
        decisions=briefs(_other_decisions(checked)),
        whole=_whole(checked),
    )


def _whole(checked: RoundCheck) -> str | None:
    if checked.report is not None:
        return f"autoscirub://rounds/{checked.report.round}"
    return "autoscirub://state/verification.json" if checked.verification is not None else None


def _other_decisions(checked: RoundCheck) -> list[Decision]:
    criteria = {id(decision) for decision in (checked.report.decisions if checked.report else [])}
    return [decision for decision in checked.decisions if id(decision) not in criteria]


def plan(place: ServedProject, arguments: inputs.PlanArguments) -> PlanAnswer:
    """The plan of the open round."""
    from autoscirub.workflow.rounds import plan_round

    planned = plan_round(arguments.targets, project=place.project, state_dir=place.state_dir)
    return PlanAnswer(
        **_and_next(place, notices=planned.notices),
        round=planned.plan.round,
        targets=[target.criterion_id for target in planned.plan.targets],
        whole=f"autoscirub://rounds/{planned.plan.round}",
    )


def evaluate(place: ServedProject, arguments: inputs.EvaluateArguments) -> EvaluateAnswer:
    """One expression, on the project's results, a file in the project, or results passed with the call."""
    from autoscirub import workflow
    from autoscirub.checks import load_results
    from autoscirub.errors import CheckError, ResultsError

    results = arguments.results
    if arguments.results_file is not None:
        if results is not None:
            raise CheckError("results and results_file: give one of them")
        try:
            opened = place.open()
            limit = opened.config.limits.results_bytes
            results = load_results(opened.root, arguments.results_file, limit=limit).values
        except ResultsError as error:
            return EvaluateAnswer(**_base(place), answer="inconclusive", message=cut(str(error)))
    found = workflow.evaluate(
        arguments.expr, results=results, project=place.project, state_dir=place.state_dir
    )
    message = cut(found.message)
    fits = len(message) < 600 or not isinstance(found.value, (list, dict, str))
    return EvaluateAnswer(
        **_base(place),
        answer=found.decision.answer.value,
        value=found.value if fits else None,
        message=message,
    )


def artifact(place: ServedProject, arguments: inputs.ArtifactArguments) -> ArtifactAnswer:
    """A file, really opened."""
    from autoscirub.checks.artifacts import check_artifact

    decision = check_artifact(place.project, arguments.path, arguments.format)
    return ArtifactAnswer(**_base(place), decision=briefs([decision])[0])


def criterion(
    place: ServedProject, arguments: inputs.CriterionArguments, _progress: Callable[[int, int], None]
) -> CriterionAnswer:
    """One criterion, looked at."""
    from autoscirub.workflow import verify_criterion

    result, decision = verify_criterion(place.project, arguments.criterion_id, state_dir=place.state_dir)
    return CriterionAnswer(**_base(place), criterion=gap_of(result), decision=briefs([decision])[0])


def blind(
    place: ServedProject, arguments: inputs.BlindArguments, progress: Callable[[int, int], None]
) -> BlindAnswer:
    """What a judge would be shown, in a fresh folder for temporary files."""
    import shutil
    import tempfile
    from pathlib import Path

    from autoscirub.workflow.judges import blind_workspace

    # Made here and not named by the agent, so that no path outside of the project is its choice.
    folder = Path(tempfile.mkdtemp(prefix="autoscirub-blind-"))
    try:
        built = blind_workspace(
            place.project, arguments.profile, folder, state_dir=place.state_dir, progress=progress
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    files = built.manifest.files
    return BlindAnswer(
        **_base(place),
        path=str(built.root),
        files=len(files),
        bytes=sum(file.size for file in files),
        visible=[cut(file.path, 200) for file in files[:_MOST_LISTED]],
        withheld=[cut(f"{entry.path}: {entry.why}", 300) for entry in built.manifest.withheld[:_MOST_LISTED]],
        left_out={
            name: count - _MOST_LISTED
            for name, count in (("visible", len(files)), ("withheld", len(built.manifest.withheld)))
            if count > _MOST_LISTED
        },
    )


def judge(
    place: ServedProject, arguments: inputs.JudgeArguments, progress: Callable[[int, int], None]
) -> JudgeToolAnswer:
    """The configured judge, asked."""
    from autoscirub.workflow.judges import judge as run

    done = run(place.project, arguments.criterion_id, state_dir=place.state_dir, progress=progress)
    return JudgeToolAnswer(
        **_base(place, notices=done.notices),
        decisions=briefs(done.decisions),
        calls=done.calls,
        cached=done.cached,
        spent=done.spent or None,
    )


def rerun(
    place: ServedProject, _arguments: inputs.RerunArguments, _progress: Callable[[int, int], None]
) -> RerunAnswer:
    """The results, from the code, again."""
    from autoscirub.workflow import rerun as run

    done = run(place.project, state_dir=place.state_dir)
    return RerunAnswer(
        **_and_next(place),
        decision=briefs([done.decision])[0],
        counts=dict(done.counts),
        whole="autoscirub://state/rerun.json",
    )


def verify(
    place: ServedProject, arguments: inputs.VerifyArguments, progress: Callable[[int, int], None]
) -> VerifyAnswer:
    """The frozen predictions against the results, and the judge."""
    from autoscirub.workflow import verify as run

    done = run(place.project, state_dir=place.state_dir, strict=arguments.strict, progress=progress)
    return VerifyAnswer(
        **_and_next(place, notices=done.notices),
        outcome=done.verification.outcome.value,
        headline=cut(done.verification.headline),
        decisions=briefs([*done.verification.decisions, *done.required]),
        whole="autoscirub://state/verification.json",
    )


def validate(place: ServedProject, arguments: inputs.ValidateArguments) -> ValidateAnswer:
    """State files against their schemas."""
    from autoscirub.errors import PathRefused
    from autoscirub.store import is_path, leads_out
    from autoscirub.workflow import validate as look

    paths = [place.project / name for name in arguments.files]
    for name, path in zip(arguments.files, paths, strict=True):
        if not is_path(path):
            raise PathRefused(f"files: {name[:200]!r}: is no path; name a file in the project")
        if leads_out(path, place.project) and leads_out(path, place.state_dir):
            raise PathRefused(f"files: {name[:200]}: lies outside of the project; name a file in it")
    found = look(paths, project=place.project, state_dir=place.state_dir)
    return ValidateAnswer(
        **_base(place),
        ok=found.ok,
        files=[cut(file.path) for file in found.files],
        faults=[cut(fault) for file in found.files for fault in file.faults],
    )


def audit(place: ServedProject, _arguments: inputs.AuditArguments) -> AuditAnswer:
    """What the record's conclusions rest on."""
    from autoscirub.report.audit import render_audit
    from autoscirub.workflow.audit import audit as look

    found = look(place.project, state_dir=place.state_dir)
    return AuditAnswer(
        **_base(place),
        head=found.head,
        steps=found.steps,
        rests_on=[cut(line) for line in render_audit(found, io.StringIO()).splitlines()],
        decisions=briefs(found.decisions),
        ended=found.ended.state if found.ended else None,
    )
