"""`lu` as the compiler reads it (`torch/functional.py`; see `functional_scripts.py`).

How the real one differs: see there.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import internals as torch
from internals import Tensor

aten = torch.ops.aten

# ruff: noqa: UP006, UP035, UP045  # `Tuple` and `Optional` are what the compiler reads


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Optional[Any] = None) -> Tuple[Tensor, Tensor]:
    LU, pivots, info = aten._lu_with_info(A, pivot, not get_infos)
    return LU, pivots


def lu_with_infos(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Optional[Any] = None
) -> Tuple[Tensor, Tensor, Tensor]:
    LU, pivots, info = aten._lu_with_info(A, pivot, not get_infos)
    return LU, pivots, info
