"""A warning names the line that called the operator, whichever way the call took: a function or a method, for the first time or
again, recorded by autograd or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import internals as torch
from internals.core.warn import warn, warn_once

CALLS: dict[str, Callable[[Any], Any]] = {
    "cov": lambda x: torch.cov(x[:1]),
    "var": lambda x: x[:1].var(),
    "T": lambda x: x.view(4, 1, 1).T,
    "mT": lambda x: x[0].mT,
    "meshgrid": lambda x: torch.meshgrid(x, x),
    "range": lambda x: torch.range(0, 3),
    "scatter": lambda x: x.scatter(0, torch.tensor([0]), x[:1], reduce="add"),
    "index_reduce": lambda x: torch.index_reduce(x, 0, torch.tensor([0]), x[:1], "mean"),
    "index_fill_": lambda x: torch.ones(1).expand(3).index_fill_(0, torch.tensor([0]), 2),
    "index": lambda x: x[torch.ones(4, dtype=torch.uint8)],
    "to": lambda x: (x * 1j).to(torch.float32),
    "copy_": lambda x: torch.ones(4).copy_(x * 1j),
    "random_": lambda x: torch.ones(2).random_(0, 2**25),
    "add": lambda x: torch.add(torch.ones(2), 1, out=torch.ones(3)),
    "stft": lambda x: torch.stft(x.repeat(4), 4, return_complex=True),
    "method stft": lambda x: x.repeat(4).stft(4, return_complex=True),
    "solve_triangular": lambda x: torch.linalg.solve_triangular(torch.eye(4), (x * 1j).view(4, 1), upper=True),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_the_line_that_called(name: str, requires_grad: bool) -> None:
    x = torch.arange(4.0).requires_grad_(requires_grad)
    for _ in range(3):
        with pytest.warns(UserWarning) as caught:
            CALLS[name](x)
        assert [(w.filename, w.lineno) for w in caught] == [(__file__, CALLS[name].__code__.co_firstlineno)]


def test_in_a_script() -> None:
    @torch.jit.script
    def spread(x: torch.Tensor) -> torch.Tensor:
        return x[:1].var()

    with pytest.warns(UserWarning, match="degrees of freedom") as caught:
        spread(torch.ones(2))
    assert caught[0].filename == __file__


def test_once() -> None:
    with pytest.warns(UserWarning, match="something old") as caught:
        for _ in range(2):
            warn_once("something old")
            warn("something bad")
    assert [str(w.message) for w in caught] == ["something old", "something bad", "something bad"]
    assert {w.filename for w in caught} == {__file__}
