"""`nn.functional` as the compiler reads it: the same functions, typed (`torch/nn/functional.py`).

Our own `nn.functional` is written for Python and for speed, with types that say `Any`; a scripted function that calls
`F.relu(x)` compiles the `relu` below instead (`functional_scripts.py`). Each is a call of an operator, after the choices that are
made in Python: in place or not, a word for the reduction. They are Python too, and give what `nn.functional` gives.

How the real one differs: there is only one of each, with annotations, which serves Python and the compiler alike.
"""

# ruff: noqa: UP006, UP035, UP045  # types as the language spells them
# mypy: disable-error-code="valid-type,arg-type,misc"
from __future__ import annotations

from typing import List, Optional

import internals as torch
from internals import Tensor

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = list  # one T, or a list of N of them


def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return aten.pad(input, pad, mode, value)
