"""The MCP server: tools, resources and prompts, on the lower-level one of the SDK's two servers.

The other one derives schemas from signatures, and silently drops an unknown argument. Here an argument like `judge` or
`backend` must be refused, so that nobody believes that it took effect.
"""

from __future__ import annotations

import functools
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.server import Server
from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from autoscirub.errors import AutoscirubError, BusyError, CorruptError
from autoscirub.mcp_server import prompts, resources
from autoscirub.mcp_server.answers import JobToolAnswer, Next, Progress, ToolAnswer
from autoscirub.mcp_server.brief import cut, fitted
from autoscirub.mcp_server.handlers import LOOK_AGAIN
from autoscirub.mcp_server.jobs import Jobs, UnderWay
from autoscirub.mcp_server.tools import TOOLS, ToolSpec, named_tools, read_arguments
from autoscirub.store import PATIENCE
from autoscirub.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoscirub.mcp_server.projects import ServedProject, ServedProjects
    from autoscirub.models import JobAnswer
    from autoscirub.store import Job

INSTRUCTIONS = (
    "autoscirub decides whether research work is done; you do not. The path: next → write_state (the rubric: what the "
    "work must contain, criterion by criterion) → freeze (before there are results) → do the work → check → plan_round "
    "→ revise → check … → next. Every answer carries the next call; follow it. Done is what check calls done: ended "
    "satisfied and answer holds; else say what its open and decisions name. A refuted prediction is a finding. To stop "
    "and say what is open is always allowed. You cannot write verdicts, locks or rounds, change what is frozen, or "
    "choose the judge: a person does. A slow call answers with a job; call job to wait for it."
)
"""Under 1 kB: clients show it to the model with every session."""

_LOCK_SECONDS = 10.0
"""Clients give up on a call after a minute, and what holds the lock for long is a job that can be waited for."""
_MOST_TEXT = 8_000
_POLL_SECONDS = 0.1
_THREADS = 16


@dataclass
class _Serving:
    places: ServedProjects
    tools: dict[str, ToolSpec]
    jobs: Jobs = field(default_factory=Jobs)
    limiters: dict[str, anyio.CapacityLimiter] = field(default_factory=dict)

    async def run(self, function: Any, *arguments: Any, of: str = "look") -> Any:
        """Blocking work, off the event loop; a client that gives up does not wait for it.

        `of`: what is bounded together. Calls that wait for a lock must not hold up those that only read.
        """
        if of not in self.limiters:  # one belongs to an event loop, so it is made in it
            self.limiters[of] = anyio.CapacityLimiter(_THREADS)
        return await to_thread.run_sync(
            functools.partial(function, *arguments), limiter=self.limiters[of], abandon_on_cancel=True
        )


