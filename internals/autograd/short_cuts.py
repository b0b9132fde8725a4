"""`a + b`, `a - b` and `a * b` recorded without detours: what the generated kernels do, unrolled.

The generated operators of `Tensor` come here when both operands have one geometry, contiguous floats on the CPU, at least one of
them requires a gradient, gradients are being recorded, and nobody is watching. The result, the node and what it saves are
the same as on the long way (`internals._generated.autograd_kernels`, `tests/test_autograd_short_cuts.py`).

How the real one differs: there the compiler does this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated.autograd_nodes import AddBackward0, MulBackward0, SubBackward0
from internals.core.dispatch_key import AUTOGRAD_MASK
from internals.core.float_errors import quiet, restore
from internals.core.geometry import Geometry, requiring_grad
from internals.core.tensor_impl import AutogradMeta, array, empty

from .anomaly import anomaly, remember_traceback
from .history import gradient_edge
from .node import next_sequence_nr
from .saved_variable import save

_new = object.__new__


def add(a: Any, b: Any, g: Geometry) -> Any:
    """a + b; `g` is the operands' geometry less the Autograd key."""
    node: Any = _new(AddBackward0)
    node._saved_alpha = 1
    return _record(node, np.add, a, b, g)


def sub(a: Any, b: Any, g: Geometry) -> Any:
    """a - b."""
    node: Any = _new(SubBackward0)
    node._saved_alpha = 1
    return _record(node, np.subtract, a, b, g)


def mul(a: Any, b: Any, g: Geometry) -> Any:
    """a * b. Each operand is saved if the gradient of the other will be asked for."""
    node: Any = _new(MulBackward0)
    node._raw_saved_other = save(b) if a._geometry.keys & AUTOGRAD_MASK else None
    node._raw_saved_self = save(a) if b._geometry.keys & AUTOGRAD_MASK else None
    return _record(node, np.multiply, a, b, g)


def _record(node: Any, loop: Any, a: Any, b: Any, g: Geometry) -> Any:
    """Compute, and tie the result to `node`."""
    node.sequence_nr, node.extras, node.input_metadata = next_sequence_nr(), None, (g,)
    ma, mb = a._autograd_meta, b._autograd_meta
    node.next_edges = (
        ma.edge if ma is not None and ma.edge is not None and ma.base is None else gradient_edge(a),
        mb.edge if mb is not None and mb.edge is not None and mb.base is None else gradient_edge(b),
    )
    if anomaly.enabled:
        remember_traceback(node)
    out = empty(g)
    x, y = a._array, b._array
    token = quiet()
    try:
        loop(array(a) if x is None else x, array(b) if y is None else y, out._array)
    finally:
        restore(token)
    out._geometry = g.with_grad or requiring_grad(g)
    meta = out._autograd_meta = _new(AutogradMeta)
    meta.edge = (node, 0)
    meta.grad = meta.accumulator = meta.hooks = None
    meta.retains_grad = False
    return out
