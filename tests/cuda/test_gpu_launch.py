"""A kernel's parameters lie in memory where its machine code looks for them."""

from __future__ import annotations

import re
import struct
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import internals
from internals.cuda import gpu_launch
from internals.cuda.device_array import DeviceArray
from internals.cuda.language import kernel
from internals.cuda.ptx import PtxUnavailable, ptx

Window = namedtuple("Window", "size stride")
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}


@kernel
def everything(a, b, c, half, flag, byte, window, pair, number, none):  # type: ignore[no-untyped-def]
    a[0] = half
    b[0, 0] = number


ARGUMENTS = (
    DeviceArray(0x7000, (6,), (1,), internals.float16),
    DeviceArray(0x8000, (2, 3), (1, 2), internals.float64),
    DeviceArray(0x9000, (), (), internals.int8),
    np.float16(1.5),
    True,
    np.uint8(200),
    Window((3, 4), np.int32(-2)),
    (np.int16(7), 0.25),
    np.float32(2.5),
    (),
)


@pytest.mark.sampled(1 / 4)
def test_parameters_are_as_the_compiler_lays_them_out() -> None:
    try:
        text = ptx(everything, *ARGUMENTS)
    except PtxUnavailable as error:
        pytest.skip(str(error))
    declared = [SIZES[n] for n in re.findall(r"\.param \.[a-z](\d+)", text.partition("{")[0])]
    codes = "".join(map(gpu_launch._codes, ARGUMENTS))
    assert [struct.calcsize(c) for c in codes] == declared


def test_numbers_are_where_the_driver_is_told() -> None:
    kinds: list[Any] = []
    numbers: list[Any] = []
    gpu_launch._take(ARGUMENTS, kinds, numbers)
    codes = "".join(map(gpu_launch._codes, ARGUMENTS))
    assert len(numbers) == len(codes)
    memory = struct.pack(codes, *numbers)
    found = [
        struct.unpack_from(c, memory, at)[0] for c, at in zip(codes, gpu_launch._offsets(codes))
    ]
    assert found == [
        0, 0, 6, 2, 0x7000, 6, 2,
        0, 0, 6, 8, 0x8000, 2, 3, 8, 16,
        0, 0, 1, 1, 0x9000,
        1.5, True, 200, 3, 4, -2, 7, 0.25, 2.5,
    ]  # fmt: skip


def test_what_a_kernel_is_compiled_for() -> None:
    def kinds(*args: Any) -> list[Any]:
        found: list[Any] = []
        gpu_launch._take(args, found, [])
        return found

    array = ARGUMENTS[0]
    assert isinstance(array, DeviceArray)
    assert kinds(array) == kinds(DeviceArray(1, (9,), (1,), internals.float16, 1))
    assert kinds(array) != kinds(DeviceArray(1, (9,), (2,), internals.float16))
    assert kinds(array) != kinds(DeviceArray(1, (9,), (1,), internals.float32))
    assert kinds((1, 2), 3) != kinds((1, 2, 3)) and kinds((1, 2)) == kinds((5, 6))
    assert kinds(Window(1, 2)) != kinds((1, 2)) and kinds(True) != kinds(1)