def make_server(places: ServedProjects, toolsets: Sequence[str] = ()) -> Server[Any]:
    """A server of the core tools and those of `toolsets`. Raises CheckError for a toolset that is not there."""
    serving = _Serving(places, {spec.name: spec for spec in named_tools(toolsets)})

    async def on_list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_listed(tuple(serving.tools.values())))

    async def on_call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _call(serving, context, params)

    async def on_list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await serving.run(resources.listed, places))

    async def on_list_templates(_context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def on_read(_context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        found: types.ReadResourceResult = await serving.run(resources.read, places, str(params.uri))
        return found

    async def on_list_prompts(_context: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=await serving.run(prompts.listed))

    async def on_get_prompt(_context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        got: types.GetPromptResult = await serving.run(prompts.got, params.name)
        return got

    return Server(
        "autoscirub",
        version=__version__,
        title="autoscirub",
        instructions=INSTRUCTIONS,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_resources=on_list_resources,
        on_list_resource_templates=on_list_templates,
        on_read_resource=on_read,
        on_list_prompts=on_list_prompts,
        on_get_prompt=on_get_prompt,
    )


class _ToolSchema(GenerateJsonSchema):
    """Pydantic's generator, without titles: they repeat the names, and every session pays for the list."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


@functools.cache
def _listed(specs: tuple[ToolSpec, ...]) -> list[types.Tool]:
    return [
        types.Tool(
            name=spec.name,
            title=spec.title,
            description=spec.description,
            input_schema=spec.takes.model_json_schema(schema_generator=_ToolSchema),
            output_schema=spec.answers.model_json_schema(mode="serialization", schema_generator=_ToolSchema),
            # Codex refuses a tool that lacks one of them. Nothing that is here already is destroyed by any.
            annotations=types.ToolAnnotations(
                title=spec.title,
                read_only_hint=spec.reads_only,
                destructive_hint=False,
                idempotent_hint=spec.idempotent,
                open_world_hint=False,
            ),
        )
        for spec in specs
    ]


async def _call(serving: _Serving, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    spec = serving.tools.get(params.name)
    if spec is None:
        return _refused(f"there is no tool {params.name[:100]!r}; there is {', '.join(serving.tools)}")
    try:
        arguments = read_arguments(spec, params.arguments)
        if spec.name != "job" and not spec.slow:
            of = "look" if spec.reads_only else "write"
            found: types.CallToolResult = await serving.run(_quick, serving.places, spec, arguments, of=of)
            return found
        place = await serving.run(serving.places.of, arguments.project, arguments.state_dir)
        if spec.name == "job":
            return await _job(serving, context, place, arguments)
        return await _slow(serving, context, place, spec, arguments)
    except BusyError as error:
        return _refused(f"{error}. If that is a job, next() names it")
    except AutoscirubError as error:
        return _refused(str(error))
    except Exception as error:  # noqa: BLE001 - the outermost edge: the agent must learn that it failed
        return _refused(_of_ours(error))


def _quick(places: ServedProjects, spec: ToolSpec, arguments: Any) -> types.CallToolResult:
    PATIENCE.set(_LOCK_SECONDS)  # of this call alone: each thread's work has a context of its own
    answer: ToolAnswer = spec.run(places.of(arguments.project, arguments.state_dir), arguments)
    return _answered(_at(fitted(answer), arguments))


def _at(answer: ToolAnswer, arguments: Any) -> ToolAnswer:
    """Adapt the answer to a call that named its project: the next call is about the same one, and resources are not."""
    named = {
        name: value for name in ("project", "state_dir") if (value := getattr(arguments, name)) is not None
    }
    if not named:
        return answer
    after = answer.next
    if after.tool is not None:
        after = after.model_copy(update={"arguments": {**after.arguments, **named}})
    return answer.model_copy(update={"next": after, "whole": None})


async def _slow(
    serving: _Serving, context: Any, place: ServedProject, spec: ToolSpec, arguments: Any
) -> types.CallToolResult:
    what = arguments.model_dump(
        mode="json", exclude={"project", "state_dir", "wait_seconds"}, exclude_defaults=True
    )
    try:
        with anyio.CancelScope(shield=True):  # or it would start after a client that gave up asked again
            job = await serving.run(serving.jobs.start, place, spec.name, what, of="write")
    except UnderWay as already:
        return _answered(_at(await serving.run(_running, spec, place, already.job, str(already)), arguments))
    ended = await _wait(serving, context, job, arguments.wait_seconds)
    if ended is None:
        return _answered(
            _at(await serving.run(_running, spec, place, job, "it is still under way"), arguments)
        )
    if ended.answer is None:
        return _refused(ended.error or ended.state)
    return _answered(_at(_of_job(job, spec.name, ended.answer), arguments))


async def _job(serving: _Serving, context: Any, place: ServedProject, arguments: Any) -> types.CallToolResult:
    job = await serving.run(serving.jobs.find, place, arguments.id)
    tool = job.id.rpartition("-")[0]
    if arguments.action == "cancel":
        ended = await serving.run(serving.jobs.cancel, job, of="write")
    else:
        ended = await _wait(serving, context, job, arguments.wait_seconds)
    base = {"project": str(place.project), "state_dir": str(place.state_dir), "job": job.id, "tool": tool}
    if ended is None:
        wait = Next(tool="job", arguments={"id": job.id, "action": "wait"}, why="it is still under way")
        progress = await serving.run(_progress, job)
        return _answered(_at(JobToolAnswer(**base, next=wait, state="running", progress=progress), arguments))
    answer = _at(_of_job(job, tool, ended.answer), arguments) if ended.answer is not None else None
    result = JobToolAnswer(
        **base,
        next=answer.next if answer is not None else LOOK_AGAIN,
        state=ended.state,
        answer=answer.model_dump(mode="json") if answer is not None else None,
        error=cut(ended.error, _MOST_TEXT) if ended.error else None,
    )
    return _answered(_at(result, arguments))


def _of_job(job: Job, tool: str, found: dict[str, Any]) -> ToolAnswer:
    """What a job left, as its tool answers. Raises CorruptError for anything else: a file can be written by anyone."""
    spec = TOOLS.get(tool)
    try:
        if spec is None or not spec.slow:
            raise CorruptError(f"{job.id}: there is no slow tool {tool!r}")
        return fitted(spec.answers.model_validate(found))
    except ValidationError:
        raise CorruptError(f"{job.id}: its answer is none of {tool}'s; call {tool} again") from None


async def _wait(serving: _Serving, context: Any, job: Job, seconds: float) -> JobAnswer | None:
    """Its end, or None when that takes longer; reports the progress to the client meanwhile."""
    reported = None
    with anyio.move_on_after(seconds):
        while True:
            ended: JobAnswer | None = await serving.run(serving.jobs.ended, job)
            if ended is not None:
                return ended
            progress = await serving.run(_progress, job)
            if progress is not None and progress != reported:
                reported = progress
                await context.session.report_progress(progress.done, progress.total)
            await anyio.sleep(_POLL_SECONDS)
    last: JobAnswer | None = await serving.run(serving.jobs.ended, job)
    return last


def _progress(job: Job) -> Progress | None:
    latest = job.progress
    return Progress(done=latest.done, total=latest.total) if latest is not None else None


def _running(spec: ToolSpec, place: ServedProject, job: Job, why: str) -> ToolAnswer:
    wait = Next(tool="job", arguments={"id": job.id, "action": "wait"}, why=why)
    running = {"state": "running", "job": job.id, "progress": _progress(job), "next": wait}
    return spec.answers.model_validate(
        {"project": str(place.project), "state_dir": str(place.state_dir), **running}
    )


def _answered(answer: ToolAnswer) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=answer.model_dump_json())]
    if answer.whole is not None:
        content.append(
            types.ResourceLink(
                type="resource_link",
                uri=answer.whole,
                name=answer.whole.rsplit("/", 1)[-1],
                mime_type="application/json",
            )
        )
    return types.CallToolResult(content=content, structured_content=answer.model_dump(mode="json"))


def _refused(message: str) -> types.CallToolResult:
    """What was wrong, and the allowed next call. It is in the text: no client validates an error against a schema."""
    text = f"{cut(message, _MOST_TEXT)}\nAllowed next: next() — {LOOK_AGAIN.why}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _of_ours(error: Exception) -> str:
    trace = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w", prefix="autoscirub-error-", suffix=".log", delete=False, encoding="utf-8"
    ) as file:
        file.write(trace)
    first = str(error).splitlines()[0] if str(error) else ""
    return f"an error of ours: {type(error).__name__}: {first} (trace in {Path(file.name)}); please report it"
