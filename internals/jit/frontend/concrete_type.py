"""The facts about a module that decide how it is compiled
(`torch/csrc/jit/frontend/concrete_module_type.h`).

Two modules share one compiled type, and the methods compiled for it, if these facts are the same:
their class, the types of their attributes, the values of their constants, the functions among their
attributes, and the concrete types of their submodules. The values of the weights do not count, the
number of layers does.

`inspect_module.py` collects the facts of a module; `TypeStore` keeps the types found so far. While
a method is compiled, the compiler asks the concrete type about attributes (`module_value.py`), and
has it compile other methods when they are first called.

How the real one differs: a builder collects these facts into the object that the C++ compiler asks;
a compilation unit compiles methods lazily.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from internals.jit.ir import ClassAttribute, ClassType, SourceRange
from internals.jit.names import qualified_name, take_name
from internals.jit.script_function import ScriptFunction

from . import modifiers, recursion
from .build_tree import default_arguments, tree_of
from .compiler import compile_with_schema
from .module_value import ModuleValue
from .resolution import Resolver, closure_resolver
from .source import ParsedFunction, parse_text
from .sugared_values import BeingCompiled


class ConcreteType:
    """The facts about a module, and the class type made for them.

    `iterable_kind` is "list", "dict", "parameter_list", "parameter_dict" or "". `failed` has the
    reason for each attribute without a type. `shared` is False if the type is this module's alone.
    """

    def __init__(self, python_class: type) -> None:
        self.python_class = python_class
        self.iterable_kind = ""
        self.attributes: dict[str, ClassAttribute] = {}
        self.constants: dict[str, Any] = {}
        self.submodules: dict[str, ConcreteType] = {}
        self.functions: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        self.ignored: set[str] = set()
        self.hooks: tuple[Callable[..., Any], ...] = ()
        self.pre_hooks: tuple[Callable[..., Any], ...] = ()
        self.compiled_hooks: list[ScriptFunction] = []
        self.compiled_pre_hooks: list[ScriptFunction] = []
        self.properties: dict[str, property] = {}
        self.shared = True
        self._jit_type: ClassType | None = None

    @property
    def jit_type(self) -> ClassType:
        """The class type. It is created when first asked for, because this concrete type is dropped
        if `TypeStore` has one with the same facts.
        """
        if self._jit_type is None:
            class_type = ClassType(take_name(qualified_name(self.python_class)))
            for name, (attribute_type, kind) in self.attributes.items():
                class_type.addAttribute(name, attribute_type, kind)
            for name, submodule in self.submodules.items():
                class_type.addAttribute(name, submodule.jit_type, "module")
            class_type.constants.update(self.constants)
            self._jit_type = class_type
        return self._jit_type

    @classmethod
    def of_compiled(cls, module: Any) -> ConcreteType:
        """The concrete type of a compiled module. A scripted module remembers its own; that of a
        traced module is built from its class type.
        """
        known = module.__dict__.get("_concrete_type")
        if known is not None:
            return known
        concrete = cls(type(module))
        concrete._jit_type, concrete.shared = module._jit_type, False
        for name, attribute in module._jit_type.attributes.items():
            if attribute.kind == "module":
                concrete.submodules[name] = cls.of_compiled(getattr(module, name))
            else:
                concrete.attributes[name] = attribute
        module.__dict__["_concrete_type"] = concrete
        return concrete

    def same_as(self, other: ConcreteType) -> bool:
        """Whether modules with these two concrete types may share one class type."""
        facts = (
            "python_class iterable_kind attributes functions failed ignored hooks pre_hooks".split()
        )
        return (
            self.shared
            and other.shared
            and all(getattr(self, fact) == getattr(other, fact) for fact in facts)
            and self.constants.keys() == other.constants.keys()
            and _same_constants(self.constants, other.constants)
            and list(self.submodules) == list(other.submodules)
            and all(mine is other.submodules[name] for name, mine in self.submodules.items())
        )

    # Questions of the compiler.

    def submodule(self, name: str) -> ConcreteType | None:
        return self.submodules.get(name)

    def function_attribute(self, name: str) -> Any | None:
        """The function of this name, compiled if it is written in Python. None if there is none, or
        if it cannot be compiled (see `why_no_attribute`).
        """
        function = self.functions.get(name)
        if isinstance(function, types.FunctionType) and recursion.needs_compiling(function):
            try:
                recursion.compile_python_function(function)
            except Exception as error:  # an error only if the function is called
                self.failed[name] = (
                    "(This function exists as an attribute on the Python module, but we failed to "
                    "compile it to a TorchScript function. \nThe error stack is reproduced "
                    f"here:\n{error})"
                )
                return None
        return function

    def python_method(self, name: str) -> Any | None:
        """A static method or an ignored one, which are called as Python functions; else None."""
        found = inspect.getattr_static(self.python_class, name, None)
        if isinstance(found, staticmethod):
            return found
        return (
            found if isinstance(found, types.FunctionType) and modifiers.is_ignored(found) else None
        )

    def property_methods(self, name: str) -> tuple[str, str | None] | None:
        """The names of a property's getter and setter methods, None for a missing setter; None if
        there is no such property.
        """
        found = self.properties.get(name)
        if found is None:
            return None
        return f"__{name}_getter", f"__{name}_setter" if found.fset is not None else None

    def why_no_attribute(self, name: str) -> str:
        """The reason why an attribute of the module is not available, for error messages; "" if
        there is none.
        """
        if name in self.ignored:
            marked = "has been marked to be ignored by `__jit_ignored_attributes__`"
            return f"(This attribute exists on the Python module, but {marked})"
        return self.failed.get(name, "")

    def compile_method(self, name: str, where: SourceRange | None = None) -> bool:
        """Compile the method or property accessor of this name. Returns whether there is one."""
        accessor = next(
            (p for p in self.properties if name in (f"__{p}_getter", f"__{p}_setter")), None
        )
        if accessor is not None:
            self.define_property(accessor, name)
            return True
        method = getattr(self.python_class, "_script_methods", {}).get(name) or getattr(
            self.python_class, name, None
        )
        if not isinstance(method, (types.FunctionType, types.MethodType)) or modifiers.is_ignored(
            method
        ):
            return False
        self.define(method, name)
        return True

    # Compiling.

    def define(self, method: Callable[..., Any], name: str) -> None:
        """Compile a method of the Python class, unless that has been done."""
        if self.jit_type.findMethod(name) is None:
            self._compile(method, name, closure_resolver(method), default_arguments(method))

    def define_text(self, text: str, resolver: Resolver) -> None:
        """Compile a method that is given as source."""
        parsed = parse_text(text, None, 1, "")
        self._compile(parsed, parsed.definition.name, resolver, {})

    def define_property(self, name: str, accessor: str | None = None) -> None:
        """Compile the getter and the setter of a property, or only the one named `accessor`."""
        found = self.properties[name]
        for function, called in (
            (found.fget, f"__{name}_getter"),
            (found.fset, f"__{name}_setter"),
        ):
            if function is not None and accessor in (None, called):
                self.define(function, called)

    def make_self(self, value: Any) -> ModuleValue:
        return ModuleValue(value, self)

    def _compile(
        self,
        method: Callable[..., Any] | ParsedFunction,
        name: str,
        resolver: Resolver,
        defaults: dict[str, Any],
    ) -> ScriptFunction:
        """Compile a method, and add it to the class type under this name."""
        self_type = self.jit_type
        # the mark that a recursive call finds
        self_type.methods[name] = BeingCompiled(name, "method")
        try:
            definition = tree_of(method, name, "RecursiveScriptModule")
            graph, schema = compile_with_schema(
                definition,
                resolver,
                name=name,
                self_type=self_type,
                make_self=self.make_self,
                defaults=defaults,
            )
        except BaseException:  # leave no mark behind: a later attempt would take it for recursion
            del self_type.methods[name]
            raise
        function = ScriptFunction(
            name,
            graph,
            schema,
            qualified_name=f"{self_type.qualified_name}.{name}",
            python_function=None if isinstance(method, ParsedFunction) else method,
            is_method=True,
        )
        self_type.methods[name] = function
        return function


class TypeStore:
    """The concrete types made so far, by Python class."""

    def __init__(self) -> None:
        self.by_class: dict[type, list[ConcreteType]] = {}

    def get_or_add(self, concrete: ConcreteType) -> ConcreteType:
        """A stored type with the same facts, if there is one; otherwise store `concrete`."""
        known = self.by_class.setdefault(concrete.python_class, [])
        for each in known:
            if each.same_as(concrete):
                return each
        known.append(concrete)
        return concrete


type_store = TypeStore()


def _same_constants(mine: dict[str, Any], others: dict[str, Any]) -> bool:
    """Whether the constants agree in type and `repr`: 1, 1.0 and True are equal, but compile to
    different code.
    """
    return all(
        type(value) is type(others[name]) and repr(value) == repr(others[name])
        for name, value in mine.items()
    )
