"""Every error this package raises on purpose, in one tree.

::

    AutoscirubError
    ├── StateError              the state directory, its files or the configuration
    │   ├── ConfigError         autoscirub.toml, [tool.autoscirub], config.yaml, an environment variable
    │   ├── CorruptError        a state file that cannot be read as what it should be
    │   ├── NewerVersionError   a state file written by a newer version of this package
    │   ├── BusyError           another process holds the state directory
    │   └── HistoryError        history.bundle or the repository behind it
    ├── CheckError              something a check needs, or a check itself
    │   ├── ExpressionRefused   an expression outside the restricted grammar or its limits
    │   ├── NotEvaluable        an allowed expression that has no value on these results
    │   ├── ResultsError        a results file that cannot be read
    │   ├── PathRefused         an artifact path that leaves the project, or is no path
    │   ├── PredictionsError    a predictions file with faults, all of them listed
    │   └── TamperedError       a lock and what it locks disagree
    ├── BlindingError           a workspace for a judge that cannot be built, or was changed
    ├── JudgeError              a judge that gave no verdict: unreachable, cut off, unreadable
    ├── ToolRefused             a judge's tool call that is not answered; the message is for the judge
    ├── ClientError             a coding agent's program that is not there, or did not do what it was told
    ├── SandboxError            a program of somebody else's that could not be run
    └── TrustError              something would have to run that was not trusted on this machine

A message is for the one who must act: what was found, where, what was expected, what to do.
Commands, tools, jobs and hooks turn these into a status; nothing else catches broadly.
"""

from __future__ import annotations

__all__ = [
    "AutoscirubError",
    "BlindingError",
    "BusyError",
    "CheckError",
    "ClientError",
    "ConfigError",
    "CorruptError",
    "ExpressionRefused",
    "HistoryError",
    "JudgeError",
    "NewerVersionError",
    "NotEvaluable",
    "PathRefused",
    "PredictionsError",
    "ResultsError",
    "SandboxError",
    "StateError",
    "TamperedError",
    "ToolRefused",
    "TrustError",
]


class AutoscirubError(Exception):
    """The root: everything raised on purpose. `str(error)` is the whole message, without a trace."""


class StateError(AutoscirubError):
    """Raised when the state directory, a file in it, or the configuration breaks its contract."""


class ConfigError(StateError):
    """Raised when the configuration cannot be used: unknown key, wrong type, two sources that disagree."""


class CorruptError(StateError):
    """Raised when a state file is not what its schema says (bad JSON, a missing field, a wrong type)."""


class NewerVersionError(StateError):
    """Raised when a state file's `schema_version` is newer than this package understands."""


class BusyError(StateError):
    """Raised when another process held the state directory for the whole time we were willing to wait."""


class HistoryError(StateError):
    """Raised when the history cannot be read or written."""


class CheckError(AutoscirubError):
    """Raised when a check, or something a check needs, cannot be used or evaluated."""


class ExpressionRefused(CheckError):  # noqa: N818 - "refused" is the word the user meets
    """Raised when an expression is outside the restricted grammar or its limits.

    Found at freeze. Never depends on the results.
    """


class NotEvaluable(CheckError):  # noqa: N818 - "could not be evaluated" is the phrase the user meets
    """Raised when an allowed expression has no value on these results: neither a pass nor a refutation.

    `reference`: the reference into the results that leads nowhere, as it is spelled, where that is why.
    """

    def __init__(self, message: str, *, reference: str | None = None) -> None:
        super().__init__(message)
        self.reference = reference


class ResultsError(CheckError):
    """Raised when a results file is missing, unreadable, not JSON, or over its limits."""


class PathRefused(CheckError):  # noqa: N818
    """Raised when an artifact path leaves the project, or is no usable path at all."""


class PredictionsError(CheckError):
    """Raised when a predictions file has faults; `faults` and `warnings` list every one of them."""

    def __init__(
        self, message: str, faults: list[str] | None = None, warnings: list[str] | None = None
    ) -> None:
        super().__init__(message)
        self.faults = list(faults or [])
        self.warnings = list(warnings or [])


class TamperedError(CheckError):
    """Raised when what was locked and what is there disagree; the message names both digests."""


class BlindingError(AutoscirubError):
    """Raised when a blinded workspace cannot be built as its profile says, or was changed since it was."""


class JudgeError(AutoscirubError):
    """Raised when a judge gave no verdict: a limit hit, a crash, an unreachable service, an unreadable reply.

    Never a verdict, and never cached. `raw` is the reply as far as it came, for inspection.
    """

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


class ToolRefused(AutoscirubError):  # noqa: N818 - it is the word the judge meets
    """Raised when a tool of a judge does not answer a call: a path that leaves the workspace, a wrong argument.

    The message goes to the judge, so it says the allowed form and never names a path outside of the workspace.
    """


class ClientError(AutoscirubError):
    """Raised when a client (claude, codex) is not there, answers nothing usable, or did not do what it was told."""


class SandboxError(AutoscirubError):
    """Raised when a program of somebody else's could not be started, or not within its limits."""


class TrustError(AutoscirubError):
    """Raised when a program named in a project's files would have to run without having been trusted here."""
