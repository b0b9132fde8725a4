"""Resolves the names in the code of an archive (`SourceImporterImpl::resolveValue` of
`torch/csrc/jit/serialization/import_source.cpp`).

The code looks like Python, but no name in it refers to a Python object. It may use the builtins of
every scripted function, and

    torch.add(x, y)            an operator, `aten::add`: `torch` is a namespace of operators, not a
                               module
    ops.prim.device(x)         an operator of another namespace
    CONSTANTS.c0               a tensor or string in the archive's table of constants
    __torch__.models.f(x, )    a function, class or named tuple that the archive defines
    inf nan infj nanj          numbers that have no literal
    annotate(List[int], [])    and `unchecked_cast`, `uninitialized`, `fork`: forms of the compiler

A `Namespace` is the compiler's resolver for such code. It also has the earlier meaning of operators
that have changed since the archive's version (`upgraders.py`).

How the real one differs: it also resolves `torch.autograd` and `awaitable`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from internals.core.dtype import complex128, float64, int64
from internals.core.tensor_impl import TensorImpl
from internals.jit.frontend.compiler import Compiler
from internals.jit.frontend.error_report import error
from internals.jit.frontend.python_values import FunctionValue
from internals.jit.frontend.sugared_values import (
    BuiltinFunction,
    SimpleValue,
    SpecialForm,
    SugaredValue,
)
from internals.jit.ir import ClassType, SourceRange, Type, unshaped

from .absent_operators import declare_absent
from .private_operators import is_written, refusal

FORMS = ("annotate", "unchecked_cast", "uninitialized", "fork")
NUMBERS = {
    "inf": float("inf"),
    "nan": float("nan"),
    "infj": complex(0, float("inf")),
    "nanj": complex(0, float("nan")),
}
CURRENT_VERSION = 10  # of the operators, which a new archive records


class Namespace:
    """The names in the code of an archive. `constants` is its table, `version` that of its
    operators.

    `find_value` returns the function or class with a qualified name, or None if the archive defines
    none; `find_type` does the same for types. They may read more of the archive, so only one thread
    at a time compiles with these names, and holds `lock`.
    """

    allows_mutable_defaults = True  # safe, as they are copied for each call
    most_unrolled = 1 << 10  # values; exporters write loops over numbers and lists only

    def __init__(
        self,
        constants: Sequence[Any] = (),
        version: int = CURRENT_VERSION,
        find_value: Callable[[str], SugaredValue | None] = lambda name: None,
        find_type: Callable[[str], Type | None] = lambda name: None,
    ) -> None:
        self.version, self.resolve_type, self.lock = version, find_type, threading.RLock()
        self.names: dict[str, SugaredValue] = {
            "torch": Operators("aten"),
            "ops": OperatorNamespaces(),
            "CONSTANTS": ConstantTable(constants),
            "__torch__": ArchiveNamespace("__torch__", find_value),
            **{name: SpecialForm(name) for name in FORMS},
            **{name: NumberValue(value) for name, value in NUMBERS.items()},
        }

    def __call__(self, name: str) -> SugaredValue:
        """The compiler's value for a name. Raises NameError if there is none."""
        if name not in self.names:
            raise NameError(f"name '{name}' is not defined")
        return self.names[name]

    def upgrades(self, symbol: str) -> dict[str, Any]:
        """The overloads of an operator that have changed since this version, each with a function
        that has the earlier meaning.
        """
        if self.version >= CURRENT_VERSION:
            return {}
        from .upgraders import upgrades

        return upgrades(symbol, self.version)

    def check_operator(self, symbol: str, where: SourceRange | None) -> None:
        """Raises RuntimeError, which shows the place, for a private operator that no exporter
        writes.
        """
        if not is_written(symbol):
            raise error(where, refusal(symbol))


class Operators(SugaredValue):
    """`torch`, `ops.prim`: each attribute is an operator (`BuiltinModule`)."""

    kind_name = "builtin module"

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        symbol = f"{self.namespace}::{name}"
        declare_absent(symbol)
        return BuiltinFunction(symbol)


class OperatorNamespaces(SugaredValue):
    """`ops`, whose attributes are namespaces of operators: `ops.prim`."""

    kind_name = "ops"

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        return Operators(name)


class ConstantTable(SugaredValue):
    """`CONSTANTS`, whose attributes are entries of the archive's table: `CONSTANTS.c0`."""

    kind_name = "CONSTANTS"

    def __init__(self, constants: Sequence[Any]) -> None:
        self.constants = constants

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        number = name[1:]
        if not (
            name.startswith("c") and number.isascii() and number.isdigit() and len(number) < 10
        ):
            raise error(where, f"invalid constant specifier: {name}")
        if int(number) >= len(self.constants):
            size = f"(constant table has {len(self.constants)} entries)"
            raise error(where, f"constant index {int(number)} is out of bounds {size}")
        value = c.constant(_as_number(self.constants[int(number)]), where)
        # without the shape of this tensor: the code was compiled for any
        return SimpleValue(value.setType(unshaped(value.type())))


class ClassValue(SugaredValue):
    """A class of the archive. `__torch__.Point.__new__(__torch__.Point)` creates an object, and the
    code then calls its `__init__`.
    """

    def __init__(self, type: ClassType) -> None:
        self.type = type

    def kind(self) -> str:
        return self.type.name()

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        method = self.type.findMethod(name)
        if method is not None and self.type.is_module:
            return FunctionValue(method)  # a call that also runs the hooks
        if name != "__new__" or self.type.is_module:
            raise error(where, f"Tried to lookup unknown attribute on class {self.type.name()}")
        return SpecialForm("create_object")


class NumberValue(SugaredValue):
    """`inf`, `nan`: a constant wherever it is written."""

    kind_name = "constant"

    def __init__(self, value: complex) -> None:
        self.value = value

    def as_value(self, where: SourceRange, c: Compiler) -> Any:
        return c.constant(self.value, where)


class ArchiveNamespace(SugaredValue):
    """`__torch__.models`, whose attributes are definitions of the archive, or the first part of a
    longer name (`ClassNamespaceValue`).
    """

    kind_name = "Class Namespace"

    def __init__(self, name: str, find: Callable[[str], SugaredValue | None]) -> None:
        self.name, self.find = name, find

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        qualified = f"{self.name}.{name}"
        return self.find(qualified) or ArchiveNamespace(qualified, self.find)


def _as_number(constant: Any) -> Any:
    """Marks a constant tensor as a number for dtype promotion: the trace of `x + 1.5` has a tensor
    without dimensions instead of the number.
    """
    if (
        not isinstance(constant, TensorImpl)
        or constant.shape
        or constant.dtype not in (int64, float64, complex128)
    ):
        return constant
    number: Any = constant.detach()  # type: ignore[attr-defined]
    number._is_wrapped_number = True
    return number
