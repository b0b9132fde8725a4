"""Pooling backwards, fractional and by p-norms, grids and the like, as the compiler reads them (`functional_sources.py`).

How the real one differs: see there.
"""

# ruff: noqa: UP045  # `Optional` around a list of given length is what the compiler reads
# mypy: disable-error-code="valid-type,index,arg-type,misc,return-value,assignment,operator,union-attr,call-arg"
from __future__ import annotations

from typing import Optional

import internals as torch
from internals import Tensor

from .functional_sources_layers import interpolate

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list  # one T, or a list of N of them


def upsample_nearest(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, "bilinear", True)
