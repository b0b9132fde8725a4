"""One layer, built and run with `internals` and with real PyTorch: parameters, outputs, buffers,
gradients.

A case is a line `nn.Linear(3, 5) >> m(x(2, 3))`: how to build the module and how to call it; `x`
makes inputs (see `side_by_side`), the same in both libraries. `run` seeds the generator, builds,
calls, and gives everything that can be compared as numpy arrays with names. As both libraries draw
the same random numbers, so must be the weights.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import internals
from tests.answers import answer
from tests.side_by_side import Inputs, ours, theirs
from tests.support import to_numpy

FILES = (
    "test_layers", "test_recurrent", "test_transformer", "test_loss_modules", "test_breadth",
    "test_breadth_losses",
)  # fmt: skip


class Recorded:
    """`Inputs` that remembers the floating point tensors it made, which require a gradient if asked
    for.
    """

    def __init__(self, inputs: Inputs, requires_grad: bool) -> None:
        self.inputs = inputs
        self.requires_grad = requires_grad
        self.made: list[Any] = []

    def _keep(self, tensor: Any) -> Any:
        if tensor.is_floating_point() and self.requires_grad:
            tensor.requires_grad_(True)
            self.made.append(tensor)
        return tensor

    def __call__(self, *sizes: int, **options: Any) -> Any:
        return self._keep(self.inputs(*sizes, **options))

    def of(self, values: Any, dtype: str = "float32") -> Any:
        return self.inputs.of(values, dtype)

    def labels(self, *sizes: int, classes: int) -> Any:
        return self.inputs.labels(*sizes, classes=classes)

    def uniform(self, *sizes: int, dtype: str = "float32") -> Any:
        return self._keep(self.inputs.uniform(*sizes, dtype=dtype))


def run(T: Any, case: str, training: bool, gradients: bool) -> dict[str, np.ndarray]:
    """Everything of one case in library `T`, named: weights before, outputs, buffers after,
    gradients.
    """
    build, call = (part.strip() for part in case.split(">>"))
    x = Recorded(ours() if T is internals else theirs(), gradients)
    names = namespace(T) | {"x": x}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        T.manual_seed(2013)
        m = eval(build, names)
        m.train(training)
        found = {f"weight {k}": numpy(v) for k, v in m.state_dict().items()}
        T.manual_seed(1969)
        outputs = tensors(eval(call, names | {"m": m}))
        found |= {f"output {i}": numpy(t) for i, t in enumerate(outputs)}
        found |= {f"buffer {k}": numpy(v) for k, v in m.named_buffers()}
        if gradients:
            backward(T, outputs)
            found |= {f"gradient {k}": gradient(p) for k, p in m.named_parameters()}
            found |= {f"gradient of input {i}": gradient(t) for i, t in enumerate(x.made)}
    return found


def namespace(T: Any) -> dict[str, Any]:
    """The names a case may use: besides the library, weights and masks that are no inputs (True: do
    not look).
    """
    from_numpy = ours().from_numpy if T is internals else theirs().from_numpy

    def weight(n: int) -> Any:
        return T.arange(1, n + 1, dtype=T.float32) / n

    def mask(*sizes: int) -> Any:
        """True in every third place, but never first in a row."""
        return from_numpy(
            (np.arange(np.prod(sizes)).reshape(sizes) % 3 == 1) & (np.arange(sizes[-1]) > 0)
        )

    def padding(batch: int, length: int) -> Any:
        """The first sequence has two places less than the others."""
        return from_numpy((np.arange(length) >= length - 2) & (np.arange(batch) == 0)[:, None])

    return {
        "T": T, "nn": T.nn, "F": T.nn.functional, "inf": float("inf"), "x_weight": weight,
        "mask": mask, "padding": padding,
        "causal": T.nn.Transformer.generate_square_subsequent_mask,
    }  # fmt: skip


def backward(T: Any, outputs: list[Any]) -> None:
    """From the outputs, each element weighted differently."""
    from_numpy = ours().from_numpy if T is internals else theirs().from_numpy
    total: Any = 0
    for output in outputs:
        if output.requires_grad:
            weights = np.cos(np.arange(output.numel())).reshape(tuple(output.shape))
            total = total + (output * from_numpy(weights.astype(numpy(output).dtype))).sum()
    total.backward()


def tensors(result: Any) -> list[Any]:
    """The tensors in nested tuples, None left out."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in tensors(part)]
    return [] if result is None else [result]


def gradient(tensor: Any) -> np.ndarray:
    """The gradient, or nothing for a tensor that was not used."""
    return np.zeros(0) if tensor.grad is None else numpy(tensor.grad)


def numpy(tensor: Any) -> np.ndarray:
    return (
        to_numpy(tensor) if isinstance(tensor, internals.Tensor) else tensor.detach().numpy().copy()
    )


def compare(case: str, training: bool, gradients: bool) -> None:
    """The case gives the same in both libraries, under the same names in the same order, and prints
    the same.
    """
    build = case.split(">>")[0]

    def ask(torch: Any) -> Any:
        return run(torch, case, training, gradients), printed(torch, build)

    answered, text = answer(ask, about=(case, training), family="layers")
    a, b = (
        run(internals, case, training, gradients),
        {name: t.numpy() for name, t in answered.items()},
    )
    assert list(a) == list(b)
    half = "float16" in case
    for name in a:
        assert a[name].shape == b[name].shape, name
        assert a[name].dtype == b[name].dtype, name
        scale = np.abs(b[name]).max(initial=1e-3, where=np.isfinite(b[name]))
        tolerance = (1e-2 if half else 2e-5) * max(scale, 1)
        np.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=tolerance, err_msg=name)
    assert printed(internals, build) == text


def printed(T: Any, build: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(eval(build, namespace(T)))


def layer_tests(cases: list[str], modes: tuple[str, ...] = ("train", "eval")) -> tuple[Any, Any]:
    """What every table of layers is tested for: results, and gradients, are PyTorch's."""

    def test_as_pytorch(case: str, training: bool) -> None:
        compare(case, training, gradients=False)

    def test_gradients_as_pytorch(case: str, training: bool) -> None:
        compare(case, training, gradients=True)

    in_both_modes = pytest.mark.parametrize(
        "training", [mode == "train" for mode in modes], ids=modes
    )
    of_every_case = pytest.mark.parametrize("case", cases)
    return in_both_modes(of_every_case(test_as_pytorch)), in_both_modes(
        of_every_case(test_gradients_as_pytorch)
    )
