"""Recurrent cells, LSTM, GRU and plain RNN, and the loops over time and layers
(`aten/src/ATen/native/RNN.cpp`).

A cell computes the next state from an input and a state. A layer unrolls the cell over a sequence;
a network stacks layers, each of which reads the outputs of the one below, forwards and, if
bidirectional, backwards too. Shapes: T steps, N sequences, I inputs, H hidden units.

The product of the inputs with `weight_ih` does not depend on the state: it is computed once for the
whole sequence, with both biases added, and only the product with `weight_hh` is left for the loop.
Everything is made of differentiable operators, so autograd gives backpropagation through time.

How the real one differs: on GPUs cuDNN runs whole networks in one call, on CPUs oneDNN may run an
LSTM; otherwise it has the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals._generated import functions as F
from internals._generated.nn_functions import linear
from internals.core.dtype import int64
from internals.core.tensor_impl import Tensor

State = tuple[Any, ...]
"""(h,), or (h, c) for an LSTM."""

Step = Callable[[Any, State, Any, Any, Any], State]


def _cell(
    step: Step,
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Any:
    """The state after one step: h (N, H) or, for an LSTM, (h, c), from `input` (N, I) and the state
    `hx`.

    `w_ih` is (gates * H, I), `w_hh` (gates * H, H): the weights of all gates, one below the other.
    Raises RuntimeError for sizes that do not fit.
    """
    states = _parts(step, hx, "lstm_cell")
    _check_cell(input, states, w_ih, w_hh)
    last = step(_input_gates(step, input, w_ih, b_ih, b_hh), states, w_hh.t(), b_hh, None)
    return last if step is _lstm_step else last[0]


def _layers(
    step: Step, input: Tensor, hx: Any, params: Sequence[Any], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """(outputs, h), for an LSTM (outputs, h, c): a stack of layers over `input` (T, N, I), or
    (N, T, I) if `batch_first`; outputs are (T, N, directions * H), h and c the last states.

    `hx` is h, or h and c, each (num_layers * directions, N, H). `params` lists the weights of layer
    0, of its backward direction, of layer 1 and so on: weight_ih, weight_hh, the two biases if
    `has_biases`, the projection of h if there is one.
    """
    options = num_layers, dropout, train, bidirectional, batch_first
    return _Stack(step, params, has_biases, *options)(input, hx)


def _packed_layers(
    step: Step, data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Any], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """`_layers` for a packed sequence (see `packing.py`): of the rows of `data`, (rows, I), the
    next `batch_sizes[t]` belong to step t.
    """
    run = _Packed(step, params, has_biases, num_layers, dropout, train, bidirectional, False)
    run.batch_sizes = _steps(batch_sizes)
    return run(data, hx)


def _lstm_step(
    gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, w_hr: Tensor | None
) -> State:
    """(h, c) after one step. `gates` (N, 4H) is the contribution of the input, the biases included;
    `w_hh` (H, 4H) is transposed; `w_hr` projects h, if it is given.
    """
    h, c = state
    i, f, g, o = F.addmm(gates, h, w_hh).chunk(4, 1)  # input, forget, cell, output: each (N, H)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else linear(h, w_hr)), c


def _gru_step(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, w_hr: Any) -> State:
    """(h,) after one step. The gates are reset, update and new, in this order.

    r multiplies the state's contribution to n, its bias included: so `b_hh` is not in `gates`.
    """
    (h,) = state
    input_r, input_z, input_n = gates.chunk(3, 1)
    hidden = h.mm(w_hh) if b_hh is None else F.addmm(b_hh, h, w_hh)
    hidden_r, hidden_z, hidden_n = hidden.chunk(3, 1)
    r = (input_r + hidden_r).sigmoid()
    z = (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return ((h - n) * z + n,)  # z * h + (1 - z) * n with one product less


def _tanh_step(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor | None, w_hr: Any) -> State:
    """(h,) after one step: tanh(gates + h @ w_hh)."""
    return (F.addmm(gates, state[0], w_hh).tanh(),)


def _relu_step(gates: Tensor, state: State, w_hh: Tensor, b_hh: Tensor, w_hr: Any) -> State:
    """(h,) after one step: relu(gates + h @ w_hh)."""
    return (F.addmm(gates, state[0], w_hh).relu(),)


def _input_gates(
    step: Step, x: Tensor, w_ih: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    """The inputs' contribution to the gates, for all steps at once: (T, N, I) to (T, N, gates * H),
    with the sum of both biases; for a GRU, whose steps add `b_hh`, with `b_ih` only.
    """
    return linear(
        x,
        w_ih,
        b_ih if b_hh is None or step is _gru_step else b_hh if b_ih is None else b_ih + b_hh,
    )


def _parts(step: Step, hx: Any, operator: str = "lstm") -> State:
    """The state as a tuple: (h,), or for an LSTM (h, c), which `hx` has to hold."""
    if step is not _lstm_step:
        return (hx,)
    if len(hx) != 2:
        raise RuntimeError(f"{operator} expects two hidden states")
    return tuple(hx)


class _Stack:
    """Layers of one kind of cell, stacked. Calling it runs them over a sequence."""

    def __init__(
        self, step: Step, params: Sequence[Any], has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> None:  # fmt: skip
        self.step = step
        self.num_layers = num_layers
        self.dropout = dropout if train else 0.0
        self.directions = 2 if bidirectional else 1
        # an LSTM with a projection has one more weight for each layer and direction
        count_projected = (3 + 2 * has_biases) * num_layers * self.directions
        projected = step is _lstm_step and len(params) == count_projected
        self.weights = _weights(params, has_biases, projected)
        self.batch_first = batch_first

    def __call__(self, input: Any, hx: Any) -> tuple[Any, ...]:
        """The outputs of the top layer, and the last state of every layer and direction."""
        # (layers * directions, N, H) each, to one tuple for each layer and direction
        states = list(zip(*(h.unbind(0) for h in _parts(self.step, hx))))
        for what, given in (("hidden states", states), ("weights", self.weights)):
            if len(given) != self.num_layers * self.directions:
                raise RuntimeError(f"Expected more {what} in stacked_rnn")
        x = input.transpose(0, 1) if self.batch_first else input
        last = []
        for layer in range(self.num_layers):
            if layer and self.dropout:  # between layers only
                x = F.dropout(x, self.dropout, True)
            outputs = []
            for direction in range(self.directions):
                at = layer * self.directions + direction
                output, state = self.unroll(
                    x, states[at], self.weights[at], backwards=direction == 1
                )
                outputs.append(output)
                last.append(state)
            # the layer above reads both directions side by side: (T, N, 2 * H)
            x = outputs[0] if len(outputs) == 1 else F.cat(outputs, -1)
        output = x.transpose(0, 1) if self.batch_first else x
        return (output, *(F.stack(list(h), 0) for h in zip(*last)))

    def unroll(
        self, x: Tensor, state: State, weights: Sequence[Any], backwards: bool
    ) -> tuple[Any, State]:
        """The cell over time: outputs (T, N, H) in the order of time, and the state after the last
        step taken.
        """
        w_ih, w_hh, b_ih, b_hh, w_hr = weights
        if not x.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        gates = _input_gates(self.step, x, w_ih, b_ih, b_hh).unbind(0)
        w_hh = w_hh.t()
        outputs = []
        for gate in reversed(gates) if backwards else gates:
            state = self.step(gate, state, w_hh, b_hh, w_hr)
            outputs.append(state[0])
        return F.stack(outputs[::-1] if backwards else outputs, 0), state


class _Packed(_Stack):
    """Layers over a packed sequence: step t takes the next `batch_sizes[t]` rows of the data,
    longer sequences first.

    Forwards, the sequences that have ended drop out at the end of the batch; backwards, shorter
    ones join there with their initial state, when their last step is reached.
    """

    batch_sizes: list[int]

    def unroll(
        self, x: Tensor, state: State, weights: Sequence[Any], backwards: bool
    ) -> tuple[Any, State]:
        """`_Stack.unroll` for `x` (rows, I), packed; outputs (rows, H) are packed alike."""
        w_ih, w_hh, b_ih, b_hh, w_hr = weights
        gates = _input_gates(self.step, x, w_ih, b_ih, b_hh).split(self.batch_sizes, 0)
        w_hh = w_hh.t()
        first, outputs, ended = state, [], []  # `ended`: final states of groups, shortest first
        state = tuple(h.narrow(0, 0, self.batch_sizes[-1 if backwards else 0]) for h in first)
        for gate in reversed(gates) if backwards else gates:
            now, before = gate.shape[0], state[0].shape[0]
            if now < before:  # forwards: the last of the batch have ended
                ended.append(tuple(h.narrow(0, now, before - now) for h in state))
                state = tuple(h.narrow(0, 0, now) for h in state)
            elif now > before:  # backwards: shorter sequences begin, with their initial state
                state = tuple(
                    F.cat([h, h0.narrow(0, before, now - before)], 0) for h, h0 in zip(state, first)
                )
            state = self.step(gate, state, w_hh, b_hh, w_hr)
            outputs.append(state[0])
        # back in the order of the batch: the longest sequences, which ended last, come first
        last = tuple(F.cat(list(parts), 0) for parts in zip(state, *reversed(ended)))
        return F.cat(outputs[::-1] if backwards else outputs, 0), last


def _steps(batch_sizes: Tensor) -> list[int]:
    """The batch sizes as a list: the number of sequences that take part in each step. Raises
    RuntimeError unless `batch_sizes` is a vector of int64 with at least one element.
    """
    if batch_sizes.dim() != 1 or batch_sizes.dtype is not int64:
        raise RuntimeError("batch_sizes should always be a 1D CPU tensor of int64")
    if not batch_sizes.numel():
        raise RuntimeError("batch_sizes has no entries: there is no step to take")
    return list(batch_sizes.tolist())


def _weights(params: Sequence[Any], has_biases: bool, projected: bool) -> list[tuple[Any, ...]]:
    """(w_ih, w_hh, b_ih, b_hh, w_hr) for each layer and direction, with None for missing ones."""
    each = 2 + 2 * has_biases + projected
    if len(params) % each:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = []
    for start in range(0, len(params), each):
        w_ih, w_hh, *rest = params[start : start + each]
        b_ih, b_hh = rest[:2] if has_biases else (None, None)
        groups.append((w_ih, w_hh, b_ih, b_hh, rest[-1] if projected else None))
    return groups


def _check_cell(input: Tensor, states: Sequence[Any], w_ih: Tensor, w_hh: Tensor) -> None:
    """Raises RuntimeError naming the first size that does not fit the weights."""
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}"
        )
    for label, h in enumerate(states):
        if input.size(0) != h.size(0):
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{label} batch size "
                f"{h.shape[0]}"
            )
        if h.size(1) != w_hh.size(1):
            raise RuntimeError(
                f"hidden{label} has inconsistent hidden_size: got {h.shape[1]}, expected "
                f"{w_hh.shape[1]}"
            )


def _kernels(step: Step) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Three operators for a kind of cell: one step, layers, and layers over a packed sequence."""
    return (
        lambda *args: _cell(step, *args),
        lambda *args: _layers(step, *args),
        lambda *args: _packed_layers(step, *args),
    )


lstm_cell, lstm, lstm_data = _kernels(_lstm_step)
gru_cell, gru, gru_data = _kernels(_gru_step)
rnn_tanh_cell, rnn_tanh, rnn_tanh_data = _kernels(_tanh_step)
rnn_relu_cell, rnn_relu, rnn_relu_data = _kernels(_relu_step)
