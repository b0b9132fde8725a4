"""Bytecode, the interpreter that is stepped, and the one that runs: they agree with each other and
with PyTorch.
"""

from __future__ import annotations

import io
import pickle
import threading
import warnings
import weakref
import zipfile
from typing import Any

import pytest

import internals
from internals.jit.ir import Graph, IntType
from internals.jit.ir.parser import parse_ir
from internals.jit.runtime.code import OPCODES, Code
from internals.jit.runtime.compile import compile_graph
from internals.jit.runtime.errors import Error
from internals.jit.runtime.interpreter import Interpreter, record
from internals.jit.runtime.program import run_code
from tests.answers import answer
from tests.jit.passes.pass_support import seeds
from tests.jit.programs.graphs import assert_same_observation, observe, program
from tests.jit.sources import place_free

LOOP = """graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %zero : int = prim::Constant[value=0]()
  %z : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %y : Tensor):
      %rest : int = aten::remainder(%i, %two)
      %even : bool = aten::eq(%rest, %zero)
      %w : Tensor = prim::If(%even)
        block0():
          %sum : Tensor = aten::add(%y, %x, %one)
          -> (%sum)
        block1():
          %twice : Tensor = aten::mul(%y, %two)
          -> (%twice)
      -> (%true, %w)
  return (%z)
"""


def code_of(text: str, name: str = "f") -> Code:
    return compile_graph(parse_ir(text), name)


def both(code: Code, *args: Any) -> Any:
    """The result, which must be the same whether the code is stepped through or run."""
    stepped, ran = Interpreter(code, *args).run(), run_code(code, args)
    assert str(stepped) == str(ran)
    return ran


# Instructions


def test_a_listing() -> None:
    code = code_of(
        "graph(%x : Tensor, %y : Tensor):\n  %z : Tensor = aten::mul(%x, %y)\n  return (%z)\n"
    )
    assert (
        code.listing()
        == "0 STOREN 1 2\n1 MOVE 1\n2 MOVE 2\n3 OP 0 # %z : Tensor = aten::mul(%x, %y)\n4 RET\n"
    )
    assert str(code) == f"{code.graph}\n{code.listing()}"
    assert code.register_names[:2] == ["x", "y"]


def test_a_value_used_twice_is_loaded_then_moved() -> None:
    code = code_of("graph(%x : Tensor):\n  %z : Tensor = aten::mul(%x, %x)\n  return (%z)\n")
    assert [str(i) for i in code.instructions[:4]] == ["STORE 1", "LOAD 1", "MOVE 1", "OP 0"]


def test_every_instruction_is_in_the_table() -> None:
    for seed in range(30):
        for instruction in compile_graph(program(seed).graph()).instructions:
            assert instruction.op in OPCODES


