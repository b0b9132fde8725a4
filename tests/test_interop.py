"""Memory shared with numpy, with buffers and through DLPack: who sees which write, and who keeps whom alive, how long."""

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
from hypothesis import strategies as st

import internals as torch
from internals import dlpack, interop
from internals.core.allocator import drop_reference
from internals.core.cpu_allocator import caching_allocator
from internals.utils import dlpack as utils_dlpack
from tests.support import DTYPES, examples, oracle

NAMES = [d.name for d in DTYPES]


def an_array(name: str = "float32", shape: tuple[int, ...] = (2, 3)) -> Any:
    return (np.arange(np.prod(shape)).reshape(shape) % 2).astype(name)


@st.composite
def strided_arrays(draw: Any) -> Any:
    """Arrays of every dtype, seen through slices and permutations that PyTorch accepts."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    a = np.zeros([3 * n for n in shape], draw(st.sampled_from(NAMES)))
    index = tuple(slice(draw(st.integers(0, 1)), None, draw(st.integers(1, 3))) for _ in shape)
    return a[(*index, ...)].transpose(draw(st.permutations(range(len(shape)))))


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
    with pytest.warns(UserWarning, match="The given NumPy array is not writable, and PyTorch does not support"):
        torch.from_numpy(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.from_numpy(a)
        torch.tensor(a)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: [1], TypeError, r"expected np.ndarray \(got list\)"),
        (lambda: np.zeros(3)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (lambda: np.zeros(3, "f4,i1")["f0"], ValueError, "strides not a multiple of the element byte size"),
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
    assert isinstance(np.exp(t), torch.Tensor) and np.exp(t).tolist() == np.exp(np.float32([0, 1])).tolist()
    assert (t + np.ones(2)).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        np.ones(2) * t


def test_numpy_refuses_what_it_would_break() -> None:
    t = torch.ones(2, requires_grad=True)
    message = r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead."
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


def test_frombuffer_takes_any_buffer_and_warns_about_constant_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interop, "_warned", set())
    assert torch.frombuffer(pyarray.array("d", [1.0, 2.0]), dtype=torch.float64).tolist() == [1.0, 2.0]
    assert torch.frombuffer(memoryview(bytearray(b"abcd"))[1:], dtype=torch.uint8).tolist() == [98, 99, 100]
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
    ("dtype None", {"dtype": None}, TypeError, "argument 'dtype' must be internals.dtype, not NoneType"),
    ("numpy dtype", {"dtype": np.float32}, TypeError, "argument 'dtype' must be internals.dtype, not type"),
    ("count float", {"count": 2.0}, TypeError, "argument 'count' must be int, not float"),
    ("count bool", {"count": True}, TypeError, "argument 'count' must be int, not bool"),
    ("offset float", {"offset": 2.0}, TypeError, "argument 'offset' must be int, not float"),
    ("count 0", {"count": 0}, ValueError, r"both buffer length \(32\) and count \(0\) must not be 0"),
    ("count", {"count": 9}, ValueError, r"requested buffer length \(9 \* 4 bytes\) after offset \(0 bytes\)"),
    ("offset", {"offset": 33}, ValueError, r"offset \(33 bytes\) must be non-negative and no greater than buffer length"),
    ("rest", {"offset": 3}, ValueError, r"buffer length \(29 bytes\) after offset \(3 bytes\) must be a multiple"),
    ("no buffer", {"buffer": 3}, ValueError, "object does not implement Python buffer protocol."),
    ("gaps", {"buffer": memoryview(bytearray(64))[::2]}, RuntimeError, "could not retrieve buffer from object"),
    ("transposed", {"buffer": np.zeros((2, 3)).T}, RuntimeError, "could not retrieve buffer from object"),
    ("gradient", {"requires_grad": True}, RuntimeError, "Only Tensors of floating point and complex dtype can require"),
]


@pytest.mark.parametrize("case", FROMBUFFER_ERRORS, ids=lambda case: case[0])
def test_frombuffer_refuses_what_pytorch_refuses(case: Any) -> None:
    _, changes, kind, message = case
    arguments = {"buffer": bytearray(32), "dtype": torch.int32, **changes}
    with pytest.raises(kind, match=message):
        torch.frombuffer(**arguments)
    real = pytest.importorskip("torch")
    if arguments["dtype"] is torch.int32:
        arguments["dtype"] = real.int32
    with pytest.raises(kind, match=message.replace("internals", "torch")):
        real.frombuffer(**arguments)


def test_a_tensor_gives_a_buffer_through_numpy() -> None:
    t = torch.tensor([1, 2], dtype=torch.int16)
    view = memoryview(t.numpy())
    view[0] = 5
    assert t.tolist() == [5, 2] and view.format == "h"


# DLPack

VERSIONS = [None, (1, 0), (1, 3)]


@pytest.mark.parametrize("name", NAMES)
def test_numpy_takes_our_memory_through_dlpack(name: str) -> None:
    t = torch.ones(2, 3, dtype=getattr(torch, name)).t()
    a = np.from_dlpack(t)
    assert a.dtype == name and a.shape == (3, 2) and a.ctypes.data == t.data_ptr() and a.tolist() == t.tolist()
    t.zero_()
    assert not a.any()


@pytest.mark.parametrize("name", NAMES)
def test_we_take_numpys_memory_through_dlpack(name: str) -> None:
    a = an_array(name, (3, 4)).T[1:]
    t = torch.from_dlpack(a)
    assert t.dtype.name == name and t.data_ptr() == a.ctypes.data and t.tolist() == a.tolist()
    assert t.untyped_storage().allocator is None and not t.untyped_storage().resizable()
    t.fill_(1)
    assert a.all()


@given(strided_arrays(), st.sampled_from(VERSIONS))
@examples(40)
def test_any_geometry_survives_dlpack(a: Any, version: Any) -> None:
    t = torch.from_numpy(a)
    back = torch.from_dlpack(t.__dlpack__(max_version=version))
    assert back.shape == t.shape and back.dtype is t.dtype and back.data_ptr() == t.data_ptr()
    assert all(s == r for n, s, r in zip(t.shape, t.stride(), back.stride()) if n > 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capsule_owns_the_memory_until_it_dies(version: Any) -> None:
    exported = len(dlpack._exported)
    t = torch.arange(5)
    storage = weakref.ref(t.untyped_storage())
    capsule = t.__dlpack__(max_version=version)
    del t
    assert storage() is not None and len(dlpack._exported) == exported + 1
    del capsule  # never used: its destructor gives the memory back
    assert storage() is None and len(dlpack._exported) == exported


@pytest.mark.parametrize("version", VERSIONS)
def test_whoever_takes_a_capsule_owns_the_memory(version: Any) -> None:
    exported = len(dlpack._exported)
    t = torch.arange(5)
    storage = weakref.ref(t.untyped_storage())
    capsule = t.__dlpack__(max_version=version)
    taken = utils_dlpack.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    with pytest.raises(RuntimeError, match="DLTensor capsules can be consumed only once"):
        torch.from_dlpack(capsule)
    del t, capsule  # a used capsule gives nothing back
    view = taken[2:]
    del taken
    assert storage() is not None and view.tolist() == [2, 3, 4]
    del view
    assert storage() is None and len(dlpack._exported) == exported


def test_numpy_gives_our_memory_back() -> None:
    t = torch.arange(5)
    storage = weakref.ref(t.untyped_storage())
    a = np.from_dlpack(t)
    del t
    churn = torch.zeros(5, dtype=torch.int64)
    assert a.tolist() == [0, 1, 2, 3, 4] and churn.sum().item() == 0
    del a
    assert storage() is None


def test_we_give_numpys_memory_back() -> None:
    a = np.arange(5.0)
    before = sys.getrefcount(a)
    t = torch.from_dlpack(a)
    assert sys.getrefcount(a) > before
    del t
    assert sys.getrefcount(a) == before


def test_dlpack_says_where_the_memory_is_and_what_it_cannot_do() -> None:
    assert tuple(torch.ones(1).__dlpack_device__()) == (1, 0)
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach()"):
        torch.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        torch.ones(1, device="meta").__dlpack__()
    with pytest.raises(BufferError, match="negative"):
        torch.from_dlpack(np.zeros(3)[::-1])
    with pytest.raises(BufferError, match="Unsupported DLPack dtype: code 1, 16 bits"):
        torch.from_dlpack(np.zeros(3, np.uint16))
    with pytest.raises(RuntimeError, match="received an invalid capsule"):
        torch.from_dlpack(3)


def test_dlpack_copies_when_asked() -> None:
    t = torch.ones(2)
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert torch.from_dlpack(t, device="cpu").data_ptr() == t.data_ptr()


@pytest.mark.parametrize("name", NAMES)
def test_real_pytorch_shares_with_us_both_ways(name: str) -> None:
    real = oracle()
    ours = torch.ones(2, 3, dtype=getattr(torch, name)).t()
    storage = weakref.ref(ours.untyped_storage())
    theirs = real.from_dlpack(ours)
    assert (
        str(theirs.dtype) == f"torch.{name}"
        and theirs.data_ptr() == ours.data_ptr()
        and theirs.stride() == ours.stride()
    )
    theirs.zero_()
    assert ours.tolist() == [[0, 0]] * 3
    del ours
    assert storage() is not None
    del theirs
    assert storage() is None

    lent = real.ones(4, dtype=getattr(real, name))
    taken = torch.from_dlpack(lent[1:])
    address = lent.data_ptr() + lent.element_size()
    del lent
    assert taken.data_ptr() == address and taken.tolist() == [1, 1, 1]


@given(
    st.lists(st.sampled_from(["export", "take", "numpy", "drop_tensor", "drop_capsule", "drop_taken"]), max_size=40),
    st.randoms(),
)
@examples(30)
def test_no_order_of_events_leaks_or_frees_twice(events: list[str], random: Any) -> None:
    exported, used = len(dlpack._exported), caching_allocator.stats.bytes
    tensors, capsules, taken = [torch.arange(7)], [], []
    for event in events:
        if event == "export" and tensors:
            capsules.append(random.choice(tensors).__dlpack__(max_version=random.choice(VERSIONS)))
        elif event == "take" and capsules:
            taken.append(torch.from_dlpack(capsules.pop()))
        elif event == "numpy" and tensors:
            taken.append(np.from_dlpack(random.choice(tensors)))
        elif event == "drop_tensor":
            tensors[:] = [torch.arange(7)]
        elif event == "drop_capsule" and capsules:
            capsules.pop(random.randrange(len(capsules)))
        elif event == "drop_taken" and taken:
            taken.pop(random.randrange(len(taken)))
        assert all(x.tolist() == [0, 1, 2, 3, 4, 5, 6] for x in (*tensors, *taken))
    del tensors, capsules, taken
    assert (len(dlpack._exported), caching_allocator.stats.bytes) == (exported, used)
