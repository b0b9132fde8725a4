"""What people believe about writing in place."""

from __future__ import annotations

from typing import Any

from exercises.beliefs import Beliefs

WRITES = {
    "y[0].add_(2)": "refused",
    "y.add_(2) in no_grad": "refused",
    "y.detach().add_(2)": "refused",
    "y.data.add_(2)": "wrong",
    "y.detach().numpy() += 2": "wrong",
    "y.clone().add_(2)": "right",
}
DETACHED = "detach() shares the counter with y, so its write is seen"


def but(**other: Any) -> dict[str, str]:
    """What happens, with other outcomes for some writes."""
    names = {"detach": "y.detach().add_(2)", "data": "y.data.add_(2)"}
    names |= {"numpy": "y.detach().numpy() += 2", "no_grad": "y.add_(2) in no_grad"}
    return WRITES | {names[key]: outcome for key, outcome in other.items()}


BELIEFS: Beliefs = {
    "writes": [
        (but(no_grad="wrong"), "no_grad switches recording off, not counting"),
        (but(no_grad="right"), "no_grad switches recording off, not counting"),
        (but(detach="wrong"), DETACHED),
        (but(detach="right"), DETACHED),
        (but(data="refused"), ".data has the memory of y, and a fresh counter"),
        (but(data="refused", numpy="refused"), "neither .data nor numpy counts where y looks"),
        (but(numpy="refused"), "numpy knows nothing of counters"),
    ],
    "harmless": [
        (
            {"adding 0": False, "another element": False},
            "the counter counts writes to a memory; it looks at no values and at no places",
        ),
        (
            {"adding 0": False, "another element": True},
            "the counter counts writes, and does not look at values",
        ),
        (
            {"adding 0": True, "another element": False},
            "there is one counter for each memory, not for each element",
        ),
    ],
    "sigmoid": [
        (
            {"sigmoid()": True, "written out": True},
            "a product with a number keeps nothing, so its result is free",
        ),
        (
            {"sigmoid()": False, "written out": False},
            "the derivative of a sigmoid is computed from its result, which was kept",
        ),
        (
            {"sigmoid()": False, "written out": True},
            "the one operator keeps its result; of the written-out steps the last keeps nothing",
        ),
    ],
    "step": [
        (
            {"today": "right", "up to 1.4": "right"},
            "the graph kept w itself, and the step has changed it",
        ),
        (
            {"today": "refused", "up to 1.4": "refused"},
            "a write through .data is not counted, so nothing is there to compare",
        ),
        (
            {"today": "right", "up to 1.4": "wrong"},
            "under no_grad a write is not recorded, but it is counted",
        ),
    ],
    "balance": [
        (363, "the product keeps balance[year], and the next write counts for all of the memory"),
        (0, "assigning to a slice records: that is not what is missing"),
    ],
    "alive": [
        (
            {"relu(h)": 11, "relu_(h)": 1, "silu(h)": 11, "silu(h, inplace=True)": 1},
            "the products keep their factors in any case",
        ),
        (
            {"relu(h)": 11, "relu_(h)": 11, "silu(h)": 11, "silu(h, inplace=True)": 11},
            "silu keeps its input, and the next product its result: two tensors for a layer",
        ),
        (
            {"relu(h)": 11, "relu_(h)": 11, "silu(h)": 21, "silu(h, inplace=True)": 11},
            "silu in place needs the value that it overwrites, and copies it first",
        ),
        (
            {"relu(h)": 11, "relu_(h)": 10, "silu(h)": 21, "silu(h, inplace=True)": 11},
            "relu gains nothing: what it would save goes away by itself; and silu in place copies",
        ),
    ],
}
