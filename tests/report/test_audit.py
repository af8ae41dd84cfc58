"""The audit as text: its order, its signs, its bounds; and the commands that print it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from autoscirub.cli.audit import anchor as anchor_command
from autoscirub.cli.audit import audit_app
from autoscirub.models import Answer, Decision, Ended, ScopeChange, Unfreeze, strict_json
from autoscirub.models.audit import (
    Anchored,
    Audit,
    AuditFinding,
    Basis,
    Between,
    Cell,
    Claim,
    CriterionRow,
    Flip,
    RecordVerified,
    RoundColumn,
    Unread,
)
from autoscirub.report.audit.overview import render_audit
from autoscirub.report.audit.record import render_anchor, render_record_verified
from autoscirub.workflow import check
from autoscirub.workflow.locks import freeze

AT = "2026-01-31T09:00:00Z"
HEAD = "0918fcba592ea2526fcf526b2e6bc9dcd856dc40"
YES = Cell(Answer.HOLDS, "satisfied")
REUSED = Cell(Answer.HOLDS, "satisfied", reused_from=1)
NO = Cell(Answer.DOES_NOT_HOLD, "not_satisfied")
OPEN = Cell(Answer.INCONCLUSIVE, "cannot_assess")
ERROR = Cell(Answer.INCONCLUSIVE, "error")


def stream(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def audit_of(basis: Basis | None = None, **values) -> Audit:
    return Audit("/p", "/p/.autoscirub", HEAD, 9, AT, AT, basis or Basis(forgeable=["Anybody."]), **values)


def column(number: int, passed: int = 1, failed: int = 0, verified: int = 1) -> RoundColumn:
    return RoundColumn(number, AT, verified, passed, failed)


def rows_of(text: str) -> dict[str, str]:
    """The table's rows by their first word, without the spaces between cells."""
    table = text.split("criteria by rounds\n")[1].split("\n\n")[0]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in table.splitlines() if line.split()}


def test_what_it_rests_on_comes_first_and_the_rest_in_its_order() -> None:
    found = audit_of(
        rounds=[column(1), column(2)],
        criteria=[CriterionRow("C1", [NO, YES])],
        flips=[Flip("C1", 1, 2, NO, YES, ["results.n"], ["no n"], ["n = 4"])],
        between=[Between(1, 2, changed=["results.json"])],
    )
    text = render_audit(found, stream())
    titles = [
        "what this rests on",
        "criteria by rounds",
        "why an answer changed",
        "what changed between rounds",
    ]
    places = [text.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)


def test_there_is_never_one_score() -> None:
    found = audit_of(rounds=[column(1, 2, 1)], criteria=[CriterionRow("C1", [YES])])
    text = render_audit(found, stream())
    assert "%" not in text
    assert "score" not in text


def test_cells_have_the_signs_of_everywhere_and_reuse_is_marked() -> None:
    found = audit_of(
        rounds=[column(1, 2, 3), column(2, 3, 2, verified=4)],
        criteria=[
            CriterionRow("C1", [YES, REUSED]),
            CriterionRow("C2", [NO, YES]),
            CriterionRow("C3", [OPEN, ERROR]),
            CriterionRow("C4", [None, NO]),
        ],
    )
    rows = rows_of(render_audit(found, stream()))
    assert rows["round"] == "1 2"
    assert rows["C1"] == "✓ ✓="
    assert rows["C2"] == "✗ ✓"
    assert rows["C3"] == "? !"
    assert rows["C4"] == "✗"
    assert rows["satisfied"] == "2/5 3/5"
    assert rows["verified"] == "1× 4×"
    assert "✓ holds · ✗ does not hold · ? inconclusive · ! error" in render_audit(found, stream())


def test_signs_fall_back_to_words_where_the_terminal_cannot_show_them() -> None:
    found = audit_of(rounds=[column(1)], criteria=[CriterionRow("C1", [REUSED]), CriterionRow("C2", [OPEN])])
    rows = rows_of(render_audit(found, stream("ascii")))
    assert (rows["C1"], rows["C2"]) == ("[ok]=", "[??]")


