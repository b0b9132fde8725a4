"""Operators by a second name, as graphs write them (`torch/csrc/jit/passes/normalize_ops.cpp`).

Of two names for one thing a graph has only the first, so that passes need know only one. Not every `same_as` of the declarations
is in this table: PyTorch leaves `argwhere`, `trapz` and `linalg_diagonal` as they are, and overloads (`max` of two tensors).

How the real one differs: the table is a C++ map in the pass, and the pass runs on traces, too.
"""

from __future__ import annotations

SECOND_NAMES = {
    "absolute": "abs", "adjoint": "mH", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat",
    "degrees": "rad2deg", "det": "linalg_det", "divide": "div", "fix": "trunc", "ger": "outer", "greater": "gt",
    "greater_equal": "ge", "inverse": "linalg_inv", "less": "lt", "less_equal": "le", "matrix_exp": "linalg_matrix_exp",
    "moveaxis": "movedim", "multiply": "mul", "negative": "neg", "not_equal": "ne", "orgqr": "linalg_householder_product",
    "radians": "deg2rad", "row_stack": "vstack", "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose",
    "true_divide": "div", "special_expit": "sigmoid", "special_gammainc": "igamma", "special_gammaincc": "igammac",
    "special_gammaln": "lgamma", "special_multigammaln": "mvlgamma", "special_psi": "digamma",
    **{f"special_{name}": name for name in (
        "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "log_softmax", "logit", "logsumexp", "polygamma",
        "round", "sinc", "softmax", "xlogy",
    )},
}  # fmt: skip


def first_name(kind: str) -> str:
    """The kind of a node by the first name of its operator: `aten::clamp_` for `aten::clip_`."""
    stem = kind.removeprefix("aten::").rstrip("_")
    first = SECOND_NAMES.get(stem)
    return kind.replace(stem, first, 1) if first and kind.startswith("aten::") else kind
