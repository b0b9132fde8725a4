"""The last exercise of notebook 17: the statements of a runtime, run on the code of real
archives.
"""

from __future__ import annotations

import ast
import functools
import io
import operator
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import same


def straight(x, n: int):  # type: ignore[no-untyped-def]
    y = x * n
    return y - x


def fibonacci(n: int):  # type: ignore[no-untyped-def]
    a = 0
    b = 1
    for i in range(n):
        a, b = b, a + b * i
    return a


def branches(x, n: int):  # type: ignore[no-untyped-def]
    if n > 2:
        if n > 5:
            x = x * 2
        y = x + 1
    else:
        y = x - 1
    return y * x


def swapping(x, n: int):  # type: ignore[no-untyped-def]
    y = x * 2
    while n > 0:
        x, y = y, x + 1
        n -= 1
    return x - y * 3


def triangle(n: int):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        for j in range(i):
            total = total + i * j
            if total > 20:
                break
    return total


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "gt": operator.gt,
    "lt": operator.lt,
}
OPERATORS |= {"__and__": operator.and_, "neg": operator.neg, "eq": operator.eq}
MOST = 2000  # expressions; a loop that takes more never ends

SOLUTION = """
def run(block, variables, evaluate):
    for statement in block:
        match statement:
            case ast.Return(value):
                return evaluate(value, variables)
            case ast.Assign([ast.Name(name)], value):
                variables[name] = evaluate(value, variables)
            case ast.Assign([ast.Tuple(targets)], value):
                variables.update(zip([target.id for target in targets], evaluate(value, variables)))
            case ast.If(condition, body, orelse):
                run(body if evaluate(condition, variables) else orelse, variables, evaluate)
            case ast.While(condition, body):
                while evaluate(condition, variables):
                    run(body, variables, evaluate)
            case ast.For(ast.Name(name), turns, body):
                for variables[name] in evaluate(turns, variables):
                    run(body, variables, evaluate)
""".strip()


@exercise(
    level=3,
    title="The statements of a runtime",
    ask="""
        Write `run(block, variables, evaluate)`: it runs a list of statements of Python's `ast`,
        changes the dict `variables`, and returns what a `Return` returns (which stands only at the
        end of a function). Besides `Return` there are `Assign` to a name or to a tuple of names,
        `If`, `While`, and `For` with a name and something to go through.
        `evaluate(expression, variables)` gives the value of any expression: tuples as tuples,
        `range` as well. The checker runs the code of five real archives through it, with real
        tensors, and compares with the scripts that were saved.""",
    given="import ast",
    start="""
        def run(block, variables, evaluate):
            ...""",
    passes=("run",),
    hints=(
        "Section 6 has all of it but `For`, in two places: `run` of `Interpreter`, "
        "`other_statement` of `WithControlFlow`.",
        "`ast.If` has `test`, `body`, `orelse`; `ast.While` has `test`, `body`; `ast.For` has "
        "`target`, `iter`, `body`. The blocks inside are lists of statements again, and they see "
        "and change the same variables.",
    ),
    solution=SOLUTION,
    why=(
        "`interpreter.h` and `interpreter.js` of the runtimes have the same six cases. The rest of "
        "them is operators."
    ),
    mistakes=[
        Mistake(
            "A condition is a value.",
            SOLUTION.replace(
                "while evaluate(condition, variables):\n",
                "go_on = evaluate(condition, variables)\n                while go_on:\n",
            ),
            "before each turn",
        ),
        Mistake(
            "A block has variables of its own.",
            SOLUTION.replace(
                "else orelse, variables, evaluate)", "else orelse, dict(variables), evaluate)"
            ),
            "the same variables",
        ),
        Mistake(
            "Names are assigned one after the other.",
            SOLUTION.replace(
                "variables.update(zip([target.id for target in targets], evaluate(value, "
                "variables)))",
                "for target, part in zip(targets, value.elts):\n"
                "                    variables[target.id] = evaluate(part, variables)",
            ),
            "the whole right side",
        ),
        Mistake(
            "An If has a body.",
            SOLUTION.replace(
                "run(body if evaluate(condition, variables) else orelse, variables, evaluate)",
                "if evaluate(condition, variables):\n                    run(body, variables, "
                "evaluate)",
            ),
            "orelse",
        ),
        Mistake(
            "A for repeats its body.",
            SOLUTION.replace("for variables[name] in", "for _ in"),
            "its name",
        ),
        Mistake(
            "There is no For in it.",
            SOLUTION[: SOLUTION.index("            case ast.For")],
            "passed over",
        ),
    ],
)
def languages_3(run: Callable[..., Any]) -> str:
    x = torch.tensor([1.0, -2.0])
    cases: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
        (straight, [(x, 3)]),
        (branches, [(x, 7), (x, 4), (x, 0)]),
        (fibonacci, [(0,), (6,)]),
        (swapping, [(x, 3), (x, 0)]),
        (triangle, [(6,), (2,)]),
    ]
    done = 0
    for function, calls in cases:
        tree = code_of(function)
        names = [argument.arg for argument in tree.args.args][1:]
        for arguments in calls:
            expected = torch.jit.script(function)(*arguments)
            variables = dict(zip(names, arguments))
            told = run(tree.body, variables, _evaluator(function.__name__, arguments[-1]))
            if not same(told, expected):
                raise Wrong(_why(function.__name__, tree, arguments, told, expected))
            done += 1
    return (
        f"{done} runs of the code of {len(cases)} archives, in a language that you have just "
        "implemented"
    )


