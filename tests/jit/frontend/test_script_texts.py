"""Texts that hold without PyTorch beside us: whole graphs and whole refusals, written down from the
real thing.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from internals import jit, nn, ones
from internals.jit.frontend import script_function
from tests.jit.programs import Program, load

GRAPHS = {
    "the talk's function": (
        """
        def f(x):
            if bool(x.mean() > 1.0):
                r = 1
            else:
                r = 2
            return r
        """,
        """
        graph(%x.1 : Tensor):
          %2 : NoneType = prim::Constant()
          %4 : float = prim::Constant[value=1.]() # f.py:5:23
          %9 : int = prim::Constant[value=1]() # f.py:6:12
          %10 : int = prim::Constant[value=2]() # f.py:8:12
          %3 : Tensor = aten::mean(%x.1, %2) # f.py:5:12
          %5 : Tensor = aten::gt(%3, %4) # f.py:5:12
          %7 : bool = aten::Bool(%5) # f.py:5:7
          %r : int = prim::If(%7) # f.py:5:4
            block0():
              -> (%9)
            block1():
              -> (%10)
          return (%r)
        """,
    ),
    "a scalar on the left and an optional": (
        """
        def f(x: Optional[torch.Tensor], y):
            if x is not None:
                y = y + x
            assert y is not None, "bad"
            return 1 - y
        """,
        """
        graph(%x.1 : Tensor?,
              %y.1 : Tensor):
          %3 : NoneType = prim::Constant() # f.py:5:16
          %24 : int = prim::Constant[value=1]() # f.py:8:11
          %4 : bool = aten::__isnot__(%x.1, %3) # f.py:5:7
          %y : Tensor = prim::If(%4) # f.py:5:4
            block0():
              %x.7 : Tensor = prim::unchecked_cast(%x.1)
              %y.5 : Tensor = aten::add(%y.1, %x.7, %24) # f.py:6:12
              -> (%y.5)
            block1():
              -> (%y.1)
          %27 : Tensor = aten::neg(%y) # <string>:11:9
          %28 : Tensor = aten::add(%27, %24, %24) # <string>:11:9
          return (%28)
        """,
    ),
    "a while loop": (
        """
        def f(xs: List[int]):
            t = 0
            while t < 10:
                t += 1
            return t
        """,
        """
        graph(%xs : int[]):
          %29 : bool = prim::Constant[value=1]()
          %t.1 : int = prim::Constant[value=0]() # f.py:5:8
          %2 : int = prim::Constant[value=9223372036854775807]() # f.py:6:4
          %4 : int = prim::Constant[value=10]() # f.py:6:14
          %9 : int = prim::Constant[value=1]() # f.py:7:13
          %t : int = prim::Loop(%2, %29, %t.1) # f.py:6:4
            block0(%7 : int, %t.13 : int):
              %t.7 : int = aten::add(%t.13, %9) # f.py:7:8
              %5 : bool = aten::lt(%t.7, %4) # f.py:6:10
              -> (%5, %t.7)
          return (%t)
        """,
    ),
}
REFUSALS = {
    "undefined": (
        """
        def f(x):
            y = x + zz
            return y
        """,
        """
        undefined value zz:
          File "f.py", line 5
        def f(x):
            y = x + zz
                    ~~ <--- HERE
            return y
        """,
    ),
    "in a function that is called": (
        """
        def g(x):
            return x + zz
        def f(x):
            return g(x)
        """,
        """
        undefined value zz:
          File "f.py", line 5
        def g(x):
            return x + zz
                       ~~ <--- HERE
        'g' is being compiled since it was called from 'f'
          File "f.py", line 7
        def f(x):
            return g(x)
                   ~~~ <--- HERE
        """,
    ),
    "a type that changes": (
        """
        def f(n: int):
            r = 1
            for i in range(n):
                r = "a"
            return r
        """,
        """
        Variable 'r' previously had type int but is now being assigned to a value of type str
        :
          File "f.py", line 7
            r = 1
            for i in range(n):
                r = "a"
                ~ <--- HERE
            return r
        """,
    ),
    "no overload": (
        """
        def f(x):
            return torch.dot(x, 3)
        """,
        """
        Arguments for call are not valid.
        The following variants are available:

          aten::dot(Tensor self, Tensor tensor) -> Tensor:
          Expected a value of type 'Tensor' for argument 'tensor' but instead found type 'int'.

          aten::dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!):
          Expected a value of type 'Tensor' for argument 'tensor' but instead found type 'int'.

        The original call is:
          File "f.py", line 5
        def f(x):
            return torch.dot(x, 3)
                   ~~~~~~~~~ <--- HERE
        """,
    ),
}


def shown(text: str) -> str:
    """Without the file's directory, and without spaces that nobody sees."""
    short = re.sub(r"[\w/.\\:-]*program_\d+\.py", "f.py", text)
    return "\n".join(line.rstrip() for line in short.strip().splitlines())


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_as_written_down(name: str, tmp_path: Path) -> None:
    source, wanted = GRAPHS[name]
    graph = script_function(
        load(Program(name, dedent(source).lstrip(), ()), tmp_path, "internals").f
    ).graph
    graph.lint()
    assert shown(str(graph)) == dedent(wanted).strip()


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_as_written_down(name: str, tmp_path: Path) -> None:
    source, wanted = REFUSALS[name]
    with pytest.raises(RuntimeError) as refused:
        script_function(load(Program(name, dedent(source).lstrip(), ()), tmp_path, "internals").f)
    assert shown(str(refused.value)) == dedent(wanted).strip()


def test_a_function_is_compiled_once() -> None:
    def f(x):
        return x + 1

    assert jit.script(f) is jit.script(f)


def test_what_cannot_be_compiled_leaves_nothing_behind() -> None:
    def f(x):
        return missing(x)  # noqa: F821

    for _ in range(2):
        with pytest.raises(RuntimeError, match="undefined value missing"):
            jit.script(f)


class Base(nn.Module):
    def forward(self, x):
        return x + 1


class Derived(Base):
    def forward(self, x):
        return super().forward(x) * 2


class DerivedInFull(Base):
    def forward(self, x):
        return super(DerivedInFull, self).forward(x) * 3


@pytest.mark.parametrize("cls", [Derived, DerivedInFull])
def test_super_calls_the_method_of_the_base_class(cls: type) -> None:
    module = cls()
    scripted = jit.script(module)
    assert scripted(ones(2)).tolist() == module(ones(2)).tolist()
    assert scripted.graph.findNode("prim::CallMethod").s("name") == "__Base_forward"
