"""Memory from outside may begin anywhere: the content of a message does, and its elements then lie
at odd addresses.

numpy knows (`flags.aligned`) and takes care; compiled kernels are given the address. They must
compute what they do elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as torch
import internals.nn.functional as F
from internals import jit, nn
from internals.jit.fuser import fuser, last_kernels

random = np.random.default_rng(0)


def floats(*sizes: int, dtype: Any = np.float32) -> Any:
    return random.standard_normal(sizes).astype(dtype)


def at_odd_address(a: Any, by: int) -> Any:
    """A tensor with the contents of an array, whose elements lie `by` bytes after an address that
    would be right for them.
    """
    memory = bytearray(a.nbytes + 64 + by)
    offset = -np.frombuffer(memory, np.uint8).ctypes.data % 64 + by
    memory[offset : offset + a.nbytes] = a.tobytes()
    t = torch.frombuffer(
        memory, dtype=getattr(torch, a.dtype.name), count=a.size, offset=offset
    ).reshape(a.shape)
    assert t.data_ptr() % a.itemsize and not t.numpy().flags.aligned
    return t


def fused(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * y + torch.sigmoid(y - x)


PICTURE = floats(2, 8, 20, 20)
OPERATORS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "exp": (torch.exp, [floats(100, 700)]),
    "add": (lambda x, y: x + y * 2, [floats(100, 700), floats(100, 700)]),
    "sum": (lambda x: x.sum(0), [floats(100, 700)]),
    "softmax": (lambda x: torch.softmax(x, -1), [floats(100, 700)]),
    "layer norm": (
        lambda x, w, b: F.layer_norm(x, (700,), w, b),
        [floats(100, 700), floats(700), floats(700)],
    ),
    "linear": (F.linear, [floats(40, 300), floats(20, 300), floats(20)]),
    "small product": (torch.mm, [floats(3, 5), floats(5, 4)]),
    "batched product": (torch.bmm, [floats(6, 20, 30), floats(6, 30, 20)]),
    "product of doubles": (
        torch.mm,
        [floats(40, 50, dtype=np.float64), floats(50, 60, dtype=np.float64)],
    ),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1), [PICTURE, floats(16, 8, 3, 3)]),
    "depthwise": (lambda x, w: F.conv2d(x, w, groups=8), [PICTURE, floats(8, 1, 3, 3)]),
    "pooling": (lambda x: F.max_pool2d(x, 3, 2, 1), [PICTURE]),
    "embedding": (F.embedding, [random.integers(0, 50, (8, 30)), floats(50, 64)]),
    "attention": (
        F.scaled_dot_product_attention,
        [floats(2, 4, 30, 16), floats(2, 4, 30, 16), floats(2, 4, 30, 16)],
    ),
    "sort": (lambda x: torch.sort(x)[0], [floats(20, 700)]),
    "transposed copy": (lambda x: x.t().contiguous(), [floats(100, 700)]),
    "integers": (lambda x: (x * 3).sum(1), [random.integers(0, 9, (100, 300))]),
    "in place": (lambda x: x.mul_(2.0).relu_(), [floats(100, 700)]),
}


@pytest.mark.parametrize("by", [1, 2])
@pytest.mark.parametrize("name", OPERATORS)
def test_elements_at_odd_addresses_are_computed_with_like_any_others(name: str, by: int) -> None:
    f, arrays = OPERATORS[name]
    expected = f(*[torch.tensor(a) for a in arrays]).numpy()
    np.testing.assert_array_equal(f(*[at_odd_address(a, by) for a in arrays]).numpy(), expected)


def test_a_fused_kernel_reads_odd_addresses() -> None:
    x, y = floats(100, 700), floats(100, 700)
    with fuser(threshold=0, synchronous=True):
        f = jit.script(fused)
        expected = f(torch.tensor(x), torch.tensor(y)).numpy()
        result = f(at_odd_address(x, 1), at_odd_address(y, 3))
        assert last_kernels()[-1].state == "ready"
        np.testing.assert_array_equal(result.numpy(), expected)


def test_packed_convolutions_read_a_picture_from_an_odd_address() -> None:
    model = jit.optimize(
        nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3)).eval()
    )
    picture = floats(2, 3, 20, 20)
    with torch.no_grad():
        expected = model(torch.tensor(picture)).numpy()
        np.testing.assert_array_equal(model(at_odd_address(picture, 1)).numpy(), expected)


def test_packed_rows_are_read_from_an_odd_address() -> None:
    """Rows of full blocks are not packed: the kernel reads them where the caller has them."""
    model = jit.optimize(
        nn.Sequential(nn.Conv2d(16, 16, 1), nn.Flatten(), nn.Linear(16, 32)).eval()
    )
    pixels = floats(4, 16, 1, 1)
    with torch.no_grad():
        expected = model(torch.tensor(pixels)).numpy()
        np.testing.assert_array_equal(model(at_odd_address(pixels, 1)).numpy(), expected)
