"""Pooling of volumes, backwards and fractional; grids; convolutions with channels last; packed
sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.aten.op_recipes_nn import shuffle, windows
from tests.aten.op_tensors import Recipe, Stream, TensorSpec, n


def some(test: Callable[[TensorSpec], bool]) -> Callable[[dict[str, Any]], bool]:
    return lambda values: any(test(v) for v in values.values() if isinstance(v, TensorSpec))


def unpool(dims: int) -> Recipe:
    """Every element has an index of its own in a larger plane."""

    def recipe(s: Stream) -> dict[str, Any]:
        small = tuple(n(s, 1, 4) for _ in range(dims))
        size = [2 * k for k in small]
        planes, places = n(s, 1, 3), int(np.prod(small))
        indices = np.stack([s.permutation(int(np.prod(size)))[:places] for _ in range(planes)])
        return {
            "self": (planes, *small),
            "indices": TensorSpec(indices.reshape(planes, *small).astype("int64")),
            "output_size": size, "stride": [2] * dims, "padding": [0] * dims, "floating": True,
        }  # fmt: skip

    return recipe


def fractional(dims: int) -> Recipe:
    def recipe(s: Stream) -> dict[str, Any]:
        kernel, size = [n(s, 1, 3) for _ in range(dims)], [n(s, 1, 4) for _ in range(dims)]
        batch, channels = n(s, 1, 3), n(s, 1, 3)
        inside = [k + m - 1 + n(s, dims - 2, 4) for k, m in zip(kernel, size)]
        return {
            "self": (batch, channels, *inside), "kernel_size": kernel, "output_size": size,
            "floating": True,
            "random_samples": TensorSpec(s.uniform(0, 1, (batch, channels, dims)).astype(
                "float32"
            )),
        }  # fmt: skip

    return recipe


def grid(dims: int) -> Recipe:
    """Points inside and outside, now and then exactly on an element."""

    def recipe(s: Stream) -> dict[str, Any]:
        batch, points = n(s, 1, 3), tuple(n(s, 1, 4) for _ in range(dims))
        places = s.uniform(-1.6, 1.6, (batch, *points, dims)).astype("float32")
        return {
            "input": (batch, n(s, 1, 3), *(n(s, 1, 5) for _ in range(dims))),
            "grid": TensorSpec(places),
            "interpolation_mode": n(s, 0, 3) if dims == 2 else n(s, 0, 2),
            "padding_mode": n(s, 0, 3), "align_corners": bool(n(s, 0, 2)), "floating": True,
        }  # fmt: skip

    return recipe


def affine(s: Stream) -> dict[str, Any]:
    dims, batch = n(s, 2, 4), n(s, 1, 3)
    size = [batch, 1, *(n(s, 1, 4) for _ in range(dims))]
    return {
        "theta": (batch, dims, dims + 1),
        "size": size,
        "align_corners": bool(n(s, 0, 2)),
        "floating": True,
    }


def conv_tbc(s: Stream) -> dict[str, Any]:
    c, out, kernel = n(s, 1, 4), n(s, 1, 4), n(s, 1, 4)
    return {
        "self": (n(s, 3, 6), n(s, 1, 3), c), "weight": (kernel, c, out), "bias": (out,),
        "pad": n(s, 0, 3), "floating": True,
    }  # fmt: skip


def lengths_of(s: Stream, longest: int) -> Any:
    """Of a few sequences, decreasing; the first is the longest."""
    return np.array(
        [longest, *sorted((n(s, 1, longest + 1) for _ in range(n(s, 0, 4))), reverse=True)], "int64"
    )


def padded(s: Stream) -> dict[str, Any]:
    lengths, first = lengths_of(s, n(s, 1, 5)), bool(n(s, 0, 2))
    sizes = (len(lengths), int(lengths[0])) if first else (int(lengths[0]), len(lengths))
    return {
        "input": (*sizes, n(s, 1, 4)),
        "lengths": TensorSpec(lengths),
        "batch_first": first,
        "floating": True,
    }


def packed(s: Stream) -> dict[str, Any]:
    lengths = lengths_of(s, n(s, 1, 5))
    sizes = (lengths > np.arange(lengths[0])[:, None]).sum(1)
    return {
        "data": (int(sizes.sum()), n(s, 1, 4)), "batch_sizes": TensorSpec(sizes.astype("int64")),
        "padding_value": -1.5, "batch_first": bool(n(s, 0, 2)),
        "total_length": [0, len(sizes) + 1][n(s, 0, 2)], "floating": True,
    }  # fmt: skip


RECIPES: dict[str, Recipe] = {
    "_pack_padded_sequence": padded,
    "_pad_packed_sequence": packed,
    "max_pool3d_with_indices": windows(3),
    "_adaptive_avg_pool3d": windows(3),
    "max_unpool2d": unpool(2),
    "max_unpool3d": unpool(3),
    "fractional_max_pool2d": fractional(2),
    "fractional_max_pool3d": fractional(3),
    **dict.fromkeys(["grid_sampler", "grid_sampler_2d"], grid(2)),
    "grid_sampler_3d": grid(3),
    "affine_grid_generator": affine,
    "conv_tbc": conv_tbc,
    "native_channel_shuffle": shuffle,
}

NOT_SAMPLED = {
    r"(max_pool3d_with_indices|avg_pool3d|_adaptive_avg_pool3d|fractional_max_pool\dd|grid_sampler_\dd|affine_grid_generator|"
    "conv_tbc|_pack_padded_sequence)_backward": (
        "takes what a forward pass gave: gradgradcheck of that checks it"
    ),
}

KNOWN = [
    (
        "conv_tbc",
        some(lambda t: t.layout != "plain"),
        "PyTorch asks some tensors for strides that allow a view",
    )
]

NOT_COMPARED = {"_pad_packed_sequence": "its batch sizes have to be on the CPU"}
OTHER_NODES = {"_pad_packed_sequence": "PyTorch writes step after step into a tensor, in place"}
