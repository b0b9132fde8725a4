"""`unique`, `unique_consecutive` and `cdist`, which choose their operator in Python
(`torch/functional.py`).

In a script the type of each result must be known, and `unique` returns one, two or three tensors.
So there is a function for each combination of its two flags, between which the compiler chooses
(`scripting.boolean_dispatch`).

How the real one differs: each first looks for a `__torch_function__` of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import functions as F
from internals.core.tensor_impl import Tensor
from internals.functional.scripting import BooleanDispatch, boolean_dispatch
from internals.library import ops


def _return_inverse_and_counts(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The different elements, the place of each element among them, and how often each occurs."""
    if dim is not None:
        return ops.aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return F._unique2(input, sorted, return_inverse, return_counts)


def _return_inverse(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    values, inverse, _ = _return_inverse_and_counts(
        input, sorted, return_inverse, return_counts, dim
    )
    return values, inverse


def _return_counts(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    values, _, counts = _return_inverse_and_counts(
        input, sorted, return_inverse, return_counts, dim
    )
    return values, counts


def _return_output(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Tensor:  # fmt: skip
    """The different elements of `input` in ascending order; with `dim` the different slices along
    it.

    With `return_inverse` there is also the place of each element of `input` among them, with
    `return_counts` the number of times that each occurs. NaN is not equal to NaN, so all are in the
    result. Raises NotImplementedError for complex numbers.
    """
    return _return_inverse_and_counts(input, sorted, return_inverse, return_counts, dim)[0]


def _consecutive_return_inverse_and_counts(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    return F.unique_consecutive(input, return_inverse, return_counts, dim)


def _consecutive_return_inverse(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor]:
    values, inverse, _ = F.unique_consecutive(input, return_inverse, return_counts, dim)
    return values, inverse


def _consecutive_return_counts(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor]:
    values, _, counts = F.unique_consecutive(input, return_inverse, return_counts, dim)
    return values, counts


def _consecutive_return_output(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor:
    """`input` without elements, or slices along `dim`, that are equal to the one before. Further
    results are those of `unique`.
    """
    return F.unique_consecutive(input, return_inverse, return_counts, dim)[0]


def _by_two_flags(
    name: str, at: int, both: Any, inverse: Any, counts: Any, plain: Any
) -> Callable[..., Any]:
    """A function that chooses one of four by the flag `return_inverse`, argument number `at`, and
    the flag `return_counts`, the one after it.
    """
    flag, place = "return_counts", at + 1
    if_true = boolean_dispatch(name, BooleanDispatch(flag, place, False, both, inverse))
    if_false = boolean_dispatch(name, BooleanDispatch(flag, place, False, counts, plain))
    return boolean_dispatch(name, BooleanDispatch("return_inverse", at, False, if_true, if_false))


unique = _by_two_flags(
    "unique", 2, _return_inverse_and_counts, _return_inverse, _return_counts, _return_output
)
unique_consecutive = _by_two_flags(
    "unique_consecutive", 1, _consecutive_return_inverse_and_counts, _consecutive_return_inverse,
    _consecutive_return_counts, _consecutive_return_output,
)  # fmt: skip


def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The p-norm distances between all rows of `x1` (*, P, M) and all rows of `x2` (*, R, M), as
    (*, P, R). The leading dimensions are broadcast.

    `compute_mode` says whether Euclidean distances are computed by a matrix product, which is
    faster and less exact: for more than 25 rows, always, or never. Raises ValueError for another
    string.
    """
    if compute_mode == "use_mm_for_euclid_dist_if_necessary":
        return F.cdist(x1, x2, p, None)
    if compute_mode == "use_mm_for_euclid_dist":
        return F.cdist(x1, x2, p, 1)
    if compute_mode == "donot_use_mm_for_euclid_dist":
        return F.cdist(x1, x2, p, 2)
    raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
