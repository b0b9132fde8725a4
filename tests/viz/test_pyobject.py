"""`viz.pyobject`: what is read from memory is what Python says about the object."""

from __future__ import annotations

import ctypes
import struct
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
import viz
from tests.viz.support import assert_good, same_in_two_processes
from viz.layouts import (
    DECLARATIONS,
    MINORS,
    declaration,
    end_of,
    in_version,
    members,
    portable_declaration,
)
from viz.rooms.pyobject import PyObject

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    pytest.skip("object layouts are known for CPython 3.11 to 3.13", allow_module_level=True)


class Slotted:
    __slots__ = ("a", "b", "__weakref__")


def value(picture: PyObject, name: str) -> str:
    return next(field.value for field in picture.fields if field.name == name)


def test_a_float_is_a_header_and_a_double() -> None:
    x = 3.5 * len(sys.argv[:1])  # not a constant of this function's code
    picture = viz.pyobject(x)
    assert [(f.offset, f.ctype, f.name, f.value) for f in picture.fields] == [
        (0, "Py_ssize_t", "ob_refcnt", "1"),
        (8, "PyTypeObject *", "ob_type", "&float"),
        (16, "double", "ob_fval", "3.5"),
    ]
    assert picture.size == 24 and "PyFloatObject" in picture.declaration
    assert_good(picture)


def test_it_reads_memory_and_does_not_ask_the_object() -> None:
    x = float("1.5")
    ctypes.c_double.from_address(id(x) + 16).value = 2.5
    assert value(viz.pyobject(x), "ob_fval") == "2.5"


def test_references_are_those_of_others() -> None:
    x = [float("1.5")]
    assert value(viz.pyobject(x), "ob_refcnt") == "1"
    y = x
    assert value(viz.pyobject(x), "ob_refcnt") == "2"
    del y
    holder = {"x": x}
    assert value(viz.pyobject(x), "ob_refcnt") == "2" and holder
    picture = viz.pyobject([])
    assert value(picture, "ob_refcnt") == "0: only this call holds it"


def test_immortal_objects() -> None:
    shown = value(viz.pyobject(None), "ob_refcnt")
    assert shown == "immortal" if sys.version_info >= (3, 12) else int(shown) > 100
    assert (
        value(viz.pyobject(None, portable=True), "ob_refcnt") == "shared by the whole interpreter"
    )


@given(st.integers(-(2**100), 2**100))
def test_the_digits_of_an_int(number: int) -> None:
    picture = viz.pyobject(number)
    digits = [int(f.value.split()[0]) for f in picture.fields if f.name.startswith("ob_digit")]
    assert sum(d << 30 * i for i, d in enumerate(digits)) == abs(number)
    head = value(picture, "lv_tag" if sys.version_info >= (3, 12) else "ob_size")
    assert ("negative" in head) == (number < 0) and ("zero" in head) == (number == 0)
    assert picture.size == sys.getsizeof(number)


@given(st.text(max_size=12))
def test_the_characters_of_a_string(text: str) -> None:
    picture = viz.pyobject(text)
    data = picture.fields[-1]
    assert data.name == f"data[{len(text) + 1}]"
    assert data.value == repr(text)[:-1] + "\\0'"
    assert data.offset is not None and data.offset + data.nbytes == picture.size


