"""Matrices that have the decompositions, and what earlier decompositions gave.

Where a decomposition is only known up to a sign, a phase or an order, two libraries may give
different ones, and neither gives what finite differences can be taken of: those are in
tests/aten/test_linalg_decompositions.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.areas.linalg import numbers, some_dtype, square
from tests.aten.op_tensors import Recipe, Stream, TensorSpec, n

OUTS = {
    "info": "int32", "pivots": "int32", "rank": "int64", "singular_values": "real",
    "residuals": "real", "eigenvalues": "complex", "eigenvectors": "complex",
}  # fmt: skip
NAMES = [*"out L Q R a tau U S Vh V P LU LD solution".split(), *OUTS]


def outs(s: Stream, dtype: str, **others: str) -> dict[str, Any]:
    """What results are written to, of the right dtype most of the time."""
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    kinds = {
        "real": real,
        "complex": "complex128" if dtype in ("float64", "complex128") else "complex64",
    }
    wanted = {name: OUTS.get(name, dtype) for name in NAMES} | others
    return {
        name: TensorSpec(np.zeros(0, kinds.get(kind, kind) if s.random() < 0.98 else "complex64"))
        for name, kind in wanted.items()
    }


def matrix(s: Stream, dtype: str, tall: bool = False) -> TensorSpec:
    """A batch of matrices of any sizes."""
    batch = ((), (), (2,), (0,), (2, 1))[n(s, 0, 5)]
    rows, columns = (
        sorted((n(s, 0, 4), n(s, 0, 4)), reverse=tall) if tall else (n(s, 0, 4), n(s, 0, 4))
    )
    return numbers(s, (*batch, rows, columns), dtype)


def positive(s: Stream, dtype: str) -> TensorSpec:
    """Positive-definite matrices; a few are not."""
    a = square(s, dtype).values
    if s.random() < 0.95 and a.dtype.kind in "fc":
        # quarters: their products are exact, so every processor asks about the same matrices
        a = (np.round(4 * a) / 4).astype(a.dtype)
        a = (a @ a.conj().swapaxes(-1, -2) + np.eye(a.shape[-1])).astype(a.dtype)
    return TensorSpec(a, str(s.choice(["plain", "transposed", "strided"])))


def _any(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    a = matrix(s, dtype)
    return {
        "self": a,
        "A": a,
        "input": a,
        "mode": str(s.choice(["reduced", "complete", "r"])),
        **outs(s, dtype),
    }


def _ranked(s: Stream) -> dict[str, Any]:
    return {**_any(s), "rcond": 1e-6, "tol": 1e-6, "atol": None, "rtol": None, "hermitian": False}


def _conditioned(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    p = [None, 2, -2, 1, -1, float("inf"), -float("inf"), 3][n(s, 0, 8)]
    return {
        "self": square(s, dtype),
        "p": str(s.choice(["fro", "nuc"])) if s.random() < 0.5 else p,
        **outs(s, dtype, out="real"),
    }


def _positive(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    return {
        "self": positive(s, dtype),
        "A": positive(s, dtype),
        "UPLO": str(s.choice(["L", "U", "l"])),
        **outs(s, dtype),
    }


def _eigenvalues(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    return {
        "self": positive(s, dtype),
        "UPLO": str(s.choice(["L", "U", "l"])),
        **outs(s, dtype, out="real"),
    }


def _singular_values(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    return {"A": matrix(s, dtype), "driver": None, **outs(s, dtype, out="real")}


def _factor(s: Stream) -> dict[str, Any]:
    """A Cholesky factor, and a right-hand side."""
    dtype = some_dtype(s)
    L = square(s, dtype)
    sides = (
        (*L.values.shape[:-1], n(s, 0, 3)) if s.random() < 0.7 else (L.values.shape[-1], n(s, 0, 3))
    )
    return {"self": numbers(s, sides, dtype), "input2": L, **outs(s, dtype)}


def _inverted_factor(s: Stream) -> dict[str, Any]:
    given = _factor(s)
    return {**given, "self": given["input2"]}


def pivots(s: Stream, sizes: tuple[int, ...], rows: int) -> TensorSpec:
    """In step i, which row from i on; counted from 1."""
    return TensorSpec(
        np.array(
            np.arange(sizes[-1]) + s.integers(0, rows - np.arange(sizes[-1]), sizes) + 1, np.int32
        ).reshape(sizes)
    )


def _factored(s: Stream) -> dict[str, Any]:
    """L and U in one matrix, pivots, and a right-hand side."""
    dtype = some_dtype(s)
    LU = square(s, dtype)
    sizes = LU.values.shape
    p, left = pivots(s, sizes[:-1], sizes[-1]), bool(s.random() < 0.7)
    k = n(s, 0, 3)
    sides = (sizes[-1], k) if left else (k, sizes[-1])
    B = numbers(s, (*sizes[:-2], *sides) if s.random() < 0.7 else sides, dtype)
    steps = TensorSpec(
        np.broadcast_to(np.arange(1, sizes[-1] + 1, dtype=np.int32), sizes[:-1]).copy()
    )
    return {
        **outs(s, dtype),
        "LU": LU,
        "pivots": p,
        "B": B,
        "left": left,
        "LD": LU,
        "_steps": steps,
    }


def _older_factored(s: Stream) -> dict[str, Any]:
    given = _factored(s)
    return {**given, "self": given["B"], "LU_data": given["LU"], "LU_pivots": given["pivots"]}


def _unpacked(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    a = matrix(s, dtype)
    *batch, rows, columns = a.values.shape
    return {
        "LU_data": a,
        "LU_pivots": pivots(s, (*batch, min(rows, columns)), rows),
        **outs(s, dtype),
    }


def _ldl(s: Stream) -> dict[str, Any]:
    given = _factored(s)
    return {**given, "pivots": given["_steps"], "hermitian": False}


def _reflections(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    a = matrix(s, dtype, tall=True)
    *batch, rows, columns = a.values.shape
    left, k = bool(s.random() < 0.5), n(s, 0, 3)
    tau = numbers(s, (*batch, n(s, 0, columns + 1)), dtype)
    return {"input": a, "self": a, "input2": tau, "tau": tau, **outs(s, dtype)} | {
        "_k": k,
        "left": left,
    }


def _applied(s: Stream) -> dict[str, Any]:
    given = _reflections(s)
    a = given["self"].values
    *batch, rows, columns = a.shape
    dtype = a.dtype.name
    other = (rows, given["_k"]) if given["left"] else (given["_k"], rows)
    return {
        **given,
        "input2": numbers(s, (*batch, columns), dtype),
        "input3": numbers(s, (*batch, *other), dtype),
    }


def _least_squares(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    a = matrix(s, dtype)
    *batch, rows, columns = a.values.shape
    diagonal = range(min(rows, columns))
    if a.values.dtype.kind in "fc":
        # second gradients of what is nearly singular depend on the CPU
        a.values[..., diagonal, diagonal] += 3
    b = [(*batch, rows, 2), (*batch, rows)][n(s, 0, 2)]
    driver = [None, "gels", "gelsy", "gelsd", "gelss"][n(s, 0, 5)]
    return {"self": a, "b": numbers(s, b, dtype), "rcond": None, "driver": driver, **outs(s, dtype)}


RECIPES: dict[str, Recipe] = {
    **dict.fromkeys(["linalg_cholesky_ex", "linalg_cholesky", "cholesky"], _positive),
    "cholesky_solve": _factor,
    "cholesky_inverse": _inverted_factor,
    **dict.fromkeys(["linalg_qr", "qr", "geqrf"], _any),
    **dict.fromkeys(
        ["linalg_lu_factor_ex", "linalg_lu_factor", "linalg_lu", "_lu_with_info"], _any
    ),
    **dict.fromkeys(["linalg_pinv", "pinverse"], _ranked),
    "linalg_matrix_rank": lambda s: {**_ranked(s), "out": TensorSpec(np.zeros(0, "int64"))},
    **dict.fromkeys(["linalg_householder_product", "orgqr"], _reflections),
    "ormqr": _applied,
    "linalg_svdvals": _singular_values,
    "linalg_eigvalsh": _eigenvalues,
    "linalg_lu_solve": _factored,
    "lu_solve": _older_factored,
    "lu_unpack": _unpacked,
    **dict.fromkeys(["linalg_ldl_factor_ex", "linalg_ldl_factor"], _positive),
    "linalg_ldl_solve": _ldl,
    "linalg_lstsq": _least_squares,
    "linalg_cond": _conditioned,
}

OPEN_SIGNS = (
    "signs, phases and the order of eigenvalues are open: tests/aten/test_linalg_decompositions.py"
)
NOT_CALLED = dict.fromkeys(
    [
        "_linalg_svd",
        "linalg_svd",
        "svd",
        "_linalg_eigh",
        "linalg_eigh",
        "linalg_eig",
        "linalg_eigvals",
        "_linalg_eigvals",
    ],  # fmt: skip
    OPEN_SIGNS,
)

KNOWN: list[tuple[str, Any, str]] = [
    (
        "(linalg_)?lu_solve",
        lambda v: strided_batch(v.get("LU", v.get("LU_data"))),
        "PyTorch takes some strides of a batch for others",
    ),
    (
        "linalg_cond",
        lambda v: singular(v["self"]),
        "how large an inverse that does not exist is, is up to rounding",
    ),
    ("linalg_cond", lambda v: v["self"].values.dtype == np.float16, "which error comes first"),
    (
        "linalg_lstsq",
        lambda v: "singular_values" in v and wrong_outs(v),
        "an internal assertion of PyTorch",
    ),
]

NOT_SAMPLED = {
    "_?linalg_svd|svd|_?linalg_eigh?|_?linalg_eigvals": OPEN_SIGNS,
    "(linalg_)?cholesky(_ex|_solve|_inverse)?|linalg_eigvalsh": (
        "it reads one triangle, and has the gradient of a whole matrix: "
        "tests/autograd/test_linalg_decomposition_gradients.py"
    ),
    r"linalg_matrix_rank(\..*)?": "gives no floating tensor",
    r"linalg_pinv\.rcond_tensor": "singular values that count as zero: pinv is tested",
    "linalg_ldl_.*|geqrf": "it has no derivative, as in PyTorch",
}

UNSUITABLE: list[tuple[str, Any, str]] = [
    (
        "linalg_qr",
        lambda v: v["mode"] != "reduced",
        "refused, or the columns that complete Q are arbitrary",
    ),
    ("qr", lambda v: not v["some"], "the same"),
    ("lu_unpack", lambda v: not v["unpack_data"], "the permutation has no gradient"),
]

GRADIENTS_KNOWN: list[tuple[str, Any, str]] = [
    (
        "(linalg_)?lu_solve",
        lambda v: strided_batch(v.get("LU", v.get("LU_data"))),
        "PyTorch takes some strides of a batch for others",
    ),
    (
        "(linalg_)?lu_solve",
        lambda v: singular(v.get("LU", v.get("LU_data"))),
        "infinities, and what becomes of them",
    ),
    (
        "(linalg_)?qr",
        lambda v: steep(v.get("A", v.get("self"))),
        "too much is lost in single precision",
    ),
    (
        "linalg_cond",
        lambda v: v["p"] not in (None, 2, -2, "nuc"),
        "PyTorch overwrites what its own backward needs",
    ),
]


def strided_batch(t: TensorSpec) -> bool:
    return t.values.ndim > 2 and t.layout != "plain"


def singular(t: TensorSpec) -> bool:
    """A square one, that is."""
    a = t.values
    if (
        a.dtype.kind not in "fc"
        or a.dtype == np.float16
        or not a.size
        or a.shape[-1] != a.shape[-2]
    ):
        return False
    return bool((np.linalg.cond(a.astype("complex128")) > 1e6).any())


def steep(t: TensorSpec) -> bool:
    a = t.values.astype("complex128")
    k = min(a.shape[-2:])
    return bool(a.size and (np.linalg.cond(a[..., :k]) > 20).any())


def wrong_outs(v: dict[str, Any]) -> bool:
    real = v["self"].values.real.dtype
    return (
        any(v[name].values.dtype != real for name in ("residuals", "singular_values"))
        or v["rank"].values.dtype != np.int64
    )
