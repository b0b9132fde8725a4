"""`backward` and `grad`: from tensors to the engine (`torch/autograd/__init__.py`,
`csrc/autograd/python_engine.cpp`).

Both turn tensors into edges of the graph, make the gradients to start with (1 for a tensor of one
element), and start the engine. `backward` adds its results to the `.grad` of the leaves, `grad`
returns them.

How the real one differs: `is_grads_batched` runs the engine under vmap; gradients may be sparse.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.corrected import corrected
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import TensorImpl

from .engine import execute
from .history import gradient_edge
from .node import NO_EDGE, Edge
from .validation import validated


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of `tensors` to the `.grad` of the leaves; each of `tensors` is weighted
    by the tensor of its shape in `grad_tensors`, or by 1 if that is None and it has one element.

    `inputs` limits it to these tensors. The graph is freed unless `retain_graph` (default: the
    value of `create_graph`). Raises RuntimeError when a tensor has no history, or shapes do not
    fit.
    """
    tensors = (tensors,) if isinstance(tensors, TensorImpl) else tuple(tensors)
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, TensorImpl) else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if grad_tensors is None or isinstance(grad_tensors, TensorImpl):
        grad_tensors = [grad_tensors] * (1 if grad_tensors is not None else len(tensors))
    grads = _make_grads(tensors, list(grad_tensors))
    roots = _roots(tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warnings.warn(_CYCLE, UserWarning, stacklevel=3)
    execute(roots, grads, keep, create_graph, [_input_edge(t) for t in inputs or ()], True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, weighted by `grad_outputs`; nothing is
    accumulated.

    Raises RuntimeError for an input that has no part in the outputs, unless `allow_unused` (its
    gradient is None) or `materialize_grads` (it is zero).
    """
    if is_grads_batched:
        raise NotImplementedError(
            corrected(
                "is_grads_batched needs vmap, which is left out here: call grad once for each row",
                "grad(y, x, rows, is_grads_batched=True)",
                "[grad(y, x, row, retain_graph=True) for row in rows]",
            )
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    outputs = (outputs,) if isinstance(outputs, TensorImpl) else tuple(outputs)
    inputs = (inputs,) if isinstance(inputs, TensorImpl) else tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if grad_outputs is None or isinstance(grad_outputs, TensorImpl):
        grad_outputs = [grad_outputs] * (1 if grad_outputs is not None else len(outputs))
    grads = _make_grads(outputs, list(grad_outputs))
    for t in inputs:
        if not isinstance(t, TensorImpl):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}"
            )
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    # a graph of the gradients contains this one: by default both are kept
    keep = create_graph if retain_graph is None else retain_graph
    results = execute(
        _roots(outputs), grads, keep, create_graph, [gradient_edge(t) for t in inputs], False
    )
    for i, (t, r) in enumerate(zip(inputs, results)):
        if r is None and materialize_grads:  # no path from the outputs to this input
            results[i] = ops.zeros_like(t, None, None, None, None, None)
            if create_graph and is_grad_enabled():
                results[i].requires_grad_()
        elif r is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    return tuple(results)


def _roots(tensors: Sequence[Any]) -> list[Edge]:
    """The edges at which the engine starts, one for each tensor. Raises RuntimeError for one that
    neither has a history nor requires a gradient.
    """
    roots = []
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorImpl):
            raise RuntimeError(f"element {i} of tensors tuple is not a Tensor")
        edge = gradient_edge(t)
        if edge is NO_EDGE:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append(edge)
    return roots


def _input_edge(t: Any) -> Edge:
    """The edge that the gradient of one of `backward(inputs=...)` arrives at. A tensor inside the
    graph is told to retain its gradient, so that it too has a `.grad` afterwards.
    """
    if not isinstance(t, TensorImpl):
        raise RuntimeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}"
        )
    t.retain_grad()  # type: ignore[attr-defined]
    return gradient_edge(t)


def _make_grads(outputs: Sequence[Any], grads: list[Any]) -> list[Any]:
    """The gradient that each output starts with: the one given, in the output's dtype, or 1 for an
    output of one element. Raises RuntimeError where none is given for more elements.
    """
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    gradients = []
    for i, (t, g) in enumerate(zip(outputs, grads)):
        if not isinstance(t, TensorImpl):
            raise AssertionError("Expected output to be a torch.Tensor")
        if isinstance(g, TensorImpl):
            if g.shape != t.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] "
                    f"has a shape of {t.shape}."
                )
            if g.is_complex() is not t.is_complex():
                raise RuntimeError(
                    "For complex Tensors, both grad_output and output are required to have the "
                    "same dtype. Mismatch in dtype: "
                    f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of "
                    f"{t.dtype}."
                )
            if g.dtype is not t.dtype:
                g = ops.to_dtype(g, t.dtype, False, False, None)
            gradients.append(g if g.device is t.device else validated(g, t._geometry, i, None))
        elif g is not None:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif not t.requires_grad:
            gradients.append(None)  # `_roots` raises for this one
        elif t.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        elif t.dtype.category != dt.FLOATING:
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {t.dtype}"
            )
        else:
            gradients.append(ops.ones_like(t, None, None, None, None, None))
    return gradients


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
