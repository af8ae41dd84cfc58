"""Whether the fields of a verdict fit together, and whether its words seem to say the opposite of its flag."""

from __future__ import annotations

from typing import Any

import pytest

from autoscirub.judging.verdicts.consistency import is_none, limits, mismatches, open_actions, open_gap
from autoscirub.models import CriterionVerdict, HypothesisVerdict


def verdict(satisfied: bool | None = True, **fields: Any) -> CriterionVerdict:
    return CriterionVerdict(criterion_id="C1", satisfied=satisfied, **fields)


MISMATCHES = [
    (True, {"evidence_gap": "no figure"}, 'evidence_gap is "no figure"'),
    (True, {"evidence_gap": "None of the figures is there."}, "evidence_gap is"),
    (True, {"evidence_gap": "None; but the interval is missing."}, "evidence_gap is"),
    (True, {"evidence_gap": "None; the seeds aren't reported."}, "evidence_gap is"),
    (True, {"evidence_gap": "Keine; das Intervall fehlt."}, "evidence_gap is"),
    (True, {"evidence_gap": "keine Angabe der Startwerte"}, "evidence_gap is"),
    (True, {"evidence_gap": "aucun intervalle"}, "evidence_gap is"),
    (True, {"evidence_gap": "没有置信区间"}, "evidence_gap is"),
    (True, {"evidence_gap": "Ninguna, salvo el intervalo"}, "evidence_gap is"),
    (True, {"evidence_gap": "No; the interval"}, "evidence_gap is"),
    (True, {"confidence": 0}, "confidence is 0"),
    (True, {"required_actions": ["none", "add a figure"]}, 'required_actions asks for "add a figure"'),
    (True, {"required_actions": ["Optional extras aside, add a figure"]}, None),
    (False, {"reasoning": "It is too short."}, "evidence_gap names nothing that is missing"),
    (False, {"reasoning": "All requirements are met."}, "evidence_gap names nothing"),
]


@pytest.mark.parametrize(("flag", "fields", "says"), MISMATCHES)
def test_a_field_that_does_not_fit_the_flag_is_asked_about(flag, fields, says) -> None:
    found = list(mismatches(verdict(flag, **fields)))
    assert (found == []) is (says is None)
    assert all(says in each for each in found[:1])


AGAINST_A_PASS = [
    "Good. The criterion is not satisfied.",
    "The requirement is therefore not fully met.",
    "The work fails to satisfy it.",
    "The report doesn't meet the requirement.",
    "The report doesn’t meet the requirement.",
    "It is only partially met.",
    "No interval is given. Score: 0/1.",
    "No table of the seeds is shown.",
    "The interval is missing.",
    "The interval is not reported.",
    "Verdict: FAIL.",
    "This falls short of the requirement.",
    "There is no interval anywhere.",
    "The report does not give the interval.",
    "It violates the requirement.",
    "The claim is contradicted by Table 2.",
    "Das Kriterium ist nicht erfüllt.",
    "Der Bericht erfüllt die Anforderung an dieser Stelle nicht.",
    "Das Kriterium ist nur teilweise erfüllt.",
    "Es fehlt das Intervall.",
    "Ein Intervall ist nicht angegeben.",
    "Die Anforderung wird verfehlt.",
    "L'exigence n'est pas satisfaite.",
    "Le rapport ne remplit pas l'exigence.",
    "Il manque l'intervalle.",
    "El informe no cumple el requisito.",
    "El requisito no se ha cumplido.",
    "Falta el intervalo.",
    "No se aporta el intervalo.",
    "Il requisito non è soddisfatto.",
    "O requisito não está satisfeito.",
    "Aan de eis is niet volledig voldaan.",
    "Kryterium nie jest spełnione.",
    "Требование не выполнено.",
    "该标准未被满足。",
    "报告没有提供置信区间。",
    "缺少置信区间。",
    "证据不足，无法判定。",
    "基準を満たしていない。",
    "요구 사항을 충족하지 않습니다.",
    "التقرير لا يستوفي الشرط.",
]


