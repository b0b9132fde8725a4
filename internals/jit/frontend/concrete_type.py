"""What of a module decides how it is compiled (`torch/csrc/jit/frontend/concrete_module_type.h`).

Two modules share one compiled type, and the methods compiled for it, when nothing that the compiler
looked at differs: their class, the types of their attributes, the values of their constants, the
functions among their attributes, and the concrete types of their submodules. Weights do not count,
the number of layers does.

`concrete_type_of(module)` looks a module over; `TypeStore` keeps the types made so far. A concrete
type is also what the compiler asks while it is inside a method (`module_value.py`): it compiles
further methods when they are first called.

How the real one differs: a builder collects what is here, and the C++ compiler asks a finished
object; methods are compiled by a lazy compilation unit.
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

    `iterable_kind` is "list", "dict", "parameter_list", "parameter_dict" or "". `failed` says why
    an attribute has no type.
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
        """The class type, made when first asked for: other modules may turn out to have one that
        fits.
        """
        if self._jit_type is None:
            made = ClassType(take_name(qualified_name(self.python_class)))
            for name, (attribute_type, kind) in self.attributes.items():
                made.addAttribute(name, attribute_type, kind)
            for name, submodule in self.submodules.items():
                made.addAttribute(name, submodule.jit_type, "module")
            made.constants.update(self.constants)
            self._jit_type = made
        return self._jit_type

    @classmethod
    def of_compiled(cls, module: Any) -> ConcreteType:
        """Of a module that is compiled already: scripted ones remember theirs, traced ones are what
        their type says.
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
        """Whether modules of these two may share a type."""
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

    # What the compiler asks.

    def submodule(self, name: str) -> ConcreteType | None:
        return self.submodules.get(name)

    def function_attribute(self, name: str) -> Any | None:
        """The function, compiled if it is Python; None if it cannot be: `why_no_attribute` says
        why.
        """
        function = self.functions.get(name)
        if isinstance(function, types.FunctionType) and recursion.needs_compiling(function):
            try:
                recursion.compile_python_function(function)
            except Exception as error:  # whatever is wrong with it is no error unless it is called
                self.failed[name] = (
                    "(This function exists as an attribute on the Python module, but we failed to "
                    "compile it to a TorchScript function. \nThe error stack is reproduced "
                    f"here:\n{error})"
                )
                return None
        return function

    def python_method(self, name: str) -> Any | None:
        found = inspect.getattr_static(self.python_class, name, None)
        if isinstance(found, staticmethod):
            return found
        return (
            found if isinstance(found, types.FunctionType) and modifiers.is_ignored(found) else None
        )

    def property_methods(self, name: str) -> tuple[str, str | None] | None:
        found = self.properties.get(name)
        if found is None:
            return None
        return f"__{name}_getter", f"__{name}_setter" if found.fset is not None else None

    def why_no_attribute(self, name: str) -> str:
        if name in self.ignored:
            marked = "has been marked to be ignored by `__jit_ignored_attributes__`"
            return f"(This attribute exists on the Python module, but {marked})"
        return self.failed.get(name, "")

    def compile_method(self, name: str, where: SourceRange | None = None) -> bool:
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
        """Compile a method of the Python class, unless it is compiled."""
        if self.jit_type.findMethod(name) is None:
            self._compile(method, name, closure_resolver(method), default_arguments(method))

    def define_text(self, text: str, resolver: Resolver) -> None:
        """Compile a method that is given as source."""
        parsed = parse_text(text, None, 1, "")
        self._compile(parsed, parsed.definition.name, resolver, {})

    def define_property(self, name: str, accessor: str | None = None) -> None:
        """Compile getter and setter of a property, or the one of them that is called `accessor`."""
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
        self_type = self.jit_type
        # found by a method that calls itself
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
        except BaseException:
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
        """A known type that is the same, or this one, known from now on."""
        known = self.by_class.setdefault(concrete.python_class, [])
        for each in known:
            if each.same_as(concrete):
                return each
        known.append(concrete)
        return concrete


type_store = TypeStore()


def _same_constants(mine: dict[str, Any], others: dict[str, Any]) -> bool:
    """1, 1.0 and True are equal, but not the same constant."""
    return all(
        type(value) is type(others[name]) and repr(value) == repr(others[name])
        for name, value in mine.items()
    )
