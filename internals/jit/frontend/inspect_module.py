"""Inspecting a module: the attributes it has, and their types (`infer_concrete_type_builder` of
`torch/jit/_recursive.py`).

The order is: parameters, buffers, submodules, constants (`__constants__` and `Final`), then
everything else in the instance. That is functions, which are compiled when they are called, and
plain values, whose type comes from the annotation in the class body or else from the value. A value
without a type is an error only when a method uses it; the reason is kept until then.

How the real one differs: it compiles functions among the attributes at once, whether they are used
or not.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
import types
import typing
import warnings
from typing import Any

from internals import typename
from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.tensor_impl import TensorImpl
from internals.functional.scripting import Attribute
from internals.jit.ir import ClassAttribute, Source, SourceRange, Type
from internals.jit.script_function import ScriptFunction
from internals.jit.script_module import ScriptModule, cast
from internals.nn.containers import ModuleDict, ModuleList, Sequential
from internals.nn.module import Module
from internals.nn.parameter_containers import ParameterDict, ParameterList

from . import modifiers
from .annotations import type_of_annotation
from .builtin_table import find_builtin
from .concrete_type import ConcreteType, type_store
from .infer_type import CannotInfer, infer_type, to_ir_value
from .resolution import Resolver, closure_of, mapping_resolver

# attributes of an instance that belong to `nn.Module` itself
IGNORED = {
    "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_backward_hooks",
    "_backward_pre_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    "_version", "dump_patches", "_jit_type", "_concrete_type", "_methods", "original_name",
}  # fmt: skip
CONSTANTS = (bool, float, int, str, type(None), device, layout, dtype)
KINDS = (
    (ModuleDict, "dict"),
    ((ModuleList, Sequential), "list"),
    (ParameterList, "parameter_list"),
    (ParameterDict, "parameter_dict"),
)
UNANNOTATED = {  # layers whose classes have no annotations in PyTorch, and their base classes here
    "_Layer", "_Options", "Identity", "LogSigmoid", "ParameterDict", "ParameterList", "Sigmoid",
    "Softmax2d", "Softsign", "Tanh", "Tanhshrink", "Transformer",
    "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
}  # fmt: skip
# the range for annotations that are objects, and so have no place in a source
NOWHERE = SourceRange(Source("", None), 0, 1)


def concrete_type_of(module: Module, share: bool = True) -> ConcreteType:
    """The concrete type of a module. With `share`, modules that the compiler cannot tell apart get
    the same one.

    Raises RuntimeError for a module that was not initialised, and TypeError for an invalid
    constant.
    """
    if isinstance(module, ScriptModule) and "_jit_type" in module.__dict__:
        return ConcreteType.of_compiled(module)
    check_initialized(module)
    concrete = inspect_module(module, share)
    concrete.shared = share
    return type_store.get_or_add(concrete) if share else concrete


def inspect_module(module: Module, share: bool = True) -> ConcreteType:
    """A new concrete type, with the facts about `module`."""
    concrete = ConcreteType(type(module))
    concrete.iterable_kind = next(
        (kind for classes, kind in KINDS if isinstance(module, classes)), ""
    )
    concrete.ignored = set(getattr(module, "__jit_ignored_attributes__", ()))
    inspector = _Inspector(module, concrete)
    inspector.tensors()
    inspector.submodules(share)
    inspector.constants()
    inspector.values()
    concrete.properties = properties_of(module)
    concrete.hooks = tuple(module._forward_hooks.values())
    concrete.pre_hooks = tuple(module._forward_pre_hooks.values())
    return concrete


class _Inspector:
    """Collects the attributes of one module, step by step. `done` are the names that have been
    handled, and which later steps skip.
    """

    def __init__(self, module: Module, concrete: ConcreteType) -> None:
        self.module, self.concrete = module, concrete
        self.annotations = annotations_of(type(module))
        self.done: set[str] = set(concrete.ignored)

    def tensors(self) -> None:
        """Add the parameters and buffers."""
        for members, kind in (
            (self.module._parameters, "parameter"),
            (self.module._buffers, "buffer"),
        ):
            for name, value in members.items():
                if name in self.concrete.ignored:
                    continue
                if not (value is None or isinstance(value, TensorImpl)):
                    raise AssertionError(
                        f"Expected {kind} '{name}' to be None or Tensor, got {type(value)}"
                    )
                self._add(name, self.type_of(name, value), kind)

    def submodules(self, share: bool) -> None:
        """Add the submodules, by their own concrete types; one that is None is an attribute."""
        for name, value in self.module._modules.items():
            if name in self.concrete.ignored:
                continue
            if value is None:
                self._add(name, self.type_of(name, value), "attribute")
                continue
            self.concrete.submodules[name] = concrete_type_of(value, share)
            self.done.add(name)

    def constants(self) -> None:
        """Add the names in `__constants__` and those annotated `Final`. Warns about names that are
        not constants.
        """
        names = dict.fromkeys(getattr(self.module, "__constants__", ()))  # a set with an order
        names |= dict.fromkeys(
            name for name, (annotation, _) in self.annotations.items() if is_final(annotation)
        )
        for name in names:
            if name in self.done:
                members = {"submodule": self.module._modules, "buffer": self.module._buffers}
                kind = next((kind for kind, of in members.items() if name in of), "parameter")
                _warn(
                    f"'{name}' was found in ScriptModule constants,  but it is a non-constant "
                    f"{kind}. Consider removing it."
                )
            elif not hasattr(self.module, name):
                _warn(
                    f"'{name}' was found in ScriptModule constants, but was not actually set in "
                    "__init__. Consider removing it."
                )
            else:
                value = getattr(self.module, name)
                self.concrete.constants[name] = valid_constant(
                    name, value, type(self.module).__name__
                )
                self.done.add(name)

    def values(self) -> None:
        """Add the rest of the instance: functions, and attributes with the type of their value."""
        for name, value in self.module.__dict__.items():
            if name in IGNORED or name.startswith("__") or name in self.done:
                continue
            if is_function(value):
                self.concrete.functions[name] = value
                continue
            builtin = find_builtin(value)
            if builtin is not None:
                self.concrete.functions[name] = builtin
                continue
            try:
                found = self.type_of(name, value)
            except CannotInfer as why:
                self.concrete.failed[name] = (
                    "(This attribute exists on the Python module, but we failed to convert Python "
                    f"type: '{typename(type(value))}' to a TorchScript type. {why}. Its type was "
                    "inferred; try adding a type annotation for the attribute.)"
                )
                continue
            self._add(name, found, "attribute")

    def type_of(self, name: str, value: object) -> Type:
        """The type of an attribute: from its annotation, else from its value. Raises CannotInfer if
        it has none.
        """
        try:
            if name in self.annotations and name != "forward":
                annotation, resolver = self.annotations[name]
                return type_of_annotation(annotation, NOWHERE, resolver)
            if isinstance(value, Attribute):
                return type_of_annotation(value.type, NOWHERE)
            return infer_type(value)
        except RuntimeError as error:
            raise RuntimeError(f"Error inferring type for {name}: {value}: {error}") from error

    def _add(self, name: str, attribute_type: Type, kind: str) -> None:
        self.concrete.attributes[name] = ClassAttribute(attribute_type, kind)
        self.done.add(name)


def annotations_of(cls: type) -> dict[str, tuple[Any, Resolver]]:
    """The annotations in the bodies of a class and its bases up to `nn.Module`, each with a
    resolver for the names in it. `Any` counts as no annotation.
    """
    found: dict[str, tuple[Any, Resolver]] = {}
    for each in cls.__mro__:
        if each is Module:
            break
        resolver = mapping_resolver(names_in(each))
        for name, annotation in inspect.get_annotations(each).items():
            found.setdefault(name, (annotation, resolver))
    if not any(map(is_annotated, cls.__mro__[: cls.__mro__.index(Module)])):
        # in PyTorch, such a class shows the annotations of nn.Module itself
        found["_is_full_backward_hook"] = (bool | None, mapping_resolver({}))
    return {
        name: (annotation, resolver)
        for name, (annotation, resolver) in found.items()
        if annotation not in (Any, "Any")
    }


def is_annotated(cls: type) -> bool:
    """Whether the body of a class has annotations; for this library's layers, whether PyTorch's
    class has.
    """
    is_layer = cls.__module__.startswith("internals.nn.") and cls.__name__ not in UNANNOTATED
    return is_layer or bool(inspect.get_annotations(cls))


def names_in(cls: type) -> dict[str, Any]:
    """The names visible in the body of a class, with their values: those that its first method
    sees, or, without methods, those of its module.
    """
    method = next(
        (each for each in vars(cls).values() if isinstance(each, types.FunctionType)), None
    )
    return (
        closure_of(method) if method is not None else vars(sys.modules.get(cls.__module__, typing))
    )


def is_final(annotation: object) -> bool:
    """Whether an annotation is `Final` or `Final[int]`, as an object or as text."""
    if isinstance(annotation, str):
        return annotation.removeprefix("typing.").startswith("Final")
    return annotation is typing.Final or typing.get_origin(annotation) is typing.Final


def is_function(value: object) -> bool:
    return isinstance(value, (types.FunctionType, ScriptFunction))


def properties_of(module: Module) -> dict[str, property]:
    """The properties of a module's class that are to be compiled."""
    cls = type(module)
    omitted = {
        *getattr(cls, "__jit_unused_properties__", ()),
        *getattr(cls, "__jit_ignored_attributes__", ()),
    }
    return {
        name: found
        for name, found in inspect.getmembers(cls, lambda member: isinstance(member, property))
        if name not in omitted
        and getattr(ScriptModule, name, None) is not found
        and found.fget is not None
        and not modifiers.is_unused(found.fget)
    }


