"""`jit.script(module)`: compiling a module and all its submodules (`torch/jit/_recursive.py`).

The result is a new module, and the old one stays as it is. The two share parameters and buffers;
other attributes are copied. Submodules are compiled first. The methods of the new module are
graphs: `forward`, those marked `@export`, and the methods that these call, which are compiled when
the compiler comes across them. A method marked `@ignore` stays a Python method.

How the real one differs: it can also compile overloaded methods, module interfaces, and classes
that are not modules.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from internals.jit.script_module import RecursiveScriptModule, ScriptModule
from internals.nn.containers import ModuleDict, ModuleList, Sequential
from internals.nn.module import Module
from internals.nn.modules.rnn import RNNBase

from . import modifiers
from .concrete_type import ConcreteType
from .hooks import compile_hooks
from .inspect_module import attribute_value, check_initialized, concrete_type_of
from .resolution import mapping_resolver


def script_module(module: Module) -> Any:
    """Compile a module. Returns a `RecursiveScriptModule`.

    Raises RuntimeError, or an error of the frontend, with the line in question, if it cannot be
    compiled.
    """
    # a module may replace itself by one that can be compiled
    prepare = getattr(module, "__prepare_scriptable__", None)
    module = prepare() if prepare is not None else module
    check_initialized(module)
    return build(module, concrete_type_of(module))


def methods_to_compile(module: Module) -> list[str]:
    """The names of the methods to start from: `forward`, unless it is missing or ignored, and those
    marked `@export`.
    """
    forward = getattr(type(module), "forward", None)
    names = []
    if (
        forward is not None
        and forward is not Module.forward
        and not modifiers.is_ignored(module.forward)
    ):
        names.append("forward")
    for name in dir(type(module)):
        if (
            modifiers.modifier(getattr(type(module), name, None))
            == modifiers.FunctionModifiers.EXPORT
        ):
            names.append(name)
    return list(dict.fromkeys(names))


def build(module: Module, concrete: ConcreteType) -> Any:
    """The compiled form of `module`, whose concrete type is `concrete`."""
    values: dict[str, Any] = {
        name: attribute_value(module, name, attribute.type)
        for name, attribute in concrete.attributes.items()
    }
    values |= build_submodules(module, concrete)
    scripted = RecursiveScriptModule._construct(concrete.jit_type, type(module).__name__, values)
    scripted.__dict__["_concrete_type"] = concrete
    scripted.__dict__["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
    keep_in_python(module, scripted, concrete)
    compile_methods(module, concrete, methods_to_compile(module))
    compile_hooks(concrete)
    scripted._forward_pre_hooks.update(enumerate(concrete.compiled_pre_hooks))
    scripted._forward_hooks.update(enumerate(concrete.compiled_hooks))
    return scripted


def build_submodules(module: Module, concrete: ConcreteType) -> dict[str, Any]:
    """The compiled submodules, by name. One that is a ScriptModule already is used as it is."""
    compiled = {}
    for name, submodule in concrete.submodules.items():
        child = module._modules[name]
        is_compiled = isinstance(child, ScriptModule) and "_jit_type" in child.__dict__
        compiled[name] = child if is_compiled else build(child, submodule)
    return compiled


def compile_methods(module: Module, concrete: ConcreteType, names: Iterable[str]) -> None:
    """Compile these methods, the properties, and the `__len__` of a container, unless the type has
    them already.

    In the type's dict of methods the properties come first, then these methods, then the methods
    that were compiled because others call them, as in PyTorch.
    """
    if isinstance(module, RNNBase):  # its list of weights has as many elements as it has layers
        weights = [f"self.{n}" for n, a in concrete.attributes.items() if a.kind == "parameter"]
        text = f"def _weights(self) -> List[Tensor]:\n   return [{', '.join(weights)}]\n"
        _define_once(concrete, "_weights", text)
    for name in names:
        concrete.compile_method(name)
    for name in concrete.properties:
        concrete.define_property(name)
    if isinstance(module, (ModuleList, Sequential, ModuleDict)):
        _define_once(concrete, "__len__", f"def __len__(self):\n   return {len(module)}\n")
    if isinstance(module, ModuleDict):
        keys = f"key in {list(module.keys())!r}" if len(module) else "False"
        _define_once(
            concrete, "__contains__", f"def __contains__(self, key: str):\n   return {keys}\n"
        )
    accessors = [
        f"__{name}_{kind}" for name in concrete.properties for kind in ("getter", "setter")
    ]
    methods = concrete.jit_type.methods
    first = {name: methods[name] for name in (*accessors, *names) if name in methods}
    concrete.jit_type.methods = first | methods


def keep_in_python(module: Module, scripted: Module, concrete: ConcreteType) -> None:
    """Give the compiled module the methods that are ignored, as Python methods, and the attributes
    in `__jit_ignored_attributes__`.
    """
    for name in dir(type(module)):
        method = getattr(type(module), name, None)
        if isinstance(method, types.FunctionType) and modifiers.is_ignored(method):
            scripted.__dict__[name] = types.MethodType(method, scripted)
    for name in concrete.ignored:
        if hasattr(module, name):
            scripted.__dict__[name] = getattr(module, name)


def _define_once(concrete: ConcreteType, name: str, text: str) -> None:
    """Compile a method from its source, unless the type has one of that name."""
    if concrete.jit_type.findMethod(name) is None:
        concrete.define_text(text, mapping_resolver({}))
