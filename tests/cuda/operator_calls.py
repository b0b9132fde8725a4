"""Calls of operators with random arguments on the CPU and on the device, and what is different
about their outcomes.

Arguments come from `tests/aten/op_arguments.py`, which knows every operator; tensors are made on
the CPU and moved with their strides.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import internals
from internals.core.device import device
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.tensor_impl import TensorImpl, array, from_array
from tests.aten.areas import rows, table
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import Dtype, TensorSpec
from tests.aten.test_op_fuzz import NOT_CALLED, UNINITIALISED, ties, unfinite
from tests.support import outcome

CUDA = device("cuda", 0)
# sums in another order
RTOL_ATOL = {"float16": (2e-2, 2e-2), "complex64": (1e-3, 1e-4), "float32": (1e-3, 1e-4)}
DRAWN = {
    op.schema.name
    for op in dispatcher.operators.values()
    if any(a.type.base == "Generator" for a in op.schema.arguments)
}
RANDOM = {name.removesuffix("_") for name in DRAWN} | {
    *"alpha_dropout dropout feature_alpha_dropout feature_dropout native_dropout".split(),
}
FALLBACK, NATIVE, COMPOSITE = "fallback", "native", "composite"

OPERATORS = [op for name, op in sorted(dispatcher.operators.items()) if name.startswith("aten::")]

# Operators that this test cannot compare, and why. Those of `test_op_fuzz.NOT_CALLED` need
# arguments that no recipe makes.
NOT_COMPARED = {
    name: reason
    for name, reason in NOT_CALLED.items()
    if not name.startswith("normal.") and name != "binary_cross_entropy.out"
} | {"detach_": "whether it is refused depends on how the tensor was made", **table("NOT_COMPARED")}

# Calls whose outcome is open: which operators, which arguments, and why. They are not compared.
OPEN = [
    (
        "(var|std)_mean",
        unfinite,
        "one pass meets infinity minus infinity, which is NaN; two passes compute the mean first",
    ),
    (
        "topk",
        lambda v: not v["sorted"] or ties(v["self"]),
        "the order, and which of equal elements",
    ),
    *rows("OPEN"),
]


def way(op: OperatorHandle) -> str:
    """How `op` runs for tensors on the device: a kernel of the CUDA key, a kernel made of other
    operators, or the CPU's.
    """
    found = op.kernel_for(DispatchKey.CUDA)
    assert found is not None, f"{op.name} does not run on CUDA at all"
    return {"kernel": NATIVE, "backend fallback": FALLBACK}.get(found[1], COMPOSITE)


def is_random(op: OperatorHandle) -> bool:
    """Whether `op` draws numbers: the device has a generator of its own, which gives others."""
    return op.schema.name.removesuffix("_") in RANDOM


def calls(op: OperatorHandle, number: int, tries: int = 40) -> Iterator[tuple[dict[str, Any], Any]]:
    """Up to `number` calls that succeed on the CPU: their arguments, and what came of them there.

    Two that fail are among them too, if there are any: the device must refuse them as well.
    """
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    good = bad = 0
    for _ in range(number * tries):
        values = arguments(op.schema, stream)
        if writes_to_expanded(op, values) or is_open(op, values):
            continue
        found = run(op, values, internals.device("cpu"))
        if found[1] is None:
            good += 1
        else:
            bad += 1
            if bad > 2:
                continue
        yield values, found
        if good == number:
            return


def is_open(op: OperatorHandle, values: dict[str, Any]) -> bool:
    return any(
        re.fullmatch(names, op.schema.name) and condition(values) for names, condition, _ in OPEN
    )


def writes_to_expanded(op: OperatorHandle, values: dict[str, Any]) -> bool:
    """Whether `op` would write to elements that share memory: which operators refuse that is open,
    and what becomes of it too.
    """
    written = [values[a.name] for a in op.schema.arguments if a.is_write]
    return any(isinstance(v, TensorSpec) and v.layout == "expanded" for v in written)


def run(op: OperatorHandle, values: dict[str, Any], where: device) -> tuple[Any, Exception | None]:
    """What `op` returned and all tensors that it wrote to, or the error."""
    built = {name: build(v, where) for name, v in values.items()}
    for argument in op.schema.arguments:
        if argument.name == "device" and where.type == "cuda":
            built["device"] = where
        if argument.name == "pin_memory" and where.type == "cuda":
            built["pin_memory"] = None  # only memory of the host is pinned
    internals.manual_seed(1)
    result, error = outcome(lambda: op(*built.values()))
    if where.type == "cuda" and error is None:
        error = outcome(lambda: internals.cuda.synchronize(where))[
            1
        ]  # an index out of range is found out by the kernel
    written = [built[a.name] for a in op.schema.arguments if a.is_write]
    return (result, *written), error


def build(value: Any, where: device) -> Any:
    """The argument that a specification describes, on the device `where`."""
    if isinstance(value, TensorSpec):
        return moved(value.build(internals, from_array), where)
    if isinstance(value, Dtype):
        return getattr(internals, value.name)
    return [build(v, where) for v in value] if isinstance(value, list) else value


def moved(t: Any, where: device) -> Any:
    """`t` on `where`, looking at a copy of its whole storage in the way it looks at its own."""
    if where.type == "cpu":
        return t
    n = t._storage.nbytes() // t.itemsize
    everything = (
        internals.empty(0, dtype=t.dtype).set_(t.untyped_storage(), 0, (n,), (1,)).to(where)
    )
    result = internals.empty(0, dtype=t.dtype, device=where)
    return result.set_(everything.untyped_storage(), t.storage_offset(), tuple(t.shape), t.stride())


def difference(
    op: OperatorHandle,
    got: tuple[Any, Exception | None],
    expected: tuple[Any, Exception | None],
    values: Any = (),
) -> str:
    """What is not the same, or nothing. `values` are the arguments: a result is no more precise
    than the first of them.
    """
    (a, error_a), (b, error_b) = got, expected
    if error_a is None and str(error_b) == "ZeroDivisionError":
        # the GPU divides integers by zero without a word
        return ""
    if (error_a is None) != (error_b is None):
        return f"cuda: {error_a!r} {a[0]!r}\ncpu: {error_b!r} {b[0]!r}"
    if error_b is not None and "device-side assert triggered" in str(error_a):
        return ""
    if error_b is not None:
        alike = isinstance(error_a, type(error_b)) or isinstance(error_b, type(error_a))
        return "" if alike else f"cuda: {error_a!r}\ncpu: {error_b!r}"
    given = [v.values.dtype.name for v in dict(values).values() if isinstance(v, TensorSpec)][:1]
    return unlike(op, a, b, *given)


def unlike(op: OperatorHandle, a: Any, b: Any, given: str = "") -> str:
    if isinstance(b, (list, tuple)):
        if type(a) is not type(b) or len(a) != len(b):
            return f"{type(a)} of {len(a)} results against {type(b)} of {len(b)}"
        return next(filter(None, (unlike(op, x, y, given) for x, y in zip(a, b))), "")
    if not isinstance(b, TensorImpl):
        return "" if a == b or a != a or _close(a, b) else f"{a!r} against {b!r}"
    x: Any = a
    if x.device is not CUDA:
        return f"the result is on {x.device}"
    if (x.dtype, tuple(x.shape)) != (b.dtype, tuple(b.shape)):
        return f"{x.dtype} {list(x.shape)} against {b.dtype} {list(b.shape)}"
    if x.numel() and x.stride() != b.stride():
        return f"strides {x.stride()} against {b.stride()}"
    if op.schema.name in UNINITIALISED or is_random(op):
        return ""
    return _unlike_values(array(x.detach().cpu()), array(b.detach()), b.dtype.name, given)  # type: ignore[attr-defined]


def _unlike_values(x: Any, y: Any, *dtypes: str) -> str:
    rtol, atol = max(RTOL_ATOL.get(dtype, (1e-7, 1e-8)) for dtype in dtypes)
    with np.errstate(all="ignore"):
        same = (
            np.array_equal(x, y)
            if x.dtype.kind in "biu"
            else np.allclose(x, y, rtol, atol, equal_nan=True)
        )
    return "" if same else f"{x} against {y}"


def _close(a: Any, b: Any) -> bool:
    return isinstance(a, (float, complex)) and abs(a - b) <= 1e-4 * (1 + abs(b))
