"""A function given as text: `viz.explore("def f(x):\\n    return x + 1")`.

The text is run, which defines the function, and kept where `inspect` finds it, so that everything
from then on is as for a function in a file. It may use what a file with the usual imports could:
`torch` (which is `internals`), `nn`, `F`, `math`, `Tensor` and the words of `typing`. The last
function defined is the one that is meant; others are its helpers.

How the real one differs: `torch.jit.CompilationUnit(text)` compiles text without running it, and
takes TorchScript only.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import textwrap
from collections.abc import Callable
from typing import Any


def is_text(thing: Any) -> bool:
    """Whether a string is the text of a function and not the path of a file."""
    return isinstance(thing, str) and ("\n" in thing or thing.lstrip().startswith(("def ", "@")))


def function_of(text: str) -> Callable[..., Any]:
    """Run the text and return the last function that it defines.

    Raises SyntaxError for what is no Python, ValueError where no function is defined, and what
    running it raises.
    """
    text = textwrap.dedent(text).strip("\n") + "\n"
    file = f"<text {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}>"
    module = ast.parse(text, file)
    names = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    if not names:
        raise ValueError(
            "no function is defined in this text: it should contain `def name(...):` at the left "
            "margin"
        )
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = scope()
    exec(compile(module, file, "exec"), space)
    function: Callable[..., Any] = space[names[-1]]
    return function


def scope() -> dict[str, Any]:
    """What a text may use without importing it."""
    import math
    import typing

    import internals
    from internals import nn
    from internals.nn import functional

    words = {
        name: getattr(typing, name)
        for name in ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union")
    }
    return {
        "__name__": "__main__", "torch": internals, "internals": internals, "nn": nn,
        "F": functional, "math": math, "Tensor": internals.Tensor, **words,
    }  # fmt: skip
