"""The project's configuration: `autoscirub.toml`, `[tool.autoscirub]` or `.autoscirub/config.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from autoscirub.models.base import Closed

_HOW_LONG = frozenset({"seconds", "turns", "money", "at_once"})
"""Settings of a judge that bound one answer and decide nothing: a freeze does not lock them."""
_Positive = Annotated[float, Field(gt=0)]
_Seconds = Annotated[float, Field(gt=0, le=10_000_000)]
"""Beyond a third of a year nobody waits, and clocks and kernels stop counting."""


def _command(words: list[str]) -> list[str]:
    if words and not words[0].strip():
        raise ValueError("the first part is empty; it is the program to start")
    if any("\0" in word for word in words):
        raise ValueError("holds a NUL character, which cannot be passed to a program")
    return words


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{name[:60]!r} is not a variable name: letters, digits and _ only, and no value")
    return name


_Command = Annotated[list[str], AfterValidator(_command)]
_Variable = Annotated[str, AfterValidator(_variable)]


class RunConfig(Closed):
    """`[run]`: how the results come out of the code. Nothing here runs before `autoscirub trust`."""

    command: _Command = Field(
        min_length=1, description='program and arguments, such as ["python3", "run.py"]'
    )
    inputs: list[str] = Field(default_factory=list)
    outputs: list[str] = Field(
        default_factory=list, description="what the command writes: files, folders or patterns"
    )
    results: list[str] = Field(
        default_factory=list,
        description="those of the outputs that a rerun compares besides the results file; default: all of them",
    )
    seconds: _Seconds = Field(default=600, description="wall clock")
    rtol: float = Field(
        default=1e-9, ge=0, lt=1, allow_inf_nan=False, description="relative tolerance of a rerun"
    )
    atol: float = Field(default=1e-12, ge=0, allow_inf_nan=False, description="absolute tolerance of a rerun")
    ignore: list[str] = Field(
        default_factory=list, description="patterns of keys and paths that a rerun does not compare"
    )
    env: list[_Variable] = Field(
        default_factory=list, description="names of environment variables that the command may see"
    )
    network: bool = Field(default=False, description="whether the command may use the network")


class NumbersConfig(Closed):
    """`[numbers]`: how the numbers of the report are looked for. Part of what a freeze locks."""

    sources: list[str] | None = Field(
        default=None,
        min_length=1,
        description="results, one of its keys, predictions, .csv, .tsv and .json files; null: results and predictions",
    )
    strict: bool = Field(
        default=False,
        description="whether a number without a source does not hold, rather than being left open",
    )
    bindings: dict[str, str] = Field(
        default_factory=dict,
        description="a snippet of the report, with # for the number -> the key that it prints",
    )
    set_aside: list[str] = Field(
        default_factory=list, description="texts: a number in a line that holds one of them is not looked for"
    )


class RerunConfig(Closed):
    """`[rerun]`: what is asked of a rerun. Part of what a freeze locks."""

    required: bool = Field(default=False, description="whether what is decided needs a rerun")


class RoundsConfig(Closed):
    """`[rounds]`: when the loop of verifying and revising ends for want of budget."""

    max: int = Field(default=10, ge=1, description="rounds")
    seconds: _Seconds | None = Field(default=None, description="wall clock of the whole loop; null: no limit")
    revise: _Command | None = Field(
        default=None, min_length=1, description="program and arguments that revise; needs `autoscirub trust`"
    )
    revise_seconds: _Seconds = Field(default=3600, description="wall clock of one revision")


class JudgeConfig(Closed):
    """`[judge]`: who reads what code cannot decide. Part of what a freeze locks."""

    backend: str = Field(
        default="none",
        min_length=1,
        description="none, claude, codex, openai, person, command, replay, or one that an installed package registers; "
        "none: what must be read cannot be assessed",
    )
    command: _Command | None = Field(
        default=None,
        min_length=1,
        description="backend command: program and arguments; needs `autoscirub trust`",
    )
    replay: str | None = Field(
        default=None, description="backend replay: the folder with recorded replies, in the project"
    )
    model: str | None = None
    base_url: str | None = Field(
        default=None, description="backend openai: the server's address, such as http://localhost:8000/v1"
    )
    key_env: str | None = Field(
        default=None,
        description="backend openai: the environment variable that holds the key; null: no key is sent",
    )
    api: Literal["chat", "responses"] = Field(
        default="chat", description="backend openai: which of its formats"
    )
    input_usd: float | None = Field(
        default=None, ge=0, description="backend openai: US dollars for a million input tokens; null: unknown"
    )
    output_usd: float | None = Field(
        default=None,
        ge=0,
        description="backend openai: US dollars for a million output tokens; null: unknown",
    )
    inline: int = Field(
        default=60_000,
        ge=0,
        description="characters of files that stand in a question; the rest is read by tools",
    )
    asks_again: int = Field(
        default=2, ge=0, le=99, description="how often a round asks again after a verdict that did not count"
    )
    seconds: _Seconds = Field(default=600, description="wall clock of one answer")
    turns: int = Field(default=40, ge=1, description="turns of one answer")
    money: float | None = Field(default=None, gt=0, description="US dollars of one answer, at most")
    asks_per_round: int | None = Field(
        default=None, ge=1, description="how often one criterion may be asked in a round; null: no limit"
    )
    at_once: int = Field(default=4, ge=1, le=64, description="answers that are waited for at the same time")
    repeats: int = Field(default=1, ge=1, le=99, description="members of the panel")
    agree: int = Field(default=1, ge=1, le=99, description="alike answers that make the panel's answer")
    money_round: _Positive | None = Field(
        default=None, description="US dollars a round may cost; null: no limit of the project's own"
    )
    money_day: _Positive | None = Field(
        default=None, description="US dollars a day may cost; null: no limit of the project's own"
    )

    @model_validator(mode="after")
    def _can_agree(self) -> JudgeConfig:
        if self.agree > self.repeats:
            raise ValueError(
                f"agree = {self.agree} of a panel of {self.repeats} (repeats) could never be met; set it to "
                f"{self.repeats} or less"
            )
        return self


class ProfileConfig(Closed):
    """`[profiles.NAME]`: what of the project a judge is shown. Part of what a freeze locks."""

    include: list[str] = Field(
        default_factory=list, description="files, folders and patterns that are shown; empty: as built in"
    )
    exclude: list[str] = Field(
        default_factory=list, description="withheld, whatever includes them, and every copy of their bytes"
    )
    links: list[str] = Field(
        default_factory=list, description="links that may be followed out of the project"
    )


class AuditConfig(Closed):
    """`[audit]`: how much of what was judged the history keeps, in bytes."""

    keep_file: int = Field(default=1_000_000, ge=0)
    keep_round: int = Field(default=100_000_000, ge=0)


class LimitsConfig(Closed):
    """`[limits]`: sizes above which a file is refused rather than read."""

    results_bytes: int = Field(default=64 * 1024 * 1024, gt=0, description="results file, bytes")
    lock_seconds: _Seconds = Field(default=60, description="how long to wait for another process")


SHORT_RUBRIC = "rubric.toml"
"""Where people write the rubric, unless the configuration names another file."""


class ProjectConfig(Closed):
    """All of it. Paths are relative to the project root."""

    state_dir: str | None = None
    report: str | None = None
    results: str | None = None
    rubric: str | None = Field(
        default=None, description=f"the rubric that people write; default: {SHORT_RUBRIC}"
    )
    run: RunConfig | None = None
    numbers: NumbersConfig = Field(default_factory=NumbersConfig)
    rerun: RerunConfig = Field(default_factory=RerunConfig)
    rounds: RoundsConfig = Field(default_factory=RoundsConfig)
    judge: JudgeConfig = Field(default_factory=JudgeConfig)
    profiles: dict[str, ProfileConfig] = Field(
        default_factory=dict, description="by name: hypothesis and criterion change what is built in"
    )
    audit: AuditConfig = Field(default_factory=AuditConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)

    def _deciding_run(self) -> dict[str, Any]:
        names = ("command", "outputs", "results", "rtol", "atol", "ignore", "env", "network")
        values = self.run.model_dump(mode="json") if self.run else {}
        return {f"run.{name}": values.get(name) for name in names}

    @property
    def rubric_file(self) -> str:
        """The rubric that people write, in its short form: its path from the project's root."""
        return self.rubric or SHORT_RUBRIC

    def deciding(self) -> dict[str, Any]:
        """The settings that decide, as plain JSON data: what a freeze locks besides the files."""
        return {
            "report": self.report,
            "results": self.results,
            "rubric": self.rubric,
            **self._deciding_run(),
            **{f"numbers.{key}": value for key, value in self.numbers.model_dump(mode="json").items()},
            "rerun.required": self.rerun.required,
            **{
                f"judge.{key}": value
                for key, value in self.judge.model_dump(mode="json").items()
                if key not in _HOW_LONG
            },
            "profiles": {name: profile.model_dump(mode="json") for name, profile in self.profiles.items()},
        }
