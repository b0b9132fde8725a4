"""What an operator's check-and-shape part says without data is what the kernel does with data.

All operators that "meta" knows, with random arguments: sizes, dtype and strides of the results are
equal, and so are type and words of the errors.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.device import META
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import OperatorHandle
from internals.core.geometry import bytes_spanned, geometry
from internals.core.storage import Storage
from internals.core.tensor_impl import TensorImpl, make
from tests.aten.op_arguments import arguments
from tests.aten.test_op_fuzz import OPS, build, is_called
from tests.support import full, outcome

CALLS = 40 if full() else 8
# about data, and about memory
OTHER_ERRORS = "ZeroDivisionError|value cannot be converted|Expected p_in|pin_memory=True"


def has_part(op: OperatorHandle) -> bool:
    """Whether it has one, and a tensor that takes the call there."""
    reads = any(a.type.base == "Tensor" and not a.kwarg_only for a in op.schema.arguments)
    return DispatchKey.Meta in op.kernels and reads and is_called(op)


def called(op: OperatorHandle, given: list[Any]) -> tuple[Any, Exception | None]:
    return outcome(lambda: op(*given))


def without_data(x: Any) -> Any:
    """`x` with tensors that have a geometry, and no memory."""
    if isinstance(x, list):
        return [without_data(v) for v in x]
    if not isinstance(x, TensorImpl):
        return x
    g = x._geometry
    on_meta = geometry(g.sizes, g.strides, g.dtype, META)
    return make(Storage.allocate(bytes_spanned(on_meta, x._offset), META), on_meta, x._offset)


def shapes(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [shapes(v) for v in x]
    if not isinstance(x, TensorImpl):
        return x
    return list(x.shape), x.dtype, x.stride() if x.numel() else None


@pytest.mark.parametrize(
    "op", [op for op in OPS if has_part(op)], ids=lambda op: op.name.removeprefix("aten::")
)
def test_as_with_data(op: OperatorHandle) -> None:
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    agreed = 0
    for _ in range(20 * CALLS):
        values = arguments(op.schema, stream)
        given = [build(v, internals) for v in values.values()]
        stand_ins = [without_data(v) for v in given]
        result, error = called(op, given)
        found, refused = called(op, stand_ins)
        about = f"{op.schema}\n{values}\n"
        if error is not None:
            same = type(refused) is type(error) and str(refused) == str(error)
            assert same or re.match(OTHER_ERRORS, str(error)), (
                f"{about}{error!r}, without data {refused!r}, {shapes(found)}"
            )
            continue
        assert refused is None, f"{about}without data: {refused!r}"
        assert shapes(found) == shapes(result), about
        agreed += 1
        if agreed == CALLS:
            break
    assert agreed
