"""Arguments that fit together, for the operators whose tensors must: matrices, convolutions,
indices, losses.

`RECIPES[name](stream)` gives some of the arguments by name, those of all overloads at once
(a key like "histogramdd.int_bins" is for one of them); a tuple stands for a tensor of these
sizes. `"floating": True` says that only floating dtypes make sense.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.schema import FunctionSchema
from tests.aten import op_recipes_nn as nn
from tests.aten.areas import table
from tests.aten.op_tensors import (
    Dtype,
    Recipe,
    Stream,
    TensorSpec,
    integers,
    n,
    related,
    shape,
    tensor,
    uniform,
)


def _mm(s: Stream) -> dict[str, Any]:
    a, b, c = n(s, 0), n(s, 0), n(s)
    return {"self": (a, b), "mat2": (b, c)}


def _bmm(s: Stream) -> dict[str, Any]:
    k, a, b, c = n(s), n(s, 0), n(s, 0), n(s)
    return {"self": (k, a, b), "mat2": (k, b, c)}


def _addmm(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s, 0), n(s)
    return {"self": (a, c), "mat1": (a, b), "mat2": (b, c)}


def _addmv(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s, 0)
    return {"self": (a,), "mat": (a, b), "vec": (b,)}


def _mv(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s, 0)
    return {"self": (a, b), "vec": (b,)}


def _addbmm(s: Stream) -> dict[str, Any]:
    k, a, b, c = n(s), n(s), n(s), n(s)
    return {"self": (a, c), "batch1": (k, a, b), "batch2": (k, b, c)}


def _baddbmm(s: Stream) -> dict[str, Any]:
    k, a, b, c = n(s), n(s), n(s), n(s)
    return {"self": (k, a, c), "batch1": (k, a, b), "batch2": (k, b, c)}


def _vectors(s: Stream) -> dict[str, Any]:
    a = n(s, 0)
    return {"self": (a,), "tensor": (a,), "vec2": (n(s),)}


def _matmul(s: Stream) -> dict[str, Any]:
    a, b, c, k = n(s), n(s), n(s), n(s)
    return {
        "self": [(b,), (a, b), (k, a, b), (2, 1, a, b)][n(s, 0, 4)],
        "other": [(b,), (b, c), (k, b, c), (3, b, c)][n(s, 0, 4)],
    }


def _linear(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s), n(s)
    return {
        "input": [(b,), (a, b), (2, a, b)][n(s, 0, 3)],
        "weight": (c, b),
        "bias": (c,) if s.random() < 0.7 else None,
    }


def _einsum(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s), n(s)
    x, y = tensor(s, (a, b), "float32"), tensor(s, (b, c), "float32")
    return [
        {"equation": "ij,jk->ik", "tensors": [x, y], "path": None},
        {"equation": "ij->ji", "tensors": [x], "path": None},
        {"equation": "...j->...", "tensors": [x], "path": None},
        {"equation": "ij,jk", "tensors": [x, y], "path": None},
    ][n(s, 0, 4)]


def _indexed(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    count = n(s, 0)
    return {
        "self": sizes, "dim": dim, "index": integers(s, (count,), sizes[dim]),
        "source": (*sizes[:dim], count, *sizes[dim + 1 :]),
    }  # fmt: skip


def _scattered(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    index = tuple(n(s, 1, k + 1) for k in sizes)
    return {
        "self": sizes,
        "dim": dim,
        "index": integers(s, index, sizes[dim]),
        "src": sizes,
        "reduce": str(s.choice(["add", "multiply"])),
    }


def _index(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    k = n(s, 0)
    indices = [None if s.random() < 0.3 else integers(s, (k,), d) for d in sizes]
    if all(i is None for i in indices):
        indices[0] = integers(s, (k,), sizes[0])
    return {"self": sizes, "indices": indices, "values": (1,)}


def _where(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "condition": tensor(s, related(s, sizes), "bool"),
        "self": sizes,
        "other": related(s, sizes),
    }


def _squares(s: Stream) -> dict[str, Any]:
    return {"self": tuple(n(s, 0) for _ in range(n(s, 1, 4)))}


def _narrow(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    start = n(s, 0, sizes[dim] + 1)
    length = n(s, 0, sizes[dim] - start + 1)
    return {
        "self": sizes,
        "dim": dim,
        "start": start,
        "length": length,
        "index": n(s, -sizes[dim], sizes[dim]),
        "size": n(s, 1, 3),
        "step": n(s, 1, 3),
    }


def _split(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s)))
    dim = n(s, 0, len(sizes))
    k = n(s, 0, sizes[dim] + 1)
    return {
        "self": sizes,
        "dim": dim,
        "split_sizes": [k, sizes[dim] - k],
        "split_size": [k, sizes[dim] - k],
        "chunks": n(s),
    }


def _split_tensor(s: Stream) -> dict[str, Any]:
    return {**_split(s), "split_size": n(s)}


def _strided(s: Stream) -> dict[str, Any]:
    return {
        "self": TensorSpec(np.arange(24.0)),
        "size": [n(s, 0), n(s)],
        "stride": [n(s, 0), n(s, 0)],
        "storage_offset": n(s, 0, 4),
    }


def _expand(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    target = [n(s), *[n(s) if k == 1 else (k if s.random() < 0.6 else -1) for k in sizes]]
    given = {"self": sizes, "size": target[int(s.random() < 0.5) :]}
    # implicit ones are taken out of a script, where autograd and fusers put them back
    return {**given, "implicit": False}


def _probabilities(s: Stream) -> dict[str, Any]:
    k = n(s, 2)
    return {
        "self": uniform(s, (n(s), k)),
        "num_samples": n(s, 1, k + 1),
        "p": 0.3,
        "generator": None,
    }


def _sized(s: Stream) -> dict[str, Any]:
    low = n(s, -3, 2)
    return {
        "size": list(shape(s)),
        "low": low,
        "high": low + n(s),
        "steps": n(s, 0, 8),
        "generator": None,
        "n": n(s, 0, 6),
        "m": n(s, 0, 6),
        "from": low,
        "to": low + 5,
        "stride": None,
    }


def _range(s: Stream) -> dict[str, Any]:
    start, end = n(s, -3, 3), n(s, 0, 6)
    return {
        "start": start,
        "end": end + 0.5 * n(s, 0, 2),
        "step": [1, 2, 0.5, -1][n(s, 0, 4)],
        "dtype": None if s.random() < 0.5 else Dtype("float32"),
    }


def _flat(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s, 1, 4)))
    return {
        "self": sizes,
        "dim": -1,
        "sizes": [1, -1],
        "dimension": n(s, 0, len(sizes)),
        "size": n(s, 1, 3),
        "step": n(s, 1, 3),
    }


def _repeats(s: Stream) -> dict[str, Any]:
    k = n(s)
    return {"self": (k, 2), "dim": 0, "repeats": integers(s, (k,), 3), "output_size": None}


def _repeats_int(s: Stream) -> dict[str, Any]:
    return {"self": shape(s), "repeats": n(s, 0, 3), "output_size": None}


def _uniform(s: Stream) -> dict[str, Any]:
    return {
        "from": 0,
        "to": 2,
        "mean": 1.0,
        "std": 0.5,
        "p": 0.4,
        "low": 0,
        "high": 5,
        "floating": True,
        "generator": None,
    }


RECIPES: dict[str, Recipe] = {
    **dict.fromkeys(["mm", "nuclear_norm"], _mm),
    "bmm": _bmm,
    "addmm": _addmm,
    "addmv": _addmv,
    "mv": _mv,
    "addbmm": _addbmm,
    "baddbmm": _baddbmm,
    **dict.fromkeys(["dot", "outer"], _vectors),
    "matmul": _matmul,
    "linear": _linear,
    "einsum": _einsum,
    "conv1d": nn.conv(1),
    **dict.fromkeys(["conv2d", "convolution", "_convolution"], nn.conv(2)),
    "conv_transpose2d": nn.conv_transpose,
    **dict.fromkeys(["max_pool2d", "max_pool2d_with_indices", "avg_pool2d"], nn.pool),
    **dict.fromkeys(
        [
            "_adaptive_avg_pool2d",
            "adaptive_avg_pool2d",
            "upsample_nearest2d",
            "upsample_bilinear2d",
        ],
        nn.upsample,
    ),
    "conv3d": nn.convolve(3),
    "_convolution_mode": nn.convolve_by_name,
    "conv_transpose1d": nn.convolve(1, True),
    "conv_transpose3d": nn.convolve(3, True),
    **dict.fromkeys(["max_pool1d", "max_pool1d_with_indices", "avg_pool1d"], nn.windows(1)),
    **dict.fromkeys(["adaptive_avg_pool1d", "adaptive_max_pool1d"], nn.windows(1)),
    "adaptive_max_pool2d": nn.windows(2),
    **dict.fromkeys(
        ["max_pool3d", "avg_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d"], nn.windows(3)
    ),
    **dict.fromkeys(
        ["upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_linear1d"], nn.resample(1)
    ),
    **dict.fromkeys(
        ["_upsample_nearest_exact2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa"],
        nn.resample(2),
    ),
    **dict.fromkeys(["_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"], nn.resample(2)),
    **dict.fromkeys(
        ["upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d"], nn.resample(3)
    ),
    **dict.fromkeys(["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"], nn.shuffle),
    "instance_norm": nn.instance_norm,
    "rms_norm": nn.rms_norm,
    "bilinear": nn.bilinear,
    "pairwise_distance": nn.distance,
    "prelu": nn.learned_slope,
    **dict.fromkeys(["hardshrink", "softshrink", "threshold", "celu", "rrelu"], nn.activation),
    **dict.fromkeys(["feature_dropout", "alpha_dropout", "feature_alpha_dropout"], nn.channels),
    "glu": nn.halves,
    **dict.fromkeys(["batch_norm", "native_batch_norm"], nn.batch_norm),
    **dict.fromkeys(["layer_norm", "native_layer_norm"], nn.layer_norm),
    **dict.fromkeys(["group_norm", "native_group_norm"], nn.group_norm),
    **dict.fromkeys(["nll_loss", "nll_loss_forward", "nll_loss_nd", "cross_entropy_loss"], nn.nll),
    **dict.fromkeys(["nll_loss2d", "nll_loss2d_forward"], nn.nll2d),
    **dict.fromkeys(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"], nn.loss),
    **dict.fromkeys(["binary_cross_entropy", "binary_cross_entropy_with_logits"], nn.bce),
    "embedding": nn.embedding,
    **dict.fromkeys(["index_select", "index_add"], _indexed),
    **dict.fromkeys(["gather", "scatter", "scatter_add"], _scattered),
    **dict.fromkeys(["index", "index_put", "_index_put_impl"], _index),
    "where": _where,
    **dict.fromkeys(["tril", "triu"], _squares),
    "scaled_dot_product_attention": nn.attention,
    **dict.fromkeys(["narrow", "select"], _narrow),
    "slice": lambda s: {**_narrow(s), "end": n(s, 0)},
    **dict.fromkeys(["split_with_sizes", "chunk", "unsafe_chunk"], _split),
    "split": _split_tensor,
    **dict.fromkeys(["pad", "constant_pad_nd"], nn.pad),
    "im2col": nn.im2col,
    "col2im": nn.col2im,
    "as_strided": _strided,
    **dict.fromkeys(["expand", "broadcast_to"], _expand),
    **dict.fromkeys(["multinomial", "bernoulli"], _probabilities),
    **dict.fromkeys(
        ["empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "eye"], _sized
    ),
    "linspace": lambda s: {**_sized(s), "start": 0, "end": 3},
    "arange": _range,
    **dict.fromkeys(["unflatten", "unfold"], _flat),
    **dict.fromkeys(["uniform_", "normal_", "bernoulli_", "random_"], _uniform),
    "repeat_interleave": lambda s: (_repeats if s.random() < 0.5 else _repeats_int)(s),
    "embedding_renorm_": lambda s: {
        "self": (4, 2),
        "indices": integers(s, (3,), 4),
        "floating": True,
    },
    "one_hot": lambda s: {"self": integers(s, shape(s), 4), "num_classes": [-1, 4, 2][n(s, 0, 3)]},
    "dropout": lambda s: {"p": [0.0, 1.0, 0.5][n(s, 0, 3)], "floating": True},
    "native_dropout": lambda s: {"p": [0.0, 1.0][n(s, 0, 2)], "floating": True},
    **dict.fromkeys(["view_as", "reshape_as"], lambda s: {"self": (2, 6), "other": (3, 4)}),
    "expand_as": lambda s: {"self": (1, 4), "other": (3, 4)},
    **table("RECIPES"),
}


def recipe(schema: FunctionSchema) -> Recipe | None:
    """That of an overload, of an operator, or of the operator that this one is the in-place twin
    of.
    """
    names = (f"{schema.name}.{schema.overload}", schema.name, schema.name.removesuffix("_"))
    return next((RECIPES[name] for name in names if name in RECIPES), None)
