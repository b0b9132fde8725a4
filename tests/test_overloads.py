"""Which overload of a name a call reaches: PyTorch's order, and what it is for."""

from __future__ import annotations

import re
from typing import Any

import pytest

import internals as torch
from internals._generated import functions, methods
from internals.core.arg_parser import PythonArgParser
from tests.support import oracle

PARSERS = [
    (module, p.name)
    for module in (functions, methods)
    for p in vars(module).values()
    if isinstance(p, PythonArgParser) and len(p.overloads) > 1
]


def test_a_0d_tensor_is_a_tensor_before_it_is_a_number() -> None:
    zero_dim = torch.tensor(2.5, dtype=torch.float64)
    assert torch.ones(2, dtype=torch.int64).clamp(zero_dim).dtype is torch.float64
    assert torch.ones(2, dtype=torch.int64).remainder(zero_dim).dtype is torch.float64
    t = torch.ones(2)
    with torch._dispatch_trace() as steps:
        torch.eq(t, zero_dim)
    assert {s["op"] for s in steps} == {"aten::eq.Tensor"}


def test_one_dimension_is_an_int_before_it_is_a_list() -> None:
    with torch._dispatch_trace() as steps:
        torch.ones(2, 3).max(0)
        torch.ones(2, 3).var(0)
    assert {"aten::max.dim", "aten::var.dim"} <= {s["op"] for s in steps}


def test_an_optional_argument_without_default_has_to_be_given() -> None:
    with pytest.raises(TypeError, match="sum"):
        torch.ones(2).sum(keepdim=True)
    assert torch.ones(2).sum(None, keepdim=True).shape == (1,)


@pytest.mark.parametrize(
    ("module", "name"), PARSERS, ids=lambda p: p if isinstance(p, str) else p.__name__.rpartition(".")[2]
)
def test_signatures_are_listed_in_pytorchs_order(module: Any, name: str) -> None:
    real = oracle()
    if name.startswith("__"):
        pytest.skip("operators answer NotImplemented")
    if name in ("view", "view_copy", "tensor_split"):
        pytest.skip("PyTorch sorts symbolic integers last; these signatures have nothing in common")
    listings = []
    for library in (real, torch):
        owner = library if module is functions else library.Tensor
        if not hasattr(owner, name):
            pytest.skip(f"{name} is not public in PyTorch")
        first = [] if module is functions else [library.ones(1)]
        with pytest.raises(TypeError) as error:
            getattr(owner, name)(*first, *[object()] * 9, zz=1)
        lines = [line.strip() for line in str(error.value).splitlines() if line.strip().startswith("*")]
        listings.append([re.sub("internals|torch", "T", line).replace("Number self", "Number input") for line in lines])
    theirs, ours = listings
    assert [s for s in theirs if s in ours] == [s for s in ours if s in theirs]
