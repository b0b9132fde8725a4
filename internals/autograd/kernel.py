"""The kernel of the Autograd key: it runs an operator, and records how to differentiate it
(`VariableType.cpp`).

One kernel serves every operator with a derivative; what differs is the `Record` that codegen makes
of the entry in `derivatives/` and leaves with the node's class. It does four things:

    collect where the gradients of the arguments go      gradient_edge
    make the node, and save what the formulas mention    save, save_output
    run the operator in the layers below
    tie the result to the node                           set_history, rebase_history

For operators that training calls in every step (`codegen/hot.py`) codegen writes the same steps out
in `_generated/autograd_kernels.py`, without loops; tests/autograd/test_kernel.py compares the two.

How the real one differs: every operator's kernel is generated, with checks for debug builds, and
another one for ADInplaceOrView.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple

from internals.core.dispatch_key import RECORDS
from internals.core.dispatcher import Kernel, OperatorHandle, dispatcher
from internals.core.grad_mode import grad_mode, is_grad_enabled
from internals.core.hot import hot
from internals.core.schema import Argument

from .history import (
    check_inplace,
    forget_history,
    gradient_edges,
    not_differentiable,
    rebase_history,
    set_history,
    set_history_of_inplace_view,
)
from .node import NO_EDGE, Edge, Node
from .saved_variable import save, save_list, save_output

INTEGERS = ("index", "indices", "mask", "condition")  # arguments that are never floating point
METHODS = ("dim", "numel", "stride", "storage_offset")


class SavedSpec(NamedTuple):
    """A value that a node keeps for backward: `of` is the name of an argument or the number of an
    output. With `detail`, such as "shape" or "dim", only that attribute or method result is kept.

    `users` are the arguments whose gradients need it; () for all of them. If none of these requires
    a gradient, nothing is kept.
    """

    of: str | int
    detail: str = ""
    users: tuple[str, ...] = ()


class Record(NamedTuple):
    """An entry of `derivatives/`: the `names` of arguments that have gradients, the value `kept` in
    each slot of the node, and the numbers of the `outputs` that gradients come from, () for all.

    With `number` the node has one more edge, to nowhere, for a number that PyTorch's schema takes
    as a tensor.
    """

    names: tuple[str, ...]
    kept: dict[str, SavedSpec] = {}
    outputs: tuple[int, ...] = ()
    number: bool = False


def recording(op: OperatorHandle, node_class: type[Node]) -> Kernel:
    """The kernel that records `op` as a node of this class."""
    record, schema = node_class.record, op.schema
    index_of = {a.name: i for i, a in enumerate(schema.arguments)}
    sources = [index_of[name] for name in record.names]
    of_list = schema.arguments[sources[0]].type.is_list
    inplace, becomes_view = schema.is_inplace, _becomes_view(op)
    gives_list = len(schema.returns) == 1 and schema.returns[0].type.is_list
    without = [a.name for a in schema.arguments if not inplace and _has_no_formula(a, record)]
    before, filled, after = _savers(op, record, index_of)

    def kernel(op: OperatorHandle, keys: int, *args: Any) -> Any:
        if grad_mode.off and not is_grad_enabled():
            return run_below(op, keys, args)
        for name in without:
            given = args[index_of[name]]
            if given is not None and given._geometry.keys & RECORDS:
                raise not_differentiable(schema.name, name)
        edges = gradient_edges(args[sources[0]] if of_list else [args[i] for i in sources])
        if not [to for to, _ in edges if to is not None]:
            return run_below(op, keys, args)  # no argument requires a gradient
        if inplace:
            check_inplace(args[0])
        node = node_class()
        node.next_edges = (*edges, NO_EDGE) if record.number else edges
        # `before` the call: an in-place operator overwrites its first argument
        for slot, i, users, keep in before:
            setattr(node, slot, keep(args[i]) if users is None or _wanted(edges, users) else None)
        result = run_below(op, keys, args)
        # after it: arguments that only the call gives their values, such as `noise` of
        # `rrelu_with_noise`
        for slot, i, users, keep in filled:
            setattr(node, slot, keep(args[i]) if users is None or _wanted(edges, users) else None)
        if inplace:
            result = args[0]
            (set_history_of_inplace_view if becomes_view else rebase_history)(result, node)
        results = result if gives_list or len(schema.returns) > 1 else (result,)
        if not inplace:
            for nr, i in enumerate(record.outputs or range(len(results))):
                set_history(results[i], node, nr)
        # last, as in PyTorch: hooks on saved tensors see the outputs with their history
        for slot, i, keep in after:
            setattr(node, slot, keep(result if gives_list else results[i]))
        return result

    return kernel


def _wanted(edges: Sequence[Edge], users: list[int]) -> bool:
    """Whether the gradient of one of the arguments `users` (indices of `edges`) is needed."""
    return any(edges[i][0] is not None for i in users)


def overwriting(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """The kernel of an in-place operator that no gradient passes, such as `eq_`: the tensor's new
    values do not depend on the old ones in a way that has a derivative, so these get no gradient.
    """
    if not args[0]._geometry.keys & RECORDS or (grad_mode.off and not is_grad_enabled()):
        return run_below(op, keys, args)
    check_inplace(args[0])
    run_below(op, keys, args)
    forget_history(args[0])
    return args[0]


def run_below(op: OperatorHandle, keys: int, args: tuple[Any, ...]) -> Any:
    """Runs `op` in the layers below autograd. While `hot.off`, for instance under a profiler, the
    call goes through the dispatcher, where it can be observed.
    """
    return dispatcher.redispatch(op, keys, *args) if hot.off else op.table[keys](*args)


Savers = list[tuple[Any, ...]]


def _savers(
    op: OperatorHandle, record: Record, index_of: dict[str, int]
) -> tuple[Savers, Savers, Savers]:
    """How the slots are filled: before the call, after it from arguments that it wrote to, and
    after it from its outputs. The first two have (slot, argument, users, keep), the last has
    (slot, output, keep); `keep` makes the kept value of a given one.
    """
    before: Savers = []
    filled: Savers = []
    after: Savers = []
    for slot, kept in record.kept.items():
        if isinstance(kept.of, int):
            after.append((slot, kept.of, _keep_output(kept.of, kept.detail, record)))
            continue
        i = index_of[kept.of]
        argument = op.schema.arguments[i]
        users = [record.names.index(name) for name in kept.users] or None
        saver = slot, i, users, _keep_argument(argument, kept, copy=op.schema.is_inplace and i == 0)
        (filled if argument.is_write and i > 0 else before).append(saver)
    return before, filled, after


def _has_no_formula(a: Argument, record: Record) -> bool:
    """Whether `a` is a tensor without a formula. Called with one that requires a gradient, the
    kernel raises: that gradient would be silently missing.
    """
    known = a.name in record.names or a.name in INTEGERS
    return a.type.base == "Tensor" and not a.type.is_list and not known


def _becomes_view(op: OperatorHandle) -> bool:
    """Whether `op` is like `transpose_`: it writes no elements, it turns the tensor into a view."""
    name = op.name.partition(".")[0]
    originals = dispatcher.operators.overloads(name.removesuffix("_"))  # transpose.int
    return op.schema.is_inplace and any(original.schema.is_view for original in originals)


def _keep_argument(argument: Argument, kept: SavedSpec, copy: bool) -> Callable[[Any], Any]:
    """The function from an argument's value to what is kept of it. With `copy`, for an argument
    that the operator is about to overwrite, a tensor is copied first.
    """
    type = argument.type
    if kept.detail:
        read = _detail(kept.detail)
        if type.is_list:
            return lambda tensors: [read(t) for t in tensors]
        return lambda t: None if t is None else read(t)
    if type.base != "Tensor":
        return tuple if type.is_list and not type.optional else lambda value: value
    if type.is_list:
        return save_list
    return (lambda t: save(t.clone())) if copy else save


def _keep_output(number: int, detail: str, record: Record) -> Callable[[Any], Any]:
    """The function from an output to what is kept of it.

    An output with a gradient holds its node; if the node held the output too, neither would ever be
    freed. `save_output` keeps it without this cycle.
    """
    if detail:
        return _detail(detail)
    if record.outputs and number not in record.outputs:
        return save
    nr = record.outputs.index(number) if record.outputs else number
    return lambda t: save_output(t, nr)


def _detail(name: str) -> Callable[[Any], Any]:
    """The function that reads this attribute of a tensor, or calls this method without
    arguments.
    """
    return methodcaller(name) if name in METHODS else attrgetter(name)
