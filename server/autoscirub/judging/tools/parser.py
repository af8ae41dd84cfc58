"""A child program that parses untrusted files for a judge: pictures, tables, notebooks, JSON, Parquet, and searches.

A program of its own, not a module of the room: it imports nothing of ours, gets the file as its standard input, and
answers on a descriptor of its own, so that nothing a library prints can be taken for the answer. It bounds its own
memory and time before it reads a byte; the parent ends it besides.

    python -I parser.py DESCRIPTOR JOB      (JOB is JSON; the answer is a line of JSON, then bytes)
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Job = dict[str, Any]
Reply = tuple[dict[str, Any], bytes]

_CONTEXT = 100  # characters before a match, where a line is cut


class _TimeIsUp(BaseException):
    """Raised by the alarm. A BaseException: no library's own handler may swallow it."""


def _alarm(_number: int, _frame: object) -> None:
    raise _TimeIsUp


def _bound(job: Job) -> None:
    """Set the limits, after the libraries are loaded: their address space says nothing about what a file needs."""
    limits = [(resource.RLIMIT_CPU, math.ceil(job["seconds"]) + 2), (resource.RLIMIT_CORE, 0)]
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
        taken = int(statm.read().split()[0]) * resource.getpagesize()
        limits.append((resource.RLIMIT_AS, taken + job["memory"]))
    for limit, value in limits:
        with contextlib.suppress(OSError, ValueError):  # a lower one may hold already
            resource.setrlimit(limit, (value, value))
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, job["seconds"])


def _lines(data: bytes) -> Iterator[str]:
    """The lines of a text, numbered as `read` numbers them: by line feeds alone."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[at:end].removesuffix(b"\r").decode("utf-8", "replace")
        at = end + 1


def search(job: Job, source: BinaryIO) -> Reply:
    """Which lines match. The files come one after the other, each after a line with its kind and size."""
    try:
        pattern = re.escape(job["pattern"]) if job["literal"] else job["pattern"]
        find = re.compile(pattern, re.IGNORECASE if job["ignore_case"] else 0).search
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        return {"refused": str(error)}, b""
    matches: list[list[Any]] = []
    total, files, index, number, stopped = 0, 0, -1, 0, False
    try:
        while header := source.readline():
            kind, size = header.split()
            data = source.read(int(size))
            index, number, before = index + 1, 0, total
            lines = _lines(data)
            if kind == b"notebook":
                with contextlib.suppress(ValueError, RecursionError):
                    lines = iter([text for _, text in _cells(data)])
            for number, line in enumerate(lines, 1):
                if (match := find(line)) is None:
                    continue
                total += 1
                if job["start"] <= total < job["start"] + job["results"]:
                    first = max(0, match.start() - _CONTEXT) if len(line) > job["width"] else 0
                    matches.append([index, number, first, len(line), line[first : first + job["width"]]])
            files += total > before
    except _TimeIsUp:
        stopped = True
    where = [index, number] if stopped else None
    return {"matches": matches, "total": total, "files": files, "stopped": where}, b""


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _output_texts(output: Any) -> Iterator[tuple[str, str]]:
    """(label, text) of an output; a picture in it has a label and no text."""
    data = output.get("data") if isinstance(output, dict) else None
    if isinstance(output, dict) and output.get("output_type") == "stream":
        yield "out", _joined(output.get("text"))
    elif isinstance(output, dict) and output.get("output_type") == "error":
        yield "error", f"{_joined(output.get('ename'))}: {_joined(output.get('evalue'))}"
    elif isinstance(data, dict):
        if text := _joined(data.get("text/plain")):
            yield "out", text
        if any(isinstance(key, str) and key.startswith("image/") for key in data):
            yield "a picture, not shown", ""


def _cells(data: bytes) -> Iterator[tuple[str, str]]:
    """(label, line) of a notebook's cells and their outputs. Raises ValueError when it is not a notebook."""
    notebook = json.loads(data.decode("utf-8-sig"))
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("no list of cells")
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        kind = cell.get("cell_type")
        known = kind if kind in ("markdown", "code", "raw") else "cell"
        outputs = cell.get("outputs")
        parts = [(known, _joined(cell.get("source")))]
        for output in outputs if isinstance(outputs, list) else []:
            parts += _output_texts(output)
        for label, text in parts:
            for line in text.removesuffix("\n").split("\n"):
                yield f"cell {number} {label}", line.removesuffix("\r")


def notebook(job: Job, source: BinaryIO) -> Reply:
    """The cells' text, a window of it."""
    try:
        cells = list(_cells(source.read()))
    except (ValueError, RecursionError):
        return {"problem": "it is not a notebook that can be read (JSON with a list of cells)"}, b""
    return {"lines": _window(cells[job["start"] - 1 :], job), "total": len(cells)}, b""


def _window(lines: list[tuple[str, str]], job: Job) -> list[list[Any]]:
    """[label, a part of the line, the line's length] of the lines that a call asks for and one answer can hold."""
    visible: list[list[Any]] = []
    left, room = job["column"] - 1, job["chars"]
    for label, text in lines[: job["lines"]]:
        part = text[left : left + job["width"]]
        visible.append([label, part, len(text)])
        room -= len(part)
        if room < 0:
            break
    return visible