@functools.cache
def code_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The tree of a function as the code of an archive has it."""
    from internals.serialization import ArchiveReader

    file = io.BytesIO()
    torch.jit.save(torch.jit.script(function), file)
    file.seek(0)
    with ArchiveReader(file) as reader:
        tree = ast.parse(reader.text("code/__torch__.py"))
    return next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _evaluator(what: str, n: int) -> Callable[[Any, dict[str, Any]], Any]:
    """`evaluate` for one run: it gives up when a loop does not end, and knows who should have
    assigned a variable.
    """
    left = [MOST]

    def evaluate(e: Any, variables: dict[str, Any]) -> Any:
        left[0] -= 1
        if not left[0]:
            raise Wrong(
                f"a loop of `{what}` does not end: evaluate its condition before each turn, it "
                "changes in the body"
            )
        match e:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                if name not in variables:
                    raise Wrong(
                        f"`{what}` of {n} reads {name}, and nobody has assigned it: "
                        f"{_owner(what, name)}"
                    )
                return variables[name]
            case ast.Tuple(parts) | ast.List(parts):
                return tuple(evaluate(part, variables) for part in parts)
            case ast.Call(ast.Name("range"), arguments):
                return range(*(evaluate(a, variables) for a in arguments))
            case ast.Call(ast.Attribute(ast.Name("torch"), name), arguments):
                return OPERATORS[name](*(evaluate(a, variables) for a in arguments))
        shown = ast.unparse(e) if isinstance(e, ast.AST) else repr(e)
        raise Wrong(
            f"evaluate was given {shown}, which is no expression of the archive; statements are "
            "yours"
        )

    return evaluate


def _owner(what: str, name: str) -> str:
    for node in ast.walk(code_of(PROGRAMS[what])):
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and node.target.id == name
        ):
            return "a For assigns each value to its name before the turn"
        if isinstance(node, ast.If) and f"{name} = " in ast.unparse(node):
            return "an arm of an If does, body or orelse, and all blocks change the same variables"
    return "an Assign does"


def _why(
    what: str, tree: ast.FunctionDef, arguments: tuple[Any, ...], told: Any, expected: Any
) -> str:
    kinds = {type(node).__name__ for node in ast.walk(tree)} & {"For", "While", "If"}
    said = f"`{what}` of {arguments[-1]} gives {expected}, and yours {told}"
    if told is None:
        return f"{said}: what is evaluated by Return has to come out of run"
    if any(
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
        for node in ast.walk(tree)
    ):
        passed = f"or were its statements ({', '.join(sorted(kinds))}) passed over?"
        return (
            f"{said}. Is the whole right side of an assignment to several names evaluated before "
            f"any of them changes, {passed}"
        )
    return f"{said}. It consists of {', '.join(sorted(kinds)) or 'assignments'}"


PROGRAMS = {
    function.__name__: function for function in (straight, branches, fibonacci, swapping, triangle)
}
