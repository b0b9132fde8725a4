"""From a Python call to the arguments of a compiled function
(`torch/csrc/jit/python/pybind_utils.h: createStackForSchema`).

A compiled function has types, Python does not: every argument is checked against the schema, and
lists and dicts are copied, so that a script never changes a list of its caller.
`ArgumentBinder(schema)(args, kwargs)` returns the values in the order of the schema.

How the real one differs: the values become C++ `IValue`s, which is why lists are copied; the last
line of its error text names a C++ type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from internals.core.device import device as Device
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, TensorImpl

from .ir.class_type import ClassType
from .ir.enums import enum_code
from .ir.tensor_type import TensorType
from .ir.types import (
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TupleType,
    Type,
)  # fmt: skip

if TYPE_CHECKING:
    from internals.jit.script_module import ScriptModule

    from .schema import Argument, FunctionSchema

Converter = Callable[[Any], Any]


class CastError(Exception):
    """A value does not have the expected type; the text says why."""


class ArgumentBinder:
    """Binds the arguments of a call, `binder(args, kwargs)`, to a schema. Raises RuntimeError, with
    PyTorch's words, if they do not fit.

    The first `leading` arguments of the schema, the module of a method, are not part of it.
    """

    def __init__(self, schema: FunctionSchema, leading: int = 0) -> None:
        self.schema, self.leading = schema, leading
        self.arguments: Sequence[Argument] = schema.arguments[leading:]
        self.converters = [converter(a.type) for a in self.arguments]
        self.only_tensors = all(
            isinstance(a.type, TensorType) and not a.kwarg_only for a in self.arguments
        )

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        # the common case, without a loop over the converters
        if self.only_tensors and not kwargs and len(args) == len(self.arguments):
            if all(isinstance(a, TensorImpl) for a in args):
                return args
        return tuple(self._bind(args, kwargs))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The converted values in the order of the schema, with default values where needed."""
        name, arguments = self.schema.name, self.arguments
        if len(args) + len(kwargs) > len(arguments):
            raise RuntimeError(
                f"{name}() expected at most {len(arguments) + self.leading} argument(s) but "
                f"received {len(args) + len(kwargs) + self.leading} argument(s). Declaration: "
                f"{self.schema}"
            )
        positional = sum(not argument.kwarg_only for argument in arguments)
        if len(args) > positional:
            raise RuntimeError(
                f"{name}() takes {positional + self.leading} positional argument(s) but "
                f"{len(args) + self.leading} was/were given.  Declaration: {self.schema}"
            )
        values = [self._convert(i, v) for i, v in enumerate(args)]
        given = set(kwargs)  # keywords that have not been used yet
        for i, argument in enumerate(arguments):
            if i < len(args):
                if argument.name in given:
                    raise RuntimeError(
                        f"Argument '{argument.name}' specified both as positional and keyword "
                        f"argument. Schema: {self.schema}"
                    )
                continue
            if argument.name in given:
                values.append(self._convert(i, kwargs[argument.name]))
                given.discard(argument.name)
            elif argument.has_default_value():
                values.append(_fresh(argument.default_value))
            else:
                raise RuntimeError(
                    f"{name}() is missing value for argument '{argument.name}'. Declaration: "
                    f"{self.schema}"
                )
        if given:
            unknown = next(k for k in kwargs if k in given)
            raise RuntimeError(
                f"Unknown keyword argument '{unknown}' for operator '{name}'. Schema: {self.schema}"
            )
        return values

    def _convert(self, i: int, value: object) -> Any:
        """The value for argument `i`. Raises RuntimeError, with the details, if it does not fit."""
        try:
            return self.converters[i](value)
        except CastError as error:
            argument = self.arguments[i]
            inferred = isinstance(argument.type, TensorType) and argument.type.inferred
            wanted = argument.type.annotation_str + (" (inferred)" if inferred else "")
            because = (
                f"Inferred '{argument.name}' to be of type 'Tensor' because it was not annotated "
                "with an explicit type.\n"
                if inferred
                else ""
            )
            raise RuntimeError(
                f"{self.schema.name}() Expected a value of type '{wanted}' for argument "
                f"'{argument.name}' but instead found type "
                f"'{type(value).__name__}'.\n{because}Position: {i + self.leading}\nValue: "
                f"{value!r}\n"
                f"Declaration: {self.schema}\nCast error details: {error}"
            ) from None


