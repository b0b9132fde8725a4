"""The language of CPU kernels: Python functions over a range of work and raw pointers.

    T = template("T")

    @inline
    def square(v):
        return v * v

    @kernel
    def add_squares(begin, end, x, y, out):
        for i in range(begin, end):
            out[i] = x[i] + square(y[i])

    add_squares.bind(T=np.float32).entry("*f4 *f4 *f4")

A kernel does the part `begin <= i < end` of a job; several threads do several parts. Pointers are
indexed by elements and have no shape: sizes and strides are arguments. `template` names are filled
in by `bind`, as in the kernels of the GPU (`templates.py`): a dtype to compute in, or another
function.

A kernel may contain whatever numba compiles without Python objects: loops, branches, local numbers,
calls of `inline` functions and of `math`. A literal 0.5 is a float64 to numba, and float32 times
float64 is float64, so constants are written T(0.5).

Arithmetic is that of IEEE, in the order written, and + - * / and sqrt give the same bits as numpy.
A sum, though, is a chain of additions, each waiting for the one before. To add sixteen at a time
the compiler has to be allowed another order: `@inline(fastmath=("reassoc", "nsz", "contract"))`
allows it, in that one function.

An `inline` function is optimised by itself before it is put into the kernel, and only in the kernel
is it known that pointers do not overlap. So a loop that copies or writes is better written in the
kernel, even if that means twice: in a shared function it would test for overlaps first, and would
not become a `memcpy`.

A plain call, `add_squares(0, n, x, y, out)`, runs as Python on numpy arrays: the reference for the
compiled kernel.

How the real one differs: `Vectorized<float>` (`aten/src/ATen/cpu/vec`) spells the vectors out; here
LLVM finds them in the loop.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from .records import signature_of
from .templates import MISSING, DeviceFunction, Template

if TYPE_CHECKING:
    from .entry import Entry

# any order; signs of zeros may change; a * b + c may be one instruction, rounded once
SUM_MAY_BE_REORDERED = ("reassoc", "nsz", "contract")
# not nnan and ninf, by which LLVM would assume that there are no NaN and inf
ALLOWED = frozenset({"reassoc", "nsz", "contract", "arcp", "afn"})


class Inline(DeviceFunction):
    """A function that kernels call. `fastmath` lists, in LLVM's words, the ways in which its
    arithmetic may be rewritten.
    """

    fastmath: tuple[str, ...] = ()
    _python: Any = None

    def _instance(self, bindings: tuple[tuple[str, Any], ...]) -> Any:
        made = super()._instance(bindings)
        made.fastmath = self.fastmath
        return made

    def __call__(self, *args: Any) -> Any:
        """Run it as plain Python."""
        if self._python is None:
            self._python = bound(self, lambda called: called)
        return self._python(*args)


class Kernel(Inline):
    """A loop over a range of work, which can be compiled."""

    def __init__(
        self, function: Callable[..., Any], bindings: tuple[tuple[str, Any], ...] = ()
    ) -> None:
        super().__init__(function, bindings)
        self._entries: dict[tuple[str, bool], Entry] = {}

    def entry(self, signature: str, aliasing: bool = False) -> Entry:
        """Its machine code for arguments of these types: from the disk, or compiled if it is not
        there.

        signature: a word for each argument after `begin` and `end`: `*f4` is a pointer to float32
        (`*f8 *i8 *i4 *i2 *i1 *u1 *b1` likewise), `i8` an int, `f8` and `f4` numbers. For a kernel
        with annotated arguments, a word for each pointer is enough. aliasing: pointers may overlap.
        Otherwise the caller promises that memory which is written overlaps with no other.

        Raises CompileError if numba cannot compile it.
        """
        found = self._entries.get((signature, aliasing))
        if found is None:
            from .compile import compiled

            whole = self._whole(signature)
            found = self._entries[signature, aliasing] = compiled(self, whole, aliasing)
        return found

    def _whole(self, signature: str) -> str:
        """The signature with words for numbers, too, if the kernel's arguments are annotated."""
        own = signature_of(self.function).split()
        if not own:
            return signature
        given = [word for word in signature.split() if word.startswith("*")]
        wanted = sum(word.startswith("*") for word in own)
        if len(given) != wanted:
            from .llvm import CompileError

            raise CompileError(
                f"{self.name} takes {wanted} pointers, and '{signature}' names {len(given)}"
            )
        pointers = iter(given)
        return " ".join(next(pointers) if word.startswith("*") else word for word in own)


def kernel(function: Callable[..., Any]) -> Any:
    """Mark `function(begin, end, ...)` as a kernel of the CPU."""
    return Kernel(function)


def inline(function: Callable[..., Any] | None = None, *, fastmath: tuple[str, ...] = ()) -> Any:
    """Mark `function` as one that kernels call. Raises ValueError for a word in `fastmath` that
    would change NaN or inf.
    """
    if wrong := set(fastmath) - ALLOWED:
        raise ValueError(
            f"fastmath may be {', '.join(sorted(ALLOWED))}, not {', '.join(sorted(wrong))}"
        )

    def mark(f: Callable[..., Any]) -> Inline:
        marked = Inline(f)
        marked.fastmath = fastmath
        return marked

    return mark if function is None else mark(function)


def template(name: str) -> Any:
    """A template parameter called `name`, for the module-level variable of that name."""
    return Template(name)


@cache
def as_inline(function: DeviceFunction) -> Inline:
    """A function of the GPU's kernels as one that kernels of the CPU can call."""
    return (
        function if isinstance(function, Inline) else Inline(function.function, function.bindings)
    )


def bound(instance: DeviceFunction, called: Callable[[Inline], Any]) -> Any:
    """The Python function of `instance`, whose global names have the values of this instance.

    called: gives the object to put in place of each function that it calls. Raises RuntimeError for
    a template parameter that was not bound.
    """
    scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": instance.function.__module__}
    for name in instance.names():
        value = instance.meaning(name)
        if isinstance(value, Template):
            raise RuntimeError(
                f"template parameter '{value.name}' of {instance.name} was not bound: "
                f"{instance.name}.bind({name}=...)"
            )
        if value is not MISSING:
            scope[name] = called(as_inline(value)) if isinstance(value, DeviceFunction) else value
    # the same bytecode with other globals; enclosing variables are cells, in the code's order
    function: Any = instance.function
    cells = tuple(types.CellType(scope[n]) for n in function.__code__.co_freevars)
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )
