"""Memory shared with numpy and with buffers: who sees which write, and who keeps whom alive, how
long.
"""

from __future__ import annotations

import array as pyarray
import gc
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import internals as torch
from internals.construction import tensor_numpy as interop
from internals.core.allocator import drop_reference
from internals.core.cpu_allocator import caching_allocator
from tests.answers import answer
from tests.support import examples
from tests.tensor.interop_support import NAMES, an_array, strided_arrays

# from_numpy


@pytest.mark.parametrize("name", NAMES)
def test_from_numpy_shares_the_memory_both_ways(name: str) -> None:
    a = an_array(name)
    t = torch.from_numpy(a)
    assert t.dtype.name == name and t.data_ptr() == a.ctypes.data
    a[0, 0] = 1
    assert t[0, 0].item() == 1
    t.zero_()
    assert not a.any()


@given(strided_arrays())
@examples(60)
def test_from_numpy_keeps_shape_and_strides(a: Any) -> None:
    t = torch.from_numpy(a)
    assert tuple(t.shape) == a.shape
    assert tuple(s * a.itemsize for s in t.stride()) == a.strides
    assert t.storage_offset() == 0
    reach = sum((n - 1) * s for n, s in zip(a.shape, a.strides)) + a.itemsize if a.size else 0
    assert t.untyped_storage().nbytes() == reach


def test_from_numpy_holds_exactly_one_reference_until_the_last_view_goes() -> None:
    a = an_array()
    before = sys.getrefcount(a)
    t = torch.from_numpy(a)
    assert sys.getrefcount(a) == before + 1
    view, row, other = t.t(), t[1], torch.from_numpy(a)
    assert sys.getrefcount(a) == before + 2
    del t, other
    assert sys.getrefcount(a) == before + 1
    del view
    assert sys.getrefcount(a) == before + 1
    del row
    assert sys.getrefcount(a) == before


def test_from_numpy_outlives_the_name_of_the_array() -> None:
    class Watched(np.ndarray):
        pass

    a = np.arange(4.0).view(Watched)
    alive = weakref.ref(a)
    t = torch.from_numpy(a)[1:]
    del a
    gc.collect()
    assert alive() is not None and t.tolist() == [1.0, 2.0, 3.0]
    del t
    assert alive() is None


def test_from_numpy_memory_is_borrowed() -> None:
    a = an_array()
    storage = torch.from_numpy(a).untyped_storage()
    data = storage.data_ptr_object
    assert storage.allocator is None and not storage.resizable()
    assert data.context is a and data.deleter is drop_reference and data.pointer == a.ctypes.data


def test_from_numpy_costs_no_memory_of_ours() -> None:
    before = caching_allocator.stats.bytes
    t = torch.from_numpy(np.zeros(100_000))
    assert caching_allocator.stats.bytes == before
    del t


def test_from_numpy_warns_once_about_read_only_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interop, "_warned", set())
    a = an_array()
    a.flags.writeable = False
    with pytest.warns(
        UserWarning, match="The given NumPy array is not writable, and PyTorch does not support"
    ):
        torch.from_numpy(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.from_numpy(a)
        torch.tensor(a)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: [1], TypeError, r"expected np.ndarray \(got list\)"),
        (
            lambda: np.zeros(3)[::-1],
            ValueError,
            "At least one stride in the given numpy array is negative",
        ),
        (
            lambda: np.zeros(3, "f4,i1")["f0"],
            ValueError,
            "strides not a multiple of the element byte size",
        ),
        (lambda: np.zeros(3, ">f8"), ValueError, "byte order different from the native byte order"),
        (
            lambda: np.array(["a"]),
            TypeError,
            "can't convert np.ndarray of type numpy.str_. The only supported types are: float64",
        ),
    ],
)
def test_from_numpy_refuses(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.from_numpy(make())


# numpy()


@pytest.mark.parametrize("name", NAMES)
def test_numpy_shares_the_memory_both_ways(name: str) -> None:
    t = torch.zeros(2, 3, dtype=getattr(torch, name))
    a = t.numpy()
    assert a.dtype == name and a.ctypes.data == t.data_ptr() and a.flags.writeable
    a[0, 1] = 1
    assert t[0, 1].item() == 1
    t.fill_(1)
    assert a.all()


def test_numpy_keeps_strides_and_offset() -> None:
    t = torch.arange(24).view(2, 3, 4)[1, :, ::2].t()
    a = t.numpy()
    assert a.strides == (16, 32) and a.tolist() == t.tolist()
    assert torch.zeros(0, 3).numpy().shape == (0, 3) and torch.tensor(5).numpy() == 5


def test_numpy_keeps_the_storage_alive_and_unmoved() -> None:
    t = torch.arange(1000.0)
    storage = weakref.ref(t.untyped_storage())
    a = t[10:].numpy()[1:]
    del t
    churn = [torch.full((1000,), 7.0) for _ in range(10)]
    assert storage() is not None and a[0] == 11.0
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        storage().resize_(100_000)  # type: ignore[union-attr]
    del a, churn
    assert storage() is None


def test_numpy_never_hands_out_the_header_that_the_cache_keeps() -> None:
    t = torch.zeros(4)
    a = t.numpy()
    del t
    other = torch.ones(4)
    assert a.tolist() == [0.0] * 4 and other.tolist() == [1.0] * 4


def test_a_round_trip_ends_where_it_began() -> None:
    a = an_array()
    assert torch.from_numpy(a).numpy().ctypes.data == a.ctypes.data
    t = torch.ones(3)
    assert torch.from_numpy(t.numpy()).data_ptr() == t.data_ptr()


def test_numpy_functions_take_tensors_and_give_tensors() -> None:
    t = torch.tensor([0.0, 1.0])
    assert np.asarray(t).ctypes.data == t.data_ptr()
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert (
        isinstance(np.exp(t), torch.Tensor)
        and np.exp(t).tolist() == np.exp(np.float32([0, 1])).tolist()
    )
    assert (t + np.ones(2)).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        np.ones(2) * t


def test_numpy_refuses_what_it_would_break() -> None:
    t = torch.ones(2, requires_grad=True)
    message = (
        r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) "
        r"instead."
    )
    for call in (t.numpy, lambda: np.asarray(t)):
        with pytest.raises(RuntimeError, match=message):
            call()
    assert t.numpy(force=True).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        torch.empty(2, device="meta").numpy()


