"""A small archive takes little time and memory to load and to compile, whatever its code says: too
much is refused, or put off.

One process loads them all; it has 2 GiB and four minutes, and without the budgets it would need
more.
"""

from __future__ import annotations

import base64
import io
import json
import re
import textwrap
from functools import cache

import pytest

import internals as torch
from internals import export, jit
from internals.jit.ir import IntType, ListType, TupleType, Type
from internals.serialization import ArchiveError
from tests.serialization.hostile_archives import in_a_process, pt2, script, script_101, zipped

PAIRS = "".join(
    f"class T{i}(NamedTuple):\n  a : {each}\n  b : {each}\n"
    for i, each in enumerate(["int", *(f"__torch__.T{i}" for i in range(39))])
)
CALLS = "def f0(x: Tensor) -> Tensor:\n  return torch.add(x, 1)\n" + "".join(
    f"def f{i + 1}(x: Tensor) -> Tensor:\n  return __torch__.f{i}(__torch__.f{i}(x, ), )\n"
    for i in range(40)
)
TUPLES = "t0 = (x, x)\n" + "".join(f"t{i + 1} = (t{i}, t{i})\n" for i in range(40))
LOOPS = "t = (1, 2, 3, 4, 5, 6, 7, 8)\n" + "".join(
    "  " * i + f"for i{i} in t:\n" for i in range(20)
)


def archive(data: bytes, code: str) -> bytes:
    records = {
        "data.pkl": b"\x80\x02" + data + b".",
        "code/__torch__.py": code,
        "constants.pkl": b"\x80\x02).",
    }
    return zipped(records | {"version": "3\n"})


def string(text: str) -> bytes:
    """The instruction of a pickle for it."""
    return b"X" + len(text).to_bytes(4, "little") + text.encode()


def shared_modules(n: int) -> bytes:
    """A module that holds another one twice, which holds a third one twice, and so on."""

    def made(i: int) -> bytes:
        inside = string("a") + made(i - 1) + string("b") + b"h" + bytes([i - 1]) if i else b""
        return (
            b"c__torch__\nM%d\n)\x81}(" % i
            + string("training")
            + b"\x88"
            + inside
            + b"ubq"
            + bytes([i])
        )

    code = "class M0(Module):\n  training : bool\n" + "".join(
        f"class M{i + 1}(Module):\n  training : bool\n  a : __torch__.M{i}\n  b : __torch__.M{i}\n"
        for i in range(n)
    )
    return archive(made(n), code)


def shared_lists(n: int) -> bytes:
    """A module with a list that holds another one twice, and so on."""

    def made(i: int) -> bytes:
        return b"](" + (made(i - 1) + b"h" + bytes([i - 1]) if i else b"K\x01") + b"eq" + bytes([i])

    data = b"c__torch__\nA\n)\x81}(" + string("training") + b"\x88" + string("xs") + made(n) + b"ub"
    return archive(
        data, f"class A(Module):\n  training : bool\n  xs : {'List[' * (n + 1)}int{']' * (n + 1)}\n"
    )


# Archives, and what is said of them.
REFUSED = {
    "named tuples": (
        script("t = annotate(Optional[__torch__.T39], None)\nreturn x", PAIRS),
        "record 'code/__torch__.py': a type of 32767 parts, written out; the largest has 16384",
    ),
    "tuples": (script(TUPLES + "return x"), "a type of 32767 parts, written out"),
    "calls": (
        script("return __torch__.f40(x, )", CALLS),
        "inlining makes too many nodes, at a call of 'f1.",
    ),
    "loops over tuples": (
        script(LOOPS + "  " * 20 + "x = torch.add(x, 1)\nreturn x"),
        "unrolled, into 1024 values at",
    ),
    "modules": (
        shared_modules(40),
        "'data.pkl': the module has more than .* counted as often as they are reached",
    ),
    "lists": (
        shared_lists(40),
        "'data.pkl': the module has more than .* counted as often as they are reached",
    ),
    "deflated code": (
        script("x = torch.add(x, 1)\n" * 8000 + "return x"),
        "more text to be parsed than",
    ),
}
# What would be a constant, if it were not too large. None of it is ever run.
CONSTANTS = {
    "a string": 's = "12345678"\n' + "s = torch.add(s, s)\n" * 40,
    "a list": "s = [1, 2]\n" + "s = torch.add(s, s)\n" * 40,
    "a list of lists": "s = [[1, 2]]\n" + "s = torch.add(s, s)\n" * 40,
    "lists in lists": "s0 = [1, 2]\n"
    + "".join(f"s{i + 1} = [s{i}, s{i}]\n" for i in range(40))
    + "s = s40",
    "a list many times": "s = torch.mul([1], 1099511627776)",
    "a filled string": 's = torch.ljust("a", 100000000000, " ")',
    "a string with tabs": 's = torch.expandtabs("\\t\\t", 100000000000)',
    "replaced letters": 's = "11111111"\n' + 's = torch.replace(s, "1", "11111111")\n' * 12,
    "joined strings": 's = torch.join("-", ["a", "b"])\n' + "s = torch.join(s, [s, s, s])\n" * 20,
    "a range": "s = ops.prim.rangelist(100000000000)",
    "zeros": "s = torch.zeros([100000, 100000])",
    "a range of numbers": "s = torch.arange(100000000000)",
    "many numbers": "s = torch.arange(0, 1, 0.00000000001)",
    "joined tensors": "s = torch.ones([4])\n" + "s = torch.cat([s, s])\n" * 40,
    "repeated": "s = torch.repeat(torch.ones([4]), [100000, 100000])",
    "a copy of what was expanded": (
        "s = torch.clone(torch.expand(torch.ones([1]), [100000, 100000]))"
    ),
    "a sum of what was expanded": (
        "s = torch.unsqueeze(torch.sum(torch.expand(torch.ones([1]), [1000000, 100000])), 0)"
    ),
    "a diagonal": "s = torch.diag_embed(torch.ones([100000]))",
    "an identity": "s = torch.eye(100000)",
    "ones": "s = torch.one_hot(torch.full([3], 10000000000, dtype=4), -1)",
    "all with all": "s = torch.ones([100000])\ns = torch.add(s, torch.unsqueeze(s, 1))",
    "a convolution": (
        "s = torch.ones([1, 1, 500, 500])\ns = torch.conv2d(s, s, None, [1, 1], [250, 250])"
    ),
    "products": "s = torch.ones([500, 500])\n" + "s = torch.mm(s, s)\n" * 60,
    "steps": (
        "s = torch.special_legendre_polynomial_p(1, torch.full([2], 4611686018427387904, dtype=4))"
    ),
    "a shape": "s = torch.mul(torch.ones([4]), 2)\ns = torch.repeat(s, [100000, 100000])",
    "an int": "n = 9999999\n" + "n = torch.mul(n, n)\n" * 60 + "s = [n]",
}


