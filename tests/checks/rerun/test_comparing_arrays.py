"""How arrays of NumPy compare, and that no file of them ends a rerun."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from autoscirub.checks.rerun.comparison import compare_file
from autoscirub.checks.rerun.pairs import Tolerance, Unclear, ValueComparison, ValueStatus

TOLERANCE = Tolerance(rtol=1e-6, atol=1e-9)


def _npy(array: Any) -> bytes:
    numpy = pytest.importorskip("numpy")
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def test_arrays_are_compared_by_element() -> None:
    numpy = pytest.importorskip("numpy")
    old = numpy.array([[1.0, numpy.nan], [numpy.inf, 4.0]])
    for change, status in ((1e-8, ValueStatus.WITHIN_TOLERANCE), (1.0, ValueStatus.MOVED)):
        new = old.copy()
        new[1, 1] += change
        [found] = compare_file("a.npy", _npy(old), _npy(new), TOLERANCE)
        assert isinstance(found, ValueComparison)
        assert found.status is status
    assert found.key == "[1, 1]"
    assert (found.before, found.after) == (4.0, 5.0)


def test_an_infinity_that_became_finite_moved() -> None:
    numpy = pytest.importorskip("numpy")
    [found] = compare_file("a.npy", _npy(numpy.array([numpy.inf])), _npy(numpy.array([1.0])), TOLERANCE)
    assert isinstance(found, ValueComparison)
    assert found.status is ValueStatus.MOVED


def test_archives_of_arrays_are_compared_by_name_and_pickles_never_opened() -> None:
    numpy = pytest.importorskip("numpy")
    files = []
    for arrays in ({"a": numpy.arange(3), "b": numpy.ones(2)}, {"a": numpy.arange(3), "c": numpy.ones(2)}):
        file = io.BytesIO()
        numpy.savez(file, **arrays)
        files.append(file.getvalue())
    found = {
        one.key: one.status
        for one in compare_file("a.npz", *files, TOLERANCE)
        if isinstance(one, ValueComparison)
    }
    assert found == {"a": ValueStatus.EQUAL, "b": ValueStatus.MISSING, "c": ValueStatus.NEW}
    pickled = io.BytesIO()
    numpy.save(pickled, numpy.array([{"x": 1}], dtype=object), allow_pickle=True)
    [unclear] = compare_file("a.npy", _npy(numpy.ones(1)), pickled.getvalue(), TOLERANCE)
    assert isinstance(unclear, Unclear)


def _one(old: Any, new: Any) -> list[tuple[str | None, ValueStatus]]:
    found = list(compare_file("a.npy", _npy(old), _npy(new), TOLERANCE))
    return [(one.key, one.status) for one in found if isinstance(one, ValueComparison)]


def test_a_date_that_is_not_there_equals_itself_and_no_date() -> None:
    numpy = pytest.importorskip("numpy")
    old = numpy.array(["NaT", "2020-01-01"], dtype="M8[D]")
    assert _one(old, numpy.array(["NaT", "2020-01-01"], dtype=">M8[D]")) == [(None, ValueStatus.EQUAL)]
    assert _one(old, numpy.array(["NaT", "2020-01-02"], dtype="M8[D]")) == [("[1]", ValueStatus.MOVED)]
    assert _one(old, old[::-1]) == [("[0]", ValueStatus.MOVED), ("[1]", ValueStatus.MOVED)]


@pytest.mark.parametrize(
    ("before", "after"), [("M8[D]", "M8[s]"), ("m8[s]", "m8[ms]"), ("m8[Y]", "m8[D]"), ("M8[Y]", "M8[as]")]
)
def test_dates_in_other_units_are_unclear(before: str, after: str) -> None:
    numpy = pytest.importorskip("numpy")
    [found] = compare_file(
        "a.npy", _npy(numpy.array([0], dtype=before)), _npy(numpy.array([0], dtype=after)), TOLERANCE
    )
    assert isinstance(found, Unclear)


RECORD = [("a", "<i4"), ("b", "<f8")]


@pytest.mark.parametrize(
    "changed",
    [
        [("a", "<i4"), ("c", "<f8")],
        [("b", "<i4"), ("a", "<f8")],
        [("a", "<i4"), ("b", "<f4")],
        [("a", "<i4"), ("b", "<f8"), ("c", "<f8")],
        [("a", "<i4"), ("b", [("x", "<f8")])],
        [("a", "<i4"), ("b", "<f8", (2,))],
        "V12",
    ],
)
@pytest.mark.parametrize("length", [0, 2])
def test_records_of_other_fields_moved(changed: Any, length: int) -> None:
    numpy = pytest.importorskip("numpy")
    assert _one(numpy.zeros(length, dtype=RECORD), numpy.zeros(length, dtype=changed)) == [
        (None, ValueStatus.MOVED)
    ]
    assert _one(numpy.zeros(2, dtype="V2"), numpy.zeros(2, dtype="V3")) == [(None, ValueStatus.MOVED)]


def test_records_are_compared_field_by_field() -> None:
    numpy = pytest.importorskip("numpy")
    old = numpy.array([(1, numpy.nan), (2, 1.0)], dtype=RECORD)
    new = numpy.array([(1, numpy.nan), (3, 1.0 + 1e-8)], dtype=RECORD)
    assert _one(old, new) == [(".a[1]", ValueStatus.MOVED), (".b", ValueStatus.WITHIN_TOLERANCE)]


def test_a_complex_number_of_which_another_part_is_nan_moved() -> None:
    numpy = pytest.importorskip("numpy")
    old, new = (numpy.array([complex(*parts), 1]) for parts in ((numpy.nan, 1), (1, numpy.nan)))
    assert _one(old, new) == [("[0]", ValueStatus.MOVED)]


def _npz(*members: tuple[str, bytes], packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode().ljust(117) + b"\n"


def _broken(numpy: Any) -> dict[str, bytes]:
    whole = _npz(("a.npy", _npy(numpy.arange(1000))))
    central = whole.rindex(b"PK\1\2")
    return {
        "packed data that is broken": whole[:300] + b"\xff" * 40 + whole[340:],
        "a password": whole[:6] + b"\1" + whole[7 : central + 8] + b"\1" + whole[central + 9 :],
        "a way of packing that is not known": whole[:8] + b"\x63" + whole[9 : central + 10] + b"\x63"
        + whole[central + 11 :],
        "patched data": whole[:6] + b"\x20" + whole[7 : central + 8] + b"\x20" + whole[central + 9 :],
        "a member that is no array": _npz(("a.npy", b"hello"), ("b.txt", b"hello")),
        "a text as a member": _npz(("b.txt", b"hello, and some more of it")),
        "two arrays, and one is read": _npy(numpy.arange(3)) + _npy(numpy.arange(2)),
        "a header that does not end": _header("(" * 100),
        "a header that is no Python": _header("{'descr': 'f8,f8,,', 'fortran_order': False, 'shape': (3,), }"),
        "a key that is a list": _header("{[]: 1, 'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"),
        "a length beyond any": _header(
            "{'descr': '<i8', 'fortran_order': False, 'shape': (9999999999999999999999,), }"
        ),
        "elements of no bytes": _header(
            "{'descr': '<U0', 'fortran_order': False, 'shape': (300000000000,), }"
        ),
    }  # fmt: skip


@pytest.mark.parametrize("before", [True, False])
def test_arrays_that_cannot_be_read_are_unclear_and_end_nothing(before: bool) -> None:
    numpy = pytest.importorskip("numpy")
    whole = _npy(numpy.arange(3))
    for name, data in _broken(numpy).items():
        for path in ("a.npz", "a.npy"):
            [found] = compare_file(path, *((data, whole) if before else (whole, data)), TOLERANCE)
            assert isinstance(found, Unclear), name


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", [("a.npy", "a.npy"), ("a", "a.npy")])
def test_an_archive_that_holds_a_name_twice_is_unclear(names: tuple[str, str]) -> None:
    numpy = pytest.importorskip("numpy")
    last = (names[1], _npy(numpy.arange(3)))
    files = [_npz((names[0], _npy(numpy.arange(n))), last) for n in (3, 4)]
    [found] = compare_file("a.npz", *files, TOLERANCE)
    assert isinstance(found, Unclear)


@pytest.mark.parametrize("flipped", [0x01, 0x08, 0xFF])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_byte_that_is_another_one_ends_a_rerun(flipped: int) -> None:
    numpy = pytest.importorskip("numpy")
    for path, data in (("a.npy", _npy(numpy.arange(5.0))), ("a.npz", _npz(("a.npy", _npy(numpy.arange(9)))))):
        for at in range(len(data)):
            other = bytearray(data)
            other[at] ^= flipped
            list(compare_file(path, data, bytes(other), TOLERANCE))
