"""Statistics and order: what the tests of all operators have to know about `median`, `mode`, `histc` and their kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.op_tensors import Recipe, Stream, TensorSpec, integers, n, shape, tensor


def _histogram(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": sizes, "bins": n(s), "range": [-1.0, 2.0] if s.random() < 0.5 else None,
        "weight": sizes if s.random() < 0.5 else None, "min": -1, "max": n(s, -1, 3), "floating": True,
    }  # fmt: skip


def _edges(s: Stream) -> dict[str, Any]:
    return {**_histogram(s), "bins": TensorSpec(np.sort(s.standard_normal(n(s, 2))))}


def _boxes(s: Stream) -> dict[str, Any]:
    sizes = (n(s, 0), n(s))
    return {
        "self": sizes, "bins": [n(s) for _ in range(sizes[1])], "range": [-1.0, 2.0] * sizes[1] if s.random() < 0.5 else None,
        "weight": sizes[:1] if s.random() < 0.5 else None, "floating": True,
    }  # fmt: skip


def _box_edges(s: Stream) -> dict[str, Any]:
    rows, columns = n(s, 0), n(s)
    edges = [TensorSpec(np.sort(s.standard_normal(n(s, 2)))) for _ in range(columns)]
    return {"self": TensorSpec(s.standard_normal((rows, columns))), "bins": edges, "weight": None, "range": None}


def _counted(s: Stream) -> dict[str, Any]:
    sizes = (n(s, 0),)
    return {"self": integers(s, sizes, 5), "weights": sizes if s.random() < 0.5 else None}


def _searched(s: Stream) -> dict[str, Any]:
    batch = shape(s)[:2]
    rows = tensor(s, (*batch, n(s)), "float32", "plain")
    rows.values.sort(-1)
    right = bool(s.random() < 0.5)
    return {
        "sorted_sequence": rows, "boundaries": tensor(s, rows.values.shape[-1:], "float32"), "self": (*batch, n(s)),
        "right": right, "side": [None, "right"][right], "sorter": None,
    }  # fmt: skip


def _kth(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s, 0)))
    dim = n(s, 0, len(sizes)) if sizes else 0
    return {"self": sizes, "dim": dim, "k": n(s, 1, (sizes[dim] if sizes else 1) + 1)}


def has_ties(values: dict[str, Any]) -> bool:
    """Whether elements are equal, NaN being equal to NaN."""
    a = values["self"].values
    return len(np.unique(a)) < a.size


def has_nan(values: dict[str, Any]) -> bool:
    return any(isinstance(v, TensorSpec) and bool(np.isnan(v.values).any()) for v in values.values())


RECIPES: dict[str, Recipe] = {
    "kthvalue": _kth,
    "histc": _histogram,
    "histogram.bin_ct": _histogram,
    "histogram.bins_tensor": _edges,
    **dict.fromkeys(["_histogramdd_bin_edges", "_histogramdd_from_bin_cts"], _boxes),
    "_histogramdd_from_bin_tensors": _box_edges,
    "histogramdd": _boxes,
    "histogramdd.int_bins": lambda s: {**_boxes(s), "bins": n(s)},
    "histogramdd.TensorList_bins": _box_edges,
    "bincount": _counted,
    **dict.fromkeys(["searchsorted", "bucketize"], _searched),
}

KNOWN = [
    (
        "kthvalue|median|nanmedian",
        lambda v: "dim" in v and has_ties(v),
        "which of equal elements the index names is open",
    ),
    ("mode|unique_dim", has_nan, "PyTorch sorts without minding NaN, so equal elements may end up apart"),
]

NOT_SAMPLED = {"histogramdd.*": "PyTorch has no derivative for it either"}
