"""What `build_kernel.py` asks of a kernel's text: run as Python, compiled, and held against the
operators of its group.
"""

from __future__ import annotations

import linecache
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import internals as torch
from exercises.exercise import Wrong


def run_as_python(kernel_source: Callable[[Any], str], group: Any) -> None:
    """The text as plain Python on lists: a part of the range, then the rest."""
    inputs, outputs = len(list(group.inputs())), len(list(group.outputs()))
    text = kernel_source(group)
    if not isinstance(text, str) or "def kernel(begin, end" not in text:
        raise Wrong(f"the text of a function `kernel(begin, end, ...)` is wanted, not {text!r}")
    names: dict[str, Any] = {"math": math}
    try:
        exec(text, names)
    except SyntaxError as error:
        raise Wrong(f"the text is no Python: {error}") from None
    arguments = names["kernel"].__code__.co_argcount - 2
    if arguments != inputs + outputs:
        raise Wrong(
            f"the group has {inputs} inputs and {outputs} outputs; the kernel takes {arguments} "
            "arrays, not all of them"
        )
    arrays = [[0.1 * i + k - 0.3 for i in range(6)] for k in range(inputs)]
    outs = [[math.inf] * 6 for _ in range(outputs)]
    try:
        names["kernel"](2, 5, *arrays, *outs)
    except TypeError as error:
        raise Wrong(f"nothing is loaded or stored element by element: {error}") from None
    if any(out[i] != math.inf for out in outs for i in (0, 1, 5)):
        raise Wrong(
            "called for the elements 2 to 5 it wrote others, too: the loop goes from begin to end, "
            "several threads share it"
        )
    if any(out[i] == math.inf for out in outs for i in (2, 3, 4)):
        raise Wrong("not every output was stored, for every element")
    names["kernel"](0, 6, *arrays, *outs)
    expected = interpreted(group, [torch.tensor(a, dtype=torch.float64) for a in arrays])
    for out, right in zip(outs, expected):
        if len(set(out)) == 1 and len(set(right.tolist())) > 1:
            raise Wrong(
                "the kernel stores the same number for every element: loads belong into the loop"
            )
        if not torch.allclose(torch.tensor(out, dtype=torch.float64), right):
            raise Wrong(f"the kernel computes {out}, the interpreter {right.tolist()}")


def compiled(text: str, arrays: int) -> Callable[..., None]:
    """Machine code of a kernel's text."""
    from internals.machine_code import kernel

    file = f"<kernel {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"math": math}
    exec(compile(text, file, "exec"), names)
    return kernel(names["kernel"]).entry(" ".join(["*f4"] * arrays))


def interpreted(group: Any, tensors: Sequence[Any]) -> Sequence[Any]:
    """What the operators of a group compute, one by one."""
    from internals.jit.runtime.node_functions import run_subgraph

    result = run_subgraph(group, "group")(*tensors)
    return result if isinstance(result, (tuple, list)) else [result]


def groups() -> list[tuple[Callable[..., Any], Any]]:
    """Functions, and the group that the real passes make of each."""
    from internals.jit.fuser import kernels_of

    x = torch.ones(4, 6)
    return [(f, kernels_of(torch.jit.script(f), x, x)[0].group) for f in (swish, gap, two)]


def swish(x, y):  # type: ignore[no-untyped-def]
    return x * torch.sigmoid(x) + torch.tanh(y)


def gap(x, y):  # type: ignore[no-untyped-def]
    return torch.relu(x - y) * torch.exp(-y)


def two(x, y):  # type: ignore[no-untyped-def]
    z = x * y
    return z, torch.exp(z - x)


def afresh(function: Callable[..., Any]) -> Any:
    """The same function as another object, which no executor knows yet."""
    assert isinstance(function, types.FunctionType)
    return types.FunctionType(function.__code__, globals(), function.__name__)
