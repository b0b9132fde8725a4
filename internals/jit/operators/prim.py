"""The operators for errors, printing, identity, optionals, gradients and settings
(`torch/csrc/jit/runtime/register_prim_ops.cpp`, `register_prim_ops_fulljit.cpp`).

Nodes whose work depends on their attributes (`prim::ConstantChunk[chunks=2, dim=0]`) have no
function of their inputs alone: they are in `runtime/node_functions.py`, with all nodes that run
another graph.

How the real one differs: `print` and `warn` go through handlers that a program may replace.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from internals import autograd, random
from internals.autograd.formulas.views import sum_to
from internals.core.device import device
from internals.core.grad_mode import is_grad_enabled, set_grad_mode
from internals.core.tensor_impl import Tensor

from .hashing import hash_of
from .registry import op, register_operators
from .value_text import value_text

# Identity and optionals

register_operators(
    {
        "aten::__is__(t1 self, t2 obj) -> bool": lambda self, obj: same(self, obj),
        "aten::__isnot__(t1 self, t2 obj) -> bool": lambda self, obj: not same(self, obj),
        "prim::unchecked_cast(t x) -> t": lambda x: x,
        "prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)": lambda optional: optional,
        "prim::Uninitialized() -> Any": lambda: None,
        "prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)": lambda cond, x, y: (
            x if cond else y
        ),
        "aten::hash.generic(t value) -> int": hash_of,
        "prim::TupleUnpack(Any tup) -> ...": tuple,
    }
)


def same(a: object, b: object) -> bool:
    """`a is b`. Numbers and strings have no identity: they are the same if type and value are."""
    if type(a) in (bool, int, float, complex, str):
        return type(a) is type(b) and bool(a == b)
    return a is b


@op("aten::_unwrap_optional(t(a)? optional) -> t(a)")
def unwrap_optional(optional: object) -> Any:
    """`optional` itself. Raises RuntimeError for None."""
    if optional is None:
        raise RuntimeError("Unwrapping null optional")
    return optional


@op("prim::TupleIndex(Any tup, int i) -> Any")
def tuple_index(tup: tuple[Any, ...], i: int) -> Any:
    """`tup[i]`. Raises RuntimeError for an index outside of the tuple."""
    if not -len(tup) <= i < len(tup):
        raise RuntimeError("Tuple list index out of range")
    return tup[i]


# Printing, warnings, errors


@op("prim::Print(...) -> ()")
def print_(*values: Any) -> None:
    print(*map(value_text, values))


@op("aten::warn(str message, int stacklevel=2) -> ()")
def warn(message: str, stacklevel: int) -> None:
    warnings.warn(message, UserWarning, stacklevel=stacklevel)


@op("prim::RaiseException(str msg, str? cls=None) -> ()")
def raise_exception(msg: str, cls: str | None) -> None:
    """Raises `jit.Error`, which keeps the name of the exception class in the script."""
    from internals.jit.runtime.errors import Error

    error = Error(msg)
    error.python_class_name = cls
    raise error


@op("aten::wait(Future(t) self) -> t")
def wait(self: Any) -> Any:
    """The value of a future; waits until it is computed."""
    return self.wait()


# Gradients. None stands for one that is zero everywhere, so no memory is filled with zeros.

register_operators(
    {
        "prim::AutogradZero() -> Tensor": lambda: None,
        "prim::AutogradAllNonZero(...) -> bool": lambda *grads: all(g is not None for g in grads),
        "prim::AutogradAllZero(...) -> bool": lambda *grads: all(g is None for g in grads),
        "prim::AutogradAnyNonZero(...) -> bool": lambda *grads: any(g is not None for g in grads),
    }
)


@op("prim::AutogradAdd(Any a, Any b) -> Any")
def autograd_add(a: Tensor | None, b: Tensor | None) -> Any:
    """The sum of two gradients, either of which may be None."""
    return b if a is None else a if b is None else a + b


@op("aten::_grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)")
def grad_sum_to_size(self: Tensor, size: Sequence[int] | None) -> Any:
    """A gradient summed to `size` over the dimensions that broadcasting repeated; the gradient
    itself if `size` is None.
    """
    return self if self is None or size is None else sum_to(self, size)


@op("prim::ReductionSizes(int[] size, int[] red_axes, bool keepdim=False) -> int[]")
def reduction_sizes(size: Sequence[int], red_axes: Sequence[int], keepdim: bool) -> list[int]:
    """The size of a reduction of `size` over `red_axes`; those axes become 1 if `keepdim`, else
    they go.
    """
    axes = {axis % len(size) for axis in red_axes}
    if keepdim:
        return [1 if i in axes else s for i, s in enumerate(size)]
    return [s for i, s in enumerate(size) if i not in axes]


@op(
    "aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? "
    "retain_graph=None, bool create_graph=False, bool allow_unused=False) -> Tensor?[]"
)  # fmt: skip
def grad(
    outputs: list[Any],
    inputs: list[Any],
    grad_outputs: Any,
    retain_graph: Any,
    create_graph: bool,
    allow_unused: bool,
) -> list[Any]:
    found = autograd.grad(
        outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused=allow_unused
    )
    return list(found)


@op(
    "aten::backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, bool "
    "create_graph=False) -> ()"
)
def backward(self: Any, gradient: Any, retain_graph: bool | None, create_graph: bool) -> None:
    self.backward(gradient, retain_graph, create_graph)


@op(
    "aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? "
    "retain_graph=None, bool create_graph=False) -> ()"
)  # fmt: skip
def backward_list(
    tensors: list[Any], grad_tensors: Any, retain_graph: bool | None, create_graph: bool
) -> None:
    autograd.backward(tensors, grad_tensors, retain_graph, create_graph)


# Settings

register_operators(
    {
        "aten::is_scripting() -> bool": lambda: True,
        "aten::has_torch_function(...) -> bool": lambda *values: False,
        "aten::_get_tracing_state() -> bool": lambda: False,
        "aten::is_autocast_enabled() -> bool": lambda: False,
        "aten::is_autocast_cpu_enabled() -> bool": lambda: False,
        "aten::is_grad_enabled() -> bool": is_grad_enabled,
        "aten::set_grad_enabled(bool val) -> ()": lambda val: _nothing(set_grad_mode(val)),
        "aten::manual_seed(int seed) -> ()": lambda seed: _nothing(random.manual_seed(seed)),
        "aten::manual_seed.generator(Generator(a!) self, int seed) -> "
        "Generator(a!)": lambda self, seed: self.manual_seed(seed),
        "aten::initial_seed(Generator self) -> int": lambda self: self.initial_seed(),
        "aten::seed(Generator(a!) self) -> int": lambda self: self.seed(),
    }
)


@op("aten::Generator(*, Device? device=None, int? seed=None) -> Generator")
def generator(device: device | None, seed: int | None) -> Any:
    result = random.Generator(*([] if device is None else [device]))
    return result if seed is None else result.manual_seed(seed)


# In-place initialisation without a gradient, to which `nn.init` compiles


@op(
    "aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? generator=None) -> "
    "Tensor(a!)"
)
def no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any) -> Any:
    """Fills a tensor with numbers from `a` to `b`."""
    with autograd.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@op(
    "aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, Generator? generator=None) "
    "-> Tensor(a!)"
)
def no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any) -> Any:
    """Fills a tensor with normal numbers."""
    with autograd.no_grad():
        return tensor.normal_(mean, std, generator=generator)


@op("aten::_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)")
def no_grad_fill_(tensor: Tensor, val: float) -> Any:
    """Fills a tensor with `val`."""
    with autograd.no_grad():
        return tensor.fill_(val)


@op("aten::_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)")
def no_grad_zero_(tensor: Tensor) -> Any:
    """Fills a tensor with zeros."""
    with autograd.no_grad():
        return tensor.zero_()


def _nothing(_: object) -> None:
    """Discards a result, for a lambda whose operator returns nothing."""
    return None