def converter(type: Type) -> Converter:
    """A function that checks a Python value for an argument of this type and returns it, converted
    where needed; it raises CastError if the value does not fit.
    """
    if isinstance(type, OptionalType):
        inner = converter(type.element)
        return lambda v: None if v is None else inner(v)
    if isinstance(type, ListType):
        element = converter(type.element)
        return lambda v: [element(x) for x in _instance(v, (list, tuple), type)]
    if isinstance(type, DictType):
        key, value = converter(type.key), converter(type.value)
        return lambda v: {key(k): value(x) for k, x in _instance(v, dict, type).items()}
    if isinstance(type, TupleType):
        return _tuple_converter(type)
    if isinstance(type, ClassType):
        return lambda v: _object(v, type)
    for kind, convert in _SIMPLE.items():
        if isinstance(type, kind):
            return convert
    return lambda v: v  # any other type, such as Any, is not checked


def _tensor(v: Tensor) -> Any:
    if isinstance(v, TensorImpl):
        return v
    raise CastError(f"Unable to cast {v} to Tensor")


def _int(v: int) -> int:
    """An int, for an int, a bool, a dtype or another enumeration, or an object with `__index__`,
    such as a tensor of one integer.
    """
    if isinstance(v, int):
        return int(v)
    if (code := enum_code(v)) is not None:
        return code
    if isinstance(v, TensorImpl) or hasattr(v, "__index__"):
        try:
            return v.__index__()
        except TypeError:
            pass
    raise _cannot(v, "int")


def _float(v: float) -> float:
    """A float, for an int, a float or a tensor of one element; not for a string or a complex."""
    if isinstance(v, (str, complex)) or not hasattr(v, "__float__"):
        raise _cannot(v, "float")
    return float(v)


def _complex(v: Scalar) -> complex:
    """A complex number, for any number or a tensor of one element."""
    if isinstance(v, str) or not (hasattr(v, "__complex__") or hasattr(v, "__float__")):
        raise _cannot(v, "complex")
    return complex(v)


def _bool(v: bool) -> bool:
    if isinstance(v, (bool, int)):
        return bool(v)
    raise _cannot(v, "bool")


def _number(v: Any) -> Any:
    """A number of any type; of a 0-dim tensor its element."""
    if isinstance(v, (bool, int, float, complex)):
        return v
    if isinstance(v, TensorImpl) and not v.shape:
        return v.item()  # type: ignore[attr-defined]
    raise _cannot(v, "Scalar")


def _str(v: str) -> str:
    if isinstance(v, str):
        return v
    raise _cannot(v, "str")


def _device(v: Any) -> Device:
    if isinstance(v, (Device, str)):
        return Device(v)
    raise _cannot(v, "Device")


def _none(v: Any) -> None:
    if v is not None:
        raise _cannot(v, "None")


_SIMPLE: dict[type[Type], Converter] = {
    TensorType: _tensor, IntType: _int, FloatType: _float, ComplexType: _complex, BoolType: _bool,
    NumberType: _number, StringType: _str, DeviceObjType: _device, NoneType: _none,
}  # fmt: skip


def _tuple_converter(type: TupleType) -> Converter:
    """The converter for a tuple, element by element. A named tuple keeps its class."""
    parts = [converter(e) for e in type.elements]

    def convert(v: Any) -> Any:
        _instance(v, (tuple, list), type)
        if len(v) != len(parts):
            raise CastError(
                f"Object {v} had a different number of elements than type {type.annotation_str}"
            )
        values = [p(x) for p, x in zip(parts, v)]
        return v.__class__(*values) if hasattr(v, "_fields") else tuple(values)

    return convert


def _object(v: ScriptModule, type: ClassType) -> Any:
    """An object of exactly this compiled class."""
    if getattr(v, "_jit_type", None) is type:
        return v
    raise CastError(
        f"Could not cast attribute to type {type.annotation_str}: it is not an object of that class"
    )


def _instance(v: object, classes: Any, type: Type) -> Any:
    """`v` itself, if it is an instance of these Python classes."""
    if isinstance(v, classes):
        return v
    raise _cannot(v, type.annotation_str)


def _cannot(v: Any, wanted: str) -> CastError:
    return CastError(f"Unable to cast Python instance of type {type(v)} to {wanted}")


def _fresh(default: object) -> Any:
    """A default value for one call. A list or dict is copied, because the function may change
    it.
    """
    return default.copy() if isinstance(default, (list, dict)) else default
