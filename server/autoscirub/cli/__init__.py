"""The command line of autoscirub. `main` is the entry point; everything else loads when a command runs."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status (see `docs/exit-status.md`).

    stdout gets results alone; bars, notices and errors go to stderr.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:  # answered before anything is loaded
        from autoscirub.version import __version__

        sys.stdout.write(f"autoscirub {__version__}\n")
        return 0
    if arguments[:1] == ["hook"] and arguments[1:] in (["stop"], ["pre-tool-use"]):
        # A client waits for it at every tool call: neither typer nor anything else that it does not need.
        from autoscirub.client_hooks import main as answer_hook

        return answer_hook(arguments[1])
    from autoscirub.cli.exit_status import run

    return run(arguments)
