"""Every operator says what its derivative is, or that it has none: the folder derivatives against
the folder native_functions.
"""

from __future__ import annotations

import ast

from codegen.model import NativeFunction
from codegen.saved import MANUAL
from internals._generated import ops
from internals.core.dispatcher import dispatcher
from tests.autograd.gradient_entries import (
    declarations,
    entries,
    entry_of,
    functional_twin,
    functions,
)


def needs_entry(f: NativeFunction) -> bool:
    """Composites are differentiated through, out= is refused, and a few kernels are written by
    hand.
    """
    return not f.is_composite and not f.schema.is_out and f.schema.name not in MANUAL


def test_the_dispatcher_knows_the_same_operators() -> None:
    assert ops.add_Tensor_op in dispatcher.operators.values()
    assert {n for n in dispatcher.operators if n.startswith("aten::")} == set(functions())


def test_every_operator_has_a_derivative_or_says_that_it_has_none() -> None:
    """Missing: add it to internals/autograd/derivatives/, or `output_differentiability:
    [False]`.
    """
    declared = [n for n, f in functions().items() if needs_entry(f)]
    assert [n for n in declared if entry_of(n) is None] == []
    assert len(declared) > 350
    silent = [e.text for e in entries().values() if e.is_differentiable and not e.arguments]
    assert silent == [], "neither a formula nor output_differentiability: [False]"


def test_every_entry_names_an_operator_exactly() -> None:
    unknown = [e.text for n, e in entries().items() if n not in functions()]
    assert unknown == []
    other = [e.text for e in entries().values() if e.text not in declarations()]
    assert other == [], "written differently in native_functions"


def test_no_entry_where_none_is_used() -> None:
    """Composites have no derivative of their own, out= variants none at all."""
    for name, entry in entries().items():
        assert not functions()[name].is_composite and not functions()[name].schema.is_out, (
            entry.text
        )


def test_in_place_operators_have_the_derivative_of_the_functional_one() -> None:
    """They share its entry. fill_ has one of its own, as in PyTorch, where it numbers the nodes:
    FillBackward2.
    """
    for name, entry in entries().items():
        twin = (
            entries().get(functional_twin(name) or "")
            if functions()[name].schema.is_inplace
            else None
        )
        if twin is not None and twin.is_implemented:
            assert entry.formulas == twin.formulas, f"{entry.text}: {twin.text} has another formula"


def test_entries_differentiate_tensors_once() -> None:
    for entry in entries().values():
        tensors = {a.name for a in entry.schema.arguments if a.type.base == "Tensor"}
        assert set(entry.arguments) <= tensors, entry.text
        assert len(entry.arguments) == len(set(entry.arguments)), entry.text
        flags = entry.output_differentiability
        assert flags is None or len(flags) == len(entry.schema.returns), entry.text
        assert not (flags and not any(flags) and entry.formulas), (
            f"{entry.text}: formulas that are never used"
        )


def test_formulas_save_shapes_not_tensors() -> None:
    """`x.shape` is saved as a shape; `x.size()` would be a call on the saved tensor."""
    for entry in entries().values():
        for formula in entry.formulas:
            ast.parse(formula.strip(), mode="eval")
            assert ".size()" not in formula and ".sizes()" not in formula, (
                f"{entry.text}: {formula}"
            )