def test_every_claim_stands_beside_the_check_that_makes_it() -> None:
    claim = Claim("n is at least 40", "n40: results.n >= 40")
    unread = Unread("C1", "There are enough readings.", Answer.HOLDS, [claim], ["fit.csv"])
    basis = Basis(round=1, criteria=2, decided={"code": 1, "nobody": 1}, unread=[unread])
    text = render_audit(audit_of(basis), stream())
    assert "no judge and no person looked at, code or a rerun alone decided: 1 of 2" in text
    assert "✓ C1: There are enough readings." in text
    assert '"n is at least 40"\n          is claimed by n40: results.n >= 40' in text
    assert "1 decided by code, 1 decided by nobody (inconclusive)" in text


def test_predictions_unfreezes_scope_anchor_and_notices_are_said() -> None:
    decision = Decision(subject="p", question="q", answer=Answer.DOES_NOT_HOLD, word="refuted", at=AT)
    unfrozen = Unfreeze(
        what="predictions",
        sha256="0" * 64,
        frozen_at=AT,
        at=AT,
        by="terminal",
        reason="wrong unit",
        archived="x",
    )
    change = ScopeChange(at=AT, by="agent", reason="too hard", criteria=["C2"])
    basis = Basis(
        predictions=decision,
        headline="refuted: 0 of 1 predictions held",
        freeze="no results file was there at freeze",
        unfreezes=[unfrozen],
        not_done=["not judged", "not rerun"],
        scope_changes=[change],
        notices=["the history was started afresh"],
        anchor=Anchored(HEAD, "the tag a1 on origin", AT, [3, 4, 5, 7]),
        unanchored=[3, 4, 5, 7],
        forgeable=["One.", "Two."],
    )
    text = render_audit(audit_of(basis), stream())
    assert "predictions: ✗ refuted: 0 of 1 predictions held" in text
    assert f"unfrozen at {AT} (by terminal): wrong unit; no results file was there by then" in text
    assert "not judged · not rerun" in text
    assert f"{AT} by agent (C2): too hard" in text
    assert "history: the history was started afresh" in text
    assert f"anchored at {HEAD} (the tag a1 on origin)" in text
    assert "4 rounds since: rounds 3–5, 7" in text
    assert "what the owner could have forged\n    One.\n    Two." in text


def test_the_ending_stands_below_the_table() -> None:
    ended = Ended(state="stalled", round=2, why="nothing changed", at=AT)
    text = render_audit(audit_of(rounds=[column(1)], ended=ended), stream())
    assert "the loop ended in round 2: stalled (nothing changed)" in text


