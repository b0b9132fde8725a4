"""What the YAML files of derivatives say, for the tests: which operators have an entry, and for
which arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from codegen import derivatives, model
from codegen.model import NativeFunction, load, read_entries
from internals.core.schema import FunctionSchema, parse_schema


@dataclass(frozen=True)
class Entry:
    """One entry: its schema, the arguments it has formulas for, and which outputs are
    differentiable (None: all).
    """

    text: str
    schema: FunctionSchema
    arguments: tuple[str, ...]
    output_differentiability: tuple[bool, ...] | None
    formulas: tuple[str, ...]

    @property
    def is_differentiable(self) -> bool:
        return self.output_differentiability is None or any(self.output_differentiability)

    @property
    def is_implemented(self) -> bool:
        return not any("not_implemented(" in f for f in self.formulas)


@cache
def entries() -> dict[str, Entry]:
    """Every entry by the full name of its operator."""
    raw: list[dict[str, Any]] = read_entries(derivatives.FOLDER)
    result: dict[str, Entry] = {}
    for e in raw:
        schema = parse_schema(e["name"])
        formulas = {
            key: text
            for key, text in e.items()
            if key not in ("name", "output_differentiability", "place")
        }
        names = [n.strip() for key in formulas for n in key.split(",")]
        flags = e.get("output_differentiability")
        assert schema.full_name not in result, f"{schema.full_name} has two entries"
        result[schema.full_name] = Entry(
            e["name"],
            schema,
            tuple(names),
            None if flags is None else tuple(flags),
            tuple(map(str, formulas.values())),
        )
    return result


@cache
def functions() -> dict[str, NativeFunction]:
    """Every operator that is declared, twins included, by full name."""
    return {f.schema.full_name: f for f in load()}


@cache
def declarations() -> set[str]:
    """The schemas as they are written in native_functions."""
    return {e["func"] for e in read_entries(model.FOLDER)}


def functional_twin(name: str) -> str | None:
    """For an in-place operator, the functional one of the same arguments: aten::pow.Tensor_Scalar
    for aten::pow_.Scalar.
    """
    s = functions()[name].schema
    signature = [(a.name, a.type) for a in s.arguments]
    return next(
        (
            n
            for n, f in functions().items()
            if f.schema.name + "_" == s.name
            and [(a.name, a.type) for a in f.schema.arguments] == signature
        ),
        None,
    )


def entry_of(name: str) -> Entry | None:
    """The entry for an operator: its own, or for an in-place one that of the functional operator,
    for a copy that of the view.
    """
    f = functions()[name]
    if f.base is not None and f.is_view_copy:
        return entries().get(f.base.schema.full_name)
    own = entries().get(name)
    twin = functional_twin(name) if own is None and name.partition(".")[0].endswith("_") else None
    return entries().get(twin) if twin else own
