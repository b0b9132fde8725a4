"""The parser of attributes, the values behind `=` in a node's brackets: `value=1.`,
`value=(1, "a")`, `types=[int, Tensor]`, `value={2}`.

Numbers, strings, lists, tuples, dicts, types and tensors each have a spelling of their own, so that
the text mostly tells which kind of attribute it is. Where it does not, the type of the node's
output does: 1 is True for a `bool`.

A tensor of one element prints as `{2}`, one of up to ten with all its elements (to four places) and
its type, a larger one as `<Tensor>`. The text loses digits, or all elements. So tensors are read
only on request (`parse_tensor_constants`); a `<Tensor>` is then filled with zeros.

How the real one differs (`torch/csrc/jit/ir/irparser.cpp`): it cannot read tuples, dicts, complex
numbers nor tensors with their elements, and leaves the memory of a `<Tensor>` as it happens to be.
"""

from __future__ import annotations

import re
from typing import Any

from internals._generated import functions as fn
from internals.construction.tensor_new import tensor
from internals.core.device import device
from internals.core.dtype import dtype, float32, int64
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.core.token_reader import IDENT, NUMBER, STRING, Token, TokenReader

from .graph import Graph
from .node import Node
from .tensor_type import TensorType
from .type_parser import DTYPES, TypeParser
from .types import (
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    ListType,
    OptionalType,
    TupleType,
    Type,
)

WORDS: dict[str, Any] = {
    "True": True,
    "False": False,
    "None": None,
    "inf": float("inf"),
    "nan": float("nan"),
}
NUMBERS: dict[type[Type], type] = {BoolType: bool, FloatType: float, ComplexType: complex}

# The elements of a tensor as C++ prints them, then device, type and sizes:
# `1 2 [ CPULongType{2} ]`.
# The quantifiers are possessive (`++`): a text that is not a tensor fails without backtracking.
_ELEMENTS = re.compile(
    r"(?P<body>(?:\s++|Columns \d+ to \d+|\([\d,]+\.,\.\) "
    r"=|-?(?:inf|nan)|\*|[-+.\de]++)*+)(?<=[\s=(\[])\[ "
    r"(?P<device>CPU|CUDA)(?P<dtype>[A-Z]\w*)Type\{(?P<sizes>[\d,]*)\} \]"
)
# The rest of `annotate(List[int], [])` before the empty list or dict; its type is the output's.
_EMPTY_OF = re.compile(r"\([^()]*,(?=\s*(?:\[\]|\{\})\))")
_SCALE = re.compile(r"(\S+) \*")  # `1e+05 *`: the numbers that follow are multiplied by it
# `Columns 1 to 8` of a wide matrix, and `(1,.,.) =` before each matrix of a tensor with more sizes
_HEADINGS = re.compile(r"Columns \d+ to \d+|\([\d,]+\.,\.\) =")


