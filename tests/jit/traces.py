"""Functions and modules to be traced by real PyTorch and by us, so that the graphs can be compared.

A program is source text: executed once with `torch` being the real one, once with `torch` being
`internals`.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import internals
from tests.answers import answer


def load(source: str, lib: Any) -> dict[str, Any]:
    """The names a program defines, `torch` being `lib`."""
    names = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional, "__name__": "program"}
    exec(compile(textwrap.dedent(source), "<program>", "exec"), names)
    return names


def tensors(lib: Any, shapes: Any) -> Any:
    """Ones of these shapes: a tuple of ints is a shape, a list several arguments, ("tuple", ...) a
    tuple, a dict a dict.
    """
    if isinstance(shapes, dict):
        return {k: tensors(lib, v) for k, v in shapes.items()}
    if isinstance(shapes, list):
        return tuple(tensors(lib, s) for s in shapes)
    if shapes and shapes[0] in ("tuple", "list"):
        made = [tensors(lib, s) for s in shapes[1:]]
        return made if shapes[0] == "list" else tuple(made)
    return lib.ones(*shapes) if shapes else lib.ones(())


def trace(lib: Any, source: str, shapes: Any, **options: Any) -> Any:
    """The trace of what a program calls `f`, unchecked and without warnings."""
    names = load(source, lib)
    lib.manual_seed(0)
    function = names["f"]() if isinstance(names["f"], type) else names["f"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.jit.trace(function, tensors(lib, shapes), check_trace=False, **options)


def agree(see: Callable[[Any], Any]) -> Any:
    """What is seen with real PyTorch is seen with us; gives it."""
    ours, theirs = see(internals), answer(see, family="jit_graphs")
    assert ours == theirs
    return ours


def assert_traced_alike(source: str, shapes: Any) -> None:
    """The graph of a program is that of real PyTorch."""
    agree(lambda lib: normalised(trace(lib, source, shapes).graph))


def normalised(text: Any) -> str:
    """A graph's text without places in files, without mangled names, modules called by their class
    alone.
    """
    text = re.sub(r" # [^%]*:\d+:\d+$", "", str(text), flags=re.MULTILINE)
    return re.sub(
        r"__torch__\.(?:\w+\.)*(\w+)", r"__torch__.\1", text.replace("internals.", "torch.")
    )


def graphs(module: Any) -> dict[str, str]:
    """The text of every method of a traced module, by the submodule's and the method's name."""
    found = {}
    for name, part in module.named_modules():
        for method in ("forward", "forward1", "forward2"):
            try:
                graph = getattr(part, method).graph if method != "forward" else part.graph
            except (AttributeError, RuntimeError):
                continue
            found[f"{name}.{method}"] = normalised(graph)
    return found


def caught(call: Any) -> tuple[list[tuple[str, str]], Any]:
    """The warnings a call gives, by category and message, and its result or the exception it ends
    with.
    """
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.filterwarnings(
            "ignore", category=internals.jit.TracerWarning, module=r"internals\.(?!jit|models)"
        )
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*", module=r"torch\.(?!jit)")
        try:
            result = call()
        except Exception as error:
            result = error
    return [(w.category.__name__, normalised(w.message)) for w in given], result
