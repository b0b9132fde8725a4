"""The last exercise of notebook 15: a compiler for graphs without blocks, whose instructions the
real interpreter runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import same

GRAPHS = {
    "two results": """
graph(%x : Tensor):
  %a : Tensor = aten::exp(%x)
  %b : Tensor = aten::neg(%a)
  return (%a, %b)
""",
    "the sum of a product": """
graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%x, %a, %one)
  return (%b)
""",
    "a square": """
graph(%x : Tensor):
  %a : Tensor = aten::mul(%x, %x)
  %b : Tensor = aten::mul(%a, %a)
  return (%b)
""",
    "a difference": """
graph(%x : Tensor, %y : Tensor):
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %a : Tensor = aten::sub(%x, %y, %two)
  %b : Tensor = aten::sub(%y, %a, %three)
  return (%b)
""",
    "an argument": """
graph(%x : Tensor):
  return (%x)
""",
}


SOLUTION = """
def emit(graph, register, constant):
    code = [Instruction("STOREN", 1, len(graph.inputs()))]
    reads = Counter([*(v for node in graph.nodes() for v in node.inputs()), *graph.outputs()])

    def push(values):
        for v in values:
            reads[v] -= 1
            if v in constant:
                code.append(Instruction("LOADC", constant[v]))
            else:
                code.append(Instruction("LOAD" if reads[v] else "MOVE", register[v]))

    operators = [node for node in graph.nodes() if node.kind() != "prim::Constant"]
    for number, node in enumerate(operators):
        push(node.inputs())
        code += [Instruction("OP", number), Instruction("STORE", register[node.output()])]
    push(graph.outputs())
    return [*code, Instruction("RET")]
