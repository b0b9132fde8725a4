"""`jit.optimize`: all optimisations of this package for a function or a module, in one call
(compare `torch.compile`).

    @jit.optimize
    def f(x, y): ...

    fast = jit.optimize(model.eval())

- The function or module is scripted, or traced if example inputs are given.
- A module in evaluation mode is frozen: batch norm is folded into convolutions, and convolutions
  are packed (`optimize_for_inference`).
- The other operators are fused when the graph runs, forwards and backwards.

How the real one differs: `torch.compile` takes the bytecode of each frame as it runs, checks its
assumptions in guards, leaves to Python whatever it cannot compile, and compiles again for other
shapes. Here a function is compiled as a whole or not at all.
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
    """A fast version of a function or an `nn.Module`, called like the original.

    example_inputs: a tuple of arguments to trace with. Without them, a function that cannot be
    scripted is traced with the arguments of its first call, with a warning, because branches are
    then fixed as they were taken in that call.

    Called without a function, it returns a decorator: `@jit.optimize(example_inputs=(x,))`. A
    module in training mode is not frozen. One in evaluation mode is, so later changes of its
    parameters have no effect.

    Raises TypeError for an object that is neither a function nor a module, and the errors of
    `jit.trace`.
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
        return _optimized_for_inference(_traced(fn_or_module, tuple(example_inputs)))
    try:
        compiled = script(fn_or_module)
    except Exception as why:
        # any kind: errors of TorchScript, and whatever Python raises while looking names up
        return _TracedWhenCalled(fn_or_module, why)
    return _optimized_for_inference(compiled)


def _traced(what: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """The trace of a function or module. The tracer is imported when it is first needed."""
    from .tracing import trace

    return trace(what, inputs)


def _optimized_for_inference(compiled: ScriptFunction | ScriptModule) -> Any:
    """`compiled`, optimised for inference if it is a module in evaluation mode. Functions and
    modules in training mode are optimised when they run.
    """
    if isinstance(compiled, ScriptModule) and not getattr(compiled, "training", True):
        return optimize_for_inference(compiled)
    return compiled


class _TracedWhenCalled:
    """A function or module that could not be scripted, because of the error `why`: the first call
    traces it.
    """

    def __init__(self, what: Callable[..., Any], why: Exception) -> None:
        self.what, self.why = what, why
        self.compiled: Any = None
        if not isinstance(what, Module):
            update_wrapper(self, what)

    def __call__(self, *inputs: Any) -> Any:
        """Run the trace, which the first call records. A traced function takes no keyword
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
            self.compiled = _optimized_for_inference(_traced(self.what, inputs))
        return self.compiled(*inputs)