class LiteralParser:
    """Reads values from a `TokenReader`. Tensors are an error unless `tensors` is true."""

    def __init__(self, reader: TokenReader, types: TypeParser, tensors: bool) -> None:
        self.reader, self.types, self.tensors = reader, types, tensors

    def set_attribute(self, node: Node, name: str, expected: Type | None) -> None:
        """Read a value and make it the attribute `name`. `expected` is the type of a constant's
        output, else None.
        """
        value = self.value(expected)
        if isinstance(value, device):
            value = str(value)
        if isinstance(expected, (ListType, TupleType, DictType)):
            node.setAttribute(name, "ival", value)
        else:
            kind = kind_of(value)
            node.setAttribute(name, kind, int(value) if kind == "i" else value)

    def value(self, expected: Type | None = None) -> Any:
        """Reads any value. `expected` is its type if that is known: it tells True from 1, a device
        from a string, and the types of a list's elements.
        """
        if isinstance(expected, OptionalType):
            return self.value(expected.element)
        reader = self.reader
        # A tensor's text begins like a number; only `[ CPUFloatType{2} ]` at its end tells.
        if (elements := _ELEMENTS.match(reader.text, reader.previous.end)) is not None:
            return self._elements(elements, expected)
        token = reader.current
        if token.kind == STRING:
            text = reader.string()
            return device(text) if isinstance(expected, DeviceObjType) else text
        if token.text == "<":
            return self._placeholder(expected)
        if token.text == "[":
            return self._list(expected)
        if token.text == "(":
            return self._tuple(expected)
        if token.text == "{":
            return self._braces(expected)
        if token.kind == NUMBER or token.text in ("-", "inf", "nan"):
            return self._as_type(self._number(), expected, token)
        if token.text in WORDS:
            return WORDS[reader.next().text]
        if token.text == "torch":
            return self._device()
        if token.text == "annotate":
            reader.next()
            reader.raw(_EMPTY_OF, "an empty list or dict of a type")
            value = self.value()
            reader.expect(")")
            return value
        if token.kind == IDENT:
            return self.types.parse().type
        if token.text in ("'", '"'):
            raise reader.expected("a value")
        raise reader.error(f"Could not parse literal{token.text}", token)

    # Numbers, devices and containers

    def _number(self) -> int | float | complex:
        """Reads a number; a complex one is two, `1.+2.j`."""
        real = self._real()
        if isinstance(real, complex) or self.reader.current.text not in ("+", "-"):
            return real
        imaginary = self._real()
        return complex(real, imaginary.imag)

    def _as_type(self, value: Any, expected: Type | None, token: Token) -> Any:
        """A number converted to the type `expected`: 1 is True for a bool and 1.0 for a float."""
        python = next((p for t, p in NUMBERS.items() if isinstance(expected, t)), None)
        if python is not None and isinstance(value, complex) and python is not complex:
            raise self.reader.error(f"a complex number is no {expected}", token)
        return python(value) if python else value

    def _real(self) -> int | float | complex:
        """Reads a signed number; `2j` is the imaginary part of a complex one."""
        sign = -1 if not self.reader.accept("+") and self.reader.accept("-") else 1
        token = self.reader.next()
        if token.text in ("infj", "nanj"):
            return complex(0, sign * float(token.text[:-1]))
        if token.text in WORDS and isinstance(WORDS[token.text], float):
            return sign * WORDS[token.text]
        if token.kind != NUMBER:
            raise self.reader.error(f"expected a number but found '{token.text}'", token)
        if token.text.endswith("j"):
            return complex(0, sign * float(token.text[:-1]))
        return sign * (int(token.text) if token.text.isdigit() else float(token.text))

    def _device(self) -> device:
        for sign in ("torch", ".", "device", "("):
            self.reader.expect(sign)
        found = device(self.reader.string())
        self.reader.expect(")")
        return found

    def _list(self, expected: Type | None) -> list[Any]:
        element = expected.element if isinstance(expected, ListType) else None
        return self.reader.items("[", ",", "]", lambda: self.value(element))

    def _tuple(self, expected: Type | None) -> tuple[Any, ...]:
        """Reads `(1, "a")`, each element by the type expected of it."""
        reader = self.reader
        values: list[Any] = []
        elements = expected.elements if isinstance(expected, TupleType) else ()
        reader.expect("(")
        while not reader.accept(")"):
            values.append(
                self.value(elements[len(values)] if len(values) < len(elements) else None)
            )
            if not reader.accept(",") and not reader.at(")"):
                raise reader.expected(")")
        return tuple(values)

    def _braces(self, expected: Type | None) -> Any:
        """`{2}` is a tensor, `{"a": 2}` and `{}` are dicts."""
        reader = self.reader
        opening = reader.expect("{")
        key_type, value_type = (
            (expected.key, expected.value) if isinstance(expected, DictType) else (None, None)
        )
        found: dict[Any, Any] = {}
        while not reader.accept("}"):
            key = self.value(key_type)
            # no `:` behind the first value: it is the only element of a tensor
            if not found and reader.accept("}"):
                self._allow_tensor(opening.start, "Single-element tensor constant encountered")
                return _filled(self._element(key, opening), expected)
            reader.expect(":")
            found[key] = self.value(value_type)
            if not reader.accept(",") and not reader.at("}"):
                raise reader.expected("}")
        return found

    def _element(self, written: Any, place: Token) -> int | float | complex:
        """The number in `{2}`; `(1,2)` is the complex 1+2j, as C++ prints one."""
        parts = written if isinstance(written, tuple) and len(written) == 2 else (written,)
        if not all(
            isinstance(p, (int, float) if len(parts) == 2 else (int, float, complex)) for p in parts
        ):
            raise self.reader.error("a number is expected between the braces of a tensor", place)
        return complex(*parts) if len(parts) == 2 else parts[0]

    # Tensors and graphs

    def _placeholder(self, expected: Type | None) -> Any:
        """`<Tensor>` and `<Graph>`, whose contents are not in the text."""
        reader = self.reader
        start = reader.expect("<").start
        token = reader.expect_kind(IDENT)
        if token.text == "Graph":
            reader.expect(">")
            return Graph()
        if token.text == "Tensors":
            raise reader.error("the tensors of a list are not in the text", token)
        if token.text != "Tensor":
            raise reader.error(f"Could not parse literal{token.text}", token)
        self._allow_tensor(start, "Tensor constant encountered")
        reader.expect(">")
        if not isinstance(expected, TensorType) or expected.sizes() is None:
            raise reader.error(
                "a <Tensor> needs the sizes in the type of the value, like Float(2, 3)", token
            )
        return _filled(0, expected)

    def _elements(self, match: re.Match[str], expected: Type | None) -> Any:
        """A tensor whose elements, type and sizes are all in the text."""
        start = match.end("body")
        self.reader.raw(_ELEMENTS, "a tensor")
        self._allow_tensor(start, "Tensor constant encountered")
        sizes = [int(s) for s in match["sizes"].split(",") if s]
        kind = DTYPES.get(match["dtype"])
        try:
            values = _numbers(match["body"])
        except ValueError:
            values = []
        n = 1
        for s in sizes:
            n *= s
        if kind is None or len(values) != n:
            raise self.reader.error(
                f"cannot read a tensor of type {match['dtype']} with {n} elements",
                self.reader.previous,
            )
        if not kind.is_floating_point and not kind.is_complex:
            values = [int(v) for v in values]
        t = tensor(values, dtype=kind, device=match["device"].lower())
        # Printed matrix by matrix; of the indices in the heading `(1,2,.,.) =` the first runs
        # fastest. So sizes (a, b, rows, columns) are read as (b, a, rows, columns) and permuted.
        if len(sizes) > 2:
            outer = len(sizes) - 2
            t = (
                t.reshape(sizes[outer - 1 :: -1] + sizes[outer:])
                .permute(*range(outer)[::-1], outer, outer + 1)
                .contiguous()
            )
        return _with_strides(t.reshape(sizes), expected)

    def _allow_tensor(self, start: int, what: str) -> None:
        if not self.tensors:
            place = self.reader.previous._replace(start=start, end=start + 1)
            raise self.reader.error(f"{what} but `parse_tensor_constants` is set to false", place)


