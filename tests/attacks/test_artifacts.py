"""Hostile artifacts: nothing here may block, crash, leave the project, pass, or take memory without bound."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

import autoscirub
from autoscirub.checks.artifacts import check_artifact, check_artifacts, files
from autoscirub.checks.artifacts.formats import FORMATS
from autoscirub.errors import PathRefused
from autoscirub.models import Answer

SERVER = Path(autoscirub.__file__).resolve().parents[1]
NS = b'<svg xmlns="http://www.w3.org/2000/svg">'

# What the check of one small hostile file may take beyond the interpreter and its imports: 100 MB and 4 seconds.
# The child gets five times that, and its imports' address space besides.
CHILD = """
import json, resource, sys
import pypdf, PIL.Image, PIL.PngImagePlugin, PIL.JpegImagePlugin, xml.parsers.expat
from autoscirub.checks.artifacts import check_artifact
from autoscirub.errors import AutoscirubError
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 500_000_000,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
decision = check_artifact(sys.argv[1], sys.argv[2])
print(json.dumps([decision.answer, decision.evidence[0].note, decision.open]))
"""


def in_child(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def limited(project: Path, name: str, data: bytes) -> tuple[str, str, list[str]]:
    """(answer, note, open) of checking `data` in a child with little memory and time."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the limit is set on top of what /proc says is in use")
    (project / name).write_bytes(data)
    ran = in_child(CHILD, str(project), name)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    answer, note, unknown = json.loads(ran.stdout)
    return answer, note or "", unknown


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, pixels: bytes, *extra: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = [chunk(b"IHDR", header), *extra, chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


@cache
def zeros(count: int) -> bytes:
    deflate = zlib.compressobj(1)
    return b"".join(deflate.compress(bytes(1 << 20)) for _ in range(count >> 20)) + deflate.flush()


def jpeg(side: int = 16) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (side, side), 9).save(buffer, "JPEG", progressive=True)
    return buffer.getvalue()


def scans(count: int) -> bytes:
    """A progressive picture of 64 million pixels whose last scan comes again and again."""
    data = jpeg(8000)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * count + data[-2:]


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "huge dimensions": ("a.png", lambda: png(60_000, 60_000, zeros(1 << 20))),
    "dimensions just over the limit": ("s.png", lambda: png(12_000, 10_000, zeros(1 << 20))),
    "largest dimensions": ("b.png", lambda: png(2**31 - 1, 2**31 - 1, zeros(1 << 20))),
    "one small pixel and a gigabyte of pixel data": ("c.png", lambda: png(1, 1, zeros(1 << 30))),
    "a compressed text of a gigabyte": (
        "d.png",
        lambda: png(1, 1, zlib.compress(b"\0\1\2\3"), chunk(b"zTXt", b"k\0\0" + zeros(1 << 30))),
    ),
    "a colour profile of a gigabyte": (
        "e.png",
        lambda: png(1, 1, zlib.compress(b"\0\1\2\3"), chunk(b"iCCP", b"k\0\0" + zeros(1 << 30))),
    ),
    "a chunk that claims two gigabytes": (
        "f.png",
        lambda: b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 2**31 - 1) + b"IHDR",
    ),
    "huge dimensions of a JPEG": (
        "g.jpg",
        lambda: b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\3\1\x22\0\2\x11\1\3\x11\1\xff\xd9",
    ),
    "a thousand scans over many pixels": ("q.jpg", lambda: scans(1000)),
    "half a million empty segments": (
        "r.jpg",
        lambda: b"\xff\xd8" + b"\xff\xe1\0\2" * 500_000 + jpeg()[2:],
    ),
    "billion laughs": (
        "h.svg",
        lambda: (
            b"<!DOCTYPE svg [<!ENTITY a0 'ha'>"
            + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 20))
            + b"]>"
            + NS
            + b"<text>&a19;</text></svg>"
        ),
    ),
    "an entity that reads a file": (
        "i.svg",
        lambda: b"<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" + NS + b"<text>&x;</text></svg>",
    ),
    "a parameter entity": (
        "j.svg",
        lambda: b"<!DOCTYPE svg [<!ENTITY % x SYSTEM 'file:///etc/passwd'> %x;]>" + NS + b"<path/></svg>",
    ),
    "elements a million deep": (
        "k.svg",
        lambda: NS + b"<g>" * 1_000_000 + b"<path/>" + b"</g>" * 1_000_000 + b"</svg>",
    ),
    "a circle of page trees": (
        "l.pdf",
        lambda: (
            b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
            b"2 0 obj\n<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]>>\nendobj\n"
            b"trailer\n<</Root 1 0 R/Size 3>>\nstartxref\n0\n%%EOF\n"
        ),
    ),
    "a cross-reference table that is its own predecessor": (
        "m.pdf",
        lambda: (
            b"%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Prev 9/Size 1>>\nstartxref\n9\n%%EOF\n"
        ),
    ),
    "arrays a hundred thousand deep": (
        "n.pdf",
        lambda: (
            b"%PDF-1.4\n1 0 obj\n"
            + b"[" * 100_000
            + b"\nendobj\ntrailer\n<</Root 1 0 R/Size 2>>\nstartxref\n0\n%%EOF\n"
        ),
    ),
    "lists two million deep": ("o.json", lambda: b"[" * 2_000_000),
    "a quote that swallows the rest": ("p.csv", lambda: b'a,b\n1,"' + b"x,y\n" * 1_000_000),
}
PASSES = {"one small pixel and a gigabyte of pixel data"}
"""Every viewer shows it as one pixel; what is too much in it is not inflated."""


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_grows_is_answered_within_five_times_its_limits(tmp_path: Path, name: str) -> None:
    path, make = BOMBS[name]
    answer, note, unknown = limited(tmp_path, path, make())
    assert (answer == "holds") is (name in PASSES), note
    assert "memory" not in str(unknown)  # a limit of ours, not the child's end
    assert ("pixels are more than are decoded here" in str(unknown)) is ("dimensions" in name)
    for line in (note, *unknown):
        assert line.isprintable()
        assert len(line) < 400


