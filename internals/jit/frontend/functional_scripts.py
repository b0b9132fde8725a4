"""What the compiler reads in place of a few Python functions that are written for Python only (`torch/functional.py`).

The rest of `nn.functional` is compiled as it stands, as a user's functions are.

How the real one differs: there all are written so that the compiler can read them.
"""

from __future__ import annotations

import types
from functools import cache
from typing import TYPE_CHECKING, Any

import internals
from internals.nn import functional
from internals.scripting import BooleanDispatch, dispatches

from . import functional_sources_attention as attention
from . import functional_sources_decompositions as decompositions
from . import functional_sources_signal as signal
from . import functional_sources_statistics as statistics

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction


def scripted(obj: Any) -> ScriptFunction | None:
    """The compiled form of a function that has another text for the compiler; None for other things."""
    from .recursion import compile_python_function

    source = _sources().get(obj) if callable(obj) and getattr(obj, "__hash__", None) else None
    return None if source is None else compile_python_function(source)


def dispatch_of(obj: Any) -> BooleanDispatch | None:
    """For a function that is two functions, by a flag that must be constant: where the flag is, and which functions."""
    known = dispatches.get(obj) if isinstance(obj, types.FunctionType) else None
    if known is not None:
        return known
    if obj is internals.lu:
        return BooleanDispatch("get_infos", 2, False, decompositions.lu_with_infos, decompositions.lu)
    for at, name in ((2, "unique"), (1, "unique_consecutive")):
        if obj is getattr(internals, name):
            return _by_two_flags(at, *[getattr(statistics, name + suffix) for suffix in _UNIQUE])
    return None


def _by_two_flags(at: int, plain: Any, with_inverse: Any, with_counts: Any, with_both: Any) -> BooleanDispatch:
    """The choice by `return_inverse`, an argument at place `at`, of a choice by `return_counts`, the one after it."""
    inverse = BooleanDispatch("return_counts", at + 1, False, with_both, with_inverse)
    no_inverse = BooleanDispatch("return_counts", at + 1, False, with_counts, plain)
    return BooleanDispatch("return_inverse", at, False, inverse, no_inverse)


@cache
def _sources() -> dict[Any, Any]:
    return {
        functional.multi_head_attention_forward: attention.multi_head_attention_forward,
        internals.stft: signal.stft,
        internals.cdist: statistics.cdist,
    }


_UNIQUE = ("", "_with_inverse", "_with_counts", "_with_both")
