"""cat, stack, flip, roll, repeat, triangles, gradients of views and ranges on the device: what the
CPU gives.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals.core.tensor_impl import array
from internals.cuda.fallback import no_fallback
from tests.cuda.indexing_support import MOVABLE, numbers, same_on_both


@pytest.mark.parametrize("dtype", MOVABLE, ids=str)
def test_every_dtype_is_moved(dtype: Any) -> None:
    x = numbers(3, 4, dtype=dtype)
    same_on_both(lambda x: torch.cat([x, x[:1]]), x)
    same_on_both(lambda x: torch.stack([x, x], 1), x)
    same_on_both(lambda x: x.flip(0, 1), x)
    same_on_both(lambda x: x.roll(1), x)
    same_on_both(lambda x: x.repeat(2, 1, 2), x)
    same_on_both(lambda x: x.tril(), x)
    same_on_both(lambda x: x.triu(-1), x)


def test_cat() -> None:
    x, y = numbers(2, 3), numbers(2, 1, seed=1)
    same_on_both(lambda x, y: torch.cat([x, y, x], 1), x, y, grad=True)
    same_on_both(lambda x, y: torch.cat([x.t(), y.t()]), x, y, grad=True)
    same_on_both(lambda x: torch.cat([x, x.to(torch.int64), torch.empty(0, device=x.device)]), x)
    same_on_both(lambda x: torch.cat([x[:0], x]), x)
    same_on_both(lambda x: torch.stack([x, x * 2], -1), x, grad=True)
    images = numbers(2, 3, 2, 2).to(memory_format=torch.channels_last)
    same_on_both(lambda x: torch.cat([x, x], 1), images)
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([x.cuda(), y.cuda()])
    out = torch.empty(0, device="cuda")
    assert torch.cat([x.cuda(), x.cuda()], out=out) is out and tuple(out.shape) == (4, 3)


@pytest.mark.parametrize("call", [
    lambda x: x.flip(1), lambda x: x.flip(0, 2), lambda x: x.permute(2, 0, 1).flip(0),
    lambda x: x.flip(()),
    lambda x: x.roll(2), lambda x: x.roll((1, -1), (0, 2)),
    lambda x: x.permute(2, 0, 1).roll(1), lambda x: x.roll((1, 1), (1, 1)),
    lambda x: x.repeat(1, 2, 1), lambda x: x.repeat(2, 1, 1, 3),
    lambda x: x.permute(2, 0, 1).repeat(1, 1, 2),
    lambda x: x.tril(1), lambda x: x.triu(), lambda x: x.transpose(1, 2).tril(-1),
])  # fmt: skip
def test_moved_elements_and_their_gradients(call: Any) -> None:
    same_on_both(call, numbers(2, 3, 4), grad=True)


def test_no_elements_and_no_dimensions() -> None:
    for x in (numbers(0, 3), numbers(2, 0)):
        for call in (
            lambda x: x.flip(0),
            lambda x: x.roll(1, 0),
            lambda x: x.repeat(2, 2),
            lambda x: x.tril(),
        ):
            same_on_both(call, x)
    same_on_both(lambda x: x.flip(()), numbers())
    same_on_both(lambda x: x.repeat(3), numbers())


def test_triangles_in_place() -> None:
    def both(x: Any) -> Any:
        return x.clone().tril_().triu_(-1)

    same_on_both(both, numbers(3, 3))


@pytest.mark.parametrize("call", [
    lambda x: x[1], lambda x: x[:, 1:], lambda x: x[::2], lambda x: x.diagonal(1),
    lambda x: x.unfold(1, 2, 1), lambda x: x.unfold(0, 3, 2), lambda x: x.unfold(1, 1, 3),
    lambda x: x.narrow(0, 1, 2).select(1, 0),
])  # fmt: skip
def test_gradients_of_views(call: Any) -> None:
    same_on_both(call, numbers(5, 4), grad=True)


@pytest.mark.parametrize(
    "dtype", [torch.int32, torch.int64, torch.float16, torch.float32, torch.float64], ids=str
)
def test_ranges(dtype: Any) -> None:
    with no_fallback():
        for made in (
            lambda where: torch.arange(7, dtype=dtype, device=where),
            lambda where: torch.arange(10, 1, -2, dtype=dtype, device=where),
            lambda where: torch.linspace(0, 8, 5, dtype=dtype, device=where),
            lambda where: torch.linspace(3, 3, 1, dtype=dtype, device=where),
            lambda where: torch.eye(3, 2, dtype=dtype, device=where),
        ):
            x = made("cuda")
            assert x.is_cuda and array(x.cpu()).tolist() == array(made("cpu")).tolist()


def test_floats_are_counted_in_their_own_precision() -> None:
    x = torch.arange(0, 1, 0.1, device="cuda")
    assert torch.allclose(x.cpu(), torch.arange(0, 1, 0.1), rtol=1e-6)
    assert torch.linspace(0, 1, 11, device="cuda")[-1].item() == 1
