"""Layers that learn the size of their input from the first one: they become what the ordinary layer
would have been.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import internals
from internals import nn
from internals.nn.parameter import UninitializedBuffer, UninitializedParameter
from tests.side_by_side import cases, check, ours
from tests.support import assert_same, to_numpy

CASES = cases("""
    nn.LazyLinear(3) >> m(x(2, 5))
    nn.LazyLinear(3, bias=False, dtype=T.float64) >> m(x(2, 4, 5, dtype="float64"))
    nn.LazyConv1d(4, 3) >> m(x(2, 3, 6))
    nn.LazyConv1d(4, 3, 2, padding="valid", bias=False) >> m(x(3, 6))
    nn.LazyConv2d(4, 3, padding="same", groups=2, padding_mode="circular") >> m(x(2, 6, 5, 4))
    nn.LazyConv3d(2, 2) >> m(x(3, 3, 4, 2))
    nn.LazyConvTranspose1d(4, 3, 2, groups=2) >> m(x(2, 6, 4))
    nn.LazyConvTranspose2d(4, (2, 3), 2, 1, 1, bias=False) >> m(x(2, 3, 4, 5))
    nn.LazyConvTranspose3d(2, 2) >> m(x(2, 3, 2, 3, 2))
    nn.LazyBatchNorm1d() >> m(x(4, 3))
    nn.LazyBatchNorm2d(bias=False, momentum=0.3) >> m(x(2, 3, 4, 5))
    nn.LazyBatchNorm3d(affine=False) >> m(x(2, 3, 4, 5, 2))
    nn.LazyInstanceNorm1d(track_running_stats=False) >> m(x(2, 3, 5))
    nn.LazyInstanceNorm2d() >> m(x(2, 3, 4, 5))
    nn.LazyInstanceNorm3d(0.1, 0.2, False, False) >> m(x(2, 3, 4, 5, 2))
    nn.Sequential(nn.LazyConv2d(4, 2, bias=False), nn.LazyBatchNorm2d(), nn.Flatten(),
        nn.LazyLinear(2)) >> m(x(2, 3, 4, 5))
""")


@pytest.mark.parametrize("case", CASES)
def test_the_first_call_as_pytorch(case: str) -> None:
    """Weights drawn then, outputs, gradients, what is printed before and after, and the class."""
    build, call = (part.strip() for part in case.split(">>"))

    def run(T: Any, x: Any) -> Any:
        T.manual_seed(2013)
        m = eval(build, {"T": T, "nn": T.nn})
        before = repr(m), [type(p).__name__ for p in m.state_dict().values()]
        output = eval(call, {"m": m, "x": x})
        (output**2).sum().backward()
        state = m.state_dict()
        return [
            before, repr(m), list(state), [c.__class__.__name__ for c in m.modules()],
            output.detach(), *state.values(), *[p.grad for p in m.parameters()],
        ]  # fmt: skip

    check(run, rtol=1e-4, atol=1e-4)


def test_a_lazy_layer_becomes_an_ordinary_one() -> None:
    layer = nn.LazyLinear(3)
    assert isinstance(layer.weight, UninitializedParameter)
    assert repr(layer.weight) == "<UninitializedParameter>"
    layer(ours()(2, 5))
    assert type(layer) is nn.Linear
    assert type(layer.weight) is nn.Parameter
    assert layer.weight.shape == (3, 5)
    assert not layer._forward_pre_hooks
    assert not layer._load_state_dict_pre_hooks


def test_conversion_before_the_first_call() -> None:
    layer = nn.LazyBatchNorm1d().double()
    assert isinstance(layer.running_mean, UninitializedBuffer)
    layer(ours()(4, 2, dtype="float64"))
    assert {t.dtype for t in (layer.weight, layer.bias, layer.running_mean, layer.running_var)} == {
        internals.float64
    }


@pytest.mark.parametrize("assign", [False, True])
def test_a_state_dict_gives_the_sizes(assign: bool) -> None:
    source, layer = nn.Conv2d(3, 4, 2), nn.LazyConv2d(4, 2)
    layer.load_state_dict(source.state_dict(), assign=assign)
    x = ours()(2, 3, 4, 4)
    assert_same(layer(x), to_numpy(source(x)))
    assert type(layer) is nn.Conv2d


def test_a_state_dict_without_sizes() -> None:
    state = nn.LazyLinear(3).state_dict()
    fresh = nn.LazyLinear(3)
    fresh.load_state_dict(state)
    assert fresh.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.Linear(2, 3).load_state_dict(state)


def test_copies() -> None:
    layer = nn.LazyLinear(3, dtype=internals.float64)
    twin = copy.deepcopy(layer)
    assert twin(ours()(2, 5, dtype="float64")).shape == (2, 3)
    assert type(twin) is nn.Linear
    assert type(layer) is nn.LazyLinear
    again = pickle.loads(pickle.dumps(layer.weight))
    assert type(again) is UninitializedParameter
    assert again.dtype is internals.float64


def test_refused() -> None:
    with pytest.raises(
        RuntimeError, match="Expected 3D .unbatched. or 4D .batched. input to LazyConv2d"
    ):
        nn.LazyConv2d(2, 2)(ours()(2, 3))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 2, groups=2)(ours()(3, 4, 4))
    layer = nn.LazyLinear(3)
    layer.load_state_dict(nn.Linear(2, 3).state_dict())
    with pytest.raises(AssertionError, match="inferred from input: 5 is not equal"):
        layer(ours()(2, 5))


class Half(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """Forgets to initialize its parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = UninitializedParameter()

    def initialize_parameters(self, *args: Any) -> None: ...

    def forward(self, x: Any) -> Any:
        return x


def test_a_layer_that_forgets() -> None:
    with pytest.raises(RuntimeError, match="module Half has not been fully initialized"):
        Half()(ours()(2))


class Mixin:
    pass


class Named(nn.LazyLinear, Mixin):
    """A lazy layer of a user's own."""


def test_a_subclass_becomes_the_ordinary_layer_too() -> None:
    layer = Named(3)
    layer(ours()(2, 4))
    assert type(layer) is nn.Linear
