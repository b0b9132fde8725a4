"""Bags of embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Stream, TensorSpec, integers, n


def bags(s: Stream) -> dict[str, Any]:
    """Some of them empty; in each library's own order of adding."""
    rows, mode, count = n(s, 1, 5), n(s, 0, 3), n(s, 0, 8)
    last = bool(n(s, 0, 2))
    starts = [0, *sorted(s.integers(0, count + 1, n(s, 0, 4)).tolist()), *([count] if last else [])]
    return {
        "weight": (rows, n(s, 1, 4)), "indices": integers(s, (count,), rows),
        "offsets": TensorSpec(np.array(starts, "int64")),
        "per_sample_weights": (count,) if mode == 0 and s.random() < 0.5 else None,
        "include_last_offset": last, "mode": mode, "sparse": False,
        "scale_grad_by_freq": bool(n(s, 0, 2)), "padding_idx": n(s, -1, rows), "floating": True,
    }  # fmt: skip


RECIPES: dict[str, Recipe] = dict.fromkeys(
    ["embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"], bags
)
NOT_CALLED = dict.fromkeys(
    ["embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"],
    "PyTorch leaves the notes for the backward pass out where it can; "
    "tests/test_nn_embedding_bag.py compares the bags",
)
ONCE = ["_?embedding_bag"]
NOT_SAMPLED = {
    "_embedding_bag_forward_only": "it has no derivative",
    r"_embedding_bag_(dense_|per_sample_weights_)?backward": "it has no derivative",
}
UNSUITABLE = [
    ("_?embedding_bag", lambda v: v["scale_grad_by_freq"], "scaled gradients are no derivatives")
]
GRADIENTS_KNOWN = [
    (
        "_?embedding_bag",
        lambda v: v["scale_grad_by_freq"],
        "PyTorch's CPU kernel divides the i-th row in use by the count of the i-th of the sorted "
        "indices, often another row",
    )
]
