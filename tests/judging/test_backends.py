"""Backends: opening one, what is built in, and packages that register their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from autoscirub.errors import ConfigError
from autoscirub.judging.backends import BUILT_IN, Backend, ask_within, open_backend
from autoscirub.models import JudgeConfig, JudgeRequest

BUILT = (
    JudgeConfig(backend="command", command=["x"]),
    JudgeConfig(backend="replay", replay="r"),
    JudgeConfig(backend="openai", base_url="http://localhost:1/v1", model="m"),
)

# Opening


def test_none_is_no_judge(tmp_path: Path) -> None:
    assert open_backend(JudgeConfig(), tmp_path, trusted=True) is None


def test_an_unknown_name_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'oracle' is not known; known are none, command, replay"):
        open_backend(JudgeConfig(backend="oracle"), tmp_path, trusted=True)


@pytest.mark.parametrize("backend", ["command", "replay"])
def test_one_without_what_it_needs_is_refused(tmp_path: Path, backend: str) -> None:
    with pytest.raises(ConfigError, match=f"judge.{backend} is not set"):
        open_backend(JudgeConfig(backend=backend), tmp_path, trusted=True)


def test_what_is_built_in_is_a_backend(tmp_path: Path) -> None:
    for config in BUILT:
        assert isinstance(open_backend(config, tmp_path, trusted=False), Backend)


# Registered by a package


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, entry: str, module: str) -> None:
    """A distribution on the path, as an installer leaves it."""
    package = name.replace("-", "_")
    (folder / f"{package}-1.0.dist-info").mkdir(parents=True)
    info = folder / f"{package}-1.0.dist-info"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[autoscirub.judges]\n{entry}\n")
    (folder / f"{package}.py").write_text(module)
    monkeypatch.syspath_prepend(str(folder))


ORACLE = """
from autoscirub.models import JudgeReply

class Oracle:
    name = "oracle"
    def __init__(self, config, root, trusted): self.config, self.root, self.trusted = config, root, trusted
    async def ask(self, request): return JudgeReply(text=f"{self.config.model} {self.root.name} {self.trusted}")
    async def repair(self, request, reply, faults): return await self.ask(request)
    def settings(self): return {"backend": self.name, "model": self.config.model}
    def price(self, request): return 0.5

def open_oracle(config, root, trusted): return Oracle(config, root, trusted)
"""


def test_a_package_s_own_is_opened_with_configuration_place_and_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: Callable[..., JudgeRequest]
) -> None:
    install(
        tmp_path / "site", monkeypatch, "oracle-judge", "oracle = oracle_judge:open_oracle\nx = a:b", ORACLE
    )
    backend = open_backend(JudgeConfig(backend="oracle", model="m1"), tmp_path, trusted=True)
    assert backend is not None
    assert backend.settings() == {"backend": "oracle", "model": "m1"}
    assert anyio.run(ask_within, backend, question()).text == f"m1 {tmp_path.name} True"
    with pytest.raises(ConfigError, match="known are none, command, replay, .*oracle, x;"):
        open_backend(JudgeConfig(backend="oracel"), tmp_path, trusted=True)


def test_a_package_cannot_take_over_what_is_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = "\n".join(f"{name} = taking_judge:open_oracle" for name in BUILT_IN)
    install(tmp_path / "site", monkeypatch, "taking-judge", entries, ORACLE)
    assert open_backend(JudgeConfig(backend="none"), tmp_path, trusted=True) is None
    for config in BUILT:
        found = open_backend(config, tmp_path, trusted=True)
        assert found is not None
        assert found.name == config.backend


def test_a_name_that_two_packages_register_is_nobody_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "one", monkeypatch, "one-judge", "seer = one_judge:open_oracle", ORACLE)
    install(tmp_path / "two", monkeypatch, "two-judge", "seer = two_judge:open_oracle", ORACLE)
    with pytest.raises(ConfigError, match="'seer' is registered by one-judge and two-judge; uninstall all"):
        open_backend(JudgeConfig(backend="seer"), tmp_path, trusted=True)


@pytest.mark.parametrize(
    ("entry", "module", "words"),
    [
        ("bad = {}:gone", "", "cannot be loaded: AttributeError"),
        ("bad = nowhere_{}:f", "", "cannot be loaded: ModuleNotFoundError"),
        ("bad = {}:f", "1/0", "cannot be loaded: ZeroDivisionError"),
        ("bad = {}:f", "raise SystemExit(1)", "cannot be loaded: SystemExit"),
        ("bad = {}:f", "f = 3", "is int, expected a function"),
        ("bad = {}:f", "def f(): pass", "cannot be opened: TypeError"),
        ("bad = {}:f", "def f(c, r, t): raise OSError('no key\\x1b[2J')", r"cannot be opened: OSError: no key \[2J;"),
        ("bad = {}:f", "def f(c, r, t): return None", "gave NoneType, which is not a judge: it lacks name, ask,"),
    ],
)  # fmt: skip
def test_a_broken_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, module: str, words: str
) -> None:
    name = f"broken{abs(hash((entry, module)))}"
    install(tmp_path / "site", monkeypatch, name, entry.format(name), module)
    with pytest.raises(ConfigError, match=f"registered by {name} as .*{words}"):
        open_backend(JudgeConfig(backend="bad"), tmp_path, trusted=True)


def test_judging_loads_no_event_loop_library_until_it_is_used() -> None:
    import subprocess

    code = "import sys, autoscirub.judging, autoscirub.sandbox; sys.exit('anyio' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "server")}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
