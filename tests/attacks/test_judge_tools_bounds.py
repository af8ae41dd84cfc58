"""What a judge's tools cost whoever lends them, whatever the files are: promised of one call are 3 seconds here and
100 MB of this process; of a refusal, 100 ms and 20 MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attacks.paths import ATTACKS, CALL, CANARY, with_path

import autoscirub
from autoscirub.judging.tools import ToolBounds, WorkspaceTools

SERVER = Path(autoscirub.__file__).resolve().parents[1]


CHILD = """
import json, resource, sys, time
from autoscirub.errors import ToolRefused
from autoscirub.judging.tools import ToolBounds, WorkspaceTools
import subprocess, threading, hashlib
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
root, megabytes, seconds, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
tools = WorkspaceTools(root, ToolBounds(seconds=3))
soft = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (taken + megabytes * 1_000_000, soft))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
answers = []
for name, arguments in calls:
    begun = time.monotonic()
    try:
        text = tools.call(name, arguments).text
    except ToolRefused as refused:
        text = "refused: " + str(refused)
    answers.append([text, time.monotonic() - begun])
print(json.dumps(answers))
"""


def limited(root: Path, *calls: CALL, megabytes: int = 500, seconds: int = 15) -> list[str]:
    """What calls come to in a child with five times the memory and the time that are promised."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the limit is set on top of what /proc says is in use")
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(CHILD),
            str(root),
            str(megabytes),
            str(seconds),
            json.dumps(calls),
        ],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    answers = json.loads(ran.stdout)
    assert all(took < 5 * 3 for _, took in answers)
    assert all(len(text) <= ToolBounds().answer_chars for text, _ in answers)
    return [text for text, _ in answers]


def test_refusals_take_next_to_no_memory_and_time(root) -> None:
    calls = [call for attack in ATTACKS for call in with_path(attack)[:2] if "\ud800" not in attack]
    texts = limited(root, *calls[:100], megabytes=5 * 20, seconds=5 * 100 // 10)
    assert all(
        text.startswith("refused: ") for text, (name, _) in zip(texts, calls, strict=False) if name == "read"
    )


def write(path: Path, block: bytes, times: int) -> None:
    with path.open("wb") as target:
        for _ in range(times):
            target.write(block)


@pytest.mark.slow
def test_a_sparse_file_of_a_gigabyte(root) -> None:
    with (root / "sparse.txt").open("wb") as target:
        target.truncate(1 << 30)
    with (root / "text.csv").open("wb") as target:
        target.write(b"x,y\n1,2\n" * 2000)
        target.truncate(1 << 30)
    read, text, found = limited(
        root, ("read", {"path": "sparse.txt"}), ("read", {"path": "text.csv"}), ("grep", {"pattern": "^1"})
    )
    assert "binary data of an unknown kind, 1,073,741,824 bytes, " in read
    assert "1│x,y" in text
    assert "shape is not counted above" in text
    assert "of 2,000 in 1 file" in found
    assert "first part alone: 1 large file" in found


@pytest.mark.slow
def test_ten_million_lines(root) -> None:
    write(root / "lines.txt", b"ab\n" * 100_000, 100)
    first, last, past, found = limited(
        root,
        ("read", {"path": "lines.txt"}),
        ("read", {"path": "lines.txt", "start": 9_999_999}),
        ("read", {"path": "lines.txt", "start": 10**15, "lines": 2000}),
        ("grep", {"pattern": "b$"}),
    )
    assert '# lines 1–200 of 10,000,000; 9,999,800 more: read("lines.txt", start=201)' in first
    assert "10000000│ab\n# lines 9,999,999–10,000,000 of 10,000,000" in last
    assert "there are 10,000,000" in past
    assert '"lines.txt":200│ab' in found


def test_one_line_of_a_hundred_megabytes(root) -> None:
    write(root / "line.txt", b"abcdefghij" * 100_000, 100)
    first, later, past, found = limited(
        root,
        ("read", {"path": "line.txt"}),
        ("read", {"path": "line.txt", "column": 1_000_001}),
        ("read", {"path": "line.txt", "column": 16 << 20}),
        ("grep", {"pattern": "ja{1,3}b"}),
    )
    assert "1 (cut: characters 1–2,000, of 100,000,000 bytes)│abcdefghij" in first
    assert "1 (cut: characters 1,000,001–1,002,000, of 100,000,000 bytes)│abcdefghij" in later
    assert "of 100,000,000 bytes" in past
    assert '"line.txt":1 (characters 1–300 of ' in found


@pytest.mark.slow
@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){25}$", "a*a*a*a*a*a*a*a*$", "(?=(a+))*b"]
)
def test_no_pattern_hangs(root, pattern, literal) -> None:
    (root / "a.txt").write_text("found before\n" + "a" * 50_000 + "!\n")
    [found] = limited(root, ("grep", {"pattern": f"before|{pattern}", "literal": literal}))
    if "stopped after" in found:
        assert 'stopped after 3 s in line 2 of "a.txt": what comes later was not searched' in found
    assert literal or "found before" in found


def test_a_pattern_that_needs_much_memory_does_not_take_it_here(root) -> None:
    for pattern in (
        "(" * 240 + ")" * 240,
        "((((a{1,999}){1,999}){1,999}){1,999}){1,999}",
        "a{1,99999999999999}",
    ):
        [found] = limited(root, ("grep", {"pattern": pattern}))
        assert found.startswith(("# lines that match", "refused: "))


def test_a_deep_folder_is_entered_so_far_and_the_rest_is_said(root) -> None:
    deep = root / "/".join(["d"] * 300)
    deep.mkdir(parents=True)
    (deep / "last.txt").write_text("inside\n")
    listed, globbed, found, deeper = limited(
        root,
        ("list", {"depth": 64}),
        ("glob", {"pattern": "**/last.txt"}),
        ("grep", {"pattern": "inside"}),
        ("glob", {"pattern": "d/" * 240 + "**"}),
    )
    assert "folders too deep to be entered: 1; list or search them by their path" in globbed
    assert "too deep" in found
    assert listed.endswith("# 1–67 of 67")  # 64 folders of 300, and what the workspace had
    assert "too deep" in deeper
    outputs = limited(
        root, ("list", {"path": "/".join(["d"] * 300)}), ("read", {"path": "d/" * 300 + "last.txt"})
    )
    assert 'last.txt" 7 bytes' in outputs[0]
    assert "1│inside" in outputs[1]


def test_a_folder_of_many_files_is_looked_at_so_far_and_that_is_said(root) -> None:
    for number in range(300):
        (root / "data" / f"f{number}").touch()
    tools = WorkspaceTools(root, ToolBounds(entries=100))
    for answer in (tools.list(depth=2), tools.glob("**"), tools.grep("inside")):
        assert "only 100 files and folders were looked at" in answer.text


def test_a_pattern_of_many_stars_comes_to_an_end(root) -> None:
    (root / ("a" * 250)).touch()
    patterns = ["*a" * 240 + "b", "**/" * 160 + "b", "/".join(["*"] * 250), "[" * 499, "[a-" * 160, "?" * 499]
    for text in limited(root, *[("glob", {"pattern": pattern}) for pattern in patterns]):
        assert "# none" in text


def test_a_table_of_a_hundred_thousand_columns(root) -> None:
    (root / "wide.csv").write_text(
        ",".join(f"c{n}" for n in range(100_000)) + "\n" + ",".join(["1"] * 100_000) + "\n"
    )
    [answer] = limited(root, ("read", {"path": "wide.csv"}))
    assert "a table, 2 rows (with its header, if it has one) × 100,000 columns by comma" in answer
    assert "1 (cut: characters 1–2,000, of " in answer


def png(width: int, height: int, pixels: bytes, *extra: tuple[bytes, bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    more = b"".join(chunk(*each) for each in extra)
    return b"\x89PNG\r\n\x1a\n" + header + more + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def zeros(count: int) -> bytes:
    deflate = zlib.compressobj(1)
    return b"".join(deflate.compress(bytes(1 << 20)) for _ in range(count >> 20)) + deflate.flush()


def nested(levels: int) -> bytes:
    return b'{"cells": ' + b"[" * levels + b"]" * levels + b"}"


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "huge dimensions": ("a.png", lambda: png(60_000, 60_000, zeros(1 << 20))),
    "the largest dimensions": ("b.png", lambda: png(2**31 - 1, 2**31 - 1, zeros(1 << 20))),
    "as many pixels as are decoded": ("c.png", lambda: png(7_000, 7_000, zeros(147 << 20))),
    "one pixel and a gigabyte of data": ("d.png", lambda: png(1, 1, zeros(1 << 30))),
    "a compressed text of a gigabyte": (
        "e.png",
        lambda: png(1, 1, zlib.compress(b"\0\1\2\3"), (b"zTXt", b"k\0\0" + zeros(1 << 30))),
    ),
    "a GIF of huge dimensions": ("f.gif", lambda: b"GIF89a" + b"\xff" * 4 + b"\0\0\0;"),
    "a notebook of many levels": ("g.ipynb", lambda: nested(100_000)),
    "a notebook of many lists": ("h.ipynb", lambda: b'{"cells": [' + b"[]," * 5_000_000 + b"[]]}"),
    "a notebook of many lines": (
        "i.ipynb",
        lambda: b'{"cells": [{"source": "' + b"\\n" * 7_000_000 + b'"}]}',
    ),
    "JSON of many levels": ("j.json", lambda: nested(100_000)),
    "JSON of many lists": ("k.json", lambda: b"[" + b"[]," * 5_000_000 + b"[]]"),
    "JSON with a long number": ("l.json", lambda: b"[" + b"1" * 1_000_000 + b"]"),
    "a CSV with one huge field": ("m.csv", lambda: b'"' + b"x" * 10_000_000 + b'"\n'),
    "a CSV of empty fields": ("n.csv", lambda: b"," * 16_000_000),
    "a Parquet file of nothing": (
        "o.parquet",
        lambda: b"PAR1" + b"\xff" * 1000 + struct.pack("<I", 1000) + b"PAR1",
    ),
    "UTF-16 of many characters": ("p.txt", lambda: b"\xff\xfe" + b"a\0" * 8_000_000),
    "UTF-16 of half characters": ("q.txt", lambda: b"\xff\xfe" + b"\0\xd8" * 8_000_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_grows_when_it_is_opened_takes_no_more_than_is_given_to_it(root, name) -> None:
    path, make = BOMBS[name]
    (root / path).write_bytes(make())
    answers = limited(root, ("read", {"path": path}), ("grep", {"pattern": "nothing", "path": path}))
    assert answers[0].startswith(f'# "{path}": ')


@pytest.mark.slow
def test_a_parquet_file_that_grows_when_it_is_read_takes_no_more_than_is_given_to_it(root) -> None:
    import pyarrow
    import pyarrow.parquet

    one = pyarrow.array(["x" * 50_000_000])
    table = pyarrow.table({"a": pyarrow.concat_arrays([one] * 20)})
    pyarrow.parquet.write_table(table, root / "large.parquet", compression="zstd")
    assert (root / "large.parquet").stat().st_size < 60_000_000
    [answer] = limited(root, ("read", {"path": "large.parquet"}))
    assert answer.startswith('# "large.parquet": a Parquet file')
    assert "nothing of it is shown" in answer


def test_a_child_that_parses_is_gone_when_its_answer_is_there(tools, root) -> None:
    (root / "a.txt").write_text("a" * 50_000 + "!\n")
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    if not children.exists():
        pytest.skip("the kernel does not say which children there are")
    before = children.read_text()
    tools.grep("(a+)+$")
    assert children.read_text() == before


def test_what_a_stranger_s_folder_holds_is_not_imported(root, tmp_path, monkeypatch) -> None:
    for name in ("json", "re", "csv", "PIL", "pyarrow"):
        (tmp_path / f"{name}.py").write_text("open('/proc/self/cwd/ran', 'w')\nraise SystemExit(9)\n")
    (root / "n.ipynb").write_text(json.dumps({"cells": []}))
    (root / "a.png").write_bytes(png(1, 1, zlib.compress(b"\0\1\2\3")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    tools = WorkspaceTools(root)
    assert tools.read("a.png").image is not None
    assert "1–1 of 1 in 1 file" in tools.grep("1", path="data").text
    assert not (tmp_path / "ran").exists()


def test_a_working_directory_that_was_removed_is_no_reason_to_fail(root, tmp_path, monkeypatch) -> None:
    (root / "a.png").write_bytes(png(1, 1, zlib.compress(b"\0\1\2\3")))
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert WorkspaceTools(root).read("a.png").image is not None


def test_the_child_that_parses_is_not_given_the_environment(tools, root, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_KEY", CANARY)
    (root / "a.txt").write_text("a" * 50_000 + "!\n")
    seen: list[bytes] = []
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    if not children.exists():
        pytest.skip("the kernel does not say which children there are")
    before, done = set(children.read_text().split()), threading.Event()

    def watch() -> None:
        while not done.is_set():
            for child in set(children.read_text().split()) - before:
                with contextlib.suppress(OSError):
                    if b"tools/parser.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                        seen.append(Path(f"/proc/{child}/environ").read_bytes())

    watching = threading.Thread(target=watch)
    watching.start()
    tools.grep("(a+)+$")
    done.set()
    watching.join()
    assert seen
    assert not any(CANARY.encode() in environment for environment in seen)
