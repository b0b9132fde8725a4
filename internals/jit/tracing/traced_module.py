"""The result of `trace(module)`: a compiled module with the parameters of the original
(`torch/jit/_trace.py`, `TracedModule`).

    N(                                   __torch__.N
      (seq): Sequential(...)        ──►    parameters, buffers, `training`, and a class type like
      (bn): BatchNorm1d(...)               this one for every submodule
    )                                      methods: none yet; recording `forward` adds them

The two modules share their tensors: training one trains the other. The traced one has no plain
attributes, because their values are constants in the graphs. It does have `training`, but the
recorded operators keep the mode in which they were recorded.

How the real one differs: it first copies the original into a temporary module, from which the
compiler of script modules makes the class."""

from __future__ import annotations

from typing import Any

from internals.jit.ir import BoolType, ClassType, OptionalType, TensorType
from internals.jit.names import qualified_name, take_name
from internals.jit.script_module import ScriptModule
from internals.nn.module import Module


class TracedModule(ScriptModule):
    """A submodule of a traced module. It has a `forward` if the trace called it.

    The traced form of a `Sequential` is not a container: `m[0]`, `len(m)` and iteration raise
    TypeError. Its submodules are attributes.
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
    """The outermost module: the result of `trace(module)` and `trace_module(module, ...)`."""


def traced_module(original: Module, kind: type[TracedModule] = TopLevelTracedModule) -> Any:
    """A traced module for `original`, without methods yet. Submodules that are compiled already are
    used as they are.

    Raises ValueError for modules with backward hooks, which a graph cannot have, and for a module
    that has one tensor twice.
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
    # the two plain attributes that every module has
    type.addAttribute("training", BoolType.get())
    type.addAttribute("_is_full_backward_hook", OptionalType(BoolType.get()))
    values |= {"training": original.training, "_is_full_backward_hook": None}
    for name, child in children.items():
        type.addAttribute(name, child._jit_type, "module")
    return kind._construct(type, original.__class__.__name__, {**values, **children})


def _check_unique(original: Module) -> None:
    """Raises ValueError if one tensor is two parameters or buffers: their values in the trace would
    be the same.
    """
    seen: set[int] = set()
    for t in (*original._parameters.values(), *original._buffers.values()):
        if t is not None:
            if id(t) in seen:
                raise ValueError("TracedModules don't support parameter sharing between modules")
            seen.add(id(t))
