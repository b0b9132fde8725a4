"""Passes on programs that users wrote: what a review found."""

from __future__ import annotations

import internals as torch
from internals import Tensor, jit


def choose(x: Tensor, flag: bool) -> Tensor:
    if flag:
        mask = torch.ones(2) == 1
    else:
        mask = torch.ones(2) == 0
    return x.masked_fill(mask, 0)


def test_branches_that_give_constant_tensors() -> None:
    """Tensors of several elements have no truth value: the rule `True if c else False` asked for one."""
    f = jit.script(choose)
    assert f(torch.ones(2), True).tolist() == [0, 0]
    assert f(torch.ones(2), False).tolist() == [1, 1]
