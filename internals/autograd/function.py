"""`Function`: nodes written by users (`torch/autograd/function.py`,
`torch/csrc/autograd/python_function.cpp`).

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            result, = ctx.saved_tensors
            return grad * result

    y = Exp.apply(x)

`apply` makes the node, which is also the `ctx` that both methods get; runs `forward` without
recording it; and ties the results to the node. As `backward` is written with ordinary operators it
can be differentiated again, unless it is marked `once_differentiable`.

How the real one differs: `ctx` and the node are two objects that refer to each other; it also has
forward-mode derivatives (`jvp`) and batching (`vmap`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from internals._generated import ops
from internals.aten.adinplaceorview import count_write
from internals.core.dispatch_key import RECORDS
from internals.core.dtype import FLOATING
from internals.core.grad_mode import is_grad_enabled, set_grad_mode
from internals.core.hot import hot
from internals.core.tensor_impl import TensorImpl
from internals.core.tracer import tracer

from .history import check_inplace, gradient_edge, rebase_history, set_history
from .node import Node
from .saved_variable import ERR_BACKWARD_TWICE, SavedVariable, save, save_output


class BackwardNode(Node):
    """The node of one `apply`, and its `ctx`. `forward` may set any other attribute on it."""

    __slots__ = (
        "__dict__",
        "_saved",
        "_inputs",
        "_to_save",
        "_dirty",
        "_non_differentiable",
        "_materialize",
    )

    function: ClassVar[type]
    saves = True

    needs_input_grad: tuple[bool, ...]
    _saved: tuple[SavedVariable | None, ...] | None
    _to_save: tuple[Any, ...]

    def __new__(cls) -> Any:
        node = super().__new__(cls)
        node._saved, node._to_save, node._dirty, node._non_differentiable = (), (), (), ()
        node._inputs, node._materialize = (), True
        return node

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for `backward`, where they are `ctx.saved_tensors`: arguments or results of
        `forward`. None is kept as None.
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, TensorImpl):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`. Raises RuntimeError if they were released, or
        written to in the meantime.
        """
        if self._saved is None:
            raise RuntimeError(ERR_BACKWARD_TWICE)
        return tuple(None if s is None else s.unpack(self) for s in self._saved)

    @property
    def _raw_saved_tensors(self) -> tuple[SavedVariable | None, ...]:
        return self._saved or ()

    def mark_dirty(self, *tensors: Any) -> None:
        """Tells autograd that `forward` wrote to these arguments, which it also has to return."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Tells autograd that no gradient comes from these results."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Sets whether `backward` gets zeros (True, the default) or None as the gradient of a
        result that was not used.
        """
        self._materialize = value

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        """The results of the user's `backward` for the tensors among the arguments. Raises
        RuntimeError for a wrong number of them, and for a gradient of a non-tensor argument.
        """
        given = [
            self._zeros(i) if g is None and self._materialize else g for i, g in enumerate(grads)
        ]
        results = self.function.backward(self, *given)  # type: ignore[attr-defined]
        results = results if isinstance(results, tuple) else (results,)
        # one gradient for each argument of `forward`; only Nones may be surplus
        expected = len(self._inputs)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(results)})"
            )
        kept = []
        for i, (r, is_tensor) in enumerate(zip(results, self._inputs)):
            if is_tensor:
                if r is not None and not isinstance(r, TensorImpl):
                    raise RuntimeError(f"expected Variable or None (got {type(r).__name__})")
                kept.append(r)
            elif r is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                )
        return kept

    def release_variables(self) -> None:
        if self._saved:
            self._saved = None

    @property
    def released(self) -> bool:
        return self._saved is None

    def _zeros(self, output_nr: int) -> Any:
        """Zeros like result `output_nr`; None if it is not a tensor."""
        from internals._generated import ops

        g = self.input_metadata[output_nr]
        return None if g is None else ops.zeros(g.sizes, g.dtype, None, g.device, None)


FunctionCtx = BackwardNode


