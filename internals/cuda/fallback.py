"""Runs an operator without a CUDA kernel on the CPU, on copies of its arguments
(`aten/src/ATen/native/CPUFallback.cpp`).

The arguments are copied to the host, the operator runs there, and its results are copied back to
the device, also into arguments that it wrote to. This is slow, as each copy waits for all work
before it, and never silent: `viz.dispatch` shows it as a step of its own, `fallbacks()` counts it,
and `allow_fallback(False)` or INTERNALS_CUDA_FALLBACK=error makes it an error.

There are two ways here. The dispatcher calls `cpu_fallback` for an operator without a CUDA kernel.
And a kernel may get arguments that it was not written for, such as complex numbers, which no kernel
of this package computes with: it raises `NoKernel`, which `kernel` catches.

How the real one differs: PyTorch has kernels for nearly everything on CUDA; its MPS and XLA
backends fall back in this way (PYTORCH_ENABLE_MPS_FALLBACK=1).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from internals._generated.op_facts import POINTWISE
from internals.aten.writing import resize
from internals.core.device import CPU, device
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import OperatorHandle, dispatcher, tls
from internals.core.geometry import contiguous_geometry, geometry
from internals.core.tensor_impl import Tensor, TensorImpl, make

from .device_check import check_before_fallback, checked

_CPU_KEYS = 1 << DispatchKey.CPU
_counts: Counter[str] = Counter()
_allowed = os.environ.get("INTERNALS_CUDA_FALLBACK", "") != "error"


class NoKernel(Exception):
    """Raised by a kernel that was not written for these dtypes or sizes, before it writes anything.
    Then the CPU's kernel runs.
    """


def cpu_fallback(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run `op`, which has no CUDA kernel, on the CPU: the fallback of the CUDA key.

    Raises NotImplementedError if that is not allowed, or if `op` makes a view.
    """
    _count(op.name, f"'{op.name}' has no CUDA kernel here")
    if op.schema.is_view:
        raise NotImplementedError(
            f"'{op.name}' returns a view, which cannot be computed on a copy: it needs a CUDA "
            "kernel"
        )
    check_before_fallback(op, args)
    return _on_copies(op, args)