def never(body: str) -> str:
    """The lines under a condition that is false for a short x."""
    return (
        f"if torch.gt(torch.size(x, 0), 100):\n{textwrap.indent(body, '  ')}\n  x = torch.add(x, "
        "torch.len(s))\nreturn x"
    )


LOADED = {
    **{name: script(never(body)) for name, body in CONSTANTS.items()},
    "a branch of 1.0.1": script_101(
        "n = 1\n" + "n = torch.add(n, n)\n" * 60 + "if torch.gt(n, 3):\n  x = x + 1\nreturn x"
    ),
    "returns": script(
        "n = torch.size(x, 0)\n"
        + "if torch.gt(n, 9):\n  return x\nn = torch.sub(n, 1)\n" * 150
        + "return x"
    ),
    "loops": script(
        "n = torch.size(x, 0)\n" + "for i in range(n):\n  x = torch.add(x, i)\n" * 200 + "return x"
    ),
}
PROGRAM = """
import base64, json, traceback
told = {}
for name, text in json.loads(data.read()).items():
    try:
        m = jit.load(io.BytesIO(base64.b64decode(text)))
        len(str(m.inlined_graph)), m.state_dict(), m(torch.ones(4))
        told[name] = "ran"
    except BaseException as error:
        told[name] = f"{type(error).__name__}: {error}"
print(json.dumps(told))
"""


@cache
def told() -> dict[str, str]:
    """What came of each archive."""
    archives = {**{name: data for name, (data, _) in REFUSED.items()}, **LOADED}
    encoded = {name: base64.b64encode(data).decode() for name, data in archives.items()}
    found: dict[str, str] = json.loads(in_a_process(PROGRAM, json.dumps(encoded).encode(), 240))
    return found


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_too_much_is_refused(name: str) -> None:
    data, message = REFUSED[name]
    assert len(data) < 4000
    assert re.match(f"ArchiveError: .*{message}", told()[name], re.DOTALL), told()[name]


@pytest.mark.parametrize("name", LOADED)
def test_constants_that_are_too_much_are_left_to_run_time(name: str) -> None:
    assert len(LOADED[name]) < 4000
    assert told()[name] == "ran"


def test_constants_of_moderate_size_are_computed_in_advance() -> None:
    """Masks, positions, weights in another order: what networks compute of constants."""
    body = (
        's = torch.ljust("abc", 10, "-")\nm = torch.tril(torch.ones([64, 64]))\ny = '
        "torch.add(torch.mul(m, 2), torch.t(m))"
    )
    used = (
        f"{body}\nif torch.eq(torch.len(s), 10):\n  x = torch.mm(torch.add(y, torch.eye(64)), "
        "x)\nreturn x"
    )
    m = jit.load(io.BytesIO(script(used)))
    x = torch.ones(64, 1)
    kinds = {node.kind() for node in m.forward.graph_for(x).nodes()}
    assert kinds == {"prim::Constant", "aten::mm"}


def test_types_have_a_size_and_a_depth() -> None:
    t: Type = IntType.get()
    for _ in range(13):
        t = TupleType([t, t])
    assert t.size == 2**14 - 1 and t.depth == 14
    with pytest.raises(
        RuntimeError, match="a type of 32767 parts, written out; the largest has 16384"
    ):
        TupleType([t, t])
    t = IntType.get()
    for _ in range(99):
        t = ListType(t)
    with pytest.raises(
        RuntimeError, match="a type of 101 types inside each other; the deepest has 100"
    ):
        ListType(t)


def test_a_list_that_is_written_to_after_it_was_given_to_a_module() -> None:
    """It was checked when it was given; then it got other elements."""
    nested = (
        b"c__torch__\nB\n)\x81}("
        + string("a")
        + b"c__torch__\nA\n)\x81}("
        + string("xs")
        + b"](K\x01eq\1ub"
    )
    nested += string("ys") + b"h\1" + string("no int") + b"a" + b"ub"
    code = (
        "class A(Module):\n  xs : List[int]\nclass B(Module):\n  a : __torch__.A\n  ys : "
        "List[Any]\n"
    )
    with pytest.raises(
        ArchiveError,
        match=r"'xs' of __torch__.A\[1\] is declared to be of type int, but is 'no int'",
    ):
        jit.load(io.BytesIO(archive(nested, code)))


def test_json_of_an_exported_program_has_a_budget() -> None:
    data = pt2(lambda model: model.update(many=[0] * 2_000_000))
    with pytest.raises(ArchiveError, match="models/model.json': more text to be parsed than"):
        export.load(io.BytesIO(data))
