"""Links that would lead a judge to what is withheld, out of the project, or round for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attacks.blinding import INSTRUCTIONS, Look, write

from autoscirub.errors import BlindingError
from autoscirub.judging.workspace import WorkspaceLimits
from autoscirub.models import Criterion


def test_the_field_case_of_links_leaks_nothing_ends_and_lists_each_link(field, tmp_path) -> None:
    made = subprocess.run(
        [sys.executable, field / "cases" / "19-symlinks" / "make.py", tmp_path], check=False
    )
    assert made.returncode == 0
    look = Look(tmp_path / "work")
    assert look.files == {"results/results.json": b'{"slope": 0.51}\n'}
    assert set(look.withheld) == {
        "REPORT.md",
        "data",
        "results/figures/slope.png",
        "results/figures/up",
        "results/k.txt",
        "results/notes.md",
        "src/loop",
    }
    undeclared = Look(tmp_path / "work", "criterion")
    assert not any(path.startswith("data") for path in undeclared.files)
    assert b"HOLDOUT-LABELS" not in b"".join(undeclared.files.values())
    asked = Criterion(criterion_id="C1", requirement="the slope", data_sources=["data/readings.csv"])
    declared = Look(tmp_path / "work", "criterion", criterion=asked)
    assert declared.files == {"REPORT.md": b"AUTHOR-CLAIM: it works\n", "data/readings.csv": b"x,y\n1,0.5\n"}


LINKS = [
    # what the link in results/ says, the beginning of why it is withheld
    ("../REPORT.md", "a link to REPORT.md, which is withheld: the report"),
    ("../AGENTS.md", "a link to AGENTS.md, which is withheld: agent instructions"),
    ("../.git/description", "a link to .git/description, which is withheld: version control"),
    (
        "../.autoscirub/verification_report.json",
        "a link to .autoscirub/verification_report.json, which is withheld",
    ),
    ("../.autoscirub", "a link to .autoscirub, which holds what is withheld"),
    ("..", "a link to the project itself"),
    ("../..", "a link to"),
    ("/", "a link to /, which holds what is withheld"),
    ("/etc/passwd", "a link out of the project, to /etc/passwd"),
    ("../../outside/holdout.csv", "a link out of the project"),
    ("../../outside", "a link out of the project"),
    ("../src/../../outside/holdout.csv", "a link out of the project"),
    ("../notes", "a link to notes, which is not in the profile"),
    ("../notes/copy.txt", "a link to notes/copy.txt, which is not in the profile"),
    ("nowhere", "a link to nothing"),
    ("link", "a link that leads in a circle"),
    (".", "a link to a folder that it lies in"),
    ("results.json/x", "a link to nothing"),
    ("x" * 300, "a link to nothing"),
]


@pytest.mark.parametrize(("target", "why"), LINKS, ids=[target[:40] for target, _ in LINKS])
def test_a_link_to_what_is_not_shown_is_left_out_and_listed(project, target, why) -> None:
    write(project / "notes" / "copy.txt", "CANARY-NOTES\n")
    (project / "results" / "link").symlink_to(target)
    look = Look(project)
    assert look.blind()
    assert not any(path.startswith("results/link") for path in look.files)
    assert look.withheld["results/link"].startswith(why)


def test_an_absolute_link_to_a_withheld_file_is_no_way_round(project) -> None:
    (project / "results" / "a.md").symlink_to(project / "REPORT.md")
    (project / "results" / "b.json").symlink_to(project / "results" / "results.json")
    look = Look(project)
    assert "results/a.md" in look.withheld
    assert look.files["results/b.json"] == look.files["results/results.json"]


def test_a_chain_of_links_is_followed_to_its_end_before_anything_is_said(project, tmp_path) -> None:
    (project / "results" / "one").symlink_to("two")
    (project / "results" / "two").symlink_to(tmp_path / "outside" / "three")
    (tmp_path / "outside" / "three").symlink_to(project / "REPORT.md")
    (project / "results" / "good").symlink_to("again")
    (project / "results" / "again").symlink_to("../src/fit.py")
    look = Look(project)
    assert look.blind()
    assert {"results/one", "results/two"} <= set(look.withheld)
    assert look.files["results/good"] == look.files["results/again"] == b"def fit(): ...\n"


def test_a_chain_of_a_thousand_links_comes_to_an_end(project) -> None:
    links = project / "results" / "links"
    links.mkdir()
    (links / "0").symlink_to("../results.json")
    for number in range(1, 1500):
        (links / str(number)).symlink_to(str(number - 1))
    look = Look(project)
    assert look.files["results/links/1"] == look.files["results/results.json"]
    assert look.files["results/links/30"] == look.files["results/results.json"]
    assert "too many others" in look.withheld["results/links/1499"]


def test_a_link_to_a_folder_shows_it_without_what_is_withheld_in_it(project) -> None:
    write(project / "src" / "sub" / "AGENTS.md", INSTRUCTIONS + "here, too\n")
    write(project / "src" / "sub" / "ok.py", "pass\n")
    write(project / "src" / "sub" / ".git" / "x", "CANARY-GIT")
    (project / "results" / "code").symlink_to("../src/sub")
    look = Look(project)
    assert look.blind()
    assert look.files["results/code/ok.py"] == b"pass\n"
    assert {"results/code/AGENTS.md", "results/code/.git", "src/sub/AGENTS.md"} <= set(look.withheld)


def test_folders_that_lead_to_each_other_are_not_walked_for_ever(project) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        write(project / "src" / name / "x.py", f"{name} = 1\n")
        (project / "src" / name / "other").symlink_to(f"../{other}")
    look = Look(project)
    assert {"src/a/x.py", "src/a/other/x.py", "src/b/other/x.py"} <= set(look.files)
    assert look.withheld["src/a/other/other"] == "a link to a folder that it lies in"


def test_folders_that_double_with_every_level_are_refused_and_not_walked_out(project) -> None:
    for level in range(40):
        folder = project / "src" / f"d{level}"
        folder.mkdir()
        for side in ("l", "r"):
            (folder / side).symlink_to(f"../d{level + 1}")
    (project / "src" / "d40").mkdir()
    with pytest.raises(BlindingError, match="more than the 2,000 files and folders"):
        Look(project, limits=WorkspaceLimits(files=2_000))


def test_only_a_link_named_word_for_word_leads_out_of_the_project(project, tmp_path) -> None:
    (project / "data").symlink_to("../outside")
    (project / "results" / "more").symlink_to("../../outside")
    write(
        project / "autoscirub.toml",
        "[profiles.mine]\ninclude = ['data', 'results/']\nlinks = ['data', 'results/*']\n",
    )
    write(tmp_path / "outside" / "AGENTS.md", INSTRUCTIONS + "and outside\n")
    (tmp_path / "outside" / "further").symlink_to("/etc/passwd")
    (tmp_path / "outside" / "back").symlink_to(project / "REPORT.md")
    look = Look(project, "mine")
    assert set(look.files) == {"results/results.json", "data/holdout.csv"}
    assert "neither the criterion nor the profile names" in look.withheld["results/more"]
    assert look.withheld["data/AGENTS.md"] == "agent instructions"
    assert {"data/further", "data/back"} <= set(look.withheld)


@pytest.mark.parametrize("target", ["..", "/", ".autoscirub", ".git", "../outside/.git", "userdata"])
def test_a_link_that_is_named_still_leads_to_nothing_that_is_withheld(project, tmp_path, target) -> None:
    write(tmp_path / "outside" / ".git" / "x", "CANARY-OTHER\n")
    place = os.environ["AUTOSCIRUB_DATA_DIR"] if target == "userdata" else target
    write(Path(os.environ["AUTOSCIRUB_DATA_DIR"]) / "history.txt", "CANARY-HISTORY\n")
    (project / "data").symlink_to(place)
    write(project / "autoscirub.toml", "[profiles.mine]\ninclude = ['data', 'run.py']\nlinks = ['data']\n")
    look = Look(project, "mine")
    assert set(look.files) == {"run.py"}
    assert look.withheld["data"].startswith("a link to")


def test_links_are_followed_in_a_project_that_lies_in_the_data_directory(
    project, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("AUTOSCIRUB_DATA_DIR", str(tmp_path))
    (project / "results" / "code.py").symlink_to("../src/fit.py")
    assert "results/code.py" in Look(project).files


@pytest.mark.parametrize("name", ["run.py", "QUESTION.md", "src", "results", "prereg.toml"])
def test_what_the_profile_names_may_itself_be_a_link_and_shows_no_more_for_it(
    project, tmp_path, name
) -> None:
    write(tmp_path / "outside" / "results" / "x.txt", "CANARY-OUTSIDE\n")
    for target in ("REPORT.md", ".git", ".autoscirub", "notes", "../outside", "../outside/results", "."):
        write(project / "notes" / "n.txt", "CANARY-NOTES\n")
        if (project / name).exists() and not (project / name).is_symlink():
            (project / name).rename(project / f"was-{name}")
        (project / name).unlink(missing_ok=True)
        (project / name).symlink_to(target)
        look = Look(project)
        assert look.blind(), target
        assert name in look.withheld
