"""How a state file is read: its version first, each fault with its place, unknown fields kept."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscirub.errors import CorruptError, NewerVersionError
from autoscirub.models import RunManifest
from autoscirub.store.state import StateStore, decode, json_path, model_faults

NAME = RunManifest.file_name


# --- versions

VERSIONS_READ = ["1.0", "0.9", "0.0", "01.00"]
VERSIONS_NEWER = ["1.1", "2.0", "10.0", "1.10", "999999.0"]
VERSIONS_NONE = [
    1,
    1.0,
    None,
    True,
    [],
    {},
    "",
    "1",
    "1.0.0",
    "v1.0",
    "1.x",
    " 1.0",
    "1.0\n",
    "١.٠",
    "9999999.0",
]


@pytest.mark.parametrize("version", VERSIONS_READ)
def test_a_version_up_to_ours_is_read(version: str) -> None:
    assert (
        decode(json.dumps({"schema_version": version}).encode(), RunManifest, "x").schema_version == version
    )


def test_a_file_without_a_version_is_read_as_ours() -> None:
    assert decode(b"{}", RunManifest, "x").schema_version == "1.0"


@pytest.mark.parametrize("version", VERSIONS_NEWER)
@pytest.mark.parametrize(
    "rest", [{}, {"locks": "not what it should be"}, {"locks": {"predictions": 1}, "new": []}]
)
def test_a_newer_version_is_refused_before_anything_else_is_looked_at(
    version: str, rest: dict[str, Any]
) -> None:
    with pytest.raises(NewerVersionError) as caught:
        decode(json.dumps({**rest, "schema_version": version}).encode(), RunManifest, "x")
    assert str(caught.value) == (
        f"x: schema_version {version} is newer than 1.0, which this autoscirub reads; "
        "install a newer autoscirub. Nothing was changed"
    )


@pytest.mark.parametrize("version", VERSIONS_NONE)
def test_what_is_no_version_is_a_corrupt_file(version: Any) -> None:
    with pytest.raises(CorruptError, match=r"^x: \$\.schema_version: .*expected text such as '1\.0'$"):
        decode(json.dumps({"schema_version": version}).encode(), RunManifest, "x")


def test_nothing_is_changed_where_a_file_is_newer(
    tmp_path: Path, tree: Callable[[Path], dict[str, Any]]
) -> None:
    state = tmp_path / "state"
    store = StateStore(state)
    with store.writing():
        store.write_bytes(NAME, b'{"schema_version": "2.0", "locks": 7}')
    (state / ".lock").unlink()
    before = {name: seen for name, seen in tree(state).items() if name != "."}
    for act in (
        lambda: store.read(RunManifest),
        lambda: store.update(RunManifest, lambda old: old),
        lambda: _read_inside(store),
    ):
        with pytest.raises(NewerVersionError):
            act()
    (state / ".lock").unlink()
    assert {name: seen for name, seen in tree(state).items() if name != "."} == before
    assert store.notices == []


def _read_inside(store: StateStore) -> None:
    with store.writing():
        store.read(RunManifest)


# --- faults with their places

FAULTY = [
    (b"", "x: is empty"),
    (b'{"a": 1', "x: is cut off: the document does not end (line 1)"),
    (b'{\n"a": 1,\n"a": 2}', "x: the key 'a' appears twice in one object (line 3)"),
    (b'{"schema_version": "1.0", "schema_version": "9.0"}', "'schema_version' appears twice"),
    (b'{"history_id": NaN}', "the token NaN is not JSON (line 1)"),
    (b"[]", "x: $ (line 1): []: input should be an object"),
    (b"null", "x: $ (line 1): None: input should be an object"),
    (b'"text"', "x: $ (line 1): 'text': input should be an object"),
    (b'{\n"history_id":\n"short"}', "x: $.history_id (line 3): 'short': string should match pattern"),
    (b'{\n"locks": {\n"predictions": []}}', "x: $.locks.predictions (line 3): []: input should be an object"),
    (b'{\n"unfreezes": [\n{}]}', "x: $.unfreezes[0].what (line 3): field required"),
    (b'{"created_at": "2026-01-31T09:00:00"}', "has no time zone; write UTC"),
    (b'{"created_at": "soon"}', "x: $.created_at (line 1): invalid isoformat string: 'soon'"),
    (b'{"locks": ' + b"[" * 199 + b"]" * 199 + b"}", "x: "),
    (b'{"history_id": "' + b"x" * 9999 + b'"}', "...: string should match pattern"),
]


@pytest.mark.parametrize(("data", "problem"), FAULTY)
def test_a_corrupt_file_says_what_is_wrong_at_which_path_and_line(data: bytes, problem: str) -> None:
    with pytest.raises(CorruptError) as caught:
        decode(data, RunManifest, "x")
    assert problem in str(caught.value)
    assert all(len(line) < 250 for line in str(caught.value).splitlines())


def test_every_fault_is_listed_with_its_own_line_up_to_twenty() -> None:
    data = json.dumps({"unfreezes": [{"bad": number} for number in range(100)]}, indent=1).encode()
    faults, value = model_faults(data, RunManifest, "x")
    assert value is None
    assert len(faults) == 21
    assert faults[0] == "x: $.unfreezes[0].what (line 3): field required"
    assert faults[-1].endswith(" more faults")


def test_a_mark_before_the_text_is_read_as_if_it_were_not_there() -> None:
    text = json.dumps({"history_id": "0" * 32}).encode()
    assert decode(b"\xef\xbb\xbf" + text, RunManifest, "x").history_id == "0" * 32
    faults, _ = model_faults(b'\xef\xbb\xbf{\r\n"locks": 1}', RunManifest, "x")
    assert faults == ["x: $.locks (line 2): 1: input should be an object"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("a", 0, "b_2"), "$.a[0].b_2"),
        (("a b", "", "ü", "x.y"), "$['a b'][''].ü['x.y']"),
    ],
)
def test_a_path_is_written_as_people_write_it(path: tuple[str | int, ...], text: str) -> None:
    assert json_path(path) == text


# --- unknown fields

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ODD_KEYS = [
    "",
    "_private",
    "__class__",
    "model_dump",
    "model_config",
    "copy",
    "file_name",
    "x.y",
    "1",
    "self",
]
EXTRAS = st.dictionaries(st.sampled_from(ODD_KEYS) | st.text().map("x_{}".format), JSON, max_size=3)
DIGEST = "0" * 64


@settings(max_examples=40, deadline=None)
@given(EXTRAS, EXTRAS, EXTRAS, EXTRAS)
def test_unknown_fields_survive_an_update_at_every_level(
    top: dict[str, Any], locks: dict[str, Any], lock: dict[str, Any], item: dict[str, Any]
) -> None:
    written = {
        "schema_version": "1.0",
        "locks": {
            "predictions": {
                "path": "prereg.toml",
                "sha256": DIGEST,
                "frozen_at": "2026-01-31T09:00:00Z",
                "checks": ["a"],
                "results_at_freeze": [{"path": "results.json", "sha256": DIGEST, "size": 3, **item}],
                **lock,
            },
            **locks,
        },
        **top,
    }
    with tempfile.TemporaryDirectory() as folder:
        store = StateStore(Path(folder))
        with store.writing():
            store.write_bytes(NAME, json.dumps(written).encode())
        for number in range(2):  # a second time on our own text
            store.update(RunManifest, lambda old, n=number: old.model_copy(update={"history_id": f"{n:032}"}))
        found = json.loads(store.read_bytes(NAME) or b"")
    assert found.pop("history_id") == f"{1:032}"
    assert _within(written, found)


def _within(written: Any, found: Any) -> bool:
    """Whether all that was written is found, where defaults may have been added; 1 is not 1.0 here."""
    if isinstance(written, dict) and isinstance(found, dict):
        return all(key in found and _within(part, found[key]) for key, part in written.items())
    if isinstance(written, list) and isinstance(found, list):
        return len(written) == len(found) and all(map(_within, written, found))
    return json.dumps(written) == json.dumps(found)
