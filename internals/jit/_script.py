"""`jit.script`: from what the user has, a function or a module, to its compiled form (`torch/jit/_script.py: script`).

How the real one differs: it also compiles classes, lists and dicts of modules, and may look at example inputs to guess types.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

from internals.nn.module import Module

from .script_function import ScriptFunction
from .script_module import ScriptModule

enabled = os.environ.get("PYTORCH_JIT", "1") != "0"


def script(obj: Any) -> Any:
    """Compile a function or an `nn.Module`. What is compiled already is returned as it is.

    Returns a `ScriptFunction` or a `RecursiveScriptModule`. With the environment variable PYTORCH_JIT=0 nothing is compiled.

    Raises RuntimeError, or one of the errors of `jit.frontend`, with the place in the source, for what is not TorchScript;
    TypeError for what is neither a function nor a module; OSError where there is no source.
    """
    if not enabled or isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    if isinstance(obj, Module):
        from .frontend.recursive import script_module

        return script_module(obj)
    if inspect.isclass(obj):
        if issubclass(obj, Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
            )
        raise RuntimeError(f"Type '{obj.__name__}' cannot be compiled: classes are not compiled here")
    if not callable(obj):
        raise TypeError(f"a {type(obj).__name__} cannot be scripted: give a function or an nn.Module")
    from .frontend import script_function

    return script_function(obj)
