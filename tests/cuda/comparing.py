"""A call on the device beside the same call on the CPU: the same types, dtypes, shapes and values,
and nothing falls back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import TensorImpl
from internals.cuda import fallback
from tests.support import to_numpy

Function = Callable[..., Any]
FLOATS = ("float16", "float32", "float64")
REALS = (*FLOATS, "int64", "int32", "int8", "uint8", "bool")
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-10}


@contextmanager
def no_fallback() -> Iterator[None]:
    """Within: an operator that runs on the CPU fails the test."""
    before = fallback.fallbacks()
    yield
    after = fallback.fallbacks()
    assert after == before, f"ran on the CPU: {[op for op in after if after[op] != before.get(op)]}"


def values(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    """Small numbers with repetitions."""
    rng = np.random.default_rng(seed)
    a = (
        rng.integers(0, 2, shape)
        if dtype == "bool"
        else rng.integers(0 if dtype == "uint8" else -3, 4, shape)
    )
    a = a + rng.random(shape).round(1) if dtype in FLOATS else a
    return internals.tensor(a.tolist(), dtype=getattr(internals, dtype)).reshape(shape)


def same(ours: Any, expected: Any, tolerance: float | None = None) -> None:
    """Whether a result on the device is what it is on the CPU."""
    if isinstance(expected, (tuple, list)):
        assert type(ours) is type(expected) and len(ours) == len(expected)
        for a, b in zip(ours, expected):
            same(a, b, tolerance)
    elif expected is None:
        assert ours is None
    else:
        assert (
            ours.device.type == "cuda"
            and ours.dtype is expected.dtype
            and ours.shape == expected.shape
        )
        close = TOLERANCE.get(expected.dtype.name, 0) if tolerance is None else tolerance
        np.testing.assert_allclose(
            to_numpy(ours.detach().cpu()), to_numpy(expected.detach()), rtol=close, atol=close
        )


def compare(function: Function, *args: Any, tolerance: float | None = None) -> Any:
    """`function(*args)` on the device and on the CPU; returns what it gave on the device."""
    moved = [a.cuda() if isinstance(a, TensorImpl) else a for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with no_fallback():
            result = function(*moved)
        same(result, function(*args), tolerance)
    return result


def compare_gradients(function: Function, *args: Any, tolerance: float | None = None) -> None:
    """The gradients of a weighted sum of `function(*args)`, for all floating-point arguments, on
    the device and on the CPU.

    Elementwise steps of the derivatives may fall back; what is tested is that they come to the
    same.
    """
    gradients = []
    for device in ("cpu", "cuda"):
        moved = [a.detach().to(device) if isinstance(a, TensorImpl) else a for a in args]
        leaves = [
            a.requires_grad_() for a in moved if isinstance(a, TensorImpl) and a.is_floating_point()
        ]
        result = function(*moved)
        result = result[0] if isinstance(result, tuple) else result
        weights = (
            internals.arange(1, result.numel() + 1)
            .to(result.dtype)
            .reshape(result.shape)
            .to(device)
        )
        (result * weights).sum().backward()
        gradients.append([leaf.grad for leaf in leaves])
    same(gradients[1], gradients[0], tolerance)


def same_error(function: Function, *args: Any) -> None:
    """`function(*args)` is refused on both devices, with the same words."""
    said = []
    for device in ("cpu", "cuda"):
        moved = [a.to(device) if isinstance(a, TensorImpl) else a for a in args]
        try:
            function(*moved)
        except Exception as error:
            said.append((type(error), str(error)))
        else:
            raise AssertionError(f"no error on {device}")
    assert said[0] == said[1]
