"""Arguments of kernels as records: what their slots are, and that nothing changes places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from internals.machine_code import kernel, template
from internals.machine_code.compile import description
from internals.machine_code.llvm import CompileError
from internals.machine_code.records import Pointer, Values, filled, flat, signature_of

T = template("T")


class Place(NamedTuple):
    address: Pointer
    row: int


class Move(NamedTuple):
    source: Place
    rows: int
    factor: float
    target: Place


def test_a_record_is_its_slots_in_order() -> None:
    move = Move(Place(4096, 32), 7, 0.5, Place(8192, 16))
    assert signature_of(Move) == "*f4 i8 i8 f8 *f4 i8"
    assert tuple(flat(move)) == (4096, 32, 7, 0.5, 8192, 16)
    assert filled(Move, flat(move)) == move


class Line(NamedTuple):
    slope: int
    start: int


class Lines(NamedTuple):
    scale: float
    line: Line


@kernel
def points(begin: int, end: int, out: Values, lines: Lines, shift: int) -> None:
    for x in range(begin, end):
        out[x] = T(lines.scale * (lines.line.slope * x + lines.line.start) + shift)


def test_a_kernel_takes_records_apart_by_itself() -> None:
    assert signature_of(points.function) == "*T f8 i8 i8 i8"
    entry = points.bind(T=np.float32).entry("*f4 f8 i8 i8 i8")
    compiled, plain = np.empty(4, np.float32), np.empty(4, np.float32)
    arguments = Lines(0.5, Line(3, 1)), 7
    entry(0, 4, compiled.ctypes.data, *flat(arguments))
    points.bind(T=np.float32)(0, 4, plain, *arguments)
    assert compiled.tolist() == plain.tolist() == [7.5, 9, 10.5, 12]


def test_a_signature_names_every_pointer() -> None:
    with pytest.raises(CompileError, match=r"^points takes 1 pointers, and '\*f4 \*f4' names 2$"):
        points.bind(T=np.float32).entry("*f4 *f4")
    assert points.bind(T=np.float32).entry("*f4").signature == "*f4 f8 i8 i8 i8"


def test_code_of_another_record_is_another_one() -> None:
    """What is kept on disk goes by this text: fields that change places change the code."""

    def made(first: str) -> Any:
        record: Any = NamedTuple("record", [(n, int) for n in (first, "ab".replace(first, ""))])

        def f(begin: int, end: int, out: Values, r: Any) -> None:
            out[0] = r.a - r.b

        f.__annotations__["r"] = record
        return description(kernel(f))

    assert made("a") == made("a") != made("b")
