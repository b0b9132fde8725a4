"""Matrices that fit together: for inverses, systems of equations, norms and products.

Most are far from singular, so that two ways to compute with them give nearly the same; some are
singular, or not square.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Recipe, Stream, TensorSpec, n

FLOATING = ["float32", "float64", "float64", "complex64", "complex128"]
OTHERS = ["float16", "int64", "bool"]


def square(
    s: Stream, dtype: str, k: int | None = None, batch: tuple[int, ...] | None = None
) -> TensorSpec:
    """A batch of matrices with a large diagonal; now and then singular."""
    k = n(s, 0, 5) if k is None else k
    batch = ((), (), (2,), (0,), (2, 1), (1, 3))[n(s, 0, 6)] if batch is None else batch
    a = s.standard_normal((*batch, k, k)) + (
        1j * s.standard_normal((*batch, k, k)) if dtype[0] == "c" else 0
    )
    a[..., range(k), range(k)] = s.choice([-1, 1], k) * s.uniform(3, 4, k)
    if a.size and s.random() < 0.05:
        a[..., 0, :] = 0
    return TensorSpec(a.astype(dtype), str(s.choice(["plain", "transposed", "strided", "offset"])))


def some_dtype(s: Stream) -> str:
    return str(s.choice(FLOATING if s.random() < 0.9 else OTHERS))


def numbers(s: Stream, sizes: tuple[int, ...], dtype: str) -> TensorSpec:
    a = s.standard_normal(sizes) + (1j * s.standard_normal(sizes) if dtype[0] == "c" else 0)
    return TensorSpec(
        np.asarray(a).astype(dtype), str(s.choice(["plain", "transposed", "strided"]))
    )


def outs(s: Stream, dtype: str) -> dict[str, Any]:
    """What results are written to: by their names, of the right dtype most of the time."""
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    dtypes = {"pivots": "int32", "info": "int32", "logabsdet": real}
    names = [
        "out",
        "result",
        "LU",
        "pivots",
        "info",
        "sign",
        "logabsdet",
        "inverse",
        "solution",
        "cloned_coefficient",
    ]
    return {
        name: TensorSpec(
            np.zeros(0, dtypes.get(name, dtype if s.random() < 0.98 else "complex128"))
        )
        for name in names
    }


def _matrix(s: Stream) -> dict[str, Any]:
    dtype = some_dtype(s)
    a = square(s, dtype) if s.random() < 0.95 else numbers(s, (2, 3), dtype)
    return {"A": a, "self": a, "n": n(s, -3, 7), **outs(s, dtype)}


def _small_matrix(s: Stream) -> dict[str, Any]:
    """With an exponential that is not too large to be differentiated by differences."""
    given = _matrix(s)
    a = given["self"]
    return {**given, "self": TensorSpec((a.values * 0.2).astype(a.values.dtype), a.layout)}


def _power(s: Stream) -> dict[str, Any]:
    """With powers of some size: differences of the sixth power of 4 have few digits left."""
    given = _matrix(s)
    a = given["self"]
    values = a.values * 0.3 if a.values.dtype.kind in "fc" else a.values
    return {**given, "self": TensorSpec(values.astype(a.values.dtype), a.layout)}


def _system(s: Stream) -> dict[str, Any]:
    """A X = B or X A = B, with vectors, and batches that broadcast."""
    dtype, k, columns = some_dtype(s), n(s, 0, 4), n(s, 0, 4)
    A = square(s, dtype, k)
    batch = A.values.shape[:-2]
    left = bool(s.random() < 0.7)
    sides = [
        (k,),
        (*batch, k),
        (*batch, k, columns),
        (k, columns),
        (3, *(1 for _ in batch), k, columns),
    ][n(s, 0, 5)]
    if not left:
        sides = (*sides[:-2], columns, k)
    if s.random() < 0.05:
        sides = (*sides[:-1], 7)
    B = numbers(s, sides, dtype if s.random() < 0.95 else "float32")
    return {"A": A, "B": B, "left": left, **outs(s, dtype)}


def _triangular(s: Stream) -> dict[str, Any]:
    given = _system(s)
    return {**given, "self": given["A"]}


def _triangular_old(s: Stream) -> dict[str, Any]:
    given = _system(s)
    return {**given, "self": given["B"]}


def _tensor_map(s: Stream) -> dict[str, Any]:
    """A square matrix in the sizes of a tensor."""
    sizes = [((2, 3), (6,)), ((4,), (2, 2)), ((1, 2), (2, 1)), ((0,), (0, 3)), ((3,), (3,))][
        n(s, 0, 5)
    ]
    dtype = some_dtype(s)
    flat = square(s, dtype, int(np.prod(sizes[0])), ())
    t = TensorSpec(flat.values.reshape(*sizes[0], *sizes[1]))
    dims = None if s.random() < 0.7 else [0]
    if dims:
        t = TensorSpec(np.moveaxis(t.values, -1, 0).copy())
    return {
        "self": t,
        "ind": len(sizes[0]) if s.random() < 0.9 else 1,
        "other": numbers(s, sizes[0], dtype),
        "dims": dims,
        **outs(s, dtype),
    }


def _norm(s: Stream) -> dict[str, Any]:
    k = n(s, 2, 4)
    sizes = tuple(n(s, 1 if s.random() < 0.9 else 0, 4) for _ in range(k))
    dims = [int(d) for d in s.permutation(k)[: 2 if s.random() < 0.9 else 1]]
    return {
        "self": numbers(s, sizes, some_dtype(s)),
        "dim": dims if k > 2 or s.random() < 0.5 else None,
        "ord": str(s.choice(["fro", "nuc"])),
        "dtype": None,
    }


def _dims(s: Stream) -> dict[str, Any]:
    given = _norm(s)
    return {**given, "dim": given["dim"] or [0, 1]}


def _weights(s: Stream) -> dict[str, Any]:
    sizes = tuple(n(s) for _ in range(n(s, 1, 4)))
    return {"v": sizes, "pow": n(s, 1, 4), "dim": n(s, -1, len(sizes)), "floating": True}


def _order(s: Stream) -> dict[str, Any]:
    ord = [1, -1, 2, -2, float("inf"), -float("inf"), 0.5, None][n(s, 0, 8)]
    return {**_norm(s), "ord": ord}


def _matrix_order(s: Stream) -> dict[str, Any]:
    ord = [1, -1, 2, -2.0, float("inf"), -float("inf"), 0.5][n(s, 0, 7)]
    return {**_norm(s), "ord": ord, "dim": [-2, -1] if s.random() < 0.5 else [1, 0]}


def _chain(s: Stream) -> dict[str, Any]:
    sizes, dtype = [n(s) for _ in range(n(s, 3, 6))], some_dtype(s)
    made = [numbers(s, pair, dtype) for pair in zip(sizes, sizes[1:])]
    if s.random() < 0.3:
        made[0] = numbers(s, (sizes[1],), dtype)
    return {"tensors": made, "matrices": made}


def _tensordot(s: Stream) -> dict[str, Any]:
    a, b, c, d = (n(s) for _ in range(4))
    return [
        {"self": (a, b), "other": (b, c), "dims_self": [1], "dims_other": [0]},
        {"self": (a, b, c), "other": (c, d, b), "dims_self": [1, -1], "dims_other": [2, 0]},
        {"self": (a, b), "other": (c, d), "dims_self": [], "dims_other": []},
        {"self": (a, b), "other": (b, a), "dims_self": [0, 1], "dims_other": [1, 0]},
        {"self": (a, b), "other": (1, d), "dims_self": [1], "dims_other": [0]},
        {"self": (a, b), "other": (c, d), "dims_self": [1], "dims_other": [0]},
    ][n(s, 0, 6)]


def _inner(s: Stream) -> dict[str, Any]:
    a, b, c = n(s), n(s, 0), n(s)
    return {
        "self": [(a, b), (b,), ()][n(s, 0, 3)],
        "other": [(c, b), (b,), (2, c, b), ()][n(s, 0, 4)],
    }


def _vecdot(s: Stream) -> dict[str, Any]:
    a, b = n(s), n(s, 0)
    return {"x": [(a, b), (b,)][n(s, 0, 2)], "y": [(a, b), (b,), (2, 1, b)][n(s, 0, 3)], "dim": -1}


def _cross(s: Stream) -> dict[str, Any]:
    a = n(s)
    sizes = [(3,), (a, 3), (3, a), (2, 3, a)][n(s, 0, 4)]
    other = tuple(1 if k != 3 and s.random() < 0.3 else k for k in sizes)
    return {
        "self": sizes,
        "other": other,
        "dim": sizes.index(3) - (len(sizes) if s.random() < 0.5 else 0),
    }


def _addr(s: Stream) -> dict[str, Any]:
    a, b = n(s, 0), n(s, 0)
    return {"self": [(a, b), (a, 1), (b,), ()][n(s, 0, 4)], "vec1": (a,), "vec2": (b,)}


def _ger(s: Stream) -> dict[str, Any]:
    return {"self": (n(s, 0),), "vec2": (n(s, 0),)}


def _plain_matrix(s: Stream) -> dict[str, Any]:
    a, b = n(s, 0), n(s, 0)
    return {
        "self": (a, b) if s.random() < 0.95 else (a,),
        "A": (2, a, b),
        "grad": (),
        "sizes": [a, b],
    }


def _info(s: Stream) -> dict[str, Any]:
    info = TensorSpec((s.integers(0, 4, 3) * (s.random() < 0.5)).astype("int32"))
    return {
        "info": info,
        "api_name": str(s.choice(["linalg.inv", "linalg.solve", "linalg.cholesky", "linalg.svd"])),
    }


RECIPES: dict[str, Recipe] = {
    **dict.fromkeys(
        [
            "linalg_inv_ex", "linalg_inv", "inverse", "_linalg_det", "linalg_det", "det",
            "_linalg_slogdet", "linalg_slogdet", "slogdet", "logdet",
        ],
        _matrix,
    ),
    "linalg_matrix_power": _power, "matrix_power": _power,
    "linalg_matrix_exp": _small_matrix, "matrix_exp": _small_matrix,
    **dict.fromkeys(["_linalg_solve_ex", "linalg_solve_ex", "linalg_solve"], _system),
    "linalg_solve_triangular": _triangular, "triangular_solve": _triangular_old,
    "linalg_tensorinv": _tensor_map, "linalg_tensorsolve": _tensor_map,
    "linalg_norm": _order, "linalg_matrix_norm": _matrix_order, "frobenius_norm": _dims,
    "nuclear_norm": _dims,
    "norm_except_dim": _weights,
    "linalg_multi_dot": _chain, "chain_matmul": _chain, "tensordot": _tensordot, "inner": _inner,
    "linalg_vecdot": _vecdot, "linalg_cross": _cross, "cross": _cross, "addr": _addr, "ger": _ger,
    "trace": _plain_matrix, "trace_backward": _plain_matrix, "linalg_diagonal": _plain_matrix,
    "_linalg_check_errors": _info,
}  # fmt: skip


def singular(a: Any) -> bool:
    return bool((np.linalg.matrix_rank(a) < a.shape[-1]).any()) if a.size else False


def is_cut(a: Any) -> bool:
    """Whether a complex determinant is a negative number, where the logarithm jumps."""
    d = np.linalg.det(a)
    return a.dtype.kind == "c" and bool(((d.real < 0) & (np.abs(d.imag) < 1e-5)).any())


KNOWN = [
    (
        "(linalg_)?matrix_exp",
        lambda v: v["self"].values.dtype == np.float16,
        "PyTorch's is NaN, or wrong, in half precision",
    ),
    (
        "(linalg_)?matrix_power",
        lambda v: v["n"] in (0, 1) or not v["self"].values.size,
        "PyTorch does not look at dtypes there",
    ),
    (
        "kron",
        lambda v: "out" not in v and any(v[k].layout == "transposed" for k in ("self", "other")),
        "PyTorch refuses some transposed tensors, but not with out=",
    ),
    (
        "logdet",
        lambda v: v["self"].values.dtype.kind == "c" and singular(v["self"].values),
        "the imaginary part of an infinite logarithm",
    ),
    (
        "inner",
        lambda v: "out" in v and v["out"].values.dtype != v["self"].values.dtype,
        "PyTorch takes an `out` of another dtype when one operand has no dimensions: it calls mul",
    ),
]

UNSUITABLE = [
    ("logdet", lambda v: is_cut(v["self"].values), "the logarithm jumps at negative numbers")
]

NOT_SCRIPTED = {"_linalg_check_errors": "it gives nothing"}
