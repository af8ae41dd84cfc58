"""The self-test: on a sound installation everything holds or is said; with one thing broken, that is what it finds."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoscirub.judging import ReadReply
from autoscirub.judging.verdicts import CheckedVerdict, SettledVerdict, read_reply
from autoscirub.models import Answer, Decision, JudgeReply
from autoscirub.sandbox import available
from autoscirub.setup.selftest import run as selftest
from autoscirub.setup.selftest import run_selftest
from autoscirub.setup.selftest import sandbox as selftest_sandbox
from autoscirub.setup.selftest import test_bed as selftest_bed
from autoscirub.setup.selftest.test_bed import AttackResult, Check, processes_of

PASS = '{"criterion_id": "c1", "reasoning": "because", "satisfied": true}'


def group(name: str) -> dict[str, Decision]:
    """The Decisions of one group by subject."""
    found, _ = run_selftest(groups=[name])
    return {part.subject: part for part in found.parts}


def broken(parts: dict[str, Decision]) -> set[str]:
    return {subject for subject, part in parts.items() if part.answer is Answer.DOES_NOT_HOLD}


def notes(decision: Decision) -> str:
    return "\n".join(entry.note or "" for entry in decision.evidence)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Check]], Decision]:
    """The self-test over checks of a test's own, as the group `replies`."""

    def run(checks: list[Check]) -> Decision:
        monkeypatch.setattr(selftest, "_checks", lambda _: checks)
        return run_selftest(groups=["replies"])[0]

    return run


@pytest.mark.slow
def test_here_everything_holds_or_is_said_not_to_be_enforced() -> None:
    steps: list[tuple[int, int]] = []
    found = run_selftest(progress=lambda done, of: steps.append((done, of)))
    assert [each.subject for each in found] == [*selftest.GROUPS, "afterwards"]
    parts = {f"{each.subject}: {part.subject}": part for each in found for part in each.parts}
    assert {name: notes(part) for name, part in parts.items() if part.answer is Answer.DOES_NOT_HOLD} == {}
    inconclusive = {name for name, part in parts.items() if part.answer is Answer.INCONCLUSIVE}
    if available()[0] == "bubblewrap" and Path("/proc/self/stat").is_file():
        assert inconclusive == set()
    assert all(parts[name].open for name in inconclusive)
    assert len(parts) > 60
    assert steps == sorted(steps)


# Nothing of the user's, nothing left


