"""Opens the backend that `judge.backend` names: a built-in one, or one that an installed package registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.errors import AutoscirubError, ConfigError
from autoscirub.judging.backends.limits import one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from autoscirub.judging.backends.protocol import Backend
    from autoscirub.models import JudgeConfig

ENTRY_POINTS = "autoscirub.judges"
"""The entry point group in which a package registers its factory, under the name that `judge.backend` selects."""

BUILT_IN = ("none", "command", "replay", "codex", "openai", "claude", "person")
"""A package that registers one of these names is not asked: it cannot take over what is built in."""


def open_backend(config: JudgeConfig, root: Path, *, trusted: bool) -> Backend | None:
    """The judge that the configuration names; None for "none".

    Opening runs nothing of the project's: a `command` that is not `trusted` is opened too, so that its earlier
    answers can be looked up, but refuses to be asked. Raises ConfigError for an unknown name, a setting that is
    missing, and a registered package that cannot be used.
    """
    name = config.backend
    if name == "none":
        return None
    if name == "command":
        from autoscirub.judging.backends.command import CommandBackend
        from autoscirub.judging.backends.judge_program import JudgeProgram

        if config.command is None:
            raise ConfigError(
                'judge.backend is "command" and judge.command is not set; name program and arguments'
            )
        return CommandBackend(JudgeProgram(config.command, root), model=config.model, trusted=trusted)
    if name == "replay":
        from autoscirub.judging.backends.replay import ReplayBackend

        if config.replay is None:
            raise ConfigError(
                'judge.backend is "replay" and judge.replay is not set; name the folder of the records'
            )
        return ReplayBackend(config.replay, root)
    if name == "codex":
        from autoscirub.judging.backends.codex import CodexBackend

        return CodexBackend(config, trusted=trusted)
    if name == "openai":
        from autoscirub.judging.backends.model_server import ModelServerBackend

        return ModelServerBackend(config, trusted=trusted)
    if name == "claude":
        from autoscirub.judging.backends.claude import ClaudeBackend

        return ClaudeBackend(model=config.model, trusted=trusted)
    if name == "person":
        from autoscirub.judging.backends.person import PersonBackend

        return PersonBackend()
    return _registered(name, config, root, trusted=trusted)


def _registered(name: str, config: JudgeConfig, root: Path, *, trusted: bool) -> Backend:
    from importlib.metadata import entry_points

    group = entry_points(group=ENTRY_POINTS)
    # One package found twice on the path is still one; the first is the one that an import finds.
    found = list({_package(entry): entry for entry in reversed([*group.select(name=name)])}.values())
    if not found:
        others = sorted({entry.name for entry in group} - set(BUILT_IN))
        known = ", ".join([*BUILT_IN, *others])
        raise ConfigError(
            f"judge.backend: {name!r} is not known; known are {known}; "
            f"a package adds its own by the entry point group {ENTRY_POINTS}"
        )
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found)))
        raise ConfigError(
            f"judge.backend: {name!r} is registered by {packages}; uninstall all but one of them"
        )
    [entry] = found
    who = f"judge.backend: {name!r}, registered by {_package(entry)} as {entry.value}"
    try:
        factory = entry.load()
    except (Exception, SystemExit) as cause:  # somebody else's module, in whatever state it is
        raise ConfigError(
            f"{who}: cannot be loaded: {_describe(cause)}; update that package, or uninstall it"
        ) from cause
    if not callable(factory):
        raise ConfigError(
            f"{who}: is {type(factory).__name__}, expected a function; tell whoever wrote that package"
        )
    try:
        backend = factory(config, root, trusted)
    except AutoscirubError:
        raise
    except (Exception, SystemExit) as cause:  # as above
        raise ConfigError(
            f"{who}: cannot be opened: {_describe(cause)}; update that package, or uninstall it"
        ) from cause
    missing = [part for part in ("ask", "settings", "price") if not callable(getattr(backend, part, None))]
    if not isinstance(getattr(backend, "name", None), str):
        missing.insert(0, "name")
    if missing:
        raise ConfigError(
            f"{who}: gave {type(backend).__name__}, which is not a judge: it lacks {', '.join(missing)}; "
            "tell whoever wrote that package"
        )
    typed: Backend = backend
    return typed


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"


def _describe(cause: BaseException) -> str:
    return f"{type(cause).__name__}: {one_line(str(cause))}"
