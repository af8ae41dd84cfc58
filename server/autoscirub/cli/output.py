"""Writes results to stdout, and notices, errors and progress bars to stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from autoscirub.cli.output_format import OutputFormat
    from autoscirub.models import Decision
    from autoscirub.workflow.rounds import LoopStep

_BAR_AFTER_SECONDS = 0.7


def text(value: str) -> None:
    """One block of plain text on stdout; what its encoding cannot hold is written as an escape."""
    encoding = sys.stdout.encoding or "utf-8"
    held = value.encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(held if held.endswith("\n") else f"{held}\n")


def file(path: Path, value: str) -> None:
    """JUnit XML in a file that the user named. Raises a usage error where it cannot be written.

    In a stranger's repository the path may be a link, and its target is not ours to overwrite.
    """
    from autoscirub.errors import StateError
    from autoscirub.store import write_atomic

    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise typer.BadParameter(
                f"{path}: is a link or no regular file; name one that is, or a new one",
                param_hint="--junit-file",
            )
        if path.exists() and not _is_junit(path):
            raise typer.BadParameter(
                f"{path}: is there, and is no JUnit XML; name a new file, or one that was written here before",
                param_hint="--junit-file",
            )
        write_atomic(path, value.encode("utf-8"))
    except (StateError, OSError, ValueError) as error:
        why = error.__cause__ or error
        raise typer.BadParameter(f"{path}: cannot be written: {why}", param_hint="--junit-file") from None


def _is_junit(path: Path) -> bool:
    with path.open("rb") as file:
        beginning = file.read(400)
    return not beginning or (beginning.lstrip().startswith(b"<?xml") and b"<testsuites" in beginning)


def document(value: Any) -> None:
    """Exactly one JSON document on stdout."""
    from autoscirub.models import strict_json

    sys.stdout.write(strict_json(value))


def json_answer(decisions: Sequence[Decision], *, ok: bool, **more: Any) -> None:
    """The shape of every `--json` answer but `verify`'s: {ok, decisions[], …}."""
    document({"ok": ok, "decisions": [decision.model_dump(mode="json") for decision in decisions], **more})


def notices(lines: Sequence[str]) -> None:
    """Notices that go with an answer, on stderr."""
    from autoscirub.report import plain

    for line in lines:
        sys.stderr.write(f"note: {plain(line)}\n")


def pass_on(data: bytes) -> None:
    """The output of a program that we run, on stderr as it arrives."""
    from autoscirub.report import plain

    for line in data.decode("utf-8", "replace").splitlines():
        sys.stderr.write(f"  | {plain(line)}\n")


def print_step(step: LoopStep) -> None:
    """A step of the loop, on stderr as it is taken."""
    sys.stderr.write(f"· {step.did}\n")


def failure(
    kind: str, message: str, status: int, *, output_format: OutputFormat, error: Exception | None = None
) -> int:
    """Report what went wrong: on stderr for people, and on stdout in the requested output format."""
    if output_format.junit_file is not None:
        from autoscirub.report import junit_error

        with contextlib.suppress(typer.BadParameter):  # it may be this very file that cannot be written
            file(Path(output_format.junit_file), junit_error(kind, message))
    if output_format.format == "json":
        faults = {name: getattr(error, name) for name in ("faults", "warnings") if getattr(error, name, None)}
        document({"ok": False, "decisions": [], "error": {"kind": kind, "message": message, **faults}})
    else:
        from autoscirub.report import github_error, inert, junit_error, plain, sign_for_error

        harmless = inert(message) if output_format.format == "github" else plain(message, keep_lines=True)
        if output_format.format == "github":
            text(github_error(message))
        elif output_format.format == "junit":
            text(junit_error(kind, message))
        sys.stderr.write(f"{sign_for_error(sys.stderr)} {harmless}\n")
    return status


@contextlib.contextmanager
def bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress callback (done, total) that draws a bar on stderr once the work has taken a moment.

    A bar that is full is taken away: what follows may ask a question there. Nothing is drawn where stderr is no
    terminal.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        drawn: list[Any] = []

        def advance(done: int, total: int) -> None:
            if done >= total:
                stack.close()
                drawn.clear()
                return
            if not drawn:
                if time.monotonic() - started < _BAR_AFTER_SECONDS:
                    return
                from rich.console import Console
                from rich.progress import Progress

                progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
                drawn.extend([progress, progress.add_task(label, total=total)])
            drawn[0].update(drawn[1], completed=done, total=total)

        yield advance
