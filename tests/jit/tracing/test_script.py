"""Script functions and modules inside of traces, and traces inside of scripts."""

from __future__ import annotations

import linecache
import textwrap
from functools import cache
from typing import Any

import pytest

import internals
from internals import nn
from tests.jit.traces import agree, caught, normalised

PROGRAM = """
    from typing import Dict, List, Optional

    @torch.jit.script
    def branch(x):
        if bool(x.sum() > 0):
            y = x
        else:
            y = -x
        return y

    @torch.jit.script
    def several(x, n: int):
        return x * n, [x]

    @torch.jit.script
    def shaped(x, n: List[int], o: Optional[int] = None):
        return x.view(n)

    @torch.jit.script
    def table(x):
        return {"a": x + 1}

    @torch.jit.script
    def first(x: List[torch.Tensor]):
        return x[0]

    @torch.jit.script
    def size(x):
        return x.size(0)

    @torch.jit.script_if_tracing
    def loop(x):
        y = x
        for i in range(int(x.size(0))):
            y = y + i
        return y

    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):
            if bool(x.sum() > 0):
                return x * self.w
            return x - self.w

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = torch.jit.script(Part())
            self.l = nn.Linear(2, 2)

        def forward(self, x):
            return self.l(self.s(x))

    loose = torch.jit.script(Part())
"""
CALLS = {
    "a branch": "lambda x: branch(x) + 1",
    "several results": "lambda x: several(x * 2, 3)[0] + several(x, 2)[1][0]",
    "a list of ints and a default": "lambda x: shaped(x, [2, 1])",
    "by keyword": "lambda x: shaped(n=[2, 1], x=x)",
    "a dict comes back": "lambda x: table(x)['a'] * 2",
    "a list of tensors": "lambda x: first([x, x * 2])",
    "an int comes back": "lambda x: x * size(x)",
    "script_if_tracing": "lambda x: loop(x) * 2",
    "a module that belongs to nobody": "lambda x: loose(x)",
    "a module among modules": "Whole()",
}


@pytest.fixture(scope="module")
def names_of(tmp_path_factory: Any) -> Any:
    """What the program defines with a library. It is a file: scripting reads the source."""

    @cache
    def names(lib: Any) -> dict[str, Any]:
        text = textwrap.dedent(PROGRAM)
        path = tmp_path_factory.mktemp(lib.__name__) / "program.py"
        path.write_text(text)
        linecache.checkcache(str(path))
        namespace = {"torch": lib, "nn": lib.nn, "__name__": f"program_{lib.__name__}"}
        exec(compile(text, str(path), "exec"), namespace)
        return namespace

    return names


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_recorded_as_in_real_pytorch(name: str, names_of: Any) -> None:
    def recorded(lib: Any) -> str:
        f = eval(CALLS[name], names_of(lib))
        x = lib.ones(1, 2) if isinstance(f, lib.nn.Module) else lib.ones(2)
        _, result = caught(lambda: lib.jit.trace(f, x, check_trace=False))
        if isinstance(result, Exception):
            return f"{type(result).__name__}: {normalised(str(result).split(' object')[0])}"
        return normalised(result.graph)

    agree(recorded)


def test_control_flow_of_a_script_stays_alive_in_the_trace(names_of: Any) -> None:
    f, looped = names_of(internals)["branch"], names_of(internals)["loop"]
    traced = internals.jit.trace(lambda x: f(x) + 1, internals.ones(2))
    assert traced(internals.ones(2)).tolist() == [2.0, 2.0]
    assert traced(-internals.ones(2)).tolist() == [2.0, 2.0]
    loop = internals.jit.trace(lambda x: looped(x) * 2, internals.ones(2))
    assert loop(internals.ones(4)).tolist() == [14.0] * 4


def test_script_if_tracing_is_an_ordinary_function_otherwise(names_of: Any) -> None:
    loop = names_of(internals)["loop"]
    assert loop(internals.ones(3)).tolist() == [4.0, 4.0, 4.0]
    assert loop.__name__ == "loop"


def test_traced_parts_of_a_script() -> None:
    traced = internals.jit.trace(nn.Linear(2, 2), internals.ones(1, 2))
    double = internals.jit.trace(lambda x: x * 2, internals.ones(2))

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.t = traced

        def forward(self, x):  # type: ignore[no-untyped-def]
            return double(self.t(x)) + 1

    scripted = internals.jit.script(Holder())
    x = internals.rand(3, 2)
    assert scripted(x).tolist() == (traced(x) * 2 + 1).tolist()


def test_the_talks_dumps() -> None:
    """Both traces of the talk as PyTorch 1.0.1 prints them, up to the numbers of values."""

    def my_function(x: Any) -> Any:
        if x.mean() > 1.0:
            r = internals.tensor(1.0)
        else:
            r = internals.tensor(2.0)
        return r

    def dumb_function(x: Any) -> Any:
        return x.t().t()

    x = internals.ones(2, 2)
    f, t = caught(lambda: [internals.jit.trace(g, x) for g in (my_function, dumb_function)])[1]
    wanted = """\
graph(%x : Float(2, 2)) {
  %5 : Float() = prim::Constant[value={2}]()
  %6 : Device = prim::Constant[value="cpu"]()
  %7 : int = prim::Constant[value=6]()
  %8 : bool = prim::Constant[value=0]()
  %9 : bool = prim::Constant[value=0]()
  %11 : Float() = aten::to(%5, %6, %7, %8, %9)
  %12 : Float() = aten::detach(%11)
  return (%12);
}
"""
    assert f.graph.dump(style="1.0.1") == wanted
    assert t.graph.dump(style="1.0.1") == (
        "graph(%x : Float(2, 2)) {\n  %1 : Float(2!, 2!) = aten::t(%x)\n  %2 : Float(2, 2) = "
        "aten::t(%1)\n  return (%2);\n}\n"
    )
    assert [n.kind() for n in t.graph_for(x).nodes()] == []
