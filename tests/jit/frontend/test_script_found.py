"""What was found wrong by compiling programs nobody had tried, and the compiler's steps, one by
one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import internals
from internals.jit.frontend import script_function
from internals.jit.frontend.steps import compilation_steps
from tests.answers import answer
from tests.jit.frontend.test_script_results import same
from tests.jit.programs import Program, arguments, load, normalized, place_free, programs

# The body of a `with` may be left in the middle, and what it assigns is read after it. PyTorch
# fails with an internal error.
LEFT_IN_A_WITH = programs("""
### return
def f(x):
    with torch.no_grad():
        if bool(x.sum() > 0):
            return x
        y = x + 1
        z = y * 2
    return y - z
>>> torch.ones(2)
>>> -torch.ones(2)
### break
def f(x, n: int):
    for i in range(5):
        with torch.no_grad():
            if i == n:
                break
            x = x + i
        x = x * 2
    return x
>>> torch.ones(2), 2
>>> torch.ones(2), 9
### continue
def f(x, n: int):
    total = 0
    y = x
    for i in range(5):
        with torch.no_grad():
            if i == n:
                continue
            y = x + i
            total += i
        x = x * 2 + y
    return x, total
>>> torch.ones(2), 2
>>> torch.ones(2), 9
### one in another
def f(x, n: int):
    with torch.no_grad():
        a = x + 1
        with torch.enable_grad():
            if n == 0:
                return a
            b = a * 2
        c = a + b
        if n == 1:
            return c
        d = c * c
    return a + b + c + d
>>> torch.ones(2), 0
>>> torch.ones(2), 1
>>> torch.ones(2), 2
### return out of a loop in it
def f(x, n: int):
    with torch.no_grad():
        for i in range(3):
            x = x * 2
            if i == n:
                return x
        y = x + 1
    return y - x
>>> torch.ones(2), 1
>>> torch.ones(2), 5
### after an early return
def f(x: Optional[torch.Tensor]):
    if x is None:
        return 0
    with torch.no_grad():
        y = x[0] * 2
    assert y.numel() > 0, "empty"
    return y.numel()
>>> None
>>> torch.ones(2, 3)
""")


@pytest.mark.parametrize("program", LEFT_IN_A_WITH, ids=lambda p: p.name)
def test_leaving_the_body_of_a_with(program: Program, tmp_path: Path) -> None:
    module = load(program, tmp_path, "internals")
    compiled = script_function(module.f)
    compiled.graph.lint()
    for text in program.inputs:
        wanted = module.f(*arguments(module, text))
        assert same(compiled(*arguments(module, text)), wanted)
        assert same(compiled(*arguments(module, text)), wanted)
    assert internals.is_grad_enabled()


MUTABLE_DEFAULTS = programs("""
### list
def f(x, n: List[int] = [1]):
    return x
### without annotation
def f(x, n=[1]):
    return x
### dict
def f(x, n: Dict[str, int] = {}):
    return x
### list in a tuple
def f(x, n: Tuple[int, List[int]] = (1, [2])):
    return x
### of a function that is called
def g(x, n: List[int] = [1]):
    return x
def f(x):
    return g(x)
""")


def message(compile: Any, f: Any) -> str:
    with pytest.raises(
        RuntimeError, match="Mutable default parameters are not supported"
    ) as caught:
        compile(f)
    return place_free(str(caught.value))


@pytest.mark.parametrize("program", MUTABLE_DEFAULTS, ids=lambda p: p.name)
def test_a_default_that_may_change_is_refused(program: Program, tmp_path: Path) -> None:
    ours = message(script_function, load(program, tmp_path, "internals").f)
    real = answer(
        lambda torch: message(torch.jit.script, load(program, tmp_path, "torch").f), family="jit"
    )
    assert ours.startswith(real)  # ours shows the callers, too


def test_a_tuple_for_a_list_is_an_allowed_default(tmp_path: Path) -> None:
    program = Program("", "def f(n: List[int] = (1, 2)):\n    n.append(3)\n    return n\n", ())
    f = script_function(load(program, tmp_path, "internals").f)
    assert f() == [1, 2, 3]
    assert f() == [1, 2, 3]


STEPS = programs("""
### everything
def f(x, n: int):
    for i in range(n):
        if i == 3:
            break
        if bool(x.sum() > 100):
            return x
        x = x + i
    return -x
""")


def test_compilation_steps(tmp_path: Path) -> None:
    f = load(STEPS[0], tmp_path, "internals").f
    steps = compilation_steps(f)
    kinds = {step.name: {n.kind() for n in all_nodes(step.graph.block())} for step in steps}
    assert list(kinds) == [
        "emitted", "outputs of ifs and loops", "loop conditions", "names resolved", "exits removed",
        "cleaned up"
    ]  # fmt: skip
    assert {"prim::Load", "prim::Store", "prim::BreakStmt", "prim::ReturnStmt"} <= kinds["emitted"]
    assert not kinds["loop conditions"] & {"prim::BreakStmt"}
    assert not kinds["names resolved"] & {"prim::Load", "prim::Store"}
    assert {"prim::LoopContinuation", "prim::ReturnStmt"} <= kinds["names resolved"]
    assert not kinds["exits removed"] & {"prim::LoopContinuation", "prim::ReturnStmt"}
    scripted = script_function(f)
    assert normalized(str(steps[-1].graph)) == normalized(str(scripted.graph))
    assert [str(s.graph) for s in compilation_steps(scripted)] == [str(s.graph) for s in steps]


def all_nodes(block: Any) -> Any:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from all_nodes(inner)


KEYWORD_ONLY = Program("", "def f(x, y: int = 2, *, n: int):\n    return x * y * n\n", ())
CALLS = [
    "(x, 1, 3)",
    "(x)",
    "(x, n=2)",
    "(x, x=x, n=2)",
    "(x, 2, 4, n=3)",
    "(x, 2, n=3)",
    "(n=3)",
    "(x, n=1, k=3)",
    "(n=3, x=x)",
]


@pytest.mark.parametrize("call", CALLS)
def test_keyword_only_arguments_come_by_keyword(call: str, tmp_path: Path) -> None:
    def outcome(library: Any, f: Any) -> Any:
        try:
            return eval(f"f{call}", {"f": f, "x": library.ones(2)}).tolist()
        except RuntimeError as e:
            return str(e)

    ours = outcome(internals, script_function(load(KEYWORD_ONLY, tmp_path, "internals").f))
    assert ours == answer(
        lambda torch: outcome(torch, torch.jit.script(load(KEYWORD_ONLY, tmp_path, "torch").f)),
        family="jit",
    )


def test_keyword_only_tensors_come_by_keyword(tmp_path: Path) -> None:
    f = script_function(
        load(Program("", "def f(x, *, y):\n    return x - y\n", ()), tmp_path, "internals").f
    )
    assert f(internals.ones(1), y=internals.zeros(1)).item() == 1
    with pytest.raises(
        RuntimeError, match=r"f\(\) takes 1 positional argument\(s\) but 2 was/were given"
    ):
        f(internals.ones(1), internals.zeros(1))


def test_a_tuple_indexed_by_what_is_known_at_run_time_only(tmp_path: Path) -> None:
    f = script_function(
        load(Program("", "def f(n: int):\n    return (1, 2)[n]\n", ()), tmp_path, "internals").f
    )
    assert [f(0), f(-1)] == [1, 2]
    with pytest.raises((RuntimeError, IndexError), match="Tuple list index out of range"):
        f(2)


def test_a_very_long_chain_of_calls_says_what_is_the_matter(tmp_path: Path) -> None:
    lines = ["def f0(x):", "    return x + 1"]
    for n in range(1, 120):
        lines += [f"def f{n}(x):", f"    return f{n - 1}(x)"]
    path = tmp_path / "chain.py"
    path.write_text("\n".join(lines) + "\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(
        RuntimeError, match="compiled inside each other, too deep for Python's stack"
    ):
        script_function(names["f119"])
    assert script_function(names["f3"])(internals.ones(1)).item() == 2
