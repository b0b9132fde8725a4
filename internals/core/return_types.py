"""Results with names: `max(x, dim).values`, `.indices` (`torch/return_types.py`,
`torch/csrc/utils/structseq.cpp`).

An operator whose schema names its returns returns a tuple whose fields can be read by name. The
type of the tuple is made from these names and kept in this module; users, and pickle, find it as
`internals.return_types.max`.

How the real one differs: PyTorch builds C struct sequences from `native_functions.yaml`; these are
tuples with properties.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any


class NamedResult(tuple[Any, ...]):
    """A tuple with named fields. It is made from its elements, or from one sequence of them, as C's
    struct sequences are.
    """

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *values: Any) -> NamedResult:
        # one argument where there are more fields, or none: the sequence
        items = tuple(values[0]) if len(values) == 1 != len(cls._fields) else values
        if len(items) != len(cls._fields):
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {len(cls._fields)}-sequence "
                f"({len(items)}-sequence given)"
            )
        return tuple.__new__(cls, items)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
        return f"{self.__module__}.{type(self).__name__}(\n{fields})"

    def __reduce__(self) -> Any:
        return type(self), tuple(self)


def named(name: str, fields: tuple[str, ...]) -> type[NamedResult]:
    """The type `internals.return_types.NAME` with these fields, made when first asked for."""
    known = globals().get(name)
    if known is None:
        body = {field: property(itemgetter(i), doc=f"field {i}") for i, field in enumerate(fields)}
        known = type(
            name,
            (NamedResult,),
            {"__slots__": (), "_fields": fields, "__module__": "internals.return_types", **body},
        )
        globals()[name] = known
    declared = getattr(known, "_fields", None)
    assert declared == fields, f"return type {name} has other fields"
    return known


VALUES_INDICES = ("values", "indices")
max, max_out = named("max", VALUES_INDICES), named("max_out", VALUES_INDICES)
min, min_out = named("min", VALUES_INDICES), named("min_out", VALUES_INDICES)
sort, sort_out = named("sort", VALUES_INDICES), named("sort_out", VALUES_INDICES)
topk, topk_out = named("topk", VALUES_INDICES), named("topk_out", VALUES_INDICES)
median, median_out = named("median", VALUES_INDICES), named("median_out", VALUES_INDICES)
nanmedian, nanmedian_out = (
    named("nanmedian", VALUES_INDICES),
    named("nanmedian_out", VALUES_INDICES),
)
kthvalue, kthvalue_out = named("kthvalue", VALUES_INDICES), named("kthvalue_out", VALUES_INDICES)
mode, mode_out = named("mode", VALUES_INDICES), named("mode_out", VALUES_INDICES)
cummax, cummax_out = named("cummax", VALUES_INDICES), named("cummax_out", VALUES_INDICES)
cummin, cummin_out = named("cummin", VALUES_INDICES), named("cummin_out", VALUES_INDICES)
aminmax, aminmax_out = named("aminmax", ("min", "max")), named("aminmax_out", ("min", "max"))
histogram, histogram_out = (
    named("histogram", ("hist", "bin_edges")),
    named("histogram_out", ("hist", "bin_edges")),
)
histogramdd = named("histogramdd", ("hist", "bin_edges"))
frexp, frexp_out = (
    named("frexp", ("mantissa", "exponent")),
    named("frexp_out", ("mantissa", "exponent")),
)
