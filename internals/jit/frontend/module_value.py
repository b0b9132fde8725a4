"""Modules in the compiler: `self`, its submodules, its methods (`python_sugared_value.cpp`).

`self.weight` becomes `prim::GetAttr[name="weight"](%self)`. A submodule is a `ModuleValue` again,
so `self.layers[0].bias` works, too. A method is compiled when it is first asked for, and a call of
it becomes `prim::CallMethod`. Calling a module calls its `forward`. Loops over modules are
unrolled, because the modules may have different types.

The JIT type of a module does not say everything: its Python class, the functions among its
attributes, and whether it is a list are in its concrete type (`Concrete`; `concrete_type.py`).

How the real one differs: it also has interfaces, which stand for modules that are replaced later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from internals.jit.ir import ClassType, NoneType, SourceRange, StringType, TupleType, Type, Value
from internals.jit.ir.constants import constant_of, is_constant

from .error_report import error
from .iterables import IterableTree
from .python_values import FunctionValue, PythonValue, to_sugared_value
from .schema_matching import NamedValue
from .sugared_values import (
    BuiltinFunction,
    MethodValue,
    SimpleValue,
    SugaredTuple,
    SugaredValue,
    attribute_of_object,
    get_attr,
)

if TYPE_CHECKING:
    from .compiler import Compiler

Args = Sequence[NamedValue]


class Concrete(Protocol):
    """The facts about a module that the compiler needs beyond its JIT type."""

    python_class: type
    iterable_kind: str  # "list", "dict", "parameter_list", "parameter_dict" or ""
    compiled_hooks: list[Any]
    compiled_pre_hooks: list[Any]

    @property
    def jit_type(self) -> ClassType: ...
    def submodule(self, name: str) -> Concrete | None: ...
    def function_attribute(self, name: str) -> Any | None:
        """A Python function, the name of a builtin, or a compiled function that is an attribute of
        the module; else None.
        """

    def compile_method(self, name: str, where: SourceRange) -> bool:
        """Compile a method of the Python class, and add it to the JIT type. False if there is no
        method of that name.
        """

    def define(self, method: Any, name: str) -> None:
        """Compile `method` under the name `name`, unless that has been done."""

    def python_method(self, name: str) -> Any | None:
        """A method that stays in Python (`@ignore`), or a static one; else None."""

    def property_methods(self, name: str) -> tuple[str, str | None] | None:
        """The names of a property's compiled getter and setter; None if there is no such
        property.
        """

    def why_no_attribute(self, name: str) -> str:
        """The reason why an attribute of the Python module is not available in the compiled one; ""
        if the Python module does not have it either.
        """


class ModuleValue(SugaredValue):
    """A module of the graph, with its concrete type."""

    kind_name = "module"

    def __init__(self, value: Value, concrete: Concrete) -> None:
        self.value, self.concrete = value, concrete
        self.type = concrete.jit_type

    def as_value(self, where: SourceRange, c: Compiler) -> Value:
        return self.value

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        found = self.find(where, c, name)
        if found is None:
            hint = self.concrete.why_no_attribute(name)
            module = self.type.name().rpartition(".")[2]
            raise error(where, f"Module '{module}' has no attribute '{name}' {hint}")
        return found

    def has_attr(self, where: SourceRange, c: Compiler, name: str) -> bool:
        return self.find(where, c, name) is not None

    def set_attr(self, where: SourceRange, c: Compiler, name: str, value: Value) -> None:
        accessors = self.concrete.property_methods(name)
        if accessors is not None and accessors[1] is not None:
            self.attr(where, c, accessors[1]).call(where, c, [NamedValue(value, where)], [], 0)
            return
        SimpleValue(self.value).set_attr(where, c, name, value)

    def find(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue | None:
        """An attribute of the module, or None. As in PyTorch, it is searched for in this order:
        submodules, the JIT type, properties, methods of containers (`items`), functions, Python
        methods, and methods that are still to be compiled.
        """
        if self.type.hasAttribute(name) and isinstance(self.type.getAttribute(name), ClassType):
            return self.submodule(c, name)
        found = attribute_of_object(c, self.value, self.type, name, where)
        if found is not None:
            return found
        accessors = self.concrete.property_methods(name)
        if accessors is not None:
            return self.attr(where, c, accessors[0]).call(where, c, [], [], 1)
        if name in MODULE_ITERATORS and (
            name not in ("keys", "values", "items") or self.concrete.iterable_kind == "dict"
        ):
            return _Iterator(self, name)
        function = self.concrete.function_attribute(name)
        if function is not None:  # a str is the name of an operator
            return (
                BuiltinFunction(function)
                if isinstance(function, str)
                else to_sugared_value(function, c, where)
            )
        python = self.concrete.python_method(name)
        if python is not None:
            static = isinstance(python, staticmethod)
            return (
                to_sugared_value(python.__func__, c, where)
                if static
                else PythonValue(python, self.value)
            )
        if self.concrete.compile_method(name, where):
            method = self.type.findMethod(name)
            return None if method is None else MethodValue(self.value, method)
        return None

    def submodule(self, c: Compiler, name: str) -> SugaredValue:
        """A submodule, with its own concrete type."""
        value = get_attr(c, self.value, self.type, name)
        concrete = self.concrete.submodule(name)
        return SimpleValue(value) if concrete is None else ModuleValue(value, concrete)

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        """Emit a call of `forward`, with the pre-hooks before it and the hooks after it
        (`hooks.py`). A hook that returns None changes nothing.
        """
        pre_hooks, hooks = self.concrete.compiled_pre_hooks, self.concrete.compiled_hooks
        if not (pre_hooks or hooks):
            return self.attr(where, c, "forward").call(where, c, args, kwargs, n_binders)
        owner = NamedValue(self.value, where)
        inputs = c.tuple_construct([arg.get(c) for arg in args])  # hooks get them as one tuple
        for hook in pre_hooks:
            hook_args = [owner, NamedValue(inputs, where)]
            changed = FunctionValue(hook).call(where, c, hook_args, kwargs, n_binders)
            value = changed.as_value(where, c)
            if not isinstance(value.type(), NoneType):
                inputs = (
                    value if isinstance(value.type(), TupleType) else c.tuple_construct([value])
                )
        if pre_hooks and args:  # `forward` gets the arguments as the pre-hooks have changed them
            unpacked = c.add_node("prim::TupleUnpack", [inputs], 0)
            types = inputs.type().containedTypes()
            args = [NamedValue(unpacked.addOutput().setType(t), where) for t in types]
        called = self.attr(where, c, "forward").call(where, c, args, kwargs, n_binders)
        result = called.as_value(where, c)
        for hook in hooks:
            hook_args = [owner, NamedValue(inputs, where), NamedValue(result, where)]
            changed = FunctionValue(hook).call(where, c, hook_args, kwargs, n_binders)
            value = changed.as_value(where, c)
            result = result if isinstance(value.type(), NoneType) else value
        return SimpleValue(result)

    # As a container.

    def iter(self, where: SourceRange, c: Compiler) -> SugaredValue:
        """The modules or parameters in a list, the keys of a dict. Raises RuntimeError for a module
        that is not a container.
        """
        kind = self.concrete.iterable_kind
        if not kind:
            raise error(
                where,
                "Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as "
                "an iterable",
            )
        if kind == "dict":
            return self.keys(c)
        return self.parameters(c) if kind == "parameter_list" else self.modules(c)

    def as_tuple(
        self, where: SourceRange, c: Compiler, size: int | None = None
    ) -> list[SugaredValue]:
        parts = self.iter(where, c)
        assert isinstance(parts, SugaredTuple)
        return parts.parts

    def length(self, where: SourceRange, c: Compiler) -> Value:
        return c.constant(len(self.as_tuple(where, c)), where)

    def getitem(
        self, where: SourceRange, c: Compiler, index: Value, hint: Type | None = None
    ) -> SugaredValue:
        """`self.layers[i]`. The index must be a literal, an int or a string, because the result may
        have another type for each index; otherwise it raises RuntimeError.
        """
        kind = self.concrete.iterable_kind
        if kind in ("list", "parameter_list"):
            return self.iter(where, c).getitem(where, c, index, hint)
        if kind not in ("dict", "parameter_dict"):
            raise error(
                where,
                "Only ModuleList, Sequential, ModuleDict, ParameterList, and ParameterDict Modules "
                "are subscriptable",
            )
        if not (is_constant(index) and isinstance(index.type(), StringType)):
            raise error(
                where,
                "Unable to extract string literal index. ModuleDict indexing is only supported "
                "with string literals. For example, 'i = \"a\"; self.layers[i](x)' will fail "
                "because i is not a literal. Enumeration of ModuleDict is supported, e.g. 'for k, "
                "v in self.items(): out = v(inp)'",
            )
        key = constant_of(index)
        if not self.type.hasAttribute(key):
            raise error(where, f"Key Error, {key}")
        if kind == "dict":
            return self.submodule(c, key)
        return SimpleValue(get_attr(c, self.value, self.type, key))

    def module_names(self) -> list[str]:
        """The names of the submodules, in order: "0", "1", ... in a list."""
        return [
            name for name, attribute in self.type.attributes.items() if attribute.kind == "module"
        ]

    def keys(self, c: Compiler) -> SugaredTuple:
        return SugaredTuple([SimpleValue(c.constant(name)) for name in self.module_names()])

    def modules(self, c: Compiler) -> SugaredTuple:
        return SugaredTuple([self.submodule(c, name) for name in self.module_names()])

    def parameters(self, c: Compiler) -> SugaredTuple:
        """The parameters of this module, without those of its submodules."""
        names = [
            name
            for name, attribute in self.type.attributes.items()
            if attribute.kind == "parameter"
        ]
        return SugaredTuple(
            [SimpleValue(get_attr(c, self.value, self.type, name)) for name in names]
        )


class SuperValue(SugaredValue):
    """`super()`: the methods of the classes that follow `cls` in the module's MRO. They are
    compiled under names with the class in them, because `forward` is another method already.
    """

    kind_name = "super"

    def __init__(self, module: ModuleValue, cls: type) -> None:
        self.module, self.cls = module, cls

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        concrete = self.module.concrete
        method = getattr(super(self.cls, concrete.python_class), name, None)
        # `Base.forward` is compiled as `__Base_forward`
        owner = getattr(method, "__qualname__", "").rpartition(".")[0].replace(".", "_")
        if method is None or not owner:
            raise error(where, f"'super' object has no method '{name}'")
        compiled = f"__{owner}_{name}"
        concrete.define(method, compiled)
        return MethodValue(self.module.value, self.module.type.getMethod(compiled))


MODULE_ITERATORS = (
    "keys", "values", "items", "children", "named_children", "modules", "named_modules",
    "named_buffers",
)  # fmt: skip


class _Iterator(SugaredValue):
    """`self.children`, `self.layers.items` and the like: methods that return modules, parameters or
    names to loop over, all known while compiling.
    """

    def __init__(self, module: ModuleValue, name: str) -> None:
        self.module, self.name = module, name

    def kind(self) -> str:
        return self.name

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        if args or kwargs:
            raise error(where, f"{self.name} method does not accept any arguments")
        module = self.module
        if self.name == "keys":
            return module.keys(c)
        if self.name in ("values", "children"):
            return module.modules(c)
        if self.name in ("items", "named_children"):
            return _zipped(where, module.keys(c), module.modules(c))
        if self.name == "named_buffers":
            names = [n for n, a in module.type.attributes.items() if a.kind == "buffer"]
            keys = SugaredTuple([SimpleValue(c.constant(n)) for n in names])
            return _zipped(
                where,
                keys,
                SugaredTuple(
                    [SimpleValue(get_attr(c, module.value, module.type, n)) for n in names]
                ),
            )
        found = _all_modules(c, module, "")
        modules = SugaredTuple([m for _, m in found])
        if self.name == "modules":
            return modules
        return _zipped(
            where, SugaredTuple([SimpleValue(c.constant(path)) for path, _ in found]), modules
        )


def _all_modules(c: Compiler, module: ModuleValue, path: str) -> list[tuple[str, SugaredValue]]:
    """A module and all modules below it, parents first, each with its dotted path."""
    found: list[tuple[str, SugaredValue]] = [(path, module)]
    for name in module.module_names():
        inner = module.submodule(c, name)
        if isinstance(inner, ModuleValue):
            found += _all_modules(c, inner, f"{path}.{name}" if path else name)
    return found


def _zipped(where: SourceRange, keys: SugaredValue, values: SugaredValue) -> SugaredValue:
    """Pairs of a key and a value, to loop over."""
    together = IterableTree()
    together.add(where, keys)
    together.add(where, values)
    return together
