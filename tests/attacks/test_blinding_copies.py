"""Copies of what is withheld, in another place or under another name, are withheld too."""

from __future__ import annotations

import json
import os

import pytest
from tests.attacks.blinding import HOLDOUT, VERDICT, WRITE_UP, Look, write


@pytest.mark.parametrize(
    "place", ["results/notes.txt", "src/deep/er/README.md", "results/figure.png", "run.py"]
)
@pytest.mark.parametrize("what", ["REPORT.md", "AGENTS.md", "verification.json", ".autoscirub/verification_report.json",
                                  ".autoscirub/revisions/round-001/revision_plan.json"])  # fmt: skip
def test_a_copy_of_a_withheld_file_is_withheld_wherever_it_is_and_whatever_it_is_called(
    project, place, what
) -> None:
    write(project / place, (project / what).read_text())
    look = Look(project)
    assert look.blind()
    assert "holds the same bytes as" in look.withheld[place]


def test_a_hard_link_to_a_withheld_file_is_withheld_also_when_it_is_small(project) -> None:
    (project / "REPORT.md").write_text("CANARY\n")
    os.link(project / "REPORT.md", project / "results" / "x.txt")
    look = Look(project)
    assert look.blind()
    assert look.withheld["results/x.txt"] == "the same file as REPORT.md, which is withheld"


def test_a_copy_of_what_a_harness_excludes_is_withheld_in_every_profile(project, tmp_path) -> None:
    write(project / "private" / "deep" / "labels.csv", HOLDOUT)
    (project / "linked").symlink_to("../outside")
    for number, entry in enumerate(["private/", "private/deep/labels.csv", "linked/holdout.csv", "*.csv"]):
        write(project / "results" / f"{number}.txt", HOLDOUT)
        for name in ("hypothesis", "criterion"):
            write(project / "autoscirub.toml", f"[profiles.{name}]\nexclude = ['{entry}']\n")
            (tmp_path / "outside" / "holdout.csv").write_text(HOLDOUT)
            look = Look(project, name)
            assert f"results/{number}.txt" in look.withheld, (entry, name)
            assert not any(b"CANARY-HOLDOUT" in data for data in look.files.values())


def test_the_report_behind_a_link_is_known_by_its_bytes(project) -> None:
    (project / "REPORT.md").rename(project / "final.txt")
    (project / "REPORT.md").symlink_to("final.txt")
    write(project / "results" / "copy.txt", WRITE_UP)
    write(
        project / "autoscirub.toml", "[profiles.hypothesis]\ninclude = ['results', 'final.txt', 'run.py']\n"
    )
    assert Look(project).blind()


def test_results_that_lie_in_the_run_history_and_in_git_too_are_still_shown(project) -> None:
    text = json.dumps({"slope": list(range(100))})
    for path in (
        "results/results.json",
        "runs/1/results.json",
        ".git/blob",
        ".claude/worktrees/a/results.json",
    ):
        write(project / path, text)
    assert Look(project).files["results/results.json"] == text.encode()


def test_predictions_that_were_unfrozen_and_frozen_again_are_shown(project) -> None:
    text = 'hypothesis = "the slope is near one half, as it was when this was frozen first"\n'
    write(project / "prereg.toml", text)
    write(project / ".autoscirub" / "unfrozen" / "001" / "prereg.toml", text)
    write(project / ".autoscirub" / "unfrozen" / "001" / "verification.json", VERDICT + "   ")
    write(project / "results" / "x.json", VERDICT + "   ")
    look = Look(project)
    assert look.files["prereg.toml"] == text.encode()
    assert "results/x.json" in look.withheld
