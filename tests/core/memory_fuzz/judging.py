"""What came of a call: an answer, a refusal, or a finding.

A refusal is an error of PyTorch's types that a `raise` of this package raised. What numpy, ctypes
or Python's own functions raise names none of the things that a user knows: such "words" are told.
They are an "error" if the type is none of PyTorch's either, where the call came from Python.
"""

from __future__ import annotations

import dis
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import internals
from internals.core.device import CPU
from internals.core.tensor_impl import array
from tests.core.memory_fuzz.calls import Call
from tests.core.memory_fuzz.guarded import filled_otherwise
from tests.core.memory_fuzz.recipes import tensors

ROOT, HERE = Path(internals.__file__).parent, Path(__file__).parent
TYPES = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, OverflowError)
MODULES = ("builtins", "internals")
READ = 1 << 20  # bytes of a tensor that are looked at

UNINITIALISED = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    *("resize_", "resize_as_", "set_"),  # what they add
}


class Outcome(NamedTuple):
    """`kind` is "answered", "refused", or the finding's; `place` where, and `details` what."""

    kind: str
    place: str = ""
    details: str = ""


def judge(call: Call) -> Outcome:
    """Make the call, look at everything it gave."""
    try:
        return of_answer(call, tensors(call.run()))
    except Exception as error:
        return of_error(call, error)


def of_answer(call: Call, found: list[Any]) -> Outcome:
    if call.has_shrunk():  # its views reach out of their storage as it does; kernels must notice
        return Outcome("answered")
    if complaint := next(filter(None, map(beyond, found)), ""):
        return Outcome("outside", call.op.name, complaint)
    if call.op.schema.name not in UNINITIALISED and (complaint := unwritten(call, found)):
        return Outcome("unwritten", call.op.name, complaint)
    return Outcome("answered")


def of_error(call: Call, error: BaseException) -> Outcome:
    module = type(error).__module__.partition(".")[0]
    known = module in MODULES and isinstance(error, TYPES)
    stumbled = type(error).__name__ == "StrayError"
    if known and is_ours(error) and not stumbled:
        return Outcome("refused")
    cause = error.__cause__ if stumbled and error.__cause__ else error
    place = f"{type(cause).__name__} at {place_of(cause)}"
    details = f"{cause}\n{''.join(traceback.format_tb(cause.__traceback__)[-4:])}"
    among_operators = "parsed" not in call.ways and not is_ours(error)
    return Outcome("words" if known or among_operators else "error", place, details)


def beyond(t: Any) -> str:
    """How a tensor reaches out of its storage."""
    if t.device is not CPU:
        return ""
    g, offset, nbytes = t._geometry, t.storage_offset(), t.untyped_storage().nbytes()
    low = high = offset
    for n, stride in zip(g.sizes, g.strides):
        low, high = low + min((n - 1) * stride, 0), high + max((n - 1) * stride, 0)
    fits = 0 in g.sizes or (low >= 0 and (high + 1) * t.itemsize <= nbytes)
    if len(g.sizes) == len(g.strides) and min(g.sizes, default=0) >= 0 <= offset and fits:
        return ""
    return f"{g} at {offset}, in a storage of {nbytes} bytes"


def unwritten(call: Call, found: list[Any]) -> str:
    """Which tensor has other elements when memory that nobody wrote to has."""
    contents = [content(t) for t in found]
    with filled_otherwise():
        for i, (was, t) in enumerate(zip(contents, tensors(call.run()))):
            if content(t) != was:
                return f"tensor {i} of {len(found)} is another with other memory: {t}"
    return ""


def content(t: Any) -> bytes:
    """The elements of a tensor, none of a large one."""
    return array(t).tobytes() if t.device is CPU and 0 < t._geometry.nbytes <= READ else b""


def is_ours(error: BaseException) -> bool:
    """Whether a `raise` of this package raised it; the guarded allocator counts as a part of it."""
    last = frames(error)[-1]
    code = last.tb_frame.f_code
    inside = {ROOT, HERE} & {*Path(code.co_filename).parents}
    return bool(inside) and dis.opname[code.co_code[last.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def place_of(error: BaseException) -> str:
    """The innermost line of this package."""
    places = [(Path(f.tb_frame.f_code.co_filename), f) for f in frames(error)]
    inside = [(path.relative_to(ROOT), f) for path, f in places if ROOT in path.parents]
    if not inside:
        return "?"
    path, frame = inside[-1]
    return f"{path}:{frame.tb_lineno} {frame.tb_frame.f_code.co_name}"


def frames(error: BaseException) -> list[TracebackType]:
    found, at = [], error.__traceback__
    while at is not None:
        found.append(at)
        at = at.tb_next
    return found
