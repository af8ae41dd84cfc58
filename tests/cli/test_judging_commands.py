"""`blind`, through the real command line."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def study(slope_project: Path) -> Path:
    (slope_project / "run.py").write_text("print('runs')\n")
    (slope_project / "REPORT.md").write_text("AUTHOR-CLAIM\n")
    (slope_project / "results").mkdir()
    (slope_project / "results" / "notes\x1b.md").symlink_to("../REPORT.md")
    return slope_project


def test_blind_says_how_much_is_shown_and_what_was_withheld_and_why(cli, study, tmp_path, tree) -> None:
    before = tree(study)
    ran = cli("blind", "--project", study, "--profile", "hypothesis", "--to", tmp_path / "shown")
    assert (ran.status, ran.err) == (0, "")
    assert "2 files" in ran.out
    assert "withheld  REPORT.md  the report" in ran.out
    assert "withheld  results/notes\\u001b.md  a link to REPORT.md, which is withheld: the report" in ran.out
    assert {path.name for path in (tmp_path / "shown").iterdir()} == {"run.py", "prereg.toml"}
    assert tree(study) == before


def test_blind_as_json_is_one_document_with_the_manifest(cli, study, tmp_path) -> None:
    ran = cli("blind", "--project", study, "--profile", "criterion", "--to", tmp_path / "shown", "--json")
    assert ran.status == 0
    assert ran.json["ok"] is True
    assert ran.json["decisions"] == []
    assert ran.json["profile"] == "criterion"
    assert len(ran.json["digest"]) == 64
    assert [file["path"] for file in ran.json["files"]] == [
        "REPORT.md",
        "prereg.toml",
        "results/notes\\u001b.md",
        "run.py",
    ]
    assert ran.json["withheld"] == []
    assert ran.json["path"] == str(tmp_path / "shown")


REFUSED = [
    (["--profile", "nosuch", "--to", "../shown"], "BlindingError", "no profile 'nosuch'"),
    (["--profile", "hypothesis", "--to", "shown"], "BlindingError", "lies in the project"),
    (["--profile", "hypothesis", "--to", ".."], "BlindingError", "is not empty"),
    (["--profile", "criterion", "--criterion", "C1", "--to", "../shown"], "CheckError", "there is no rubric"),
    (["--profile", "hypothesis"], "UsageError", "--to"),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), REFUSED)
def test_blind_refuses_with_status_3(cli, study, arguments, kind, message) -> None:
    ran = cli("blind", *arguments, "--json", cwd=study, env={"AUTOSCIRUB_PROJECT": str(study)})
    assert ran.status == 3
    assert ran.json["error"]["kind"] == kind
    assert message in ran.json["error"]["message"]
