"""The just-in-time compiler: from Python functions and modules to graphs that can be read, changed,
saved and run (`torch/jit`).

Two front ends, `trace` (record the operators of a run) and `script` (compile the source), lead to
one intermediate representation (IR), the graph.

    ir/          graphs, and their text
    operators/   the operators that the nodes of a graph call
    tracing/     front end one: a dispatch key that records
    frontend/    front end two: source → syntax tree → typed tree → graph
    passes/      from a graph to an optimised graph
    runtime/     from a graph to instructions or Python code, and running them
    fuser/       from a group of pointwise operations to one loop in machine code

    script_function.py, script_module.py, script_methods.py   compiled functions and modules
    script_object.py                                          objects of compiled classes
    schema.py, schema_parser.py, type_variables.py            the arguments and results of an
                                                              operator or function
    arguments.py, names.py                                    from Python's arguments to the
                                                              graph's; qualified names
    freezing.py, optimizing.py                `freeze`: a module and its weights as one graph;
                                              `optimize`
    python_print.py, python_expressions.py, python_inlining.py   a graph as readable source: `.code`
    saving.py                                                 `save` and `load`, which call
                                                              `internals.serialization`

How the real one differs: everything after the syntax tree is C++; here every step is Python that
you can open.
"""

from __future__ import annotations

from typing import Any, Final

from internals.functional.scripting import (
    Attribute,
    annotate,
    is_scripting,
    isinstance_ as isinstance,
    unwrap_optional as _unwrap_optional,
)

from ._script import script
from .script_function import ScriptFunction, ScriptMethod
from .script_module import RecursiveScriptModule, ScriptModule

# Names that are imported when first asked for, and the modules they are in: `import internals` need
# not load the whole compiler.
_LATER = {
    **dict.fromkeys(("ignore", "unused", "export"), "frontend.modifiers"),
    **dict.fromkeys(("trace", "trace_module", "is_tracing", "script_if_tracing"), "tracing"),
    **dict.fromkeys(
        ("TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError"), "tracing"
    ),
    **dict.fromkeys(("freeze", "optimize_for_inference", "run_frozen_optimizations"), "freezing"),
    "convolution_plan": "runtime.convolution_group",
    **dict.fromkeys(
        ("register_pass", "register_pre_pass", "register_post_pass"), "passes.registry"
    ),
    **dict.fromkeys(("run_pass", "verify_after_every_pass"), "passes.registry"),
    **dict.fromkeys(("executor", "optimized_execution"), "runtime.settings"),
    **dict.fromkeys(("fork", "wait", "Future"), "runtime.future"),
    **dict.fromkeys(("save", "load"), "saving"),
    "optimize": "optimizing",
    "script_method": "script_methods",
    "parse_ir": "ir.parser",
    "Error": "runtime.errors",
}
_MODULES = ("frontend", "fuser", "ir", "operators", "passes", "runtime", "tracing")

__all__ = [
    "Attribute", "Final", "PASSES", "RecursiveScriptModule", "ScriptFunction", "ScriptMethod",
    "ScriptModule", "_unwrap_optional", "annotate", "is_scripting", "isinstance", "script", *_LATER,
    *_MODULES,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LATER:
        value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    if name == "PASSES":
        from .passes.registry import PASSES, load_passes

        load_passes()
        return PASSES
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