def test_fifos_and_devices_anywhere_are_answered_at_once(tmp_path: Path) -> None:
    """In a child, because a check that opened one the wrong way would wait for ever."""
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "link.png").symlink_to("pipe.png")
    for name in ("zero", "tty", "stdin"):
        (tmp_path / f"{name}.png").symlink_to(f"/dev/{name}")
    script = """
        import sys
        from autoscirub.checks.artifacts import check_artifacts
        names = ["pipe.png", "link.png", "zero.png", "tty.png", "stdin.png"]
        for each in check_artifacts(sys.argv[1], [(name, None) for name in names]):
            print(getattr(each, "word", "refused"))
    """
    ran = in_child(script, str(tmp_path))
    assert ran.stdout.split() == ["failed", "failed", "refused", "refused", "refused"]


def test_a_device_inside_the_project_fails_and_is_named_as_one(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "zero.png", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except (PermissionError, AttributeError):
        pytest.skip("making a device needs a privilege that is not here")
    decision = check_artifact(tmp_path, "zero.png")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert decision.evidence[0].note == "not a file: it is a character device"


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("a.txt", "../secret.txt", "a.txt"),
        ("a.txt", "{outside}/secret.txt", "a.txt"),
        ("d", "..", "d/secret.txt"),
        ("d", "{outside}", "d/secret.txt"),
        ("d", "/", "d/etc/hostname"),
        ("d", "{outside}/none", "d/later.txt"),
        ("a.txt", "/proc/self/fd/0", "a.txt"),
    ],
)
def test_no_link_leads_out_of_the_project(tmp_path: Path, link: str, target: str, path: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "secret.txt").write_text("SECRET")
    (project / link).symlink_to(target.format(outside=tmp_path))
    with pytest.raises(PathRefused, match="leads out of the project"):
        check_artifact(project, path)


