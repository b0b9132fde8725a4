"""Code of an archive that nobody damaged: it is right as a program, and made to harm.

Three sorts, each of which has ended a process or held it up:

    calls    an operator, any that an archive may call, with numbers that are no sizes:
             torch.zeros([4611686018427367904, 4])
    doubles  forty lines of which each makes twice what the one before has: s = torch.add(s, s)
    shapes   types, functions and loops that stand for exponentially more: def f9(x): return
             f8(f8(x))

Such a module is run, too: `x` is four numbers, and what a script raises is no finding. The doubling
stands in a branch that is not taken, since a program may take what it likes when it runs; what it
may not is to be compiled for ever.

How the real one differs: PyTorch's fuzzers damage bytes.
"""

from __future__ import annotations

import re
import textwrap
from random import Random

from internals.jit.ir import (
    BoolType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    Type,
)
from internals.jit.operators.registry import all_operators
from internals.jit.schema import FunctionSchema
from internals.serialization.script.private_operators import is_written

SIZES = [
    0,
    1,
    2,
    3,
    -1,
    -2,
    7,
    64,
    1 << 20,
    10**8,
    10**12,
    2**31,
    2**32,
    2**62,
    2**63 - 1,
    -(2**63),
    4611686018427367904,
]
TENSORS = [
    "x", "torch.reshape(x, [2, 2])", "torch.reshape(x, [1, 1, 2, 2])", "torch.to(x, 4)",
    "torch.slice(x, 0, 0, 0)", "torch.expand(x, [3, 4])",
    "torch.add(torch.to(x, 4), 4611686018427387904)",
]  # fmt: skip
DOUBLES = [  # where to start, and what makes twice as much of it
    (
        's = "12345678"',
        ("s = torch.add(s, s)", 's = torch.replace(s, "1", "11")', "s = torch.join(s, [s, s])"),
    ),
    (
        "s = [1, 2]",
        (
            "s = torch.add(s, s)",
            "s = torch.mul(s, 2)",
            "t{0} = [s, s]\ns = t{0}",
            "t{0} = (s, s)\ns = t{0}",
        ),
    ),
    (
        "s = x",
        ("t{0} = (s, s)\ns = t{0}", "t{0} = [s, s]\ns = t{0}", "t{0} = {{1: s, 2: s}}\ns = t{0}"),
    ),
    (
        "s = torch.ones([4])",
        (
            "s = torch.cat([s, s])",
            "s = torch.repeat(s, [2])",
            "s = torch.kron(s, s)",
            "s = torch.mul(s, s)",
        ),
    ),
    ("s = 3", ("s = torch.mul(s, s)", "s = torch.add(s, s)", "s = torch.__lshift__(s, s)")),
]
NOT_CALLED = re.compile(  # what is for the whole process, and what has as many steps as it is told
    "aten::(manual_seed|seed|set_grad_enabled|wait|warn|mvlgamma|special_multigammaln|special_.*_polynomial_.)"
)


def program(random: Random) -> str:
    """A record of code: a module `M`, and what its `forward(x)` calls."""
    kind = random.random()
    if kind < 0.6:
        return method(
            "\n".join([*(call(random) for _ in range(random.choice((1, 1, 2)))), "return y"])
        )
    if kind < 0.8:
        return method(
            f"if torch.gt(torch.size(x, 0), 100):\n{textwrap.indent(doubling(random), '  ')}\n"
            "return x"
        )
    return random.choice((functions, types, loops))(random)


def method(body: str, definitions: str = "") -> str:
    head = (
        "class M(Module):\n  training : bool\n  def forward(self: __torch__.M, x: Tensor) -> Any:\n"
    )
    return head + textwrap.indent(body, "    ") + "\n" + definitions


def call(random: Random) -> str:
    """A line that calls an operator."""
    schema = random.choice(_schemas())
    namespace, _, name = schema.name.partition("::")
    arguments = []
    for argument in schema.arguments:
        if argument.kwarg_only or (argument.has_default_value() and random.random() < 0.3):
            break
        arguments.append(value(random, argument.type))
    called = f"torch.{name}" if namespace == "aten" else f"ops.{namespace}.{name}"
    return f"y = {called}({', '.join(arguments)})"


