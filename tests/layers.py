"""One layer, built and run with `internals` and with real PyTorch: parameters, outputs, buffers, gradients.

A case is a line `nn.Linear(3, 5) >> m(x(2, 3))`: how to build the module and how to call it; `x` makes inputs (see
`side_by_side`), the same in both libraries. `run` seeds the generator, builds, calls, and gives everything that can be compared
as numpy arrays with names. As both libraries draw the same random numbers, so must be the weights.

`Golden` keeps for each case two numbers of every array (`fingerprint`), as real PyTorch computed them, in `golden/layers/*.json`,
so that the same is tested where PyTorch is not installed. `python -m tests.layers` writes these files.
"""

from __future__ import annotations

import importlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from tests.side_by_side import Inputs, cases, ours, theirs
from tests.support import oracle, to_numpy

FOLDER = Path(__file__).parent / "golden" / "layers"
FILES = (
    "test_nn_layers", "test_nn_recurrent", "test_nn_transformer", "test_nn_loss_modules", "test_nn_breadth",
    "test_nn_breadth_losses",
)  # fmt: skip


class Recorded:
    """`Inputs` that remembers the floating point tensors it made, which require a gradient if asked for."""

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
    """Everything of one case in library `T`, named: weights before, outputs, buffers after, gradients."""
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
    """The names a case may use: besides the library, weights and masks that are no inputs (True: do not look)."""
    from_numpy = ours().from_numpy if T is internals else theirs().from_numpy

    def weight(n: int) -> Any:
        return T.arange(1, n + 1, dtype=T.float32) / n

    def mask(*sizes: int) -> Any:
        """True in every third place, but never first in a row."""
        return from_numpy((np.arange(np.prod(sizes)).reshape(sizes) % 3 == 1) & (np.arange(sizes[-1]) > 0))

    def padding(batch: int, length: int) -> Any:
        """The first sequence has two places less than the others."""
        return from_numpy((np.arange(length) >= length - 2) & (np.arange(batch) == 0)[:, None])

    return {
        "T": T, "nn": T.nn, "F": T.nn.functional, "inf": float("inf"), "x_weight": weight, "mask": mask, "padding": padding,
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
    return to_numpy(tensor) if isinstance(tensor, internals.Tensor) else tensor.detach().numpy().copy()


def compare(case: str, training: bool, gradients: bool) -> None:
    """The case gives the same in both libraries, under the same names in the same order, and prints the same."""
    torch = oracle()
    a, b = run(internals, case, training, gradients), run(torch, case, training, gradients)
    assert list(a) == list(b)
    half = "float16" in case
    for name in a:
        assert a[name].shape == b[name].shape, name
        assert a[name].dtype == b[name].dtype, name
        scale = np.abs(b[name]).max(initial=1e-3, where=np.isfinite(b[name]))
        tolerance = (1e-2 if half else 2e-5) * max(scale, 1)
        np.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=tolerance, err_msg=name)
    build = case.split(">>")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [repr(eval(build, namespace(T))) for T in (internals, torch)]
    assert texts[0] == texts[1]


def layer_tests(name: str, cases: list[str], modes: tuple[str, ...] = ("train", "eval")) -> tuple[Any, Any, Any]:
    """What every table of layers is tested for: results and gradients beside PyTorch, and the golden numbers of file `name`."""
    golden = Golden(name)

    def test_as_pytorch(case: str, training: bool) -> None:
        compare(case, training, gradients=False)

    def test_gradients_as_pytorch(case: str, training: bool) -> None:
        compare(case, training, gradients=True)

    def test_golden_numbers(case: str, training: bool) -> None:
        golden.check(case, training, gradients=True)

    in_both_modes = pytest.mark.parametrize("training", [mode == "train" for mode in modes], ids=modes)
    of_every_case = pytest.mark.parametrize("case", cases)
    tests = (test_as_pytorch, test_gradients_as_pytorch, test_golden_numbers)
    return tuple(in_both_modes(of_every_case(test)) for test in tests)  # type: ignore[return-value]


class Golden:
    """The fingerprints of the cases of one test file."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.json"

    def check(self, case: str, training: bool, gradients: bool) -> None:
        """What `internals` computes has the fingerprints that real PyTorch's results had."""
        expected = self.expected()[key(case, training)]
        found = run(internals, case, training, gradients)
        for name, array in found.items():
            sizes, *numbers = fingerprint(array)
            assert sizes == expected[name][0], name
            atol = 2e-4 * max(1, float(np.sqrt(np.square(array, dtype="float64").sum())))
            np.testing.assert_allclose(numbers, expected[name][1:], rtol=1e-4, atol=atol, err_msg=name)
        if gradients:
            assert list(found) == list(expected)

    def expected(self) -> dict[str, Any]:
        return json.loads(self.path.read_text())

    def write(self, lines: list[str]) -> None:
        torch = oracle()
        found = {
            key(case, training): {name: fingerprint(a) for name, a in run(torch, case, training, True).items()}
            for case in lines
            for training in (True, False)
        }
        entries = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
        temporary = self.path.with_suffix(".new")
        temporary.write_text("{\n" + ",\n".join(entries) + "\n}\n")
        os.replace(temporary, self.path)


def key(case: str, training: bool) -> str:
    return f"{case} [{'train' if training else 'eval'}]"


def fingerprint(array: np.ndarray) -> list[Any]:
    """The sizes, and two weighted sums of the elements. NaN and infinity count as if they were numbers of no importance."""
    flat = np.nan_to_num(array.astype("float64").ravel(), nan=0.5, posinf=2.0, neginf=-2.0)
    at = np.arange(flat.size)
    return [list(array.shape), *(float(f"{(flat * w).sum():.6g}") for w in (np.cos(at), np.sin(3 * at + 1)))]


__all__ = ["Golden", "cases", "compare", "run"]

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file in FILES:
        module = importlib.import_module(f"tests.{file}")
        Golden(file).write(module.CASES)
        print(file, len(module.CASES))
