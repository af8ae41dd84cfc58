"""Every message that a page shows is one of the package's."""

from __future__ import annotations

import ast
import re

import pytest
from tests.docs.pages import DOCS, FENCE, ROOT, code, table, text_of


@pytest.fixture(scope="module")
def known() -> list[str]:
    """Every piece of text in the package, implicit concatenations joined."""
    nodes = (node for path in ROOT.glob("server/**/*.py") for node in ast.walk(ast.parse(text_of(path))))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


MESSAGES = [
    line
    for language, block in FENCE.findall(text_of(DOCS / "troubleshooting.md"))
    if language == "text"
    for line in block.splitlines()
]


# What the message says of the example at hand, which the code fills in.
EXAMPLE = re.compile(
    r"…|^(?:prereg\.toml|\.prereg\.lock|run_manifest\.json|results/results\.json"
    r"|rubric\.toml|executable_rubric\.json|autoscirub\.toml|round-\d+): |\b8\b"
    r"|a Git LFS pointer|git lfs pull|recorded here|(?<=nothing new to lock): |(?<=judge is set up); "
)


def unknown_pieces(message: str, known: list[str]) -> list[str]:
    """The pieces of a message that no text of the package holds."""
    pieces = [piece.strip(" :;.,()'\"") for piece in EXAMPLE.split(message) if piece]
    telling = [
        piece for piece in pieces if len(piece) > 3 and not piece.endswith((".toml", ".lock", ".json"))
    ]
    assert telling
    return [piece for piece in telling if not any(piece in text for text in known)]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_in_the_troubleshooting_page_is_one_of_the_package_s(message, known) -> None:
    assert unknown_pieces(message, known) == []


TABLE_MESSAGES = [
    span
    for page, heading, cell in (
        ("requirements.md", "What is refused", 1),
        ("rounds.md", "Rounds that were not made here", 1),
    )
    for row in table(page, heading, every=True)
    for span in code(row[cell])
]


@pytest.mark.parametrize("message", TABLE_MESSAGES)
def test_a_message_in_a_table_is_one_of_the_package_s(message, known) -> None:
    # "field required" is the validator's own.
    assert message == "field required" or unknown_pieces(message, known) == []
