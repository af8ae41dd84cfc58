"""A workspace of ordinary files, and the lines of what a judge's tools answer about them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet

from autoscirub.judging.tools import ToolReply

BLOB = bytes(range(256)) * 40
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": "# Title\nwords"},
        {
            "cell_type": "code",
            "source": ["import x\n", "print(x)"],
            "outputs": [
                {"output_type": "stream", "text": ["4.2\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "[1, 2]"}},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["t"]},
            ],
        },
    ]
}


def lay_down(tmp_path: Path) -> Path:
    """A workspace with a file of each kind that the tools can show."""
    root = tmp_path / "workspace"
    (root / "data" / "raw").mkdir(parents=True)
    (root / "report.md").write_text("# Report\nThe slope is 0.48.\r\n", encoding="utf-8")
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1235)), encoding="utf-8")
    (root / "data" / "table.csv").write_text("x,y\n" + "1,2\n" * 49, encoding="utf-8")
    (root / "data" / "table.tsv").write_text("x;y\tz\n1\t2\n1\n", encoding="utf-8")
    (root / "data" / "raw" / "a.json").write_text('[{"slope": 0.48}, {"slope": 0.5}]', encoding="utf-8")
    (root / "results.json").write_text(json.dumps({"slope": 0.48, "all": list(range(2000))}))
    (root / "n.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    (root / "blob.bin").write_bytes(BLOB)
    (root / "latin.txt").write_bytes("first\ngr\u00fcn\n".encode("latin-1"))
    (root / "utf16.txt").write_text("h\u00e9llo\nthere\n", encoding="utf-16")
    (root / "bom.txt").write_bytes(b"\xef\xbb\xbffirst\nlast")
    (root / "empty.txt").touch()
    (root / "coloured.log").write_text("\x1b[31mred\x1b[0m\tok\nplain \u202eback\n", encoding="utf-8")
    pyarrow.parquet.write_table(
        pyarrow.table({"n": list(range(3000)), "name": [f"row{n}" for n in range(3000)]}),
        root / "t.parquet",
    )
    return root


def lines(answer: ToolReply) -> list[str]:
    return answer.text.split("\n")


def content(answer: ToolReply) -> list[str]:
    return [line.partition("│")[2] for line in lines(answer) if not line.startswith("# ")]