def test_nothing_is_left_and_the_environment_is_as_it_was(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("AUTOSCIRUB_POLICY", "/nowhere/policy.toml")
    data = Path(os.environ["AUTOSCIRUB_DATA_DIR"])
    before, roots = dict(os.environ), []
    inside: dict[str, Any] = {}
    own_test_bed = selftest_bed.own_test_bed

    def inspected() -> Any:
        test_bed = own_test_bed()

        class Looking:
            def __enter__(self) -> Any:
                entered = test_bed.__enter__()
                roots.append(entered.root)
                inside.update(os.environ)
                return entered

            def __exit__(self, *error: Any) -> Any:
                return test_bed.__exit__(*error)

        return Looking()

    monkeypatch.setattr(selftest, "own_test_bed", inspected)
    run_selftest(groups=["state", "replies"])
    assert inside["AUTOSCIRUB_DATA_DIR"].startswith(str(roots[0]))
    assert "AUTOSCIRUB_POLICY" not in inside
    assert dict(os.environ) == before
    assert tempfile.tempdir == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert list(data.iterdir()) == []
    assert not processes_of(str(roots[0]))


def test_a_folder_that_stays_is_found(quick, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("autoscirub.sandbox.remove_tree", lambda _: None)
    _, afterwards = run_selftest(groups=["replies"])
    assert afterwards.parts[0].answer is Answer.DOES_NOT_HOLD


# One check breaks or hangs, and the others are made


def test_one_that_breaks_inconclusive_and_the_others_are_made(quick) -> None:
    def breaks(_: object) -> AttackResult:
        raise ZeroDivisionError("of a test")

    found = quick([Check("broken", "?", breaks), Check("sound", "?", lambda _: AttackResult("nothing"))])
    assert [part.answer for part in found.parts] == [Answer.INCONCLUSIVE, Answer.HOLDS]
    assert found.parts[0].open == ["it broke off: ZeroDivisionError: of a test"]
    assert found.answer is Answer.INCONCLUSIVE


def test_those_that_hang_do_not_hold_and_the_others_are_made(quick, monkeypatch) -> None:
    monkeypatch.setattr(selftest, "_CHECK_SECONDS", 0.2)
    monkeypatch.setattr(selftest, "_END_SECONDS", 0.1)
    end = threading.Event()

    def hangs(_: object) -> AttackResult:
        end.wait(60)
        return AttackResult("at last")

    hanging = [Check(f"hanging {number}", "?", hangs) for number in range(5)]
    found = quick([*hanging, Check("sound", "?", lambda _: AttackResult("nothing"))])
    end.set()
    assert [part.answer for part in found.parts] == [Answer.DOES_NOT_HOLD] * 5 + [Answer.HOLDS]
    assert "did not end within" in notes(found.parts[0])


# Each group finds what is broken


def test_blinding_finds_a_profile_that_shows_what_is_withheld(monkeypatch) -> None:
    from autoscirub.judging.profiles import load as profiles

    monkeypatch.setattr(profiles, "rule_for", lambda _: profiles.NO_RULE)
    found = group("blinding")
    assert {"workspace of criterion", "workspace of hypothesis"} & broken(found)
    assert "an earlier verdict in verification.json" in notes(found["workspace of criterion"])


def test_blinding_finds_an_environment_that_keeps_what_is_ours(monkeypatch) -> None:
    from autoscirub.judging.backends import command

    monkeypatch.setattr(command, "judge_environment", lambda own, **_: dict(own))
    found = group("blinding")
    assert broken(found) == {"what a judge program gets"}
    findings = notes(found["what a judge program gets"])
    assert "our variables in its environment" in findings
    assert "git's variables in its environment" in findings
    assert "the project's folder in its OLDPWD" in findings


def test_blinding_finds_a_path_of_the_project_in_the_request(monkeypatch) -> None:
    from autoscirub.setup.selftest import blinding as selftest_blinding

    plain = selftest_blinding.request_of
    monkeypatch.setattr(
        selftest_blinding,
        "request_of",
        lambda *positional, **more: plain(*positional, **more).model_copy(
            update={"model": os.environ["OLDPWD"]}
        ),
    )
    assert {"request on hypothesis", "request on criterion"} <= broken(group("blinding"))


@pytest.mark.slow
def test_tools_that_follow_links_are_found(monkeypatch) -> None:
    from autoscirub.judging.tools import files as tools_files

    def follow(path: Any, *positional: Any, **more: Any) -> os.stat_result:
        return real(path, *positional, **(more | {"follow_symlinks": True}))

    real = os.stat
    monkeypatch.setattr(tools_files.os, "stat", follow)
    monkeypatch.setattr(tools_files, "_FILE", tools_files._FILE & ~os.O_NOFOLLOW)
    monkeypatch.setattr(tools_files, "_FOLDER", tools_files._FOLDER & ~os.O_NOFOLLOW)
    assert {"a planted link to a file", "a planted link to a folder"} & broken(group("tools"))


@pytest.mark.slow
def test_tools_that_take_any_path_are_found(monkeypatch) -> None:
    from autoscirub.judging.tools.files import Folder

    monkeypatch.setattr(Folder, "parts", lambda _, path: tuple(part for part in path.split("/") if part))
    assert "paths with .." in broken(group("tools"))


@pytest.mark.slow
def test_tools_that_read_a_file_with_a_second_name_are_found(monkeypatch) -> None:
    from autoscirub.judging.tools import files as tools_files

    kind = tools_files._kind
    monkeypatch.setattr(
        tools_files, "_kind", lambda status: "file" if stat.S_ISREG(status.st_mode) else kind(status)
    )
    assert broken(group("tools")) == {"a planted hard link"}


def test_a_reader_that_takes_any_true_is_found(monkeypatch) -> None:
    from autoscirub.judging.verdicts import entries as verdicts

    monkeypatch.setattr(verdicts, "flag_of", bool)
    found = group("replies")
    assert broken(found) == {"odd booleans"}
    assert "read as a pass" in notes(found["odd booleans"])


def test_a_reader_that_takes_nothing_is_found(monkeypatch) -> None:
    from autoscirub.judging.verdicts import entries as verdicts

    monkeypatch.setattr(verdicts, "flag_of", lambda _: None)
    assert broken(group("replies")) == {"an honest pass"}


def test_verdicts_that_nobody_looks_at_are_found(monkeypatch) -> None:
    from autoscirub.setup.selftest import verdicts as selftest_verdicts

    def believes(reply: JudgeReply, subject: str, kind: Any, *_: object) -> ReadReply:
        return ReadReply(CheckedVerdict(read_reply(reply, [subject], kind).entries[subject].verdict))

    monkeypatch.setattr(selftest_verdicts, "read_checked", believes)
    found = group("verdicts")
    assert broken(found) == {*found} - {"an honest verdict"}


def test_verdicts_that_never_count_are_found(monkeypatch) -> None:
    from autoscirub.setup.selftest import verdicts as selftest_verdicts

    def refuses(reply: JudgeReply, subject: str, kind: Any, *_: object) -> ReadReply:
        verdict = read_reply(reply, [subject], kind).entries[subject].verdict
        settled = SettledVerdict(verdict, problems=["it is suspicious"])
        return ReadReply(CheckedVerdict(verdict), question="is it so?", again=lambda _: settled)

    monkeypatch.setattr(selftest_verdicts, "read_checked", refuses)
    assert broken(group("verdicts")) == {"an honest verdict"}


def test_programs_that_are_believed_whatever_they_do_are_found(monkeypatch) -> None:
    from autoscirub.judging.backends.command import CommandBackend

    async def believes(*_: object) -> JudgeReply:
        return JudgeReply(text=PASS, structured={"criterion_id": "c1", "satisfied": True})

    monkeypatch.setattr(CommandBackend, "ask", believes)
    found = group("programs")
    assert broken(found) == {
        subject for subject, part in found.items() if "error of its own" in part.question
    }


@pytest.mark.slow
def test_a_process_that_a_program_left_is_found(monkeypatch) -> None:
    from autoscirub.setup.selftest import programs as selftest_programs

    if not Path("/proc/self/stat").is_file():
        pytest.skip("looks at processes in /proc")
    monkeypatch.setattr(selftest_programs, "processes_of", lambda _: [1])
    assert "1 of its processes are left" in notes(group("programs")["one that hangs"])


@pytest.mark.slow
def test_what_a_sandbox_leaves_running_is_inconclusive_where_processes_cannot_be_inspected(
    monkeypatch,
) -> None:
    from autoscirub.setup.selftest import sandbox as selftest_sandbox

    monkeypatch.setattr(selftest_sandbox, "processes_of", lambda _: None)
    found = group("sandbox")
    for name in ("number of processes", "time", "what it leaves running"):
        assert found[name].answer is Answer.INCONCLUSIVE
        assert "no /proc" in found[name].open[0] or "cannot be enforced here" in found[name].open[0]


@pytest.mark.slow
def test_a_sandbox_that_claims_more_than_it_holds_is_found(monkeypatch) -> None:
    from autoscirub.checks.rerun import running

    plain = running.run_isolated
    claims = ("file system", "no network", "sight of other processes")

    def boasts(*positional: Any, **more: Any) -> Any:
        ran = plain(*positional, **(more | {"isolation": "process"}))
        return replace(ran, enforced=(*ran.enforced, *claims), not_enforced=())

    monkeypatch.setattr(running, "run_isolated", boasts)
    assert broken(group("sandbox")) == {
        "files outside, reading",
        "files outside, writing",
        "network",
        "processes of others",
    }


@pytest.mark.slow
def test_a_plain_process_is_said_to_be_one_with_what_it_reached_and_what_helps(monkeypatch) -> None:
    from autoscirub.sandbox import isolation

    monkeypatch.setattr(isolation, "bubblewrap_problem", lambda _: "bwrap: not installed")
    found = group("sandbox")
    assert broken(found) == set()
    inconclusive = {subject for subject, part in found.items() if part.answer is Answer.INCONCLUSIVE}
    assert inconclusive == {
        "isolation",
        "files outside, reading",
        "files outside, writing",
        "network",
        "processes of others",
    }
    assert all(selftest_sandbox.INSTALL in found[subject].open for subject in inconclusive)
    assert "it reached a listener of ours" in found["network"].open[0]
    monkeypatch.setattr(isolation, "bubblewrap_problem", lambda _: "bwrap refuses: no permissions")
    assert selftest_sandbox._advice() == (selftest_sandbox.ALLOW,)


def test_a_command_that_does_not_start_inside_is_no_bound_that_held(monkeypatch) -> None:
    monkeypatch.setattr(selftest_sandbox, "_BEGIN", "raise SystemExit(1)\n")
    found = group("sandbox")
    assert broken(found) == set()
    assert {part.answer for subject, part in found.items() if subject in selftest_sandbox.BOUNDS} == {
        Answer.INCONCLUSIVE
    }


def test_a_forged_freeze_that_is_taken_is_found(monkeypatch) -> None:
    from autoscirub.setup.selftest import state as selftest_state

    monkeypatch.setattr(selftest_state, "require_frozen", lambda *_: None)
    found = group("state")
    assert broken(found) == {"a forged freeze"}
    assert "predictions, lock and manifest edited: not noticed" in notes(found["a forged freeze"])


def test_writes_that_are_not_atomic_and_a_lock_that_holds_nothing_are_found(monkeypatch) -> None:
    from autoscirub.setup.selftest import state as selftest_state

    torn = selftest_state.REWRITES.replace(
        "write_atomic(Path(sys.argv[1]), bytes([letter]) * 200_000)",
        "Path(sys.argv[1]).write_bytes(bytes([letter]) * 200_000)",
    )
    lost = selftest_state.ADDS.replace("for number", "import contextlib\nfrom autoscirub.store import state\n"
        "state.state_lock = lambda *_, **__: contextlib.nullcontext()\nfor number", 1)  # fmt: skip
    monkeypatch.setattr(selftest_state, "REWRITES", torn)
    monkeypatch.setattr(selftest_state, "ADDS", lost)
    monkeypatch.setattr(selftest_state, "_WRITES", 60)
    assert broken(group("state")) >= {"atomic writes", "the lock"}


def test_without_git_what_needs_it_inconclusive(monkeypatch) -> None:
    from autoscirub.setup.selftest import state as selftest_state

    monkeypatch.setattr(selftest_state, "on_path", lambda _: None)
    found = group("state")
    assert found["a forged history"].answer is Answer.INCONCLUSIVE
    assert "install git: apt-get install git" in found["a forged history"].open


def test_it_needs_neither_the_tests_nor_pytest() -> None:
    import subprocess

    code = (
        "import sys; sys.modules['pytest'] = None; from autoscirub.setup.selftest import run_selftest\n"
        "print(run_selftest(groups=['replies', 'blinding'])[0].answer.value)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(selftest.__file__).parents[2])},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "holds\n", done.stderr
