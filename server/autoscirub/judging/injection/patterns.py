"""Patterns of text that addresses a judge, as data.

Each pattern has words of which one must occur before it is tried. A space in a pattern stands for what may separate
words in a comment that runs over lines. Ordinary scientific prose must not match: the tests hold a table of it.
"""

from __future__ import annotations

GAP = r"[\s#*>/|%;~-]{1,12}"
_JUDGE = (
    r"(?:graders?|judges?|reviewers?|evaluators?|verifiers?|assessors?|markers?|auditors?|llms?|ai"
    r"|models?|assistants?)"
)
_GOOD = (
    r"(?:satisfied|pass(?:ed|es|ing)?|met|fulfilled|complete(?:d)?|correct|verified|approved"
    r"|accepted|true|full marks)"
)
_EACH = (
    r"(?:each|every|all|any)(?: of)?(?: the| these| those)? (?:items?|criteri(?:on|a)|requirements?"
    r"|checks?|entr(?:y|ies)|rubric items?)"
)
_ASKS = (
    r"(?:please|you(?: must| should| can| may)?|mark|pass|skip|ignore|disregard|do not|don't|accept"
    r"|approve|give|treat|"
    r"consider|score|grade|rate|assume|all|no need|there is no need|every|the (?:work|submission"
    r"|report) is|satisf)"
)

PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "a note to whoever judges",
        ("grade", "grading", "judge", "judging", "review", "evaluat", "assess", "verif", "marks", "marking"),
        r"\b(?:note|notes|message|instructions?|attention|memo|hint|reminder) (?:to|for) (?:the |any "
        r"|all )?"
        r"(?:(?:ai|llm|automated|human) )?(?:(?:graders?|judges?|evaluators?|verifiers?|assessors?)\b"
        r"|(?:reviewers?|auditors?)\b\s*[:,]"
        r"|(?:whoever|anyone|those|people|the (?:person|model|one)) (?:who |that )?"
        r"(?:grad|judg|review|evaluat|assess|verif|mark)\w*)",
    ),
    ("a word to a grader", ("grader",), r"(?:^|\n)\W*(?:dear |hi |hello )?(?:the )?graders?\s*[:,—–-]\s*\S"),
    (
        "a word to a judge",
        ("judge", "reviewer", "evaluator", "verifier", "assessor"),
        rf"(?:^|\n|[.!?]\s)[^\w\n]*(?:dear |hi |hello |to the |attention )?(?:ai |llm )?"
        rf"(?:judge|reviewer|evaluator|verifier|assessor)s?\s*[:,—–]\s*{_ASKS}",
    ),
    (
        "asks for marks",
        ("mark", "rate", "grade", "score", "treat", "judge", "label", "report", "set", "count", "consider"),
        rf"\b(?:mark|rate|grade|score|treat|judge|label|report|set|count|consider) (?:{_EACH}|(?:this"
        rf"|the) (?:criteri(?:on|a)|"
        rf"requirements?|submission|rubric|item|work|report))(?: here| below| above)?(?: as| to| to be"
        rf"| =)? {_GOOD}\b",
    ),
    (
        "asks for marks",
        ("satisfied", "verdict", "score"),
        r"\b(?:return|respond with|reply with|answer with|output|give|emit|set) [^.\n]{0,40}"
        r"(?:satisfied['\"`]?\s*[:=]?\s*['\"`]?true|supports_hypothesis['\"`]?\s*[:=]?\s*['\"`]?true"
        r"|(?:a )?(?:verdict|score) of "
        r"(?:satisfied|true|pass|10\b|100\b|1\.0\b))",
    ),
    (
        "says what is graded",
        ("graded", "judged", "scored", "marked", "evaluated", "assessed"),
        r"\b(?:only|nothing but) [^.\n]{0,40}\b(?:title|report|abstract|summary|submission|answers?"
        r"|figures?|section|"
        r"conclusions?|results?|code|files?|readme|format(?:ting)?|headings?)\b[^.\n]{0,40}\b(?:is|are"
        r"|will be|gets?|counts?) "
        r"(?:being )?(?:graded|judged|scored|marked|evaluated|assessed)\b",
    ),
    (
        "withdraws instructions",
        ("ignore", "disregard", "forget", "override", "overrid", "bypass"),
        r"\b(?:ignore|disregard|forget|override|overriding|bypass)(?: all| any| the| your| of| these"
        r"| every| my| its){0,3} "
        r"(?:previous|prior|above|earlier|preceding|foregoing|existing|other|system|original) "
        r"(?:instructions?|prompts?|guidance|guidelines|rules|directions?|messages?|rubrics?|criteria"
        r"|constraints|requirements)\b",
    ),
    (
        "withdraws instructions",
        ("guidance", "instruction", "rubric", "criteria", "prompt"),
        r"\b(?:previous|prior|earlier|above|original|your) (?:instructions?|guidance|prompts?|rubrics?"
        r"|guidelines) "
        r"(?:is|are|has been|have been|were|was) (?:now |hereby )?(?:withdrawn|void|cancell?ed"
        r"|superseded|replaced|revoked|obsolete|"
        r"no longer (?:valid|in force))\b",
    ),
    (
        "a verdict",
        ("satisfied", "supports_hypothesis"),
        r"\\?[\"']satisfied\\?[\"']\s*:\s*(?:true|True)\b"
        r"|\\?[\"']supports_hypothesis\\?[\"']\s*:\s*(?:true|false|True|False)\b",
    ),
    ("a verdict", ("all_satisfied",), r"\\?[\"']all_satisfied\\?[\"']\s*:\s*(?:true|True)\b"),
    (
        "a verdict",
        ("grade", "verdict"),
        r"\b(?:grade|(?:final |overall )?verdict)\s*[:=]\s*[\"'*_`]{0,3}(?:pass(?:ed)?|satisfied"
        r"|full marks|all criteria|approved)\b",
    ),
    (
        "a verdict",
        ("verdict",),
        r"\bverdict of the (?:reviewer|judge|grader|evaluator|verifier|assessor)s?\b",
    ),
    (
        "a closing mark",
        ("end of", "end submission", "end judged"),
        r"[\[(<{=#*-]{1,10}\s*(?:the )?end (?:of )?(?:the )?(?:submission|judged|untrusted|user input"
        r"|evaluation|report to (?:grade|judge)"
        r"|data to (?:grade|judge)|file under (?:review|judg\w+))\b",
    ),
    ("a closing mark", ("<<",), r"<<\s*(?:end )?judged\b"),
    (
        "a closing mark",
        ("</",),
        r"(?:^|\n)\s*</(?:report|submission|artifact|untrusted[\w-]*|judged[\w-]*|user_input"
        r"|file_content|evidence|workspace)>",
    ),
    (
        "chat markup",
        ("<|", "[inst]", "<<sys>>", "<</sys>>", "[/inst]", "<system", "</system"),
        r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|endoftext)\|>"
        r"|\[/?INST\]|<</?SYS>>"
        r"|</?system(?:[_-](?:prompt|message|reminder))?>",
    ),
    (
        "a word as the system",
        ("system",),
        r"(?:^|\n)\W{0,6}system(?: (?:message|prompt|note|override))?\s*:\s*(?:you\b|the (?:submission"
        r"|report|judge|grader|work|"
        r"evaluation|criteri)|ignore\b|override\b|disregard\b|all (?:criteria|items|checks|requirements)"
        r"|this (?:submission|report|work)"
        r"|mark\b|grading\b|new instructions?)",
    ),
    (
        "gives a judge a role",
        ("you are now", "from now on", "you must now", "your task", "your new task"),
        r"\b(?:you are now|from now on,? you|you must now|your (?:new )?task is(?: now)? to) [^.\n]{0,80}"
        r"\b(?:grad\w*|judg\w*|approv\w*|satisf\w*|verdict|pass)\b",
    ),
    (
        "speaks of those who judge",
        ("judge", "grader", "evaluator", "reviewer", "verifier"),
        rf"\b(?:as|if you are|since you are) (?:an?|the) (?:ai |llm |automated )?(?:judge|grader"
        rf"|evaluator|verifier|reviewer)\b[^.\n]{{0,60}}"
        rf"\b(?:{_GOOD}|must|should|accept)\b",
    ),
    (
        "asks a judge not to look",
        (
            "no need",
            "need not",
            "do not open",
            "don't open",
            "do not read",
            "do not check",
            "skip",
            "without opening",
        ),
        r"\b(?:no need to|need not|do not|don't|skip) (?:re-?)?(?:open|opening|read|reading|check"
        r"|checking|verify|verifying|inspect|"
        r"inspecting|look at|looking at) [^.\n]{0,40}(?:results?\.json|the (?:results|artifacts|outputs"
        r"|evidence|workspace)\b)"
        rf"[^.\n]{{0,60}}\b(?:{_JUDGE}|grading|satisfied|verdict)\b",
    ),
    (
        "hidden text",
        ("\U000e0020", "\U000e0061", "\U000e0065", "\U000e0073", "\U000e0074"),
        "[\U000e0020-\U000e007e]{8,}",
    ),
)
"""(what it is, words of which one must occur, the pattern)."""
