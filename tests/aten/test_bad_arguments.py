"""Every operator with arguments that do not fit: what it refuses it refuses by a check, not by a
complaint of numpy or Python.

Good random arguments (`op_arguments.py`) of which one or two are replaced: by other sizes, none,
another dtype, lists of another length, numbers out of range, or something of another type
altogether.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.arg_parser import PythonArgParser
from internals.core.dispatcher import OperatorHandle
from internals.core.stray_errors import StrayError
from internals.core.tensor_impl import from_array
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import DTYPES, Dtype, Stream, TensorSpec, shape, tensor
from tests.aten.test_op_fuzz import NAMES, OPS
from tests.support import full

CALLS = 60 if full() else 6

# An AssertionError is what PyTorch has to say about a device that there is not.
MEANT = (
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    OverflowError,
    AssertionError,
)
NOT_CALLED = {
    "_reshape_alias": "it believes the strides that it is given: tests/autograd/test_views.py",
    "_reshape_alias_copy": "so does its copy",
    "set_": "its argument is a storage",
    "record_stream": "its argument is a stream",
    **dict.fromkeys(["pin_memory", "_pin_memory"], "it needs a GPU"),
    "_segment_reduce_backward": "no recipe makes its name of a reduction",
}


def other(stream: Stream, value: Any) -> Any:
    """What to give in place of `value`."""
    if isinstance(value, TensorSpec):
        return other_tensor(stream, value.values)
    if isinstance(value, bool):
        return [not value, 2, None, "x"][stream.integers(4)]
    if isinstance(value, int):
        return [0, -1, -7, 5, 100, None, "x", 1.5, [value], [value, value]][stream.integers(10)]
    if isinstance(value, float):
        return [0.0, -1.0, float("nan"), float("inf"), 2, "x", None, [value], 1j][
            stream.integers(9)
        ]
    if isinstance(value, list):
        changed = [*value[:-1], other(stream, value[-1])] if value else [0]
        ints = [[0] * len(value), [-1] * len(value)] if value and isinstance(value[0], int) else []
        choices = [[], value + value[-1:], value[:-1], value[:1], value * 2, None, changed, *ints]
        return choices[stream.integers(len(choices))]
    if isinstance(value, Dtype):
        return [None, Dtype("int64"), Dtype("complex64"), Dtype("bool"), "x", 3][stream.integers(6)]
    return [None, 0, -1, "x", [], [0], 1.5, tensor(stream, (2,), "float32")][stream.integers(8)]


def other_tensor(stream: Stream, a: Any) -> Any:
    """Without elements, with another dimension or another size, of another dtype; or none."""
    dim = int(stream.integers(max(a.ndim, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        retyped = TensorSpec(a.astype(str(stream.choice(DTYPES))))
    choices = [
        tensor(stream, (), "float32"),
        tensor(stream, (0,), "float32"),
        TensorSpec(a[None]),
        retyped,
        None,
    ]
    choices += [
        TensorSpec(a.reshape(-1)),
        tensor(stream, shape(stream), str(stream.choice(DTYPES))),
    ]
    if a.ndim:
        choices += [
            TensorSpec(a.take([], dim)),
            TensorSpec(np.concatenate([a, a], dim)),
            TensorSpec(a[:0]),
        ]
    return choices[stream.integers(len(choices))]


def built(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value.build(internals, from_array)
    if isinstance(value, Dtype):
        return getattr(internals, value.name)
    return [built(v) for v in value] if isinstance(value, list) else value


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("op", OPS, ids=NAMES)
def test_what_is_refused_is_refused_by_a_check(op: OperatorHandle) -> None:
    if op.schema.name in NOT_CALLED:
        pytest.skip(NOT_CALLED[op.schema.name])
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    parser = PythonArgParser(op.schema.name, [(op,)])
    for _ in range(CALLS):
        values = arguments(op.schema, stream)
        for name in stream.choice(list(values), int(stream.integers(1, 3))) if values else []:
            values[str(name)] = other(stream, values[str(name)])
        given = {name: built(value) for name, value in values.items()}
        by_name = {a.name: given.pop(a.name) for a in op.schema.arguments if a.kwarg_only}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                parser(tuple(given.values()), by_name)
            except StrayError as error:
                raise AssertionError(f"{op.schema}\n{values}\n{error.__cause__!r}") from error
            except MEANT:
                pass
