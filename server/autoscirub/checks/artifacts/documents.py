"""Inspects SVG and PDF files: are they whole, and do they draw or hold anything?"""

from __future__ import annotations

from typing import BinaryIO

from autoscirub.checks.artifacts.finding import (
    HEAD_BYTES,
    LIBRARY_ERRORS,
    ArtifactFinding,
    from_error,
    likeness,
    quiet,
    too_large,
)
from autoscirub.checks.artifacts.paths import printable
from autoscirub.errors import CheckError

_SVG = "http://www.w3.org/2000/svg"
_DRAWS = frozenset(
    (
        "circle",
        "ellipse",
        "foreignObject",
        "image",
        "line",
        "path",
        "polygon",
        "polyline",
        "rect",
        "text",
        "use",
    )
)  # SVG 2: graphics elements, and foreignObject
# What these hold is drawn only where something refers to it.
_DEFINES = frozenset(
    ("clipPath", "defs", "filter", "linearGradient", "marker", "mask", "pattern", "radialGradient", "symbol")
)
_MAX_DEPTH = 1000
"""Elements within elements. Drawings stay under a hundred; each open one costs the parser memory."""


class _SvgReader:
    """Follows one SVG document through expat, which expands nothing and fetches nothing here.

    The handlers raise CheckError to stop the parser; `look_svg` turns it into *inconclusive*.
    """

    def __init__(self) -> None:
        self.root: tuple[str, str] | None = None
        self.draws = False
        self._depth = 0
        self._defining = 0

    def start(self, name: str, _attributes: object) -> None:
        namespace, _, local = name.rpartition(" ")
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CheckError(f"its elements are nested deeper than {_MAX_DEPTH}, which is not read here")
        if self.root is None:
            self.root = namespace, local
        if local in _DEFINES:
            self._defining += 1
        elif local in _DRAWS and not self._defining:
            self.draws = True

    def end(self, name: str) -> None:
        self._depth -= 1
        if name.rpartition(" ")[2] in _DEFINES:
            self._defining -= 1

    def entity(self, name: str, *_rest: object) -> None:
        # Refused at the declaration: an entity that is never expanded cannot grow (billion laughs) or fetch.
        raise CheckError(f"it declares an entity ({printable(name, 40)}); entities are not expanded here")


def look_svg(source: BinaryIO, size: int) -> ArtifactFinding:
    """An SVG: well-formed XML whose root is svg, and whether it draws anything."""
    from xml.parsers import expat

    if (large := too_large(size)) is not None:
        return large
    head = source.read(HEAD_BYTES)
    source.seek(0)
    what = likeness(head)
    if what == "it is an HTML page":
        return ArtifactFinding(fault=f"not an SVG: {what}")
    reader = _SvgReader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.EntityDeclHandler = reader.entity
    try:
        # In large blocks: expat may begin again at each one while a single attribute goes on (an inlined image).
        while block := source.read(1 << 23):
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except CheckError as error:
        return ArtifactFinding(unknown=str(error))
    except expat.ExpatError as error:
        if reader.root is None and "XML" not in what and "SVG" not in what:
            return ArtifactFinding(fault=f"not an SVG: {what}")
        return ArtifactFinding(
            fault=f"not a whole SVG: {expat.ErrorString(error.code)} (line {error.lineno})"
        )
    except LIBRARY_ERRORS as error:
        return from_error(error, "not an SVG")
    namespace, root = reader.root or ("", "")
    if root != "svg" or namespace not in (_SVG, ""):
        where = f" in the namespace {printable(namespace, 60)}" if namespace else ""
        return ArtifactFinding(fault=f"not an SVG: its root element is {printable(root, 40)}{where}")
    flags = []
    if not namespace:
        flags.append(f'its root lacks xmlns="{_SVG}", so a browser will not draw it')
    if not reader.draws:
        flags.append("blank: nothing in it draws (no path, shape, text or image)")
    return ArtifactFinding(flags=tuple(flags))


def look_pdf(source: BinaryIO, size: int) -> ArtifactFinding:
    """A PDF: begins and ends as one, and has at least one page that can be found."""
    if (large := too_large(size)) is not None:
        return large
    head = source.read(HEAD_BYTES)
    # ISO 32000-1, 7.5.2 and implementation note 13: the header may stand anywhere in the first 1,024 bytes.
    if b"%PDF-" not in head:
        if b"%PDF-".startswith(head):
            return ArtifactFinding(fault="not a whole PDF: it ends within its first 5 bytes")
        return ArtifactFinding(fault=f"not a PDF: {likeness(head)}")
    # The end marker likewise, in the last 1,024. pypdf repairs a file without it, and a cut-off file must fail.
    source.seek(max(0, size - 1024))
    tail = source.read()
    if b"%%EOF" not in tail or b"startxref" not in tail:
        return ArtifactFinding(fault="not a whole PDF: cut off before its end (no startxref and %%EOF)")
    from pypdf import PdfReader, errors

    source.seek(0)
    raised: tuple[type[Exception], ...] = (errors.PyPdfError, *LIBRARY_ERRORS)
    with quiet("pypdf"):
        try:
            reader = PdfReader(source)
            # pypdf tries the empty password by itself: many files are locked only against changes.
            flags = (
                ("encrypted: it may be locked against printing or copying",) if reader.is_encrypted else ()
            )
            pages = len(reader.pages)
            if pages:
                reader.pages[0].get_object()
        except (errors.FileNotDecryptedError, errors.DependencyError):
            return ArtifactFinding(unknown="encrypted: its pages cannot be read without the password")
        except raised as error:
            return from_error(error, "not a whole PDF", (errors.LimitReachedError,))
    if not isinstance(pages, int) or pages < 1:
        return ArtifactFinding(fault="a PDF without a page")
    return ArtifactFinding(flags=flags)