def _schemas() -> list[FunctionSchema]:
    if not _known:
        for operator in all_operators():
            symbol = operator.name.partition(".")[0]
            called = symbol.removeprefix("aten::").removeprefix("prim::")
            if is_written(symbol) and called.isidentifier() and not NOT_CALLED.fullmatch(symbol):
                _known.append(operator.schema)
    return _known


_known: list[FunctionSchema] = []


def value(random: Random, type: Type) -> str:
    """An expression of this type, or of none in particular."""
    if isinstance(type, OptionalType):
        return "None" if random.random() < 0.5 else value(random, type.element)
    if isinstance(type, ListType):
        length = random.choice((0, 1, 1, 2, 2, 3, 4))
        return f"[{', '.join(value(random, type.element) for _ in range(length))}]"
    if isinstance(type, TensorType):
        return random.choice(TENSORS)
    if isinstance(type, BoolType):
        return random.choice(("True", "False"))
    if isinstance(type, (IntType, NumberType)):
        return str(random.choice(SIZES[:7] if random.random() < 0.7 else SIZES))
    if isinstance(type, FloatType):
        return random.choice(("0.5", "1.0", "-1.0", "1e300", "inf", "nan"))
    return (
        random.choice(('"a"', '"sum"', '"reflect"', '""'))
        if isinstance(type, StringType)
        else random.choice(TENSORS)
    )


def doubling(random: Random) -> str:
    """Forty lines, each of which doubles what there is."""
    start, steps = random.choice(DOUBLES)
    step = random.choice(steps)
    return "\n".join([start, *(step.format(i) for i in range(40))])


def functions(random: Random) -> str:
    """Functions of which each calls the next one twice."""
    lines = "def f0(x: Tensor) -> Tensor:\n  return torch.add(x, 1)\n"
    for i in range(random.choice((3, 12, 40))):
        lines += (
            f"def f{i + 1}(x: Tensor) -> Tensor:\n  return __torch__.f{i}(__torch__.f{i}(x, ), )\n"
        )
    last = lines.count("def ") - 1
    return method(f"return __torch__.f{last}(x, )", lines)


def types(random: Random) -> str:
    """Named tuples of which each has the next one twice."""
    container = random.choice(
        (
            "__torch__.T{}",
            "List[__torch__.T{}]",
            "Dict[str, __torch__.T{}]",
            "Optional[__torch__.T{}]",
        )
    )
    lines, n = "class T0(NamedTuple):\n  a : int\n", random.choice((3, 12, 40))
    for i in range(n):
        inner = container.format(i)
        lines += f"class T{i + 1}(NamedTuple):\n  a : {inner}\n  b : {inner}\n"
    return method(f"t = annotate(Optional[__torch__.T{n}], None)\nu = [t, t]\nreturn x", lines)


def loops(random: Random) -> str:
    """Loops, branches and returns inside each other, or one behind the other."""
    lines = ["n = torch.sub(torch.size(x, 0), 4)"]
    heads = (
        "for i{0} in range(n):",
        "for i{0} in (1, 2, 3):",
        "while torch.gt(n, {0}):",
        "if torch.gt(n, {0}):",
    )
    depth = random.choice((2, 6, 18))
    for i in range(depth):
        lines.append("  " * i + random.choice(heads).format(i))
    lines.append(
        "  " * depth + random.choice(("x = torch.add(x, 1)", "return x", "n = torch.sub(n, 1)"))
    )
    early = random.choice(
        (
            "if torch.gt(n, {0}):\n  return x",
            "for j{0} in range(n):\n  x = torch.add(x, j{0})",
            "n = torch.mul(n, n)",
        )
    )
    return method(
        "\n".join(
            [*lines, *(early.format(i) for i in range(random.choice((0, 5, 60)))), "return x"]
        )
    )
