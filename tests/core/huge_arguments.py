"""Every operator on tiny tensors, with one argument at a time huge: `python -m
tests.core.huge_arguments GROUP GROUPS`.

Each call is printed before it is made, so that whoever started this knows in which one it got stuck
or died. At the end the calls are printed that took too much of the processor, or raised what no
operator should. Memory is limited, so that what is merely too large fails at once.
"""

from __future__ import annotations

import resource
import signal
import sys
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import internals
from internals.core.dispatcher import OperatorHandle
from internals.core.schema import Argument
from tests.aten import test_op_fuzz as fuzz
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import TensorSpec

MEMORY = 4 << 30
PATIENCE = 10  # seconds of the processor
INTS = (2**31, 2**63 - 1, -(2**63))
FLOATS = (1e30, -1e30, float("inf"), float("nan"))
EXPECTED = (RuntimeError, ValueError, TypeError, IndexError, np.linalg.LinAlgError, MemoryError)
# What comes from a forward pass may be made up here, since it need not be right; but no recipe
# knows the names of reductions.
NOT_HERE = {name for name, why in fuzz.NOT_CALLED.items() if "forward pass" not in why}
NOT_HERE |= {"_segment_reduce_backward"}


class Stuck(BaseException):
    """A call goes on and on."""


def main(group: int, groups: int) -> None:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, stop)
    found = []
    for op, values, name, huge in calls(group, groups):
        call = f"{op.name} {name}={shown(huge)}"
        print(call, flush=True)
        error = outcome(op, {**values, name: huge})
        if error is not None and not isinstance(error, EXPECTED):
            found.append(f"{call}: {error!r}")
    print(f"found: {found}")


def outcome(op: OperatorHandle, values: dict[str, Any]) -> BaseException | None:
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        return fuzz.run(op, values, internals, fuzz.by_function).error
    except Stuck as stuck:
        return stuck
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def stop(*_: Any) -> None:
    raise Stuck


def calls(group: int, groups: int) -> Iterator[tuple[OperatorHandle, dict[str, Any], str, Any]]:
    """An operator, arguments that it takes, and a huge value for one of them."""
    for op in fuzz.OPS:
        names = {op.name.removeprefix("aten::"), op.schema.name}
        seed = zlib.crc32(op.name.encode())
        if seed % groups != group or names & NOT_HERE:
            continue
        values = good(op, np.random.default_rng(seed))
        for argument in op.schema.arguments if values else ():
            for huge in replaced(argument, values[argument.name]):
                yield op, values, argument.name, huge


def good(op: OperatorHandle, stream: np.random.Generator) -> dict[str, Any]:
    """Arguments with which the operator succeeds; none for the few whose recipes do not fit."""
    for _ in range(60):
        values = arguments(op.schema, stream)
        if outcome(op, values) is None:
            return values
    return {}


def replaced(argument: Argument, value: Any) -> Iterator[Any]:
    """Huge values for an argument: numbers, one number of a list, a tensor filled with them."""
    base = argument.type.base
    numbers = {"int": INTS, "float": FLOATS, "Scalar": INTS + FLOATS}.get(base, ())
    if not argument.type.is_list:
        yield from numbers
    else:
        given = value if isinstance(value, list) else [1] * (argument.type.list_size or 2)
        for huge in numbers:
            yield from ([*given[:i], huge, *given[i + 1 :]] for i in range(len(given)))
            yield [huge] * len(given)
    if base == "Tensor" and isinstance(value, TensorSpec) and not argument.is_write:
        kind = value.values.dtype
        for huge in {np.dtype(np.int64): INTS, np.dtype(np.float64): FLOATS}.get(kind, ()):
            yield TensorSpec(np.full_like(value.values, huge))


def shown(huge: Any) -> str:
    return f"a tensor of {huge.values.ravel()[:1]}" if isinstance(huge, TensorSpec) else str(huge)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
