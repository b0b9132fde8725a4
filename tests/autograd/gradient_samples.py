"""Calls of any operator at points where it has derivatives, from its schema and the recipes of the
fuzz tests.

`samples(op, names, count)` draws calls with float64 tensors until `count` of them are good: the
operator accepts the arguments and all it computes is finite. Numbers are random, so kinks (relu at
0, clamp at its bounds) and ties (max of equal elements) do not happen: they would have to be met to
within 1e-6. What domain an operator needs (positive numbers, say) is found by trying; so is whether
it takes complex numbers (tests/aten/complex_samples.py).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import internals
from internals._generated import ops
from internals.core.dispatcher import OperatorHandle
from internals.core.dtype import FLOATING
from internals.core.schema import Argument, FunctionSchema
from internals.core.tensor_impl import TensorImpl, array, from_array
from tests.aten.complex_samples import COMPLEX_TWIN, Complex
from tests.aten.op_arguments import OPTIONS, argument, fits
from tests.aten.op_recipes import recipe
from tests.aten.op_tensors import Dtype, Sizes, Stream, TensorSpec, shape
from tests.support import outcome

LAYOUTS = [
    "plain",
    "plain",
    "transposed",
    "strided",
    "offset",
]  # not "expanded": gradcheck changes one element at a time
# smooth at 0, and the formula may divide by it
MAY_VANISH = {"prod", "cumprod", "mul", "cumsum", "cat", "sum"}


def _signed(stream: Stream, sizes: Sizes) -> Any:
    return stream.uniform(0.2, 1.4, sizes) * stream.choice([-1.0, 1.0], sizes)


DOMAINS: dict[str, Callable[[Stream, Sizes], Any]] = {
    "signed": _signed,
    "positive": lambda stream, sizes: stream.uniform(0.2, 1.4, sizes),
    "unit": lambda stream, sizes: _signed(stream, sizes) / 1.6,
    "ties": lambda stream, sizes: stream.integers(-2, 3, sizes) / 2,
    "with zeros": lambda stream, sizes: (
        _signed(stream, sizes) * stream.choice([0.0, 1.0], sizes, p=[0.2, 0.8])
    ),
}


@dataclass
class Sample:
    """A call: the value of every argument, and which of its tensors gradients are wanted for."""

    op: OperatorHandle
    values: dict[str, Any]
    names: tuple[str, ...]

    def inputs(self, lib: Any = internals) -> list[Any]:
        """The tensors to differentiate by, leaves that require grad; those of a list one by one."""
        found = [
            spec
            for name in self.names
            for spec in _as_list(self.values[name])
            if isinstance(spec, TensorSpec)
        ]
        return [build(spec, lib).detach().requires_grad_() for spec in found]

    def function(
        self, call: Callable[..., Any] | None = None, lib: Any = internals
    ) -> Callable[..., Any]:
        """The call as a function of `inputs()`. Everything else is constant; what is written to is
        a copy; chance is seeded.
        """
        constants = {
            name: build(v, lib) for name, v in self.values.items() if name not in self.names
        }
        written = {a.name for a in self.op.schema.arguments if a.is_write}
        run = call or call_function(self.op)

        def function(*inputs: Any) -> Any:
            given = iter(inputs)
            values = [
                constants[name] if name in constants else _fill(v, given)
                for name, v in self.values.items()
            ]
            values = [
                v.clone() if name in written and v is not None else v
                for name, v in zip(self.values, values)
            ]
            lib.manual_seed(1)
            return run(*values)

        return function

    def as_type(self, dtype: str, only: str | None = None) -> Sample:
        """The same call with floating tensors of another dtype: all of them, or those of one
        argument.
        """
        values = {
            name: _cast(v, dtype) if only in (None, name) else v for name, v in self.values.items()
        }
        return Sample(self.op, values, self.names)

    def __repr__(self) -> str:
        return f"{self.op.schema}\nat {self.values}\nby {', '.join(self.names)}"


def samples(
    op: OperatorHandle,
    names: tuple[str, ...],
    count: int,
    suitable: Callable[[Sample], bool] = lambda sample: True,
    elements: int = 40,
    domains: tuple[str, ...] = ("signed", "positive", "unit"),
) -> Iterator[Sample]:
    """`count` good calls, differentiated by some of the arguments `names`, with at most `elements`
    numbers in and out.

    Besides them come a few without any number to differentiate by: empty tensors have to work too.
    Fewer when none are found.
    """
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    numbers_are_complex = Complex(op.name)
    found, empty = 0, 0
    if op.schema.name.removesuffix("_") in MAY_VANISH:
        domains += ("with zeros",)
    for _ in range(400 * count):
        values = draw(op.schema, stream, str(stream.choice(domains)))
        present = tuple(n for n in names if any(_is_float(v) for v in _as_list(values[n])))
        if len(present) > 1 and stream.random() < 0.3:  # gradients of some only
            present = tuple(n for n in present if stream.random() < 0.5)
        size = sum(v.values.size for n in present for v in _as_list(values[n]) if _is_float(v))
        if not present or size > elements or (not size and empty >= max(count // 4, 1)):
            continue
        is_complex = numbers_are_complex.is_wanted(found)
        sample = Sample(op, numbers_are_complex.turned(values) if is_complex else values, present)
        good = is_good(sample, elements // 3 if is_complex else elements) and suitable(sample)
        if numbers_are_complex.remember(good, is_complex):
            if size:
                found += 1
            else:
                empty += 1
            yield sample
        if found >= count:
            return


def draw(schema: FunctionSchema, stream: Stream, domain: str) -> dict[str, Any]:
    """One value for each argument: tensors are float64, but for masks and what recipes give as
    integers.
    """
    made = recipe(schema)
    given = made(stream) if made else {}
    sizes = shape(stream)
    while math.prod(sizes) > 16:
        sizes = shape(stream)
    values: dict[str, Any] = {}
    for a in schema.arguments:
        if a.name in given and fits(a, given[a.name]):
            value = given[a.name]
            if isinstance(value, tuple):
                value = numbers(stream, value, domain)
            values[a.name] = _cast(value, "float64")
        else:
            values[a.name] = _redrawn(
                a, argument(a, stream, sizes, "float64", values), stream, domain
            )
    return values


def numbers(stream: Stream, sizes: Sizes, domain: str) -> TensorSpec:
    return TensorSpec(np.asarray(DOMAINS[domain](stream, sizes)), str(stream.choice(LAYOUTS)))


def is_good(sample: Sample, elements: int) -> bool:
    """The operator takes the arguments, and gives a manageable number of finite ones."""
    with internals.no_grad():
        result, error = outcome(lambda: sample.function()(*sample.inputs()))
    if error is not None:
        return False
    floats = [
        array(t)
        for t in _as_list(result)
        if isinstance(t, TensorImpl) and t.dtype.category >= FLOATING
    ]
    return (
        bool(floats)
        and sum(a.size for a in floats) <= elements
        and all(np.isfinite(a).all() for a in floats)
    )


def call_function(op: OperatorHandle) -> Callable[..., Any]:
    return getattr(ops, op.name.removeprefix("aten::").replace(".", "_"))


def build(value: Any, lib: Any) -> Any:
    """The value in a library: a tensor for a TensorSpec, a dtype or memory format for a name."""
    if isinstance(value, TensorSpec):
        return value.build(
            lib, from_array if lib is internals else lambda a: lib.from_numpy(np.array(a))
        )
    if isinstance(value, Dtype):
        return getattr(lib, value.name)
    return [build(v, lib) for v in value] if isinstance(value, list) else value


def _redrawn(a: Argument, value: Any, stream: Stream, domain: str) -> Any:
    """What the fuzz tests would take, made differentiable."""
    if isinstance(value, list):
        return [_redrawn(a, v, stream, domain) for v in value]
    if isinstance(value, TensorSpec) and a.name not in ("mask", "condition"):
        return numbers(stream, value.values.shape, domain)
    if a.type.base == "ScalarType" and a.name in OPTIONS:
        return Dtype("float64") if value is not None else None
    return value


def _cast(value: Any, dtype: str) -> Any:
    """Floating tensors, and the dtypes that are asked for, as `dtype`."""
    if isinstance(value, list):
        return [_cast(v, dtype) for v in value]
    if isinstance(value, Dtype) and value.name.startswith("float"):
        return Dtype(dtype)
    if isinstance(value, Dtype) and value.name.startswith("complex"):
        return Dtype(COMPLEX_TWIN[dtype])
    if not _is_float(value):
        return value
    if value.values.dtype.kind == "c":
        dtype = COMPLEX_TWIN[dtype]
    return TensorSpec(
        value.values.astype(dtype), value.layout if value.layout in LAYOUTS else "plain"
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, TensorSpec) and value.values.dtype.kind in "fc"


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _fill(value: Any, given: Iterator[Any]) -> Any:
    """The next inputs in the place of an argument's tensors."""
    if isinstance(value, list):
        return [_fill(v, given) for v in value]
    return next(given) if isinstance(value, TensorSpec) else value
