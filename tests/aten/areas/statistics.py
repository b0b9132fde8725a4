"""Statistics and order: what the tests of all operators have to know about `median`, `mode`,
`histc` and their kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Stream, TensorSpec, integers, n, shape, tensor, uniform


def _histogram(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": sizes, "bins": n(s), "range": [-1.0, 2.0] if s.random() < 0.5 else None,
        "weight": sizes if s.random() < 0.5 else None, "min": -1, "max": n(s, -1, 3),
        "floating": True,
    }  # fmt: skip


def _edges(s: Stream) -> dict[str, Any]:
    return {**_histogram(s), "bins": TensorSpec(np.sort(s.standard_normal(n(s, 2))))}


def _boxes(s: Stream) -> dict[str, Any]:
    sizes = (n(s, 0), n(s))
    return {
        "self": sizes, "bins": [n(s) for _ in range(sizes[1])],
        "range": [-1.0, 2.0] * sizes[1] if s.random() < 0.5 else None,
        "weight": sizes[:1] if s.random() < 0.5 else None, "floating": True,
    }  # fmt: skip


def _box_edges(s: Stream) -> dict[str, Any]:
    rows, columns = n(s, 0), n(s)
    edges = [TensorSpec(np.sort(s.standard_normal(n(s, 2)))) for _ in range(columns)]
    return {
        "self": TensorSpec(s.standard_normal((rows, columns))),
        "bins": edges,
        "weight": None,
        "range": None,
    }


def _counted(s: Stream) -> dict[str, Any]:
    sizes = (n(s, 0),)
    return {"self": integers(s, sizes, 5), "weights": sizes if s.random() < 0.5 else None}


def _searched(s: Stream) -> dict[str, Any]:
    batch = shape(s)[:2]
    rows = tensor(s, (*batch, n(s)), "float32", "plain")
    rows.values.sort(-1)
    right = bool(s.random() < 0.5)
    return {
        "sorted_sequence": rows, "boundaries": tensor(s, rows.values.shape[-1:], "float32"),
        "self": (*batch, n(s)), "right": right, "side": [None, "right"][right], "sorter": None,
    }  # fmt: skip


def _kth(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s, 0)))
    dim = n(s, 0, len(sizes)) if sizes else 0
    return {"self": sizes, "dim": dim, "k": n(s, 1, (sizes[dim] if sizes else 1) + 1)}


def _quantile(s: Stream) -> dict[str, Any]:
    q = (
        TensorSpec(s.uniform(0, 1, ()).astype("float32"))
        if s.random() < 0.5
        else uniform(s, (n(s),))
    )
    sizes = tuple(n(s) for _ in range(n(s, 0)))
    mode = str(s.choice(["linear", "lower", "higher", "midpoint", "nearest"]))
    return {"self": tensor(s, sizes, "float32"), "q": q, "interpolation": mode}


def _one_quantile(s: Stream) -> dict[str, Any]:
    return {**_quantile(s), "q": float(s.uniform())}


def _observed(s: Stream) -> dict[str, Any]:
    k = n(s, 2)
    some = {
        "fweights": integers(s, (k,), 3) if s.random() < 0.3 else None,
        "aweights": uniform(s, (k,)) if s.random() < 0.3 else None
    }  # fmt: skip
    return {"self": (n(s), k) if s.random() < 0.8 else (k,), "correction": n(s, 0, 2), **some}


def _sampled(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s, 3, 6) for _ in range(n(s, 1, 3)))
    dim = n(s, 0, len(sizes))
    places = [TensorSpec(np.cumsum(s.uniform(0.5, 1, k))) for k in sizes]
    return {
        "y": sizes, "x": (sizes[dim],) if s.random() < 0.5 else sizes, "dim": dim,
        "dx": [0.5, 2][n(s, 0, 2)], "self": sizes, "spacing": 0.5, "n": n(s, 0, 4), "prepend": None,
        "append": (*sizes[:dim], 2, *sizes[dim + 1 :]), "edge_order": n(s, 1, 3), "places": places,
    }  # fmt: skip


def _gradient(spacing: str, several: bool) -> Recipe:
    """For an overload of `gradient`: the spacing is a number, numbers or the places; along one
    dimension or several.
    """

    def made(s: Stream) -> dict[str, Any]:
        values = _sampled(s)
        ndim = len(values["self"])
        given = {"number": 0.5, "numbers": [0.5, 2, 1.5][:ndim], "places": values["places"]}
        return {
            **values,
            "spacing": given[spacing],
            "dim": list(range(ndim)) if several else None,
            "floating": True,
        }

    return made


def _summed(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {"self": sizes, "size": [1 if s.random() < 0.4 else k for k in sizes[n(s, 0, 3) :]]}


def _pairs(s: Stream) -> dict[str, Any]:
    a, b, m, k = n(s, 0), n(s), n(s), n(s)
    first, second = [((a, m), (b, m)), ((k, a, m), (k, b, m)), ((k, 1, a, m), (2, b, m))][
        n(s, 0, 3)
    ]
    p = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")][n(s, 0, 7)]
    return {
        "x1": first,
        "x2": second,
        "self": first[-2:],
        "p": p,
        "compute_mode": n(s, 0, 3),
        "floating": True,
    }


def _rows_of_two(s: Stream) -> dict[str, Any]:
    return {**_pairs(s), "x1": (3, 2), "x2": (4, 2)}


def has_ties(values: dict[str, Any]) -> bool:
    """Whether elements are equal, NaN being equal to NaN."""
    a = values["self"].values
    return len(np.unique(a)) < a.size


def has_nan(values: dict[str, Any]) -> bool:
    return any(
        isinstance(v, TensorSpec) and bool(np.isnan(v.values).any()) for v in values.values()
    )


RECIPES: dict[str, Recipe] = {
    "kthvalue": _kth,
    **dict.fromkeys(["cdist", "_cdist_forward", "pdist", "_pdist_forward"], _pairs),
    "_euclidean_dist": _rows_of_two,
    **dict.fromkeys(["quantile", "nanquantile"], _quantile),
    **dict.fromkeys(["quantile.scalar", "nanquantile.scalar"], _one_quantile),
    **dict.fromkeys(["quantile.scalar_out", "nanquantile.scalar_out"], _one_quantile),
    **dict.fromkeys(["cov", "corrcoef"], _observed),
    **dict.fromkeys(["trapezoid", "trapz", "cumulative_trapezoid", "diff"], _sampled),
    **dict.fromkeys(["gradient.scalarint", "gradient.array"], _gradient("number", True)),
    "gradient.scalararray": _gradient("number", True),
    "gradient.scalarrayint": _gradient("numbers", False),
    "gradient.scalarrayarray": _gradient("numbers", True),
    "gradient.tensorarrayint": _gradient("places", False),
    "gradient.tensorarray": _gradient("places", True),
    "sum_to_size": _summed,
    "renorm": lambda s: {
        "p": [0.5, 1, 2, 3.0, float("inf")][n(s, 0, 5)],
        "maxnorm": s.uniform(0, 3),
    },
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
    (
        "quantile|nanquantile",
        lambda v: "out" in v and v["out"].values.dtype != np.float32,
        "which error comes first",
    ),
    (
        "nanmean",
        lambda v: (
            "out" in v
            and (v["dtype"] is not None or v["out"].values.dtype != v["self"].values.dtype)
        ),
        "PyTorch wants an `out` of just that dtype; which error comes first",
    ),
    (
        "mode",
        lambda v: "values" in v and v["values"].values.dtype != v["self"].values.dtype,
        "which error comes first",
    ),
    (
        "mode|unique_dim",
        has_nan,
        "PyTorch sorts without minding NaN, so equal elements may end up apart",
    ),
]

NOT_SAMPLED = {
    "histogramdd.*": "PyTorch has no derivative for it either",
    "_[cp]dist_backward": "PyTorch has no derivative for it either",
}

UNSUITABLE = [
    (
        "median|nanmedian|kthvalue|quantile|nanquantile",
        lambda v: has_ties(v),
        "a kink, where elements are equal",
    ),
]

OTHER_NODES = {
    r"(cumulative_)?trapezoid|trapz|sum_to_size": (
        "recorded as x * 2 and x.sum(dim) are: see the nodes of mul.Scalar"
    ),
}

ONCE = ["_?cdist(_forward)?", "_?pdist(_forward)?"]

NOT_CALLED = {
    "_pdist_forward": (
        "it believes that its input is contiguous, which pdist made it; pdist is called"
    ),
    "_pdist_forward.out": "the same",
}

GRADIENTS_KNOWN = [
    ("_?pdist(_forward)?", lambda v: not v["self"].values.size, "PyTorch crashes"),
    (
        "_euclidean_dist",
        lambda v: "float32" in (v["x1"].values.dtype.name, v["x2"].values.dtype.name),
        "small differences of large products",
    ),
    (
        "renorm_?",
        lambda v: v["p"] == float("inf") and v["self"].values.dtype.kind == "c",
        "PyTorch looks for a maximum of double precision among numbers of single: NaN",
    ),
]

NOT_SCRIPTED = dict.fromkeys(
    ["gradient.scalarrayint", "gradient.scalarrayarray"],
    "a list of floats is no list of numbers there, in PyTorch neither",
)