def kind_of(value: object) -> str:
    """The kind of attribute that holds `value`: `i`, `fs`, `ival`, ... An empty list is an `is`."""
    kinds = (
        (int, "i"),
        (float, "f"),
        (complex, "c"),
        (str, "s"),
        (TensorImpl, "t"),
        (Type, "ty"),
        (Graph, "g"),
    )
    for python, kind in kinds:
        if isinstance(value, python):
            return kind
    if isinstance(value, list):
        inner = {kind_of(v) for v in value} or {"i"}
        if len(inner) == 1 and (kind := inner.pop()) in ("i", "f", "c", "s", "ty"):
            return kind + "s"
    return "ival"


def _numbers(body: str) -> list[float]:
    """The elements in the text of a tensor, in the order printed. A scale is rewritten to a word,
    `*1e+05`, that holds until the next; a heading ends it, as `*1`.
    """
    scale, values = 1.0, []
    for word in _HEADINGS.sub(" *1 ", _SCALE.sub(r"*\1", body)).split():
        if word.startswith("*"):
            scale = float(word[1:])
        else:
            values.append(float(word) * scale)
    return values


def _filled(number: Any, expected: Type | None) -> Any:
    """A tensor filled with `number`, of the dtype, sizes and device of `expected`; what that does
    not know is float32 or int64 by the number, a scalar, and on the default device.
    """
    known = expected if isinstance(expected, TensorType) else TensorType.get()
    kind: dtype = known.dtype() or (float32 if isinstance(number, float) else int64)
    t = fn.full(known.sizes() or [], fill_value=number, dtype=kind, device=known.device())
    return _with_strides(t, expected)


def _with_strides(t: Tensor, expected: Type | None) -> Any:
    """The tensor itself, or a copy with the strides of `expected` if those are others."""
    strides = expected.strides() if isinstance(expected, TensorType) else None
    if strides is None or list(t.stride()) == strides or list(t.size()) != expected.sizes():  # type: ignore[union-attr]
        return t
    return fn.empty_strided(list(t.size()), stride=strides, dtype=t.dtype).copy_(t)
