"""Recurrent cells and networks: weights for so many layers and directions, a state for each, plain
and packed sequences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Sizes, Stream, TensorSpec, n, tensor

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def cell(gates: int) -> Recipe:
    def recipe(s: Stream) -> dict[str, Any]:
        batch, inputs, hidden = n(s), n(s), n(s)
        rows = gates * hidden
        biases = (rows,) if s.random() < 0.7 else None
        state = floats(s, (batch, hidden))
        return {
            "input": floats(s, (batch, inputs)),
            "hx": [state, floats(s, (batch, hidden))] if gates == 4 else state,
            "w_ih": floats(s, (rows, inputs)), "w_hh": floats(s, (rows, hidden)),
            "b_ih": biases and floats(s, biases), "b_hh": biases and floats(s, biases),
        }  # fmt: skip

    return recipe


def network(gates: int) -> Recipe:
    """Over a batch of sequences of one length, or (`data`, `batch_sizes`) over a packed one."""

    def recipe(s: Stream) -> dict[str, Any]:
        steps, inputs, hidden, layers, directions = n(s), n(s), n(s), n(s, 1, 3), n(s, 1, 3)
        biases, batch_first = bool(n(s, 0, 2)), bool(n(s, 0, 2))
        sizes = sorted(s.integers(1, 4, steps).tolist(), reverse=True)
        params = []
        for layer in range(layers):
            width, rows = inputs if layer == 0 else directions * hidden, gates * hidden
            shapes = [(rows, width), (rows, hidden), (rows,), (rows,)][: 4 if biases else 2]
            params += [floats(s, shape) for _ in range(directions) for shape in shapes]
        state = (layers * directions, sizes[0], hidden)
        return {
            "input": floats(s, (sizes[0], steps, inputs) if batch_first else (
                steps, sizes[0], inputs,
            )),
            "data": floats(s, (sum(sizes), inputs)), "batch_sizes": TensorSpec(np.array(sizes)),
            "hx": [floats(s, state), floats(s, state)] if gates == 4 else floats(s, state),
            "params": params, "has_biases": biases, "num_layers": layers, "dropout": 0.0,
            "train": bool(n(s, 0, 2)),
            "bidirectional": directions == 2, "batch_first": batch_first,
        }  # fmt: skip

    return recipe


def attention(s: Stream) -> dict[str, Any]:
    """Of one tensor to itself, as a layer of a transformer encoder does."""
    heads, batch, steps = n(s, 1, 3), n(s), n(s)
    width, inside = heads * n(s, 1, 3), n(s)
    x = floats(s, (batch, steps, width))
    return {
        "query": x, "key": x, "value": x, "src": x, "embed_dim": width, "num_head": heads,
        "num_heads": heads,
        "qkv_weight": floats(s, (3 * width, width)), "qkv_bias": floats(s, (3 * width,)),
        "proj_weight": floats(s, (width, width)), "proj_bias": floats(s, (width,)),
        "mask": None, "mask_type": None, "eps": 1e-5,
        **{f"norm_{kind}_{i}": floats(s, (width,)) for kind in ("weight", "bias") for i in (1, 2)},
        "ffn_weight_1": floats(s, (inside, width)), "ffn_bias_1": floats(s, (inside,)),
        "ffn_weight_2": floats(s, (width, inside)), "ffn_bias_2": floats(s, (width,)),
    }  # fmt: skip


def floats(s: Stream, sizes: Sizes) -> TensorSpec:
    return tensor(s, sizes, "float32")


RECIPES: dict[str, Recipe] = {
    **{name: network(gates) for name, gates in GATES.items()},
    **{f"{name}_cell": cell(gates) for name, gates in GATES.items()},
    **dict.fromkeys(["_native_multi_head_attention", "_transformer_encoder_layer_fwd"], attention),
}

KNOWN = [
    (
        "_transformer_encoder_layer_fwd|_native_multi_head_attention",
        lambda v: _unfinite(v),
        "infinities times zeros: BLAS may leave them out",
    ),
]


def _unfinite(v: dict[str, Any]) -> bool:
    return any(
        isinstance(t, TensorSpec) and t.values.dtype.kind == "f" and not np.isfinite(t.values).all()
        for t in v.values()
    )
