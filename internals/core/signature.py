"""One overload as Python sees it, and the adapter that calls it (`FunctionSignature` in
`python_arg_parser.h`).

`Signature.bind` looks at one call: do these arguments fit, by position, keyword and type? If so it
returns an adapter, a small function compiled for all calls with arguments of these types:

    lambda a, k: op(a[0], c1(a[1]), k['dim'], d3)

where `a` are the positional and `k` the keyword arguments, `c1` converts one of them and `d3` is a
default. If they do not fit it returns the reason, in PyTorch's words.

How the real one differs: `FunctionSignature::parse` fills an array of arguments on every call;
nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import dtype as dtypes
from .allocator import LARGEST
from .arg_types import SEQUENCES, accepts, converter, is_int, is_number, python_type, type_name
from .dispatcher import OperatorHandle
from .formats import FORMATS
from .promotion import result_type
from .schema import Argument, Type
from .tensor_impl import TensorImpl, from_array, with_grad
from .warn import warn_once

NUMPY_NAMES = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
}
OPTIONS = ("dtype", "layout", "device", "pin_memory")


class Signature:
    """One overload as Python sees it: parameters, their types, `out=` and `requires_grad=` where
    they apply.

    `order` is for deprecated overloads: the names of some of the arguments, separated by spaces.
    Calls give just these, by position in this order, and warn.
    """

    def __init__(
        self,
        name: str,
        method: bool,
        op: OperatorHandle,
        out_op: OperatorHandle | None = None,
        order: str = "",
    ) -> None:
        self.name, self.method, self.op, self.out_op, self.order = name, method, op, out_op, order
        self.arguments = (
            _ordered(op.schema.arguments, order, method) if order else op.schema.arguments
        )
        self.n_out = 0 if out_op is None else sum(a.is_write for a in out_op.schema.arguments)
        names = [a.name for a in self.arguments]
        self.is_factory = all(n in names for n in OPTIONS)
        # the fewest and the most arguments that a call may have
        self.fewest = sum(not a.has_default for a in self.arguments)
        self.most = len(self.arguments) + (self.n_out > 0) + self.is_factory
        self.positional = [a for a in self.arguments if not a.kwarg_only]
        self.first = 1 if method else 0
        # x.permute(1, 0): the integers of a lone list may be given without brackets
        own = self.positional[self.first :]
        self.varargs = (
            len(own) == 1 and _is_int_list(own[0].type) and own[0].type.list_size in (None, 1)
        )

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], numbers_as_tensors: bool = False
    ) -> Callable[..., Any] | str:
        """An adapter for arguments of these types, or the reason why they do not fit.

        With `numbers_as_tensors`, `self` and `other` may be numbers; they reach the operator as 0-d
        tensors.
        """
        n = len(self.positional)
        source: dict[str, str] = {}  # for each argument, its expression in the adapter's text
        if (
            self.varargs
            and len(args) > self.first
            and all(is_int(a) for a in args[self.first :])
            and (len(args) - self.first > 1 or self.positional[self.first].type.list_size is None)
        ):
            name = self.positional[self.first].name
            spread: tuple[Any, ...] = (*args[: self.first], list(args[self.first :]))
        else:
            name, spread = "", args
        if len(spread) > n:
            takes, given = n - self.first, len(spread) - self.first
            were = "was" if given == 1 else "were"
            return (
                f"() takes {takes} positional argument{'s' * (takes != 1)} but {given} {were} given"
            )
        values: dict[str, Any] = {}
        for i, value in enumerate(spread):
            values[self.positional[i].name] = value
            source[self.positional[i].name] = (
                f"list(a[{self.first}:])" if name == self.positional[i].name else f"a[{i}]"
            )
        extra, names = set(), [a.name for a in self.arguments]
        for k, value in kwargs.items():
            target = self._parameter(k)
            if target is None:
                absent = [
                    a.name
                    for a in self.positional
                    if not a.has_default and a.name not in (*values, *kwargs)
                ]
                return (
                    _missing(absent) if absent else f"() got an unexpected keyword argument '{k}'"
                )
            if target not in names:  # out= and requires_grad= are not in the schema
                extra.add(target)
                continue
            if target in values:
                return f"() got multiple values for argument '{k}'"
            values[target] = value
            source[target] = f"k[{k!r}]"
        operands = []
        if numbers_as_tensors and [a.name for a in self.op.schema.arguments[:2]] == [
            "self",
            "other",
        ]:
            operands = [name for name in ("self", "other") if is_number(values.get(name))]
        return self._adapter(values, source, extra, kwargs, operands)

    def _parameter(self, keyword: str) -> str | None:
        """The parameter that a call means by `keyword`, under PyTorch's or numpy's name; None if
        there is no such parameter.
        """
        names = [a.name for a in self.arguments]
        for candidate in (keyword, NUMPY_NAMES.get(keyword, keyword)):
            if candidate in names:
                return candidate
            if candidate == "input" and "self" in names and not self.method:
                return "self"
        if keyword == "out" and self.out_op is not None:
            return "out"
        return "requires_grad" if keyword == "requires_grad" and self.is_factory else None

    def _adapter(
        self,
        values: dict[str, Any],
        source: dict[str, str],
        extra: set[str],
        kwargs: dict[str, Any],
        operands: list[str],
    ) -> Any:
        """Checks the types of `values`, and compiles the adapter; returns the reason, a string, if
        they do not fit. `operands` are the numbers to be passed as tensors.
        """
        scope: dict[str, Any] = {"op": self.op.call, "out_op": self.out_op and self.out_op.call}
        parts, missing = [], []
        required = {a.name for a in self.arguments if not a.has_default}
        for i, a in enumerate(self.op.schema.arguments):
            if a.name not in values or (values[a.name] is None and a.default == []):
                # dim=None, where the default is an empty list, counts as not given
                if a.name in required:
                    missing.append(a.name)
                    continue
                scope[f"d{i}"] = _default_value(a)
                parts.append(f"d{i}")
                continue
            if a.name in operands:
                parts.append(source[a.name])
                continue
            if not accepts(a.type, values[a.name]):
                _check_list(i - self.first, a.type, values[a.name])
                position = (
                    ""
                    if a.kwarg_only or source[a.name][0] == "k"
                    else f" (position {i + 1 - self.first})"
                )
                shown = "input" if a.name == "self" else a.name
                return (
                    f"(): argument '{shown}'{position} must be "
                    f"{python_type(a.type)}{_found(a.type, values[a.name])}"
                )
            convert = converter(a.type, values[a.name])
            given = source[a.name]
            if convert is not None:
                scope[f"c{i}"] = convert
                given = f"c{i}({given})"
                if str(a.type) in ("int", "int?") and type(values[a.name]) is int:
                    # The converter only checks that an int fits into an int64. Here the text of
                    # the adapter does it, which saves a call.
                    at = source[a.name]
                    given = f"({at} if {~LARGEST} <= {at} <= {LARGEST} else {given})"
            parts.append(given)
        if missing:
            return _missing(missing)
        if operands:
            scope["wrapped"] = wrapped
            # op(*wrapped(a[0], a[1]), ...): the dtype of one depends on the other
            parts[:2] = [f"*wrapped({parts[0]}, {parts[1]})"]
        if "out" in extra and kwargs["out"] is not None:
            if not _is_out(kwargs["out"], self.n_out):
                wanted = "Tensor" if self.n_out == 1 else "tuple of Tensors"
                return f"(): argument 'out' must be {wanted}, not {type_name(kwargs['out'])}"
            parts.append("k['out']" if self.n_out == 1 else "*k['out']")
            call = "out_op"
        else:
            call = "op"
        code = f"{call}({', '.join(parts)})"
        if "requires_grad" in extra:
            scope["with_grad"] = with_grad
            code = f"with_grad({code}, bool(k['requires_grad']))"
        if self.order:
            scope["warn"] = partial(warn_once, self._deprecation())
            code = f"warn() or {code}"  # `warn()` is None
        return eval(
            compile(f"lambda a, k: {code}", f"{__file__}: made from a signature", "eval"), scope
        )

    def _deprecation(self) -> str:
        """The text of the warning: this signature, and the one to be used instead."""
        today = Signature(self.name, self.method, self.op, self.out_op)
        return (
            f"This overload of {self.name} is deprecated:\n\t{self.name}{self}\n"
            f"Consider using one of the following signatures instead:\n\t{self.name}{today}"
        )

    def __str__(self) -> str:
        """As PyTorch shows it in errors: `(Tensor input, int dim = None, *, Tensor out = None)`."""
        parts, starred = [], False
        for a in self.arguments[self.first :]:
            if a.kwarg_only and not starred:
                parts.append("*")
                starred = True
            name = "input" if a.name == "self" else a.name
            parts.append(
                f"{python_type(a.type)} {name}"
                + (f" = {_default_text(a)}" if a.has_default else "")
            )
        if self.out_op is not None:
            parts += [*([] if starred else ["*"]), "Tensor out = None"]
        return f"({', '.join(parts)})"


def _ordered(arguments: Sequence[Argument], order: str, method: bool) -> tuple[Argument, ...]:
    """The arguments that `order` names, all required and positional. `self` comes first for a
    method: `sorted` is stable, so the others keep their order.
    """
    named = {
        a.name: replace(a, has_default=False, default=None, kwarg_only=False) for a in arguments
    }
    return tuple(named[n] for n in sorted(order.split(), key=lambda n: method and n != "self"))


def _missing(names: list[str]) -> str:
    shown = ", ".join(f'"{"input" if n == "self" else n}"' for n in names)
    return f"() missing {len(names)} required positional arguments: {shown}"


def wrapped(*operands: Any) -> list[TensorImpl]:
    """The operands as tensors: a number becomes a 0-d tensor, of a dtype with which the result has
    the dtype it would have with the number.
    """
    common = result_type(operands)
    return [
        x if isinstance(x, TensorImpl) else from_array(_as_array(x, common, operands))
        for x in operands
    ]


def _as_array(number: int, common: dtypes.dtype, operands: Sequence[Any]) -> Any:
    """`number` as a 0-d array of the dtype `common`, with two exceptions. A bool stays a bool. An
    integer beside a tensor with dimensions becomes an int64: -3 as a uint8 would be 253, so that
    -3 / uint8 would be positive.
    """
    if isinstance(number, bool):
        return np.asarray(number)
    whole = isinstance(number, int) and any(isinstance(x, TensorImpl) and x.dim() for x in operands)
    return np.asarray(number).astype(np.int64 if whole else common.np, casting="unsafe")


def _check_list(position: int, t: Type, value: object) -> None:
    """Raises TypeError for the first non-tensor element of a list that begins with a tensor:
    PyTorch has then chosen this overload, and tries no other.
    """
    if (
        t.is_list
        and t.base == "Tensor"
        and isinstance(value, SEQUENCES)
        and value
        and isinstance(value[0], TensorImpl)
    ):
        wrong = next(i for i, v in enumerate(value) if not isinstance(v, TensorImpl))
        got = type_name(value[wrong])
        raise TypeError(f"expected Tensor as element {wrong} in argument {position}, but got {got}")


def _found(t: Type, value: object) -> str:
    """The end of the error for a value of a type other than `t`: it names the type of the value, or
    of its first element where a list of ints was expected.
    """
    if _is_int_list(t) and isinstance(value, SEQUENCES) and value and not is_int(value[0]):
        return f", but found element of type {type_name(value[0])} at pos 0"
    return f", not {type_name(value)}"


def _is_int_list(t: Type) -> bool:
    return t.is_list and t.base == "int"


def _is_out(v: object, n: int) -> bool:
    """Whether `v` can be the `out=` of an operator with `n` results."""
    return isinstance(v, TensorImpl) if n == 1 else isinstance(v, SEQUENCES) and len(v) == n


def _default_value(a: Argument) -> Any:
    """A default as kernels expect it: where the schema has a name, as in `ScalarType dtype=long`
    and `MemoryFormat memory_format=contiguous_format`, the object of that name.
    """
    if a.type.base == "ScalarType" and a.default is not None:
        return getattr(dtypes, a.default)
    if a.type.base == "MemoryFormat" and a.default is not None:
        return FORMATS[a.default]
    return a.default


def _default_text(a: Argument) -> str:
    return str(tuple(a.default)) if isinstance(a.default, list) else str(a.default)