# Without operators that have default arguments: the mobile format leaves those out.
SOURCES = {
    "loop": (
        "def forward(self, x, n: int):\n    y = x\n    for i in range(n):\n"
        "        if i % 2 == 0:\n            y = y * x\n"
        "        else:\n            y = y * 2\n    return y\n"
    ),
    "tree": "def forward(self, a, b, c):\n    return (a * b * (c * a)).relu() * b\n",
    "unused": "def forward(self, a, b):\n    c = a.exp_()\n    return b\n",
    "while": (
        "def forward(self, n: int):\n    k = 0\n    while k < n and k != 7:\n        k += 2\n"
        "    return k\n"
    ),
    "nested": (
        "def forward(self, x, n: int):\n    for i in range(n):\n        for j in range(i):\n"
        "            x = x * j\n    return x, n\n"
    ),
    "containers": (
        "def forward(self, x, n: int):\n    l = [x, x]\n    a, b = l\n    t = (a, n)\n"
        "    d = {'k': x}\n    return l[0] * d['k'], t[1], (n, n)[0]\n"
    ),
    "if without else": (
        "def forward(self, x, n: int):\n    if n > 2:\n        x = x * 2\n    return x\n"
    ),
    "optional": (
        "from typing import Optional\ndef forward(self, x, y: Optional[int] = None):\n"
        "    if y is None:\n        return x\n    return x * y\n"
    ),
    "raise": (
        "def forward(self, x, n: int):\n    if n > 2:\n        raise ValueError('no')\n"
        "    return x.dim()\n"
    ),
    "format": "def forward(self, n: int):\n    return '{} and {}'.format(n, n + 1)\n",
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_instructions_are_those_of_pytorch(name: str, tmp_path: Any) -> None:
    path = tmp_path / "m.py"
    source = SOURCES[name].replace("\n", "\n    ").rstrip()
    head, _, body = (
        source.rpartition("def forward")
        if name == "optional"
        else ("", "", source.removeprefix("def forward"))
    )
    path.write_text(
        f"import torch\n{head.strip()}\nclass M(torch.nn.Module):\n    def forward{body}\n"
    )

    def ask(torch: Any) -> tuple[list[Any], str]:
        namespace: dict[str, Any] = {"__name__": "m"}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        module = torch.jit.script(namespace["M"]())
        return mobile_instructions(module), place_free(str(module.forward.graph.str(False)))

    theirs, text = answer(ask, about=source, family="jit")
    text = text.replace("%self : __torch__.M", "%self : Tensor")
    ours = [(i.op, i.X, i.N) for i in code_of(text).instructions]
    assert [o[: 1 + len(OPCODES[o[0]][0])] for o in ours] == [
        t[: 1 + len(OPCODES[t[0]][0])] for t in theirs
    ]


def mobile_instructions(module: Any) -> list[tuple[str, int, int]]:
    """The instructions that PyTorch saves for its interpreter on mobile phones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive = zipfile.ZipFile(io.BytesIO(module._save_to_buffer_for_lite_interpreter()))
    data = archive.read(next(n for n in archive.namelist() if n.endswith("bytecode.pkl")))
    _, (_, tables, _) = pickle.loads(data)
    return list(dict(tables)["instructions"])


# Running


def test_loop_and_branch() -> None:
    assert both(code_of(LOOP), internals.ones(2), 3).tolist() == [5.0, 5.0]
    assert both(code_of(LOOP), internals.ones(2), 0).tolist() == [1.0, 1.0]
    assert both(code_of(LOOP), internals.ones(2), -4).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", seeds(60, 600))
def test_random_programs_run_as_they_are_stepped(seed: int) -> None:
    p = program(seed)
    expected = observe(p.graph(), p)
    assert_same_observation(
        observe(p.graph(), p, lambda g, args: run_code(compile_graph(g), args)), expected
    )
    assert_same_observation(observe(p.graph(), p, evaluate), expected)


def evaluate(graph: Graph, args: list[Any]) -> Any:
    """The graph, walked over as a tree: no registers, no jumps, nothing freed."""
    values = dict(zip(graph.inputs(), args))
    results = evaluate_block(graph.block(), values)
    return results[0] if len(results) == 1 else tuple(results)


def evaluate_block(block: Any, values: dict[Any, Any]) -> list[Any]:
    for node in block.nodes():
        inputs = [values[v] for v in node.inputs()]
        if node.kind() == "prim::Constant":
            outputs = [node.output().toIValue()]
        elif node.kind() == "prim::If":
            outputs = evaluate_block(node.blocks()[0 if inputs[0] else 1], values)
        elif node.kind() == "prim::Loop":
            limit, go_on, *outputs = inputs
            turn, (body,) = 0, node.blocks()
            while turn < limit and go_on:
                values.update(zip(body.inputs(), [turn, *outputs]))
                go_on, *outputs = evaluate_block(body, values)
                turn += 1
        elif node.kind() in SIMPLE:
            outputs = SIMPLE[node.kind()](*inputs)
        else:
            result = node.operator().fn(*inputs)
            outputs = [result] if node.outputsSize() == 1 else list(result or ())
        values.update(zip(node.outputs(), outputs))
    return [values[v] for v in block.outputs()]


SIMPLE: dict[str, Any] = {
    "prim::ListConstruct": lambda *xs: [list(xs)],
    "prim::TupleConstruct": lambda *xs: [xs],
    "prim::ListUnpack": lambda xs: xs,
    "prim::TupleUnpack": lambda xs: xs,
    "prim::TupleIndex": lambda xs, i: [xs[i]],
    "prim::unchecked_cast": lambda x: [x],
}


def test_several_outputs_one_and_none() -> None:
    assert both(code_of("graph(%a : int, %b : int):\n  return (%b, %a)\n"), 1, 2) == (2, 1)
    assert both(code_of("graph(%a : int, %b : int):\n  return (%b)\n"), 1, 2) == 2
    assert both(code_of("graph(%a : int, %b : int):\n  return ()\n"), 1, 2) is None


def test_too_few_arguments() -> None:
    with pytest.raises(RuntimeError, match="expected 2 inputs, but got only 1"):
        Interpreter(code_of(LOOP), internals.ones(2))


def test_a_long_chain() -> None:
    g = Graph()
    v = g.addInput("n").setType(IntType.get())
    for _ in range(5000):
        v = g.insert("aten::add", [v, 1])
    g.registerOutput(v)
    code = compile_graph(g)
    assert both(code, 1) == 5001


def test_an_operator_with_any_number_of_arguments_is_told_how_many() -> None:
    text = """graph(%n : int):
  %format : str = prim::Constant[value="%s!"]()
  %one : str = aten::percentFormat(%format, %n)
  %two : str = aten::percentFormat(%format, %one)
  return (%two)
"""
    code = code_of(text)
    assert [i.op for i in code.instructions].count("OPN") == 2
    assert both(code, 7) == "7!!"


def test_ints_have_64_bits() -> None:
    text = """graph(%n : int, %start : int, %step : int):
  %true : bool = prim::Constant[value=1]()
  %sum : int = prim::Loop(%n, %true, %start)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %step)
      -> (%true, %t)
  %twice : int = aten::mul(%sum, %step)
  return (%sum, %twice)
