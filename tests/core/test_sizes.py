"""Sizes, spans and numbers of bytes that no memory has: refused where they are made, in PyTorch's
words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import internals
from internals._generated import ops
from internals.core.cpu_allocator import CachingAllocator, SystemAllocator
from internals.core.geometry import span_of
from internals.core.storage import Storage
from internals.core.tensor_impl import backed_ptr
from internals.machine_code.settings import settings
from tests.answers import answer

BIG = 1 << 62
NUMEL, STORAGE = (
    "numel: integer multiplication overflow",
    "Storage size calculation overflowed with sizes=",
)
UNPACK = "Overflow when unpacking long long"


def ones(torch: Any, *sizes: int) -> Any:
    return torch.ones(1).expand(sizes)


# Each is run on both libraries: what is called, the type of the error, and the beginning of its
# words.
REFUSED: dict[str, tuple[Callable[[Any], Any], type, str]] = {
    "empty": (lambda t: t.empty(BIG, BIG), RuntimeError, STORAGE),
    "empty, bytes": (lambda t: t.empty(BIG // 2), RuntimeError, f"{STORAGE}[{BIG // 2}]"),
    "empty, strides": (
        lambda t: t.empty(0, BIG, BIG),
        RuntimeError,
        "Stride calculation overflowed",
    ),
    "empty, no int64": (lambda t: t.empty(1, 1 << 70), TypeError, ""),
    "meta": (lambda t: t.empty(BIG, BIG, device="meta"), RuntimeError, STORAGE),
    "zeros": (lambda t: t.zeros(1 << 32, 1 << 32), RuntimeError, STORAGE),
    "full": (lambda t: t.full((1 << 32, 1 << 32), 1.0), RuntimeError, STORAGE),
    "rand": (lambda t: t.rand(BIG), RuntimeError, STORAGE),
    "arange": (lambda t: t.arange(BIG), RuntimeError, STORAGE),
    "linspace": (lambda t: t.linspace(0, 1, BIG), RuntimeError, STORAGE),
    "new_empty": (lambda t: t.ones(1).new_empty(BIG), RuntimeError, STORAGE),
    "empty_like": (lambda t: t.empty_like(ones(t, BIG)), RuntimeError, STORAGE),
    "empty_strided": (
        lambda t: t.empty_strided((2, 20000), (BIG - 20000, 1)),
        RuntimeError,
        f"{STORAGE}[2, 20000] and strides=[{BIG - 20000}, 1]",
    ),
    "empty_strided, numel": (lambda t: t.empty_strided((BIG, 4), (0, 0)), RuntimeError, NUMEL),
    "empty_strided, negative": (lambda t: t.empty_strided((2,), (-1,)), RuntimeError, ""),
    "expand": (lambda t: ones(t, BIG, 4), RuntimeError, NUMEL),
    "expand, empty": (lambda t: t.zeros(0).expand(BIG, BIG, 0), RuntimeError, NUMEL),
    "clone": (lambda t: ones(t, BIG).clone(), RuntimeError, f"{STORAGE}[{BIG}] and strides=[1]"),
    "contiguous": (lambda t: ones(t, BIG).contiguous(), RuntimeError, STORAGE),
    "to": (lambda t: ones(t, BIG).to(t.float64), RuntimeError, STORAGE),
    "unary": (lambda t: ones(t, BIG).exp(), RuntimeError, STORAGE),
    "binary": (lambda t: ones(t, BIG) + 1, RuntimeError, STORAGE),
    "broadcast": (lambda t: ones(t, 1 << 33, 1) + ones(t, 1, 1 << 33), RuntimeError, ""),
    "matmul": (lambda t: ones(t, 1 << 33, 1) @ ones(t, 1, 1 << 33), RuntimeError, STORAGE),
    "cat": (lambda t: t.cat([ones(t, BIG)] * 3), RuntimeError, ""),
    "stack": (lambda t: t.stack([ones(t, BIG)] * 3), RuntimeError, ""),
    "repeat": (lambda t: t.ones(4).repeat(BIG), RuntimeError, ""),
    "pad": (lambda t: t.nn.functional.pad(t.ones(4), (BIG, BIG)), RuntimeError, ""),
    "unfold": (lambda t: ones(t, BIG).unfold(0, BIG // 2, 1), RuntimeError, NUMEL),
    "as_strided, stride": (lambda t: t.ones(4).as_strided((2,), (BIG,)), RuntimeError, STORAGE),
    "as_strided, size": (lambda t: t.ones(4).as_strided((BIG,), (4,)), RuntimeError, STORAGE),
    "as_strided, numel": (lambda t: t.ones(4).as_strided((BIG, 4), (0, 0)), RuntimeError, NUMEL),
    "as_strided, offset": (lambda t: t.ones(4).as_strided((2,), (1,), BIG), RuntimeError, STORAGE),
    "set_, offset": (
        lambda t: t.ones(4).set_(t.ones(4).untyped_storage(), BIG, (1,), (1,)),
        RuntimeError,
        f"{STORAGE}[1] and strides=[1]",
    ),
    "set_, stride": (
        lambda t: t.ones(4).set_(t.ones(4).untyped_storage(), 0, (2,), (BIG,)),
        RuntimeError,
        f"{STORAGE}[2] and strides=[{BIG}]",
    ),
    "set_, negative": (
        lambda t: t.ones(4).set_(t.ones(4).untyped_storage(), 0, (2,), (-1,)),
        RuntimeError,
        STORAGE,
    ),
    "resize_": (lambda t: t.zeros(1).resize_([1 << 29] * 3), RuntimeError, NUMEL),
    "resize_, bytes": (lambda t: t.zeros(1).resize_([BIG]), RuntimeError, STORAGE),
    "resize_, format": (
        lambda t: t.zeros(1).resize_([1 << 20] * 4, memory_format=t.channels_last),
        RuntimeError,
        NUMEL,
    ),
    "resize_, negative": (lambda t: t.zeros(1).resize_([-1]), RuntimeError, NUMEL),
    "storage": (lambda t: t.UntypedStorage(1 << 64), ValueError, UNPACK),
    "storage, negative": (lambda t: t.UntypedStorage(-1), RuntimeError, ""),
    "storage, memory": (lambda t: t.UntypedStorage(BIG), RuntimeError, ""),
    "storage, resize_": (lambda t: t.UntypedStorage(4).resize_(1 << 63), ValueError, UNPACK),
    "storage, resize_ down": (lambda t: t.UntypedStorage(4).resize_(-1), RuntimeError, ""),
    "typed storage": (lambda t: t.FloatStorage(BIG), ValueError, UNPACK),
    "an int": (lambda t: t.ones(4).narrow(0, 1 << 70, 1), ValueError, UNPACK),
    "ints": (lambda t: t.ones(4).view(1 << 70), TypeError, ""),
    "a number": (lambda t: t.ones(4).long() + (1 << 70), OverflowError, ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_size_that_no_memory_has_is_refused(case: str) -> None:
    call, kind, words = REFUSED[case]
    with pytest.raises(kind) as raised:
        call(internals)
    assert words in str(raised.value)


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_pytorch_refuses_it_in_the_same_words(case: str) -> None:
    call, kind, words = REFUSED[case]
    with pytest.raises(kind) as raised:
        answer(call)
    assert words in str(raised.value)


def test_the_largest_tensor_there_can_be() -> None:
    """Its bytes are counted in an int64; where they are, it is refused for want of memory only."""
    for size in ((2 * BIG - 1,), (BIG, 1)):
        shape = answer(
            lambda torch, s=size: tuple(torch.empty(s, dtype=torch.uint8, device="meta").shape)
        )
        assert (
            tuple(internals.empty(size, dtype=internals.uint8, device="meta").shape)
            == shape
            == size
        )
    with pytest.raises(RuntimeError, match=STORAGE):
        internals.empty(BIG, 2, dtype=internals.uint8, device="meta")


def test_a_number_of_bytes_does_not_wrap_while_calls_are_observed() -> None:
    """The long way asked the allocator for 2**64 bytes, which `ctypes.c_size_t` takes for 0."""
    x = internals.tensor(1.0).expand(BIG)
    with (
        internals.profiler.profile(),
        pytest.raises(RuntimeError, match="Storage size calculation overflowed"),
    ):
        x.clone()


@pytest.mark.parametrize("allocator", [SystemAllocator(), CachingAllocator()], ids=repr)
@pytest.mark.parametrize(
    "nbytes", [-1, 1 << 62, 1 << 63, (1 << 64) - 1, 1 << 64, (1 << 64) + 64, 1 << 70]
)
def test_an_allocator_has_no_such_memory(allocator: Any, nbytes: int) -> None:
    with pytest.raises(RuntimeError, match=f"{nbytes}|can't allocate"):
        allocator.allocate(nbytes)
    with pytest.raises(RuntimeError):
        Storage.allocate(nbytes)


def test_an_empty_tensor_of_huge_sizes_is_one_that_numpy_can_look_at() -> None:
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        # four bytes each; PyTorch takes it, and stops in some kernels
        internals.zeros(0).expand(BIG, 0)
    x = internals.zeros(0).expand(BIG // 4, 0)
    assert x.exp().shape == x.clone().shape == (BIG // 4, 0) and x.sum() == 0


def test_views_of_more_elements_than_memory_has_are_fine() -> None:
    x = internals.tensor(1.0).expand(BIG)
    assert x.shape == (BIG,) and x[BIG - 1] == 1 and x._geometry.span == 1
    assert internals.ones(4).as_strided((0,), (1,), BIG).numel() == 0


@pytest.mark.parametrize("sizes", [[], [3], [2, 3], [2, 0, 3], [1, 4, 1, 5]])
def test_a_span_ends_at_the_last_element(sizes: list[int]) -> None:
    strides = [7, 1, 2, 10][: len(sizes)]
    places = [
        sum(i * s for i, s in zip(index, strides))
        for index in internals.ones(sizes).nonzero().tolist()
    ]
    assert span_of(sizes, strides) == (max(places) + 1 if places else int(not sizes))


# Geometry that its storage does not back


def test_an_alias_in_other_sizes_stays_in_the_storage() -> None:
    x = internals.ones(4)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        ops._reshape_alias(x, [100_000_000], [1])
    with pytest.raises(RuntimeError, match="mismatch in length"):
        ops._reshape_alias(x, [2], [1, 1])
    with pytest.raises(RuntimeError):
        ops._reshape_alias(x, [2, 2], [1, -1])
    assert ops._reshape_alias(x, [2, 2], [2, 1]).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("memory_format", ["contiguous_format", "channels_last"])
def test_resizing_with_a_memory_format_grows_the_storage(memory_format: str) -> None:
    """PyTorch forgets to when only the strides change: then its tensor is 480 bytes on a storage of
    4.
    """

    def resized(torch: Any) -> list[Any]:
        kept = getattr(torch, memory_format)
        found = []
        for start in (torch.zeros(1), torch.zeros(1).expand(2, 3, 4, 5), torch.zeros(6)[2:]):
            t = start.resize_([2, 3, 4, 5], memory_format=kept)
            found.append(
                (tuple(t.shape), t.stride(), t.storage_offset(), t.untyped_storage().nbytes())
            )
            t = start.resize_as_(torch.zeros(1, 7, 8, 9), memory_format=kept)
            found.append(
                (tuple(t.shape), t.stride(), t.storage_offset(), t.untyped_storage().nbytes())
            )
            assert t.fill_(1.0).sum() == 504
        return found

    ours = resized(internals)
    assert [nbytes for *_, nbytes in ours] == [480, 2016, 480, 2016, 488, 2024]
    theirs = answer(resized)
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]


def test_a_pickle_cannot_make_a_tensor_beyond_its_storage() -> None:
    from internals._tensor.pickling import rebuild_tensor

    storage = internals.ones(4).untyped_storage()
    with pytest.raises(RuntimeError, match="out of bounds"):
        rebuild_tensor(storage, 2, (4,), (1,), internals.float32, False)


SHRUNK: dict[str, Callable[[Any], Any]] = {
    "exp": lambda t: t.exp(),
    "add": lambda t: t + t,
    "in place": lambda t: t.add_(1),
    "add scaled": lambda t: t.add(t, alpha=2.0),
    "clone": lambda t: t.clone(),
    "transposed": lambda t: t.t().contiguous(),
    "sum": lambda t: t.sum(),
    "sum of rows": lambda t: t.sum(1),
    "softmax": lambda t: t.softmax(1),
    "cumsum": lambda t: t.cumsum(1),
    "max": lambda t: t.max(1),
    "var": lambda t: t.var(1),
    "sort": lambda t: t.sort(1),
    "layer_norm": lambda t: internals.nn.functional.layer_norm(t, (32,)),
    "batch_norm": lambda t: internals.nn.functional.batch_norm(t, None, None, training=True),
    "matmul": lambda t: t @ t,
    "bmm": lambda t: t[None] @ t[None],
    "linear": lambda t: internals.nn.functional.linear(t, t),
    "conv2d": lambda t: internals.conv2d(t[None, None], t[None, None]),
    "max_pool2d": lambda t: internals.nn.functional.max_pool2d(t[None], 2),
    "index_select": lambda t: t.index_select(0, internals.arange(32)),
    "gather": lambda t: t.gather(0, internals.zeros(32, 32, dtype=internals.int64)),
    "cat": lambda t: internals.cat([t, t]),
    "attention": lambda t: internals.nn.functional.scaled_dot_product_attention(
        t[None], t[None], t[None]
    ),
    "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(),
    "item": lambda t: t[31, 31].item(),
    "print": lambda t: repr(t),
    "copy to it": lambda t: t.copy_(internals.ones(32, 32)),
    "out": lambda t: internals.exp(internals.ones(32, 32), out=t),
    "pointer": backed_ptr,
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", SHRUNK)
def test_a_kernel_looks_whether_its_operands_lie_in_their_storage(
    case: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have made the storage shorter: then nothing is read or written, by numpy or
    by machine code.
    """
    t = internals.ones(32, 32)
    t.untyped_storage().resize_(64)
    if compiled:
        monkeypatch.setattr(settings, "least", 1)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 64"):
        SHRUNK[case](t)
    # looking at its geometry is allowed
    assert t.shape == (32, 32) and t.view(1024).shape == (1024,)