def big(rounds: int, criteria: int) -> Audit:
    """An audit in which everything is as long as a hostile record can make it."""
    long = "x" * 10_000
    many = [f"{long}{number}" for number in range(300)]
    cells: list[Cell | None] = [NO if number % 7 else REUSED for number in range(rounds)]
    unread = [Unread(long, long, Answer.HOLDS, [Claim(long, long)] * 50, many) for _ in range(criteria)]
    basis = Basis(
        round=rounds,
        criteria=criteria,
        decided={"code": criteria},
        reused=dict.fromkeys(range(rounds), 1),
        unread=unread,
        headline=long,
        freeze=long,
        scope_changes=[ScopeChange(at=AT, by="ci", reason="y" * 10_000, criteria=many)] * 300,
        notices=many,
        anchor=Anchored(HEAD, long, AT, []),
        unanchored=list(range(1, rounds, 2)),
    )
    return audit_of(
        basis,
        rounds=[column(number + 1, criteria // 2, criteria // 2, 2) for number in range(rounds)],
        criteria=[CriterionRow(f"{long}{number}", cells) for number in range(criteria)],
        odd=many,
        flips=[Flip(long, 1, 2, NO, YES, many, many, many)] * 500,
        between=[Between(n, n + 1, many, many, many, many, many, many) for n in range(1, rounds)],
        ended=Ended(state="stalled", round=rounds, why=long, at=AT),
    )


def test_two_hundred_rounds_of_fifty_criteria_stay_bounded_and_say_what_is_left_out() -> None:
    text = render_audit(big(200, 50), stream())
    lines = text.splitlines()
    assert len(lines) < 1100
    assert max(map(len, lines)) < 2_200
    assert "… 188 rounds in between are left out; --json has all" in text
    assert "and 10 criteria more; --json has all" in text
    assert "… 476 changes are left out; --json has all" in text
    assert "… 189 such gaps are left out; --json has all" in text
    table = text.split("criteria by rounds\n")[1].splitlines()
    assert table[0].split() == ["round", *map(str, [1, 2, 3]), "…", *map(str, range(192, 201))]
    assert max(len(line) for line in table[:42]) <= 120


def test_a_longer_record_makes_no_longer_text() -> None:
    short, long = (
        render_audit(big(rounds, criteria), stream()) for rounds, criteria in ((40, 60), (400, 600))
    )
    assert abs(len(long.splitlines()) - len(short.splitlines())) <= 2


def test_of_too_many_criteria_those_that_were_ever_open_are_shown() -> None:
    rows = [CriterionRow(f"C{number}", [YES, NO if number == 77 else YES]) for number in range(90)]
    text = render_audit(audit_of(rounds=[column(1), column(2)], criteria=rows), stream())
    assert "C77" in rows_of(text)
    assert "and 50 criteria more" in text


def test_texts_of_the_record_stay_on_one_line_and_send_nothing_to_the_terminal() -> None:
    hostile = "a\x1b]0;pwned\x07\x1b[2J\u202eb\nINJECTED\rd"
    cell_rows = [CriterionRow(hostile, [YES])]
    basis = Basis(
        headline=hostile,
        freeze=hostile,
        notices=[hostile],
        unread=[Unread(hostile, hostile, Answer.HOLDS, [Claim(hostile, hostile)], [hostile])],
        anchor=Anchored(HEAD, hostile, hostile, []),
    )
    found = audit_of(
        basis,
        rounds=[column(1)],
        criteria=cell_rows,
        odd=[hostile],
        flips=[Flip(hostile, 1, 2, NO, YES, [hostile], [hostile], [hostile])],
        between=[Between(1, 2, [hostile], [hostile], [hostile], [hostile], [hostile], [hostile])],
    )
    finding = AuditFinding("line", Answer.DOES_NOT_HOLD, hostile, hostile)
    decision = Decision(subject="line", question="?", answer=Answer.DOES_NOT_HOLD, word=hostile, at=AT)
    verified = RecordVerified(HEAD, 1, [finding], [decision], [])
    rendered = (
        render_audit(found, stream())
        + render_record_verified(verified, stream())
        + render_anchor(HEAD, hostile)
    )
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(rendered)
    assert not [line for line in rendered.splitlines() if line.startswith("INJECTED")]


def test_everything_is_in_the_json_that_the_text_leaves_out() -> None:
    flips = [Flip("C1", 1, 2, NO, YES, ["a"], ["b"], ["c"])] * 100
    found = audit_of(
        rounds=[column(number + 1) for number in range(40)],
        criteria=[CriterionRow("C1", [NO] * 40)],
        flips=flips,
    )
    data = json.loads(strict_json(found.facts()))
    assert (len(data["rounds"]), len(data["flips"]), len(data["criteria"][0]["cells"])) == (40, 100, 40)
    assert data["criteria"][0]["cells"][0] == {
        "answer": "does_not_hold",
        "status": "not_satisfied",
        "reused_from": None,
    }


# Verification, anchor


def test_faults_are_all_shown_up_to_a_bound_and_what_cannot_be_shown_comes_last() -> None:
    findings = [
        AuditFinding("answers", Answer.DOES_NOT_HOLD, f"C{number}", "differs") for number in range(100)
    ]
    findings += [AuditFinding("answers", Answer.INCONCLUSIVE, "C9", "not kept")]
    decision = Decision(
        subject="answers", question="?", answer=Answer.DOES_NOT_HOLD, word="100 faults", at=AT
    )
    found = RecordVerified(HEAD, 3, findings, [decision], ["Who began it."])
    text = render_record_verified(found, stream())
    assert text.splitlines()[1] == "✗ answers: 100 faults"
    assert "  ✗ C59: differs" in text
    assert "and 40 faults more; --json has all" in text
    assert "  ? C9: not kept" in text
    assert text.endswith("what this cannot show\n  Who began it.")
    assert not found.ok


def test_an_anchor_prints_the_whole_head_first_and_how_others_hold_it() -> None:
    text = render_anchor(HEAD, None)
    assert text.splitlines()[0] == HEAD
    assert f"git tag -a autoscirub-{HEAD[:12]} -m {HEAD}" in text
    assert f"autoscirub audit verify --expect {HEAD}" in text
    assert render_anchor(HEAD, "a tag").splitlines() == [HEAD, "recorded as held: a tag"]


# The commands


@pytest.fixture
def run(capsys) -> Callable[..., tuple[int, str]]:
    """The commands as the command line has them."""
    app = typer.Typer()
    app.add_typer(audit_app, name="audit")
    app.command()(anchor_command)

    def call(*arguments: str | Path) -> tuple[int, str]:
        status = app([str(argument) for argument in arguments], standalone_mode=False)
        return status, capsys.readouterr().out

    return call


@pytest.fixture
def recorded(slope_project, write_results) -> Path:
    rubric = '[[criteria]]\nid = "C1"\nrequirement = "It is small."\njudge = "never"\n'
    rubric += '[[criteria.checks]]\nid = "small"\nkind = "expr"\nexpr = "results.slope < 1"\n'
    (slope_project / "rubric.toml").write_text(rubric)
    freeze(slope_project)
    write_results(slope_project, slope=0.5)
    check(slope_project)
    return slope_project


def test_audit_prints_text_or_one_json_document_and_ends_with_0(run, recorded) -> None:
    status, text = run("audit", "--project", recorded)
    assert (status, "what this rests on" in text) == (0, True)
    status, text = run("audit", "--project", recorded, "--json")
    answer = json.loads(text)
    assert (status, answer["ok"], answer["basis"]["decided"]) == (0, True, {"code": 1})
    assert [decision["subject"] for decision in answer["decisions"]] == ["predictions", "C1"]


def test_audit_verify_ends_with_0_or_with_faults_1(run, recorded) -> None:
    assert run("audit", "verify", "--project", recorded)[0] == 0
    (recorded / ".autoscirub" / "verification_report.json").write_text("{}")
    status, text = run("audit", "verify", "--project", recorded)
    assert (status, "✗ files" in text) == (1, True)
    status, text = run("audit", "--project", recorded, "--json", "verify")  # options may come before it
    assert (status, json.loads(text)["ok"]) == (1, False)


def test_audit_verify_compares_a_head_that_anchor_printed(run, recorded) -> None:
    head = json.loads(run("anchor", "--project", recorded, "--json")[1])["head"]
    assert run("anchor", "--project", recorded, "--record", "a tag on origin")[1].startswith(head)
    assert run("audit", "verify", "--project", recorded, "--expect", head)[0] == 0
    assert run("audit", "verify", "--project", recorded, "--expect", "0" * 40)[0] == 1


def test_audit_export_says_where_and_its_text_has_signs_and_no_colours(run, recorded, tmp_path) -> None:
    status, text = run("audit", "export", tmp_path / "out", "--project", recorded)
    assert (status, text.startswith(str(tmp_path / "out"))) == (0, True)
    written = (tmp_path / "out" / "audit.txt").read_text("utf-8")
    assert "✓" in written
    assert "\x1b" not in written
