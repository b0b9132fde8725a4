"""Special forms: calls whose arguments are not simply evaluated (`emitApplySpecialForm` of
`ir_emitter.cpp`).

The second argument of `isinstance(x, T)` is a type, that of `getattr(m, "weight")` must be a string
literal, `range` and `zip` return iterables that are not values of the graph, and
`torch.jit.annotate(List[int], [])` gives the type of an expression.

Each function here gets the compiler, the call and the type expected of it (`hint`, or None). The
table `FORMS` at the end chooses the function.

How the real one differs: remote calls and `torch.jit._awaitable` are such forms, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from internals.jit.ir import (
    DictType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    Type,
    Value,
)

from . import tree
from .emit_loops import emit_dict_comprehension, emit_list_comprehension
from .error_report import error, span, spell
from .fork import emit_fork_node
from .iterables import IterableTree, RangeValue
from .loop_forms import MAX_TRIP_COUNT
from .module_value import ModuleValue, SuperValue
from .python_values import PythonClassValue
from .refinement import emit_hasattr, emit_isinstance
from .schema_matching import NamedValue, try_convert_to_type
from .sugared_values import SimpleValue, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


def emit_special_form(c: Compiler, form: str, call: tree.Apply, hint: Type | None) -> SugaredValue:
    return FORMS[form](c, call, hint)


def emit_annotate(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`torch.jit.annotate(T, x)`: x, converted to T. Raises RuntimeError if that is impossible."""
    c.check_call(call, 2)
    t = c.type_of_annotation(call.inputs[0])
    value = try_convert_to_type(c, call.range, t, c.emit(call.inputs[1], t), allow_conversions=True)
    if not value.type().isSubtypeOf(t):
        raise error(
            span(call.inputs),
            f"expected an expression of type {spell(t)} but found {spell(value.type())}\n",
        )
    if isinstance(t, OptionalType) and isinstance(value.type(), NoneType):
        value = c.constant(None, type=t)
    return SimpleValue(value)


