"""Gradients of one expression, computed twice: with `internals` and with real PyTorch.

As in `side_by_side` a case is a function of `(T, x)`, or a line of a table; but the tensors that
`x` makes are float64 leaves that require grad, or of another `dtype` (integers are none).

    check_gradients(expression("T.mm(x(2, 3), x(3, 4))"))

compares the outputs, the names of their nodes, the gradients of all leaves in a random direction,
and the gradients of those in another: double backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import internals
from tests.side_by_side import Inputs, ours, theirs
from tests.support import assert_same_outcome

Case = Callable[[Any, Any], Any]


class Leaves:
    """Makes the inputs of a case and remembers those that gradients are wanted for."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.made: list[Any] = []

    def __call__(self, *sizes: int, dtype: str = "float64") -> Any:
        return self._leaf(self.inputs(*sizes, dtype=dtype))

    def of(self, values: Any, dtype: str = "float64") -> Any:
        return self._leaf(self.inputs.of(values, dtype))

    def coarse(self, *sizes: int) -> Any:
        """Whole numbers from -2 to 2: full of zeros and ties."""
        return self._leaf(self.inputs(*sizes, dtype="int64", low=-2, high=3).double())

    def strided(self, *sizes: int) -> Any:
        """A leaf that is not contiguous: every second element of a tensor with its dimensions in
        opposite order.
        """
        t = self.inputs(*sizes[::-1], 2, dtype="float64")
        return self._leaf(t[..., 0].permute(tuple(range(len(sizes)))[::-1]).detach())

    def uniform(self, *sizes: int) -> Any:
        """Numbers strictly between 0 and 1."""
        return self._leaf(self.inputs.uniform(*sizes, dtype="float64"))

    def labels(self, *sizes: int, classes: int) -> Any:
        """Class indices; no leaf."""
        return self.inputs.labels(*sizes, classes=classes)

    def index(self, *values: Any) -> Any:
        return self.inputs.of(list(values), "int64")

    def mask(self, *sizes: int) -> Any:
        return self.inputs(*sizes, dtype="bool")

    def direction(self, t: Any) -> Any:
        """A random tensor like `t`; a leaf, but not one of the inputs."""
        return self.inputs(*t.shape, dtype=str(t.dtype).rpartition(".")[2]).requires_grad_()

    def _leaf(self, t: Any) -> Any:
        if t.is_floating_point() or t.is_complex():
            self.made.append(t.requires_grad_())
        return t


def check_gradients(case: Case, second: bool = True, names: bool = True, **options: Any) -> None:
    """Both libraries give the same outputs, nodes (if `names`), gradients and (if `second`) second
    ones, or raise the same.
    """
    asked = {"family": "gradients_of_expressions", "about": getattr(case, "text", None)}
    options = {**asked, "message": False, "rtol": 1e-6, "atol": 1e-9, **options}
    assert_same_outcome(
        lambda: gradients(internals, case, Leaves(ours()), second, names),
        lambda torch: gradients(torch, case, Leaves(theirs()), second, names),
        **options,
    )


def gradients(T: Any, case: Case, x: Leaves, second: bool, names: bool = True) -> list[Any]:
    result = case(T, x)
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    outputs = [o for o in results if o.requires_grad]
    found = [*results, *[_name(o.grad_fn) for o in outputs if names]]
    inputs, directions = list(x.made), [x.direction(o) for o in outputs]
    if not outputs:
        return found
    first = T.autograd.grad(outputs, inputs, directions, create_graph=second, allow_unused=True)
    again = [g for g in first if g is not None and g.requires_grad]
    if again:
        seconds = T.autograd.grad(
            again, inputs + directions, [x.direction(g) for g in again], allow_unused=True
        )
        first = [*first, *seconds]
    # PyTorch's zeros without memory become ordinary ones
    return found + [g if g is None else g.clone() for g in first]


def _name(node: Any) -> str:
    """PyTorch spells out the namespace of the nodes that are not generated."""
    return str(node.name()).removeprefix("torch::autograd::")


def expression(text: str, **names: Any) -> Case:
    """A line of a table as a case. `put(x, index, y)` is a copy of x with `x[index] = y`; `names`
    are more it may use.
    """
    code = compile(text, "<case>", "eval")

    def case(T: Any, x: Any) -> Any:
        usual = {
            "T": T,
            "F": T.nn.functional,
            "x": x,
            "put": _put,
            "np": np,
            "inf": float("inf"),
            "s_": np.s_,
        }
        return eval(code, {**usual, **names})

    case.text = text  # type: ignore[attr-defined]
    return case


def _put(t: Any, index: Any, value: Any) -> Any:
    t = t.clone()
    t[index] = value
    return t
