"""Sources that make readers of source stumble: none at all, lambdas, decorators, line ends, tabs,
unicode, odd places.
"""

from __future__ import annotations

import functools
import linecache
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from internals.jit.frontend.build_tree import tree_of
from internals.jit.frontend.errors import UnsupportedNodeError
from internals.jit.frontend.source import parse_function, source_lines
from tests.answers import answer
from tests.jit.sources import define, plain


def test_no_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x", names)
    with pytest.raises(
        OSError,
        match="Can't get source for <function f at 0x.*TorchScript requires source access in order "
        "to",
    ):
        tree_of(names["f"], "f")


def test_the_file_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "gone.py"
    path.write_text("def f(x):\n    return x\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.unlink()
    linecache.checkcache()
    with pytest.raises(OSError, match="make sure original .py files are available"):
        tree_of(names["f"], "f")


def test_callers_are_told_when_there_is_no_source() -> None:
    from internals.jit.frontend import error_report

    caller = define("def caller(x):\n    return f(x)")
    where = tree_of(caller, "caller").body[0].range
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x", names)
    with (
        error_report.compiling("caller", where),
        error_report.compiling("f", where),
        pytest.raises(OSError) as caught,
    ):
        tree_of(names["f"], "f")
    assert "available.\n'f' is being compiled since it was called from 'caller'\n" in str(
        caught.value
    )


@pytest.mark.parametrize("thing", [len, print, dict.get, 3, "text", functools.partial(print)])
def test_what_has_no_source_by_nature(thing: Any) -> None:
    with pytest.raises(
        TypeError,
        match="module, class, method, function, traceback, frame, or code object was expected",
    ):
        parse_function(thing)


@pytest.mark.parametrize(
    "text",
    [
        "f = lambda x: x + 1",
        "f, g = (lambda x: x), 2",
        "fs = [lambda x: x]\nf = fs[0]",
        "f = (lambda: lambda x: x)()",
        "async def f(x):\n    return x",
    ],
)
def test_what_is_no_definition(text: str) -> None:
    fn = define(text)
    fn = fn[0] if isinstance(fn, tuple) else fn
    with pytest.raises(
        (RuntimeError, SyntaxError),
        match="Expected a single top-level function: .*py:1|invalid|unmatched",
    ):
        tree_of(fn, "f")


def test_decorated_functions_are_read_with_their_decorators() -> None:
    fn = define(
        """
        import functools

        def deco(*args):
            def wrap(fn):
                @functools.wraps(fn)
                def wrapped(*a, **k):
                    return fn(*a, **k)
                return wrapped
            return wrap

        @deco("def", 2)
        @deco(
            3,
        )
        def f(x, y: int = 2):
            return x + y
        """
    )
    parsed = parse_function(fn)
    assert parsed.text.startswith('@deco("def", 2)\n@deco(\n') and parsed.definition.name == "f"
    t = tree_of(fn, "f")
    assert t.body[0].sexpr() == "(return (+ (variable (ident x)) (variable (ident y))))"
    assert t.body[0].range.file_line_col() is not None and t.body[0].range.file_line_col()[1:] == (
        17,
        4,
    )  # type: ignore[index]


def test_windows_line_ends() -> None:
    fn = define("def f(x):\r\n    y = x\r\n    return {y}\r\n")
    with pytest.raises(UnsupportedNodeError) as caught:
        tree_of(fn, "f")
    assert "    return {y}\n           ~ <--- HERE\n" in str(caught.value) and "\r" not in str(
        caught.value
    )


def test_tabs_keep_their_width_in_the_marker() -> None:
    fn = define("def f(x):\n\tif x:\n\t\ty =\t{x}\n\treturn y")
    with pytest.raises(UnsupportedNodeError) as caught:
        tree_of(fn, "f")
    assert "\t\ty =\t{x}\n\t\t   \t~ <--- HERE\n" in str(caught.value)


def test_unicode_names_and_strings() -> None:
    fn = define(
        "def f(größe, 変数):\n    '''ünï'''\n    é = größe + 変数.t() + größe.é[0]\n"
        "    return é, 'ñ', {変数}, é"
    )
    with pytest.raises(UnsupportedNodeError) as caught:
        tree_of(fn, "f")
    assert "    return é, 'ñ', {変数}, é\n                   ~ <--- HERE\n" in str(caught.value)
    fine = tree_of(
        define("def f(größe, 変数):\n    é = größe + 変数.t() + größe.é[0]\n    return é"), "f"
    )
    places = [n.range.text() for n in fine.walk() if type(n).__name__ == "Var"]
    assert places == ["é", "größe", "変数", "größe", "é"]
    assert [n.range.text() for n in fine.walk() if type(n).__name__ == "Select"] == [
        "変数.t",
        "größe.é",
    ]


def test_wide_characters_take_two_columns() -> None:
    with pytest.raises(UnsupportedNodeError) as caught:
        tree_of(define("def f(変数):\n    return 変数, {変数}"), "f")
    assert "    return 変数, {変数}\n                 ~ <--- HERE\n" in str(caught.value)


def test_nested_and_indented_functions_are_shown_as_they_stand() -> None:
    make = define(
        """
        class C:
            def make(self):
                def f(x):
        # a comment further left
                    s = '''text
          further left'''
                    return {x}
                return f
        """
    )
    with pytest.raises(UnsupportedNodeError) as caught:
        tree_of(make().make(), "f")
    assert "            return {x}\n                   ~ <--- HERE\n" in str(caught.value)
    assert "line 8\n" in str(caught.value)


def test_a_class_method_and_a_bound_method() -> None:
    cls = define(
        "class C:\n    def f(self, x):\n        return x\n    g = f\n    h = staticmethod(lambda "
        "x: x)"
    )
    assert tree_of(cls.f, "f", "C").name.name == tree_of(cls().f, "f", "C").name.name == "f"
    assert tree_of(cls.g, "g", "C").name.name == "g"


def test_continued_lines_and_odd_layout() -> None:
    fn = define("def f(x\n  ,\n y) : return (x +\n# here\n\n   y\n)\n\n\n# after")
    assert tree_of(fn, "f").body[0].range.text() == "return (x +\n# here\n\n   y"


def test_two_functions_on_one_line() -> None:
    f = define("def g(x): return x; y = 2\nf = g")
    assert [s.sexpr()[:4] for s in tree_of(f, "f").body] == ["(ret", "(ass"]


def test_a_notebook_cell() -> None:
    """IPython keeps a cell's source in linecache, under a name in a temporary directory; errors
    call it `<cell>`.
    """
    name = "/tmp/ipykernel_123/456.py"
    text = "def f(x):\n    return {x}\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    module = types.ModuleType("cell")
    sys.modules["cell"] = module
    try:
        exec(compile(text, name, "exec"), module.__dict__)
        with pytest.raises(UnsupportedNodeError, match='File "<cell>", line 2\n'):
            tree_of(module.f, "f")
        assert source_lines(module.f)[1] == 1
    finally:
        del linecache.cache[name], sys.modules["cell"]


def test_deep_nesting() -> None:
    fn = define("def f(x):\n    return " + "(" * 60 + "x" + ")" * 60 + " + 1" * 150)
    assert tree_of(fn, "f").sexpr().count("(+") == 150


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return {x}",
        "@staticmethod\ndef f(x):\n    y = x\n\n    return y.z[lambda: 0]",
        "def f(x): return {x}",
    ],
)
def test_errors_read_as_pytorchs(text: str) -> None:
    fn = define(text)
    fn = getattr(fn, "__func__", fn)

    def refused(build: Any) -> tuple[str, str]:
        with pytest.raises(Exception) as error:
            build(fn, "f")
        return type(error.value).__name__, plain(str(error.value))

    assert refused(tree_of) == answer(
        lambda torch: refused(torch.jit.frontend.get_jit_def), family="jit"
    )
