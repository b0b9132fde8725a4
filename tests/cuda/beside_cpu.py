"""What the tests of products, convolutions and poolings share: the same call on the CPU and on the
device, and no fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import internals
from internals.core import dtype as dt
from internals.core.tensor_impl import TensorImpl
from internals.cuda.fallback import fallbacks

Function = Callable[..., Any]
TOLERANCE = {dt.float16: (2e-2, 2e-2), dt.float32: (1e-4, 1e-5), dt.float64: (1e-9, 1e-10)}


def random_tensor(sizes: Any, dtype: dt.dtype = dt.float32, seed: int = 0) -> Any:
    """Normally distributed, or small ints."""
    rng = np.random.default_rng([seed, *sizes])
    values = (
        rng.standard_normal(sizes)
        if dtype.is_floating_point or dtype.is_complex
        else rng.integers(0, 5, sizes)
    )
    return internals.tensor(values, dtype=dtype)


@contextmanager
def on_the_device_alone() -> Iterator[None]:
    """Within: no operator may go to the CPU. Afterwards: none did."""
    before = fallbacks()
    yield
    assert fallbacks() == before


def moved(value: Any) -> Any:
    """`value` with its tensors on the device, strides and all."""
    if isinstance(value, TensorImpl):
        like: Any = value
        on_device = internals.empty_strided(
            like.shape, like.stride(), dtype=like.dtype, device="cuda"
        )
        return on_device.copy_(like)
    return [moved(v) for v in value] if isinstance(value, list) else value


def compare(function: Function, *args: Any, **options: Any) -> Any:
    """Call `function` on the CPU and on the device: the same sizes, strides, dtypes and, almost,
    elements. Returns the latter.
    """
    expected = function(*args, **options)
    device_args = [moved(a) for a in args]
    with on_the_device_alone():
        got = function(*device_args, **options)
    for e, g in zip(as_tuple(expected), as_tuple(got), strict=True):
        if e is not None:
            same(g, e)
    return got


def compare_gradients(function: Function, *args: Any, grad_seed: int = 7) -> None:
    """The gradients of `function`'s first result with respect to all floating arguments, on the CPU
    and on the device.
    """
    found = []
    for place in (lambda t: t, moved):
        leaves = [
            place(a.detach()).requires_grad_()
            if isinstance(a, TensorImpl) and a.dtype.is_floating_point
            else place(a)
            for a in args
        ]
        result = as_tuple(function(*leaves))[0]
        gradient = place(random_tensor(tuple(result.shape), result.dtype, grad_seed))
        with on_the_device_alone():
            result.backward(gradient)
        found.append(
            [
                leaf.grad
                for leaf in leaves
                if isinstance(leaf, TensorImpl) and leaf.dtype.is_floating_point
            ]
        )
    for on_cpu, on_device in zip(*found, strict=True):
        same(on_device, on_cpu, strides=False)


def same(got: Any, expected: Any, strides: bool = True) -> None:
    """Whether a tensor of the device says what one of the CPU does, and has its strides."""
    assert got.device.type == "cuda"
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.stride() == expected.stride() or not strides
    rtol, atol = TOLERANCE.get(expected.dtype, (0, 0))
    np.testing.assert_allclose(got.cpu().numpy(), expected.numpy(), rtol, atol)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
