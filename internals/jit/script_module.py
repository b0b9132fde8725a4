"""A compiled module: an `nn.Module` whose methods are graphs (`torch/jit/_script.py`, `torch/csrc/jit/api/module.h`).

Its parameters, buffers and submodules live where those of every module live, so that `parameters()`, `state_dict()`, `to()`,
`train()` and optimizers work as always. What it adds is a `ClassType`, which knows the attributes' types and has the methods.
A graph's `prim::GetAttr[name="weight"](%self)` looks into the module's own dicts, in the one that the class type says.

Scripted modules are `RecursiveScriptModule`s, traced ones `TopLevelTracedModule`s.

How the real one differs: the values live in a C++ object, in numbered slots; the Python module is a shell around it whose dicts
are views of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.nn.module import Module

from .script_function import ScriptMethod

if TYPE_CHECKING:
    from .ir.class_type import ClassType
    from .ir.graph import Graph

_MEMBERS = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}


class _Forward:
    """`m.forward` is a compiled method of the module's class type."""

    def __get__(self, module: Any, kind: Any) -> Any:
        return self if module is None else module._method("forward")


class ScriptModule(Module):
    """What scripted and traced modules have in common. `original_name` is the name of the class they were made from."""

    forward = _Forward()

    @classmethod
    def _construct(cls, type: ClassType, original_name: str, values: dict[str, Any]) -> Any:
        """A module of class `type` with these attribute values: tensors, submodules (compiled ones) and plain values."""
        module = cls.__new__(cls)
        Module.__init__(module)
        own = module.__dict__
        own.update(_jit_type=type, original_name=original_name, _methods={})
        for name, attribute in type.attributes.items():
            members = _MEMBERS.get(attribute.kind)
            (own[members] if members else own)[name] = values[name]
        return module

    def _method(self, name: str) -> ScriptMethod:
        """The compiled method, bound. Raises AttributeError when there is none of that name."""
        bound = self._methods.get(name)
        if bound is None:
            function = self._jit_type.findMethod(name)
            if function is None:
                raise AttributeError(f"'{self._get_name()}' object has no method '{name}' that was compiled")
            bound = self._methods[name] = ScriptMethod(self, function)
        return bound

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        type = own.get("_jit_type")
        if type is not None:
            if type.findMethod(name) is not None:
                return self._method(name)
            if name in type.constants:
                return type.constants[name]
        return super().__getattr__(name)

    @property
    def graph(self) -> Graph:
        """The graph of `forward`, with `%self` as first input."""
        return self._method("forward").graph

    @property
    def inlined_graph(self) -> Graph:
        return self._method("forward").inlined_graph

    @property
    def code(self) -> str:
        return self._method("forward").code

    @property
    def bytecode(self) -> Any:
        return self._method("forward").bytecode

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        return self._method("forward").graph_for(*args, **kwargs)

    def phases(self, *args: Any, **kwargs: Any) -> Any:
        return self._method("forward").phases(*args, **kwargs)

    def get_debug_state(self) -> Any:
        return self._method("forward").get_debug_state()

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_methods": {}}


class RecursiveScriptModule(ScriptModule):
    """A scripted module, made by `jit.script`."""


def get_attribute(module: Module, name: str) -> Any:
    """What `prim::GetAttr` reads."""
    type = module.__dict__["_jit_type"]
    members = _MEMBERS.get(type.attributes[name].kind)
    return module.__dict__[members][name] if members else module.__dict__[name]


def set_attribute(module: Module, name: str, value: Any) -> None:
    """What `prim::SetAttr` writes."""
    type = module.__dict__["_jit_type"]
    members = _MEMBERS.get(type.attributes[name].kind)
    (module.__dict__[members] if members else module.__dict__)[name] = value