def test_a_file_swapped_between_looking_and_opening_is_inconclusive_or_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The swap is made at the worst moment, by going between the two steps; both steps are the real ones."""
    project = tmp_path / "project"
    (project / "d").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("SECRET")
    (project / "d" / "a.txt").write_text("honest")
    really_open = files._open_beneath

    def swapped_first(swap: Callable[[], object]) -> Answer:
        def open_late(root: str, parts: list[str]) -> int:
            swap()
            return really_open(root, parts)

        monkeypatch.setattr(files, "_open_beneath", open_late)
        return check_artifact(project, "d/a.txt").answer

    def for_another() -> None:
        (tmp_path / "other.txt").write_text("other")
        (tmp_path / "other.txt").replace(project / "d" / "a.txt")

    def for_a_link() -> None:
        (project / "d" / "a.txt").unlink()
        (project / "d" / "a.txt").symlink_to("../../secret.txt")

    def for_a_linked_directory() -> None:
        (project / "d").rename(project / "e")
        (tmp_path / "a.txt").write_text("SECRET")
        (project / "d").symlink_to("..")

    assert swapped_first(for_another) is Answer.INCONCLUSIVE
    assert swapped_first(for_a_link) is Answer.DOES_NOT_HOLD
    (project / "d" / "a.txt").unlink()
    (project / "d" / "a.txt").write_text("honest")
    assert swapped_first(for_a_linked_directory) is Answer.DOES_NOT_HOLD


def test_a_neighbour_whose_name_begins_like_the_project_is_outside(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work-2").mkdir()
    (tmp_path / "work-2" / "a.txt").write_text("x")
    (tmp_path / "work" / "a.txt").symlink_to("../work-2/a.txt")
    with pytest.raises(PathRefused):
        check_artifact(tmp_path / "work", "a.txt")


def test_a_hint_never_lists_what_lies_outside(tmp_path: Path) -> None:
    (tmp_path / "SECRET-NAME.txt").write_text("x")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "Up").symlink_to("..")
    decision = check_artifact(tmp_path / "work", "up/secret-name.txt")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert "SECRET" not in decision.model_dump_json()


def test_a_chain_of_two_thousand_links_fails_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "l0").write_text("x")
    for index in range(1, 2001):
        (tmp_path / f"l{index}").symlink_to(f"l{index - 1}")
    decision = check_artifact(tmp_path, "l2000")
    assert decision.answer is Answer.DOES_NOT_HOLD
    assert "following it never ends" in (decision.evidence[0].note or "")


def test_what_may_not_be_read_is_inconclusive(tmp_path: Path) -> None:
    script = """
        import os, sys, tempfile
        from pathlib import Path
        from autoscirub.checks.artifacts import check_artifact
        with tempfile.TemporaryDirectory() as project:
            os.chmod(project, 0o755)
            for path in ("closed/a.txt", "open/a.txt"):
                file = Path(project, path)
                file.parent.mkdir()
                file.write_text("x")
            file.chmod(0)
            Path(project, "closed").chmod(0)
            if os.getuid() == 0:
                os.seteuid(65534)
            for path in ("closed/a.txt", "open/a.txt"):
                decision = check_artifact(project, path)
                print(decision.answer, decision.open, decision.evidence[0].sha256)
            if os.getuid() == 0:
                os.seteuid(0)
            Path(project, "closed").chmod(0o755)
    """
    ran = in_child(script)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "inconclusive ['closed/a.txt: could not be opened: Permission denied'] None",
        "inconclusive ['open/a.txt: could not be opened: Permission denied'] None",
    ]


def test_a_file_name_with_escape_sequences_reaches_no_message_raw(tmp_path: Path) -> None:
    (tmp_path / "\x1b[2J\x1b]0;owned\x07.txt").write_text("x")
    (tmp_path / "a\u202egnp.exe").write_text("x")
    (tmp_path / "link").symlink_to("\x1b[31mnone")
    for path in ("none.txt", "link"):
        note = check_artifact(tmp_path, path).evidence[0].note or ""
        assert note.isprintable()
    assert r"\x1b[2J" in (check_artifact(tmp_path, "none.txt").evidence[0].note or "")


def test_an_undecodable_file_name_beside_it_breaks_no_message(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.txt")).write_text("x")
    except OSError:
        pytest.skip("this filesystem takes UTF-8 names only")
    assert check_artifact(tmp_path, "a.txt").model_dump_json()


def test_the_bytes_of_a_binary_file_are_never_in_a_message(tmp_path: Path) -> None:
    marker = b"SECRETBYTES"
    for suffix in ("png", "jpeg", "svg", "pdf", "csv", "json", "parquet"):
        starts = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8", "pdf": b"%PDF-1.4\n", "parquet": b"PAR1"}
        ends = {"pdf": b"\nstartxref\n9\n%%EOF", "parquet": struct.pack("<I", 11) + b"PAR1"}
        data = starts.get(suffix, b"\xfe") + marker * 3 + ends.get(suffix, b"")
        (tmp_path / f"a.{suffix}").write_bytes(data)
        decision = check_artifact(tmp_path, f"a.{suffix}")
        assert decision.answer is not Answer.HOLDS, suffix
        assert "SECRETBYTES" not in decision.model_dump_json()


def samples() -> dict[str, bytes]:
    picture = Image.effect_noise((24, 16), 80).convert("RGB")
    made: dict[str, bytes] = {
        "svg": b"<?xml version='1.0'?>" + NS + b"<defs/><path d='M0 0'/></svg>",
        "csv": b'a,b\n1,"x"\n2,y\n',
        "json": b'{"a": [1, 2.5, NaN, {"b": "\\u00e9"}]}',
    }
    for name in ("png", "jpeg", "pdf"):
        buffer = io.BytesIO()
        picture.save(buffer, name.upper())
        made[name] = buffer.getvalue()
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return made
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({"a": [1, 2, 3]}), buffer)
    return {**made, "parquet": buffer.getvalue()}


SAMPLES = samples()
WHOLE_OR_NOTHING = {"png", "jpeg", "parquet", "svg", "json"}
"""Formats of which no shorter beginning can hold; a CSV may be cut at a row, a PDF lose its last line break."""

quick = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(st.sampled_from(sorted(SAMPLES)), st.integers(min_value=1, max_value=10_000))
def test_a_file_cut_off_at_any_byte_never_raises_and_never_holds(name: str, size: int) -> None:
    data = SAMPLES[name][: min(size, len(SAMPLES[name]) - 1)]
    found = FORMATS[name].look(io.BytesIO(data), len(data))
    if name in WHOLE_OR_NOTHING or (name == "pdf" and b"%%EOF" not in data):
        assert found.fault is not None


@quick
@given(
    st.sampled_from(sorted(SAMPLES)),
    st.lists(
        st.tuples(st.integers(0, 9_999), st.binary(max_size=4), st.integers(0, 9)), min_size=1, max_size=8
    ),
)
def test_a_damaged_file_never_raises(name: str, edits: list[tuple[int, bytes, int]]) -> None:
    data = bytearray(SAMPLES[name])
    for at, new, dropped in edits:
        at %= len(data) + 1
        data[at : at + dropped] = new
    found = FORMATS[name].look(io.BytesIO(bytes(data)), len(data))
    assert not (found.fault and found.unknown)


STARTS = st.sampled_from(
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"%PDF-1.7\n",
        b"PAR1",
        b"<svg",
        b"<?xml",
        b"{",
        b'"',
        b"\xff\xfe",
    ]
)
ENDS = st.sampled_from([b"", b"startxref\n0\n%%EOF", b"\x04\0\0\0PAR1", b"\xff\xd9", b"}"])


@quick
@example(b"", b"\0", b"")
@given(STARTS, st.binary(max_size=300), ENDS)
def test_random_bytes_under_every_suffix_never_raise(
    tmp_path: Path, start: bytes, middle: bytes, end: bytes
) -> None:
    items = []
    for kind in FORMATS.values():
        for suffix in kind.suffixes:
            (tmp_path / f"a{suffix}").write_bytes(start + middle + end)
            items.append((f"a{suffix}", None))
    for each in check_artifacts(tmp_path, items):
        assert not isinstance(each, PathRefused)
        for line in (each.evidence[0].note or "", *each.open):
            assert line.isprintable()
