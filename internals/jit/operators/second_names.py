"""Operators by a second name, as graphs write them (`torch/csrc/jit/passes/normalize_ops.cpp`).

Of two names for one thing a graph has only the first, so that passes need know only one. The names
are those that declarations give as `same_as`.

How the real one differs: the table is a C++ map in the pass, and the pass runs on traces, too.
"""

from __future__ import annotations

from internals._generated.second_names import SECOND_NAMES as DECLARED

LEFT_ALONE = {  # in PyTorch, too
    "argwhere", "linalg_diagonal", "linalg_matmul", "matrix_power", "max", "min", "split", "trapz",
}  # fmt: skip
SECOND_NAMES = {"adjoint": "mH", "degrees": "rad2deg", "radians": "deg2rad"} | {
    name: first
    for name, first in DECLARED.items()
    if name not in LEFT_ALONE and not name.startswith("__")
}


def first_name(kind: str) -> str:
    """The kind of a node by the first name of its operator: `aten::clamp_` for `aten::clip_`."""
    stem = kind.removeprefix("aten::").rstrip("_")
    first = SECOND_NAMES.get(stem)
    return kind.replace(stem, first, 1) if first and kind.startswith("aten::") else kind
