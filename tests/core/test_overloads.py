"""Which overload of a name a call reaches: PyTorch's order, and what it is for."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import internals as torch
from internals._generated import functions, methods
from tests.answers import answer

PARSERS = [
    (module, name)
    for module, lines in ((functions, functions.FUNCTIONS.lines), (methods, methods.METHODS.lines))
    for name, line in lines.items()
    if len(line.partition("|")[0].split()) > 1
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
    ("module", "name"),
    PARSERS,
    ids=lambda p: p if isinstance(p, str) else p.__name__.rpartition(".")[2],
)
def test_signatures_are_listed_in_pytorchs_order(module: Any, name: str) -> None:
    if name.startswith("__"):
        pytest.skip("operators answer NotImplemented")
    if name in ("view", "view_copy", "tensor_split"):
        pytest.skip("PyTorch sorts symbolic integers last; these signatures have nothing in common")

    def listing(T: Any) -> list[str] | None:
        owner = T if module is functions else T.Tensor
        if not hasattr(owner, name):
            return None
        first = [] if module is functions else [T.ones(1)]
        with pytest.raises(TypeError) as error:
            getattr(owner, name)(*first, *[object()] * 9, zz=1)
        lines = [
            line.strip() for line in str(error.value).splitlines() if line.strip().startswith("*")
        ]
        return [
            re.sub("internals|torch", "T", line).replace("Number self", "Number input")
            for line in lines
        ]

    theirs, ours = answer(listing), listing(torch)
    if theirs is None:
        pytest.skip(f"{name} is not public in PyTorch")
    assert ours is not None
    assert [s for s in theirs if s in ours] == [s for s in ours if s in theirs]


# Calls in an order of arguments that Python once took, of ones, twos and threes, and the result: a
# method, a function, in place and with out= of each operator that has such an order.
DEPRECATED = {
    "T.add(one, 5, two)": 11,
    "one.add(5, two)": 11,
    "one.add_(5, two)": 11,
    "one.add(T.tensor(5), two)": 11,
    "T.add(one, 5, two, out=out)": 11,
    "T.sub(one, 5, two)": -9,
    "one.sub_(5, two)": -9,
    "T.addcmul(one, 2.0, two, three)": 13,
    "T.addcmul(one, 2.0, tensor1=two, tensor2=three)": 13,
    "T.addcmul(one, 2.0, two, three, out=out)": 13,
    "one.addcmul_(2.0, two, three)": 13,
    "T.addcdiv(one, 3, two, three)": 3,
    "one.addcdiv_(3, two, three)": 3,
    "T.addmm(2, one, 3, two, three)": 38,
    "T.addmm(2, one, two, three)": 14,
    "T.addmm(2, input=one, mat1=two, mat2=three)": 14,
    "T.addmm(2, one, two, three, out=out)": 14,
    "one.addmm(2, 3, two, three)": 38,
    "one.addmm_(2, two, three)": 14,
    "T.addmv(2, one[0], 3, two, three[0])": 38,
    "one[0].addmv_(2, two, three[0])": 14,
    "T.addmv_(2, one[0], 3, two, three[0])": 38,
    "T.addr(2, one, 3, two[0], three[0])": 20,
    "one.addr_(2, two[0], three[0])": 8,
    "T.addbmm(2, one, 3, two[None], three[None])": 38,
    "one.addbmm_(2, two[None], three[None])": 14,
    "T.baddbmm(2, one[None], 3, two[None], three[None])": 38,
    "one[None].baddbmm_(2, two[None], three[None])": 14,
}


@pytest.mark.parametrize("text", DEPRECATED)
def test_an_order_of_arguments_of_old_is_taken_with_a_warning(T: Any, text: str) -> None:
    names = {
        "T": T,
        "out": T.empty(2, 2),
        **{name: T.full((2, 2), i) for name, i in (("two", 2.0), ("three", 3.0))},
    }
    always = T.is_warn_always_enabled()
    T.set_warn_always(True)
    try:
        for _ in range(2):  # the second call finds its signature in the parser's cache
            with pytest.warns(UserWarning, match=r"This overload of \w+ is deprecated:") as caught:
                result = eval(text, names | {"one": T.ones(2, 2)})
            assert result.flatten().tolist() == [DEPRECATED[text]] * result.numel()
            assert len(caught) == 1
    finally:
        T.set_warn_always(always)


def test_the_warning_shows_both_orders() -> None:
    with pytest.warns(UserWarning) as caught:
        torch.ones(2).addcmul_(2.0, torch.ones(2), torch.ones(2))
    assert str(caught[0].message) == (
        "This overload of addcmul_ is deprecated:\n\taddcmul_(Number value, Tensor tensor1, Tensor "
        "tensor2)\n"
        "Consider using one of the following signatures instead:\n\taddcmul_(Tensor tensor1, "
        "Tensor tensor2, *, Number value = 1)"
    )
    assert caught[0].filename == __file__


def test_the_order_of_old_is_neither_suggested_nor_preferred() -> None:
    with pytest.raises(TypeError) as error:
        torch.addmm(2, torch.ones(2, 2), torch.ones(2, 2))
    assert str(error.value) == "addmm(): argument 'input' (position 1) must be Tensor, not int"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = torch.ones(2, 2)
        assert torch.addmm(beta=2, input=one, alpha=3, mat1=one, mat2=one).tolist() == [
            [8, 8],
            [8, 8],
        ]
        assert torch.addcmul(one, value=2, tensor1=one, tensor2=one).tolist() == [[3, 3], [3, 3]]
        assert torch.add(one, alpha=2, other=one).tolist() == [[3, 3], [3, 3]]


def test_the_subtraction_called_subtract_has_no_order_of_old(T: Any) -> None:
    with pytest.raises(TypeError, match="subtract"):
        T.subtract(T.ones(2), 2, T.ones(2))
