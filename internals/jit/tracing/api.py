"""`trace` and `trace_module`: recording a run of a function or module as a graph
(`torch/jit/_trace.py`).

    def f(x, y):
        return 2 * x + y

    traced = jit.trace(f, (rand(3), rand(3)))
    traced.graph                # the operators that f called
    traced(a, b)                # calls them again, with other tensors

A function becomes a `ScriptFunction`, a module a `TopLevelTracedModule`. The trace is then checked:
it is recorded a second time, and its outputs are compared with those of the original (`check.py`).

How the real one differs: it warns that tracing is deprecated in favour of `torch.compile` and
`torch.export`, which do not exist here; and its `trace` has arguments for where compiled code is
kept.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from internals.core.tensor_impl import TensorImpl
from internals.jit import _script
from internals.jit._script import script
from internals.jit.names import qualified_name
from internals.jit.script_function import ScriptFunction
from internals.jit.script_module import ScriptModule
from internals.nn.module import Module

from . import recorder as _recorder  # noqa: F401  (registers the kernel of the Tracer key)
from .check import check_trace as run_checks, clone_inputs
from .run import record_function
from .state import is_tracing
from .traced_module import TopLevelTracedModule, traced_module


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
) -> Any:
    """Run a function or module on example inputs, and return the operators it called, as a
    `ScriptFunction` or `TopLevelTracedModule`.

    `example_inputs` is a tensor or a tuple of arguments: tensors, and (nested) tuples, lists and
    dicts of them; `example_kwarg_inputs` takes them by name instead. With `check_trace` the trace
    is checked on `check_inputs`, a list of arguments, or on the example inputs again; outputs may
    differ by a relative `check_tolerance`. `strict=False` allows lists and dicts as outputs.

    Branches and loops are not recorded, only the operators of this run. Raises RuntimeError for
    inputs and outputs that cannot be traced, and TracingCheckError if a second trace differs. With
    the environment variable PYTORCH_JIT=0, it returns `func` itself.
    """
    if not _script.enabled:
        return func
    warn_if_optimize(optimize)
    if isinstance(func, ScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the "
            "object as is.",
            stacklevel=2,
        )
        return func
    options = {"check_trace": check_trace, "check_tolerance": check_tolerance, "strict": strict}
    owner = getattr(func, "__self__", None)
    # a module or its bound `forward`
    if isinstance(func, Module) or (isinstance(owner, Module) and func.__name__ == "forward"):
        module = func if isinstance(func, Module) else owner
        by_name = isinstance(example_kwarg_inputs, dict)
        if example_inputs is None and not by_name:
            raise RuntimeError("example_kwarg_inputs should be a dict")
        return trace_module(
            module,
            {"forward": example_kwarg_inputs if by_name else example_inputs},
            None,
            check_inputs=None if check_inputs is None else [{"forward": c} for c in check_inputs],
            _force_outplace=_force_outplace,
            _module_class=_module_class,
            example_inputs_is_kwarg=by_name,
            **options,  # type: ignore[arg-type]
        )
    if isinstance(owner, Module):
        raise AttributeError(
            "trace doesn't support compiling individual module's functions.\nPlease use "
            "trace_module"
        )
    inputs = (
        example_kwarg_inputs if example_kwarg_inputs is not None else _as_arguments(example_inputs)
    )
    traced = trace_function(func, inputs, strict, _force_outplace)
    if check_trace:
        # a function of the inputs: the second trace is recorded once for each set of check inputs
        again = functools.partial(
            trace_function, func, strict=strict, force_outplace=_force_outplace
        )
        for given in [inputs] if check_inputs is None else check_inputs:
            run_checks(_as_check_arguments(given), func, traced, again, check_tolerance)
    return traced


def trace_function(
    func: Callable[..., Any], inputs: Any, strict: bool = True, force_outplace: bool = False
) -> ScriptFunction:
    """Trace a function, without a check. `inputs` is a tuple of arguments, or a dict of them."""
    names = argument_names(func)
    by_name = isinstance(inputs, dict)
    if by_name:  # in the order of the parameters, unless some are not parameters (`**kwargs`)
        inputs = (
            {n: inputs[n] for n in names if n in inputs} if set(inputs) <= set(names) else inputs
        )
    graph = record_function(
        func,
        list(inputs.values()) if by_name else inputs,
        list(inputs) if by_name else names,
        keywords=list(inputs) if by_name else (),
        strict=strict,
        force_outplace=force_outplace,
    )
    full = qualified_name(func)
    return ScriptFunction(full.rpartition(".")[2], graph, python_function=func)


def trace_module(
    mod: object,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Sequence[dict[str, Any]] | None = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    *,
    example_inputs_is_kwarg: bool = False,
) -> Any:
    """Trace several methods of a module, `{"forward": example_inputs, "other": ...}`, into one
    `TopLevelTracedModule`.

    Raises AttributeError if `mod` is not a module or `inputs` not a dict; otherwise as `trace`
    does.
    """
    if not _script.enabled:
        return mod
    warn_if_optimize(optimize)
    if not isinstance(mod, Module):
        raise AttributeError("expected internals.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    traced = traced_module(mod, _module_class or TopLevelTracedModule)
    for name, given in inputs.items():
        # kept for `save`, which writes them as `traced_inputs.pkl`
        kept = traced.__dict__.setdefault("_traced_inputs", {})
        kept[name] = list(given.values() if example_inputs_is_kwarg else make_tuple(given))
        method = trace_method(
            mod, traced, name, given, strict, _force_outplace, example_inputs_is_kwarg
        )
        if not check_trace:
            continue
        original = mod if name == "forward" else getattr(mod, name)
        for checked in [inputs] if check_inputs is None else check_inputs:
            again = functools.partial(
                _trace_again, mod, checked, name, strict, _force_outplace, example_inputs_is_kwarg
            )
            arguments = checked[name] if example_inputs_is_kwarg else make_tuple(checked[name])
            run_checks(arguments, original, method, again, check_tolerance)
    return traced


def trace_method(
    mod: Module,
    traced: ScriptModule,
    name: str,
    inputs: Any,
    strict: bool,
    force_outplace: bool,
    by_name: bool,
) -> Any:
    """Trace one method of `mod` and add it to `traced`; returns the bound method. Raises NameError,
    with `by_name`, for an input that is not a parameter.
    """
    function = mod if name == "forward" else getattr(mod, name)
    names = argument_names(getattr(mod, name))
    if by_name:
        for key in inputs:
            if key not in names:
                valid = "[" + ",".join(names) + "]"
                raise NameError(
                    f"'{key}' is not in forward() method's arguments,\n                         "
                    f"valid arguments name are {valid}"
                )
    inputs = {n: inputs[n] for n in names if n in inputs} if by_name else make_tuple(inputs)
    type = traced._jit_type
    graph = record_function(
        function,
        list(inputs.values()) if by_name else inputs,
        list(inputs) if by_name else names,
        keywords=list(inputs) if by_name else (),
        strict=strict,
        force_outplace=force_outplace,
        module=traced,
        scopes=dict(_scopes(mod, "__module")),
    )
    full = f"{type.qualified_name}.{name}"
    type.addMethod(
        name,
        ScriptFunction(name, graph, qualified_name=full, python_function=function, is_method=True),
    )
    return traced._method(name)


def _trace_again(
    mod: Module,
    all_inputs: dict[str, Any],
    name: str,
    strict: bool,
    outplace: bool,
    by_name: bool,
    inputs: Any,
) -> Any:
    """The method `name` of a second trace of the whole module, for the check; that method is traced
    on `inputs`, the others on copies of theirs.
    """
    traced = traced_module(mod)
    for method, given in all_inputs.items():
        trace_method(
            mod,
            traced,
            method,
            inputs if method == name else clone_inputs(given),
            strict,
            outplace,
            by_name,
        )
    return traced._method(name)


def _scopes(parent: Module, prefix: str) -> Iterator[tuple[Any, str]]:
    """Every submodule below `parent` with its scope, such as `__module.seq.0`. A module that is
    registered in several modules comes several times; as a dict, the last one counts.
    """
    for name, child in parent.named_children():
        yield child, f"{prefix}.{name}"
        yield from _scopes(child, f"{prefix}.{name}")


def argument_names(function: Callable[..., Any]) -> list[str]:
    """The names of the parameters that may be given by position or keyword; [] for a function
    without a signature.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


def make_tuple(inputs: Any) -> tuple[Any, ...]:
    """Arguments as a tuple. A tensor or a dict is a single argument."""
    return (inputs,) if isinstance(inputs, (TensorImpl, dict)) else tuple(inputs)


_as_arguments = make_tuple


def _as_check_arguments(given: Any) -> Any:
    return (given,) if isinstance(given, TensorImpl) else given


def warn_if_optimize(optimize: Any) -> None:
    """Warn, at the line that calls `trace`, that `optimize` has no effect."""
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with "
            "torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=3,
        )


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: inside a trace, compile `fn` and record a call of it, so that its branches and
    loops are kept; otherwise run it as it is.
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return script(fn)(*args, **kwargs) if is_tracing() else fn(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper
