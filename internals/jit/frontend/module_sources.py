"""Recurrent layers as the compiler reads them (`torch/nn/modules/rnn.py`).

`nn.LSTM` and its kin are written for Python: they find their weights by name and take the cell as a function. A scripted one has
these methods instead. They compute the same, step by step, so that the graph of a scripted LSTM shows the loop over time.

How the real one differs: there is one source, which calls the operators `aten::lstm` and `aten::gru` with a list of weights.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules import rnn


def rnn_forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
    batch_dim = 0 if self.batch_first else 1
    batched = input.dim() == 3
    x = input if batched else input.unsqueeze(batch_dim)
    if hx is None:
        directions = 2 if self.bidirectional else 1
        h = torch.zeros(
            [self.num_layers * directions, x.size(batch_dim), self.hidden_size], dtype=x.dtype, device=x.device
        )
    else:
        h = hx if batched else hx.unsqueeze(1)
    output, h, _ = recurrent(
        self.mode, x, h, h, self._weights(), self.bias, False, self.num_layers, self.dropout if self.training else 0.0,
        self.bidirectional, self.batch_first,
    )  # fmt: skip
    if batched:
        return output, h
    return output.squeeze(batch_dim), h.squeeze(1)


def lstm_forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    batch_dim = 0 if self.batch_first else 1
    batched = input.dim() == 3
    x = input if batched else input.unsqueeze(batch_dim)
    if hx is None:
        directions = 2 if self.bidirectional else 1
        outputs = self.proj_size if self.proj_size > 0 else self.hidden_size
        n = self.num_layers * directions
        h = torch.zeros([n, x.size(batch_dim), outputs], dtype=x.dtype, device=x.device)
        c = torch.zeros([n, x.size(batch_dim), self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        if not batched:
            h, c = h.unsqueeze(1), c.unsqueeze(1)
    output, h, c = recurrent(
        self.mode, x, h, c, self._weights(), self.bias, self.proj_size > 0, self.num_layers,
        self.dropout if self.training else 0.0, self.bidirectional, self.batch_first,
    )  # fmt: skip
    if batched:
        return output, (h, c)
    return output.squeeze(batch_dim), (h.squeeze(1), c.squeeze(1))


def rnn_cell_forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    if self.nonlinearity not in ["tanh", "relu"]:
        raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
    mode = "RNN_TANH" if self.nonlinearity == "tanh" else "RNN_RELU"
    return cell(mode, input, hx, None, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)[0]


def gru_cell_forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    return cell("GRU", input, hx, None, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)[0]


def lstm_cell_forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    h: Tensor | None = None
    c: Tensor | None = None
    if hx is not None:
        h, c = hx
    return cell("LSTM", input, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


def cell(
    mode: str, input: Tensor, h: Tensor | None, c: Tensor | None, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step; states that are not given are zero."""
    batched = input.dim() == 2
    x = input if batched else input.unsqueeze(0)
    zeros = torch.zeros([x.size(0), w_hh.size(1)], dtype=x.dtype, device=x.device)
    if h is None:
        h = zeros
    elif not batched:
        h = h.unsqueeze(0)
    if c is None:
        c = zeros
    elif not batched:
        c = c.unsqueeze(0)
    h, c = step(mode, input_gates(mode, x, w_ih, b_ih, b_hh), h, c, w_hh.t(), b_hh)
    if batched:
        return h, c
    return h.squeeze(0), c.squeeze(0)


def recurrent(
    mode: str, input: Tensor, h0: Tensor, c0: Tensor, weights: list[Tensor], has_biases: bool, projected: bool, num_layers: int,
    dropout: float, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A stack of layers over (T, N, I): outputs, last h, last c, which only an LSTM has."""
    x = input.transpose(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    each = 2 + (2 if has_biases else 0) + (1 if projected else 0)
    last_h: list[Tensor] = []
    last_c: list[Tensor] = []
    for layer in range(num_layers):
        if layer > 0 and dropout > 0.0:
            x = torch.dropout(x, dropout, True)
        outputs: list[Tensor] = []
        for direction in range(directions):
            at = layer * directions + direction
            w = weights[at * each : (at + 1) * each]
            b_ih: Tensor | None = None
            b_hh: Tensor | None = None
            if has_biases:
                b_ih, b_hh = w[2], w[3]
            gates = input_gates(mode, x, w[0], b_ih, b_hh)
            w_hh = w[1].t()
            h, c = h0[at], c0[at]
            steps: list[Tensor] = []
            for i in range(x.size(0)):
                now = x.size(0) - 1 - i if direction == 1 else i
                h, c = step(mode, gates[now], h, c, w_hh, b_hh)
                if projected:
                    h = F.linear(h, w[each - 1])
                steps.append(h)
            if direction == 1:
                steps.reverse()
            outputs.append(torch.stack(steps, 0))
            last_h.append(h)
            last_c.append(c)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
    output = x.transpose(0, 1) if batch_first else x
    return output, torch.stack(last_h, 0), torch.stack(last_c, 0)


def input_gates(mode: str, x: Tensor, w_ih: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Tensor:
    """What the input contributes; the GRU adds the state's bias elsewhere."""
    if b_ih is not None and b_hh is not None and mode != "GRU":
        return F.linear(x, w_ih, b_ih + b_hh)
    return F.linear(x, w_ih, b_ih)


def step(mode: str, gates: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, b_hh: Tensor | None) -> tuple[Tensor, Tensor]:
    if mode == "GRU":
        hidden = h.mm(w_hh)
        if b_hh is not None:
            hidden = torch.addmm(b_hh, h, w_hh)
        input_r, input_z, input_n = gates.chunk(3, 1)
        hidden_r, hidden_z, hidden_n = hidden.chunk(3, 1)
        r = (input_r + hidden_r).sigmoid()
        z = (input_z + hidden_z).sigmoid()
        n = (input_n + r * hidden_n).tanh()
        return (h - n) * z + n, c
    total = torch.addmm(gates, h, w_hh)
    if mode == "LSTM":
        i, f, g, o = total.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if mode == "RNN_TANH":
        return total.tanh(), c
    return total.relu(), c


METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    rnn.RNN: {"forward": rnn_forward},
    rnn.GRU: {"forward": rnn_forward},
    rnn.LSTM: {"forward": lstm_forward},
    rnn.RNNCell: {"forward": rnn_cell_forward},
    rnn.GRUCell: {"forward": gru_cell_forward},
    rnn.LSTMCell: {"forward": lstm_cell_forward},
}


def source_of(cls: type, name: str) -> Callable[..., Any] | None:
    """The method that stands for the one of that name of a library class; None where the class's own is compiled."""
    own = getattr(cls, name, None)
    for library, methods in METHODS.items():
        if issubclass(cls, library) and name in methods and own is getattr(library, name):
            return methods[name]
    return None


def weights_text(names: list[str]) -> str:
    """A method that gives the parameters of a recurrent layer in the order in which they were made."""
    return f"def _weights(self) -> List[Tensor]:\n   return [{', '.join(f'self.{name}' for name in names)}]\n"
