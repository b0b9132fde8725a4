"""`jit.optimize`: everything this package can do to make a function or a module fast, in one call
(compare `torch.compile`).

    @jit.optimize
    def f(x, y): ...

    fast = jit.optimize(model.eval())

- The function or module is scripted, or traced if that is what example inputs are given for.
- A module in evaluation mode is frozen: batch norm goes into convolutions, and convolutions are
  packed (`optimize_for_inference`).
- What is left is fused when it runs, forwards and backwards.

How the real one differs: `torch.compile` takes the bytecode of frames as they run, guards what it
assumed about them and goes back to Python for what it cannot compile; it compiles again for other
shapes. Here a whole function is compiled or none of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from internals.core.corrected import corrected
from internals.nn.module import Module

from ._script import script
from .freezing import optimize_for_inference
from .script_module import ScriptModule

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction


def optimize(fn_or_module: object = None, example_inputs: Sequence[Any] | None = None) -> Any:
    """A fast version of a function or an `nn.Module`, called like it.

    example_inputs: a tuple of arguments to trace with, for what cannot be scripted. Without them
    such a function is traced with the arguments of its first call, and a warning says so: Python's
    decisions then stay as they were in that call.

    Called without a function it is a decorator: `@jit.optimize(example_inputs=(x,))`. A module in
    training mode is not frozen; one in evaluation mode is, and does not follow later changes of its
    parameters.

    Raises TypeError for what is neither a function nor a module, and what `jit.trace` raises.
    """
    if fn_or_module is None:
        return lambda f: optimize(f, example_inputs)
    if not callable(fn_or_module):
        raise TypeError(
            corrected(
                "jit.optimize expects a function or an nn.Module, but got "
                f"{type(fn_or_module).__name__}",
                f"torch.jit.optimize({fn_or_module!r:.40})",
                "torch.jit.optimize(f)",
            )
        )
    if example_inputs is not None:
        return _ready(_traced(fn_or_module, tuple(example_inputs)))
    try:
        compiled = script(fn_or_module)
    except Exception as why:
        # TorchScript's errors are of several types, and whatever the source makes Python raise
        return _TracedWhenCalled(fn_or_module, why)
    return _ready(compiled)


def _traced(what: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    from .tracing import trace

    return trace(what, inputs)


def _ready(compiled: ScriptFunction | ScriptModule) -> Any:
    """What is left to do: inference gets its passes; functions and training do all when they
    run.
    """
    if isinstance(compiled, ScriptModule) and not getattr(compiled, "training", True):
        return optimize_for_inference(compiled)
    return compiled


class _TracedWhenCalled:
    """What could not be scripted: the first call traces it."""

    def __init__(self, what: Callable[..., Any], why: Exception) -> None:
        self.what, self.why = what, why
        self.compiled: Any = None
        if not isinstance(what, Module):
            update_wrapper(self, what)

    def __call__(self, *inputs: Any) -> Any:
        """Traces, if this is the first call; runs the trace. A traced function takes no keyword
        arguments.
        """
        if self.compiled is None:
            name = getattr(self.what, "__name__", type(self.what).__name__)
            warnings.warn(
                f"{name} could not be scripted, so it was traced with the arguments of this call, "
                "and takes the same way through its Python code from now on; "
                f"jit.optimize({name}, example_inputs=...) does so without a warning. The reason: "
                f"{str(self.why).strip()}",
                stacklevel=2,
            )
            self.compiled = _ready(_traced(self.what, inputs))
        return self.compiled(*inputs)
