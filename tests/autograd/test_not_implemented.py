"""Operators of users without a kernel for the Autograd key: recorded as unknown, with a warning in
backward, as in PyTorch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import internals
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import KernelFunction
from internals.library import Library
from tests.answers import answer

Result = tuple[Any, list[str]]


def define(library: Any) -> None:
    library.define("two(Tensor self, Tensor other) -> (Tensor, Tensor)")
    library.impl("two", lambda a, b: (a.detach() + 1, b.detach() > 0), "CPU")
    library.define("write_(Tensor(a!) self) -> Tensor(a!)")
    library.impl("write_", lambda a: a, "CPU")
    library.define("many(Tensor[] ts) -> Tensor[]")
    library.impl("many", lambda ts: [t.detach() + 1 for t in ts], "CPU")
    library.define("calls(Tensor self) -> Tensor")
    library.impl("calls", lambda t: t * 3, "CPU")


def name(node: Any) -> str | None:
    return None if node is None else node.name().rpartition(":")[2]


def two_outputs(torch: Any, ops: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y, mask = ops.two(x, x * 2)
    y.sum().backward()
    return (
        name(y.grad_fn),
        [name(n) for n, _ in y.grad_fn.next_functions],
        mask.requires_grad,
        x.grad,
    )


def in_place(torch: Any, ops: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    same = ops.write_(y)
    y.sum().backward()
    return same is y, name(y.grad_fn), x.grad.tolist()


def a_list(torch: Any, ops: Any) -> Any:
    a, b = ops.many([torch.ones(2, requires_grad=True), torch.ones(1)])
    return name(a.grad_fn), a.output_nr, b.output_nr, b.requires_grad, len(a.grad_fn.next_functions)


def kernel_of_operators(torch: Any, ops: Any) -> Any:
    """What the kernel calls is recorded on its own: the gradient is there, and the warning too."""
    x = torch.ones(2, requires_grad=True)
    y = ops.calls(x)
    y.sum().backward()
    return name(y.grad_fn), x.grad.tolist()


def nothing_wanted(torch: Any, ops: Any) -> Any:
    with torch.no_grad():
        silent = ops.many([torch.ones(2, requires_grad=True)])[0].requires_grad
    return silent, ops.many([torch.ones(2)])[0].requires_grad


def run(program: Callable[[Any, Any], Any], torch: ModuleType, ops: Any) -> Result:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = program(torch, ops)
    return result, [str(w.message).partition(" (Triggered")[0] for w in caught]


@pytest.fixture
def ours() -> Iterator[Any]:
    with Library("t_unknown", "DEF") as library:
        define(library)
        yield internals.ops.t_unknown


def test_backward_through_an_unknown_operator_warns(ours: Any) -> None:
    result, warned = run(two_outputs, internals, ours)
    assert result == ("WarnNotImplemented", ["AccumulateGrad", "MulBackward0"], False, None)
    assert len(warned) == 1 and warned[0].startswith(
        "t_unknown::two: an autograd kernel was not registered"
    )
    assert run(nothing_wanted, internals, ours) == ((False, False), [])


@pytest.mark.parametrize(
    "program", [two_outputs, in_place, a_list, kernel_of_operators, nothing_wanted]
)
def test_as_in_pytorch(ours: Any, program: Callable[[Any, Any], Any]) -> None:
    def theirs(torch: Any) -> Result:
        library = torch.library.Library("t_unknown", "DEF")
        define(library)
        try:
            return run(program, torch, torch.ops.t_unknown)
        finally:
            library._destroy()

    assert run(program, internals, ours) == answer(theirs, family="autograd")


def test_a_fallthrough_for_autograd_silences_it() -> None:
    with Library("t_silent", "DEF") as library:
        library.define("f(Tensor self) -> Tensor")
        library.impl("f", lambda t: t.detach() + 1, "CPU")
        library.impl("f", "fallthrough", "Autograd")
        assert not internals.ops.t_silent.f(internals.ones(1, requires_grad=True)).requires_grad


def test_operators_of_the_library_without_a_gradient_fall_through() -> None:
    found = internals.ops.aten.eq.Tensor.kernel_for(DispatchKey.AutogradCPU)
    assert found is not None and (found[0].note, found[1]) == ("fallthrough", "backend fallback")


def test_a_kernel_made_by_exec_has_a_name() -> None:
    made: dict[str, Any] = {"__builtins__": {}}
    exec("def f(x): return x", made)
    assert KernelFunction(made["f"]).name.endswith(".f")
