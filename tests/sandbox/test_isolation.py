"""One program at a time, under each isolation that this machine has."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import lazy_loader
import pytest

from autoscirub.errors import SandboxError
from autoscirub.sandbox import Isolated, Isolation, Limits, available, remove_tree, run_isolated
from autoscirub.sandbox.bubblewrap import bubblewrap_problem

SERVER = Path(__file__).resolve().parents[2] / "server"
KINDS = ["bubblewrap", "process"]


def _run(script: str, folder: Path, isolation: Isolation, **options: object) -> Isolated:
    try:
        available(isolation)
    except SandboxError as error:
        pytest.skip(str(error))
    return run_isolated(["/bin/sh", "-c", script], cwd=folder, isolation=isolation, **options)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "copy"
    inner.mkdir()
    return inner


@pytest.mark.parametrize("isolation", KINDS)
def test_a_program_writes_into_its_folder_and_its_status_is_told(folder: Path, isolation: Isolation) -> None:
    ran = _run("echo out; echo err >&2; echo made > file; exit 7", folder, isolation)
    assert (ran.status, ran.ended, ran.timed_out, ran.isolation) == (7, None, False, isolation)
    assert sorted(ran.output.split()) == ["err", "out"]
    assert (folder / "file").read_text() == "made\n"


@pytest.mark.parametrize("isolation", KINDS)
def test_a_signal_is_told_as_128_and_its_number(folder: Path, isolation: Isolation) -> None:
    assert _run("kill -SEGV $$", folder, isolation).status == 128 + 11


@pytest.mark.parametrize("isolation", KINDS)
def test_the_environment_is_four_variables_and_what_is_given(
    folder: Path, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    ran = _run("env", folder, isolation, environment={"GIVEN": "yes"})
    names = {line.partition("=")[0] for line in ran.output.splitlines()}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD", "LC_CTYPE"} == {"PATH", "HOME", "LANG", "TMPDIR", "GIVEN"}


@pytest.mark.parametrize("isolation", KINDS)
def test_home_and_temporary_folder_are_there_and_empty_and_go(folder: Path, isolation: Isolation) -> None:
    script = 'test -z "$(ls -A $HOME)" && touch $HOME/a $TMPDIR/b && echo $HOME'
    ran = _run(script, folder, isolation)
    assert ran.status == 0
    assert not Path(ran.output.strip(), "a").exists()


@pytest.mark.parametrize("isolation", KINDS)
def test_standard_input_is_empty(folder: Path, isolation: Isolation) -> None:
    assert _run("cat; echo end", folder, isolation).output == "end\n"


@pytest.mark.parametrize("isolation", KINDS)
def test_the_end_of_a_long_output_is_kept(folder: Path, isolation: Isolation) -> None:
    ran = _run("seq 1 100000", folder, isolation)
    assert len(ran.output) <= 64 * 1024
    assert ran.output.endswith("99999\n100000\n")


@pytest.mark.parametrize("isolation", KINDS)
def test_processor_time_is_bounded(folder: Path, isolation: Isolation) -> None:
    ran = _run("while :; do :; done", folder, isolation, limits=Limits(seconds=30, cpu_seconds=1))
    assert ran.status in (128 + 9, 128 + 24)
    assert not ran.timed_out


@pytest.mark.parametrize("isolation", KINDS)
def test_what_is_enforced_and_what_is_not_is_said(folder: Path, isolation: Isolation) -> None:
    ran = _run("true", folder, isolation)
    assert {"wall clock", "memory", "output", "clean environment"} <= set(ran.enforced)
    assert ("no network" in ran.enforced) == (isolation == "bubblewrap")
    assert ("the network is open" in ran.not_enforced) == (isolation == "process")
    assert ran.summary.startswith(f"isolation: {isolation}")


def test_a_declared_network_is_said(folder: Path) -> None:
    ran = _run("true", folder, "bubblewrap", network=True)
    assert "no network" not in ran.enforced
    assert "network (declared open)" in ran.not_enforced


def test_the_folder_appears_where_it_is_asked_to(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "project"
    ran = _run("pwd; touch here", folder, "bubblewrap", mounted_as=elsewhere)
    assert ran.output.strip() == str(elsewhere)
    assert (folder / "here").exists()
    assert not elsewhere.exists()


def test_a_readable_folder_can_be_read_and_not_written(folder: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "data").write_text("known\n")
    ran = _run(f"cat {library}/data; echo x > {library}/new", folder, "bubblewrap", readable=[library])
    assert ran.output.startswith("known\n")
    assert ran.status != 0
    assert [path.name for path in library.iterdir()] == ["data"]


def test_the_system_itself_cannot_be_written_and_other_processes_not_seen(folder: Path) -> None:
    ran = _run("touch /sandbox-x /usr/sandbox-x /dev/sandbox-x; ls /proc", folder, "bubblewrap")
    assert str(os.getpid()) not in ran.output.split()
    assert not Path("/sandbox-x").exists()
    assert not Path("/usr/sandbox-x").exists()


def test_no_capability_is_left_inside(folder: Path) -> None:
    ran = _run("grep -E 'CapEff|CapPrm|CapAmb|NoNewPrivs' /proc/self/status", folder, "bubblewrap")
    assert {tuple(line.split()) for line in ran.output.splitlines()} == {
        ("CapEff:", "0" * 16),
        ("CapPrm:", "0" * 16),
        ("CapAmb:", "0" * 16),
        ("NoNewPrivs:", "1"),
    }


_KILLED = """
import sys
from pathlib import Path
from autoscirub.sandbox import run_isolated
run_isolated(["/bin/sh", "-c", "exec 3> pipe; echo up >&3; sleep 600"], cwd=Path(sys.argv[1]), isolation=sys.argv[2])
"""


@pytest.mark.parametrize("isolation", KINDS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_when_we_are_killed_or_interrupted_the_program_ends_too(
    folder: Path, isolation: Isolation, number: signal.Signals
) -> None:
    _run("true", folder, isolation)  # skips where there is none
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    words = [sys.executable, "-c", _KILLED, str(folder), isolation]
    try:
        with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as ours:
            assert select.select([reader], [], [], 60)[0]
            assert os.read(reader, 10) == b"up\n"
            ours.send_signal(number)
        # The pipe ends when the last process that holds it has.
        assert select.select([reader], [], [], 60)[0]
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_without_bubblewrap_the_best_is_a_plain_process_and_it_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("autoscirub.sandbox.bubblewrap._found", lambda _: None)
    kind, why = available("best")
    assert kind == "process"
    assert why is not None
    assert why.startswith("bwrap, prlimit")
    ran = run_isolated(["/bin/sh", "-c", "exit 0"], cwd=folder)
    assert ran.isolation == "process"
    assert "bwrap, prlimit" in ran.summary
    with pytest.raises(SandboxError, match="isolation bubblewrap: bwrap, prlimit.*: not installed"):
        run_isolated(["/bin/sh", "-c", "exit 0"], cwd=folder, isolation="bubblewrap")


def test_without_a_proc_to_look_at_nothing_is_said_to_be_watched(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("autoscirub.sandbox.watch._PROC", folder / "no-proc")
    ran = run_isolated([sys.executable, "-c", ""], cwd=folder, isolation="process")
    assert not {"number of processes (watched)", "memory"} & set(ran.enforced)
    assert [word.partition(",")[0] for word in ran.not_enforced if "no /proc" in word] == [
        "memory of all its processes together (no /proc to look at them)",
        "number of processes",
    ]


def test_a_run_that_cannot_be_ended_is_said_to_be_and_has_no_good_status(folder: Path, monkeypatch) -> None:
    held: list[subprocess.Popen[bytes]] = []

    def powerless(process: subprocess.Popen[bytes], *_: object, **__: object) -> list[int]:
        held.append(process)
        return [process.pid]

    monkeypatch.setattr("autoscirub.sandbox.isolation.end_all", powerless)
    monkeypatch.setattr("autoscirub.sandbox.isolation._PATIENCE", 0.1)
    try:
        ran = run_isolated(["sleep", "60"], cwd=folder, isolation="process", limits=Limits(seconds=0.2))
    finally:
        for process in held:
            process.terminate()
            process.communicate()
    assert ran.status == 128 + signal.SIGKILL
    assert ran.timed_out
    assert ran.ended == "ran longer than 0.2 s, and could not be ended"
    assert "1 of its processes could not be ended" in ran.not_enforced


def test_a_bubblewrap_that_refuses_is_not_used_and_its_words_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not installed")
    problem = bubblewrap_problem(Limits())
    assert problem == "bwrap refuses: bwrap: No permissions to create new namespace"


@pytest.mark.parametrize("isolation", KINDS)
def test_a_program_that_is_not_there_is_told_by_its_status(folder: Path, isolation: Isolation) -> None:
    try:
        available(isolation)
    except SandboxError as error:
        pytest.skip(str(error))
    ran = run_isolated(["/nowhere/at/all"], cwd=folder, isolation=isolation)
    assert ran.status == 127
    assert "/nowhere/at/all" in ran.output


@pytest.mark.parametrize("seconds", [1e308, float("inf"), float("nan"), 1e-9])
def test_any_number_of_seconds_gives_limits_that_a_kernel_takes(seconds: float) -> None:
    assert 1 <= Limits(seconds=seconds).rlimits()["cpu"] < 2**31


def test_no_command_is_refused(folder: Path) -> None:
    with pytest.raises(SandboxError, match="no command"):
        run_isolated([], cwd=folder)


def test_a_tree_with_closed_folders_and_links_is_removed_and_no_link_followed(tmp_path: Path) -> None:
    held = tmp_path / "kept"
    held.mkdir()
    (held / "file").touch()
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "file").touch()
    (tree / "a" / "link").symlink_to(held)
    (tree / "a" / "b").chmod(0)
    (tree / "a").chmod(0)
    remove_tree(tree)
    assert not tree.exists()
    assert (held / "file").exists()


_AS_USER = """
import sys, tempfile
from pathlib import Path
from autoscirub.sandbox import Limits, run_isolated
folder = Path(tempfile.mkdtemp())
script = "id -u; cat /etc/shadow; touch /usr/x /x made; for n in 1 2 3 4 5 6 7 8 9; do sleep 60 & done"
ran = run_isolated(["/bin/sh", "-c", script], cwd=folder, isolation="bubblewrap", limits=Limits(processes=5, seconds=20))
print(ran.isolation, ran.status, ran.timed_out, (folder / "made").exists(), ran.not_enforced, ran.output)
"""


def test_an_ordinary_user_gets_the_same_in_a_user_namespace(tmp_path: Path) -> None:
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become an ordinary user here; the other tests run as one")
    version = (
        subprocess.run(
            [python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, check=False
        )
        if Path(python).exists()
        else None
    )
    if version is None or version.stdout.strip() != b"True":
        pytest.skip("the system has no Python 3.11 that an ordinary user could start")
    if problem := bubblewrap_problem(Limits()):
        pytest.skip(problem)
    copied = Path("/tmp") / f"sandbox-as-user-{os.getpid()}"
    try:
        shutil.copytree(SERVER / "autoscirub" / "sandbox", copied / "autoscirub" / "sandbox")
        # What the package needs of others is not where the system's Python looks.
        shutil.copytree(Path(lazy_loader.__file__).parent, copied / "lazy_loader")
        for name in ("errors.py", "programs.py"):
            shutil.copy(SERVER / "autoscirub" / name, copied / "autoscirub")
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", _AS_USER]
        done = subprocess.run(
            words,
            cwd="/",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(copied)},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
    finally:
        shutil.rmtree(copied)
    if "isolation bubblewrap:" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.stdout.startswith("bubblewrap "), done.stderr
    assert "False True () 65534" in done.stdout
    assert "No such file or directory" in done.stdout
    assert "fork" in done.stdout.lower()
    assert sys.version_info
