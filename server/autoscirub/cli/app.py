"""Puts the command line together from the modules of commands.

Each command parses, calls one function below, and renders; what a command needs loads inside it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from autoscirub.cli import output
from autoscirub.cli.options import app as app


def _version(asked: bool) -> None:
    if asked:
        from autoscirub.version import __version__

        output.text(f"autoscirub {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


# They add their commands to the application; the order here is the order in the help.
# isort: off
from autoscirub.cli import project as _project  # noqa: E402, F401
from autoscirub.cli import predictions as _predictions  # noqa: E402, F401
from autoscirub.cli import loop as _loop  # noqa: E402, F401
from autoscirub.cli import audit as _audit  # noqa: E402, F401
from autoscirub.cli import judging as _judging  # noqa: E402, F401
from autoscirub.cli import calibrating as _calibrating  # noqa: E402, F401
from autoscirub.cli import selftest as _selftest  # noqa: E402, F401
from autoscirub.cli import serving as _serving  # noqa: E402, F401
from autoscirub.cli import installing as _installing  # noqa: E402, F401
from autoscirub.cli import hooks as _hooks  # noqa: E402, F401
# isort: on