@pytest.mark.parametrize("words", AGAINST_A_PASS)
def test_words_against_a_pass_are_asked_about_wherever_they_stand(words) -> None:
    cited = {"path": "a.md", "at": {"kind": "quote"}, "value": "x", "shows": words}
    for fields in ({"reasoning": words}, {"evidence_found": ["a.md", words]}, {"evidence": [cited]}):
        [question] = mismatches(verdict(True, **fields))
        assert question.startswith('satisfied is true, and the words "')
    on_hypothesis = HypothesisVerdict(supports_hypothesis=True, reasoning="Yes.", evidence=[cited])  # type: ignore[list-item]
    assert len(list(mismatches(on_hypothesis))) == 1


FITS = [
    (True, {"evidence_gap": "None."}),
    (True, {"evidence_gap": "N/A", "required_actions": ["None", "no action needed"]}),
    (True, {"evidence_gap": "None; a second table would be nice, but is not asked for."}),
    (True, {"evidence_gap": "keine Lücken", "required_actions": ["Optional: add a figure"]}),
    (True, {"evidence_gap": "Aucune lacune."}),
    (True, {"evidence_gap": "没有缺口。"}),
    (True, {"reasoning": "The table gives the slope of each seed."}),
    (True, {"reasoning": "A README.md is not asked for."}),
    (True, {"reasoning": "The line is fitted by least squares without weights."}),
    (False, {"reasoning": "The first half is met, but the criterion is not satisfied.", "evidence_gap": "x"}),
    (False, {"evidence_gap": "no figure"}),
    (False, {"required_actions": ["add a figure"]}),
    (None, {}),
    (None, {"evidence_gap": "cannot open the figure", "reasoning": "The criterion is not satisfied."}),
]


@pytest.mark.parametrize(("flag", "fields"), FITS)
def test_what_fits_is_not_asked_about(flag, fields) -> None:
    assert list(mismatches(verdict(flag, **fields))) == []


def test_a_no_whose_reasons_say_yes_is_asked_about() -> None:
    judged = verdict(False, reasoning="The criterion is fully satisfied.", evidence_gap="no figure")
    [question] = mismatches(judged)
    assert (
        question
        == 'satisfied is false, and the words "The criterion is fully satisfied." seem to say the opposite'
    )


HYPOTHESES = [
    (True, "The slope is 0.51, so the evidence supports the hypothesis.", None),
    (True, "The evidence does not support the hypothesis.", "seem to say the opposite"),
    (True, "The hypothesis is refuted.", "seem to say the opposite"),
    (True, "", "reasoning is empty"),
    (False, "", "supports_hypothesis is false, and reasoning is empty"),
    (False, "The evidence clearly supports the hypothesis.", "seem to say the opposite"),
    (False, "The results do not support the hypothesis.", None),
    (None, "", None),
]


@pytest.mark.parametrize(("flag", "reasoning", "says"), HYPOTHESES)
def test_a_verdict_on_the_hypothesis_is_held_to_the_same(flag, reasoning, says) -> None:
    found = list(mismatches(HypothesisVerdict(supports_hypothesis=flag, reasoning=reasoning)))
    assert (found == []) is (says is None)
    assert all(says in each for each in found)


@pytest.mark.parametrize(
    "text", ["", " ", "-", "none", "None.", "N/A", "No gaps identified.", "nothing missing", "null", "keine", "Rien.", "ninguna", "无", "なし"]
)  # fmt: skip
def test_words_for_nothing(text) -> None:
    assert is_none(text)
    assert open_gap(verdict(evidence_gap=text)) == ""
    assert open_actions(verdict(required_actions=[text])) == []


@pytest.mark.parametrize(
    "text", ["n.a", "no interval", "none of them", "nothing but a title", "keine Angabe", "无置信区间"]
)
def test_words_for_something(text) -> None:
    assert not is_none(text)
    assert open_gap(verdict(evidence_gap=text)) == text


@pytest.mark.parametrize(
    "text", ["it is not", "isn't", "only in May", "if so", "we could", "keinesfalls nicht", "n'exclut", "sans elle", "sin ella", "并不", "若非", "ではない", "не так"]
)  # fmt: skip
def test_words_that_limit(text) -> None:
    assert limits(text)


@pytest.mark.parametrize("text", ["", "by least squares", "the notebook", "sinus and cosine", "由最小二乘法"])
def test_words_that_do_not_limit(text) -> None:
    assert not limits(text)
