"""View operators, one by one: against real PyTorch where it is installed, and against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as T
from internals.core.tensor_impl import array, from_array
from tests.aten.view_support import assert_same_effect, assert_same_value, table

SHAPES = table("""
    x.view(4, 6)
    x.view([24])
    x.view(T.Size([4, 6]))
    x.view(-1, 8)
    x.view(5, 5)
    x.view(-1, -1)
    x.view(-2, 3)
    x.view(-1, 5)
    x.transpose(0, 1).view(24)
    x.transpose(0, 1).view(3, 2, 2, 2)
    T.zeros(0).view(-1, 0)
    T.zeros(2, 0).view(-1)
    T.zeros(()).view(1, 1)
    T.zeros(1).view(())
    x.view_as(T.zeros(4, 6))
    x.reshape(4, 6)
    x.reshape(2, 3, 4)
    x.transpose(0, 1).reshape(24)
    x.transpose(0, 1).reshape(-1, -1)
    x.transpose(0, 1).reshape(5, 5)
    x.transpose(0, 1).reshape(3, 2, 2, 2)
    x.reshape_as(T.zeros(24))
    x.flatten()
    x.flatten(1)
    x.flatten(0, 1)
    x.flatten(0, 0)
    x.flatten(2, 1)
    x.flatten(0, 3)
    T.zeros(()).flatten()
    T.zeros(2, 0, 3).flatten(1)
    x.transpose(0, 1).flatten()
    x.ravel()
    x.permute(2, 0, 1).ravel()
    x.unflatten(2, (2, 2))
    x.unflatten(2, (-1, 2))
    x.unflatten(2, (2, 3))
    x.unflatten(2, ())
    x.squeeze()
    T.zeros(1, 2, 1).squeeze()
    T.zeros(1, 2, 1).squeeze(1)
    T.zeros(1, 2, 1).squeeze(-1)
    T.zeros(1, 2, 1).squeeze(3)
    T.zeros(1, 2, 1).squeeze((0, 2))
    T.zeros(1, 2, 1).squeeze((0, 0))
    T.zeros(1, 2, 1).squeeze((0, 1, 2))
    T.zeros(1, 2, 1).squeeze(())
    T.zeros(()).squeeze(0)
    T.zeros(()).squeeze(1)
    T.zeros(()).squeeze((0,))
    x.unsqueeze(0)
    x.unsqueeze(1)
    x.unsqueeze(-1)
    x.unsqueeze(4)
    x.unsqueeze(-5)
    T.zeros(()).unsqueeze(0)
    T.zeros(()).unsqueeze(1)
    T.zeros(2, 0, 3).unsqueeze(0)
    T.zeros(2, 0, 3).unsqueeze(1)
""")

ORDERS = table("""
    x.transpose(0, 1)
    x.transpose(-1, 0)
    x.transpose(0, 3)
    x.transpose(-4, 0)
    T.zeros(()).transpose(0, 0)
    T.zeros(()).transpose(0, 1)
    T.transpose(x, 0, 2)
    x.swapaxes(0, 1)
    x.swapdims(0, 1)
    x.permute(2, 0, 1)
    x.permute((2, 0, 1))
    x.permute(2, 0, -2)
    x.permute(0, 1)
    x.permute(0, 1, 1)
    x.permute(0, 1, 3)
    T.permute(x, (2, 0, 1))
    T.permute(x, 2, 0, 1)
    T.zeros(()).permute(())
    x.movedim(0, 2)
    x.movedim((0, 1), (1, 0))
    x.movedim((0, 1), (1,))
    x.movedim((0, 0), (1, 2))
    x.movedim((0, 1), (1, 1))
    x.movedim((), ())
    x.movedim(3, 0)
    x.moveaxis(0, 2)
    T.zeros(()).movedim(0, 0)
    x[0].t()
    T.zeros(3).t()
    T.zeros(()).t()
    x.t()
    x[0].T
    x.mT
    T.zeros(3).T
    T.zeros(3).mT
