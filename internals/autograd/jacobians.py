"""Jacobians for `gradcheck`: measured by finite differences, and computed by backward
(`torch/autograd/gradcheck.py`).

As there, a Jacobian has a row for each element of the input and a column for each element of the
output, (input elements, output elements): entry [i, j] is the derivative of output element j by
input element i. Textbooks have the transpose.

Outputs are real. A complex input x + iy is moved in both directions, and has the entries
dL/dx + i dL/dy, which is what backward computes (`formulas/complex.py`).

How the real one differs: it also takes sparse and MKL-DNN tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from internals import autograd
from internals._generated import functions as fn
from internals.core.generator import Generator
from internals.core.tensor_impl import Tensor

Outputs = Callable[[], Sequence[Any]]


def numerical(outputs: Outputs, x: Tensor, eps: float) -> list[Any]:
    """The Jacobian of each of `outputs()` by central differences. `x` is changed in place, one
    element at a time, and restored.

    It is written to through `x.data`: so leaves may be changed, and no version is counted.
    """
    data = x.data
    rows: list[list[Any]] = []
    for index in product(*map(range, x.shape)):
        element = data[index]
        steps = [
            fn.full_like(element, unit * eps) for unit in ((1, 1j) if x.is_complex() else (1,))
        ]
        rows.append(_derivative(outputs, element, steps, eps, f"on index {index} "))
    if not rows:
        kind = x.dtype if x.is_complex() else None
        return [o.new_zeros((0, o.numel()), dtype=kind) for o in outputs()]
    return [fn.stack(column) for column in zip(*rows)]


def directional(outputs: Outputs, x: Tensor, u: Tensor, eps: float) -> list[Any]:
    """The derivative of each of `outputs()` when `x` moves in the direction `u`, a 1-d tensor with
    as many elements as `x`.

    A complex `x` moves along the real parts of `u`, then along the imaginary ones.
    """
    steps = [u.real * eps, u.imag * 1j * eps] if x.is_complex() else [u * eps]
    return _derivative(outputs, x.data, [s.reshape(x.shape) for s in steps], eps)


def analytical(output: Tensor, inputs: Sequence[Any]) -> list[Any]:
    """The Jacobian of `output` by each of `inputs`: one backward pass for each element of the
    output, whose incoming gradient is 1 for that element and 0 for the others.
    """
    basis = fn.eye(output.numel(), dtype=output.dtype, device=output.device)
    columns = [row(output, inputs, one) for one in basis]
    if not columns:
        return [x.new_zeros((x.numel(), 0)) for x in inputs]
    return [fn.stack(list(column), 1) for column in zip(*columns)]


def row(output: Tensor, inputs: Sequence[Any], v: Tensor) -> list[Any]:
    """The gradient of each input, flat, for the incoming gradient `v`: one backward pass. Zeros for
    an input that the output does not depend on.
    """
    v = v.reshape(output.shape)
    grads = autograd.grad(output, inputs, v, retain_graph=True, allow_unused=True)
    return [
        x.new_zeros(x.numel()) if g is None else g.detach().reshape(-1)
        for g, x in zip(grads, inputs)
    ]


def random_units(*groups: Sequence[Any]) -> list[list[Any]]:
    """For each tensor of each group a random vector of length 1 with as many entries, none
    negative; for a complex tensor two, as real and imaginary part.

    It uses a generator of its own: a check does not change the user's random numbers.
    """
    generator = Generator()

    def unit(t: Tensor) -> Any:
        v = fn.rand(t.numel(), generator=generator, dtype=t.dtype.to_real(), device=t.device)
        return v / v.norm()

    return [
        [fn.complex(unit(t), unit(t)) if t.is_complex() else unit(t) for t in group]
        for group in groups
    ]


def _derivative(
    outputs: Outputs, data: Tensor, steps: list[Any], eps: float, where: str = ""
) -> list[Any]:
    """The derivative of each output by the real part of `data`; with two steps, plus i times the
    derivative by the imaginary part.
    """
    found = [_difference(outputs, data, step, eps, where) for step in steps]
    return found[0] if len(found) == 1 else [along + across * 1j for along, across in zip(*found)]


def _difference(
    outputs: Outputs, data: Tensor, step: Tensor, eps: float, where: str = ""
) -> list[Any]:
    """(f(x + step) - f(x - step)) / (2 * eps), flat, for each output."""
    original = data.clone()
    data.copy_(original - step)
    lower = [o.detach().clone() for o in outputs()]
    data.copy_(original + step)
    upper = [o.detach().clone() for o in outputs()]
    data.copy_(original)
    for a, b in zip(lower, upper):
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    f"perturbed {where}by {eps}, but got: "
                    f"{what}s {getattr(a, what)} and {getattr(b, what)}."
                )
    return [((b - a) / (2 * eps)).reshape(-1) for a, b in zip(lower, upper)]
