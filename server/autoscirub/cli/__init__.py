"""The command line. `main` is the entry point; everything else loads when a command runs."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status (see `docs/exit-status.md`).

    stdout gets results alone; bars, notices and errors go to stderr.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:  # answered before anything is loaded
        from autoscirub import __version__

        sys.stdout.write(f"autoscirub {__version__}\n")
        return 0
    from autoscirub.cli.run import run

    return run(arguments)