""")

WINDOWS = table("""
    x.expand(3, 4)
    x.expand(5, 2, 3, -1)
    x.expand(-1, 2, 3, 4)
    x.expand(2, 3, 5)
    T.zeros(1, 3).expand(0, 3)
    T.zeros(1, 3).expand(2, -1)
    T.zeros(()).expand(2, 3)
    T.zeros(3, 1).expand(3, 0)
    T.zeros(1, 3).expand(2, 1, 3)
    T.zeros(1, 3).expand(1, 1, 3)
    T.zeros(3).expand(2, 4)
    T.zeros(2, 3).expand(T.Size([2, 3]))
    x.expand_as(T.zeros(2, 2, 3, 4))
    x.broadcast_to(2, 2, 3, 4)
    T.broadcast_to(T.zeros(3, 1), (3, 4))
    T.broadcast_tensors(T.zeros(3, 1), T.zeros(2))
    T.broadcast_tensors(T.zeros(3, 1), T.zeros(2, 2))
    T.broadcast_shapes((3, 1), (2,))
    T.broadcast_shapes((3, 1), 2, (5, 1, 1))
    x.select(0, 1)
    x.select(1, -1)
    x.select(0, 2)
    x.select(0, -3)
    x.select(3, 0)
    T.zeros(()).select(0, 0)
    T.select(x, 1, 2)
    x.narrow(1, 1, 2)
    x.narrow(1, -2, 2)
    x.narrow(1, 1, 3)
    x.narrow(1, -4, 1)
    x.narrow(1, 4, 0)
    x.narrow(1, 3, 0)
    x.narrow(1, 0, -1)
    x.narrow(5, 0, 1)
    x.narrow(1, T.tensor(1), 2)
    x.narrow(1, T.tensor(1.), 2)
    x.narrow(1, T.tensor([1]), 2)
    T.zeros(()).narrow(0, 0, 1)
    T.ops.aten.slice(x, 1, -10, 20, 2)
    T.ops.aten.slice(x, 1, 0, 2, 0)
    T.ops.aten.slice(T.zeros(()), 0, 0, 1, 1)
    x.as_strided((2, 2), (1, 2))
    x.as_strided((2, 2), (1,))
    x.as_strided((2, 2), (1, -1))
    x.as_strided((2, -2), (1, 1))
    x.as_strided((5, 5), (5, 1))
    x.as_strided((2, 2), (1, 1), -1)
    x.as_strided((2, 2), (1, 1), 21)
    x.as_strided((2, 2), (1, 1), 22)
    x.as_strided((), ())
    x.as_strided((0, 2), (1, 1), 1000)
    x[1].as_strided((2,), (1,))
    x[1].as_strided((2,), (1,), 0)
    T.as_strided(x, (2, 2), (1, 2))
    x.unfold(2, 2, 1)
    x.unfold(1, 2, 1)
    x.unfold(2, 5, 1)
    x.unfold(2, 2, 0)
    x.unfold(2, -1, 1)
    x.unfold(2, 0, 1)
    x.unfold(3, 1, 1)
    T.tensor(3.).unfold(0, 1, 1)
    T.tensor(3.).unfold(0, 0, 1)
    T.tensor(3.).unfold(0, 2, 1)
    x.diagonal()
    x.diagonal(1, 0, 2)
    x.diagonal(-1, 0, 2)
    x.diagonal(10)
    x.diagonal(-5, 1, 2)
    x.diagonal(0, 1, 1)
    x.diagonal(0, 0, 3)
    T.zeros(3).diagonal()
    T.diagonal(x, offset=1, dim1=1, dim2=2)
    x.detach()
    x[0].detach()
    T.detach(x)
""")

PARTS = table("""
    x.split(2, 1)
    x.split([1, 2], 1)
    x.split([1, 1], 1)
    x.split([4, -1], 1)
    x.split(0, 1)
    x.split(-1, 1)
    x.split(2, 5)
    x.split((1, 2), dim=1)
    x.split(split_size=1, dim=1)
    T.split(x, 2, 1)
    T.split(x, [1, 3], dim=2)
    T.zeros(0).split(0)
    T.zeros(0).split(2)
    T.zeros(()).split(1)
    T.zeros(()).split([1])
    x.split_with_sizes([1, 1, 2], 2)
    x.split_with_sizes([1, 1, 1], 2)
    x.split_with_sizes([3, 2, -1], 2)
    x.split_with_sizes(2)
    x.chunk(2)
    x.chunk(3, 2)
    x.chunk(5, 2)
    x.chunk(0)
    x.chunk(-1)
    T.chunk(T.zeros(7), 4)
    T.zeros(0).chunk(3)
    T.zeros(()).chunk(1)
    x.unbind()
    x.unbind(-1)
    T.unbind(x, 1)
    T.zeros(0, 3).unbind()
    T.zeros(3, 0).unbind(1)
    T.zeros(()).unbind()
    [type(t).__name__ for t in (
        x.split(1), x.chunk(2), x.unbind(), x.split_with_sizes([1, 1]), T.split(x, [1, 1]))]
""")

DTYPES = table("""
    x.view(T.int32)
    x.view(dtype=T.float64)
    x.view(T.uint8).shape
    x.view(T.complex64).shape
    x.view(T.float32)
    x[:, :, :3].view(T.float64)
    x[:, :, 1:3].view(T.float64)
    x[:, :, ::2].view(T.float64)
    x[:, :, ::2].view(T.uint8)
    x.transpose(0, 2).view(T.int32)
    x[:, 0:1, 0:2].view(T.float64)
    T.tensor(1.).view(T.int32)
    T.tensor(1.).view(T.float64)
    T.tensor(1.).view(T.uint8)
    T.zeros(0, 4).view(T.float64)
    T.zeros(4, 0).view(T.float64)
    T.zeros(4, 0).view(T.uint8)
""")


@pytest.mark.parametrize("expression", SHAPES + ORDERS + WINDOWS + PARTS + DTYPES)
def test_view_against_torch(expression: str) -> None:
    assert_same_value(expression)


INPLACE = table("""
    x.squeeze_()
    x.squeeze_(0)
    x.unsqueeze_(0)
    x.t_()
    x.transpose_(0, 1)
    x.swapaxes_(0, 1)
    x.swapdims_(0, 1)
    x.as_strided_((2,), (1,))
    x.as_strided_((20,), (1,))
    x.transpose_(0, 5)
    x.t().squeeze_()