"""
    code = code_of(text)
    big = 2**62
    assert both(code, 2, 0, big) == (-(2**63), 0)
    assert both(code, 5, -3, big) == run_code(code, (1, -3, big))


# Memory


@pytest.mark.parametrize(
    "run", [lambda code, *args: Interpreter(code, *args).run(), lambda c, *a: run_code(c, a)]
)
def test_a_tensor_is_freed_when_it_was_read_last(run: Any) -> None:
    graph = parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor = aten::exp(%x)\n  %b : Tensor = ^look()(%a)\n  %c : "
        "Tensor = ^again()(%b)\n"
        "  return (%c)\n"
    )
    seen: list[Any] = []

    def look(a: Any) -> Any:
        seen.append(weakref.ref(a))
        return internals.ones(3)

    def again(b: Any) -> Any:
        assert seen[0]() is None, "the register still holds the tensor that nobody needs"
        return b

    for node, function in zip(
        [n for n in graph.nodes() if n.kind().startswith("^")], (look, again)
    ):
        node.pyobj = function
    run(compile_graph(graph), internals.ones(3))
    assert len(seen) == 1


def test_a_loop_keeps_one_tensor_not_all() -> None:
    code = code_of(LOOP)
    x = internals.ones(1 << 12)
    run_code(code, (x, 2))
    before = internals.cpu.memory_stats()["allocated_bytes.all.current"]
    internals.cpu.reset_peak_memory_stats()
    for run in (run_code, lambda c, a: Interpreter(c, *a).run()):
        result = run(code, (x, 50))
        del result
    peak = internals.cpu.memory_stats()["allocated_bytes.all.peak"]
    assert peak - before <= 2 * (1 << 14)


# Stepping


def test_stepping_shows_registers_and_stack() -> None:
    steps = list(record(code_of(LOOP), internals.ones(1), 1))
    assert [str(s.instruction) for s in steps[:6]] == [
        "STOREN 1 2",
        "LOADC 4",
        "MOVE 2",
        "LOADC 1",
        "LOAD 1",
        "LOOP 21 3",
    ]
    assert len(steps[0].stack) == 2 and steps[0].registers == {}
    assert set(steps[1].registers) == {"x", "n"} and steps[1].stack == []
    assert "n" not in steps[3].registers, "the loop's limit was moved out of its register"
    assert str(steps[-1].instruction) == "RET" and steps[-1].stack[0].tolist() == [2.0]


def test_stepping_by_hand_and_running_the_rest() -> None:
    it = Interpreter(code_of(LOOP), internals.ones(1), 2)
    assert it.step() and it.step() and it.frames[-1].pc == 2
    with pytest.raises(RuntimeError, match="still running: it is at instruction 2"):
        it.result()
    assert it.run().tolist() == [4.0]


# Errors


def test_an_error_says_where() -> None:
    nodes = "  %1 : int = prim::Constant[value=1]()\n  %2 : Tensor = aten::add(%x, %y, %1)\n"
    text = f"graph(%x : Tensor, %y : Tensor):\n{nodes}  return (%2)\n"

    def refused(torch: Any) -> str:
        real = torch._C._create_function_from_graph("f", torch._C.parse_ir(text))
        with pytest.raises(RuntimeError) as error:
            real(torch.ones(2), torch.ones(3))
        return str(error.value)

    theirs = answer(refused, family="jit").splitlines()
    for run in (run_code, lambda c, a: Interpreter(c, *a).run()):
        with pytest.raises(RuntimeError) as ours:
            run(code_of(text), (internals.ones(2), internals.ones(3)))
        assert type(ours.value) is RuntimeError
        lines = str(ours.value).splitlines()
        assert [*lines[:2], lines[-1]] == [*theirs[:2], theirs[-1]]
        assert isinstance(ours.value.__cause__, RuntimeError)


RAISE = """graph(%n : int):
  %what : str = prim::Constant[value="n is wrong"]()
  %class : {type} = prim::Constant{value}()
   = prim::RaiseException(%what, %class)
  return (%n)
