"""Borders that are mirrored or repeated, and activations whose gradient or noise is an argument of
their own.
"""

from __future__ import annotations

from typing import Any

from tests.aten.op_tensors import Recipe, Stream, n


def borders(dims: int) -> Recipe:
    """Amounts smaller than the image; its gradient has the sizes of the padded one."""

    def recipe(s: Stream) -> dict[str, Any]:
        batch, inside = (n(s, 1, 3),) * n(s, 1, 3), [n(s, 2, 4) for _ in range(dims)]
        padding = [n(s, -1, 2) for _ in range(2 * dims)]
        outside = [k + padding[2 * i] + padding[2 * i + 1] for i, k in enumerate(reversed(inside))][
            ::-1
        ]
        return {
            "self": (*batch, *inside),
            "grad_output": (*batch, *outside),
            "padding": padding,
            "floating": True,
        }

    return recipe


def circular(s: Stream) -> dict[str, Any]:
    given = borders(n(s, 1, 4))(s)
    value = [None, 0.0][n(s, 0, 2)]
    return {
        "self": given["self"],
        "pad": given["padding"],
        "mode": n(s, 0, 4),
        "value": value,
        "floating": True,
    }


def halves(s: Stream) -> dict[str, Any]:
    rows, columns = n(s), n(s, 1, 3)
    return {
        "grad_output": (rows, columns),
        "self": (rows, 2 * columns),
        "dim": [1, -1][n(s, 0, 2)],
        "floating": True,
    }


def noisy(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s, 0, 4)))
    return {
        "self": sizes, "noise": sizes, "grad_output": sizes, "lower": 0.1, "upper": 0.4,
        "generator": None, "self_is_result": False, "floating": True,
    }  # fmt: skip


RECIPES: dict[str, Recipe] = {
    f"{kind}_pad{dims}d{backward}": borders(dims)
    for kind in ("reflection", "replication")
    for dims in (1, 2, 3)
    for backward in ("", "_backward")
} | {
    **dict.fromkeys(["_pad_circular", "_pad_enum"], circular),
    "glu_backward": halves,
    **dict.fromkeys(["rrelu_with_noise", "rrelu_with_noise_backward"], noisy),
}

KNOWN = [
    (
        "rrelu_with_noise_?",
        lambda v: v["noise"].layout != "plain",
        "PyTorch writes the noise as if it lay in one run of memory",
    ),
]

UNSUITABLE = [
    (
        "rrelu_with_noise_backward",
        lambda v: v["noise"].values.dtype.kind == "c",
        "of real numbers: forward refuses others",
    ),
]

NOT_CALLED = {
    "rrelu_with_noise.out": "PyTorch writes to an `out` that it has not resized, and crashes"
}

CONSTANT = [("rrelu_with_noise_?|rrelu_with_noise_backward", "noise")]

NOT_SAMPLED = {
    "adaptive_max_pool3d_backward": (
        "takes what a forward pass gave: gradgradcheck of that checks it"
    )
}

GRADIENTS_KNOWN = [
    (
        r"(reflection|replication)_pad\dd_backward",
        lambda v: not v["grad_output"].values.size,
        "PyTorch does not look at the dtype when there is nothing to compute",
    ),
    (
        r"(reflection|replication)_pad\dd",
        lambda v: nothing_left(v),
        "PyTorch's gradient is memory that nobody wrote to",
    ),
]

OTHER_NODES = {
    "_pad_circular|_pad_enum": (
        "PyTorch writes the circle piece by piece into an empty tensor, in place"
    )
}


def nothing_left(v: dict[str, Any]) -> bool:
    """Whether negative amounts cut a whole dimension off."""
    amounts, sizes = v["padding"], v["self"].values.shape[::-1]
    return any(k + sum(amounts[2 * i : 2 * i + 2]) == 0 for i, k in enumerate(sizes))