""")


@pytest.mark.parametrize("statement", INPLACE)
def test_in_place_view_against_torch(statement: str) -> None:
    assert_same_effect(statement, "x = T.arange(3.0).view(1, 3)")


@pytest.mark.parametrize(
    "statement",
    table("""
    x[0].add_(1)
    x.view(6).fill_(3)
    x.expand(2, 2, 3)[0].mul_(2)
    x[:, :1].expand(2, 3).add_(1)
    x[:, :1].expand(2, 3).zero_()
    x.t().unbind()[1].fill_(4)
    x.detach().fill_(2)
    x.view(T.int32).fill_(1)
    x.unfold(1, 2, 1).fill_(1)
    x.split(1)[0].copy_(T.ones(1, 3))
    """),
)
def test_writing_through_a_view_against_torch(statement: str) -> None:
    assert_same_effect(statement)


a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NUMPY: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "view": (lambda x: x.view(4, 6), a.reshape(4, 6)),
    "reshape": (lambda x: x.transpose(0, 1).reshape(6, 4), a.swapaxes(0, 1).reshape(6, 4)),
    "flatten": (lambda x: x.flatten(1), a.reshape(2, 12)),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)), a.reshape(2, 3, 2, 2)),
    "transpose": (lambda x: x.transpose(0, 2), a.swapaxes(0, 2)),
    "permute": (lambda x: x.permute(2, 0, 1), a.transpose(2, 0, 1)),
    "movedim": (lambda x: x.movedim((0, 1), (2, 0)), np.moveaxis(a, (0, 1), (2, 0))),
    "t": (lambda x: x[0].t(), a[0].T),
    "mT": (lambda x: x.mT, a.swapaxes(-1, -2)),
    "expand": (lambda x: x[:, :1].expand(2, 2, 3, 4), np.broadcast_to(a[:, :1], (2, 2, 3, 4))),
    "squeeze": (lambda x: x[:, :1].squeeze(1), a[:, 0]),
    "unsqueeze": (lambda x: x.unsqueeze(1), a[:, None]),
    "select": (lambda x: x.select(1, -1), a[:, -1]),
    "narrow": (lambda x: x.narrow(2, 1, 2), a[:, :, 1:3]),
    "as_strided": (
        lambda x: x.as_strided((3, 2), (5, 1), 2),
        np.lib.stride_tricks.as_strided(a.reshape(-1)[2:], (3, 2), (20, 4)),
    ),
    "unfold": (lambda x: x.unfold(2, 3, 1), np.lib.stride_tricks.sliding_window_view(a, 3, 2)),
    "diagonal": (lambda x: x.diagonal(1, 1, 2), np.diagonal(a, 1, 1, 2)),
    "view_dtype": (lambda x: x.view(T.int32), a.view(np.int32)),
}


@pytest.mark.parametrize("name", NUMPY)
def test_view_against_numpy(name: str) -> None:
    call, expected = NUMPY[name]
    np.testing.assert_array_equal(array(call(from_array(a))), expected)


def test_parts_against_numpy() -> None:
    x = from_array(a)
    for ours, theirs in [
        (x.split(2, 1), np.split(a, [2], 1)),
        (x.split([1, 3], 2), np.split(a, [1], 2)),
        (x.chunk(2, 2), np.split(a, 2, 2)),
        (x.unbind(1), [a[:, i] for i in range(3)]),
    ]:
        assert len(ours) == len(theirs)
        for t, expected in zip(ours, theirs):
            np.testing.assert_array_equal(array(t), expected)


def test_views_share_storage_counter_and_base() -> None:
    base = from_array(a)
    views = [
        base.view(24),
        base[0],
        base.permute(2, 0, 1),
        base.expand(5, 2, 3, 4),
        *base.split(1),
        base[0].t(),
    ]
    for v in [*views, base.view(24)[::2]]:
        assert v.untyped_storage() is base.untyped_storage()
        assert v._base is base
        version = base._version
        v[0].add_(0) if 0 not in v.stride() else base.add_(0)
        assert v._version == base._version == version + 1


def test_a_copy_is_no_view() -> None:
    x = from_array(a)
    copied = x.transpose(0, 1).reshape(24)
    assert copied._base is None
    assert copied.untyped_storage() is not x.untyped_storage()


def test_an_in_place_view_op_keeps_the_storage() -> None:
    x = from_array(a)
    storage = x.untyped_storage()
    x.transpose_(0, 2).unsqueeze_(0)
    assert x.shape == (1, 4, 3, 2) and x._base is None and x._version == 2
    assert x.untyped_storage() is storage


def test_errors_name_the_problem() -> None:
    x = from_array(a)
    with pytest.raises(RuntimeError, match="Use .reshape"):
        x.transpose(0, 1).view(24)
    with pytest.raises(RuntimeError, match=r"out of bounds for storage of size 96"):
        x.as_strided((5, 5), (5, 1))
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.select(3, 0)
