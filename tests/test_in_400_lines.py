"""The page that is PyTorch in little: the same numbers as the house, and nothing borrowed from
it.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals import in_400_lines as page
from tests.answers import answer

SOURCE = Path(page.__file__)
CLASSES = [
    value
    for value in vars(page).values()
    if inspect.isclass(value) and value.__module__ == page.__name__
]


def test_it_learns_what_the_house_and_pytorch_learn() -> None:
    losses = page.train(page, 100)
    assert losses[0] > 2 and losses[-1] < 0.2
    np.testing.assert_allclose(losses, page.train(internals, 100), rtol=2e-4)
    np.testing.assert_allclose(losses, answer(lambda torch: page.train(torch, 100)), rtol=2e-4)


def calls(T: Any) -> Any:
    """Every operator of the page, with everything that is broadcast; the gradients of all
    leaves.
    """
    a = T.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.5]], requires_grad=True)
    b = T.tensor([0.25, -2.0, 1.0], requires_grad=True)
    c = T.tensor([[1.0], [-1.0]], requires_grad=True)
    y = (a * b + c).tanh() @ (a.T * 0.5)
    z = (y - 0.5) * y[1] + a[0][2] * 3.0
    z -= b[1]
    z.sum().backward()
    return [z.tolist(), *(t.grad.tolist() for t in (a, b, c))]


def test_all_operators_and_their_gradients() -> None:
    for mine, theirs, real in zip(calls(page), calls(internals), answer(calls)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
        np.testing.assert_allclose(mine, real, rtol=1e-5)


def test_views_share_memory_and_count_writes() -> None:
    t = page.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = t.T[1]
    row -= page.tensor([1.0, 1.0])
    assert (
        t.tolist() == [[1.0, 1.0], [3.0, 3.0]]
        and t.storage is row.storage
        and t.storage.version == 1
    )
    assert (row.sizes, row.strides, row.offset) == ((2,), (2,), 1)


def test_two_leaves_do_not_share_the_memory_of_a_gradient() -> None:
    x, y = page.tensor([1.0], requires_grad=True), page.tensor([2.0], requires_grad=True)
    (x + y).sum().backward()
    assert x.grad is not None and y.grad is not None
    x.grad -= page.tensor([5.0])
    assert (x.grad.tolist(), y.grad.tolist()) == ([-4.0], [1.0])


def test_what_was_written_to_since_has_no_gradient() -> None:
    x = page.tensor([1.0, 2.0], requires_grad=True)
    y = x.tanh()
    loss = y.sum()
    with page.no_grad():
        y -= page.tensor([1.0, 1.0])
    with pytest.raises(
        RuntimeError, match="modified by an inplace operation: tanh kept version 0, now it is 1"
    ):
        loss.backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x -= y


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda t: t[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        (
            lambda t: page.expand(t, (5,)),
            RuntimeError,
            r"sizes \(2,\) cannot be repeated to \(5,\)",
        ),
        (lambda t: t.__isub__(page.tensor([1.0, 2.0, 3.0])), RuntimeError, "cannot be repeated"),
        (lambda t: t.backward(), RuntimeError, "starts at one number"),
    ],
)
def test_mistakes_are_told(wrong: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong(page.tensor([1.0, 2.0]))


def test_a_graph_runs_again_on_other_numbers() -> None:
    w = page.tensor([0.5, -0.5], requires_grad=True)
    graph = page.trace(lambda x: (x * w).tanh() + 1.0, page.tensor([1.0, 2.0]))
    assert (
        str(graph)
        == "graph(%0):\n  %2 = mul(%0, %1)\n  %3 = tanh(%2)\n  %4 = add(%3, 1.0)\n  return %4"
    )
    result = page.Interpreter(graph)(page.tensor([3.0, 4.0]))
    result.sum().backward()
    x, v = internals.tensor([3.0, 4.0]), internals.tensor([0.5, -0.5], requires_grad=True)
    same = (x * v).tanh() + 1.0
    same.sum().backward()
    assert w.grad is not None and v.grad is not None
    np.testing.assert_allclose(result.tolist(), same.tolist(), rtol=1e-6)
    np.testing.assert_allclose(w.grad.tolist(), v.grad.tolist(), rtol=1e-5)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_class_names_the_file_that_it_grows_into(kind: type) -> None:
    files = re.findall(r"Grows into `([\w/.]+)`", kind.__doc__ or "")
    assert files and all((SOURCE.parent / file).is_file() for file in files)


def test_it_is_short_and_needs_numpy_alone() -> None:
    lines = [line for line in SOURCE.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 400 and max(map(len, lines)) <= 100
    imported = set()
    for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "internals").partition(".")[0])
    assert imported - sys.stdlib_module_names == {"numpy"}
    # by itself
    run = subprocess.run([sys.executable, str(SOURCE)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("step   0   loss 3.08") and "%3 = tanh(%2)" in run.stdout
