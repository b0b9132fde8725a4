"""Arguments that fit together, for the operators of neural networks: windows, normalization,
losses, embeddings.

`tests/aten/op_recipes.py` has the table that these recipes are part of, and says what they give.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Stream, TensorSpec, integers, n, related, shape, uniform


def conv(dims: int) -> Recipe:
    def recipe(s: Stream) -> dict[str, Any]:
        groups, cin, cout, kernel = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3), n(s, 1, 4)
        sizes = tuple(n(s, 3, 7) for _ in range(dims))
        return {
            "input": (n(s, 1, 3), groups * cin, *sizes),
            "weight": (groups * cout, cin, *[kernel] * dims),
            "bias": (groups * cout,) if s.random() < 0.5 else None, "stride": [n(s, 1, 3)] * dims,
            "dilation": [n(s, 1, 3)] * dims, "padding": [n(s, 0, 3)] * dims, "groups": groups,
            "output_padding": [0] * dims, "floating": True,
        }  # fmt: skip

    return recipe


def conv_transpose(s: Stream) -> dict[str, Any]:
    groups, cin, cout = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3)
    return {
        "input": (2, groups * cin, n(s, 2, 5), n(s, 2, 5)), "weight": (groups * cin, cout, 2, 3),
        "bias": (groups * cout,), "stride": [2, 2], "padding": [n(s, 0, 2)] * 2,
        "output_padding": [n(s, 0, 2)] * 2, "groups": groups, "dilation": [1, 1], "floating": True,
    }  # fmt: skip


def pool(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s), n(s), n(s, 4, 8), n(s, 4, 8)), "kernel_size": [n(s, 2, 4)] * 2,
        "stride": [n(s)] * 2, "padding": [n(s, 0, 2)] * 2, "dilation": [1, 1],
        "divisor_override": None, "floating": True, "out1": TensorSpec(np.zeros(0, "int64")),
    }  # fmt: skip


def upsample(s: Stream) -> dict[str, Any]:
    scale = [float(s.choice([1.5, 2.0, 0.5]))] * 2
    sizes = (n(s, 2, 6), n(s, 2, 6))
    return {
        "self": (n(s), n(s), *sizes), "input": (n(s), n(s), *sizes),
        "output_size": [n(s, 1, 7), n(s, 1, 7)], "scale_factors": None, "scales_h": None,
        "scales_w": None, "floating": True, "scale": scale,
    }  # fmt: skip


def batch_norm(s: Stream) -> dict[str, Any]:
    c = n(s)
    f = lambda *sizes: TensorSpec(s.standard_normal(sizes).astype("float32"))  # noqa: E731
    return {
        "input": f(n(s, 2), c, n(s)), "weight": f(c), "bias": f(c), "running_mean": f(c),
        "momentum": 0.1, "eps": 1e-5, "running_var": uniform(s, (c,)), "training": bool(n(s, 0, 2)),
        "cudnn_enabled": False,
    }  # fmt: skip


def layer_norm(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s)
    return {
        "input": (n(s), a, b),
        "normalized_shape": [a, b],
        "weight": (a, b),
        "bias": (a, b),
        "eps": 1e-5,
        "floating": True,
    }


def group_norm(s: Stream) -> dict[str, Any]:
    g, c, k, hw = n(s, 1, 3), n(s, 1, 3), n(s), n(s)
    return {
        "input": (k, g * c, hw), "num_groups": g, "weight": (g * c,), "bias": (g * c,), "eps": 1e-5,
        "floating": True, "N": k, "C": g * c, "HxW": hw, "group": g, "cudnn_enabled": False,
    }  # fmt: skip


def nll(s: Stream) -> dict[str, Any]:
    k, c = n(s), n(s)
    return {
        "self": (k, c), "target": integers(s, (k,), c),
        "weight": (c,) if s.random() < 0.5 else None, "floating": True, "reduction": n(s, 0, 3),
        "ignore_index": int(s.choice([-100, 0])), "label_smoothing": 0.1,
    }  # fmt: skip


def nll2d(s: Stream) -> dict[str, Any]:
    k, c, h, w = n(s), n(s), n(s), n(s)
    return {**nll(s), "self": (k, c, h, w), "target": integers(s, (k, h, w), c), "weight": None}


def loss(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": sizes,
        "target": sizes,
        "reduction": n(s, 0, 3),
        "beta": 0.7,
        "delta": 0.7,
        "floating": True,
    }


def bce(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": uniform(s, sizes),
        "target": uniform(s, sizes),
        "weight": None,
        "pos_weight": None,
        "reduction": n(s, 0, 3),
    }


def embedding(s: Stream) -> dict[str, Any]:
    rows = n(s)
    return {
        "weight": (rows, n(s)),
        "indices": integers(s, related(s, shape(s)), rows),
        "padding_idx": -1,
        "floating": True,
    }


def attention(s: Stream) -> dict[str, Any]:
    b, h, q, k, d = n(s, 1, 3), n(s, 1, 3), n(s), n(s), n(s)
    return {
        "query": (b, h, q, d), "key": (b, h, k, d), "value": (b, h, k, d), "attn_mask": None,
        "dropout_p": 0.0, "floating": True, "enable_gqa": False, "scale": None,
    }  # fmt: skip


def pad(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s, 1, 3), n(s, 3, 6), n(s, 3, 6)),
        "pad": [int(p) for p in s.integers(-1, 3, 2 * n(s, 1, 3))],
        "mode": str(s.choice(["constant", "reflect", "replicate", "circular"])),
        "value": 0,
        "floating": True,
    }


def im2col(s: Stream) -> dict[str, Any]:
    return {
        "self": (n(s), n(s), 5, 6),
        "kernel_size": [2, n(s, 1, 4)],
        "dilation": [1, n(s, 1, 3)],
        "padding": [n(s, 0, 2), 0],
        "stride": [n(s, 1, 3), 1],
        "floating": True,
    }


def col2im(s: Stream) -> dict[str, Any]:
    given = {**im2col(s), "output_size": [5, 6]}
    pairs = (given[k] for k in ("kernel_size", "dilation", "padding", "stride"))
    places = [(n + 2 * p - d * (k - 1) - 1) // st + 1 for n, k, d, p, st in zip([5, 6], *pairs)]
    return {
        **given,
        "self": (
            n(s),
            n(s) * given["kernel_size"][0] * given["kernel_size"][1],
            places[0] * places[1],
        ),
    }


def convolve(dims: int, transposed: bool = False) -> Recipe:
    """A small convolution, its padding in numbers or by name."""

    def recipe(s: Stream) -> dict[str, Any]:
        cin, cout, kernel = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3)
        sizes = tuple(n(s, 2, 4) for _ in range(dims))
        channels = (cin, cout) if transposed else (cout, cin)
        return {
            "input": (1, cin, *sizes),
            "weight": (*channels, *[kernel] * dims),
            "bias": (cout,) if s.random() < 0.5 else None, "stride": [1] * dims,
            "dilation": [1] * dims, "groups": 1, "padding": [n(s, 0, 2)] * dims,
            "output_padding": [0] * dims, "floating": True,
        }  # fmt: skip

    return recipe


def convolve_by_name(s: Stream) -> dict[str, Any]:
    return {**convolve(n(s, 1, 3))(s), "padding": ["same", "valid"][n(s, 0, 2)]}


def windows(dims: int) -> Recipe:
    """Pooling over windows, and over as many windows as are asked for."""

    def recipe(s: Stream) -> dict[str, Any]:
        sizes = tuple(n(s, 2, 4) for _ in range(dims))
        return {
            "self": (1, n(s, 1, 3), *sizes), "kernel_size": [n(s, 2, 3)] * dims,
            "stride": [n(s, 1, 3)] * dims, "padding": [n(s, 0, 2)] * dims, "dilation": [1] * dims,
            "divisor_override": None, "output_size": [n(s, 1, 4) for _ in range(dims)],
            "floating": True,
        }  # fmt: skip

    return recipe


def resample(dims: int) -> Recipe:
    def recipe(s: Stream) -> dict[str, Any]:
        image = (1, 1, *(n(s, 2, 5 - dims // 2) for _ in range(dims)))
        scales = dict.fromkeys(["scales", "scales_d", "scales_h", "scales_w", "scale_factors"])
        return {
            "self": image,
            "input": image,
            "output_size": [n(s, 1, 5 - dims // 2) for _ in range(dims)],
            **scales,
            "floating": True,
        }

    return recipe


def shuffle(s: Stream) -> dict[str, Any]:
    return {
        "self": (1, 4, 2, 2),
        "upscale_factor": 2,
        "downscale_factor": 2,
        "groups": 2,
        "floating": True,
    }


def instance_norm(s: Stream) -> dict[str, Any]:
    c = n(s, 1, 3)
    return {
        "input": (2, c, n(s, 2, 5)), "weight": (c,), "bias": (c,), "running_mean": None,
        "running_var": None, "use_input_stats": True, "momentum": 0.1, "eps": 1e-5,
        "cudnn_enabled": False, "floating": True,
    }  # fmt: skip


def rms_norm(s: Stream) -> dict[str, Any]:
    size = n(s)
    return {
        "input": (n(s), size),
        "normalized_shape": [size],
        "weight": (size,),
        "eps": [None, 1e-3][n(s, 0, 2)],
        "floating": True,
    }


def bilinear(s: Stream) -> dict[str, Any]:
    i, j, out, rows = n(s, 1, 3), n(s, 1, 3), n(s, 1, 3), n(s, 1, 4)
    return {
        "input1": (rows, i),
        "input2": (rows, j),
        "weight": (out, i, j),
        "bias": (out,),
        "floating": True,
    }


def distance(s: Stream) -> dict[str, Any]:
    sizes = (n(s), n(s))
    return {"x1": sizes, "x2": sizes, "p": 2.0, "eps": 1e-6, "floating": True}


def learned_slope(s: Stream) -> dict[str, Any]:
    c = n(s)
    return {"self": (n(s), c, n(s)), "weight": ((c,), (1,))[n(s, 0, 2)], "floating": True}


def activation(s: Stream) -> dict[str, Any]:
    return {
        "lambd": 0.4, "alpha": [0.5, 1.0, 2.0][n(s, 0, 3)], "threshold": 0.3, "value": 2.0,
        "lower": 0.1, "upper": 0.4, "training": False, "generator": None, "floating": True,
    }  # fmt: skip


def channels(s: Stream) -> dict[str, Any]:
    sizes = (n(s), n(s), n(s))
    return {"input": sizes, "self": sizes, "p": [0.0, 1.0, 0.5][n(s, 0, 3)], "floating": True}


def halves(s: Stream) -> dict[str, Any]:
    return {"self": (n(s), 2 * n(s, 1, 3)), "dim": [1, -1][n(s, 0, 2)], "floating": True}
