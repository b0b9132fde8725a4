"""What a kernel gets for a tensor."""

from __future__ import annotations

import sys

import pytest

import internals as torch
from internals.cuda.device_array import flat, whole
from internals.cuda.language import cuda, kernel


@kernel
def add(out, a, b):
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


def test_flat_begins_at_the_first_element_and_ends_with_the_storage() -> None:
    x = torch.arange(12.0, device="cuda").view(3, 4)[1:, 2:]
    a = flat(x)
    assert a.pointer == x.data_ptr() and a.sizes == (6,) and a.strides == (1,) and a.nbytes == 24 and a.device == 0


def test_whole_keeps_sizes_and_strides() -> None:
    x = torch.zeros(3, 4, device="cuda:1").t()
    a = whole(x)
    assert a.sizes == (4, 3) and a.strides == (1, 4) and a.nbytes == 48 and a.device == 1


def test_the_array_interface() -> None:
    x = torch.zeros(3, 4, dtype=torch.float16, device="cuda")
    dense = whole(x).__cuda_array_interface__
    assert dense["shape"] == (3, 4) and dense["strides"] is None and dense["typestr"] == "<f2" and dense["version"] == 3
    assert dense["data"] == (x.data_ptr(), False)
    assert whole(x.t()).__cuda_array_interface__["strides"] == (2, 8)


def test_numba_types_it_as_a_dense_array() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    from numba.cuda.typing.typeof import Purpose, typeof

    kind = typeof(flat(torch.zeros(4, device="cuda")), Purpose.argument)
    assert kind.layout == "C" and kind.ndim == 1


def test_the_host_has_none() -> None:
    with pytest.raises(RuntimeError, match="move the tensor on 'cpu' there"):
        flat(torch.zeros(2))


def test_a_temporary_lives_until_the_launch_is_queued() -> None:
    """Each copy is made and handed over within the call: without an owner the second would get the memory of the first."""
    x, y, out = torch.arange(8.0, device="cuda")[::2], torch.full((8,), 10.0, device="cuda")[::2], torch.empty(4, device="cuda")
    add[1, 4](out, flat(x.contiguous()), flat(y.contiguous()))
    assert out.cpu().tolist() == [10, 12, 14, 16]


def test_a_queued_launch_owns_nothing() -> None:
    x = torch.zeros(4, device="cuda")
    storage = x.untyped_storage()
    before = sys.getrefcount(storage)
    a = flat(x)
    held = sys.getrefcount(storage)
    add[1, 4](x, a, a)
    assert a.queued() == a
    del a
    after = sys.getrefcount(storage)
    torch.cuda.synchronize()
    assert (held, after) == (before + 1, before)