# Buffers


def test_frombuffer_shares_and_keeps_the_buffer() -> None:
    buffer = bytearray(16)
    t = torch.frombuffer(buffer, dtype=torch.int32, offset=4, count=2)
    t[0] = 258
    assert buffer[4:6] == b"\x02\x01"
    with pytest.raises(BufferError):
        buffer.extend(b"1")  # the tensor holds an export of the buffer
    del t
    buffer.extend(b"1")


def test_frombuffer_takes_any_buffer_and_warns_about_constant_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interop, "_warned", set())
    assert torch.frombuffer(pyarray.array("d", [1.0, 2.0]), dtype=torch.float64).tolist() == [
        1.0,
        2.0,
    ]
    assert torch.frombuffer(memoryview(bytearray(b"abcd"))[1:], dtype=torch.uint8).tolist() == [
        98,
        99,
        100,
    ]
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        assert torch.frombuffer(b"\x01\x02", dtype=torch.int16).tolist() == [513]


def test_frombuffer_looks_at_the_very_bytes_and_needs_no_alignment() -> None:
    message: Any = np.arange(21, dtype=np.uint8)
    t = torch.frombuffer(memoryview(message)[1:], dtype=torch.float32, offset=2, count=4)
    assert t.data_ptr() == message.ctypes.data + 3 and t.untyped_storage().allocator is None
    assert t.tolist() == np.frombuffer(message.tobytes(), np.float32, 4, 3).tolist()
    ref = weakref.ref(message)
    del message
    assert ref() is not None
    del t
    assert ref() is None


FROMBUFFER_ERRORS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "dtype None",
        {"dtype": None},
        TypeError,
        "argument 'dtype' must be internals.dtype, not NoneType",
    ),
    (
        "numpy dtype",
        {"dtype": np.float32},
        TypeError,
        "argument 'dtype' must be internals.dtype, not type",
    ),
    ("count float", {"count": 2.0}, TypeError, "argument 'count' must be int, not float"),
    ("count bool", {"count": True}, TypeError, "argument 'count' must be int, not bool"),
    ("offset float", {"offset": 2.0}, TypeError, "argument 'offset' must be int, not float"),
    (
        "count 0",
        {"count": 0},
        ValueError,
        r"both buffer length \(32\) and count \(0\) must not be 0",
    ),
    (
        "count",
        {"count": 9},
        ValueError,
        r"requested buffer length \(9 \* 4 bytes\) after offset \(0 bytes\)",
    ),
    (
        "offset",
        {"offset": 33},
        ValueError,
        r"offset \(33 bytes\) must be non-negative and no greater than buffer length",
    ),
    (
        "rest",
        {"offset": 3},
        ValueError,
        r"buffer length \(29 bytes\) after offset \(3 bytes\) must be a multiple",
    ),
    ("no buffer", {"buffer": 3}, ValueError, "object does not implement Python buffer protocol."),
    (
        "gaps",
        {"buffer": memoryview(bytearray(64))[::2]},
        RuntimeError,
        "could not retrieve buffer from object",
    ),
    (
        "transposed",
        {"buffer": np.zeros((2, 3)).T},
        RuntimeError,
        "could not retrieve buffer from object",
    ),
    (
        "gradient",
        {"requires_grad": True},
        RuntimeError,
        "Only Tensors of floating point and complex dtype can require",
    ),
]


@pytest.mark.parametrize("case", FROMBUFFER_ERRORS, ids=lambda case: case[0])
def test_frombuffer_refuses_what_pytorch_refuses(case: Any) -> None:
    _, changes, kind, message = case
    arguments = {"buffer": bytearray(32), "dtype": torch.int32, **changes}
    with pytest.raises(kind, match=message):
        torch.frombuffer(**arguments)

    def ask(real: Any) -> Any:
        there = (
            {**arguments, "dtype": real.int32} if arguments["dtype"] is torch.int32 else arguments
        )
        return real.frombuffer(**there)

    with pytest.raises(kind, match=message.replace("internals", "torch")):
        answer(ask, family="programs")


def test_a_tensor_gives_a_buffer_through_numpy() -> None:
    t = torch.tensor([1, 2], dtype=torch.int16)
    view = memoryview(t.numpy())
    view[0] = 5
    assert t.tolist() == [5, 2] and view.format == "h"
