"""Recurrent layers and cells: side by side with PyTorch, and by what must hold of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals import nn
from internals.aten.native import recurrent as _recurrent
from tests.nn.layers import compare, layer_tests
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, examples, to_numpy

CASES = cases("""
    nn.RNNCell(3, 4) >> m(x(2, 3))
    nn.RNNCell(3, 4, nonlinearity="relu") >> m(x(2, 3), x(2, 4))
    nn.RNNCell(3, 4, bias=False) >> m(x(3), x(4))
    nn.LSTMCell(3, 4) >> m(x(2, 3))
    nn.LSTMCell(3, 4) >> m(x(2, 3), (x(2, 4), x(2, 4)))
    nn.LSTMCell(3, 4, bias=False) >> m(x(3), (x(4), x(4)))
    nn.LSTMCell(3, 4, dtype=T.float64) >> m(x(3, dtype="float64"))
    nn.GRUCell(3, 4) >> m(x(2, 3))
    nn.GRUCell(3, 4) >> m(x(2, 3), x(2, 4))
    nn.GRUCell(3, 4, False) >> m(x(3), x(4))
    nn.RNN(3, 4) >> m(x(5, 2, 3))
    nn.RNN(3, 4, 2, "relu") >> m(x(5, 2, 3), x(2, 2, 4))
    nn.RNN(3, 4, nonlinearity="relu", batch_first=True, bidirectional=True) >> m(x(2, 5, 3))
    nn.LSTM(3, 4) >> m(x(5, 2, 3))
    nn.LSTM(3, 4) >> m(x(5, 3))
    nn.LSTM(3, 4, 2) >> m(x(5, 2, 3), (x(2, 2, 4), x(2, 2, 4)))
    nn.LSTM(3, 4, 2, bidirectional=True) >> m(x(5, 3), (x(4, 4), x(4, 4)))
    nn.LSTM(3, 4, batch_first=True) >> m(x(2, 5, 3))
    nn.LSTM(3, 4, 2, False, True, 0.4, True) >> m(x(2, 5, 3))
    nn.LSTM(3, 4, 3, dropout=0.5) >> m(x(5, 2, 3))
    nn.LSTM(3, 4, 2, proj_size=2) >> m(x(5, 2, 3))
    nn.LSTM(3, 4, 2, bias=False, bidirectional=True, proj_size=3)
        >> m(x(5, 2, 3), (x(4, 2, 3), x(4, 2, 4)))
    nn.LSTM(3, 4, 1, dtype=T.float64) >> m(x(5, 2, 3, dtype="float64"))
    nn.LSTM(3, 4, batch_first=True) >> m(x(5, 3))
    nn.GRU(3, 4) >> m(x(5, 2, 3))
    nn.GRU(3, 4, 2, bidirectional=True, dropout=0.3) >> m(x(5, 2, 3), x(4, 2, 4))
    nn.GRU(3, 4, bias=False, batch_first=True) >> m(x(2, 5, 3))
    nn.GRU(3, 4) >> m(x(5, 3), x(1, 4))
    nn.GRU(3, 4) >> m(x(1, 2, 3))
""")
test_as_pytorch, test_gradients_as_pytorch = layer_tests(CASES)


@given(
    st.sampled_from(["RNN", "GRU", "LSTM"]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@examples(25)
def test_any_network_as_pytorch(
    kind: str,
    hidden: int,
    layers: int,
    steps: int,
    bias: bool,
    batch_first: bool,
    bidirectional: bool,
    batched: bool,
) -> None:
    dropout = 0.4 if layers > 1 else 0
    options = (
        f"bias={bias}, batch_first={batch_first}, dropout={dropout}, bidirectional={bidirectional}"
    )
    sizes = f"{steps}, 2" if not batched else f"3, {steps}, 2" if batch_first else f"{steps}, 3, 2"
    compare(
        f"nn.{kind}(2, {hidden}, {layers}, {options}) >> m(x({sizes}))",
        training=True,
        gradients=True,
    )


ERRORS = cases("""
    T.nn.LSTM(3, 0)
    T.nn.LSTM(0, 3)
    T.nn.LSTM(3, 4, 0)
    T.nn.LSTM(3.0, 4)
    T.nn.LSTM(3, "4")
    T.nn.LSTM(3, 4, dropout=2)
    T.nn.LSTM(3, 4, dropout=True)
    T.nn.LSTM(3, 4, bias=1)
    T.nn.LSTM(3, 4, batch_first=1)
    T.nn.LSTM(3, 4, proj_size=4)
    T.nn.LSTM(3, 4, proj_size=-1)
    T.nn.GRU(3, 4, proj_size=2)
    T.nn.RNN(3, 4, proj_size=2)
    T.nn.RNN(3, 4, nonlinearity="gelu")
    T.nn.modules.rnn.RNNBase("MLP", 3, 4)
    T.nn.LSTM(3, 4)(x(3))
    T.nn.GRU(3, 4)(x(3))
    T.nn.RNN(3, 4)(x(3))
    T.nn.LSTM(3, 4)(x(5, 2, 4))
    T.nn.LSTM(3, 4)(x(5, 2, 3, dtype="float64"))
    T.nn.LSTM(3, 4)(x(5, 2, 3), (x(1, 4), x(1, 4)))
    T.nn.LSTM(3, 4)(x(5, 3), (x(1, 2, 4), x(1, 2, 4)))
    T.nn.LSTM(3, 4)(x(5, 2, 3), (x(1, 3, 4), x(1, 2, 4)))
    T.nn.LSTM(3, 4)(x(5, 2, 3), (x(1, 2, 4), x(2, 2, 4)))
    T.nn.GRU(3, 4)(x(5, 2, 3), x(2, 4))
    T.nn.GRU(3, 4)(x(5, 3), x(1, 2, 4))
    T.nn.GRU(3, 4)(x(5, 2, 3), x(1, 2, 5))
    T.nn.RNN(3, 4)(x(5, 2, 3), x(2, 4))
    T.nn.LSTMCell(3, 4)(x(2, 2, 3))
    T.nn.LSTMCell(3, 4)(x(2, 3), (x(2, 2, 4), x(2, 4)))
    T.nn.LSTMCell(3, 4)(x(2, 3), (x(2, 4), x(2, 2, 4)))
    T.nn.LSTMCell(3, 4)(x(2, 5))
    T.nn.LSTMCell(3, 4)(x(2, 3), (x(3, 4), x(2, 4)))
    T.nn.LSTMCell(3, 4)(x(2, 3), (x(2, 4), x(2, 7)))
    T.nn.GRUCell(3, 4)(x(2, 2, 3))
    T.nn.GRUCell(3, 4)(x(2, 3), x(2, 2, 4))
    T.nn.GRUCell(3, 4)(x(2, 3), x(2, 5))
    T.nn.RNNCell(3, 4)(x(2, 2, 3))
    T.nn.RNNCell(3, 4, nonlinearity="gelu")(x(2, 3))
