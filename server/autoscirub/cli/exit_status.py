"""Runs a command, and turns every error into an exit status in one place."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from typer.exceptions import Abort, TyperException

from autoscirub.cli import output
from autoscirub.cli.app import app
from autoscirub.cli.output_format import OutputFormat, output_format_of
from autoscirub.errors import AutoscirubError

EXIT_REQUEST = 3
"""The request was wrong: usage, predictions, lock, configuration, tampering, not trusted, a refusal."""
EXIT_INTERNAL = 4
"""An internal error: a trace in a log file, one line on stderr."""
EXIT_INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status."""
    output_format = output_format_of(arguments)
    try:
        status = app(arguments or ["--help"], prog_name="autoscirub", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except TyperException as error:
        return output.failure("UsageError", _usage(error), EXIT_REQUEST, output_format=output_format)
    except (Abort, KeyboardInterrupt):
        return output.failure(
            "Interrupted", "interrupted; nothing more was done", EXIT_INTERRUPTED, output_format=output_format
        )
    except AutoscirubError as error:
        return output.failure(
            type(error).__name__, str(error), EXIT_REQUEST, output_format=output_format, error=error
        )
    except BrokenPipeError:
        # The reader closed the pipe; do not fail a second time when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost edge: an internal error must not look like an answer
        return _internal(error, output_format=output_format)


def _usage(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "autoscirub"
    return f"{error.format_message()} See: {where} --help"


def _internal(error: Exception, *, output_format: OutputFormat) -> int:
    import tempfile

    trace = "".join(traceback.format_exception(error))
    handle, name = tempfile.mkstemp(prefix="autoscirub-error-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(trace)
    first_line = f"{error}".splitlines()[0] if str(error) else ""
    message = (
        f"an error of ours: {type(error).__name__}: {first_line} (trace in {Path(name)}); please report it"
    )
    return output.failure("InternalError", message, EXIT_INTERNAL, output_format=output_format)
