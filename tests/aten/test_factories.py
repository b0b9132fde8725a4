"""Creation: every factory, dtype, option and memory format, against numpy and, where installed,
real PyTorch.

The error messages are in `golden/factories.txt` and `golden/construction.txt`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from tests.answers import answer
from tests.aten.view_support import description
from tests.support import (
    DTYPES,
    FLOATS,
    INTEGERS,
    assert_same,
    assert_same_outcome,
    examples,
    to_torch,
)

SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 3), (2, 3, 4, 5)]
names = st.sampled_from([d.name for d in DTYPES])
shapes = st.lists(st.integers(0, 4), max_size=5).map(tuple)


@st.composite
def layouts(draw: Any) -> Any:
    """Tensors in many layouts: permuted, sliced, expanded."""
    shape = draw(st.lists(st.integers(0, 4), max_size=5))
    t = torch.zeros([2 * n for n in shape], dtype=getattr(torch, draw(names)))
    for d in range(len(shape)):
        if draw(st.booleans()):
            t = t.narrow(d, 0, shape[d])
        if shape[d] and draw(st.integers(0, 3)) == 0:
            t = t.narrow(d, 0, 1).expand([3 if i == d else n for i, n in enumerate(t.shape)])
    return t.permute(draw(st.permutations(range(len(shape)))))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", DTYPES, ids=lambda d: d.name)
def test_filled_factories(shape: tuple[int, ...], kind: Any) -> None:
    for ours, expected in (
        (torch.zeros(shape, dtype=kind), np.zeros(shape, kind.np)),
        (torch.ones(shape, dtype=kind), np.ones(shape, kind.np)),
        (torch.full(shape, 1, dtype=kind), np.full(shape, 1, kind.np)),
        (
            torch.zeros(*shape, dtype=kind) if shape else torch.zeros((), dtype=kind),
            np.zeros(shape, kind.np),
        ),
    ):
        assert_same(ours, expected)
        assert ours.is_contiguous()
    assert torch.empty(shape, dtype=kind).shape == shape
    t = torch.zeros(shape, dtype=kind)
    assert_same(t.new_ones(2, 3), np.ones((2, 3), kind.np))
    assert_same(t.new_zeros((2,)), np.zeros(2, kind.np))
    assert_same(t.new_full((2,), 1), np.ones(2, kind.np))
    assert t.new_empty(4).shape == (4,) and t.new_empty_strided((2, 2), (1, 2)).stride() == (1, 2)
    assert_same(torch.ones_like(t), np.ones(shape, kind.np))
    assert_same(torch.full_like(t, 1, dtype=torch.float64), np.ones(shape))


@given(layouts(), st.sampled_from([None, torch.preserve_format, torch.contiguous_format]))
@examples(60)
def test_like_factories_choose_strides_as_pytorch_does(t: Any, memory_format: Any) -> None:
    def made(T: Any, t: Any, memory_format: Any) -> list[Any]:
        results = [
            getattr(T, f"{name}_like")(t, memory_format=memory_format)
            for name in ("empty", "zeros", "ones")
        ]
        return [(tuple(r.shape), r.stride(), str(r.dtype).partition(".")[2]) for r in results]

    about = description([t, memory_format])
    assert made(torch, t, memory_format) == answer(
        lambda T: made(T, *to_torch((t, memory_format))), about, "views"
    )


@given(layouts())
@examples(60)
def test_like_factories_keep_dense_strides_and_leave_no_gaps(t: Any) -> None:
    like = torch.zeros_like(t)
    assert like.shape == t.shape and like.dtype is t.dtype
    reach = 1 + sum((n - 1) * s for n, s in zip(like.shape, like.stride())) if like.numel() else 0
    assert reach == like.numel()
    if t.is_contiguous():
        assert like.is_contiguous()


@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.channels_last_3d])
def test_memory_formats(memory_format: Any) -> None:
    shape = (2, 3, 4, 5) if memory_format is torch.channels_last else (2, 3, 4, 5, 6)
    t = torch.empty(shape, memory_format=memory_format)
    assert (
        t.stride(1) == 1 and t.is_contiguous(memory_format=memory_format) and not t.is_contiguous()
    )
    row_major = torch.arange(math.prod(shape)).view(shape)
    last = row_major.contiguous(memory_format=memory_format)
    assert last.stride() == t.stride() and last.tolist() == row_major.tolist()
    assert torch.zeros_like(last).stride() == t.stride() and last.clone().stride() == t.stride()
    assert last.contiguous() is not last and last.contiguous().stride() == row_major.stride()
    assert row_major.to(torch.float64, memory_format=memory_format).stride() == t.stride()


numbers = st.integers(-50, 50) | st.floats(-50, 50).map(lambda x: round(x, 2))


@given(
    numbers,
    numbers,
    numbers.filter(lambda x: x != 0),
    names.filter(lambda n: n not in ("bool", "complex64", "complex128")),
)
@examples(80)
def test_arange(start: Any, end: Any, step: Any, name: str) -> None:
    if (
        (end - start) * step < 0
        or abs((end - start) / step) > 500
        or (int(step) == 0 and name == "int64")
    ):
        return
    kind = getattr(torch, name)
    ours = torch.arange(start, end, step, dtype=kind)
    if kind.category == 1:
        expected = (int(start) + int(step) * np.arange(len(ours))).astype(name)
    else:
        assert len(ours) == math.ceil((end - start) / step)
        expected = (start + step * np.arange(len(ours), dtype=np.float64)).astype(name)
    assert_same(ours, expected)


@given(numbers, numbers, numbers.filter(lambda x: x != 0))
@examples(60)
def test_arange_like_pytorch(start: Any, end: Any, step: Any) -> None:
    if (end - start) * step < 0:
        return
    given = (start, end, step)
    assert_same_outcome(lambda: torch.arange(*given), lambda real: real.arange(*given), about=given)


@pytest.mark.parametrize("kind", [*FLOATS, *INTEGERS, torch.complex64], ids=lambda d: d.name)
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 100])
def test_linspace(kind: Any, steps: int) -> None:
    ours = torch.linspace(3, 90, steps, dtype=kind)
    assert ours.shape == (steps,) and ours.dtype is kind
    if steps > 1:
        assert ours[0].item() == 3 and ours[-1].item() == 90
    if kind.category >= 2:
        assert_same(ours, np.linspace(3, 90, steps).astype(kind.np))


@pytest.mark.parametrize(
    "arguments", [(0, 1, 7), (-3, 4.5, 100), (5, -5, 11), (1, 1, 3), (0.1, 0.7, 64), (0, 1j, 5)]
)
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int32", "int64", None])
def test_linspace_like_pytorch(arguments: Any, name: str | None) -> None:
    if isinstance(arguments[1], complex) and name:
        return

    def linspace(T: Any) -> Any:
        return T.linspace(*arguments, dtype=None if name is None else getattr(T, name))

    assert_same_outcome(lambda: linspace(torch), linspace)


@pytest.mark.parametrize("sizes", [(), (0,), (4,), (2, 2), (3, 1)])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_linspace_into_as_many_elements_keeps_their_shape(
    steps: int, sizes: tuple[int, ...]
) -> None:
    out = torch.zeros(sizes)
    assert torch.linspace(0, 3, steps, out=out) is out
    assert out.shape == (sizes if math.prod(sizes) == steps else (steps,))
    assert out.flatten().tolist() == [0, 1, 2, 3][:steps]


@pytest.mark.parametrize(("n", "m"), [(0, 0), (3, 3), (2, 5), (5, 2), (0, 3)])
@pytest.mark.parametrize("kind", DTYPES, ids=lambda d: d.name)
def test_eye(n: int, m: int, kind: Any) -> None:
    assert_same(torch.eye(n, m, dtype=kind), np.eye(n, m, dtype=kind.np))


def test_out_variants() -> None:
    out = torch.zeros(0)
    assert (
        torch.ones(2, 3, out=out) is out and out.shape == (2, 3) and out.tolist() == [[1.0] * 3] * 2
    )
    double = torch.empty(5, dtype=torch.float64)
    assert torch.arange(5, out=double).dtype is torch.float64 and double.tolist() == [0, 1, 2, 3, 4]
    assert torch.full((2,), 7.5, out=torch.empty(2)).tolist() == [7.5, 7.5]
    assert torch.eye(2, out=torch.empty(2, 2)).tolist() == [[1, 0], [0, 1]]
    assert torch.linspace(0, 1, 3, out=torch.empty(3)).tolist() == [0, 0.5, 1]
    transposed = torch.empty(3, 2).t()
    assert torch.zeros(2, 3, out=transposed).stride() == (1, 2)


def test_options() -> None:
    t = torch.ones(
        2,
        dtype=torch.float64,
        device="cpu",
        layout=torch.strided,
        requires_grad=True,
        pin_memory=False,
    )
    assert t.requires_grad and t.is_leaf and t.dtype is torch.float64
    assert (
        torch.zeros_like(t).requires_grad is False
        and torch.zeros_like(t, requires_grad=True).requires_grad
    )
    assert (
        torch.zeros(2, dtype=float).dtype is torch.float64
        and torch.zeros(2, dtype=int).dtype is torch.int64
    )


def test_the_default_dtype() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        assert (
            torch.zeros(1).dtype
            is torch.tensor(1.0).dtype
            is torch.arange(1.0).dtype
            is torch.float64
        )
        assert torch.tensor(1j).dtype is torch.full((1,), 1j).dtype is torch.complex128
        assert repr(torch.tensor([1.5])) == "tensor([1.5000])"
    finally:
        torch.set_default_dtype(torch.float32)


# tensor()


nested = st.recursive(
    st.integers(-100, 100)
    | st.booleans()
    | st.floats(-100, 100, width=32)
    | st.complex_numbers(max_magnitude=100),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=12,
)


@given(nested)
@examples(150)
def test_tensor_of_nested_sequences_like_pytorch(data: Any) -> None:
    try:
        theirs = answer(lambda real: real.tensor(data), about=data)
    except (TypeError, ValueError):
        # which of them, when several things are wrong, is told by golden/construction.txt
        with pytest.raises((TypeError, ValueError)):
            torch.tensor(data)
        return
    assert_same(torch.tensor(data), theirs)


@given(
    st.integers(0, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(-9, 9), min_size=n, max_size=n), max_size=4)
    ),
    names,
)
@examples(50)
def test_tensor_of_rectangular_lists(data: list[list[int]], name: str) -> None:
    expected = np.array(data, np.int64).astype(name)
    if not data:
        expected = expected.reshape(0)
    assert_same(torch.tensor(data, dtype=getattr(torch, name)), expected)


def test_tensor_copies() -> None:
    a = np.ones(3)
    t = torch.tensor(a)
    a[0] = 5
    assert t.tolist() == [1, 1, 1]
    with pytest.warns(
        UserWarning,
        match="To copy construct from a tensor, it is recommended to use sourceTensor.detach",
    ):
        u = torch.tensor(t)
    assert u.data_ptr() != t.data_ptr()
    with pytest.warns(UserWarning, match="extremely slow"):
        torch.tensor([np.ones(2), np.ones(2)])


def test_as_tensor_and_asarray_share_when_they_can() -> None:
    a, t = np.ones(3), torch.ones(3)
    assert torch.as_tensor(a).data_ptr() == torch.asarray(a).data_ptr() == a.ctypes.data
    assert torch.as_tensor(t) is t and torch.asarray(t) is t
    assert torch.as_tensor(a, dtype=torch.float32).data_ptr() != a.ctypes.data
    assert torch.asarray(a, copy=True).data_ptr() != a.ctypes.data
    assert torch.asarray(memoryview(bytearray(4)), dtype=torch.uint8).shape == (4,)


def test_large_lists_do_not_take_long_to_nest() -> None:
    data = [[float(i + j) for j in range(100)] for i in range(200)]
    assert torch.tensor(data).tolist() == data


# meta


def test_meta_tensors_have_a_shape_and_no_memory() -> None:
    t = torch.empty(1 << 20, 1 << 20, device="meta")
    assert (
        t.is_meta
        and t.data_ptr() == 0
        and t.numel() == 1 << 40
        and t.t().shape == (1 << 20, 1 << 20)
    )
    for made in (
        torch.zeros_like(t),
        t.clone(),
        t.to(torch.int8),
        t.new_ones(3),
        t.contiguous(),
        torch.rand(3, device="meta"),
    ):
        assert made.is_meta
    assert t.zero_() is t and t.fill_(3) is t and t.copy_(t.clone()) is t
    assert torch.ones(3).to("meta").shape == (3,)
    with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
        torch.empty((), device="meta").item()


def assert_same_layout(ours: Any, theirs: Any) -> None:
    assert (tuple(ours.shape), ours.stride()) == (tuple(theirs.shape), theirs.stride())
