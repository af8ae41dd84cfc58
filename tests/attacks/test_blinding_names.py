"""Names: no other spelling shows what is withheld, and each is shown in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.attacks.blinding import Look, write

TRICKS = [
    ("criterion", "agents.md"),
    ("criterion", "src/AGENTS.MD"),
    ("criterion", "src/Agents.md"),
    ("criterion", "src/ＡＧＥＮＴＳ.md"),
    ("criterion", "sub/.git/config"),
    ("criterion", "sub/.GIT/config"),
    ("criterion", "sub/.autoscirub/verification.json"),
    ("criterion", "sub/Verification.JSON"),
    ("criterion", "sub/.Claude/settings.json"),
    ("criterion", ".github/copilot-instructions.md"),
    ("criterion", "lib/python/pyvenv.cfg"),
    ("hypothesis", "results/Report.md"),
    ("hypothesis", "src/REPORT.MD"),
    ("hypothesis", "results/mirror/HEAD"),
]


@pytest.mark.parametrize(("profile", "path"), TRICKS, ids=[path for _, path in TRICKS])
def test_another_spelling_or_another_folder_shows_nothing_that_is_withheld(project, profile, path) -> None:
    write(project / path, "CANARY-TRICK\n")
    if path.endswith("HEAD"):  # a bare repository under a name of its own
        for name in ("objects", "refs"):
            (project / path).with_name(name).mkdir()
    look = Look(project, profile)
    assert path not in look.files
    assert not any(b"CANARY-TRICK" in data for data in look.files.values())


NAMES = [
    # bytes of the name in results/, the path in the workspace
    (b"two\nlines.txt", "results/two\\u000alines.txt"),
    (b"\x1b[2Jclear", "results/\\u001b[2Jclear"),
    (b"caf\xe9.txt", "results/caf\\xe9.txt"),
    ("caf\u00e9.txt".encode(), "results/caf\u00e9.txt"),
    ("txt.\u202egpj".encode(), "results/txt.\\u202egpj"),
    (b"back\\slash", "results/back\\\\slash"),
    (b"back\\u000aslash", "results/back\\\\u000aslash"),
    (b"-rf *", "results/-rf *"),
    (b"x" * 250, "results/" + "x" * 250),
]


def test_every_name_is_shown_in_one_line_and_no_two_are_the_same(project) -> None:
    folder = os.fsencode(project / "results")
    for number, (name, _) in enumerate(NAMES):
        Path(os.fsdecode(folder + b"/" + name)).write_text(str(number))
    look = Look(project)
    for number, (_, path) in enumerate(NAMES):
        assert look.files[path] == str(number).encode()
    assert len({path for _, path in NAMES}) == len(NAMES)


def test_a_name_that_is_too_long_once_escaped_is_listed(project) -> None:
    write(project / "results" / ("\n" * 250), "x")
    look = Look(project)
    assert "too long" in look.withheld["results/" + "\\u000a" * 250]