def kernel(op: OperatorHandle, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, the CUDA kernel of `op`, with `device_check` before it. If it raises `NoKernel`,
    the CPU's kernel runs instead, or NotImplementedError is raised if that is not allowed.

    Pointwise operators need no such wrapper: their loops go to the CPU by themselves
    (`count_loop`).
    """
    own = checked(op, function)
    if op.name.removeprefix("aten::") in POINTWISE:
        return own

    def kernel(*args: Any) -> Any:
        try:
            return own(*args)
        except NoKernel:
            _count(op.name, f"'{op.name}' has no CUDA kernel for these arguments", shown=True)
        # outside of the handler, so that errors on the CPU do not show NoKernel as their context
        return _on_copies(op, args)

    return kernel


def count_loop(name: str) -> None:
    """Count that an operator with a CUDA kernel runs its loop `name` on the CPU. Raises
    NotImplementedError if that is not allowed.
    """
    _count(name, f"there is no CUDA kernel for {name} here", shown=True)


def fallbacks() -> dict[str, int]:
    """How often each operator ran on the CPU so far, by name."""
    return dict(sorted(_counts.items()))


def allow_fallback(allowed: bool) -> None:
    """Set whether an operator without a CUDA kernel may run on the CPU; otherwise it raises
    NotImplementedError.
    """
    global _allowed
    _allowed = allowed


@contextmanager
def no_fallback() -> Iterator[None]:
    """Let operators without a CUDA kernel raise NotImplementedError inside the block."""
    before = _allowed
    allow_fallback(False)
    try:
        yield
    finally:
        allow_fallback(before)


def _count(name: str, reason: str, shown: bool = False) -> None:
    """Count a fallback, or raise NotImplementedError if none is allowed. `shown`: add a step to the
    dispatch trace, for a fallback that the dispatcher does not see.
    """
    if not _allowed:
        raise NotImplementedError(
            f"{reason}, and the CPU fallback is switched off. Allow it with "
            "internals.cuda.allow_fallback(True), or run the operator on .cpu() tensors"
        )
    _counts[name] += 1
    if shown and tls.trace is not None:
        kernel = {"kernel": "fallback.cpu_fallback", "kind": "kernel", "rule": "backend fallback"}
        tls.trace.append({"op": name, "key": DispatchKey.CUDA, **kernel})


def _on_copies(op: OperatorHandle, args: tuple[Any, ...]) -> Any:
    """The results of `op` on the device, computed from copies of its arguments on the host."""
    moved: dict[int, Any] = {}  # (original, copy) by the id of the original
    where = _device_of(op, args)
    on_host = [_to_cpu(a, moved) for a in args]
    for i, argument in enumerate(op.schema.arguments):
        if argument.name == "device":
            on_host[i] = CPU
    result = dispatcher.redispatch(op, _CPU_KEYS, *on_host)
    # an in-place operator returns the copy of its argument: the caller must get the argument itself
    originals = {id(copy): a for a, copy in moved.values()}
    for argument, given, copy in zip(op.schema.arguments, args, on_host):
        if argument.is_write:
            _write_back(given, copy)
    return _to_device(result, originals, where)


def _to_cpu(value: object, moved: dict[int, Any]) -> Any:
    """`value` with a copy on the host for every CUDA tensor. A tensor that occurs twice is copied
    once: `moved` has (original, copy) by the id of the original.
    """
    if isinstance(value, (list, tuple)):
        return [_to_cpu(v, moved) for v in value]
    if not isinstance(value, TensorImpl) or value.device.type != "cuda":
        return value
    found = moved.get(id(value))
    if found is None:
        found = moved[id(value)] = (value, _host_copy(value))
    return found[1]


def _host_copy(t: Any) -> Any:
    """A copy on the host with the same sizes and strides, without autograd history. Everything
    between the first and the last element is copied, gaps included.
    """
    from internals._generated import ops

    on_host = ops._to_copy(_span(t), None, None, CPU, None, False, None)
    return make(on_host._storage, geometry(t.shape, t.stride(), t.dtype))


def _write_back(original: Tensor, copy: Tensor) -> None:
    """Copy the elements that the operator wrote from the copy of an argument to the original, which
    is resized if the operator resized the copy.
    """
    from internals._generated import ops

    if isinstance(original, (list, tuple)):
        for a, b in zip(original, copy):
            _write_back(a, b)
    elif isinstance(original, TensorImpl) and original is not copy:
        g = copy._geometry
        if original.shape != copy.shape:
            resize(original, g.sizes, g.strides)
        ops.copy_(_span(original), _span(copy), False)


def _span(t: Any) -> Any:
    """Everything between the first and the last element of `t`, as a vector (g.span,)."""
    g = t._geometry
    return make(t._storage, contiguous_geometry((g.span,), g.dtype, g.device), t._offset)


def _to_device(result: object, originals: dict[int, Any], where: device) -> Any:
    """`result` with every tensor on the device: an argument itself, or a copy of a new tensor."""
    from internals._generated import ops

    if isinstance(result, TensorImpl):
        if id(result) in originals:
            return originals[id(result)]
        return (
            result
            if result.device is not CPU
            else ops._to_copy(result, None, None, where, None, False, None)
        )
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_to_device(r, originals, where) for r in result])
    if isinstance(result, (list, tuple)):
        return type(result)(_to_device(r, originals, where) for r in result)
    return result


def _device_of(op: OperatorHandle, args: tuple[Any, ...]) -> device:
    """The device for the results: that of the first CUDA tensor, else that of the `device`
    argument, else the current GPU.
    """
    for value in args:
        for t in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(t, TensorImpl) and t.device.type == "cuda":
                return t.device
    from internals.core.device import resolve

    for argument, value in zip(op.schema.arguments, args):
        if argument.name == "device" and value is not None:
            return resolve(value)
    return resolve("cuda")