def valid_constant(name: str, value: object, owner: str) -> Any:
    """A constant in the form that the IR stores, with tuples for lists. Raises TypeError if a value
    of this type cannot be a constant.
    """
    if isinstance(value, CONSTANTS):
        return to_ir_value(value)
    if isinstance(value, (tuple, list)):
        return tuple(valid_constant(name, each, owner) for each in value)
    named = ("internals." * (each in (device, layout, dtype)) + each.__name__ for each in CONSTANTS)
    valid_types = ", ".join(named)
    raise TypeError(
        textwrap.dedent(
            f"""
            '{typename(type(value))}' object in attribute '{owner}.{name}' is not a valid constant.
            Valid constants are:
            1. a nn.ModuleList
            2. a value of type {{{valid_types}}}
            3. a list or tuple of (2)
            """
        )
    )


def check_initialized(module: Module) -> None:
    """Raises RuntimeError for a module whose `__init__` did not call `super().__init__()`."""
    if "_parameters" not in module.__dict__:
        raise RuntimeError(
            f"'{typename(type(module))}' has not been initialized, did you forget to call "
            "'super()'?"
        )


def attribute_value(module: Module, name: str, attribute_type: Type) -> Any:
    """The value of an attribute for the compiled module: numbers are converted to the attribute's
    type, lists are copied.
    """
    value = getattr(module, name)
    return cast(name, value.value if isinstance(value, Attribute) else value, attribute_type)


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)
