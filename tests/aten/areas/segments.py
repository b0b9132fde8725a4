"""Segments of a dimension; tensors put into one; powers added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Stream, TensorSpec, n, shape, tensor


def segments(s: Stream) -> dict[str, Any]:
    """Every row is cut in its own way; some segments are empty."""
    before = tuple(n(s, 1, 3) for _ in range(n(s, 0, 3)))
    size, count = n(s, 0, 6), n(s, 1, 4)
    cuts = np.sort(s.integers(0, size + 1, (*before, count - 1)), axis=-1)
    ends = [np.full((*before, 1), value, "int64") for value in (0, size)]
    offsets = np.concatenate([ends[0], cuts, ends[1]], axis=-1)
    by_length = bool(n(s, 0, 2))
    after = tuple(n(s, 1, 3) for _ in range(n(s, 0, 2)))
    output = (*before, count, *after)
    return {
        "data": (*before, size, *after),
        "reduce": str(s.choice(["sum", "mean", "prod", "max", "min"])), "axis": len(before),
        "lengths": TensorSpec(np.diff(offsets)) if by_length else None,
        "offsets": None if by_length else TensorSpec(offsets), "indices": None, "unsafe": False,
        "initial": [None, 0.5, 2][n(s, 0, 3)], "floating": True, "grad": output, "output": output,
    }  # fmt: skip


def pieces(s: Stream) -> dict[str, Any]:
    tensors = [tensor(s, shape(s), "float32") for _ in range(n(s))]
    return {
        "flat": (max(sum(t.values.size for t in tensors) + n(s, -1, 2), 0),),
        "tensors": tensors,
    }


def sequences(s: Stream) -> dict[str, Any]:
    width = n(s)
    return {
        "sequences": [tensor(s, (n(s, 0), width), "float32") for _ in range(n(s))],
        "batch_first": bool(n(s, 0, 2)), "padding_value": -1.5,
        "padding_side": str(s.choice(["left", "right"])),
    }  # fmt: skip


RECIPES: dict[str, Recipe] = {
    "segment_reduce": segments,
    "unflatten_dense_tensors": pieces,
    "pad_sequence": sequences,
}

KNOWN = [
    (
        "segment_reduce",
        lambda v: v["data"].layout != "plain" and 1 in v["data"].values.shape,
        "PyTorch walks by the stride of a dimension of one element, which may be any number",
    ),
]

ONCE = ["segment_reduce"]

UNSUITABLE = [
    (
        "segment_reduce",
        lambda v: v["initial"] is not None and v["reduce"] in ("max", "min"),
        "a tie with `initial` is a kink",
    ),
    (
        "segment_reduce",
        lambda v: v["reduce"] in ("max", "min") and repeats(v["data"].values),
        "the largest share their gradient: it is none of the one-sided slopes",
    ),
]


def repeats(values: Any) -> bool:
    return len(np.unique(values)) < values.size
