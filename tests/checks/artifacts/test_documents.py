"""SVG and PDF."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable

import pytest
from pypdf import PdfWriter

from autoscirub.models import Answer, Decision

Look = Callable[..., Decision]
NS = 'xmlns="http://www.w3.org/2000/svg"'


def pdf(pages: int = 1, user: str | None = None, owner: str | None = None) -> bytes:
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(100, 100)
    if user is not None:
        writer.encrypt(user, owner, algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_a_drawing_passes_with_the_doctype_that_plotting_libraries_write(look: Look) -> None:
    text = (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"\n'
        ' "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n'
        f'<svg {NS}><defs><style>*{{}}</style></defs><g><path d="M0 0L1 1"/></g></svg>\n'
    )
    decision = look(text.encode(), "a.svg")
    assert decision.answer is Answer.HOLDS
    assert decision.evidence[0].note is None


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "<g/>",
        '<defs><path d="M0 0"/></defs>',
        '<clipPath><rect width="1" height="1"/></clipPath>',
        "<title>x</title>",
    ],
)
def test_an_svg_that_draws_nothing_passes_and_is_flagged(look: Look, inside: str) -> None:
    decision = look(f"<svg {NS}>{inside}</svg>".encode(), "a.svg")
    assert decision.answer is Answer.HOLDS
    assert (decision.evidence[0].note or "").startswith("blank: nothing in it draws")


@pytest.mark.parametrize(
    "element", ["path", "line", "rect", "circle", "text", "image", "use", "foreignObject"]
)
def test_an_svg_with_any_drawing_element_is_not_blank(look: Look, element: str) -> None:
    assert look(f"<svg {NS}><g><{element}/></g></svg>".encode(), "a.svg").evidence[0].note is None


def test_an_svg_without_its_namespace_is_flagged(look: Look) -> None:
    decision = look(b"<svg><path/></svg>", "a.svg")
    assert decision.answer is Answer.HOLDS
    assert "a browser will not draw it" in (decision.evidence[0].note or "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html><body>404</body></html>", "not an SVG: it is an HTML page"),
        (
            b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>",
            "not an SVG: it is an HTML page",
        ),
        (b"<?xml version='1.0'?><plot/>", "not an SVG: its root element is plot"),
        (b"<svg xmlns='http://example.org/x'/>", "not an SVG: its root element is svg in the namespace"),
        (b"a drawing", "not an SVG: it is text"),
        (f"<svg {NS}>\n<path".encode(), "not a whole SVG: unclosed token (line 2)"),
        (f"<svg {NS}>\n<g>".encode(), "not a whole SVG: no element found (line 2)"),
        (f"<svg {NS}>&nbsp;</svg>".encode(), "not a whole SVG: undefined entity (line 1)"),
        (b"<?xml version='1.0' encoding='no-such'?><svg/>", "not a"),
    ],
)
def test_what_is_no_svg_fails_and_says_why(look: Look, data: bytes, reason: str) -> None:
    decision = look(data, "a.svg")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert (decision.evidence[0].note or "").startswith(reason)


def test_an_svg_that_declares_entities_is_not_expanded_and_is_inconclusive(look: Look) -> None:
    text = f'<!DOCTYPE svg [<!ENTITY ns "http://example.org/">]><svg {NS}><path d="&ns;"/></svg>'
    decision = look(text.encode(), "a.svg")
    assert decision.answer is Answer.INCONCLUSIVE
    assert decision.open == ["a.svg: it declares an entity (ns); entities are not expanded here"]
    assert decision.evidence[0].sha256 is not None


def test_a_pdf_with_a_page_passes_without_a_flag(look: Look, good: dict[str, bytes]) -> None:
    for data in (good["pdf"], pdf(3), b"\n" * 100 + pdf() + b"\n\n"):
        decision = look(data, "a.pdf")
        assert decision.answer is Answer.HOLDS
        assert decision.evidence[0].note is None


def test_a_pdf_without_a_page_fails(look: Look) -> None:
    assert look(pdf(0), "a.pdf").evidence[0].note == "a PDF without a page"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html><body>Sign in</body></html>", "not a PDF: it is an HTML page"),
        (b"%PD", "not a whole PDF: it ends within"),
        (pdf()[:-40], "not a whole PDF: cut off"),
        (b"%PDF-1.7\nstartxref\n0\n%%EOF\n", "not a whole PDF: "),
    ],
)
def test_what_is_no_whole_pdf_fails_and_says_why(look: Look, data: bytes, reason: str) -> None:
    decision = look(data, "a.pdf")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert (decision.evidence[0].note or "").startswith(reason)


def test_a_pdf_locked_against_changes_alone_passes_and_is_flagged(look: Look) -> None:
    decision = look(pdf(user="", owner="secret"), "a.pdf")
    assert decision.answer is Answer.HOLDS
    assert (decision.evidence[0].note or "").startswith("encrypted")


def test_a_pdf_that_needs_a_password_is_inconclusive(look: Look) -> None:
    decision = look(pdf(user="secret"), "a.pdf")
    assert decision.answer is Answer.INCONCLUSIVE
    assert decision.open == ["a.pdf: encrypted: its pages cannot be read without the password"]


def test_the_pdf_library_logs_nothing(
    look: Look, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = pdf().replace(b"startxref\n", b"startxref\n9")
    look(broken, "a.pdf")
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("pypdf").level == logging.NOTSET
