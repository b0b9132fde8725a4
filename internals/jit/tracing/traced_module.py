"""What `trace(module)` returns: a compiled module with the parameters of the original
(`torch/jit/_trace.py`, `TracedModule`).

    N(                                   __torch__.N
      (seq): Sequential(...)        ──►    parameters, buffers, `training`, and a class type like
      (bn): BatchNorm1d(...)               this one for every submodule
    )                                      methods: none yet; recording `forward` adds them

The tensors are the original's own: training one trains the other. Plain attributes are not there,
what they were is in the graphs as constants; that holds for `training`, too, as far as the recorded
operators are concerned.

How the real one differs: the original is copied into a temporary module first, from which the
compiler of script modules makes the class."""

from __future__ import annotations

from typing import Any

from internals.jit.ir import BoolType, ClassType, OptionalType, TensorType
from internals.jit.names import qualified_name, take_name
from internals.jit.script_module import ScriptModule
from internals.nn.module import Module


class TracedModule(ScriptModule):
    """A submodule of a traced module. Its `forward` was recorded if the trace called it.

    One made from a `Sequential` is no container any more: `m[0]`, `len(m)` and iteration raise
    TypeError. Its parts have names.
    """

    def _get_name(self) -> str:
        return str(self.original_name)

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not subscriptable")

    def __len__(self) -> int:
        raise TypeError(f"object of type '{type(self).__name__}' has no len()")

    def __iter__(self) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not iterable")


class TopLevelTracedModule(TracedModule):
    """What `trace(module)` and `trace_module(module, ...)` return."""


def traced_module(original: Module, kind: type[TracedModule] = TopLevelTracedModule) -> Any:
    """A traced module without methods for `original`; submodules that are compiled already stay
    what they are.

    Raises ValueError for modules with backward hooks, which no graph can have, and for a tensor
    that a module has twice.
    """
    if isinstance(original, ScriptModule):
        return original
    _check_unique(original)
    if original._backward_hooks:
        raise ValueError(
            "Modules that have backward hooks assigned can't be compiled: " + str(original)
        )
    children = {
        n: traced_module(m, TracedModule) for n, m in original._modules.items() if m is not None
    }
    type = ClassType(take_name(qualified_name(original.__class__)))
    values: dict[str, Any] = {}
    for members, attribute_kind in (
        (original._parameters, "parameter"),
        (original._buffers, "buffer"),
    ):
        for name, t in members.items():
            if t is not None:
                type.addAttribute(name, TensorType.get(), attribute_kind)
                values[name] = t
    type.addAttribute("training", BoolType.get())
    type.addAttribute("_is_full_backward_hook", OptionalType(BoolType.get()))
    values |= {"training": original.training, "_is_full_backward_hook": None}
    for name, child in children.items():
        type.addAttribute(name, child._jit_type, "module")
    return kind._construct(type, original.__class__.__name__, {**values, **children})


def _check_unique(original: Module) -> None:
    seen: set[int] = set()
    for t in (*original._parameters.values(), *original._buffers.values()):
        if t is not None:
            if id(t) in seen:
                raise ValueError("TracedModules don't support parameter sharing between modules")
            seen.add(id(t))
