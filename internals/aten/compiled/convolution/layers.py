"""A region of a network as the kernels see it: a list of layers, which read and write numbered
values.

The list says nothing about memory or algorithms; `network.py` decides that when the sizes are
known. `fuse` shortens it first: a convolution does the operations on its result itself, before it
stores it:

    conv, relu          ->  conv with low=0
    conv, hardtanh      ->  conv with low, high
    conv, add           ->  conv with a residual
    conv, add, relu     ->  conv with a residual and low=0

How the real one differs: oneDNN calls these post-ops; Inductor's fusion for them is
`torch/_inductor/fx_passes/mkldnn_fusion.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import Any

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """The fields of all layers: the numbers of the values read and of the one written, and bounds
    that the result is clamped to.
    """

    inputs: tuple[int, ...]
    output: int
    low: float = field(default=-inf, kw_only=True)
    high: float = field(default=inf, kw_only=True)


@dataclass(frozen=True)
class Convolution(Layer):
    """A convolution with `weight` (O, C/groups, kh, kw) and `bias` (O,) or None, both arrays. A
    second input, if any, is added to the result.
    """

    weight: Any
    bias: Any
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1


@dataclass(frozen=True)
class Linear(Layer):
    """A linear layer with `weight` (O, I) and `bias` (O,) or None, for rows of I numbers. A second
    input, if any, is added to the result."""

    weight: Any
    bias: Any


@dataclass(frozen=True)
class MaxPool(Layer):
    """The largest element of each window of an (N, C, H, W) value; padding counts as -inf."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    ceil_mode: bool = False


@dataclass(frozen=True)
class AveragePool(Layer):
    """The mean of each window, in which the zeros of the padding count. A kernel of None is as
    large as the picture."""

    kernel: tuple[int, int] | None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Sum(Layer):
    """The sum of two values of the same size, or a single value, clamped to `low` and `high`."""


@dataclass(frozen=True)
class Flatten(Layer):
    """(N, C, H, W) as (N, C * H * W). Only the sizes change, not the memory."""


def fuse(layers: Sequence[Layer], outputs: Sequence[int]) -> list[Layer]:
    """The list with sums and bounds moved into the convolutions before them."""
    found = list(layers)
    while (pair := _fusible(found, outputs)) is not None:
        first, second = pair
        a, b = found[first], found[second]
        merged = replace(a, output=b.output, low=b.low, high=b.high)
        if len(b.inputs) == 2:  # the other term becomes the residual
            other = b.inputs[1] if b.inputs[0] == a.output else b.inputs[0]
            merged = replace(merged, inputs=(*a.inputs, other))
        found[second] = merged  # not at `first`: the other term may be computed in between
        del found[first]
    return found


def _fusible(layers: list[Layer], outputs: Sequence[int]) -> tuple[int, int] | None:
    """The positions of a layer and of a `Sum` that it can do itself; None if there are no more."""
    writers = {layer.output: i for i, layer in enumerate(layers)}
    reads = [v for layer in layers for v in layer.inputs] + list(outputs)
    for j, after in enumerate(layers):
        if type(after) is not Sum:
            continue
        for v in sorted(after.inputs, key=lambda v: -writers.get(v, -1)):
            # of two convolutions the later one: the other's result is known by then
            i = writers.get(v)
            if i is None or reads.count(v) != 1:
                continue  # an input of the network, or a value that others read too
            a = layers[i]
            # a layer with bounds clamps before the sum, which the kernels cannot do
            plain = a.low == -inf and a.high == inf
            if not plain:
                continue
            if len(after.inputs) == 1 and isinstance(a, (Convolution, Linear, Sum)):
                return i, j
            if (
                len(after.inputs) == 2
                and isinstance(a, (Convolution, Linear))
                and len(a.inputs) == 1
            ):
                return i, j
    return None


def output_sizes(layer: Layer, sizes: Sequence[Sizes]) -> Sizes:
    """The size of a layer's result. Raises Unsupported where the layer cannot be done for inputs of
    these sizes.
    """
    first = sizes[0]
    # layers of rows, (N, I) or (N, L, I), and of any sizes
    if isinstance(layer, Flatten):
        if len(first) not in (2, 4):
            raise Unsupported(f"flattening {first}")
        return first[0], prod(first[1:])
    if isinstance(layer, Linear):
        if len(first) not in (2, 3) or first[-1] != layer.weight.shape[1]:
            raise Unsupported(f"a linear layer of {layer.weight.shape[1]} inputs for {first}")
        rows = *first[:-1], layer.weight.shape[0]
        if len(layer.inputs) == 2 and sizes[1] != rows:
            raise Unsupported("a sum that broadcasts")
        return rows
    if isinstance(layer, Sum):
        if any(s != first for s in sizes):
            raise Unsupported(f"a sum that broadcasts {sizes}")
        return first
    # layers of pictures, (N, C, H, W)
    if len(first) != 4:
        raise Unsupported(f"pictures have 4 dimensions, not {len(first)}")
    n, c, h, w = first
    if isinstance(layer, Convolution):
        if c != layer.weight.shape[1] * layer.groups:
            raise Unsupported(
                f"a convolution of {layer.weight.shape[1] * layer.groups} channels for {c}"
            )
        kernel: Sizes = layer.weight.shape[2:]
        rows, columns = zip(kernel, layer.stride, layer.padding, layer.dilation)
        result: Sizes = (n, layer.weight.shape[0], _windows(h, *rows), _windows(w, *columns))
        if len(layer.inputs) == 2 and sizes[1] != result:
            raise Unsupported("a sum that broadcasts")
    elif isinstance(layer, MaxPool):
        rows, columns = zip(layer.kernel, layer.stride, layer.padding, layer.dilation)
        result = n, c, _windows(h, *rows, layer.ceil_mode), _windows(w, *columns, layer.ceil_mode)
    elif isinstance(layer, AveragePool):
        of_rows, of_columns = zip(layer.kernel or (h, w), layer.stride, layer.padding)
        result = n, c, _windows(h, *of_rows, 1), _windows(w, *of_columns, 1)
    else:
        raise Unsupported(f"{type(layer).__name__}")
    if min(result) < 1:
        raise Unsupported(f"an empty result {result}")
    return result


def _windows(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False
) -> int:
    """How many windows lie along a dimension of `size`."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        return 0
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1  # the last window would begin in the padding on the right
    return count


class Unsupported(Exception):
    """Raised for layers or sizes that the kernels cannot do; the ordinary operators can."""