def table(job: Job, source: BinaryIO) -> Reply:
    """Rows and columns of a CSV or TSV."""
    import csv
    import io

    text = io.TextIOWrapper(source, encoding="utf-8-sig", errors="replace", newline="")
    first = next((line for line in text if line.strip()), "")
    marks = "\t" if job["tabs"] else ",;\t|"
    delimiter = max(marks, key=lambda mark: (first.count(mark), -marks.index(mark)))
    text.seek(0)
    csv.field_size_limit(1 << 30)
    rows, width, ragged = 0, 0, 0
    try:
        for fields in csv.reader(text, delimiter=delimiter, strict=True):
            if fields:
                rows += 1
                width = width or len(fields)
                ragged += len(fields) != width
    except csv.Error:
        return {"problem": "it cannot be read as a table: a quote that is not closed, or text after one"}, b""
    text.detach()
    return {"rows": rows, "columns": width, "ragged": ragged, "delimiter": delimiter}, b""


def document(_job: Job, source: BinaryIO) -> Reply:
    """What a JSON file is, in words that hold nothing of it."""
    try:
        value = json.loads(source.read().decode("utf-8-sig"), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return {"problem": "it is not JSON of one document that can be read"}, b""
    if isinstance(value, list):
        inner = {type(item) for item in value}
        same = "all of them objects" if inner == {dict} else "all of them arrays" if inner == {list} else ""
        return {"shape": ["array", len(value), same]}, b""
    return {"shape": ["object", len(value), ""] if isinstance(value, dict) else ["value", 1, ""]}, b""


def parquet(job: Job, source: BinaryIO) -> Reply:
    """Rows and columns of a Parquet file, and some of the rows. Needs pyarrow."""
    opened = job["library"].ParquetFile(
        source, thrift_string_size_limit=1 << 26, thrift_container_size_limit=1_000_000, pre_buffer=False
    )
    schema = opened.schema_arrow
    names = schema.names[: job["columns"]]
    head = "\t".join(f"{name} ({schema.field(at).type})" for at, name in enumerate(names))
    lines: list[tuple[str, str]] = [("columns", head)]
    number, last = 0, job["start"] + job["lines"] - 1
    for batch in opened.iter_batches(batch_size=1_000, columns=names, use_threads=False):
        first = max(0, job["start"] - 1 - number)
        for at, row in enumerate(batch.slice(first, last - number - first).to_pylist(), number + first + 1):
            lines.append((f"row {at}", "\t".join(str(value)[:200] for value in row.values())))
        number += batch.num_rows
        if number >= last:
            break
    job["lines"] += 1
    return {
        "lines": _window(lines, job),
        "rows": opened.metadata.num_rows,
        "columns": len(schema.names),
    }, b""


def picture(job: Job, source: BinaryIO) -> Reply:
    """A picture redrawn from its pixels: without text, further frames, or data after its end."""
    import io

    Image, ImageOps = job["library"]  # noqa: N806 - Pillow's names
    Image.MAX_IMAGE_PIXELS = None  # our own limit is checked first, and is not just a warning
    with Image.open(source, formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
        facts = {
            "size": opened.size,
            "format": opened.format,
            "several": getattr(opened, "is_animated", False),
        }
        if opened.width * opened.height > job["pixels"]:
            return {
                **facts,
                "problem": f"pictures of more than {job['pixels']:,} pixels are not decoded",
            }, b""
        side = job["side"]
        opened.draft("RGB", (side, side))
        opened.load()
        image = opened.convert("RGBA" if opened.has_transparency_data else "RGB") if _flat(opened) else opened
        if image.mode.startswith("I;16"):
            image = image.point(lambda value: value / 256).convert("L")
        image.thumbnail((side, side))  # before the calls below copy it
        image = ImageOps.exif_transpose(image)
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    while side > 16:
        image.thumbnail((side, side))
        for kind, options in (("PNG", {}), ("JPEG", {"quality": 85})):
            buffer = io.BytesIO()
            (image if kind == "PNG" else image.convert("RGB")).save(buffer, kind, **options)
            if buffer.tell() <= job["bytes"]:
                return {**facts, "drawn": image.size, "mime": f"image/{kind.lower()}"}, buffer.getvalue()
        side = side * 2 // 3
    return {**facts, "problem": "it does not become small enough to be shown"}, b""


def _flat(image: Any) -> bool:
    """Whether its values are palette entries or bits, which cannot be averaged when it is scaled down."""
    return image.mode in ("1", "P", "PA")


_JOBS: dict[str, Callable[[Job, BinaryIO], Reply]] = {
    "search": search,
    "notebook": notebook,
    "table": table,
    "document": document,
    "parquet": parquet,
    "picture": picture,
}


def _load(job: Job) -> bool:
    """The library that a job needs, from where the parent has it; False when it is not installed."""
    sys.path += [path for path in job["path"] if path not in sys.path]
    try:
        if job["job"] == "picture":
            from PIL import Image, ImageOps

            Image.init()
            job["library"] = Image, ImageOps
        elif job["job"] == "parquet":
            from pyarrow import parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]

            job["library"] = parquet
    except ImportError:
        return False
    return True


def main() -> None:
    job: Job = json.loads(sys.argv[2])
    body = b""
    if not _load(job):
        reply: dict[str, Any] = {"missing": True}
    else:
        _bound(job)
        try:
            reply, body = _JOBS[job["job"]](job, sys.stdin.buffer)
        except _TimeIsUp:
            reply = {"slow": True}
        except MemoryError:
            reply = {"problem": "reading it needs more memory than is given to it"}
        except Exception:  # noqa: BLE001 - a hostile file makes a library raise anything; its words may quote the file
            reply = {"problem": "it is broken, or not what it begins as"}
        signal.setitimer(signal.ITIMER_REAL, 0)
    # The parent must not wait for us to read its input while we wait for it to read our answer.
    os.close(0)
    with os.fdopen(int(sys.argv[1]), "wb") as answer:
        answer.write(json.dumps(reply).encode("ascii") + b"\n" + body)
        answer.flush()
        os._exit(0)  # a library's threads or half-built objects are not waited for


if __name__ == "__main__":
    main()
