"""What the tracer warns of, and what it refuses: the words of real PyTorch."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

import internals
from internals import nn
from tests.jit.traces import agree, caught, load, tensors

WARNED: dict[str, tuple[str, Any]] = {
    "bool": ("def f(x):\n if x.sum() > 0 and not (x.sum() < 0):\n  x = x * 2\n return x", (2, 2)),
    "int": ("def f(x): return x + int(x.sum())", (2, 2)),
    "float": ("def f(x): return x * float(x.sum())", (2, 2)),
    "index": ("def f(x): return x + sum(range(x.size(0)))", (2, 2)),
    "item": ("def f(x): return x + x.sum().item()", (2, 2)),
    "numpy": ("def f(x): return x + float(x.numpy().sum())", (2, 2)),
    "tolist": ("def f(x): return x + x.tolist()[0][0]", (2, 2)),
    "iteration": ("def f(x):\n for r in x:\n  y = r * 2\n return y", (2, 2)),
    "len": ("def f(x): return x * len(x)", (2, 2)),
    "torch.tensor": ("def f(x): return x + torch.tensor([1.0, 2.0])", (2,)),
    "torch.as_tensor": ("def f(x): return x + torch.as_tensor([1.0, 2.0])", (2,)),
    "torch.from_numpy": (
        "import numpy\ndef f(x): return x + torch.from_numpy(numpy.ones(2, 'float32'))",
        (2,),
    ),
    "torch.Tensor": ("def f(x): return x + torch.Tensor([1.0, 2.0])", (2,)),
    "resize_": ("def f(x): return x.clone().resize_(1) + 1", (2,)),
    "list out": ("def f(x): return [x, x + 1]", (2,)),
    "membership": ("def f(x): return x * (1 in x)", (2,)),
    "checks of the library are silent": (
        "def f(x): return F.batch_norm(x, None, None, training=True)",
        (2, 2),
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_are_those_of_real_pytorch(name: str) -> None:
    """Each is given once in the trace and once in the checker's second trace."""
    source, shapes = WARNED[name]

    def given(lib: Any) -> Any:
        f = load(source, lib)["f"]
        return caught(lambda: lib.jit.trace(f, tensors(lib, shapes)))[0]

    assert bool(agree(given)) == (
        name not in ("index", "membership", "checks of the library are silent")
    )


def test_out_of_place_warns_of_shared_memory() -> None:
    source = "def f(x):\n x = x.clone()\n y = x[0]\n y.add_(1)\n x.fill_(3)\n return x.mul_(2)"

    def given(lib: Any) -> Any:
        f = load(source, lib)["f"]
        return caught(
            lambda: lib.jit.trace(f, lib.ones(2, 2), check_trace=False, _force_outplace=True)
        )[0]

    assert len(agree(given)) == 3


REFUSED: dict[str, tuple[str, Any]] = {
    "no result": ("def f(x): pass", (2,)),
    "a number": ("def f(x): return 3", (2,)),
    "a number in a tuple": ("def f(x): return x, 3", (2,)),
    "None in a tuple": ("def f(x): return x, None", (2,)),
    "a dict": ("def f(x): return {'a': x}", (2,)),
    "an empty list": ("def f(x): return []", (2,)),
    "a mixed list": ("def f(x): return [x, [x]]", (2,)),
    "a mixed dict": ("def f(x): return {'a': x, 'b': 3}", (2,)),
    "a tensor from elsewhere": ("W = torch.ones(3, 2)\ndef f(x): return W", (2,)),
    "a parameter from elsewhere": (
        "W = torch.ones(2, requires_grad=True)\ndef f(x): return x * W",
        (2,),
    ),
    "a trace in a trace": (
        "def f(x): return torch.jit.trace(lambda y: y + 1, x, check_trace=False)(x)",
        (2,),
    ),
    "too many inputs": ("def f(x): return x", [(2,), (2,)]),
    "an empty list in": ("def f(x): return x", [("list",)]),
    "an error of the function": ("def f(x): return x.view(7)", (2,)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_those_of_real_pytorch(name: str) -> None:
    source, shapes = REFUSED[name]

    def error(lib: Any) -> tuple[str, str]:
        f = load(source, lib)["f"]
        error = caught(lambda: lib.jit.trace(f, tensors(lib, shapes), check_trace=False))[1]
        return type(error).__name__, str(error).replace("internals.", "torch.")

    agree(error)
    assert not internals.jit.is_tracing()


INPUTS: dict[str, str] = {
    "an int": "(torch.ones(2), 3)",
    "a string": "(torch.ones(2), 'a')",
    "None": "(torch.ones(2), None)",
    "numbers in a dict": "(torch.ones(2), {'a': 1})",
    "an empty dict": "(torch.ones(2), {})",
    "a mixed list": "(torch.ones(2), [torch.ones(2), 1])",
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_that_cannot_be_traced(name: str) -> None:
    def error(lib: Any) -> tuple[str, str]:
        inputs = eval(INPUTS[name], {"torch": lib})
        error = caught(lambda: lib.jit.trace(lambda x, y: x, inputs, check_trace=False))[1]
        return type(error).__name__, str(error)

    agree(error)


def test_warning_points_at_the_users_line() -> None:
    def f(x: Any) -> Any:
        return x + int(x.sum())

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        internals.jit.trace(f, internals.ones(2), check_trace=False)
    assert [w.filename for w in given] == [__file__]
    assert given[0].lineno == f.__code__.co_firstlineno + 1
    assert given[0].category is internals.jit.TracerWarning


def test_models_count_as_user_code_and_the_library_does_not() -> None:
    code = (
        "import warnings, internals\nfrom internals import nn\n"
        "with warnings.catch_warnings(record=True) as given:\n"
        "    internals.jit.trace(nn.BatchNorm1d(2), internals.ones(2, 2), check_trace=False)\n"
        "print(len(given))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_nothing_is_left_on_after_an_error() -> None:
    from internals.core.dispatcher import tls
    from internals.core.hot import hot
    from internals.nn import _global_hooks

    before = hot.off, tls.included, len(_global_hooks.around_calls)
    with pytest.raises(ZeroDivisionError):
        internals.jit.trace(lambda x: x / (1 // 0), internals.ones(2))
    assert (hot.off, tls.included, len(_global_hooks.around_calls)) == before
    assert nn.Linear(2, 2)(internals.ones(1, 2)).shape == (1, 2)


def test_other_threads_are_not_traced() -> None:
    import threading

    seen = []

    def f(x: Any) -> Any:
        def other() -> None:
            seen.append((internals.jit.is_tracing(), type(x.size(0))))
            internals.ones(2) + 1

        t = threading.Thread(target=other)
        t.start()
        t.join()
        return x * 2

    traced = internals.jit.trace(f, internals.ones(2), check_trace=False)
    assert seen == [(False, int)]
    assert [n.kind() for n in traced.graph.nodes()] == ["prim::Constant", "aten::mul"]
