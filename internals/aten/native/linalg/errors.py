"""LAPACK's reports as exceptions (`_linalg_check_errors` in
`aten/src/ATen/native/BatchLinearAlgebra.cpp`).

A routine of LAPACK does not raise: it returns a number, `info`. 0 is success; a positive number
says where the algorithm stopped, at a pivot that is zero, say; a negative one names an invalid
argument. The `_ex` operators hand `info` to the caller, one for each matrix of a batch; the
others call `check_errors`.

How the real one differs: the class is `torch._C._LinAlgError`; on a GPU, looking at `info` would
wait for the device, which is why the `_ex` operators exist.
"""

from __future__ import annotations

import numpy as np

from internals.core.tensor_impl import Array, Tensor, host_array


class LinAlgError(RuntimeError):
    """A matrix that the operator cannot do its work on: singular, not positive-definite, ..."""


def _linalg_check_errors(info: Tensor, api_name: str, is_matrix: bool) -> None:
    """`check_errors` as an operator, of an int32 tensor; waits for its device."""
    check_errors(host_array(info), api_name, is_matrix)


def check_errors(info: Array, api_name: str, is_matrix: bool) -> None:
    """Raises LinAlgError for the first element of `info`, an array, that is not 0; `api_name`
    chooses the message. With `is_matrix` there was no batch.

    Raises a plain RuntimeError for `lu_factor`, and for a negative number, which is a bug here
    (except -4 of the svd).
    """
    if not info.any():
        return
    index = int(np.flatnonzero(info)[0])
    code = int(info.flat[index])
    where = api_name if is_matrix else f"{api_name}: (Batch element {index})"
    if code == -4 and "svd" in api_name:
        raise LinAlgError(
            f"{where}: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        )
    if code < 0:
        raise RuntimeError(
            f"{where}: Argument {-code} has illegal value. Most certainly there is a bug in the "
            "implementation."
        )
    # the first key that is a part of `api_name`, such as "cholesky" of "linalg.cholesky_ex"
    for name, text in _TEXTS.items():
        if name in api_name:
            error = RuntimeError if name == "lu_factor" else LinAlgError
            raise error(f"{where}: {text.format(code)}")
    raise RuntimeError(f"{api_name}: Unknown error code: {code}.")


_REPEATED = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated"
)
_TEXTS = {
    "inv": (
        "The diagonal element {} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    ),
    "solve": "The solver failed because the input matrix is singular.",
    "cholesky": (
        "The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order {} is not positive-definite)."
    ),
    "svd": f"{_REPEATED} singular values (error code: {{}}).",
    "eig": f"{_REPEATED} eigenvalues (error code: {{}}).",
    "syevd": f"{_REPEATED} eigenvalues (error code: {{}}).",
    "lstsq": (
        "The least squares solution could not be computed because the input matrix does not have "
        "full rank (error code: {})."
    ),
    "lu_factor": (
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you "
        "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    ),
}
