"""Build it yourself, in notebook 22b: from a fusion group to a loop that the real executor runs as
machine code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics._kernel import afresh, compiled, groups, interpreted, run_as_python

EXPRESSIONS = """
    def expression(kind, a, b=None):
        table = {
            "aten::add": f"{a} + {b}",
            "aten::sub": f"{a} - {b}",
            "aten::mul": f"{a} * {b}",
            "aten::neg": f"-{a}",
            "aten::relu": f"max({a}, 0.0)",
            "aten::exp": f"math.exp({a})",
            "aten::tanh": f"math.tanh({a})",
            "aten::sigmoid": f"1.0 / (1.0 + math.exp(-{a}))",
        }
        return table[kind]"""
LINES = (
    EXPRESSIONS
    + """


    def lines(group):
        found = []
        for node in group.nodes():
            if node.kind() != "prim::Constant":
                a, *b = [f"n{value.unique()}" for value in node.inputs()][:2]
                found.append(f"n{node.output().unique()} = {expression(node.kind(), a, *b)}")
        return found"""
)


@exercise(
    level=2,
    title="Step 1: an expression for each operator",
    ask="""
        A fuser writes text. Write `expression(kind, a, b=None)`: the Python expression, as text,
        for one node of a group, whose operands are called `a` and `b` in that text. Eight kinds are
        enough: `aten::add`, `aten::sub`, `aten::mul`, `aten::neg`, `aten::relu`, `aten::exp`,
        `aten::tanh`, `aten::sigmoid`. So `expression("aten::mul", "n1", "n2")` is `"n1 * n2"`.

        Each is evaluated for single numbers (`math` is there), and held against the real
        operator.""",
    start="""
        def expression(kind, a, b=None):
            ...""",
    passes=("expression",),
    hints=(
        "A dict from kinds to texts, made with f-strings.",
        "sigmoid(x) = 1 / (1 + exp(-x)); relu(x) = max(x, 0).",
    ),
    solution=EXPRESSIONS,
    why=(
        "internals/jit/fuser/expressions.py makes this table, of the formulas in "
        "aten/scalar_functions. 1.0.1's had C in it."
    ),
    mistakes=[
        Mistake(
            "The text is the result.",
            """
            def expression(kind, a, b=None):
                return {"aten::add": a + str(b), "aten::mul": a * 2}.get(kind, a)""",
            "is no expression",
        ),
        Mistake(
            "sigmoid has a plus.",
            EXPRESSIONS.replace("math.exp(-{a}))", "math.exp({a}))"),
            "exp(-x)",
        ),
        Mistake(
            "relu is the absolute value.",
            EXPRESSIONS.replace("max({a}, 0.0)", "abs({a})"),
            "relu",
        ),
        Mistake(
            "sub takes the first from the second.",
            EXPRESSIONS.replace("{a} - {b}", "{b} - {a}"),
            "first minus the second",
        ),
        Mistake(
            "The operands are called a and b.",
            EXPRESSIONS.replace("{a}", "a").replace("{b}", "b"),
            "names that it is given",
        ),
    ],
)
def build_kernel_1(expression: Callable[..., str]) -> str:
    two = {"aten::add": torch.add, "aten::sub": torch.sub, "aten::mul": torch.mul}
    one = {
        "aten::neg": torch.neg, "aten::relu": torch.relu, "aten::exp": torch.exp,
        "aten::tanh": torch.tanh, "aten::sigmoid": torch.sigmoid,
    }  # fmt: skip
    for kind in (*two, *one):
        operator: Any = two.get(kind) or one[kind]
        names = ["n7", "n3"][: 2 if kind in two else 1]
        text = expression(kind, *names)
        if not isinstance(text, str):
            raise Wrong(f"{kind}: a text is wanted, not {text!r}")
        for x, y in ((-1.5, 0.25), (2.0, 3.0), (0.0, -1.0)):
            values = dict(zip(names, (x, y)))
            expected = operator(
                *(torch.tensor(v, dtype=torch.float64) for v in values.values())
            ).item()
            try:
                found = eval(text, {"math": math, "max": max, "abs": abs, "min": min}, dict(values))
            except NameError as error:
                if "'a'" in str(error) or "'b'" in str(error):
                    raise Wrong(
                        f"{kind}: {text!r} does not use the names that it is given, {names}"
                    ) from None
                raise Wrong(f"{kind}: {text!r} is no expression of {names}: {error}") from None
            except Exception as error:
                raise Wrong(f"{kind}: {text!r} is no expression of {names}: {error}") from None
            if not isinstance(found, (int, float)) or abs(found - expected) > 1e-12:
                seen = f"{text!r} is {found!r} for {values}, and should be {expected:.6g}"
                if (
                    kind == "aten::sigmoid"
                    and isinstance(found, float)
                    and abs(found - (1 - expected)) < 1e-12
                ):
                    raise Wrong(f"a sigmoid rises with x, so it has exp(-x): {seen}")
                if kind == "aten::sub":
                    raise Wrong(f"sub is the first minus the second: {seen}")
                raise Wrong(f"{kind}: {seen}")
    return "eight lines of a table, each checked against the operator it stands for"


@exercise(
    level=3,
    title="Step 2: the lines of a group",
    ask="""
        A fusion group is a graph. Write `lines(group)`: a list of statements, one for each node in
        their order, such as `"n5 = n2 * n4"`; a value is called `n` with its number behind it
        (`value.unique()`). Constants need no line: the only ones here are the `alpha` of `add` and
        `sub`, which is 1, and stands behind the two operands.""",
    given=EXPRESSIONS,
    start="""
        def lines(group):
            ...""",
    passes=("lines",),
    hints=(
        "`for node in group.nodes()`, `node.kind()`, `node.inputs()`, `node.output()`.",
        "Skip `prim::Constant`. Of the inputs take at most two: a third one is `alpha`.",
    ),
    solution=LINES.removeprefix(EXPRESSIONS),
    why=(
        "Each value is made once and used wherever it is needed: that is how a register replaces a "
        "temporary array."
    ),
    mistakes=[
        Mistake(
            "Every node is an operator.",
            """
            def lines(group):
                result = []
                for node in group.nodes():
                    operands = [f"n{v.unique()}" for v in node.inputs()][:2]
                    text = expression(node.kind(), *operands)
                    result.append(f"n{node.output().unique()} = {text}")
                return result""",
            "prim::Constant",
        ),
        Mistake(
            "All inputs are operands.",
            """
            def lines(group):
                result = []
                for node in group.nodes():
                    if node.kind() != "prim::Constant":
                        operands = [f"n{v.unique()}" for v in node.inputs()]
                        text = expression(node.kind(), *operands)
                        result.append(f"n{node.output().unique()} = {text}")
                return result""",
            "alpha",
        ),
        Mistake(
            "Names count up from 0.",
            """
            def lines(group):
                found = []
                for number, node in enumerate(
                    n for n in group.nodes() if n.kind() != "prim::Constant"
                ):
                    operands = [f"n{v.unique()}" for v in node.inputs()][:2]
                    found.append(f"n{number} = {expression(node.kind(), *operands)}")
                return found""",
            "before it is made",
        ),
        Mistake(
            "Only the last value matters.",
            """
            def lines(group):
                node = list(group.nodes())[-1]
                operands = [f"n{v.unique()}" for v in node.inputs()][:2]
                return [f"n{node.output().unique()} = {expression(node.kind(), *operands)}"]""",
            "statements for",
        ),
    ],
)
def build_kernel_2(lines: Callable[[Any], Sequence[str]]) -> str:
    count = 0
    for _, group in groups():
        nodes = [n for n in group.nodes() if n.kind() != "prim::Constant"]
        try:
            found = list(lines(group))
        except TypeError as error:
            if "missing" in str(error):
                raise Wrong(
                    "a node without operands got a line: prim::Constant is no operator, and needs "
                    "none"
                ) from None
            raise Wrong(f"{error}: the third input of add and sub is alpha, no operand") from None
        except KeyError as error:
            raise Wrong(
                f"there is no expression for {error}: a constant is no operator, and needs no line"
            ) from None
        if len(found) != len(nodes):
            raise Wrong(
                f"a group of {len(nodes)} operators has {len(found)} statements for them: {found}"
            )
        values = {f"n{v.unique()}": 0.3 + 0.4 * i for i, v in enumerate(group.inputs())}
        tensors = [torch.tensor(v, dtype=torch.float64) for v in values.values()]
        for line in found:
            try:
                exec(line, {"math": math}, values)
            except NameError as error:
                raise Wrong(
                    f"{line!r} uses a value before it is made ({error}): is each called by its own "
                    "number?"
                ) from None
        results = interpreted(group, tensors)
        for value, expected in zip(group.outputs(), results):
            name = f"n{value.unique()}"
            if name not in values or abs(values[name] - expected.item()) > 1e-9:
                raise Wrong(
                    f"{name}, which the group returns, is {values.get(name)}, and should be "
                    f"{expected.item():.6g}"
                )
        count += len(nodes)
    return f"{count} nodes of {len(groups())} groups, as the interpreter computes them"


@exercise(
    level=3,
    title="Step 3: a kernel in the real executor",
    ask="""
        Now the frame. Write `kernel_source(group)`: the text of a function
        `kernel(begin, end, ...)` whose further arguments are the group's input arrays, then one
        array for each of its outputs. For each i from `begin` to `end` it loads every input once,
        computes the lines of step 2, and stores every output.

        The text is run as Python, then compiled to machine code, and takes the place of the real
        fuser's kernel while functions run in the real executor.""",
    given=LINES,
    start="""
        def kernel_source(group):
            ...""",
    passes=("kernel_source",),
    hints=(
        "Build the argument names first: `in0`, `in1`, ... and `out0`, ...; then the text, line by "
        "line, with its indentation.",
        "`n4 = in0[i]` loads the input whose value is number 4; `out0[i] = n9` stores an output.",
    ),
    solution="""
        def kernel_source(group):
            inputs, outputs = list(group.inputs()), list(group.outputs())
            arrays = [f"in{k}" for k in range(len(inputs))]
            arrays += [f"out{k}" for k in range(len(outputs))]
            body = [f"n{value.unique()} = in{k}[i]" for k, value in enumerate(inputs)]
            body += lines(group)
            body += [f"out{k}[i] = n{value.unique()}" for k, value in enumerate(outputs)]
            text = f"def kernel(begin, end, {', '.join(arrays)}):\\n"
            text += "    for i in range(begin, end):\\n"
            return text + "\\n".join(f"        {line}" for line in body)""",
    why=(
        "What the real one adds: strides and broadcasting, other dtypes, rows, vectors for exp, "
        "and a cache on the disk."
    ),
    mistakes=[
        Mistake(
            "One result is enough.",
            """
            def kernel_source(group):
                inputs = list(group.inputs())
                arrays = [f"in{k}" for k in range(len(inputs))] + ["out0"]
                body = [f"n{value.unique()} = in{k}[i]" for k, value in enumerate(inputs)]
                body += lines(group) + [f"out0[i] = n{list(group.outputs())[0].unique()}"]
                text = f"def kernel(begin, end, {', '.join(arrays)}):\\n"
                text += "    for i in range(begin, end):\\n"
                return text + "\\n".join(f"        {line}" for line in body)""",
            "arrays",
        ),
        Mistake(
            "The loop goes over everything.",
            """
            def kernel_source(group):
                inputs, outputs = list(group.inputs()), list(group.outputs())
                arrays = [f"in{k}" for k in range(len(inputs))]
                arrays += [f"out{k}" for k in range(len(outputs))]
                body = [f"n{value.unique()} = in{k}[i]" for k, value in enumerate(inputs)]
                body += lines(group)
                body += [f"out{k}[i] = n{value.unique()}" for k, value in enumerate(outputs)]
                text = f"def kernel(begin, end, {', '.join(arrays)}):\\n"
                text += "    for i in range(0, end):\\n"
                return text + "\\n".join(f"        {line}" for line in body)""",
            "from begin",
        ),
        Mistake(
            "The values are the arrays' names.",
            """
            def kernel_source(group):
                inputs, outputs = list(group.inputs()), list(group.outputs())
                arrays = [f"n{value.unique()}" for value in [*inputs, *outputs]]
                text = f"def kernel(begin, end, {', '.join(arrays)}):\\n"
                text += "    for i in range(begin, end):\\n"
                return text + "\\n".join(f"        {line}" for line in lines(group))""",
            "stored",
        ),
        Mistake(
            "The loads stand before the loop.",
            """
            def kernel_source(group):
                inputs, outputs = list(group.inputs()), list(group.outputs())
                arrays = [f"in{k}" for k in range(len(inputs))]
                arrays += [f"out{k}" for k in range(len(outputs))]
                loads = [f"    n{value.unique()} = in{k}[begin]" for k, value in enumerate(inputs)]
                body = lines(group)
                body += [f"out{k}[i] = n{value.unique()}" for k, value in enumerate(outputs)]
                text = f"def kernel(begin, end, {', '.join(arrays)}):\\n" + "\\n".join(loads)
                text += "\\n    for i in range(begin, end):\\n"
                return text + "\\n".join(f"        {line}" for line in body)""",
            "the same number for every element",
        ),
    ],
)
def build_kernel_3(kernel_source: Callable[[Any], str]) -> str:
    for _, group in groups():
        run_as_python(kernel_source, group)
    from internals.jit.fuser import fuser
    from internals.jit.fuser.compiled_group import CompiledGroup

    used: list[str] = []

    def find_way(self: Any, inputs: Sequence[Any]) -> Any:
        text = kernel_source(self.graph)
        entry = compiled(text, len(inputs) + len(list(self.graph.outputs())))
        count = len(list(self.graph.outputs()))

        def way(*tensors: Any) -> Any:
            outs = [torch.empty_like(tensors[0]) for _ in range(count)]
            used.append(text)
            entry(0, tensors[0].numel(), *(t.data_ptr() for t in [*tensors, *outs]))
            return tuple(outs) if count > 1 else outs[0]

        return way

    x, y = torch.linspace(-2, 2, 24).reshape(4, 6), torch.linspace(1, -1, 24).reshape(4, 6)
    with (
        mock.patch.object(CompiledGroup, "find_way", find_way),
        fuser(synchronous=True, threshold=0),
    ):
        for function, _ in groups():
            scripted = torch.jit.script(afresh(function))
            found, expected = scripted(x, y), function(x, y)
            pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
            if not all(torch.allclose(a, b, atol=1e-5) for a, b in pairs):
                raise Wrong(
                    f"{function.__name__} gives other numbers in the executor than by its operators"
                )
    if not used:
        raise Wrong("the executor had no use for the kernel")
    return f"{len(used)} times the real executor ran machine code made of your text"
