"""A compiled module: an `nn.Module` whose methods are graphs (`torch/jit/_script.py`,
`torch/csrc/jit/api/module.h`).

Its parameters, buffers and submodules are where every module has them, so `parameters()`,
`state_dict()`, `to()`, `train()` and optimizers work as usual. In addition it has a `ClassType`,
with the types of the attributes and with the methods. A node `prim::GetAttr[name="weight"](%self)`
reads from the dict of the module that the class type names: `_parameters`, `_buffers`, `_modules`,
or `__dict__`.

Scripted modules are `RecursiveScriptModule`s, traced ones `TopLevelTracedModule`s.

How the real one differs: the values are in numbered slots of a C++ object; the Python module is a
wrapper, whose dicts are views of it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from internals.nn.module import Module
from internals.nn.parameter import Parameter

from .arguments import CastError, converter
from .script_function import ScriptFunction, ScriptMethod
from .script_methods import collect_stubs

if TYPE_CHECKING:
    from .ir.class_type import ClassType
    from .ir.graph import Graph
    from .ir.types import Type

# kind of attribute -> the module's dict that has it; all others are in `__dict__`
_MEMBERS = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}
_REASSIGNED = (
    "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace "
    "existing module '{}': {}"
)


class _Forward:
    """A descriptor: `m.forward` is the compiled method of the module's class type."""

    def __get__(self, module: Any, kind: Any) -> Any:
        return self if module is None else module._method("forward")


class ScriptModule(Module):
    """The base of scripted and traced modules. `original_name` is the name of the class of the
    original module.
    """

    forward = _Forward()
    _script_methods: dict[str, Any] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        collect_stubs(cls)

    @classmethod
    def _construct(cls, type: ClassType, original_name: str, values: dict[str, Any]) -> Any:
        """A module of class `type` with these values of its attributes: tensors, compiled
        submodules and plain values. Its `__init__` is not run.
        """
        module = cls._without_values(type, original_name)
        module._fill(values)
        return module

    @classmethod
    def _without_values(cls, type: ClassType, original_name: str) -> Any:
        """A module that has no attributes yet; `_fill` sets them."""
        module = cls.__new__(cls)
        Module.__init__(module)
        module.__dict__.update(_jit_type=type, original_name=original_name, _methods={})
        return module

    def _fill(self, values: dict[str, Any]) -> None:
        """Set all attributes that the class type has, without checks."""
        own = self.__dict__
        for name, attribute in self._jit_type.attributes.items():
            members = _MEMBERS.get(attribute.kind)
            (own[members] if members else own)[name] = values[name]

    def _method(self, name: str) -> ScriptMethod:
        """A compiled method, bound to the module. Raises AttributeError if there is none of that
        name.
        """
        bound = self._methods.get(name)
        if bound is None:
            function = self._jit_type.findMethod(name)
            if function is None:
                raise AttributeError(
                    f"'{self._get_name()}' object has no method '{name}' that was compiled"
                )
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
            if type.findMethod(f"__{name}_getter") is not None:
                return self._method(f"__{name}_getter")()
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute. One that the class type has keeps its type; a constant cannot be set.
        Other attributes are plain Python ones, which graphs do not see.

        Raises RuntimeError for a value of another type, for constants, and for new parameters and
        modules.
        """
        type = self.__dict__.get("_jit_type")
        if type is None:  # not compiled yet
            super().__setattr__(name, value)
        elif (
            name in type.attributes
            and type.attributes[name].kind == "module"
            and not isinstance(value, ScriptModule)
        ):
            raise RuntimeError(_REASSIGNED.format(name, value))
        elif name in type.attributes:
            set_attribute(self, name, cast(name, value, type.getAttribute(name)))
        elif name in type.constants:
            raise RuntimeError(
                f"Can't set constant '{name}' which has value:{type.constants[name]}"
            )
        elif type.findMethod(f"__{name}_setter") is not None:
            self._method(f"__{name}_setter")(value)
        elif isinstance(value, Module):
            raise RuntimeError(_REASSIGNED.format(name, value))
        elif isinstance(value, Parameter):
            raise RuntimeError(
                f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}"
            )
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete a plain Python attribute. Attributes of the class type cannot be deleted: raises
        RuntimeError for a parameter, buffer or submodule, AttributeError for others.
        """
        attribute = self._jit_type.attributes.get(name) if "_jit_type" in self.__dict__ else None
        if attribute is None:
            super().__delattr__(name)
        elif attribute.kind in _MEMBERS:
            raise RuntimeError("cannot delete methods or parameters of a script module")
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def add_module(self, name: str, module: Module | None) -> None:
        setattr(self, name, module) if "_jit_type" in self.__dict__ else super().add_module(
            name, module
        )

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Set a buffer. Raises RuntimeError for a name that the class type does not have."""
        if "_jit_type" not in self.__dict__:
            super().register_buffer(name, tensor, persistent)
        elif name not in self._jit_type.attributes:
            raise RuntimeError(
                f"Can't add a new parameter after ScriptModule construction. Tried to add '{name}"
            )
        else:
            setattr(self, name, tensor)

    def register_parameter(self, name: str, param: Any) -> None:
        setattr(self, name, param) if "_jit_type" in self.__dict__ else super().register_parameter(
            name, param
        )

    def define(self, src: str) -> None:
        """Compile a method that is given as source, in the names visible to the caller:
        `m.define("def twice(self, x):\\n    return self.forward(x) * 2")`.
        """
        from .frontend.concrete_type import ConcreteType
        from .frontend.resolution import frame_resolver

        ConcreteType.of_compiled(self).define_text(src, frame_resolver())

    # As a container, if the original is one.

    def __len__(self) -> int:
        return (
            self._method("__len__")()
            if self._has_method("__len__")
            else self._not_a_container("__len__")
        )

    def __contains__(self, key: str) -> bool:
        return (
            self._method("__contains__")(key)
            if self._has_method("__contains__")
            else key in list(iter(self))
        )

    def __iter__(self) -> Iterator[Any]:
        kind = self._container_kind()
        return iter(list(self._modules) if kind == "dict" else list(self._modules.values()))

    def __getitem__(self, index: Any) -> Any:
        kind = self._container_kind()
        if kind == "dict":
            return self._modules[index]
        return list(self._modules.values())[index]

    def __bool__(self) -> bool:
        return True  # without this, Python would take an empty container for False

    def _has_method(self, name: str) -> bool:
        return self.__dict__["_jit_type"].findMethod(name) is not None

    def _container_kind(self) -> str:
        """The kind of container: "list", "dict" or another. Raises NotImplementedError for a module
        that is not a container.
        """
        concrete = self.__dict__.get("_concrete_type")
        return (concrete is not None and concrete.iterable_kind) or self._not_a_container(
            "__iter__"
        )

    def _not_a_container(self, method: str) -> Any:
        raise NotImplementedError(f"a {self.original_name} has no {method}")

    def __copy__(self) -> Any:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__, _methods={})
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy with copied tensors and values. The type, its methods and compiled hooks are
        shared.
        """
        shared = {"_jit_type", "_concrete_type"}
        hooks = (*self._forward_pre_hooks.values(), *self._forward_hooks.values())
        memo.update({id(hook): hook for hook in hooks if isinstance(hook, ScriptFunction)})
        copied = memo[id(self)] = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            copied.__dict__[name] = (
                value
                if name in shared
                else copy.deepcopy(value, memo)
                if name != "_methods"
                else {}
            )
        return copied

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

    def save(
        self, f: Any, _extra_files: dict[str, Any] | None = None, *, format: str = "modern"
    ) -> None:
        """Write the module to a path or file object (`saving.py`)."""
        from .saving import save

        save(self, f, _extra_files, format=format)

    def save_to_buffer(
        self, _extra_files: dict[str, Any] | None = None, *, format: str = "modern"
    ) -> bytes:
        """The bytes that `save` would write."""
        from .saving import to_buffer

        return to_buffer(self, _extra_files, format=format)

    def extra_repr(self) -> str:
        # the name is shown already if this is the class of the original, a subclass of ScriptModule
        own = type(self).__name__ == self.__dict__.get("original_name")
        return "" if own else f"original_name={self.original_name}"

    def __getstate__(self) -> dict[str, Any]:
        raise RuntimeError(
            f"Tried to serialize object {self._jit_type.name()} which does not have a __getstate__ "
            "method defined! Save its state_dict() instead"
        )