def emit_unchecked_cast(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`unchecked_cast(int, x)`, in the code of an archive: x is known to be an int, because the
    graph that was saved had such a node.
    """
    c.check_call(call, 2)
    return _of_named_type(c, call, "prim::unchecked_cast")


def emit_uninitialized(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`uninitialized(T)`, in the code of an archive: a value that is never read."""
    c.check_call(call, 1)
    return _of_named_type(c, call, "prim::Uninitialized")


def emit_create_object(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`__torch__.Point.__new__(__torch__.Point)`, in the code of an archive: an object that has no
    attributes yet.
    """
    c.check_call(call, 1)
    return _of_named_type(c, call, "prim::CreateObject")


def _of_named_type(c: Compiler, call: tree.Apply, kind: str) -> SugaredValue:
    """Emit a node whose output has the type that the first argument names, and whose inputs are the
    other arguments.
    """
    t = c.type_of_annotation(call.inputs[0])
    node = c.add_node(kind, [c.emit(each) for each in call.inputs[1:]], 1, call.range)
    return SimpleValue(node.output().setType(t))


def emit_getattr(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`getattr(m, "name")` or `getattr(m, "name", default)`. It is decided while compiling whether
    the attribute exists; the default is emitted only if it does not.
    """
    if len(call.inputs) == 3:
        owner = c.emit_sugared(call.inputs[0], 1)
        name = call.inputs[1]
        if isinstance(name, tree.StringLiteral) and not owner.has_attr(call.range, c, name.text):
            return c.emit_sugared(call.inputs[2], 1)
    else:
        c.check_call(call, 2)
        owner = c.emit_sugared(call.inputs[0], 1)
        name = call.inputs[1]
    if not isinstance(name, tree.StringLiteral):
        raise error(call.range, "getattr's second argument must be a string literal")
    return owner.attr(call.range, c, name.text)


def emit_tuple_of(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`tuple(x)`, for an x whose length is known while compiling."""
    if not call.inputs:
        return SimpleValue(c.tuple_construct([]))
    c.check_call(call, 1)
    parts = c.emit_sugared(call.inputs[0], 1).as_tuple(call.range, c)
    return SimpleValue(c.tuple_construct([part.as_value(call.range, c) for part in parts]))


def emit_isinstance_form(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    c.check_call(call, 2)
    return SimpleValue(emit_isinstance(c, call.inputs[0], call.inputs[1]).value)


def emit_hasattr_form(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    c.check_call(call, 2)
    return SimpleValue(emit_hasattr(c, call.inputs[0], call.inputs[1]).value)


def emit_tolist(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`x: List[List[int]] = t.tolist()`. The number of dimensions and the element type come from
    the annotation, without which it raises RuntimeError.
    """
    assert isinstance(call.callee, tree.Select)
    operand = c.emit_sugared(call.callee.value, 1)
    if hint is None:
        raise error(call.range, "Expected type hint for result of tolist()")
    value = operand.as_value(call.callee.value.range, c)
    depth, element = 0, hint  # List[List[int]]: depth 2, element int
    while isinstance(element, ListType):
        depth, element = depth + 1, element.element
    code = {"int": 0, "float": 1, "bool": 2, "complex": 3}.get(element.str())
    if code is None:
        raise error(
            call.range,
            f"{spell(element)} is not one of the supported element types for tolist: int, float, "
            "complex, bool",
        )
    node = c.graph.create("prim::tolist", [value, c.constant(depth), c.constant(code)])
    return SimpleValue(c.graph.insertNode(node).output().setType(hint))


# Iterables.


def emit_range(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    from .emit_expressions import emit_values

    return RangeValue(call.range, c, emit_values(c, call.inputs))


def emit_enumerate(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`enumerate(x, start)` is `zip(range(start, MAX_TRIP_COUNT), x)`."""
    where, inputs = call.range, call.inputs
    if not inputs:
        raise error(where, "enumerate expected at least 1 arguments, got 0")
    if len(inputs) > 2:
        raise error(where, f"enumerate expected at most 2 arguments, got {len(inputs)}")
    start = c.emit_sugared(inputs[1], 1).as_value(where, c) if len(inputs) == 2 else None
    end = c.literal(MAX_TRIP_COUNT, where)
    iterable = c.emit_sugared(inputs[0], 1).iter(where, c)
    counter = RangeValue(
        where, c, [end] if start is None else [start, end], iterable.static_length()
    )
    tree_of_both = IterableTree()
    tree_of_both.add(where, counter)
    tree_of_both.add(where, iterable)
    return tree_of_both


def emit_zip(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`zip(x, y, ...)`: a tree whose children advance together."""
    if not call.inputs:
        raise error(call.range, "zip expected at least 1 arguments, got 0")
    together = IterableTree()
    for expr in call.inputs:
        together.add(call.range, c.emit_sugared(expr, 1).iter(call.range, c))
    return together


# Modules.


def emit_super(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`super()` in a method of a module, or `super(Class, self)`. For the former, Python keeps the
    class in the method's closure, as `__class__`.
    """
    if not isinstance(c.self_value, ModuleValue):
        raise error(call.range, "super() is supported in methods of modules only")
    if not call.inputs:
        return SuperValue(c.self_value, c.resolver("__class__"))
    c.check_call(call, 2)
    cls = c.emit_sugared(call.inputs[0], 1)
    if not isinstance(cls, PythonClassValue):
        raise error(call.inputs[0].range, f"super() argument 1 must be a class, not {cls.kind()}")
    return SuperValue(c.self_value, cls.cls)


# Containers.


def emit_list_of(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`list(xs)` copies a list, splits a string into its characters, and is `[x for x in xs]` for
    anything else.
    """
    where = call.range
    if not call.inputs:
        t = hint if hint is not None else ListType(TensorType.get())
        if not isinstance(t, ListType):
            raise error(where, f"Expected an annotation of type List but got {spell(t)}")
        return SimpleValue(c.list_construct(t.element, []))
    c.check_call(call, 1)
    iterable = c.emit_sugared(call.inputs[0], 1)
    if isinstance(iterable, SimpleValue) and isinstance(
        iterable.value.type(), (ListType, StringType)
    ):
        return SimpleValue(c.insert("aten::list", [iterable.value], where))
    source, element = c.temporary("$_iter"), c.temporary("$_elem")
    c.environment.set(where, source, iterable)
    comprehension = tree.ListComp(
        where, _var(call, element), _var(call, element), _var(call, source)
    )
    return SimpleValue(emit_list_comprehension(c, comprehension, hint))


def emit_dict_of(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`dict(d)`, `dict(pairs)` and `dict(a=1, b=2)`; keywords may be added to all of them."""
    where = call.range
    if not call.attributes and all(_is_empty(e) for e in call.inputs):
        t = hint if hint is not None else DictType(StringType.get(), TensorType.get())
        if not isinstance(t, DictType):
            raise error(where, f"Expected an annotation of type Dict but got {spell(t)}")
        return SimpleValue(c.dict_construct(t, [], []))
    given, keywords = _pairs(call)
    if len(call.inputs) > 1:
        raise error(where, f"dict expected exactly 1 arguments but found {len(call.inputs)}")
    if isinstance(given, tree.DictComp):
        result = emit_dict_comprehension(c, given, hint)
    else:
        pairs = c.emit_sugared(given, 1)
        if isinstance(pairs, SimpleValue) and isinstance(pairs.value.type(), DictType):
            result = c.insert("aten::dict", [pairs.value], where)
        else:  # emitted as `{key: value for key, value in pairs}`
            source, key, value = c.temporary("$_iter"), c.temporary("$_key"), c.temporary("$_value")
            c.environment.set(where, source, pairs)
            target = tree.TupleLiteral(where, (_var(call, key), _var(call, value)))
            comprehension = tree.DictComp(
                where, _var(call, key), _var(call, value), target, _var(call, source)
            )
            result = emit_dict_comprehension(c, comprehension, hint)
    for a in keywords:
        key_value = c.constant(a.name.name, a.range)
        parts: list[Value] = [result, key_value, c.emit(a.value)]
        c.call_builtin(a.range, "aten::_set_item", [NamedValue(v, a.range) for v in parts])
    return SimpleValue(result)


def _pairs(call: tree.Apply) -> tuple[tree.Expr, Sequence[tree.Attribute]]:
    """The argument of `dict(...)` and the keywords to set after it. A literal is merged with the
    keywords into one list of pairs, without keywords left; any other argument is returned as it is.
    """
    where = call.range
    first = call.inputs[0] if call.inputs and not _is_empty(call.inputs[0]) else None
    if first is not None and not isinstance(first, (tree.DictLiteral, tree.ListLiteral)):
        return first, call.attributes
    pairs: list[tree.Expr] = []
    if isinstance(first, tree.DictLiteral):
        pairs += [
            tree.TupleLiteral(where, pair) for pair in zip(first.key_inputs, first.value_inputs)
        ]
    elif isinstance(first, tree.ListLiteral):
        pairs += first.inputs
    pairs += [
        tree.TupleLiteral(where, (tree.StringLiteral(where, a.name.name), a.value))
        for a in call.attributes
    ]
    return tree.ListLiteral(where, tuple(pairs)), ()


def _var(call: tree.Apply, name: str) -> tree.Var:
    return tree.Var(call.range, tree.Ident(call.range, name))


def _is_empty(expr: tree.Expr) -> bool:
    if isinstance(expr, tree.DictLiteral):
        return not expr.key_inputs
    return isinstance(expr, tree.ListLiteral) and not expr.inputs


# Concurrency.


def emit_fork(c: Compiler, call: tree.Apply, hint: Type | None) -> SugaredValue:
    """`torch.jit.fork(f, x)`: the call, in a graph of its own that may run concurrently with this
    one (`fork.py`).
    """
    from .emit_expressions import emit_arguments, emit_keywords

    if not call.inputs:
        raise error(call.range, "Expected at least one argument to fork()")
    forked = c.emit_sugared(call.inputs[0], 1)
    args = emit_arguments(c, call.inputs[1:])
    return SimpleValue(emit_fork_node(c, call.range, forked, args, emit_keywords(c, call)))


FORMS: dict[str, Callable[[Compiler, tree.Apply, Type | None], SugaredValue]] = {
    "annotate": emit_annotate,
    "unchecked_cast": emit_unchecked_cast,
    "uninitialized": emit_uninitialized,
    "create_object": emit_create_object,
    "getattr": emit_getattr,
    "tuple": emit_tuple_of,
    "isinstance": emit_isinstance_form,
    "hasattr": emit_hasattr_form,
    "tolist": emit_tolist,
    "range": emit_range,
    "enumerate": emit_enumerate,
    "zip": emit_zip,
    "list": emit_list_of,
    "dict": emit_dict_of,
    "fork": emit_fork,
    "super": emit_super,
}
