"""`jit.script`: compiling a function or a module (`torch/jit/_script.py: script`).

One thread compiles at a time. This is because the functions that a function calls are compiled with
it, and a function that is found to be in progress already is taken for recursive.

How the real one differs: it also compiles classes, lists and dicts of modules, and infers types
from example inputs if MonkeyType is installed.
"""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from typing import Any

from internals.core.corrected import corrected
from internals.nn.module import Module

from .script_function import ScriptFunction
from .script_module import ScriptModule

enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

_compiling = threading.RLock()


def script(
    obj: object,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Compile a function or an `nn.Module`, to a `ScriptFunction` or a `RecursiveScriptModule`. One
    that is compiled already is returned as it is.

    With the environment variable PYTORCH_JIT=0, nothing is compiled, and `obj` is returned.
    `optimize` is deprecated and has no effect; `example_inputs` are ignored: annotate the
    parameters instead.

    Raises RuntimeError, or one of the errors of `jit.frontend`, with the line in question, for code
    that is not TorchScript; TypeError for an object that is neither a function nor a module;
    OSError if there is no source.
    """
    if not enabled:
        return obj
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with "
            "torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    if example_inputs is not None:
        warnings.warn(
            "example_inputs are not looked at: annotate the arguments instead", stacklevel=2
        )
    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    with _compiling:
        return _script(obj)


def _script(obj: object) -> Any:
    """The compiled form of `obj`. The front end is imported here, when it is first needed."""
    from .frontend import script_function
    from .frontend.builtin_table import find_builtin

    if isinstance(obj, Module):
        from .frontend.recursive import script_module

        return script_module(obj)
    if inspect.isclass(obj):
        if issubclass(obj, Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an "
                "instance instead"
            )
        raise RuntimeError(
            f"Type '{obj.__name__}' cannot be compiled: classes are not compiled here"
        )
    if not callable(obj) or not hasattr(obj, "__name__"):
        raise TypeError(
            corrected(
                f"a {type(obj).__name__} cannot be scripted: functions and modules can",
                f"torch.jit.script({obj!r:.40})",
                "torch.jit.script(f)",
            )
        )
    if find_builtin(obj) is not None or inspect.isbuiltin(obj):
        raise TypeError(
            corrected(
                f"{obj.__name__} is built in: it is called in functions that are scripted",
                f"torch.jit.script({obj.__name__})",
                f"def f(x): return {obj.__name__}(x)",
            )
        )
    return script_function(obj)