def _not_supported(name: str) -> Any:
    """A method that only raises RuntimeError, in place of one of `nn.Module`."""

    def refused(self: ScriptModule, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{name} is not supported on ScriptModules")

    return refused


class RecursiveScriptModule(ScriptModule):
    """A scripted module, the result of `jit.script`. Hooks must be registered on the original
    module, before it is compiled.
    """


def cast(name: str, value: object, type: Type) -> Any:
    """`value` as an attribute of this type: numbers are converted, lists copied. Raises
    RuntimeError if it does not fit.
    """
    try:
        return converter(type)(value)
    except CastError as why:
        raise RuntimeError(
            f"Could not cast attribute '{name}' to type {type.annotation_str}: {why}"
        ) from None


for _class in (ScriptModule, RecursiveScriptModule):
    _class.__module__ = "internals.jit"  # where users find them, as in PyTorch
for _name in (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook", "requires_grad_", "get_parameter",
    "get_buffer", "get_submodule", "set_submodule", "bfloat16", "to_empty",
):  # fmt: skip
    setattr(RecursiveScriptModule, _name, _not_supported(_name))


def get_attribute(module: Module, name: str) -> Any:
    """The value that `prim::GetAttr` reads: the attribute `name` of the module's class type."""
    type = module.__dict__["_jit_type"]
    members = _MEMBERS.get(type.attributes[name].kind)
    return module.__dict__[members][name] if members else module.__dict__[name]


def set_attribute(module: Module, name: str, value: object) -> None:
    """Set an attribute of the module's class type, as `prim::SetAttr` does, without checks."""
    type = module.__dict__["_jit_type"]
    members = _MEMBERS.get(type.attributes[name].kind)
    (module.__dict__[members] if members else module.__dict__)[name] = value
