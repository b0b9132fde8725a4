"""What Python has and TorchScript has not, said where it stands, in PyTorch's words."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import pytest

from internals.jit.frontend import errors as frontend_errors
from internals.jit.frontend.build_tree import tree_of
from internals.jit.frontend.errors import FrontendError, NotSupportedError, UnsupportedNodeError
from tests.answers import answer
from tests.jit.sources import define, plain

VARIABLE = (
    "Compiled functions can't take variable number of arguments or use keyword-only arguments with "
    "defaults"
)


def source(text: str) -> str:
    """A function f(x) with the body `text`, unless that is a definition itself."""
    return (
        text
        if text.startswith(("def f", "def k"))
        else "def f(x):\n" + textwrap.indent(text, "    ")
    )


# source, the message, and the source text that is underlined
REFUSALS: list[tuple[str, str, str | None]] = [
    ("try:\n y = x\nexcept Exception:\n y = x\nreturn y", "try blocks aren't supported", "try"),
    ("def g(y):\n return y\nreturn g(x)", "function definitions aren't supported", "def"),
    ("class C:\n pass\nreturn x", "class definitions aren't supported", "class"),
    ("import math\nreturn x", "import statements aren't supported", "import"),
    ("from math import pi\nreturn x", "import statements aren't supported", "from"),
    ("global g\nreturn x", "global variables aren't supported", "global"),
    ("def k():\n z = 1\n def f(x):\n  nonlocal z\n return f\nf = k()",
     "nonlocal variables aren't supported", "nonlocal"),
    ("g = lambda y: y\nreturn g(x)", "Lambda aren't supported", "l"),
    ("return sorted(x, key=lambda y: -y)", "Lambda aren't supported", "l"),
    ("if (n := x) is not None:\n return n\nreturn x", "NamedExpr aren't supported", "n"),
    ("yield x", "Yield aren't supported", "y"),
    ("yield from x", "YieldFrom aren't supported", "y"),
    ("y = yield x\nreturn y", "Yield aren't supported", "y"),
    ("return {x, x}", "Set aren't supported", "{"),
    ("return {y for y in x}", "SetComp aren't supported", "{"),
    ("match x:\n case 1:\n  return x\nreturn x", "Match aren't supported", "m"),
    ("try:\n y = x\nexcept* ValueError:\n y = x\nreturn y", "TryStar aren't supported", "t"),
    ("y: int\ny = 1\nreturn y",
     "annotated assignments without assigned value aren't supported", "y"),
    ("def f(*x):\n    return x", VARIABLE, "*x"),
    ("def f(x, **kw):\n    return x", VARIABLE, "*kw"),
    ("def f(x, *, y: int = 3):\n    return x", VARIABLE, "3"),
    ("def f(x, *, y=[1], z=3):\n    return x", VARIABLE, "[1"),
    ("x //= 2\nreturn x", "unsupported kind of augmented assignment: FloorDiv", "/="),
    ("def f(x, y):\n    x @= y\n    return x",
     "unsupported kind of augmented assignment: MatMult", "@="),
    ("for i in range(3):\n pass\nelse:\n pass\nreturn x",
     "else branches of for loops aren't supported", "for"),
    ("return [a for a in x if a > 0]", "Comprehension ifs are not supported yet", ""),
    ("return [a + b for a in x for b in x]", "Only a single generator is currently supported", ""),
    ("return {a: a for a in x if a}", "Comprehension ifs are not supported yet", ""),
    ("return {a: b for a in x for b in x}", "Only a single generator is currently supported", ""),
    ("return sum(a for a in x if a)", "Comprehension ifs are not supported yet", ""),
    ("return g(x, **x)", "keyword-arg expansion is not supported", "x"),
    ("return {**x, 'a': 1}", "Dict expansion (e.g. `{**dict}`) is not supported", "{"),
    ("return f'{x!r}'", "Don't support conversion in JoinedStr", None),
    ("return f'{x:.3f}'", "Don't support formatting in JoinedStr", None),
    ("return f'a {x:>{8}} b'", "Don't support formatting in JoinedStr", None),
    ("__jit_x = x\nreturn x",
     "names of variables used in JIT-ed functions can't start with __jit", "__jit_x"),
    ("return b'abc'", "Unknown Constant expression type", "b'abc'"),
    ("async def g():\n pass\nreturn x", "async function definitions aren't supported", "async def"),
    ("def f(x: 'int' = (lambda: 3)()):\n    y = x\n    return (yield)",
     "Yield aren't supported", "y"),
    ("while x > 0:\n try:\n  x = x - 1\n finally:\n  pass\nreturn x",
     "try blocks aren't supported", "try"),
    ("if x:\n with x as a, x:\n  return lambda: a\nreturn x", "Lambda aren't supported", "l"),
    ("print(x, file=lambda: 1)", "Lambda aren't supported", "l"),
    ("assert x, (yield)", "Yield aren't supported", "y"),
    ("del x[lambda: 0]", "Lambda aren't supported", "l"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    REFUSALS,
    ids=[f"{i}-{m.split()[0]}" for i, (_, m, _) in enumerate(REFUSALS)],
)
def test_refused(text: str, message: str, marked: str | None) -> None:
    with pytest.raises(FrontendError) as caught:
        tree_of(define(source(text)), "f")
    error = caught.value
    assert error.msg == message
    assert error.source_range is not None
    if marked is not None:  # where the parts of an f-string begin depends on the version of Python
        assert error.source_range.text() == marked
    kind = type(error)
    assert (
        kind is UnsupportedNodeError
        if message.endswith("aren't supported") and "branches" not in message
        else issubclass(kind, FrontendError)
    )


@pytest.mark.parametrize("text", [text for text, _, _ in REFUSALS])
def test_refused_as_pytorch_does(text: str) -> None:
    fn = define(source(text))

    def refused(build: Any, errors: Any) -> tuple[str, str]:
        with pytest.raises(errors.FrontendError) as error:
            build(fn, "f")
        return type(error.value).__name__, plain(str(error.value))

    real = answer(
        lambda torch: refused(torch.jit.frontend.get_jit_def, torch.jit.frontend), family="jit"
    )
    assert refused(tree_of, frontend_errors) == real


@pytest.mark.parametrize(
    ("body", "message", "marked"),
    [
        (
            "while x:\n        pass\n    else:\n        x = 1",
            "else branches of while loops aren't supported",
            "while",
        ),
        ("raise", "raise without an exception is not supported", "raise"),
        ("return +x", "unsupported unary operator: UAdd", "x"),
        ("with x as (y, z):\n        pass", "the target of `with ... as` must be a name", "(y, z"),
    ],
)
def test_refused_where_pytorch_stumbles(body: str, message: str, marked: str) -> None:
    """Here PyTorch raises an AttributeError or TypeError of its own, without a place."""
    fn = define(f"def f(x):\n    {body}")
    with pytest.raises(NotSupportedError, match=re.escape(message) + ":\n  File") as caught:
        tree_of(fn, "f")
    assert caught.value.source_range is not None and caught.value.source_range.text() == marked
    with pytest.raises((AttributeError, TypeError)):
        answer(lambda torch: torch.jit.frontend.get_jit_def(fn, "f"), family="jit")


def test_what_1_0_1_refused_and_the_reader_takes_today() -> None:
    """The errors of the real 1.0.1 that came from its Python side (with, break, dict, <<, a = b =
    x, in): gone since.
    """
    bodies = [
        "with torch.no_grad():\n        y = x\n    return y",
        "for i in range(3):\n        break\n    return x",
        "return {1: x}",
        "return x << 1",
        "a = b = x\n    return a",
        "return x in [x]",
        "return x[::2]",
        "x %= 2\n    return x",
        "return ~x",
        "return x[..., 0]",
        "y: int = 3\n    return y",
        "del x",
        "return [a for a in x]",
        "return f'{x}'",
    ]
    for body in bodies:
        assert tree_of(define(f"def f(x):\n    {body}"), "f").name.name == "f"


def test_annotations_of_attributes_belong_to_init() -> None:
    fn = define("def forward(self, x):\n    self.y: int = 3\n    return x")
    with pytest.raises(
        ValueError, match=r"must be declared in __init__, not 'forward': SourceRange at:\n  File"
    ) as ours:
        tree_of(fn, "forward", "M")

    def refused(torch: Any) -> str:
        with pytest.raises(ValueError) as real:
            torch.jit.frontend.get_jit_def(fn, "forward", "M")
        return plain(str(real.value))

    assert plain(str(ours.value)) == answer(refused, family="jit")


def test_the_callers_are_told() -> None:
    from internals.jit.frontend import error_report

    caller = define("def caller(x):\n    return f(x)")
    fn = define("def f(x):\n    return lambda: x")
    where = tree_of(caller, "caller").body[0].range
    with error_report.compiling("caller", where), error_report.compiling("f", where):
        with pytest.raises(UnsupportedNodeError) as caught:
            tree_of(fn, "f")
    assert "'f' is being compiled since it was called from 'caller'\n" in str(caught.value)
    assert str(caught.value) == str(caught.value), (
        "known when it was raised, not when it is printed"
    )
    assert inspect.getsource(caller).strip().splitlines()[1] in str(caught.value)
