"""Type variables of schemas, such as the `t` of
`aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)` (`aten/src/ATen/core/type.cpp`).

Matching the arguments of a call, one by one, binds the variables in an environment, a dict from
name to type; then the types of the results are evaluated in it. The first argument whose type has a
variable decides what it stands for; the types of later ones must only be unifiable with that.

How the real one differs: classes, awaitables and remote references may contain variables, too.
"""

from __future__ import annotations

from internals.jit.ir.types import (
    CONTAINERS,
    DictType,
    FutureType,
    ListType,
    NoneType,
    OptionalType,
    TupleType,
    Type,
    VarType,
)  # fmt: skip
from internals.jit.ir.unify import unify_type_list, unify_types

NAMES = {TupleType: "a tuple", FutureType: "a future", DictType: "a dict"}


def free_variables(type: Type) -> frozenset[str]:
    """The type variables in `type`: {"t"} for `Dict(str, t)`."""
    if isinstance(type, VarType):
        return frozenset({type.name})
    if not isinstance(type, CONTAINERS):
        return frozenset()
    return frozenset().union(*map(free_variables, type.containedTypes()))


def match_type_variables(formal: Type, actual: Type, env: dict[str, Type]) -> str | None:
    """Bind the variables of `formal` in `env`, so that it has the form of `actual`
    (`matchTypeVariables`).

    Returns None, or the reason why that is impossible, in PyTorch's words. `actual` may still not
    be a subtype of the result: the caller has to check.
    """
    if not free_variables(formal):
        return None
    if isinstance(formal, VarType):
        return _bind(formal.name, actual, env)
    if isinstance(formal, OptionalType):
        if isinstance(actual, NoneType):  # fits any Optional, and binds nothing
            return None
        inner = actual.element if isinstance(actual, OptionalType) else actual
        return match_type_variables(formal.element, inner, env)
    if isinstance(formal, ListType) and isinstance(actual, TupleType):
        # a tuple may be passed for a list, with the type that its elements have in common
        common = unify_type_list(actual.elements) if actual.elements else None
        if common is not None:
            return match_type_variables(formal.element, common, env)
    if type(formal) is not type(actual):
        return (
            f"Cannot match {NAMES.get(type(formal), formal.annotation_str)} to "
            f"{actual.annotation_str}"
        )
    if isinstance(formal, TupleType) and len(formal.elements) != len(actual.containedTypes()):
        return "Cannot match tuples of mismatched size"
    for f, a in zip(formal.containedTypes(), actual.containedTypes()):
        why = match_type_variables(f, a, env)
        if why is not None:
            return why
    return None


def evaluate(type: Type, env: dict[str, Type]) -> Type | None:
    """`type` with its variables replaced; None if one of them is not bound
    (`tryEvalTypeVariables`).
    """
    if isinstance(type, VarType):
        return env.get(type.name)
    if not free_variables(type):
        return type
    parts = [evaluate(t, env) for t in type.containedTypes()]
    known = [p for p in parts if p is not None]
    return type.withContained(known) if len(known) == len(parts) else None


def _bind(name: str, actual: Type, env: dict[str, Type]) -> str | None:
    """Bind one variable, if it is not bound yet; else compare. Returns None or the reason."""
    bound = env.setdefault(name, actual)
    if bound is actual or unify_types(bound, actual) is not None:
        return None
    was, now = bound.annotation_str, actual.annotation_str
    return f"Type variable '{name}' previously matched to type {was} is matched to type {now}"
