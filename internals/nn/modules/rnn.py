"""Recurrent layers: `RNN`, `LSTM`, `GRU` over sequences, and the cells that take one step
(`torch/nn/modules/rnn.py`).

The modules have the weights and check the sizes; the loops over time and layers are in
`internals.aten.native.recurrent`.

How the real one differs: packed sequences also work in scripts; on GPUs all weights of a network
are kept in one block of memory for cuDNN (`flatten_parameters`, which does nothing here).
"""

from __future__ import annotations

import warnings
from math import sqrt
from numbers import Number
from typing import TYPE_CHECKING, Any

from internals import Tensor, empty, zeros
from internals._generated import functions as F
from internals.functional.scripting import is_scripting
from internals.nn import init
from internals.nn.modules._options import _Options
from internals.nn.parameter import Parameter
from internals.nn.utils.rnn import PackedSequence

if TYPE_CHECKING:
    from internals.core.dtype import dtype

# the number of matrices for x, and for h, that are stacked in one weight
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(_Options):
    """The weights of a stack of recurrent layers; `gates` is 4 for an LSTM, 3 for a GRU, 1 for an
    RNN.

    For layer k: `weight_ih_lk` (gates * hidden, input size or directions * hidden), `weight_hh_lk`
    (gates * hidden, hidden), `bias_ih_lk` and `bias_hh_lk` (gates * hidden), with the suffix
    `_reverse` for the backward direction; all are initially uniform in ±1 / sqrt(hidden). With
    `proj_size`, `weight_hr_lk` (proj_size, hidden) projects h to fewer features.
    """

    __jit_unused_properties__ = ["all_weights"]
    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        _check_dropout(dropout, num_layers)
        _check_options(input_size, hidden_size, num_layers, bias, batch_first, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        super().__init__(
            mode=mode, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers,
            bias=bias, batch_first=batch_first, dropout=float(dropout), bidirectional=bidirectional,
            proj_size=proj_size,
        )  # fmt: skip
        self._all_weights: list[list[str]] = []
        rows, directions = _GATES[mode] * hidden_size, 2 if bidirectional else 1
        handed_on = proj_size or hidden_size  # features of h
        for layer in range(num_layers):
            # later layers get the outputs of both directions, concatenated
            features = handed_on * directions if layer else input_size
            for suffix in ("", "_reverse")[:directions]:
                sizes: dict[str, Any] = {
                    "weight_ih": (rows, features),
                    "weight_hh": (rows, handed_on),
                }
                if bias:
                    sizes |= {"bias_ih": rows, "bias_hh": rows}
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in sizes]
                for name, size in zip(names, sizes.values()):
                    self.register_parameter(
                        name, Parameter(empty(size, device=device, dtype=dtype))
                    )
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters: a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: only cuDNN needs the weights in one block of memory."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The outputs (T, N, directions * hidden) and the last state (layers * directions, N,
        hidden) for `input` (T, N, I) and the first state `hx`, by default zeros.

        With `batch_first`, input and outputs are (N, T, ...); unbatched ones have no N. A packed
        sequence gives a packed one, with states in the order of the sequences before packing.
        """
        if not is_scripting():
            if isinstance(input, PackedSequence):
                return self._forward_packed(input, hx)
        batched = self._is_batched(input)
        batch_dim = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        # an unbatched sequence is a batch of one: x (T, 1, I), h (layers * directions, 1, hidden)
        if hx is None:
            h = self._zeros(x, self.hidden_size)
        else:
            if hx.dim() != input.dim():
                kind = "batched" if batched else "unbatched"
                dims = f"{input.dim()}-D"
                raise RuntimeError(
                    f"For {kind} {dims} input, hx should also be {dims} but got {hx.dim()}-D tensor"
                )
            h = hx if batched else hx.unsqueeze(1)
        self.check_input(x)
        self.check_hidden_size(h, self._state_size(x, self.hidden_size))
        output, h = self._run(x, h)
        return (output, h) if batched else (output.squeeze(batch_dim), h.squeeze(1))

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> Any:
        """`forward` of a packed sequence; `hx` is a pair for an LSTM."""
        # data (sum of lengths, I); `order` sorts the batch by length, `back` undoes it
        data, batch_sizes, order, back = packed
        if data.dim() != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {data.dim()}")
        self.check_input(data)
        states = self.num_layers * (2 if self.bidirectional else 1), int(batch_sizes[0])
        is_lstm = self.mode == "LSTM"
        sizes = [(*states, self.proj_size or self.hidden_size), (*states, self.hidden_size)][
            : 1 + is_lstm
        ]
        if hx is None:
            first = [zeros(size, dtype=data.dtype, device=data.device) for size in sizes]
        else:
            first = [_permuted(h, order) for h in (hx if is_lstm else [hx])]
        for i, (h, size) in enumerate(zip(first, sizes)):
            what = f"hidden[{i}]" if is_lstm else "hidden"
            self.check_hidden_size(h, size, f"Expected {what} size {{}}, got {{}}")
        output, *last = getattr(F, self.mode.lower())(
            data, batch_sizes, first if is_lstm else first[0], self._weights(), self.bias,
            self.num_layers, self.dropout, self.training, self.bidirectional,
        )  # fmt: skip
        last = [_permuted(h, back) for h in last]
        return PackedSequence(output, batch_sizes, order, back), tuple(last) if is_lstm else last[0]

    def check_input(self, input: Tensor) -> None:
        """Raise ValueError unless the dtype is that of the weights, RuntimeError for another number
        of features.
        """
        if not is_scripting():
            dtype = self.weight_ih_l0.dtype
            if input.dtype is not dtype:
                raise ValueError(
                    f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                    "Convert input: "
                    f"input.to({dtype}), or convert model: model.to({input.dtype})"
                )
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise RuntimeError for a state of another size."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        for name, default in defaults.items():
            if (value := getattr(self, name)) != default:
                s += f", {name}={value}"
        return s

    def _weights(self) -> list[Tensor]:
        """All weights in the order of the operators. In scripts, `recursive.py` replaces this by a
        literal list.
        """
        return [getattr(self, name) for names in self._all_weights for name in names]

    def _is_batched(self, input: Tensor) -> bool:
        """Whether there is a batch dimension. Raises ValueError unless the input is 2-D or 3-D."""
        if input.dim() not in (2, 3):
            name = self.mode.split("_")[0]
            what = "tensor instead" if name == "RNN" else "instead"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D {what}")
        return input.dim() == 3

    def _state_size(self, x: Tensor, features: int) -> tuple[int, int, int]:
        """(layers * directions, N, features)."""
        states = self.num_layers * 2 if self.bidirectional else self.num_layers
        return states, x.size(0 if self.batch_first else 1), features

    def _zeros(self, x: Tensor, features: int) -> Tensor:
        return zeros(self._state_size(x, features), dtype=x.dtype, device=x.device)


def _permuted(h: Tensor, order: Tensor | None) -> Tensor:
    """A state (layers * directions, N, hidden) with its batch in another order."""
    return h if order is None else h.index_select(1, order)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over a sequence, or relu with `nonlinearity="relu"`.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
    dropout=0.0, bidirectional=False). Raises ValueError for another nonlinearity.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _run(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        if self.mode == "RNN_TANH":
            return F.rnn_tanh(
                x, h, self._weights(), self.bias, self.num_layers, self.dropout, self.training,
                self.bidirectional, self.batch_first,
            )  # fmt: skip
        return F.rnn_relu(
            x, h, self._weights(), self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip


class GRU(RNNBase):
    """Gated recurrent units over a sequence. The gate r decides how much of the old state is used
    to compute a new one, the gate z how much of the old state is kept.

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def _run(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return F.gru(
            x, h, self._weights(), self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip


class LSTM(RNNBase):
    """Long short-term memory over a sequence. Its state is a pair (h, c), each
    (layers * directions, N, hidden).

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(  # type: ignore[override]
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The outputs and the last (h, c), for `input` and the first (h, c); see
        `RNNBase.forward`.
        """
        if not is_scripting():
            if isinstance(input, PackedSequence):
                return self._forward_packed(input, hx)
        batched = self._is_batched(input)
        batch_dim = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        outputs = self.proj_size if self.proj_size > 0 else self.hidden_size  # features of h, not c
        if hx is None:
            h, c = self._zeros(x, outputs), self._zeros(x, self.hidden_size)
        else:
            h, c = hx[0], hx[1]
            if h.dim() != input.dim() or c.dim() != input.dim():
                kind = "batched" if batched else "unbatched"
                dims = f"{input.dim()}-D"
                raise RuntimeError(
                    f"For {kind} {dims} input, hx and cx should also be {dims} but got "
                    f"({h.dim()}-D, {c.dim()}-D) tensors"
                )
            if not batched:
                h, c = h.unsqueeze(1), c.unsqueeze(1)
        self.check_input(x)
        size_h, size_c = self._state_size(x, outputs), self._state_size(x, self.hidden_size)
        self.check_hidden_size(h, size_h, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(c, size_c, "Expected hidden[1] size {}, got {}")
        output, h, c = F.lstm(
            x, [h, c], self._weights(), self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        if batched:
            return output, (h, c)
        return output.squeeze(batch_dim), (h.squeeze(1), c.squeeze(1))


class RNNCellBase(_Options):
    """The weights of one step: `weight_ih` (num_chunks * hidden, input), `weight_hh`
    (num_chunks * hidden, hidden), `bias_ih` and `bias_hh` (num_chunks * hidden).

    `num_chunks` is the number of gates.
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size, bias=bias)
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            s += f", nonlinearity={self.nonlinearity}"
        return s

    def _zeros(self, x: Tensor) -> Tensor:
        return zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)


def _checked(x: Tensor, what: str, batched: bool) -> Tensor:
    """`x` as (N, features): unless `batched`, a batch dimension is added.

    Raises ValueError unless `x` has 1 or 2 dimensions.
    """
    if x.dim() not in (1, 2):
        raise ValueError(f"{what} to be 1D or 2D, got {x.dim()}D instead")
    return x if batched else x.unsqueeze(0)


class RNNCell(RNNCellBase):
    """One step of an RNN, tanh(W_ih x + b_ih + W_hh h + b_hh) or relu(...): (N, input) and
    (N, hidden) to (N, hidden).
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        batched = input.dim() == 2
        x = _checked(input, "RNNCell: Expected input", batched)
        h = self._zeros(x) if hx is None else _checked(hx, "RNNCell: Expected hidden", batched)
        if self.nonlinearity == "tanh":
            h = F.rnn_tanh_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        elif self.nonlinearity == "relu":
            h = F.rnn_relu_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return h if batched else h.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (N, input) and (h, c), each (N, hidden), to the next (h, c)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        batched = input.dim() == 2
        x = _checked(input, "LSTMCell: Expected input", batched)
        if hx is None:
            h = self._zeros(x)
            c = h
        else:
            h = _checked(hx[0], "LSTMCell: Expected hx[0]", batched)
            c = _checked(hx[1], "LSTMCell: Expected hx[1]", batched)
        h, c = F.lstm_cell(x, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU: (N, input) and (N, hidden) to (N, hidden)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        batched = input.dim() == 2
        x = _checked(input, "GRUCell: Expected input", batched)
        h = self._zeros(x) if hx is None else _checked(hx, "GRUCell: Expected hidden", batched)
        h = F.gru_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return h if batched else h.squeeze(0)


def _check_dropout(dropout: Any, num_layers: int) -> None:
    """Raise ValueError for a non-probability; warn if there is no layer that it applies to."""
    if not isinstance(dropout, Number) or isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:  # type: ignore[arg-type]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )


def _check_options(
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    bias: bool,
    batch_first: bool,
    proj_size: int,
) -> None:
    """Raise TypeError or ValueError for options of another type or sizes out of range."""
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
