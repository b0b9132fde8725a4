"""Checks of the arguments of the operators on matrices
(`aten/src/ATen/native/LinearAlgebraUtils.h`).

`name` is the operator's name in the messages. Each operator makes the checks that it makes in
PyTorch, and in that order: some ask for more than others.

How the real one differs: its checks are inline functions of a header.
"""

from __future__ import annotations

from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor

# LAPACK has each routine in these four: spotrf, dpotrf, cpotrf, zpotrf
LAPACK_DTYPES = (dt.float32, dt.float64, dt.complex64, dt.complex128)


def matrices(name: str, t: Tensor, argument: str = "A") -> None:
    """Raises RuntimeError for less than two dimensions."""
    if t.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def square(name: str, t: Tensor, argument: str = "A") -> None:
    """Raises RuntimeError for less than two dimensions, or if the last two differ."""
    matrices(name, t, argument)
    m, n = t.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {m} by {n} "
            "matrices"
        )


def floating(name: str, t: Tensor, low_precision: bool = True) -> None:
    """Raises RuntimeError for integers and bools, and for half precision unless
    `low_precision`.
    """
    if not (t.is_floating_point() or t.is_complex()):
        kind = SCALAR_TYPE_NAME[t.dtype]
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind}"
        )
    if not low_precision and t.dtype not in LAPACK_DTYPES:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {SCALAR_TYPE_NAME[t.dtype]}"
        )


def supported(kernel: str, t: Tensor) -> None:
    """Raises NotImplementedError for a dtype that LAPACK has no routine for."""
    if t.dtype not in LAPACK_DTYPES:
        raise not_implemented(kernel, t.dtype)


def same_dtype(name: str, a: Tensor, b: Tensor, names: tuple[str, str] = ("LU", "B")) -> None:
    """Raises RuntimeError if the dtypes differ; `names` is what the message calls the two."""
    if a.dtype is not b.dtype:
        first, second = names
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of "
            f"type {SCALAR_TYPE_NAME[a.dtype]} and {second} of type {SCALAR_TYPE_NAME[b.dtype]} "
            "instead"
        )


def real_tolerances(name: str, atol: Tensor | None, rtol: Tensor | None) -> None:
    """Raises RuntimeError for a complex tolerance. None, a tolerance that is not given, passes."""
    for argument, t in (("atol", atol), ("rtol", rtol)):
        if t is not None and t.is_complex():
            kind = SCALAR_TYPE_NAME[t.dtype]
            raise RuntimeError(
                f"{name}: {argument} tensor of complex type is not supported. Got {kind}"
            )


def solver(name: str, b: Tensor, A: Tensor) -> None:
    """Raises RuntimeError unless the sizes and dtypes of A X = b fit, with the messages of the
    operators that are older than `torch.linalg`.
    """
    (m, n), (rows, columns) = A.shape[-2:], b.shape[-2:]
    if A.dtype is not b.dtype:
        of_b, of_A = SCALAR_TYPE_NAME[b.dtype], SCALAR_TYPE_NAME[A.dtype]
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {of_b} and A of type "
            f"{of_A} instead."
        )
    if m != n:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {m} by {n} matrices"
        )
    if m != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {m} by {m} but each b matrix "
            f"is {rows} by {columns}"
        )
