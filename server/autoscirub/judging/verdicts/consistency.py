"""Asks whether the fields of a verdict fit together, and whether its words seem to say the opposite of its flag.

What is found here never decides: it leads to the one question back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoscirub.judging.prompts import plain
from autoscirub.models import CriterionVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoscirub.models import HypothesisVerdict

_NONE = re.compile(
    r"(?:none|null|nil|nothing|n/?a|not applicable|no|empty|no (?:evidence )?gaps?|no (?:further |required )?actions?"
    r"|no (?:further )?action (?:is )?(?:needed|required)|no missing evidence"
    r"|(?:keine?|aucune?|ningun[oa]?|nessun[oa]?|nenhuma?|geen)"
    r"(?: (?:lücken?|mängel|lacunes?|manques?|carencias?|lagunas?|brechas?|lacun[ae]|gaps?))?|nichts|rien|nada|niente"
    r"|[无無](?:缺口|缺失|不足|问题)?|(?:没有|暂无)(?:缺口|缺失|不足|问题)?|なし)"
    r"(?: (?:is |are |was |were )?(?:identified|found|noted|needed|required|missing|remaining|remains?|necessary))?"
)
_FIRST = re.compile(r"[.;,:(—–\n。；，：（]")
_OPTIONAL = re.compile(
    r"\W*(?:optional(?:ly)?|nice to have|not required|if (?:wanted|desired)|facultatif|opcional)\b",
    re.IGNORECASE,
)
_LACKS = re.compile(
    r"\b(?:missing|lack(?:s|ing)?|absent|omit(?:s|ted)?|insufficient|unclear|incomplete)\b"
    r"|(?:\bnot|n['’]t) (?:yet |be |been )?(?:given|described|reported|shown|provided|included|stated|present|there"
    r"|done|available|found|addressed)\b",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:without|except|apart from|besides|other than|außer|ohne|sauf|excepté|sans|salvo|excepto|sin|tranne)\b"
    r"|除|以外",
    re.IGNORECASE,
)
# Recall matters here and precision does not: a wrong hit costs one more question, a miss costs a false pass.
_NOT_MET = re.compile(
    "|".join(
        (
            r"(?:\b(?:not|never|fails? to|cannot be|un|only partially|partially|insufficiently)|n['’]t) ?"
            r"(?:be |been |yet |fully |entirely |completely |really |considered |marked |seem to )*"
            r"(?:meet|met|satisf\w*|fulfil\w*|support\w*|complete\w*|pass(?:ed)?)\b",
            r"\b(?:unmet|unsatisfied|unfulfilled|unsupported|inadequate|insufficient evidence|does not suffice)\b",
            r"\b(?:verdict|result|grade|status|outcome|decision|answer)\W{1,3}(?:is )?"
            r"(?:fail(?:ed|ure)?|no|false|rejected|refuted)\b",
            r"\bscore\W{1,3}0\b|\bfail(?:s|ed)?\b|\brefut\w+|\bcontradict\w*|\brejected\b",
            r"\bno (?:interval|evidence|support)\b|\bthere (?:is|are) no\b|\bfalls? short\b|\bviolat\w+",
            r"(?:\bnot|n['’]t) (?:give|report|state|include|provide|contain|show|address|describe|mention|demonstrat)",
            r"\b(?:criterion|requirement|hypothesis|claim) is (?:\w+ )?(?:false|wrong|incorrect)\b",
            r"\bno \w+(?: \w+){0,3} (?:is|are|was|were) (?:given|reported|shown|stated)\b",
            _LACKS.pattern,
            # German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese, Japanese
            r"\bnicht (?:\w+ ){0,2}(?:erfüllt|belegt|gestützt|bestätigt|ausreichend)|\bunerfüllt|\bunzureichend",
            r"\b(?:erfüllt|genügt|reicht|stützt|bestätigt|belegt)\b[^.\n]{0,60}\bnicht\b",
            r"\bnicht (?:\w+ ){0,2}(?:angegeben|enthalten|genannt|vorhanden|berichtet|gezeigt|beschrieben)|\bverfehl",
            r"\bteilweise\b|\bunvollständig|\bfehl(?:t|en)\b|\bwiderleg",
            r"\bne (?:\w+ )?(?:rempli|satisfai|respect|répond|confirm|soutien)\w* pas\b",
            r"\bpartiellement\b|\ben partie\b",
            r"\bn[e'’]\w* ?(?:\w+ ){0,2}pas (?:\w+ ){0,2}(?:satisfait|rempli|soutenu|confirm)",
            r"\bnon (?:satisfait|rempli|conforme)|\bmanque(?:nt)?\b|\binsuffisan|\bdéfaut\b|\binsatisfai",
            r"\bno (?:\w+ ){0,3}(?:cumpl\w*|satisf\w*|respald\w*|apoy\w*|confirm\w*)|\bincumpl\w*",
            r"\bno se (?:aporta|incluye|indica|da|menciona|presenta|informa|muestra)n?\b",
            r"\bsin (?:cumplir|satisfacer)\b",
            r"\bfaltan?\b|\binsuficiente|\bparcialmente\b|\bparzialmente\b|\ben parte\b",
            r"\bnon (?:è |viene |risulta )?(?:soddisf\w*|support\w*|conferm\w*)|\bmanca\b|\binsufficiente",
            r"\bnão (?:\w+ ){0,2}(?:satisf\w*|cumpr\w*|atend\w*|apoi\w*)",
            r"\bniet (?:\w+ ){0,2}(?:voldaan|vervuld|ondersteund)|\bontbreekt\b",
            r"\bnie (?:\w+ ){0,2}(?:spełni\w*|potwierdz\w*)|\bbrak(?:uje)?\b",
            r"\bне (?:\w+ ){0,2}(?:выполн\w*|удовлетвор\w*|подтвержд\w*)|отсутству",
            r"(?:不|未|没有?|无法|並非|并非)(?:能|被|完全|充分|得到)*(?:满足|滿足|符合|支持|达到|证实|证明|提供|给出|报告|说明)",
            r"缺[少乏失]|不充分|不足|部分满足|尚未|无法",
            r"満たし?(?:ていない|ません|ない)|不十分|支持され(?:ない|ません)",
            r"(?:충족|만족|지지)(?:하지|되지|시키지) ?(?:않|못)|부족|누락|لا يستوفي|غير مستوف|مفقود|karşılanm|eksik",
        )
    ),
    re.IGNORECASE,
)
_MET = re.compile(
    r"\b(?:is|are|has been|clearly|fully) (?:\w+ ){0,2}(?:met|satisfied|fulfilled|supported|confirmed)\b"
    r"|\b(?:meets|satisfies|fulfils|fulfills|supports) (?:the|this|all|its)\b|\bverdict\W{1,3}pass",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:not|no|none|never|nor|neither|without|except|unless|only|but|however|although|though|cannot|if|would|might|may"
    r"|could|should|must|fail\w*|wrong|false|partial\w*|reject\w*|refut\w*|den(?:y|ies|ied)|claim\w*|assum\w*|suppos\w*"
    r"|planned|expected|todo|nicht|kein\w*|nie|ohne|nur|aber|jedoch|falls|wenn|wäre|würd\w*|soll\w*|könnt\w*|falsch"
    r"|ne|pas|sans|sauf|mais|jamais|si|serai\w*|devrai\w*|pourrai\w*|faux|non|senza|ma|però|sin|pero|nunca|solo|sólo|falso"
    r"|debería\w*|podría\w*|não|sem|mas|niet|geen|maar|zonder|bez|ale|не|нет|без|но)\b|n['’]t\b|\bn['’]"
    r"|[不没未無无非否若仅只但尚难]|如果|应当|可能|ない|ません|しか|だけ|もし|않|못|없|아니|\b(?:لا|ليس|لم|لن|غير|بدون|değil|yok|ancak)\b",
    re.IGNORECASE,
)


def limits(text: str) -> bool:
    """Whether words that a quotation leaves out hold a negation or a limit."""
    return _LIMITS.search(text) is not None


def is_none(text: str) -> bool:
    """Whether a text says that there is nothing: empty, `none`, `n/a`, `no gap identified`."""
    words = re.sub(r"\s+", " ", text).strip().strip("-–—.,;:!()[]\"'`*。！ ").casefold()
    return not words or _NONE.fullmatch(words) is not None


def open_gap(verdict: CriterionVerdict) -> str:
    """The gap that a verdict leaves open; empty where it says that there is none, whatever else it remarks there."""
    first = _FIRST.split(verdict.evidence_gap.strip(), maxsplit=1)
    rest = first[1] if len(first) > 1 else ""
    against = _NOT_MET.search(rest) or _EXCEPT.search(rest) or (rest.strip() and first[0].casefold() == "no")
    closed = is_none(first[0]) and not against
    return "" if closed else verdict.evidence_gap


def open_actions(verdict: CriterionVerdict) -> list[str]:
    """The actions that a verdict requires, without those that it calls optional."""
    return [
        action for action in verdict.required_actions if not is_none(action) and not _OPTIONAL.match(action)
    ]


def mismatches(verdict: CriterionVerdict | HypothesisVerdict) -> Iterator[str]:
    """Each way in which the fields do not fit the flag, or the words seem to say the opposite of it."""
    if verdict.flag is None:
        return
    if verdict.flag and verdict.confidence == 0:
        yield "the flag is true, and confidence is 0"
    if isinstance(verdict, CriterionVerdict):
        gap, actions = open_gap(verdict), open_actions(verdict)
        if verdict.satisfied and gap:
            yield f"satisfied is true, and evidence_gap is {quoted(gap)}"
        if verdict.satisfied and actions:
            yield f"satisfied is true, and required_actions asks for {quoted(actions[0])}"
        if not verdict.satisfied and not gap and not actions:
            yield "satisfied is false, and evidence_gap names nothing that is missing"
        name, texts = "satisfied", [verdict.reasoning, *verdict.evidence_found]
    else:
        name, texts = "supports_hypothesis", [verdict.reasoning]
        if not verdict.reasoning.strip():
            yield f"supports_hypothesis is {_json(verdict.flag)}, and reasoning is empty"
    against = _NOT_MET if verdict.flag else _MET
    for text in [*texts, *(cited.shows for cited in verdict.evidence)]:
        if (found := against.search(text)) is not None and (verdict.flag or not _NOT_MET.search(text)):
            around = text[max(0, found.start() - 60) : found.end() + 60]
            yield f"{name} is {_json(verdict.flag)}, and the words {quoted(around)} seem to say the opposite"
            return


def _json(flag: bool | None) -> str:
    return str(flag).lower()


def quoted(text: str) -> str:
    """A judge's words in quotation marks for a message: on one line, and cut."""
    short = plain(re.sub(r"\s+", " ", text).strip())
    return f'"{short if len(short) <= 160 else short[:159] + "…"}"'
