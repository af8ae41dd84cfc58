"""Tables of LaTeX commands: which of them point, lay out, set something up, or fetch a text from elsewhere."""

from __future__ import annotations

import re

CODE = {
    "verbatim": "code", "lstlisting": "code", "minted": "code", "Verbatim": "code", "alltt": "code",
    "comment": "comment", "filecontents": "comment",
}  # fmt: skip
"""Environments that are no prose."""
POINTS = re.compile(
    r"(?:no|[A-Za-z]?)cite[a-z]*|(?:auto|eq|page|name|v|c|sub)?ref|label|url|path|bibitem|usepackage"
    r"|documentclass|includegraphics|bibliography|bibliographystyle|hypertarget|hyperlink|tag|href"
    r"|pagestyle|thispagestyle|geometry|hypersetup|graphicspath|addbibresource|color|textcolor"
    r"|RequirePackage|PassOptionsToPackage|lstset|tikzset|pgfplotsset|sisetup|captionsetup|setlist|usetheme"
    r"|usecolortheme|usetikzlibrary|usepgfplotslibrary",
    re.IGNORECASE,
)
"""Commands whose first argument points somewhere or sets something, and says nothing."""
_CITES = re.compile(r"(?:no|[A-Za-z]?)cite[a-z]*|bibitem|bibliography", re.IGNORECASE)
_REFERS = re.compile(r"(?:auto|eq|page|name|v|c|sub)?ref|label|tag|hyper(?:target|link)", re.IGNORECASE)
LAYOUT = {
    "vspace": 1, "hspace": 1, "setlength": 2, "addtolength": 2, "setcounter": 2, "addtocounter": 2,
    "multicolumn": 2, "multirow": 2, "resizebox": 2, "scalebox": 1, "cline": 1, "cmidrule": 1, "fontsize": 2,
    "rule": 2, "parbox": 1, "definecolor": 3, "raisebox": 1, "linespread": 1, "titlespacing": 4,
    "colorlet": 2,
}  # fmt: skip
"""Commands that lay out, and how many of their arguments are measures or names."""
OPTIONED = re.compile(
    r"includegraphics|usepackage|documentclass|RequirePackage|num(?:list|range|product)?|ang|SI(?:range|list)?|si"
    r"|qty(?:range|list|product)?|unit|lstinline|mintinline|sqrt|parbox|makebox|framebox|raisebox|rule|cmidrule|multirow"
    r"|footnotemark|pagebreak|linebreak|nopagebreak|nolinebreak|tikz|href|setlist|newtheorem|smash|xspace",
)
"""Commands whose [...] is an option. After any other it is text: \\item[55 percent], \\in[3, 5]."""
SHAPED = frozenset({"tabular", "tabularx", "tabular*", "array", "longtable", "minipage", "wrapfigure", "multicols",
                    "thebibliography"})  # fmt: skip
"""Environments whose first argument is a shape."""
PLACED = frozenset({"table", "table*", "figure", "figure*", "wraptable", "tabular", "tabularx", "minipage", "enumerate",
                    "itemize", "tikzpicture", "axis", "subfigure", "subtable", "longtable", "algorithm",
                    "algorithmic"})  # fmt: skip
"""Environments whose [...] is an option; of any other, such as a theorem, it is a title."""
ELSEWHERE = re.compile(
    r"input|include|subfile|import|subimport|includefrom|inputfrom|subincludefrom|subinputfrom|InputIfFileExists"
    r"|includepdf|includestandalone|verbatiminput|VerbatimInput|lstinputlisting|inputminted|csv(?:reader|auto)[A-Za-z]*"
    r"|pgfplotstable[A-Za-z]*|pgfmathprintnumber|fpeval|inteval|DTL[A-Za-z]*|CatchFile[A-Za-z]*|read|directlua|Sexpr"
    r"|sage|sagestr|py|pyc|pys"
)
"""Commands that put a text of another file, or the outcome of a computation, where they stand."""
DEFINES = re.compile(
    r"(?:re)?newcommand|providecommand|[egx]?def|DeclareRobustCommand|DeclareMathOperator|(?:New|Renew|Provide|Declare)"
    r"(?:Expandable)?DocumentCommand"
)
"""Commands that define another one by a text."""
SETTINGS = frozenset({"arraystretch", "baselinestretch", "topfraction", "bottomfraction", "textfraction",
                      "floatpagefraction", "dbltopfraction", "tabcolsep", "parindent", "parskip",
                      "arrayrulewidth"})  # fmt: skip
"""Macros that hold a measure of the layout."""


def points_as(name: str) -> str:
    """Why what a command points at is no claim."""
    if _CITES.fullmatch(name):
        return "citation"
    if _REFERS.fullmatch(name):
        return "reference"
    return "link" if name in ("url", "href", "path") else "layout"