"""


@pytest.mark.parametrize(
    "type, value, last",
    [
        ("str", '[value="builtins.ValueError"]', "builtins.ValueError: n is wrong"),
        ("NoneType", "", "RuntimeError: n is wrong"),
    ],
)
def test_what_a_script_raises(type: str, value: str, last: str) -> None:
    code = code_of(RAISE.format(type=type, value=value))
    for run in (run_code, lambda c, a: Interpreter(c, *a).run()):
        with pytest.raises(Error) as raised:
            run(code, (1,))
        lines = str(raised.value).splitlines()
        assert lines[0] == "The following operation failed in the TorchScript interpreter."
        assert lines[1] == "Traceback of TorchScript (most recent call last):" and lines[-1] == last


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"no operator aten::add takes \(str, Tensor\)"):
        code_of("graph(%s : str, %x : Tensor):\n  %y : Tensor = aten::add(%s, %x)\n  return (%y)\n")


def test_one_code_runs_in_several_threads() -> None:
    code = code_of(LOOP)
    results: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda n=n: results.append(
                (n, run_code(code, (internals.ones(2), n)).tolist()[0])
            )
        )
        for n in range(8)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(results) == [(n, run_code(code, (internals.ones(1), n)).item()) for n in range(8)]


@pytest.mark.parametrize("name", ["add", "mul", "sub", "relu"])
def test_a_constant_is_the_same_in_the_next_run(name: str) -> None:
    more = {"add": ", %x, %one", "sub": ", %x, %one", "mul": ", %x", "relu": ""}[name]
    code = compile_graph(
        parse_ir(
            f"""graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %c : Float(2) = prim::Constant[value= 1  2 [ CPUFloatType{{2}} ]]()
  %y : Tensor = aten::{name}(%c{more})
  %z : Tensor = aten::{name}(%y{more})
  return (%z)
""",
            True,
        ),
        "f",
    )
    x = internals.tensor([3.0, 4.0])
    assert str(both(code, x)) == str(both(code, x)) == str(both(code, x))
