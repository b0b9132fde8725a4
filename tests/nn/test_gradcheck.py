"""Layers made of other operators: their gradients against differences of their values, and the
gradients' gradients too.

Parameters and inputs are double precision; inputs are away from kinks (`smooth`), or so few that
none of them meets one.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals import nn
from internals.autograd import gradcheck, gradgradcheck
from tests.nn.layers import namespace
from tests.side_by_side import Inputs, cases, ours

CASES = cases("""
    nn.Linear(3, 2) >> m(x(2, 3))
    nn.Bilinear(2, 3, 2) >> m(x(2, 2), x(2, 3))
    nn.Conv1d(2, 2, 2, padding=1, padding_mode="circular") >> m(x(1, 2, 4))
    nn.ConvTranspose1d(2, 2, 2, 2) >> m(x(1, 2, 3))
    nn.MaxPool1d(2) >> m(x(1, 2, 6))
    nn.AvgPool1d(2) >> m(x(1, 2, 6))
    nn.AdaptiveAvgPool1d(2) >> m(x(1, 2, 5))
    nn.Unfold(2) >> m(x(1, 2, 3, 3))
    nn.Fold((3, 3), 2) >> m(x(1, 4, 4))
    nn.Mish() >> m(x(2, 3))
    nn.SELU() >> m(x(2, 3))
    nn.CELU(0.5) >> m(x(2, 3))
    nn.Hardsigmoid() >> m(x(2, 3))
    nn.Hardswish() >> m(x(2, 3))
    nn.Hardswish(inplace=True) >> m(x(2, 3) * 1)
    nn.PReLU(3) >> m(x(2, 3))
    nn.Hardshrink(0.01) >> m(x(2, 3))
    nn.Softshrink(0.01) >> m(x(2, 3))
    nn.GLU() >> m(x(2, 4))
    nn.Tanhshrink() >> m(x(2, 3))
    nn.BatchNorm1d(2) >> m(x(3, 2))
    nn.InstanceNorm1d(2, affine=True) >> m(x(2, 2, 3))
    nn.RMSNorm(3) >> m(x(2, 3))
    nn.PairwiseDistance() >> m(x(2, 3), x(2, 3))
    nn.RNNCell(2, 2) >> m(x(2, 2), x(2, 2))
    nn.LSTMCell(2, 2) >> m(x(2, 2), (x(2, 2), x(2, 2)))
    nn.GRUCell(2, 2) >> m(x(2, 2), x(2, 2))
    nn.LSTM(2, 1, bidirectional=True) >> m(x(2, 1, 2))[0]
    nn.GRU(1, 1, 2) >> m(x(3, 1, 1))[0]
    nn.MultiheadAttention(2, 1) >> m(x(2, 1, 2), x(3, 1, 2), x(3, 1, 2))
    nn.MultiheadAttention(2, 1, add_bias_kv=True)
        >> (lambda q: m(q, q, q, need_weights=False)[0])(x(2, 1, 2))
    nn.TransformerEncoderLayer(2, 1, 2, 0.0, "gelu") >> m(x(2, 1, 2))
    nn.HingeEmbeddingLoss() >> m(x(3), x.of([1, -1, 1], "float64"))
    nn.CosineEmbeddingLoss(-0.9) >> m(x(2, 3), x(2, 3), x.of([1, -1], "float64"))
    nn.TripletMarginLoss(5.0) >> m(x(2, 3), x(2, 3), x(2, 3))
    nn.SoftMarginLoss() >> m(x(3), x.of([1, -1, 1], "float64"))
    nn.PoissonNLLLoss() >> m(x(3), x(3))
    nn.GaussianNLLLoss() >> m(x(3), x(3), x.uniform(3))
""")


class Doubles:
    """Inputs in double precision: the first time made, later the tensors that `gradcheck` gives."""

    def __init__(self) -> None:
        self.inputs: Inputs = ours()
        self.given: list[Any] = []
        self.made: list[Any] | None = []

    def _next(self, tensor: Any) -> Any:
        if self.made is None:
            return self.given.pop(0)
        self.made.append(tensor.requires_grad_(True))
        return tensor

    def __call__(self, *sizes: int) -> Any:
        return self._next(self.inputs(*sizes, dtype="float64"))

    def uniform(self, *sizes: int) -> Any:
        return self._next(self.inputs.uniform(*sizes, dtype="float64"))

    def of(self, values: Any, dtype: str) -> Any:
        return self.inputs.of(values, dtype)


@pytest.mark.sampled(1 / 6)
@pytest.mark.parametrize("case", CASES)
def test_gradients(case: str) -> None:
    build, call = (part.strip() for part in case.split(">>"))
    x = Doubles()
    names = namespace(internals) | {"x": x}
    internals.manual_seed(7)
    m = eval(build, names).double()
    names["m"] = m
    eval(call, names)
    leaves, x.made = list(x.made or ()), None
    parameters = list(m.parameters())

    def function(*tensors: Any) -> Any:
        x.given = list(tensors[: len(leaves)])
        return eval(call, names)

    # gradcheck changes the elements of what it is given in place: the parameters are those of the
    # module itself.
    assert gradcheck(function, (*leaves, *parameters))
    assert gradgradcheck(function, (*leaves, *parameters))


def test_a_layer_learns() -> None:
    """Gradient descent by hand: an LSTM learns to tell rising sequences from falling ones."""
    internals.manual_seed(0)
    layer, head = nn.LSTM(1, 8), nn.Linear(8, 2)
    parameters: list[Any] = [*layer.parameters(), *head.parameters()]
    labels = internals.arange(16) % 2
    slopes = (labels * 2 - 1).float()
    steps = internals.arange(6).float()
    x = (steps[:, None] * slopes + internals.randn(6, 16) * 0.3).unsqueeze(-1)
    losses = []
    for _ in range(30):
        loss = nn.CrossEntropyLoss()(head(layer(x)[1][0][0]), labels)
        losses.append(float(loss))
        for p in parameters:
            p.grad = None
        loss.backward()
        with internals.no_grad():
            for p in parameters:
                p -= 0.5 * p.grad
    assert losses[-1] < 0.1 < losses[0]
