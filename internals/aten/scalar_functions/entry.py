"""A line of the table of scalar functions: a formula, and the facts needed to run it.

An entry is also the *name* that it has in other formulas: a template parameter, like `T`, which
every backend fills in. So `gelu` says `erf(x)`, and `erf` is `vector_math`'s, NVIDIA's or numpy's.

How the real one differs: there is no such object; macros such as `AT_DISPATCH_FLOATING_TYPES` list
the dtypes, and `REGISTER_DISPATCH` has a function pointer for each backend.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from internals.core.dtype import BOOL, FLOATING, dtype
from internals.machine_code.templates import DeviceFunction, Template

_OF_UFUNC: dict[Any, ScalarFunction] = {}


class ScalarFunction(Template):
    """A function of one element. `formula` is None if each backend has its own.

    Keyword-only arguments are numbers that belong to the operator, like a slope: the same for all
    elements.

    ufunc: numpy's loop for it, or one written by hand.
    dtypes: the kinds it is for: "f" (floats), "i" (integers), "b" (bools).
    on_integers, on_bools: the functions used for those instead.
    quick: numpy does it in one pass, as quickly as machine code on one thread.
    compiled: whether large tensors have it as machine code; not if that would change the last bit.
    """

    def __init__(
        self,
        formula: Callable[..., Any] | None,
        ufunc: Callable[..., Any] | None = None,
        dtypes: str = "f",
        on_bools: ScalarFunction | None = None,
        *,
        on_integers: ScalarFunction | None = None,
        quick: bool = False,
        compiled: bool = True,
    ) -> None:
        super().__init__("")
        self.formula = None if formula is None else DeviceFunction(_by_position(formula))
        self.is_line = formula is None or formula.__name__ == "<lambda>"
        self.operands, self.numbers = ((), ()) if formula is None else _parameters(formula)
        self.dtypes, self.quick, self.compiled = dtypes, quick, compiled
        self.on_integers, self.on_bools = on_integers, on_bools or on_integers
        self.own_loop: Any = None
        if ufunc is not None:
            self.made_by(ufunc)

    def made_by(self, loop: Any) -> Any:
        """Make `loop`, a ufunc of numpy or one written by hand, the loop to run with numpy. Returns
        it, so this is a decorator, too."""
        if loop.__class__ is np.ufunc:
            _OF_UFUNC[loop] = self
        else:
            loop.scalar = self
        self.own_loop = loop
        return loop

    @property
    def loop(self) -> Any:
        """The loop to run with numpy: the one of `made_by`, else the formula on arrays."""
        return self._derived if self.own_loop is None else self.own_loop

    @cached_property
    def _derived(self) -> Any:
        """The loop of the formula on arrays, made when it is first used."""
        from .on_arrays import loop_of

        loop = loop_of(self)
        loop.scalar = self
        return loop

    def on(self, kind: str) -> ScalarFunction:
        """The function used for a kind of `dtypes`: itself, or `on_integers` or `on_bools`."""
        return {"i": self.on_integers, "b": self.on_bools}.get(kind) or self

    def __repr__(self) -> str:
        return f"<scalar function {self.name}>"


def kind_of(d: dtype) -> str:
    """The kind, as in `dtypes`, of the numbers of a dtype. Complex ones are floats here."""
    return "f" if d.category >= FLOATING else "b" if d.category == BOOL else "i"


def of_loop(loop: Callable[..., Any]) -> ScalarFunction | None:
    """The function of one element that `loop` applies; None if the table has none."""
    if loop.__class__ is partial:
        loop = loop.func
    if loop.__class__ is np.ufunc:
        return _OF_UFUNC.get(loop)
    inner = getattr(loop, "__wrapped__", None)  # the loop that half precision runs in single
    found: ScalarFunction | None = getattr(loop, "scalar", None)
    return of_loop(inner) if found is None and inner is not None else found


def name_of(loop: object) -> str:
    """The name of a loop in messages."""
    loop = loop.func if loop.__class__ is partial else loop
    return str(getattr(loop, "__name__", loop))


def _parameters(formula: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the names of the operands, the names of the keyword-only numbers)."""
    code = formula.__code__
    count = code.co_argcount
    return code.co_varnames[:count], code.co_varnames[count : count + code.co_kwonlyargcount]


def _by_position(formula: Callable[..., Any]) -> Any:
    """The formula with its keyword-only arguments as positional ones: backends pass all by
    position."""
    code = formula.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    code = code.replace(co_argcount=count, co_kwonlyargcount=0)
    return types.FunctionType(code, formula.__globals__, formula.__name__)