""")


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    check(expression(text))


def test_dropout_of_a_single_layer_warns() -> None:
    with pytest.warns(
        UserWarning, match="dropout option adds dropout after all but last recurrent layer"
    ):
        nn.LSTM(3, 4, dropout=0.5)


NETWORKS: list[Any] = [(nn.RNN, nn.RNNCell), (nn.GRU, nn.GRUCell), (nn.LSTM, nn.LSTMCell)]


@given(st.sampled_from(NETWORKS), st.integers(1, 4), st.integers(1, 3), st.booleans())
@examples(20)
def test_a_layer_is_its_cell_in_a_loop(kinds: Any, steps: int, batch: int, bias: bool) -> None:
    layer, cell = kinds[0](3, 4, bias=bias), kinds[1](3, 4, bias)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in layer.state_dict().items()}
    )
    x = ours()(steps, batch, 3)
    state, outputs = None, []
    for step in x:
        state = cell(step) if state is None else cell(step, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    result, last = layer(x)
    assert_same(result, np.stack([to_numpy(h) for h in outputs]))
    for a, b in zip(
        last if isinstance(last, tuple) else [last], state if isinstance(state, tuple) else [state]
    ):
        assert_same(a, to_numpy(b)[None])


@given(
    st.sampled_from([nn.RNN, nn.GRU, nn.LSTM]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 2),
)
@examples(20)
def test_directions_layouts_and_batches(kind: Any, steps: int, batch: int, layers: int) -> None:
    both = kind(3, 4, layers, bidirectional=True)
    x = ours()(steps, batch, 3)
    result, _ = both(x)
    assert result.shape == (steps, batch, 8)

    first = kind(3, 4, layers, batch_first=True, bidirectional=True)
    first.load_state_dict(both.state_dict())
    assert_same(first(x.transpose(0, 1))[0].transpose(0, 1), to_numpy(result))
    assert_same(both(x[:, 0])[0], to_numpy(result)[:, 0])

    if layers == 1:  # the backward direction is a forward one over the reversed sequence
        backward = kind(3, 4)
        state = both.state_dict()
        backward.load_state_dict({k: state[k + "_reverse"] for k in backward.state_dict()})
        assert_same(backward(x.flip(0))[0].flip(0), to_numpy(result)[..., 4:])


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
@examples(20)
def test_lstm_cell_against_numpy(n: int, features: int, hidden: int) -> None:
    cell = nn.LSTMCell(features, hidden, dtype=internals.float64)
    x = ours()
    inputs, h, c = (x(n, size, dtype="float64") for size in (features, hidden, hidden))
    w = {name: to_numpy(p) for name, p in cell.named_parameters()}
    gates = (
        to_numpy(inputs) @ w["weight_ih"].T
        + w["bias_ih"]
        + to_numpy(h) @ w["weight_hh"].T
        + w["bias_hh"]
    )
    i, f, g, o = np.split(gates, 4, 1)
    new_c = sigmoid(f) * to_numpy(c) + sigmoid(i) * np.tanh(g)
    new_h, result_c = cell(inputs, (h, c))
    assert_same(result_c, new_c)
    assert_same(new_h, sigmoid(o) * np.tanh(new_c))


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-a))


def test_dropout_lies_between_layers_only_in_training() -> None:
    layer = nn.GRU(3, 4, 2, dropout=1.0)
    x = ours()(5, 2, 3)
    internals.manual_seed(0)
    weights = layer.all_weights[1]
    zeros = internals.zeros(5, 2, 4)
    upper, _ = _recurrent.gru(
        zeros, internals.zeros(1, 2, 4), weights, True, 1, 0.0, True, False, False
    )
    assert_same(layer(x)[0], to_numpy(upper))  # everything below is dropped
    assert not np.allclose(to_numpy(layer.eval()(x)[0]), to_numpy(upper))


def test_names_of_weights() -> None:
    layer = nn.LSTM(3, 4, 2, bidirectional=True)
    assert [list(map(tuple, (p.shape for p in group))) for group in layer.all_weights][2] == [
        (16, 8),
        (16, 4),
        (16,),
        (16,),
    ]
    assert list(layer.state_dict())[4:8] == [
        "weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse",
    ]  # fmt: skip
    layer.flatten_parameters()