OBJECTS = {
    "list": [1, "a", None],
    "tuple": (1.5, "b"),
    "dict": {"a": 1},
    "set": {1, 2},
    "frozenset": frozenset({1}),
    "function": test_immortal_objects,
    "bytes": b"abc",
    "bytearray": bytearray(b"xy"),
    "complex": 1 + 2j,
    "type": float,
    "class": Slotted,
    "array": np.ones((2, 3)),
    "module": sys,
    "long list": list(range(100)),
    "long string": "x" * 500,
    "range": range(3),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("portable", [False, True])
def test_any_object_can_be_drawn(name: str, portable: bool) -> None:
    picture = viz.pyobject(OBJECTS[name], portable=portable)
    assert [f.name for f in picture.fields[:2]] == ["ob_refcnt", "ob_type"]
    assert value(picture, "ob_type") == f"&{type(OBJECTS[name]).__name__}"
    ends = [(f.offset, f.nbytes) for f in picture.fields if f.offset is not None]
    assert all(a + n <= b for (a, n), (b, _) in zip(ends, ends[1:]))
    same_everywhere = portable and name != "module" and sys.version_info < (3, 12)
    assert_good(picture, kept=same_everywhere)


def test_what_the_fields_hold() -> None:
    assert value(viz.pyobject(OBJECTS["dict"]), "ma_used") == "1"
    assert value(viz.pyobject(OBJECTS["set"]), "used") == "2"
    assert value(viz.pyobject(OBJECTS["bytearray"]), "ob_size") == "2"
    assert value(viz.pyobject(OBJECTS["tuple"]), "ob_item[0]") == "&float 1.5"
    assert value(viz.pyobject(OBJECTS["function"]), "func_name") == "&str 'test_immortal_objects'"
    assert value(viz.pyobject(OBJECTS["function"]), "func_code") == "&code"
    assert value(viz.pyobject(OBJECTS["complex"]), "cval_imag") == "2.0"
    assert value(viz.pyobject(float), "tp_name") == "&M0: 'float'"
    assert value(viz.pyobject(float), "tp_basicsize") == "24"
    array = viz.pyobject(OBJECTS["array"])
    assert value(array, "nd") == "2" and value(array, "dimensions") == "&M1: 2, 3"
    assert "OWNDATA" in value(array, "flags") and value(array, "base") == "NULL"
    items = viz.pyobject(OBJECTS["list"])
    assert [f.value for f in items.array] == ["&int 1", "&str 'a'", "&None"]
    assert "92 more are hidden" in viz.pyobject(OBJECTS["long list"]).array_note


def test_slots_are_found_through_their_descriptors() -> None:
    s = Slotted()
    s.a = 1.5
    picture = viz.pyobject(s)
    assert value(picture, "a") == "&float 1.5" and value(picture, "b") == "NULL"
    assert "PyObject *a;" in picture.declaration
    offsets = [f.offset for f in picture.fields]
    assert offsets[:4] == [0, 8, 16, 24]


def test_our_tensor_is_its_slots() -> None:
    t = internals.ones(2, 3)
    picture = viz.pyobject(t)
    assert picture.struct == "Tensor" and value(picture, "_storage") == "&Storage"
    assert value(picture, "ob_refcnt") == "1"
    assert_good(picture)


def test_real_addresses_on_request() -> None:
    x = [1]
    picture = viz.pyobject(x, real_addresses=True)
    assert value(picture, "ob_type") == f"{id(list):#x} (&list)"
    assert struct.calcsize("P") == 8


def test_a_class_that_only_has_the_name_of_a_builtin() -> None:
    impostor = type("list", (), {"__slots__": ()})
    assert viz.pyobject(impostor()).struct == "PyObject"


def test_no_code_of_the_object_runs() -> None:
    class Hostile:
        __slots__ = ("self",)

        def __repr__(self) -> str:
            raise AssertionError("repr was called")

        __eq__ = __hash__ = __len__ = __repr__  # type: ignore[assignment]

    h = Hostile()
    h.self = h  # type: ignore[attr-defined]
    assert value(viz.pyobject(h), "self") == "&Hostile"
    assert viz.pyobject([h]).array[0].value == "&Hostile"


def test_other_interpreters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    with pytest.raises(RuntimeError, match="3.11 to 3.13; this is 3.14"):
        viz.pyobject(1.5)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    monkeypatch.setattr(sys, "abiflags", "t")
    with pytest.raises(RuntimeError, match="free-threaded"):
        viz.pyobject(1.5)


@pytest.mark.parametrize("kind", DECLARATIONS)
@pytest.mark.parametrize("minor", MINORS)
def test_declarations_can_be_read(kind: str, minor: int) -> None:
    fields = members(kind, minor)
    assert all(a.offset + a.nbytes <= b.offset for a, b in zip(fields, fields[1:]))
    assert end_of(fields) % 8 == 0
    assert "//" not in declaration(kind, minor)


@pytest.mark.parametrize(
    "kind", ["float", "complex", "list", "dict", "set", "bytearray", "function"]
)
def test_sizes_are_those_of_this_python(kind: str) -> None:
    function = type(test_immortal_objects)
    types = {
        "function": function,
        "float": float,
        "complex": complex,
        "list": list,
        "dict": dict,
        "set": set,
    }
    cls = types.get(kind, bytearray)
    assert end_of(members(kind)) == cls.__basicsize__


def test_versions_of_fields() -> None:
    assert in_version("", 11) and in_version("3.11", 11) and not in_version("3.11", 12)
    assert in_version("3.12+", 13) and not in_version("3.12+", 11)
    assert in_version("3.11-3.12", 12) and not in_version("3.11-3.12", 13)
    assert "lv_tag;  /* 3.12+ */" in portable_declaration("int")


def test_portable_pictures_hide_what_differs() -> None:
    picture = viz.pyobject(300, portable=True)
    assert [f.name for f in picture.fields] == ["ob_refcnt", "ob_type", "ob_digit[0]"]
    assert picture.notes == ["hidden, because it depends on the version of Python: ob_size, lv_tag"]


@pytest.mark.sampled(1 / 4)
def test_same_bytes_in_every_process() -> None:
    program = """
import internals, viz, numpy as np
t = internals.ones(2)
def f(a, b=2): ...
for obj in (t, [1, "a"], {"a": 1}, "hello", f, np.ones(3), float, {1, 2}):
    print(viz.pyobject(obj).html(), viz.pyobject(obj, portable=True))
"""
    assert "&Storage" in same_in_two_processes(program)
