"""What a kernel gets for a tensor."""

from __future__ import annotations

import sys
from itertools import product

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
    assert (
        a.pointer == x.data_ptr()
        and a.sizes == (6,)
        and a.strides == (1,)
        and a.nbytes == 24
        and a.device == 0
    )


def test_whole_keeps_sizes_and_strides() -> None:
    x = torch.zeros(3, 4, device="cuda:1").t()
    a = whole(x)
    assert a.sizes == (4, 3) and a.strides == (1, 4) and a.nbytes == 48 and a.device == 1


def test_the_array_interface() -> None:
    x = torch.zeros(3, 4, dtype=torch.float16, device="cuda")
    dense = whole(x).__cuda_array_interface__
    assert (
        dense["shape"] == (3, 4)
        and dense["strides"] is None
        and dense["typestr"] == "<f2"
        and dense["version"] == 3
    )
    assert dense["data"] == (x.data_ptr(), False)
    assert whole(x.t()).__cuda_array_interface__["strides"] == (2, 8)


# Every step of a slice of two sizes, and of their transposes: with gaps and without, also where a
# size is 1 or 2
SLICES = [
    (slice(0, m * s, s), slice(0, n * t, t))
    for m, s, n, t in product((1, 2, 3), (1, 2), (1, 2, 3), (1, 2))
]


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int16])
def test_gaps_are_seen_however_few_elements_are_around_them(dtype: torch.dtype) -> None:
    """Where numpy sees some the interface tells the strides; on the way to the device, on it, and
    back no element is another.
    """
    host = torch.arange(36, dtype=dtype).view(6, 6)
    there, plain = host.cuda(), host.numpy()
    for rows, columns in SLICES:
        for look in (
            lambda a: a[rows, columns],  # noqa: B023
            lambda a: a[rows, columns].T,  # noqa: B023
            lambda a: a[rows, columns][0],  # noqa: B023
        ):
            expected = look(plain)
            strides = whole(look(there)).__cuda_array_interface__["strides"]
            steps = [(n, m) for n, m in zip(expected.strides, expected.shape) if m > 1]
            assert (strides is None) == expected.flags.c_contiguous
            assert (
                strides is None
                or [(n, m) for n, m in zip(strides, expected.shape) if m > 1] == steps
            )
            for moved in (
                look(host).cuda(),
                look(there),
                look(there).clone(),
                torch.empty_like(look(there)).copy_(look(host)),
            ):
                assert moved.cpu().tolist() == expected.tolist()
            target = torch.zeros(6, 6, dtype=dtype)
            look(target).copy_(look(there))
            assert look(target).tolist() == expected.tolist() and int(target.sum()) == int(
                expected.sum()
            )
            target = torch.zeros(6, 6, dtype=dtype, device="cuda")
            look(target).copy_(look(host))
            assert look(target).tolist() == expected.tolist() and int(target.sum()) == int(
                expected.sum()
            )


def test_numba_types_it_as_a_dense_array() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    from numba.cuda.typing.typeof import Purpose, typeof

    kind = typeof(flat(torch.zeros(4, device="cuda")), Purpose.argument)
    assert kind.layout == "C" and kind.ndim == 1


def test_the_host_has_none() -> None:
    with pytest.raises(RuntimeError, match="a tensor is on 'cpu'"):
        flat(torch.zeros(2))


def test_a_temporary_lives_until_the_launch_is_queued() -> None:
    """Each copy is made and handed over within the call: without an owner the second would get the
    memory of the first.
    """
    x, y, out = (
        torch.arange(8.0, device="cuda")[::2],
        torch.full((8,), 10.0, device="cuda")[::2],
        torch.empty(4, device="cuda"),
    )
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
