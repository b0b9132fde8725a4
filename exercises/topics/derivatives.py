"""Exercises of notebook 08: what a formula keeps, a `Function`, and an operator with an entry of
its own.
"""

from __future__ import annotations

import tempfile
import textwrap
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from internals.autograd import Function, gradcheck, gradgradcheck
from internals.library import Library

ANSWER_1 = """
answer = {
    "x.sigmoid()": "result",
    "x.cos()": "input",
    "x.abs()": "input",
    "x.rsqrt()": "result",
    "x.mean()": "nothing",
    "x.floor()": "nothing",
    "x * 3": "nothing",
    "x / 3": "nothing",
}"""


@exercise(
    level=1,
    title="What will the node keep?",
    ask="""
        `x` has a million elements and requires a gradient. For each operation: which large tensor
        does its node keep, `"input"`, `"result"` or `"nothing"`? You need no documentation: write
        down the derivative from school, and use what is there anyway if you can.""",
    given="x = torch.linspace(0.5, 2.0, 1000).requires_grad_()",
    start="""
        answer = {
            "x.sigmoid()": ...,
            "x.cos()": ...,
            "x.abs()": ...,
            "x.rsqrt()": ...,
            "x.mean()": ...,
            "x.floor()": ...,
            "x * 3": ...,
            "x / 3": ...,
        }""",
    hints=(
        "`rsqrt` is 1 / √x. Can you compute the derivative from y alone, if y is the result?",
        "From |x| the sign of x cannot be told, and from cos(x) not that of sin(x).",
    ),
    solution=ANSWER_1,
    why=(
        "`grep -rA2 'name: rsqrt' internals/autograd/derivatives`: -0.5 times the result to the "
        "power of 3."
    ),
    mistakes=[
        Mistake(
            "A node keeps its inputs.",
            ANSWER_1.replace('"result"', '"input"'),
            "y * (1 - y)",
        ),
        Mistake(
            "Whatever has a nice formula can do with its result.",
            ANSWER_1.replace('cos()": "input"', 'cos()": "result"'),
            "sign of sin",
        ),
        Mistake(
            "The sign is in the result.",
            ANSWER_1.replace('abs()": "input"', 'abs()": "result"'),
            "no signs left",
        ),
        Mistake(
            "A product keeps both factors.",
            ANSWER_1.replace('* 3": "nothing"', '* 3": "input"'),
            "the gradient of 3 is not wanted",
        ),
        Mistake(
            "To average a million numbers backwards one needs the numbers.",
            ANSWER_1.replace('mean()": "nothing"', 'mean()": "input"'),
            "how many",
        ),
        Mistake(
            "The derivative of 1 / √x is computed from x.",
            ANSWER_1.replace('rsqrt()": "result"', 'rsqrt()": "input"'),
            "y³",
        ),
    ],
)
def derivatives_1(answer: dict[str, str]) -> str:
    because = {
        "x.sigmoid()": "its derivative is y * (1 - y), and y is there anyway",
        "x.cos()": (
            "its derivative is -sin(x), and from cos(x) alone the sign of sin(x) cannot be told"
        ),
        "x.abs()": "its derivative is the sign of x, and in the result there are no signs left",
        "x.rsqrt()": "its derivative is -x**(-3/2) / 2, which is -y³ / 2",
        "x.mean()": "every element gets the same; it is enough to know how many there are",
        "x.floor()": "its derivative is zero, whatever x is",
        "x * 3": (
            "its derivative is 3, and the gradient of 3 is not wanted, for which x would be needed"
        ),
        "x / 3": (
            "its derivative is 1 / 3, and the gradient of 3 is not wanted, for which x would be "
            "needed"
        ),
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a word for each of its eight keys")
    for expression, reason in because.items():
        x = torch.linspace(0.5, 2.0, 1000).requires_grad_()
        y = eval(expression, {"x": x})
        kept = {getattr(y.grad_fn, f"_saved_{name}") for name in y.grad_fn.saved_names}
        memory = {t.data_ptr() for t in kept if isinstance(t, torch.Tensor)}
        truth = (
            "input" if x.data_ptr() in memory else "result" if y.data_ptr() in memory else "nothing"
        )
        if answer[expression] not in ("input", "result", "nothing"):
            raise Wrong(
                f"{expression} keeps 'input', 'result' or 'nothing'; {answer[expression]!r} is "
                "none of them"
            )
        if answer[expression] != truth:
            raise Wrong(f"{expression} keeps {truth}: {reason}")
    return "the formula decides what is kept, and who writes the formula can choose"


HYPOT = """
class Hypot(Function):
    @staticmethod
    def forward(ctx, x, y):
        result = (x * x + y * y).sqrt()
        ctx.save_for_backward(x, y, result)
        return result

    @staticmethod
    def backward(ctx, grad):
        x, y, result = ctx.saved_tensors
        return grad * x / result, grad * y / result
"""


@exercise(
    level=2,
    title="The hypotenuse, as one node",
    ask="""
        Write `Hypot`, a `Function` of two tensors of the same shape: √(x² + y²), with its two
        derivatives. `gradcheck` and `gradgradcheck` have to pass, and an input that is overwritten
        before backward has to be noticed.""",
    given="from internals.autograd import Function, gradcheck, gradgradcheck",
    start="""
        class Hypot(Function):
            @staticmethod
            def forward(ctx, x, y):
                ...

            @staticmethod
            def backward(ctx, grad):
                ...""",
    passes=("Hypot",),
    hints=(
        "The derivative of √(x² + y²) for x is x / √(x² + y²), and the root has been computed "
        "already.",
        "`ctx.save_for_backward(...)` keeps tensors with their versions; in backward they are "
        "`ctx.saved_tensors`.",
    ),
    solution=HYPOT,
    why=(
        "What `backward` does with operators can be differentiated again: the second derivative "
        "costs you no line."
    ),
    mistakes=[
        Mistake(
            "backward returns the derivative.",
            HYPOT.replace("grad * ", ""),
            "factor",
        ),
        Mistake(
            "ctx is an object, so tensors can be hung on it.",
            """
            class Hypot(Function):
                @staticmethod
                def forward(ctx, x, y):
                    ctx.x, ctx.y = x, y
                    return (x * x + y * y).sqrt()

                @staticmethod
                def backward(ctx, grad):
                    result = (ctx.x * ctx.x + ctx.y * ctx.y).sqrt()
                    return grad * ctx.x / result, grad * ctx.y / result""",
            "nothing noticed it",
        ),
        Mistake(
            "In backward gradients are not needed any more.",
            HYPOT.replace(
                "grad * x / result, grad * y / result",
                "grad * x.detach() / result.detach(), grad * y.detach() / result.detach()",
            ),
            "second derivative",
        ),
        Mistake(
            "The derivative of a root is one over twice the root.",
            HYPOT.replace(
                "grad * x / result, grad * y / result", "grad / (2 * result), grad / (2 * result)"
            ),
            "inner derivative",
        ),
        Mistake(
            "One gradient arrives, so one goes on.",
            HYPOT.replace("grad * x / result, grad * y / result", "grad * (x + y) / result"),
            "one gradient for each",
        ),
    ],
)
def derivatives_2(Hypot: Any) -> str:
    if not isinstance(Hypot, type) or not issubclass(Hypot, Function):
        raise Wrong(
            "Hypot has to be a subclass of Function, with forward and backward as static methods"
        )
    x = torch.tensor([3.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([4.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
    result = Hypot.apply(x, y)
    if not isinstance(result, torch.Tensor) or not torch.allclose(result, (x * x + y * y).sqrt()):
        raise Wrong(f"the hypotenuse of 3 and 4 is 5; Hypot.apply gave {result!r}")
    try:
        both = torch.autograd.grad(Hypot.apply(x, y), (x, y), torch.full_like(x, 3.0))
    except RuntimeError as error:
        if "number of gradients" in str(error):
            raise Wrong(
                "forward takes x and y, so backward returns one gradient for each of them, as a "
                "tuple"
            ) from None
        raise
    slopes = [(t / result).detach() for t in (x, y)]
    if all(torch.allclose(got, slope) for got, slope in zip(both, slopes)):
        raise Wrong(
            "the derivatives are right, but what arrives from above is missing: by the chain rule "
            "it is a factor"
        )
    for name, got, slope in zip("xy", both, slopes):
        if torch.allclose(got, 3 / (2 * result)):
            raise Wrong(
                "one over twice the root is only the outer derivative; the inner derivative, 2x or "
                "2y, is a factor"
            )
        if not torch.allclose(got, 3 * slope):
            raise Wrong(
                f"the gradient of {name}, for 3 from above, is {got.tolist()}; measured it is "
                f"{(3 * slope).tolist()}"
            )
    if not gradcheck(Hypot.apply, (x, y), raise_exception=False):
        raise Wrong(
            "gradcheck measures other slopes than backward computes; call gradcheck(Hypot.apply, "
            "(x, y)) to see both"
        )
    if not _twice(Hypot.apply, x, y):
        raise Wrong(
            "the second derivative is wrong: backward has to be made of operators on tensors that "
            "keep their history"
        )
    z = x * 1
    late = Hypot.apply(z, y).sum()
    z.detach().mul_(2)
    try:
        late.backward()
    except RuntimeError:
        return "one node instead of five, derivatives of every order, and guarded by versions"
    raise Wrong(
        "x was overwritten before backward, and nothing noticed it: what hangs on ctx as an "
        "attribute has no version"
    )


ENTRY = '''
declaration = """
- func: softsign(Tensor self) -> Tensor
  dispatch: {CPU: demo.softsign}
"""
entry = """
- name: softsign(Tensor self) -> Tensor
  self: FORMULA
"""'''


@exercise(
    level=3,
    title="An operator with an entry",
    ask="""
        `softsign(x) = x / (1 + |x|)` shall be an operator. Write the two pieces of YAML:
        `declaration`, as in native_functions.yaml, with the schema
        `softsign(Tensor self) -> Tensor`; and `entry`, as in derivatives.yaml, with a formula that
        keeps **one** tensor only: the result, which exists anyway. The real generator will make a
        node class and a kernel of it, and the real dispatcher will run them.""",
    start='''
        declaration = """
        - func: ...
          dispatch: {CPU: demo.softsign}
        """
        entry = ...''',
    passes=("declaration", "entry"),
    hints=(
        "The derivative is 1 / (1 + |x|)². Which number between 0 and 1 is |result|, and how far "
        "is it from 1?",
        "1 - |result| is 1 / (1 + |x|). An entry has two lines: `- name:` with the schema, and "
        "`self:` with the formula. Methods such as `.abs()` may be used, and `grad`.",
    ),
    solution=ENTRY.replace("FORMULA", "grad * (1 - result.abs()) * (1 - result.abs())"),
    why=(
        "In the same way one word in the real file halved the memory of every `relu` "
        "(notebook 09, section 9)."
    ),
    mistakes=[
        Mistake(
            "A derivative is a function of the input.",
            ENTRY.replace("FORMULA", "grad / ((1 + self.abs()) * (1 + self.abs()))"),
            "mentions self",
        ),
        Mistake(
            "The formula is the derivative.",
            ENTRY.replace("FORMULA", "(1 - result.abs()) * (1 - result.abs())"),
            "does not mention grad",
        ),
        Mistake(
            "For positive numbers it works.",
            ENTRY.replace("FORMULA", "grad * (1 - result) * (1 - result)"),
            "negative",
        ),
        Mistake(
            "The numbers are all that is wanted of the result.",
            ENTRY.replace("FORMULA", "grad * (1 - result.abs()) * (1 - result.detach().abs())"),
            "second derivative",
        ),
        Mistake(
            "One minus the result, once.",
            ENTRY.replace("FORMULA", "grad * (1 - result.abs())"),
            "squared",
        ),
    ],
)
def derivatives_3(declaration: str, entry: str) -> str:
    if not (isinstance(declaration, str) and isinstance(entry, str)):
        raise Wrong("declaration and entry are texts, two pieces of YAML")
    if "..." in declaration:
        raise NotImplementedError("replace the ... in `declaration` by the schema")
    made = _generate(textwrap.dedent(declaration), textwrap.dedent(entry))
    nodes, kernels = made
    saved = nodes["SoftsignBackward0"].saved_names
    formula = entry.partition("self:")[2]
    if "self" in saved:
        raise Wrong(
            "the formula mentions self, so the node keeps the input besides the result: use the "
            "result alone"
        )
    if "grad" not in formula:
        raise Wrong(
            "the formula does not mention grad: what arrives from above is lost, and the chain "
            "rule with it"
        )
    if list(saved) != ["result"]:
        raise Wrong(
            f"the node keeps {list(saved) or 'nothing'}; what the derivative needs is result"
        )
    with Library("exercise_derivatives", "FRAGMENT") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.define("softsign(Tensor self) -> Tensor")
        library.impl("softsign", lambda x: x / (1 + x.abs()), "CPU")
        library.impl("softsign", kernels["softsign"], "Autograd", with_keyset=True)
        op = torch.ops.exercise_derivatives.softsign
        for sign, numbers in (("positive", [0.5, 2.0, 7.0]), ("negative", [-0.5, -2.0, -7.0])):
            x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
            (got,) = torch.autograd.grad(op(x), x, torch.full_like(x, 3.0))
            (slope,) = torch.autograd.grad(x / (1 + x.abs()), x, torch.full_like(x, 3.0))
            if torch.allclose(got / 3, (slope / 3).sqrt()):
                raise Wrong(
                    "1 / (1 + |x|) is one minus |result|, but the derivative is that squared"
                )
            if not torch.allclose(got, slope):
                raise Wrong(
                    f"for {sign} numbers the gradient is {got.tolist()} instead of {slope.tolist()}"
                )
        if not gradcheck(op, (x,), raise_exception=False):
            raise Wrong("gradcheck measures another slope than the formula gives")
        if not _twice(op, x):
            raise Wrong(
                "the second derivative is wrong: something in the formula cuts the way back, as "
                "detach() does"
            )
    return "one line of mathematics: a node, a kernel, and derivatives of every order"


def _generate(declaration: str, entry: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The node class and the kernel that `python -m codegen` would write, executed. Raises Wrong
    for what it refuses.
    """
    import yaml

    from codegen import derivatives, gen_kernels, gen_nodes, model

    with tempfile.TemporaryDirectory() as folder:
        functions_yaml, derivatives_yaml = (
            Path(folder, "functions.yaml"),
            Path(folder, "derivatives.yaml"),
        )
        functions_yaml.write_text(declaration)
        derivatives_yaml.write_text(entry)
        try:
            functions = model.load(functions_yaml)
            entries = derivatives.load(functions, derivatives_yaml)
            names = [f.schema.full_name.removeprefix("aten::") for f in functions]
            written = (
                gen_nodes.write_nodes(functions, entries),
                gen_kernels.write_kernels(functions, entries, names),
            )
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            SyntaxError,
            yaml.YAMLError,
        ) as error:
            raise Wrong(f"the generator refuses it: {type(error).__name__}: {error}") from None
    if [f.schema.full_name for f in functions] != [
        "aten::softsign"
    ] or "aten::softsign" not in entries:
        raise Wrong(
            "declaration and entry have to begin with the schema, softsign(Tensor self) -> Tensor"
        )
    if not entries["aten::softsign"].formulas:
        raise Wrong("the entry has no formula for self: a second line, `self: ...`, below the name")
    nodes: dict[str, Any] = {"__name__": "generated"}
    kernels: dict[str, Any] = {"__name__": "generated"}
    exec(written[0], nodes)
    exec(written[1], kernels)
    kernels["nodes"] = SimpleNamespace(**nodes)
    return nodes, kernels


def _twice(function: Any, *inputs: Any) -> bool:
    """`gradgradcheck`, which draws random numbers; the reader's come as if nobody had."""
    with torch.random.fork_rng():
        return gradgradcheck(function, inputs, raise_exception=False)