class FunctionMeta(type):
    """The metaclass that makes a node class for every Function class: `ExpBackward` for `Exp`. So
    graphs show the name.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            f"{name}Backward", (BackwardNode,), {"function": cls, "__slots__": ()}
        )


class Function(metaclass=FunctionMeta):
    """The base class of operations with a backward of their own: subclasses define `forward` and
    `backward` as static methods, users call `apply`. See the module's docstring.

    `forward(ctx, *args)`, or `forward(*args)` together with `setup_context(ctx, inputs, output)`.
    `backward(ctx, *grads)` gets a gradient for each result and returns one for each argument, None
    where there is none.
    """

    _backward_cls: ClassVar[type[BackwardNode]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: "
            f"{type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs `forward`, recorded as one node of the graph."""
        if hot.off and tracer.state is not None:
            return tracer.state.call_function(cls, args, kwargs)
        return cls._apply(args, kwargs)

    @classmethod
    def _apply(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Makes the node, runs `forward` without recording, and ties the results to the node."""
        # with `setup_context`, `forward` gets no ctx, and keyword arguments by position
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, {}
        node = cls._backward_cls()
        tensors = [a for a in args if isinstance(a, TensorImpl)]
        node._inputs = tuple(isinstance(a, TensorImpl) for a in args)
        node.needs_input_grad = tuple(isinstance(a, TensorImpl) and a.requires_grad for a in args)
        records = is_grad_enabled() and any(t._geometry.keys & RECORDS for t in tensors)
        edges = tuple(gradient_edge(t) for t in tensors)
        was = set_grad_mode(False)
        try:
            if has_setup:
                results = cls.forward(*args)
                cls.setup_context(node, args, results)
            else:
                results = cls.forward(node, *args, **kwargs)
        finally:
            set_grad_mode(was)
        if records:
            node.next_edges = edges
        outputs = results if isinstance(results, tuple) else (results,)
        why = "custom_function" if len(outputs) == 1 else "multi_output"
        wrapped = [_wrap(node, r, i, args, records, why) for i, r in enumerate(outputs)]
        _settle(node, outputs, wrapped)
        return tuple(wrapped) if isinstance(results, tuple) else wrapped[0]


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for a `backward` that is not written in differentiable operators: differentiating
    it again raises an error, where it would otherwise give a wrong result.
    """

    # If a graph of the gradients is being recorded, the results lead to a `DelayedError`.
    @functools.wraps(function)
    def backward(ctx: Any, *grads: Any) -> Any:
        was = set_grad_mode(False)
        try:
            results = function(ctx, *grads)
        finally:
            set_grad_mode(was)
        if not was or not any(isinstance(g, TensorImpl) and g.requires_grad for g in grads):
            return results
        outputs = results if isinstance(results, tuple) else (results,)
        node = (
            DelayedError()
            # It has no edges: `backward()` runs it, `grad()` does not need it.
        )
        tied = [
            set_history(ops.detach(r), node, i) if isinstance(r, TensorImpl) else r
            for i, r in enumerate(outputs)
        ]
        return tuple(tied) if isinstance(results, tuple) else tied[0]

    return backward


class DelayedError(Node):
    """The node of gradients that must not be differentiated again; it raises when it is run."""

    __slots__ = ()

    def apply(self, grads: Sequence[Any]) -> Sequence[Any]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def _wrap(
    node: BackwardNode, result: Any, number: int, args: tuple[Any, ...], records: bool, why: str
) -> Any:
    """Result `number` of `forward` as the user gets it, tied to the node. A non-tensor is returned
    as it is.

    `why` is the reason why a result that is a view may not be written to (see
    `DifferentiableViewMeta`).
    """
    if not isinstance(result, TensorImpl):
        node.input_metadata += (None,)
        return result
    is_input = any(result is a for a in args)
    dirty = any(result is t for t in node._dirty)
    silent = (
        any(result is t for t in node._non_differentiable)
        or result._geometry.dtype.category < FLOATING
    )
    if dirty:
        return _wrap_dirty(node, result, number, records)
    meta: Any = result._autograd_meta
    if meta is not None and meta.base is not None and not is_input:
        meta.creation_meta = why
    if not records or silent:
        node.input_metadata += (result._geometry.without_grad,)  # zeros will stand for its gradient
        return result.detach() if is_input and silent else result  # type: ignore[attr-defined]
    if is_input:  # a new tensor: the argument must keep its own history
        was = set_grad_mode(False)
        result = result.view_as(result)  # type: ignore[attr-defined]
        set_grad_mode(was)
    meta = result._autograd_meta
    if meta is not None and meta.base is not None:
        meta.creation_meta = why
    return set_history(result, node, number)


def _wrap_dirty(node: BackwardNode, t: Any, number: int, records: bool) -> Any:
    """An argument that `forward` wrote to and returned: its history begins anew at the node."""
    if not records:
        count_write(t)
        node.input_metadata += (None,)
        return t
    if t.requires_grad and t.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    check_inplace(t)
    count_write(t)
    # `rebase_history` makes `t` output 0 of the node, and sets the metadata of that one only; here
    # it is output `number`, after those of `before`
    before = node.input_metadata
    rebase_history(t, node)
    if t._base is None:
        t._autograd_meta.edge = (node, number)
    node.input_metadata = (*before, t._geometry.without_grad)
    return t


def _settle(node: BackwardNode, outputs: Sequence[Any], wrapped: Sequence[Any]) -> None:
    """Saves the tensors given to `save_for_backward`, with their versions; results without their
    history, which would lead back to the node and keep it alive.
    """
    saved: list[Any] = []
    for t in node._to_save:
        number = next((i for i, o in enumerate(outputs) if o is t), None)
        if t is None:
            saved.append(None)
        elif (
            number is not None
            and isinstance(wrapped[number], TensorImpl)
            and wrapped[number].requires_grad
        ):
            saved.append(save_output(wrapped[number], number))
        else:
            saved.append(save(t))
    node._saved = tuple(saved)
    # results lead back to the node: it must not hold them
    node._to_save = node._dirty = node._non_differentiable = ()
