"""What was once wrong in autograd, and how PyTorch does it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pytest

import internals
from tests.answers import answer


def beside(program: Any) -> None:
    """`program(T, note)` notes the same with `internals` and with PyTorch."""
    assert noted(internals, program) == answer(partial(noted, program=program), family="autograd")


def noted(module: Any, program: Any) -> list[Any]:
    notes: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(module, lambda *what: notes.append(plain(what)))
    return notes


def plain(what: Any) -> Any:
    """Tensors as lists of numbers, tuples all the way down."""
    if isinstance(what, tuple):
        return tuple(plain(w) for w in what)
    return what.tolist() if hasattr(what, "tolist") else what


def hooked(module: Any, note: Any) -> tuple[Any, Any, Any]:
    x = module.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * y
    y.register_hook(lambda g: note("tensor", g) or g * 10)
    y.grad_fn.register_prehook(lambda grads: note("before", grads))
    y.grad_fn.register_hook(lambda inputs, outputs: note("after", inputs, outputs))
    x.register_hook(lambda g: note("leaf", g))
    return x, y, z


def asked_for_inside(module: Any, note: Any) -> None:
    x, y, z = hooked(module, note)
    note(module.autograd.grad(z, y, retain_graph=True))
    note(module.autograd.grad(z, (x, y), retain_graph=True))
    note(module.autograd.grad(z, x, retain_graph=True))
    z.backward()
    note(x.grad)


def test_grad_of_a_tensor_inside_is_after_its_hooks_unless_its_node_runs_too() -> None:
    beside(asked_for_inside)


def test_at_a_node_that_does_not_run_only_the_hooks_of_the_tensor_do() -> None:
    notes: list[Any] = []
    _, y, z = hooked(internals, lambda *what: notes.append(what[0]))
    assert internals.autograd.grad(z, y)[0].item() == 120.0
    assert notes == ["tensor"]


def test_hooks_of_a_node_see_an_entry_for_each_edge_also_for_a_number() -> None:
    notes: list[Any] = []
    _, _, z = hooked(internals, lambda *what: notes.append(what))
    z.backward()
    (inputs,) = [what[1] for what in notes if what[0] == "after"]
    assert [None if g is None else g.item() for g in inputs] == [360.0, None]


def test_a_node_called_by_hand_returns_an_entry_for_each_edge() -> None:
    beside(lambda T, note: note((T.ones(2, requires_grad=True) * 3).grad_fn(T.tensor([1.0, 2.0]))))


def test_asking_for_grad_inside_the_graph_warns() -> None:
    x = internals.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and internals.ones(2).grad is None and y.detach().grad is None
        y.retain_grad()
        assert y.grad is None


def test_what_was_overwritten_has_no_gradient_even_if_infinity_arrives(T: Any) -> None:
    x = T.ones(2, requires_grad=True)
    y = x * 1
    y.eq_(T.ones(2))
    y.backward(T.tensor([float("inf"), 1.0]))
    assert x.grad.tolist() == [0.0, 0.0]


def test_the_gradient_of_a_mean_can_be_written_to(T: Any) -> None:
    """That of a sum cannot: it is one number, seen many times."""
    x = T.ones(2, 3, requires_grad=True)
    for y in (x.mean(), x.mean(0).sum(), x.mean((0, 1)), x.var(1).sum() + x.mean()):
        (grad,) = T.autograd.grad(y, x)
        assert grad.stride() == (3, 1)
        grad.mul_(2)[0] = 0
    (grad,) = T.autograd.grad(x.sum(), x)
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory",
    ):
        grad.mul_(2)


def test_the_class_of_a_node_bears_its_name() -> None:
    """Programs that draw graphs ask for `type(node).__name__`: a number is no other operation than
    a tensor there.
    """
    x = internals.ones(2, requires_grad=True)
    for y in (x + 1, x - 1, x * 2, x / 2, x.t(), x[0], (x * x).sum()):
        assert type(y.grad_fn).__name__ == y.grad_fn.name()
    assert type((x * 2).grad_fn).__name__ == "MulBackward0"
