"""Python arguments reach the operator as PyTorch would pass them, and what does not fit is named as
PyTorch names it.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import internals as torch
from internals.core.tensor_impl import array, from_array
from internals.library import Library
from tests.answers import answer

EVERYTHING = (
    "all(Tensor self, int n=1, float f=0.5, bool flag=False, int[2] pair=1, int[]? dims=None, str "
    "s='x', Tensor[] ts=[], *, ScalarType? dtype=None, Device? device=None, Scalar? scalar=None) "
    "-> Tensor"
)


@pytest.fixture
def probe():
    """An op that returns the arguments its kernel was given."""
    with Library("t_parser", "DEF") as lib:
        lib.define(EVERYTHING)
        lib.impl("all", lambda *args: args, "CPU")
        yield torch.ops.t_parser.all


def one() -> torch.Tensor:
    return from_array(np.ones(2, np.float32))


def test_defaults_in_schema_order(probe) -> None:
    t = one()
    assert probe(t) == (t, 1, 0.5, False, [1, 1], None, "x", [], None, None, None)


def test_conversions(probe) -> None:
    t = one()
    got = probe(
        t,
        np.int64(3),
        2,
        np.bool_(True),
        4,
        (5, np.int32(6)),
        dtype=float,
        device="cpu",
        scalar=np.float32(1.5),
    )
    assert got[1:6] == (3, 2.0, True, [4, 4], [5, 6])
    assert [type(v) for v in got[1:4]] == [int, float, bool]
    assert got[8] is torch.float64 and got[9] is torch.device("cpu") and got[10] == 1.5


def test_zero_dim_tensors_serve_as_numbers(probe) -> None:
    t = one()
    n, x = from_array(np.array(7)), from_array(np.array(2.5, np.float32))
    assert probe(t, n, x, scalar=x)[1:3] == (7, 2.5)
    with pytest.raises(TypeError, match="argument 'n'"):
        probe(t, x)


def test_the_cache_does_not_mix_up_calls(probe) -> None:
    t = one()
    for _ in range(2):
        assert probe(t, 3)[1] == 3
        assert probe(t, n=4)[1] == 4
        assert probe(t, 5, 1.0)[1:3] == (5, 1.0)
        assert probe(t, pair=(1, 2))[4] == [1, 2]
        assert probe(t, pair=[3, 4])[4] == [3, 4]
        assert probe(t, pair=9)[4] == [9, 9]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, 'missing 1 required positional arguments: "input"'),
        ((1,), {}, "argument 'input' (position 1) must be Tensor, not int"),
        (("t", True), {}, "argument 'n' (position 2) must be int, not bool"),
        (("t", 1, "f"), {}, "argument 'f' (position 3) must be float, not str"),
        (("t",), {"nope": 1}, "got an unexpected keyword argument 'nope'"),
        (("t", 1), {"n": 2}, "got multiple values for argument 'n'"),
        (
            ("t", 1, 1.0, True, 1, [1], "s", [], 9),
            {},
            "takes 8 positional arguments but 9 were given",
        ),
        (("t",), {"dtype": "float32"}, "argument 'dtype' must be internals.dtype, not str"),
    ],
)
def test_errors_name_the_argument(probe, args, kwargs, message) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        probe(*[one() if a == "t" else a for a in args], **kwargs)


def test_numpy_spellings_of_keywords() -> None:
    a = from_array(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array(torch.sum(a, axis=0, keepdims=True)).tolist() == [[3, 5, 7]]
    assert (
        array(torch.sum(input=a, dim=1)).tolist()
        == array(torch.sum(x=a, dim=1)).tolist()
        == [3, 12]
    )


def test_sizes_may_be_spread_or_listed() -> None:
    a = from_array(np.arange(6))
    shapes = [
        a.view(2, 3).shape,
        a.view((2, 3)).shape,
        a.view([2, 3]).shape,
        a.view(torch.Size([2, 3])).shape,
        a.view(6).shape,
    ]
    assert shapes == [(2, 3)] * 4 + [(6,)]
    assert a.view(2, 3).permute(1, 0).shape == (3, 2)


def test_no_overload_fits_lists_them_all() -> None:
    with pytest.raises(TypeError) as e:
        one().add("x")
    text = str(e.value)
    assert text.startswith(
        "add() received an invalid combination of arguments - got (str), but expected one of:"
    )
    assert " * (Tensor other, *, Number alpha = 1)" in text


def test_out_and_requires_grad() -> None:
    out = torch.zeros(3)
    assert torch.add(torch.ones(3), torch.ones(3), out=out) is out
    assert array(out).tolist() == [2, 2, 2]
    assert torch.zeros(2, requires_grad=True).requires_grad
    with pytest.raises(
        TypeError, match="invalid combination of arguments - got \\(Tensor, Tensor, out=list\\)"
    ):
        torch.add(torch.ones(3), torch.ones(3), out=[])
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        torch.zeros(2, dtype=torch.int64, requires_grad=True)


MESSAGES = [
    lambda t: t.mm(t.ones(2, 2), 3),
    lambda t: t.ones(2, 2).mm(),
    lambda t: t.relu("x"),
    lambda t: t.ones(2).cumsum("a"),
    lambda t: t.transpose(t.ones(2, 2), 0),
    lambda t: t.ones(2).unsqueeze(),
    lambda t: t.ones(2).unsqueeze(0, 1),
    lambda t: t.ones(2).unsqueeze(dimension=1),
    lambda t: t.full((2,), t.ones((), requires_grad=True)),  # whose gradient would be lost
    lambda t: t.ones(3).normal_(t.ones((), requires_grad=True)),
    lambda t: t.arange(t.ones((), requires_grad=True)),
]


@pytest.mark.parametrize("call", MESSAGES, ids=range(len(MESSAGES)))
def test_messages_are_pytorchs(call) -> None:
    with pytest.raises(TypeError) as theirs:
        answer(call)
    with pytest.raises(TypeError) as ours:
        call(torch)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0].replace(
        "torch.", "internals."
    )


def test_pythons_types_serve_as_dtypes() -> None:
    assert [torch.zeros(1, dtype=t).dtype for t in (float, int, bool, complex)] == [
        torch.float64, torch.int64, torch.bool, torch.complex128
    ]  # fmt: skip


def test_only_what_was_given_by_position_has_one() -> None:
    with pytest.raises(
        TypeError, match=re.escape("bmm(): argument 'mat2' (position 2) must be Tensor, not str")
    ):
        torch.bmm(torch.ones(1, 2, 2), "a")
    with pytest.raises(
        TypeError, match=re.escape("bmm(): argument 'mat2' must be Tensor, not str")
    ):
        torch.bmm(torch.ones(1, 2, 2), mat2="a")
