"""Commands on requirements: check everything, one criterion, one step of a round, the loop, the scope."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import (
    Accept,
    AcceptScope,
    Continue,
    Fresh,
    Json,
    Judge,
    JunitFile,
    Project,
    Reason,
    StateDir,
    app,
    example,
)
from autoscirub.cli.output_format import FORMATS
from autoscirub.cli.showing import CHECK_STATUS, print_loop, render_check, worst_of


@app.command(
    epilog=example(
        "autoscirub check",
        "autoscirub check --read-only --format json",
        "autoscirub check --read-only --format github --accept refuted",
    )
)
def check(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Write nothing.")] = False,
    fresh: Fresh = False,
    judge: Judge = None,
    format: Annotated[  # noqa: A002 - the option's name
        str, typer.Option("--format", help="text, json, github (annotations) or junit (XML).")
    ] = "text",
    accept: Accept = None,
    junit_file: JunitFile = None,
) -> int:
    """Decide everything that is set up, once.

    Exit status: 1 if anything does not hold, else 2 if anything is inconclusive, else 0.
    """
    _refuse_unknown(format, accept, as_json=as_json)
    from autoscirub.workflow import accepted_of, answer_of
    from autoscirub.workflow import check as run_check

    with output.bar("checking") as progress:
        checked = run_check(
            project, state_dir=state_dir, read_only=read_only, fresh=fresh, judge=judge, progress=progress
        )
    accept_ = () if accept is None else (accept,)
    accepted = accepted_of(checked, accept_)
    worst = CHECK_STATUS[answer_of(checked, accepted).value]
    rendered = ""
    if format in {"github", "junit"} or junit_file is not None:
        from autoscirub.report import render_github, render_junit
        from autoscirub.workflow import annotations_of

        found = annotations_of(checked, project, state_dir=state_dir, accept=accept_)
        rendered = render_github(found, sys.stdout) if format == "github" else render_junit(found)
        if junit_file is not None:
            output.file(junit_file, render_junit(found))
    if as_json or format == "json":
        output.json_answer(
            checked.decisions,
            ok=worst == 0,
            **checked.facts(),
            accepted=[decision.subject for decision in accepted],
        )
    elif format in {"github", "junit"}:
        output.text(rendered)
    else:
        output.text(render_check(checked, sys.stdout, accepted=accepted))
        output.notices(checked.notices if checked.verification is None else [])
    return worst


def _refuse_unknown(form: str, accept: str | None, *, as_json: bool) -> None:
    if form not in FORMATS:
        raise typer.BadParameter(f"{form!r}: expected {' or '.join(FORMATS)}", param_hint="--format")
    if as_json and form not in {"text", "json"}:
        raise typer.BadParameter(
            f"{form!r}: --json asks for another format; pass only one of them", param_hint="--format"
        )
    if accept is not None:
        from autoscirub.workflow import ACCEPTABLE

        if accept not in ACCEPTABLE:
            raise typer.BadParameter(
                f"{accept!r}: expected {' or '.join(ACCEPTABLE)}; nothing else is waived",
                param_hint="--accept",
            )


@app.command(epilog=example("autoscirub criterion C2"))
def criterion(
    criterion_id: Annotated[str, typer.Argument(help="The criterion's id.")],
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    judge: Judge = None,
) -> int:
    """Verify one criterion: what was found, what is missing, what would close it. Opens no round.

    Exit status: 1 not satisfied, 2 inconclusive, 0 satisfied.
    """
    from autoscirub.report import render_criterion
    from autoscirub.workflow import verify_criterion

    result, decision = verify_criterion(project, criterion_id, state_dir=state_dir, judge=judge)
    if as_json:
        output.json_answer([decision], ok=result.satisfied, criterion=result.model_dump(mode="json"))
    else:
        output.text(render_criterion(result, decision, sys.stdout))
    return worst_of([decision])


@app.command(epilog=example("autoscirub trust", "autoscirub rerun"))
def rerun(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    isolation: Annotated[
        str,
        typer.Option("--isolation", help="best, bubblewrap or process. The output says what was enforced."),
    ] = "best",
) -> int:
    """Make the results again from the code, in a fresh copy without them; compare key by key. Needs trust.

    The result is cached, with what it depends on.

    Exit status: 1 something moved, 2 inconclusive, 0 reproduced.
    """
    if isolation not in {"best", "bubblewrap", "process"}:
        raise typer.BadParameter(
            f"{isolation!r}: expected best, bubblewrap or process", param_hint="--isolation"
        )
    from autoscirub.report import render_rerun
    from autoscirub.workflow import rerun as run_again

    done = run_again(project, state_dir=state_dir, isolation=isolation)  # type: ignore[arg-type]
    status = worst_of([done.decision])
    if as_json:
        output.json_answer([done.decision], ok=status == 0, counts=done.counts)
    else:
        output.text(render_rerun(done.decision, sys.stdout))
    return status


@app.command("round", epilog=example("autoscirub round", "autoscirub round --continue"))
def round_(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    go_on: Continue = False,
    fresh: Fresh = False,
    accept_scope: AcceptScope = False,
) -> int:
    """One step of a round: verify, or write the plan, or close the round and verify again.

    Exit status, over the criteria: 1 if any is not satisfied, else 2 if any is inconclusive, else 0.
    """
    from autoscirub.workflow.rounds import round_step

    with output.bar("verifying") as progress:
        ran = round_step(project, state_dir=state_dir, go_on=go_on, fresh=fresh, progress=progress)
    return print_loop(ran, as_json=as_json, accept_scope=accept_scope)


@app.command(
    epilog=example(
        "autoscirub run --max-rounds 5 --revise 'python3 revise.py'", "autoscirub run --revise codex"
    )
)
def run(
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    revise: Annotated[
        str | None,
        typer.Option(
            "--revise",
            help="The program that revises, or claude or codex for that agent. "
            "Default: [rounds] revise, which must be trusted.",
        ),
    ] = None,
    max_rounds: Annotated[
        int | None, typer.Option("--max-rounds", min=1, help="Default: [rounds] max.")
    ] = None,
    go_on: Continue = False,
    as_is: Annotated[
        bool,
        typer.Option("--as-is", help="Go on from the files of an interrupted revision that were not saved."),
    ] = False,
    accept_scope: AcceptScope = False,
) -> int:
    """The loop: verify, let a program or an agent revise, verify again, until it ends. Start it again after a kill.

    Exit status, over the criteria: 1 if any is not satisfied, else 2 if any is inconclusive, else 0.
    """
    import shlex

    from autoscirub.workflow.rounds import run_rounds

    try:
        command = shlex.split(revise) if revise is not None else None
    except ValueError as error:
        raise typer.BadParameter(f"{revise!r}: {error}", param_hint="--revise") from None
    ran = run_rounds(
        project,
        state_dir=state_dir,
        revise=command,
        max_rounds=max_rounds,
        go_on=go_on,
        as_is=as_is,
        on_output=output.pass_on,
        on_step=output.print_step,
    )
    return print_loop(ran, as_json=as_json, accept_scope=accept_scope, only_end=True)


@app.command(epilog=example("autoscirub scope --reason 'the sensor of station 4 was broken'"))
def scope(
    reason: Reason,
    project: Project = None,
    state_dir: StateDir = None,
    as_json: Json = False,
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="Without a terminal: the digest of exactly what becomes valid."),
    ] = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="An agent changes the scope; the loop then ends in reduced scope.")
    ] = False,
) -> int:
    """Put a change of a frozen rubric, or of settings that decide, on the record.

    Change the rubric or the configuration first; this shows what differs and makes it valid.
    """
    from autoscirub.workflow.locks import scope as change_scope

    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    by = "agent" if agent else "terminal" if at_terminal else None
    scoped = change_scope(project, reason=reason, state_dir=state_dir, by=by, digest=digest)  # type: ignore[arg-type]
    change = scoped.change
    if as_json:
        output.json_answer([], ok=True, change=change.model_dump(mode="json"))
        return 0
    for word, names in (("lost", scoped.lost), ("changed", scoped.changed), ("added", scoped.added)):
        if names:
            output.text(f"criteria {word}: {', '.join(names)}")
    if change.settings:
        output.text(f"settings changed: {', '.join(change.settings)}")
    output.text(f"the scope is changed on the record (by {change.by}); it is shown with every outcome")
    return 0
