"""Running a program in different ways and comparing what comes out, gradients and writes to the
arguments included.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.jit.corpus import Program, materialize


def tensors_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "untyped_storage"):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_in(v)


def same_arguments(torch: Any, program: Program, which: int) -> tuple[Any, ...]:
    return tuple(materialize(torch, a, 7 * which + i) for i, a in enumerate(program.inputs[which]))


def outcome(
    torch: Any, function: Any, args: tuple[Any, ...], parameters: list[Any]
) -> dict[str, Any]:
    """What a call returns, its gradients, and what it did to its arguments, as plain data."""
    leaves = [t for t in tensors_in(args) if t.requires_grad] + parameters
    for p in parameters:
        p.grad = None
    result = function(*args)
    floats = [t for t in tensors_in(result) if t.requires_grad] if torch.is_grad_enabled() else []
    if floats:
        sum((t * (i + 1)).sum() for i, t in enumerate(floats)).backward()
    return {
        "result": plain(result),
        "gradients": [plain(t.grad) for t in leaves],
        "arguments": [plain(t) for t in tensors_in(args)],
    }


def plain(value: Any) -> Any:
    """Tensors as (dtype, sizes, numbers)."""
    if hasattr(value, "untyped_storage"):
        return (
            str(value.dtype).rpartition(".")[2],
            tuple(value.shape),
            value.detach().reshape(-1).tolist(),
        )
    if isinstance(value, (list, tuple)):
        return type(value)(plain(v) for v in value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def assert_same(a: Any, b: Any, tolerance: float = 1e-5) -> None:
    """Equal up to rounding; NaN equals NaN. Numbers in gradients that were summed in another order
    may differ a little.
    """
    if isinstance(a, float) and isinstance(b, float):
        assert (
            a == b or (a != a and b != b) or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
        ), (a, b)
    elif isinstance(a, dict):
        assert isinstance(b, dict) and list(a) == list(b), (a, b)
        for k in a:
            assert_same(a[k], b[k], tolerance)
    elif isinstance(a, (list, tuple)):
        assert type(a) is type(b) and len(a) == len(b), (a, b)
        for x, y in zip(a, b):
            assert_same(x, y, tolerance)
    else:
        assert type(a) is type(b) and a == b, (a, b)


def callable_of(torch: Any, program: Program) -> tuple[Any, list[Any]]:
    """The function, or the module with parameters that every library and every call has alike; and
    its parameters.
    """
    if not program.module:
        return program.function, []
    module = program.function()
    torch_tensor = torch.tensor
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            values = [((7 * i + 3 * k) % 11 - 5) / 10 for i in range(p.numel())]
            p.copy_(torch_tensor(values).reshape(p.shape))
    return module, list(module.parameters())


def traced(torch: Any, program: Program, function: Any, args: tuple[Any, ...]) -> Any:
    """A trace of the program on copies of these arguments; arguments without tensors are closed
    over.
    """
    moving = [i for i, a in enumerate(args) if any(True for _ in tensors_in(a))]
    if program.module:
        return torch.jit.trace(function, copied(args), check_trace=False, strict=False)

    def with_the_rest(*given: Any) -> Any:
        all_args = list(args)
        for i, a in zip(moving, given):
            all_args[i] = a
        return function(*all_args)

    graph = torch.jit.trace(
        with_the_rest, copied(tuple(args[i] for i in moving)), check_trace=False, strict=False
    )
    return lambda *a: graph(*[a[i] for i in moving])


def copied(args: Any) -> Any:
    """Arguments of their own: a program may write to them."""
    if hasattr(args, "untyped_storage"):
        return args.detach().clone().requires_grad_(args.requires_grad)
    if isinstance(args, (list, tuple)):
        return type(args)(copied(a) for a in args)
    if isinstance(args, dict):
        return {k: copied(a) for k, a in args.items()}
    return copy.copy(args)
