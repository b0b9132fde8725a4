"""A region of a network as the kernels see it: a list of layers, and the values between them by
number.

The list says nothing about memory or algorithms; `network.py` decides that when the sizes are
known. `fuse` writes it shorter first: what only changes a convolution's result on its way out is
done by the convolution, before it stores:

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
    for the result.
    """

    inputs: tuple[int, ...]
    output: int
    low: float = field(default=-inf, kw_only=True)
    high: float = field(default=inf, kw_only=True)


@dataclass(frozen=True)
class Convolution(Layer):
    """`weight` (O, C/groups, kh, kw), `bias` (O,) or None: arrays. A second input, if any, is added
    to the result.
    """

    weight: Any
    bias: Any
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1


@dataclass(frozen=True)
class Linear(Layer):
    """`weight` (O, I), `bias` (O,) or None, for rows of I numbers; a second input, if any, is
    added. Pictures are flattened before."""

    weight: Any
    bias: Any


@dataclass(frozen=True)
class MaxPool(Layer):
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    ceil_mode: bool = False


@dataclass(frozen=True)
class AveragePool(Layer):
    """Zeros of the padding count. A kernel of None is as large as the picture."""

    kernel: tuple[int, int] | None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Sum(Layer):
    """The sum of two values of the same size, or one value, between `low` and `high`."""


@dataclass(frozen=True)
class Flatten(Layer):
    """From the first dimension on; nothing happens in memory."""


def fuse(layers: Sequence[Layer], outputs: Sequence[int]) -> list[Layer]:
    """The list with sums and bounds moved into the convolutions before them."""
    found = list(layers)
    while (pair := _fusible(found, outputs)) is not None:
        first, second = pair
        a, b = found[first], found[second]
        merged = replace(a, output=b.output, low=b.low, high=b.high)
        if len(b.inputs) == 2:
            other = b.inputs[1] if b.inputs[0] == a.output else b.inputs[0]
            merged = replace(merged, inputs=(*a.inputs, other))
        found[second] = merged  # where the other term of a sum is known
        del found[first]
    return found


def _fusible(layers: list[Layer], outputs: Sequence[int]) -> tuple[int, int] | None:
    """The positions of a layer and of the sum or bounds that can go into it."""
    writers = {layer.output: i for i, layer in enumerate(layers)}
    reads = [v for layer in layers for v in layer.inputs] + list(outputs)
    for j, after in enumerate(layers):
        if type(after) is not Sum:
            continue
        for v in sorted(after.inputs, key=lambda v: -writers.get(v, -1)):
            # rather the later of two convolutions
            i = writers.get(v)
            if i is None or reads.count(v) != 1:
                continue
            a = layers[i]
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
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        return 0
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


class Unsupported(Exception):
    """These layers or sizes are none that the kernels are written for; the ordinary operators
    are.
    """
