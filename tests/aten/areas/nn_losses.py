"""Losses with margins, of paths (CTC) and of distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Stream, TensorSpec, integers, n

REDUCTIONS = 3


def signs(s: Stream, sizes: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(s.choice([-1, 1], sizes).astype("float32"))


def pairs(s: Stream) -> dict[str, Any]:
    rows, columns = n(s, 1, 4), n(s, 1, 5)
    given = {
        "margin": float(s.choice([0, 0.5, 1])),
        "reduction": n(s, 0, REDUCTIONS),
        "floating": True,
    }
    if s.random() < 0.2:
        return {**given, "input1": (columns,), "input2": (columns,), "target": signs(s, ())}
    return {
        **given,
        "input1": (rows, columns),
        "input2": (rows, columns),
        "target": signs(s, (rows,)),
    }


def elements(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s, 0, 4) for _ in range(n(s, 0, 4)))
    return {
        **dict.fromkeys(["self", "input1", "input2", "input"], sizes), "target": signs(s, sizes),
        "floating": True, "margin": float(s.choice([0, 0.5, 1])), "reduction": n(s, 0, REDUCTIONS),
    }  # fmt: skip


def triplets(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s, 1, 4) for _ in range(n(s, 1, 4)))
    return {
        **dict.fromkeys(["anchor", "positive", "negative"], sizes),
        "margin": float(s.choice([0.5, 1, 3])), "floating": True, "p": float(s.choice([1, 2, 3])),
        "eps": 1e-6, "swap": bool(n(s, 0, 2)), "reduction": n(s, 0, REDUCTIONS),
    }  # fmt: skip


def counts(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s, 0, 4) for _ in range(n(s, 0, 4)))
    return {
        "input": TensorSpec(s.uniform(0.1, 3, sizes).astype("float32")), "eps": 1e-8,
        "reduction": n(s, 0, REDUCTIONS),
        "target": TensorSpec(s.integers(0, 6, sizes).astype("float32")), "floating": True,
    }  # fmt: skip


def classes(s: Stream) -> dict[str, Any]:
    rows, columns = n(s, 1, 5), n(s, 1, 5)
    alone = s.random() < 0.2
    return {
        "self": (columns,) if alone else (rows, columns),
        "target": integers(s, () if alone else (rows,), columns),
        "weight": (columns,) if s.random() < 0.5 else None, "p": n(s, 1, 3),
        "margin": float(s.choice([0.5, 1, 2])), "reduction": n(s, 0, REDUCTIONS), "floating": True,
    }  # fmt: skip


def labels(s: Stream) -> dict[str, Any]:
    """Lists of some classes, ended by -1; what follows that counts for nothing."""
    rows, columns = n(s, 1, 5), n(s, 1, 6)
    sizes = (columns,) if s.random() < 0.2 else (rows, columns)
    lists = s.integers(-1, columns, sizes).astype("int64")
    return {
        "self": sizes,
        "target": TensorSpec(lists),
        "reduction": n(s, 0, REDUCTIONS),
        "floating": True,
    }


def paths(as_tensors: bool) -> Recipe:
    """Now and then a target too long for its input, or nothing at all."""

    def recipe(s: Stream) -> dict[str, Any]:
        steps, batch, symbols, longest = n(s, 1, 7), n(s, 1, 4), n(s, 2, 5), n(s, 0, 4)
        logits = s.standard_normal((steps, batch, symbols))
        given = s.integers(0, longest + 1, batch)
        blank = n(s, 0, symbols)
        others = [k for k in range(symbols) if k != blank]
        rows = s.choice(others, (batch, longest) if s.random() < 0.5 else int(given.sum()))
        inputs = np.where(s.random(batch) < 0.6, steps, s.integers(0, steps + 1, batch))
        lengths = [np.asarray(v, "int64") for v in (inputs, given)]
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        return {
            "log_probs": TensorSpec(log_probs.astype("float32")),
            "targets": TensorSpec(rows.astype(str(s.choice(["int64", "int32"])))), "blank": blank,
            "floating": True,
            **{k: TensorSpec(v) if as_tensors else v.tolist() for k, v in zip([
                "input_lengths", "target_lengths",
            ], lengths)},
            "zero_infinity": bool(n(s, 0, 2)), "reduction": n(s, 0, REDUCTIONS),
        }  # fmt: skip

    return recipe


RECIPES: dict[str, Recipe] = {
    "cosine_embedding_loss": pairs,
    **dict.fromkeys(["margin_ranking_loss", "hinge_embedding_loss", "soft_margin_loss"], elements),
    "triplet_margin_loss": triplets,
    "poisson_nll_loss": counts,
    "multi_margin_loss": classes,
    **dict.fromkeys(["multilabel_margin_loss", "multilabel_margin_loss_forward"], labels),
    "ctc_loss": paths(False),
    "ctc_loss.Tensor": paths(True),
    "_ctc_loss": paths(False),
    "_ctc_loss.Tensor": paths(True),
}


def lengths_differ(v: dict[str, Any]) -> bool:
    inputs, given = (
        np.asarray(getattr(v[k], "values", v[k])) for k in ("input_lengths", "target_lengths")
    )
    log_probs = v["log_probs"].values
    return bool(
        log_probs.ndim == 3
        and ((inputs != len(log_probs)).any() or len(set(given.ravel().tolist())) > 1)
    )


KNOWN = [
    ("_ctc_loss", lengths_differ, "PyTorch leaves alpha beyond a sequence's end as the memory was")
]
ONCE = ["multi_margin_loss", "multilabel_margin_loss(_forward)?"]
UNSUITABLE = [
    (
        "poisson_nll_loss",
        lambda v: v["full"] and (v["target"].values <= 1).any(),
        "a step, up to which Stirling's formula does not count",
    ),
    (
        "soft_margin_loss(_backward)?",
        lambda v: v["self"].values.dtype.kind == "c",
        "PyTorch's formula is one for real numbers",
    ),
]
_PROBABILITIES = (
    "its gradient is that of log_softmax before it, as test_nn_breadth_losses.py checks"
)
NOT_SAMPLED = {
    r"_?ctc_loss(\.\w+)?": _PROBABILITIES,
    r"_ctc_loss_backward(\.Tensor)?": "it has no derivative",
}
GRADIENTS_KNOWN = [
    (
        "soft_margin_loss",
        lambda v: v["self"].values.dtype != v["target"].values.dtype,
        "PyTorch rounds to the dtype of `self` on the way",
    )
]
