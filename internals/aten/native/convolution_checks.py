"""Checks of a convolution's arguments, and the sizes of its result (`check_shape_forward` in
`Convolution.cpp`).

The kernels of every backend begin with `checked_arguments`.

How the real one differs: some of these checks are made in the backend that was chosen, with its own
texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.dtype_checks import check_same_dtype
from internals.core.tensor_impl import Tensor


def checked_arguments(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> tuple[list[int], list[int], list[int], tuple[int, ...]]:
    """Stride, padding and dilation with an entry for each dimension, and the sizes of the result.

    `weight` is (out, in / groups, *kernel), transposed (in, out / groups, *kernel). An input
    without channels gives a result without channels, as in PyTorch, whatever the weight's sizes.

    Raises RuntimeError for sizes, strides or dtypes that do not fit together.
    """
    n = weight.dim() - 2
    if n < 1:
        raise RuntimeError("weight should have at least three dimensions")
    stride, padding, dilation, output_padding = (
        spread(v, n, name)
        for v, name in (
            (stride, "stride"),
            (padding, "padding"),
            (dilation, "dilation"),
            (output_padding, "output_padding"),
        )
    )
    _check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    rows = zip(
        tuple(input.shape)[2:], tuple(weight.shape)[2:], stride, padding, dilation, output_padding
    )
    if transposed:
        # the size of an input whose convolution has i outputs; output_padding picks one of several
        sizes = [(i - 1) * s - 2 * p + d * (k - 1) + o + 1 for i, k, s, p, d, o in rows]
        channels = weight.shape[1] * groups
    else:
        # a dilated kernel covers d * (k - 1) + 1 elements; it starts at every s-th one
        sizes = [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d, o in rows]
        channels = weight.shape[0]
    return stride, padding, dilation, (input.shape[0], channels if input.shape[1] else 0, *sizes)


def empty_gradients(
    input: Tensor, weight: Tensor, bias_sizes: Sequence[int] | None, output_mask: Sequence[bool]
) -> tuple[Any, Any, Any]:
    """The result of `convolution_backward` for an input without channels: zeros in the sizes of
    input, weight and bias, or None where `output_mask` does not ask for them.
    """
    zeros = [
        ops.new_zeros(input, sizes, None, None, None, None) if asked else None
        for sizes, asked in zip((input.shape, weight.shape, bias_sizes), output_mask)
    ]
    return zeros[0], zeros[1], zeros[2]


def spread(values: Sequence[int], n: int, name: str) -> list[int]:
    """A list of `n` entries, one for each dimension; a single value counts for all of them.

    Raises RuntimeError for any other number of values.
    """
    if len(values) not in (1, n):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the "
            f"convolution dimensions, but got {name}={list(values)}"
        )
    return list(values) * n if len(values) == 1 and n != 1 else list(values)


def _check(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> None:
    """Raises RuntimeError, in PyTorch's order and words, for arguments that do not fit together."""
    n, w = weight.dim() - 2, list(weight.shape)
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {dilation}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    check_same_dtype(input, weight)
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({_c_name(input)}) and bias type ({_c_name(bias)}) should be the same"
        )
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {w} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{w}] instead"
        )
    channels = w[0] if transposed else w[1] * groups
    if input.size(1) != channels:
        which = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {which}, weight of size {w}, expected input{list(input.shape)} to have "
            f"{channels} channels, but got {input.shape[1]} channels instead"
        )
    outputs = w[1] * groups if transposed else w[0]
    if bias is not None and list(bias.shape) != [outputs]:
        which = f"Given transposed={int(transposed)}, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{which} of size {w}, expected bias to be 1-dimensional with {outputs} elements, but "
            f"got bias of size {list(bias.shape)} instead"
        )
    if transposed:
        _check_not_empty(input, w, no_outputs=not w[1])
        if n <= 3 and any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation)):
            named = (
                ("output_padding", output_padding, 0),
                ("stride", stride, 1),
                ("dilation", dilation, 1),
            )
            # PyTorch computes one dimension as two: an added height has padding 0 and stride 1
            got = " ".join(
                f"{name}_{axis}: {v}"
                for name, values, plain in named
                for axis, v in zip(
                    ("depth", "height", "width")[3 - max(n, 2) :], [plain] * (2 - n) + values
                )
            )
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got {got}"
            )
        rows = zip(input.shape[2:], w[2:], stride, padding, dilation, output_padding)
        results = [(i - 1) * s - 2 * p + d * (k - 1) + o + 1 for i, k, s, p, d, o in rows]
        if any(size < 1 for size in results):
            plane = [1] * (2 - n)  # one dimension is computed as two
            raise RuntimeError(
                "Given input size per channel: "
                f"({' x '.join(map(str, [*plane, *input.shape[2:]]))}). Calculated output size per "
                f"channel: ({' x '.join(map(str, [*plane, *results]))}). Output size is too small"
            )
        return
    padded = [s + 2 * p for s, p in zip(tuple(input.shape)[2:], padding)]
    # the elements that a dilated kernel reaches over
    reach = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    if any(r > s for r, s in zip(reach, padded)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel "
            "size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )
    _check_not_empty(input, w)


def _check_not_empty(input: Tensor, weight: list[int], no_outputs: bool = False) -> None:
    """Raises RuntimeError for an empty image, kernel or weight. An empty batch and an input without
    channels are allowed.
    """
    plane = [1] * (4 - len(weight))  # one dimension is computed as two
    batch, channels, *image = input.shape
    if batch and channels and 0 in image:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{[batch, channels, *plane, *image]}"
        )
    if channels and 0 in weight[2:]:
        got = (
            " kernel_height: {} kernel_width: {}".format(*plane, *weight[2:])
            if len(weight) < 5
            else f": {' x '.join(map(str, weight[2:]))} (TxHxW)"
        )
        raise RuntimeError(f"kernel size should be greater than zero, but got{got}")
    if channels and no_outputs:
        raise RuntimeError(
            f"non-empty weight tensor expected, but got: {weight[:2] + plane + weight[2:]}"
        )


def _c_name(t: Any) -> str:
    """The C++ type of a tensor's elements, as it stands in PyTorch's messages."""
    return {
        "float32": "float",
        "float64": "double",
        "float16": "c10::Half",
        "int64": "long int",
    }.get(t.dtype.name, t.dtype.name)
