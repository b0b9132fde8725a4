"""The type of a pointwise operator's result (part of `torch/csrc/jit/passes/shape_analysis.cpp`).

Its sizes are what those of the tensors broadcast to. Its dtype the operator itself tells, which is
asked for one element of each dtype in question: no rule of promotion is written down a second time.
Where a dtype is not known, or whether a tensor has dimensions, which promotion asks too, all are
tried, and the answer counts if it is always the same: a comparison gives bool.

How the real one differs: it has the rules in lists of schemas; today it runs the operator's meta
kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.core.dtype import bool_ as bool_dtype
from internals.core.dtype import complex64, float32, float64, get_default_dtype, int64
from internals.core.dtype import dtype as DType
from internals.core.grad_mode import set_grad_mode
from internals.jit.ir.tensor_type import TensorType
from internals.jit.operators.registry import accepts, find_operator, find_operators
from internals.jit.passes.overloads import NOT_CONSTANT, constant, overload_of
from internals.jit.passes.shape_arguments import ArgumentTypes, broadcast_sizes, common_device

if TYPE_CHECKING:
    from internals.jit.ir import Node, Value

ANY_DTYPE = (bool_dtype, float32, int64, float64, complex64)
NUMBERS: dict[str, Any] = {"IntType": 1, "FloatType": 1.0, "BoolType": True}
REFUSED = object()


def pointwise(a: ArgumentTypes) -> list[TensorType]:
    dtypes = result_dtypes(a.node) or [None] * a.node.outputsSize()
    return [TensorType(d, common_device(a), broadcast_sizes(a.tensors())) for d in dtypes]


def result_dtypes(node: Node) -> Sequence[DType | None] | None:
    """The dtype of each result, None if that depends on what is not known."""
    choices = [_choices(v) for v in node.inputs()]
    found: Any = None
    for arguments in product(*choices):
        dtype = _dtype_of_one(overload_of(node), arguments, get_default_dtype())
        if dtype is REFUSED:
            continue
        if dtype is None or found not in (None, dtype):
            return None
        found = dtype
    return found


def keeps_dtype(node: Node) -> bool:
    """Whether an in-place operator could as well give a new tensor: without its `_` it takes the
    same, and gives the dtype that is written to. Where that is not known it does not matter what
    dtypes are refused in place.
    """
    name = overload_of(node)
    types = [v.type() for v in node.inputs()]
    given = tuple([TensorType.get() if isinstance(t, TensorType) else t for t in types])
    twins = find_operators(node.kind().removesuffix("_"))
    functional = next((o.name for o in twins if accepts(o.schema, given)), None)
    if functional is None:
        return False
    choices = [_choices(v) for v in node.inputs()]
    is_open, kept = len(choices[0]) >= len(ANY_DTYPE), False
    for arguments in product(*choices):
        found = _dtype_of_one(functional, arguments, get_default_dtype())
        if found == (arguments[0][0],):
            kept = True
        elif found is not REFUSED:
            in_place = _dtype_of_one(name, arguments, get_default_dtype())
            if found is None or not is_open or in_place is not REFUSED:
                return False
    return kept


def _choices(v: Value) -> tuple[Any, ...]:
    """What an argument may be: tensors as (dtype, whether it has dimensions), everything else as
    (class, value).
    """
    t = v.type()
    if isinstance(t, TensorType):
        ranks = (True, False) if t.dim() is None else (bool(t.dim()),)
        return tuple(product(ANY_DTYPE if t.dtype() is None else (t.dtype(),), ranks))
    value = constant(v)
    value = NUMBERS.get(t.kind(), NOT_CONSTANT) if value is NOT_CONSTANT else value
    return ((value.__class__, value if value.__hash__ else NOT_CONSTANT),)


@lru_cache(1 << 12)
def _dtype_of_one(name: str, arguments: tuple[tuple[Any, Any], ...], default: DType) -> Any:
    """The dtypes that the operator gives for one element. `REFUSED` if it does not take such
    arguments, None if they are not known. `default` is the dtype that integers become."""
    values = [_one(of, value) if isinstance(of, DType) else value for of, value in arguments]
    if any(v is NOT_CONSTANT for v in values):
        return None
    was = set_grad_mode(False)
    try:
        result = find_operator(name).fn(*values)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, ArithmeticError):
        return REFUSED
    finally:
        set_grad_mode(was)
    return tuple([r.dtype for r in result]) if isinstance(result, tuple) else (result.dtype,)


def _one(dtype: DType, has_dims: bool) -> Any:
    size = [1] if has_dims else []
    return ops.ones(size, dtype, None, None, None)
