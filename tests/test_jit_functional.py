"""`nn.functional` is one text for Python and for the compiler, but for attention."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.frontend.functional_scripts import scripted as written_for_the_compiler
from internals.nn import functional as F

# Keyword-only arguments with defaults are not in the language, in PyTorch neither.
REFUSED = {"triplet_margin_with_distance_loss"}


@pytest.mark.parametrize("name", sorted(set(F.__all__) - REFUSED))
@pytest.mark.filterwarnings("ignore")
def test_it_is_scripted_or_an_operator(name: str) -> None:
    function = getattr(F, name)
    try:
        scripted = written_for_the_compiler(function) or jit.script(function)
    except TypeError as error:
        assert "is built in" in str(error)
    else:
        assert scripted.code.startswith("def ")


def resized(x: internals.Tensor, size: list[int]) -> internals.Tensor:
    return F.interpolate(x, size)


def scaled(x: internals.Tensor, factors: list[float]) -> internals.Tensor:
    return F.interpolate(x, None, factors)


@pytest.mark.parametrize(("function", "numbers"), [(resized, [2, 3]), (scaled, [2.0, 1.5])], ids=["size", "factor"])
def test_numbers_for_two_dimensions_are_not_spread_over_three(function: Any, numbers: list[Any]) -> None:
    scripted, image, volume = jit.script(function), internals.ones(1, 1, 2, 2), internals.ones(1, 1, 2, 2, 2)
    assert scripted(image, numbers).shape == function(image, numbers).shape
    for run in (function, scripted):
        with pytest.raises(Exception, match="number"):
            run(volume, numbers)
