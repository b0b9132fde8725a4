"""One layer on the compiled kernels with an algorithm of the test's choice, and the same by the
operators in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import internals
from internals.aten.compiled.convolution.algorithms import Algorithm, Depthwise, Direct, Winograd
from internals.aten.compiled.convolution.choice import Choice
from internals.aten.compiled.convolution.layers import Convolution, Layer
from internals.aten.compiled.convolution.network import Network

F = internals.nn.functional
stream = np.random.default_rng(20261121)


def numbers(*sizes: int) -> Any:
    return stream.standard_normal(sizes).astype(np.float32)


def using(algorithm: Algorithm | None = None) -> Any:
    """A chooser for `Network`: always this one, or what fits without trying. Few different kernels,
    so that tests are quick.
    """

    def choose(p: Any, scratch: Any, tell: Callable[[], None]) -> Any:
        found = algorithm
        width = p.out.sizes[3]
        if found is None and p.depthwise and p.x.lanes > 1:
            found = Depthwise(min(4, width))
        elif found is None:
            found = Direct(1, min(2, width), 1)
        return Choice(found, 1.0, 0), found.make(p, scratch)

    return choose


def run(
    layers: Sequence[Layer],
    *inputs: Any,
    algorithm: Algorithm | None = None,
    outputs: Sequence[int] | None = None,
    threads: int = 1,
) -> list[Any]:
    outputs = [layers[-1].output] if outputs is None else outputs
    return Network(
        layers, outputs, [x.shape for x in inputs], threads, chooser=using(algorithm)
    ).run(inputs)


def convolution(
    channels: int,
    outputs: int,
    kernel: tuple[int, int],
    groups: int = 1,
    bias: bool = True,
    **sizes: Any,
) -> Convolution:
    weight = numbers(outputs, channels // groups, *kernel)
    return Convolution((0,), 1, weight, numbers(outputs) if bias else None, groups=groups, **sizes)


def exact(layer: Convolution, x: Any, residual: Any = None) -> Any:
    """The layer by the ordinary operator, in float64."""
    t = [
        None if a is None else internals.from_numpy(a.astype(np.float64))
        for a in (x, layer.weight, layer.bias)
    ]
    y = F.conv2d(*t, layer.stride, layer.padding, layer.dilation, layer.groups).numpy()
    if residual is not None:
        y = y + residual
    return np.clip(y, layer.low, layer.high)


def error(result: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number."""
    assert result.shape == expected.shape
    assert result.dtype == np.float32
    return float(np.max(np.abs(result - expected)) / max(np.max(np.abs(expected)), 1e-30))


__all__ = [
    "Depthwise",
    "Direct",
    "Winograd",
    "convolution",
    "error",
    "exact",
    "numbers",
    "run",
    "using",
]
