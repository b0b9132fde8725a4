"""`Library`: registers your own operators, and your own kernels for existing ones
(`torch/library.py`, `aten/src/ATen/core/library.cpp`).

    lib = Library("demo", "DEF")
    lib.define("triple(Tensor x) -> Tensor")
    lib.impl("triple", lambda x: x * 3, "CPU")
    internals.ops.demo.triple(internals.ones(2))

`Library("aten", "IMPL").impl("add.Tensor", f, "CPU")` replaces a kernel of a built-in operator
until the library is closed. All calls use the new kernel, because a registration empties the
operator's table of kernels and, for the operators behind + - * /, closes the fast lane. Used as a
context manager the library is closed at the end of the block.

How the real one differs: the registrations are undone when the `Library` object is destroyed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import reduce
from types import TracebackType
from typing import Any

from internals._generated import fast_lane
from internals.aten.pytorch_names import missing_attribute
from internals.core.arg_parser import PythonArgParser
from internals.core.corrected import corrected
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import FALLTHROUGH, KernelFunction, OperatorHandle, dispatcher
from internals.core.hot import hot


class Library:
    """A set of registrations in one namespace. A library of kind "DEF" defines the namespace,
    "FRAGMENT" adds operators to it, and "IMPL" adds kernels only.

    Raises ValueError for another kind, and for "DEF" with a namespace that is reserved.
    """

    def __init__(self, namespace: str, kind: str = "FRAGMENT", dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}; expected 'DEF', 'IMPL' or 'FRAGMENT'")
        if namespace in ("prim", "aten") and kind == "DEF":
            raise ValueError(
                f"{namespace} is a reserved namespace. Please try creating a library with another "
                "name."
            )
        self.namespace, self.kind, self.dispatch_key = namespace, kind, dispatch_key
        self._undo: list[Callable[[], None]] = []

    def define(self, schema: str) -> str:
        """Declares an operator by its schema, without a namespace. Returns its full name. Raises
        RuntimeError for a schema that cannot be parsed, a name that exists, and kind "IMPL".
        """
        if self.kind == "IMPL":
            raise RuntimeError(
                corrected(
                    f"a library of kind {self.kind!r} gives kernels to operators that exist; it "
                    "defines none",
                    f"Library('{self.namespace}', '{self.kind}').define('{schema}')",
                    f"Library('{self.namespace}', 'FRAGMENT').define('{schema}')",
                )
            )
        op = dispatcher.define(f"{self.namespace}::{schema}")
        try:
            parsed = op.schema
        except RuntimeError:
            dispatcher.operators.remove(op.name)
            raise
        # An operator that writes has to raise the version of its argument, a view to know its base:
        # both are the work of the kernel of this key.
        if parsed.is_mutable:
            op.kernels[DispatchKey.ADInplaceOrView] = KernelFunction(
                "internals.aten.adinplaceorview:inplace", takes_keys=True
            )
        elif parsed.is_view:
            op.kernels[DispatchKey.ADInplaceOrView] = KernelFunction(
                "internals.aten.adinplaceorview:view", takes_keys=True
            )
        self._undo.append(lambda: dispatcher.operators.remove(op.name))
        return op.name

    def impl(
        self,
        name: str,
        fn: Callable[..., Any] | str,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
    ) -> None:
        """Registers `fn` as the kernel of `name` for `dispatch_key` ("CompositeImplicitAutograd"
        when empty). Warns if it replaces another kernel.

        `fn` takes the schema's arguments by position; with `with_keyset=True` the operator and the
        remaining key set come first, for `redispatch`. `fn` may be the string "fallthrough": calls
        then skip this key.
        """
        key = _key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        op = dispatcher.find(name if "::" in name else f"{self.namespace}::{name}")
        kernel = (
            FALLTHROUGH
            if isinstance(fn, str) and fn == "fallthrough"
            else KernelFunction(fn, with_keyset)
        )
        old = op.register(key, kernel)
        if old is not None:
            warnings.warn(
                f"Warning only once for all operators,  other operators may also be overridden.\n"
                "  Overriding a previously registered kernel for the same operator and the same "
                "dispatch key\n"
                f"  operator: {op.schema}\n    dispatch key: {key.name}",
                UserWarning,
                stacklevel=2,
            )
        detour = op.name in fast_lane.OPERATORS  # `a + b` would not see the new kernel
        hot.off += detour

        def undo() -> None:
            hot.off -= detour
            op.unregister(key, old)

        self._undo.append(undo)

    def close(self) -> None:
        """Undoes all registrations of this library, the last one first."""
        while self._undo:
            self._undo.pop()()

    _destroy = close

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class OpNamespace:
    """A namespace such as `internals.ops.demo`, whose attributes are its operators."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._packets: dict[str, OpPacket] = {}

    def __getattr__(self, name: str) -> OpPacket:
        prefix = f"{self._name}::{name}"
        overloads = dispatcher.operators.overloads(prefix)
        if not overloads:
            raise missing_attribute(f"'_OpNamespace' '{self._name}' object", name)
        # kept until the operator is defined anew or gets another overload
        packet = self._packets.get(name)
        if packet is None or packet._handles != overloads:
            packet = self._packets[name] = OpPacket(prefix, overloads)
        return packet

    def __reduce__(self) -> Any:
        return _reached, (self._name,)

    def __repr__(self) -> str:
        return f"<internals.ops.{self._name}>"