"""


@exercise(
    level=3,
    title="From a graph to instructions",
    ask="""
        Write the compiler for graphs without blocks: `emit(graph, register, constant)` returns a
        list of `Instruction`s, the last of which is `RET`. Of the others you need `STOREN`, `LOAD`,
        `MOVE`, `LOADC`, `OP` and `STORE`. `register[value]` is the number of a value's register
        (the inputs have 1, 2, ...), `constant[value]` the index of a constant; the nodes that are
        not constants are operators 0, 1, 2, ... in their order. Here every operator's result goes
        into its register. The last reader of a value has to take it out. The checker makes a `Code`
        of your list, and the real interpreter runs it.""",
    given="from collections import Counter\n\nfrom internals.jit.runtime.code import Instruction",
    start="""
        def emit(graph, register, constant):
            ...""",
    passes=("emit",),
    hints=(
        "In this order: the arguments into their registers; for each operator push its inputs, "
        "call it, store; push the outputs of the graph; `RET`.",
        "Count first how often each value is read, the outputs of the graph included. Each time "
        "one is pushed, count down: at 0 it is `MOVE`. Mind `x * x`, which reads `x` twice.",
    ),
    solution=SOLUTION,
    why="""
        `compile.py` does this, and leaves values on the stack where a stack machine wants them; so
        most of these `STORE`s and `MOVE`s disappear.""",
    mistakes=[
        Mistake(
            "Registers are cleared by themselves.",
            SOLUTION.replace('"LOAD" if reads[v] else "MOVE"', '"LOAD"'),
            "still holds a tensor",
        ),
        Mistake(
            "Only operators read.",
            SOLUTION.replace(", *graph.outputs()])", "])"),
            "the caller reads it too",
        ),
        Mistake(
            "A node reads each of its inputs once.",
            SOLUTION.replace("for v in node.inputs())", "for v in set(node.inputs()))"),
            "reads the same value twice",
        ),
        Mistake(
            "What is pushed last is the first input, as it is popped first.",
            SOLUTION.replace("push(node.inputs())", "push(node.inputs()[::-1])"),
            "in the order of the inputs",
        ),
        Mistake(
            "Every node is an operator.",
            SOLUTION.replace(
                'operators = [node for node in graph.nodes() if node.kind() != "prim::Constant"]',
                "operators = list(graph.nodes())",
            ),
            "is in the constant table",
        ),
        Mistake(
            "The operator leaves its result in the register.",
            SOLUTION.replace(', Instruction("STORE", register[node.output()])]', "]"),
            "STORE",
        ),
    ],
)
def interpreter_3(emit: Callable[..., Any]) -> str:
    for what, text in GRAPHS.items():
        _run(what, text, emit)
    return (
        f"the real interpreter ran {len(GRAPHS)} graphs as you compiled them, and left no tensor "
        "behind in a register"
    )


ALLOWED = {"STOREN": 2, "STORE": 1, "LOAD": 1, "MOVE": 1, "LOADC": 1, "OP": 1, "RET": 0}


def _run(what: str, text: str, emit: Callable[..., Any]) -> None:
    from internals.jit import ScriptFunction, parse_ir
    from internals.jit.runtime.code import Code, Instruction, Operation
    from internals.jit.runtime.interpreter import Interpreter
    from internals.jit.runtime.node_functions import function_of

    graph = parse_ir(text)
    constants = [node.output() for node in graph.nodes() if node.kind() == "prim::Constant"]
    operators = [node for node in graph.nodes() if node.kind() != "prim::Constant"]
    values = [*graph.inputs(), *(node.output() for node in operators)]
    register = {value: number for number, value in enumerate(values, 1)}
    try:
        instructions = emit(
            graph, dict(register), {value: index for index, value in enumerate(constants)}
        )
    except KeyError as error:
        raise Wrong(
            f"`register` has no {error}: a constant has no register, it is in the constant table"
        ) from None
    if not isinstance(instructions, list) or not all(
        isinstance(i, Instruction) for i in instructions
    ):
        raise Wrong("emit returns a list of `Instruction`s")
    listing = (
        "; ".join(map(str, instructions))
        if all(i.op in ALLOWED for i in instructions)
        else "something else"
    )
    where = f"{what} became `{listing}`"
    if any(i.op not in ALLOWED for i in instructions):
        raise Wrong(f"{what}: only {', '.join(ALLOWED)} are needed")
    if not instructions or instructions[-1].op != "RET":
        raise Wrong(f"{where}: the last instruction has to be RET")
    if any(i.op == "OP" and i.X >= len(operators) for i in instructions):
        raise Wrong(
            f"{where}: it has {len(operators)} operators; a constant is none, it is in the "
            "constant table"
        )
    inputs = [len(node.inputs()) for node in operators]
    table = [Operation(n.kind(), function_of(n), count, 1) for n, count in zip(operators, inputs)]
    operations = [table[i.X] if i.op == "OP" else None for i in instructions]
    nodes = [operators[i.X] if i.op == "OP" else graph.return_node() for i in instructions]
    constant_table = [value.toIValue() for value in constants]
    code = Code(graph, what, instructions, nodes, operations, constant_table, table, values=values)

    arguments = [torch.tensor([0.5, 2.0]), torch.tensor([3.0, -1.0])][: len(graph.inputs())]
    known: dict[Any, Any] = dict(zip(graph.inputs(), arguments)) | dict(
        zip(constants, constant_table)
    )
    machine, stepped = Interpreter(code, *arguments), True
    while stepped:
        frame = machine.frames[-1]
        instruction = instructions[frame.pc]
        if instruction.op == "OP":
            node = operators[instruction.X]
            _check_inputs(where, node, machine.stack, known)
            known[node.output()] = function_of(node)(*(known[v] for v in node.inputs()))
        if instruction.op == "RET":
            _check_end(where, graph, frame, machine.stack)
        stepped = machine.step()
    expected = ScriptFunction("f", graph)(*arguments)
    if not same(machine.result(), expected):
        raise Wrong(f"{where}, and that computes {machine.result()}, not {expected}")


def _check_inputs(where: str, node: Any, stack: list[Any], known: dict[Any, Any]) -> None:
    """Raises Wrong unless the last values on the stack are the inputs of a node."""
    count = len(node.inputs())
    found, wanted = stack[-count:], [known.get(v) for v in node.inputs()]
    if len(found) < count:
        raise Wrong(
            f"{where}: {node.kind()} takes {count} values, and there are {len(found)} on the stack"
        )
    if all(a is b or same(a, b) for a, b in zip(found, wanted)):
        return
    if any(value is None for value in found):
        if len(set(node.inputs())) < len(node.inputs()):
            raise Wrong(
                f"{where}: {node.kind()} reads the same value twice, and the first time took it "
                "out of its register"
            )
        raise Wrong(
            f"{where}: {node.kind()} finds an empty register: nobody did STORE its value, or an "
            "earlier reader took it"
        )
    if all(a is b or same(a, b) for a, b in zip(found, wanted[::-1])):
        raise Wrong(
            f"{where}: {node.kind()} takes the last {count} values in the order of the inputs, the "
            "first pushed first"
        )
    raise Wrong(f"{where}: {node.kind()} finds other values on the stack than its inputs")


def _check_end(where: str, graph: Any, frame: Any, stack: list[Any]) -> None:
    """Raises Wrong unless a run ends with the outputs on the stack and nothing in the registers."""
    outputs = len(graph.outputs())
    if len(stack) != outputs:
        raise Wrong(
            f"{where}: at RET there are {len(stack)} values on the stack; did every result go to "
            "its register by STORE?"
        )
    if any(value is None for value in stack):
        raise Wrong(
            f"{where}: an output was taken out of its register by an operator, but the caller "
            "reads it too, later"
        )
    for number, value in enumerate(frame.registers):
        if value is not None:
            raise Wrong(
                f"{where}: register {number} still holds a tensor at the end; its last reader has "
                "to take it out"
            )
