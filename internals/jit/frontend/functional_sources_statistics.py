"""`unique`, `unique_consecutive` and `cdist` as the compiler reads them (`torch/functional.py`; see `functional_scripts.py`).

How the real one differs: see there.
"""

from __future__ import annotations

from typing import Optional

import internals as torch
from internals import Tensor

aten = torch.ops.aten

# ruff: noqa: UP045  # `Optional` is what the compiler reads


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tensor:
    if dim is not None:
        return aten.unique_dim(input, dim, sorted, return_inverse, return_counts)[0]
    return aten._unique2(input, sorted, return_inverse, return_counts)[0]


def unique_with_inverse(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> tuple[Tensor, Tensor]:
    values, inverse, _ = unique_with_both(input, sorted, return_inverse, return_counts, dim)
    return values, inverse


def unique_with_counts(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> tuple[Tensor, Tensor]:
    values, _, counts = unique_with_both(input, sorted, return_inverse, return_counts, dim)
    return values, counts


def unique_with_both(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        return aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return aten._unique2(input, sorted, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> Tensor:
    return aten.unique_consecutive(input, return_inverse, return_counts, dim)[0]


def unique_consecutive_with_inverse(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> tuple[Tensor, Tensor]:
    values, inverse, _ = aten.unique_consecutive(input, return_inverse, return_counts, dim)
    return values, inverse


def unique_consecutive_with_counts(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> tuple[Tensor, Tensor]:
    values, _, counts = aten.unique_consecutive(input, return_inverse, return_counts, dim)
    return values, counts


def unique_consecutive_with_both(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None
) -> tuple[Tensor, Tensor, Tensor]:
    return aten.unique_consecutive(input, return_inverse, return_counts, dim)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    if compute_mode == "use_mm_for_euclid_dist_if_necessary":
        return aten.cdist(x1, x2, p, None)
    if compute_mode == "use_mm_for_euclid_dist":
        return aten.cdist(x1, x2, p, 1)
    if compute_mode == "donot_use_mm_for_euclid_dist":
        return aten.cdist(x1, x2, p, 2)
    raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