class OpPacket:
    """All overloads of an operator, such as `internals.ops.demo.triple`. A call chooses the
    overload; attributes such as `.default` and `.Tensor` are single ones.
    """

    def __init__(self, name: str, handles: list[OperatorHandle]) -> None:
        self._name, self._handles = name, handles
        self.__name__ = name.partition("::")[2]
        self._overloads = {op.schema.overload or "default": OpOverload(name, op) for op in handles}
        self._parser = PythonArgParser(name, [(op,) for op in handles])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._parser(args, kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        found = self._overloads.get(overload)
        if found is None:
            raise AttributeError(
                f"The underlying op of '{self._name.replace('::', '.')}' has no overload name "
                f"'{overload}'"
            )
        return found

    def __reduce__(self) -> Any:
        return _reached, tuple(self._name.split("::"))

    def overloads(self) -> list[str]:
        return list(self._overloads)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._name.replace('::', '.')}')>"


class OpOverload:
    """One overload, such as `internals.ops.demo.triple.default`. It is called with arguments by
    position and by keyword; other attributes are those of its `OperatorHandle`.
    """

    def __init__(self, name: str, handle: OperatorHandle) -> None:
        self._handle = handle
        self._parser = PythonArgParser(name, [(handle,)])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._parser(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    def __reduce__(self) -> Any:
        schema = self._handle.schema
        return _reached, (schema.namespace, schema.name, schema.overload or "default")

    def __repr__(self) -> str:
        return repr(self._handle)


class Ops:
    """`internals.ops`: every registered operator, by namespace."""

    def __getattr__(self, namespace: str) -> OpNamespace:
        if namespace.startswith("__"):
            raise AttributeError(namespace)
        self.__dict__[namespace] = found = OpNamespace(namespace)
        return found

    def __reduce__(self) -> str:
        return "ops"


ops = Ops()


def _reached(*names: str) -> Any:
    """The object at a path such as ("demo", "triple") below `internals.ops`. Copies and pickles of
    the objects here consist of a call of this function.
    """
    return reduce(getattr, names, ops)


def _key(name: str) -> DispatchKey:
    """The dispatch key of this name. Raises RuntimeError for an unknown name."""
    try:
        return DispatchKey[name]
    except KeyError:
        known = ", ".join(k.name for k in DispatchKey if k)
        raise RuntimeError(
            f"could not parse dispatch key: {name}; known keys are {known}"
        ) from None
