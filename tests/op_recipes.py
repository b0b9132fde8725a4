"""Arguments that fit together, for the operators whose tensors must: matrices, convolutions, indices, losses.

`RECIPES[name](stream)` gives some of the arguments by name, those of all overloads at once; a tuple stands for a tensor of these
sizes. `"floating": True` says that only floating dtypes make sense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.op_tensors import Dtype, Sizes, Stream, TensorSpec, related, shape, tensor

Recipe = Callable[[Stream], dict[str, Any]]


def n(stream: Stream, low: int = 1, high: int = 5) -> int:
    return int(stream.integers(low, high))


def integers(stream: Stream, sizes: Sizes, below: int) -> TensorSpec:
    return TensorSpec(stream.integers(0, max(below, 1), sizes))


def uniform(stream: Stream, sizes: Sizes) -> TensorSpec:
    return TensorSpec(stream.uniform(0.05, 0.95, sizes).astype("float32"))


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


def _conv(dims: int) -> Recipe:
    def recipe(s: Stream) -> dict[str, Any]:
        groups, cin, cout, kernel = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3), n(s, 1, 4)
        sizes = tuple(n(s, 3, 7) for _ in range(dims))
        return {
            "input": (n(s, 1, 3), groups * cin, *sizes), "weight": (groups * cout, cin, *[kernel] * dims),
            "bias": (groups * cout,) if s.random() < 0.5 else None, "stride": [n(s, 1, 3)] * dims,
            "dilation": [n(s, 1, 3)] * dims, "padding": [n(s, 0, 3)] * dims, "groups": groups,
            "output_padding": [0] * dims, "floating": True,
        }  # fmt: skip

    return recipe


def _conv_transpose(s: Stream) -> dict[str, Any]:
    groups, cin, cout = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3)
    return {
        "input": (2, groups * cin, n(s, 2, 5), n(s, 2, 5)), "weight": (groups * cin, cout, 2, 3), "bias": (groups * cout,),
        "stride": [2, 2], "padding": [n(s, 0, 2)] * 2, "output_padding": [n(s, 0, 2)] * 2, "groups": groups, "dilation": [1, 1],
        "floating": True,
    }  # fmt: skip


def _pool(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s), n(s), n(s, 4, 8), n(s, 4, 8)), "kernel_size": [n(s, 2, 4)] * 2, "stride": [n(s)] * 2,
        "padding": [n(s, 0, 2)] * 2, "dilation": [1, 1], "divisor_override": None, "floating": True,
        "out1": TensorSpec(np.zeros(0, "int64")),
    }  # fmt: skip


def _upsample(s: Stream) -> dict[str, Any]:
    scale = [float(s.choice([1.5, 2.0, 0.5]))] * 2
    sizes = (n(s, 2, 6), n(s, 2, 6))
    return {
        "self": (n(s), n(s), *sizes), "input": (n(s), n(s), *sizes), "output_size": [n(s, 1, 7), n(s, 1, 7)],
        "scale_factors": None, "scales_h": None, "scales_w": None, "floating": True, "scale": scale,
    }  # fmt: skip


def _batch_norm(s: Stream) -> dict[str, Any]:
    c = n(s)
    f = lambda *sizes: TensorSpec(s.standard_normal(sizes).astype("float32"))  # noqa: E731
    return {
        "input": f(n(s, 2), c, n(s)), "weight": f(c), "bias": f(c), "running_mean": f(c), "momentum": 0.1, "eps": 1e-5,
        "running_var": uniform(s, (c,)), "training": bool(n(s, 0, 2)), "cudnn_enabled": False,
    }  # fmt: skip


def _layer_norm(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s)
    return {
        "input": (n(s), a, b),
        "normalized_shape": [a, b],
        "weight": (a, b),
        "bias": (a, b),
        "eps": 1e-5,
        "floating": True,
    }


def _group_norm(s: Stream) -> dict[str, Any]:
    g, c, k, hw = n(s, 1, 3), n(s, 1, 3), n(s), n(s)
    return {
        "input": (k, g * c, hw), "num_groups": g, "weight": (g * c,), "bias": (g * c,), "eps": 1e-5, "floating": True,
        "N": k, "C": g * c, "HxW": hw, "group": g, "cudnn_enabled": False,
    }  # fmt: skip


def _nll(s: Stream) -> dict[str, Any]:
    k, c = n(s), n(s)
    return {
        "self": (k, c), "target": integers(s, (k,), c), "weight": (c,) if s.random() < 0.5 else None, "floating": True,
        "reduction": n(s, 0, 3), "ignore_index": int(s.choice([-100, 0])), "label_smoothing": 0.1,
    }  # fmt: skip


def _nll2d(s: Stream) -> dict[str, Any]:
    k, c, h, w = n(s), n(s), n(s), n(s)
    return {**_nll(s), "self": (k, c, h, w), "target": integers(s, (k, h, w), c), "weight": None}


def _loss(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {"self": sizes, "target": sizes, "reduction": n(s, 0, 3), "beta": 0.7, "delta": 0.7, "floating": True}


def _bce(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": uniform(s, sizes),
        "target": uniform(s, sizes),
        "weight": None,
        "pos_weight": None,
        "reduction": n(s, 0, 3),
    }


def _embedding(s: Stream) -> dict[str, Any]:
    rows = n(s)
    return {
        "weight": (rows, n(s)),
        "indices": integers(s, related(s, shape(s)), rows),
        "padding_idx": -1,
        "floating": True,
    }


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
    return {"condition": tensor(s, related(s, sizes), "bool"), "self": sizes, "other": related(s, sizes)}


def _squares(s: Stream) -> dict[str, Any]:
    return {"self": tuple(n(s, 0) for _ in range(n(s, 1, 4)))}


def _attention(s: Stream) -> dict[str, Any]:
    b, h, q, k, d = n(s, 1, 3), n(s, 1, 3), n(s), n(s), n(s)
    return {
        "query": (b, h, q, d), "key": (b, h, k, d), "value": (b, h, k, d), "attn_mask": None, "dropout_p": 0.0, "floating": True,
        "enable_gqa": False, "scale": None,
    }  # fmt: skip


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


def _pad(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s, 1, 3), n(s, 3, 6), n(s, 3, 6)),
        "pad": [int(p) for p in s.integers(-1, 3, 2 * n(s, 1, 3))],
        "mode": str(s.choice(["constant", "reflect", "replicate", "circular"])),
        "value": 0,
        "floating": True,
    }


def _im2col(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s), n(s), 5, 6),
        "kernel_size": [2, n(s, 1, 4)],
        "dilation": [1, n(s, 1, 3)],
        "padding": [n(s, 0, 2), 0],
        "stride": [n(s, 1, 3), 1],
        "floating": True,
    }


def _col2im(s: Stream) -> dict[str, Any]:
    given = {**_im2col(s), "output_size": [5, 6]}
    pairs = (given[k] for k in ("kernel_size", "dilation", "padding", "stride"))
    places = [(n + 2 * p - d * (k - 1) - 1) // st + 1 for n, k, d, p, st in zip([5, 6], *pairs)]
    return {**given, "self": (n(s), n(s) * given["kernel_size"][0] * given["kernel_size"][1], places[0] * places[1])}


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
    return {"self": sizes, "size": target[int(s.random() < 0.5) :]}


def _probabilities(s: Stream) -> dict[str, Any]:
    k = n(s, 2)
    return {"self": uniform(s, (n(s), k)), "num_samples": n(s, 1, k + 1), "p": 0.3, "generator": None}


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
    "conv1d": _conv(1),
    **dict.fromkeys(["conv2d", "convolution"], _conv(2)),
    "conv_transpose2d": _conv_transpose,
    **dict.fromkeys(["max_pool2d", "max_pool2d_with_indices", "avg_pool2d"], _pool),
    **dict.fromkeys(
        ["_adaptive_avg_pool2d", "adaptive_avg_pool2d", "upsample_nearest2d", "upsample_bilinear2d"], _upsample
    ),
    **dict.fromkeys(["batch_norm", "native_batch_norm"], _batch_norm),
    **dict.fromkeys(["layer_norm", "native_layer_norm"], _layer_norm),
    **dict.fromkeys(["group_norm", "native_group_norm"], _group_norm),
    **dict.fromkeys(["nll_loss", "nll_loss_forward", "nll_loss_nd", "cross_entropy_loss"], _nll),
    **dict.fromkeys(["nll_loss2d", "nll_loss2d_forward"], _nll2d),
    **dict.fromkeys(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"], _loss),
    **dict.fromkeys(["binary_cross_entropy", "binary_cross_entropy_with_logits"], _bce),
    "embedding": _embedding,
    **dict.fromkeys(["index_select", "index_add"], _indexed),
    **dict.fromkeys(["gather", "scatter", "scatter_add"], _scattered),
    **dict.fromkeys(["index", "index_put", "_index_put_impl"], _index),
    "where": _where,
    **dict.fromkeys(["tril", "triu"], _squares),
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(["narrow", "select"], _narrow),
    "slice": lambda s: {**_narrow(s), "end": n(s, 0)},
    **dict.fromkeys(["split_with_sizes", "chunk"], _split),
    "split": _split_tensor,
    **dict.fromkeys(["pad", "constant_pad_nd"], _pad),
    "im2col": _im2col,
    "col2im": _col2im,
    "as_strided": _strided,
    **dict.fromkeys(["expand", "broadcast_to"], _expand),
    **dict.fromkeys(["multinomial", "bernoulli"], _probabilities),
    **dict.fromkeys(["empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "eye"], _sized),
    "linspace": lambda s: {**_sized(s), "start": 0, "end": 3},
    "arange": _range,
    **dict.fromkeys(["unflatten", "unfold"], _flat),
    **dict.fromkeys(["uniform_", "normal_", "bernoulli_", "random_"], _uniform),
    "repeat_interleave": lambda s: (_repeats if s.random() < 0.5 else _repeats_int)(s),
    "embedding_renorm_": lambda s: {"self": (4, 2), "indices": integers(s, (3,), 4), "floating": True},
    "one_hot": lambda s: {"self": integers(s, shape(s), 4), "num_classes": [-1, 4, 2][n(s, 0, 3)]},
    "dropout": lambda s: {"p": [0.0, 1.0, 0.5][n(s, 0, 3)], "floating": True},
    **dict.fromkeys(["view_as", "reshape_as"], lambda s: {"self": (2, 6), "other": (3, 4)}),
    "expand_as": lambda s: {"self": (1, 4), "other": (3, 4)},
}
