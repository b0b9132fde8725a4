"""The code of an archive: names in it lead to the archive and the operators only, and whatever is
wrong with it is said.
"""

from __future__ import annotations

import ast
from typing import Any

import pytest

import internals as torch
from internals.jit.ir import ClassType, TupleType
from internals.serialization import ArchiveError
from internals.serialization.script.archive_literals import literal
from internals.serialization.script.archive_names import Namespace
from internals.serialization.script.source_importer import SourceImporter, record_of

RECORD = "code/__torch__.py"


def importer(text: str, constants: tuple[Any, ...] = (), **more: str) -> SourceImporter:
    records = {RECORD: text, **{f"code/__torch__/{name}.py": code for name, code in more.items()}}
    return SourceImporter(records.get, constants, archive="a.pt")


def function(text: str, constants: tuple[Any, ...] = (), name: str = "f", **more: str) -> Any:
    found = importer(text, constants, **more).find_function(f"__torch__.{name}")
    assert found is not None
    return found


def run(
    body: str,
    *args: Any,
    returns: str = "Tensor",
    params: str = "x: Tensor",
    constants: tuple[Any, ...] = (),
) -> Any:
    return function(
        f"def f({params}) -> {returns}:\n  " + body.replace("\n", "\n  ") + "\n", constants
    )(*args)


def test_records_of_names() -> None:
    assert record_of("__torch__.M") == "code/__torch__.py"
    assert record_of("__torch__.a.b.C") == "code/__torch__/a/b.py"


def test_signatures_are_read_and_bodies_wait() -> None:
    f = function(
        "def f(x: Tensor,\n    n: Optional[int]=None,\n    eps: float=1e-05) -> Tensor:\n  return "
        "nothing\n"
    )
    assert [(a.name, str(a.type), a.default_value) for a in f.schema.arguments] == [
        ("x", "Tensor", None), ("n", "int?", None), ("eps", "float", 1e-05),
    ]  # fmt: skip
    with pytest.raises(ArchiveError, match="undefined value nothing"):
        str(f.graph)


def test_an_error_shows_the_record_and_the_line() -> None:
    with pytest.raises(ArchiveError) as raised:
        function(
            "def f(x: Tensor) -> Tensor:\n  y = torch.add(x, 1)\n  return torch.add(x, zz)\n"
        ).check_calls()
    assert str(raised.value) == (
        "a.pt: record 'code/__torch__.py': \nundefined value zz:\n"
        '  File "code/__torch__.py", line 3\n'
        "def f(x: Tensor) -> Tensor:\n"
        "  y = torch.add(x, 1)\n"
        "  return torch.add(x, zz)\n"
        "                      ~~ <--- HERE\n"
    )


@pytest.mark.parametrize(
    ("expression", "type", "value"),
    [
        ("inf", "float", float("inf")),
        ("-1.5", "float", -1.5),
        ("-9223372036854775808", "int", -(2**63)),
        ("annotate(List[int], [])", "List[int]", []),
        ("annotate(Optional[int], None)", "Optional[int]", None),
        ('"h\\303\\251\\n\\"\\t"', "str", 'hé\n"\t'),
        ("CONSTANTS.c1", "str", "second"),
        ('{"a": 1}', "Dict[str, int]", {"a": 1}),
        ("(1, (2.5,))", "Tuple[int, Tuple[float]]", (1, (2.5,))),
        ("unchecked_cast(int, annotate(Optional[int], 3))", "int", 3),
        ("ops.prim.device(x)", "Device", torch.device("cpu")),
        ("ops.prim.dtype(x)", "int", 6),
        ('torch.device("cpu")', "Device", torch.device("cpu")),
        ("torch.__isnot__(annotate(Optional[int], 3), None)", "bool", True),
        ("torch.len(torch.size(x))", "int", 1),
        ("(annotate(List[int], [4, 5]))[-1]", "int", 5),
        ("0.+2.j", "complex", 2j),
        ("torch.wait(fork(__torch__.g, 4))", "int", 8),
    ],
)
def test_expressions(expression: str, type: str, value: Any) -> None:
    text = (
        f"def f(x: Tensor) -> {type}:\n  return {expression}\ndef g(n: int) -> int:\n  return "
        "torch.mul(n, 2)\n"
    )
    assert function(text, ("first", "second"))(torch.ones(2)) == value


def test_statements() -> None:
    body = "a, b, = (1, 2)\nc : Optional[int] = a\nif torch.gt(b, 1):\n  d = c\nelse:\n  d = c\n"
    assert (
        run(
            body + "_0 = uninitialized(int)\nwhile False:\n  pass" + "\nreturn d",
            torch.ones(1),
            returns="Optional[int]",
        )
        == 1
    )
    with pytest.raises(Exception, match="it is so"):
        run('ops.prim.RaiseException("it is so", "builtins.ValueError")\nreturn x', torch.ones(1))


def test_functions_in_functions_are_for_forks() -> None:
    body = (
        "def __forked():\n  y = torch.mul(x, 2)\n  return torch.add(y, 1)\nz = "
        "fork(__forked)\nreturn torch.wait(z)"
    )
    assert run(body, torch.ones(1)).tolist() == [3.0]
    for wrong in (
        "def g(y):\n  return x\nreturn x",
        "def g():\n  pass\nreturn torch.wait(fork(g))",
        "def g():\n  if True:\n    return x\n  else:\n    pass\n  return x\nreturn "
        "torch.wait(fork(g))",
    ):
        with pytest.raises(ArchiveError):
            run(wrong, torch.ones(1))


def test_classes() -> None:
    text = (
        "class A(Module):\n"
        '  __parameters__ = ["w", ]\n'
        '  __buffers__ = ["b", ]\n'
        "  w : Tensor\n"
        "  b : Tensor\n"
        "  n : int\n"
        '  __annotations__["0"] = __torch__.sub.B\n'
        "  size : Final[Tuple[int, float]] = (3, inf)\n"
        "  def forward(self: __torch__.A, x: Tensor) -> __torch__.sub.P:\n"
        '    _0 = getattr(self, "0")\n'
        "    return __torch__.sub.P((_0).forward(x, ), self.n)\n"
    )
    sub = (
        "op_version_set = 1\n"
        "class B(Module):\n  def forward(self: __torch__.sub.B, x: Tensor) -> Tensor:\n    return "
        "torch.neg(x)\n"
        "class P(NamedTuple):\n  left : Tensor\n  right : int\n"
    )
    a = importer(text, sub=sub).class_type("__torch__.A")
    kinds = {
        name: (str(attribute.type), attribute.kind) for name, attribute in a.attributes.items()
    }
    assert kinds == {
        "w": ("Tensor", "parameter"), "b": ("Tensor", "buffer"), "n": ("int", "attribute"),
        "0": ("__torch__.sub.B", "module"),
    }  # fmt: skip
    assert a.constants == {"size": (3, float("inf"))}
    returned = a.getMethod("forward").schema.returns[0].type
    assert isinstance(returned, TupleType) and returned.names == ("left", "right")
    assert isinstance(
        a.getMethod("forward").graph.findNode("prim::GetAttr").output().type(), ClassType
    )


@pytest.mark.parametrize(
    "body",
    [
        "__import__('os')", "open('x')", "eval('1')", "exec('1')", "getattr(x, '__class__')",
        "x.__class__", "().__class__",
        "torch.__dict__", "torch.ops", "torch.nn", "internals", "self", "globals()",
        "print.__self__", "__builtins__", "super()",
        "f.__globals__", "__torch__.__class__", "__torch__.f.graph", "CONSTANTS.__class__",
        "ops.__class__.__init__()",
        "lambda: 1",
        "torch.load('x')", "torch.save(x, 'x')", "[c for c in ().__class__.__bases__]",
        "CONSTANTS.c9", "CONSTANTS.c-1", "typing",
        "__torch__.missing(x)", "Exception('x')", "type(x)", "vars(x)", "input()", "breakpoint()",
        "torch.jit.load('x')",
    ],
)  # fmt: skip
def test_names_lead_to_nothing_of_python_s(body: str) -> None:
    with pytest.raises(ArchiveError):
        run(f"return {body}", torch.ones(1))


@pytest.mark.parametrize(
    "annotation",
    ["os.path", "__torch__.__class__", "__torch__.f", "'Tensor'", "torch.nn.Module", "List",
     "__torch__.A.B", "int()", "Optional[int, int]", "Dict[int]", "List[__torch__.Nothing]",
     "builtins.int", "Tensor.__class__"],
)  # fmt: skip
def test_annotations_are_types(annotation: str) -> None:
    with pytest.raises(ArchiveError):
        function(f"def f(x: {annotation}) -> Tensor:\n  return x\n")


@pytest.mark.parametrize(
    "text",
    [
        "def f(x: Tensor) -> Tensor:\nreturn x", "import os\n", "f(1)\n", "x = 1\n", "class f\n",
        "\0",
        "def f(*x) -> Tensor:\n  return x\n",
        "def f(x: Tensor):\n  return x\n", "def f(x: Tensor=open('x')) -> Tensor:\n  return x\n",
        "async def f(): pass\n",
        "def f(x: Tensor) -> Tensor:\n  import os\n  return x\n",
        "def f(x: int) -> Tensor:\n  return x\n",
        "def f() -> int: pass\n",
        "def f(x: Tensor, x: Tensor) -> Tensor:\n  return x\n",
        "def f(x: Tensor) -> Tensor:\n  try:\n    pass\n  finally:\n    pass\n",
        "if True:\n  def f(): pass\n", "def f(x: Tensor) -> Tensor:\n  class A: pass\n  return x\n",
        "@f\ndef f(: pass",
    ],
)  # fmt: skip
def test_wrong_code_is_refused(text: str) -> None:
    with pytest.raises(ArchiveError, match="code/__torch__.py"):
        found = importer(text).find_function("__torch__.f")
        if found is None:
            raise ArchiveError("not defined in code/__torch__.py")
        str(found.graph)


@pytest.mark.parametrize(
    "text",
    [
        "class A(Module):\n  a : __torch__.A\n",
        "class A(Module):\n  a : __torch__.B\nclass B(Module):\n  a : List[__torch__.A]\n",
        "class A(NamedTuple):\n  a : __torch__.A\n",
        "class A(Enum):\n  x = 1\n",
        "class A(ModuleInterface):\n  def forward(self: __torch__.A) -> int:\n    pass\n",
        "class A(Module):\n  __class__ : int\n",
        "class A(Module):\n  _parameters : int\n",
        "class A(Module):\n  _jit_type : int\n",
        "class A(Module):\n  a : int\n  a : int\n",
        "class A(Module):\n  a : Final[int] = open('x')\n",
        "class A(Module):\n  __parameters__ = 3\n",
        "class A(Module):\n  a.b = int\n",
        "class A(Module):\n  for i in x: pass\n",
        "class A(Module):\n  __annotations__[3] = int\n",
        "class A(Module):\n  __forward_hooks__ = ['nothing']\n",
        "class A(object):\n  pass\n",
        "class A(Module):\n  pass\nclass A(Module):\n  pass\n",
        "class A(Module):\n  def f(self) -> int:\n    return 1\n  def f(self) -> int:\n    return "
        "2\n",
        "class A(__torch__.B):\n  pass\nclass B(Module):\n  pass\n",
    ],
)
def test_wrong_classes_are_refused(text: str) -> None:
    with pytest.raises(ArchiveError):
        importer(text).class_type("__torch__.A")


def test_a_class_that_is_not_there() -> None:
    with pytest.raises(ArchiveError, match="'__torch__.x.A' is not defined"):
        importer("").class_type("__torch__.x.A")
    with pytest.raises(ArchiveError, match="'__torch__.f' is not"):
        importer("def f() -> int:\n  return 1\n").class_type("__torch__.f")


@pytest.mark.parametrize(
    "text",
    [
        "def f(x: Tensor) -> Tensor:\n  return " + "(" * 500 + "x" + ")" * 500 + "\n",
        "def f(x: Tensor) -> Tensor:\n  return " + "torch.neg(" * 150 + "x" + ")" * 150 + "\n",
        "def f(x: Tensor) -> Tensor:\n  return " + "-" * 20000 + "1\n",
        "def f(x: Tensor) -> Tensor:\n  return x" + ".x" * 20000 + "\n",
        "def f(x: Tensor) -> Tensor:\n"
        + "".join("  " * i + " if True:\n" for i in range(1, 90))
        + "  " * 90
        + " return x\n",
        "def f(x: " + "List[" * 150 + "int" + "]" * 150 + ") -> Tensor:\n  return x\n",
        "def f(x: Tensor) -> Tensor:\n  return " + "+".join("x" * 1 for _ in range(20000)) + "\n",
    ],
)
def test_deep_code_does_no_harm(text: str) -> None:
    try:
        f = importer(text).find_function("__torch__.f")
        assert f is not None
        str(f.graph)
    except ArchiveError as error:
        assert "code/__torch__.py" in str(error)


def test_a_long_chain_of_classes() -> None:
    text = (
        "".join(f"class A{i}(Module):\n  a : __torch__.A{i + 1}\n" for i in range(3000))
        + "class A3000(Module):\n  pass\n"
    )
    with pytest.raises(ArchiveError, match="nested too deeply"):
        importer(text).class_type("__torch__.A0")


def test_functions_that_call_themselves() -> None:
    with pytest.raises(
        ArchiveError, match="function 'f' is called recursively. Recursive calls are not supported"
    ):
        run("return __torch__.f(x, )", torch.ones(1))
    both = (
        "def f(x: Tensor) -> Tensor:\n  return __torch__.g(x, )\ndef g(x: Tensor) -> Tensor:\n  "
        "return __torch__.f(x, )\n"
    )
    with pytest.raises(ArchiveError, match="called recursively"):
        function(both)(torch.ones(1))
    with pytest.raises(ArchiveError, match="called recursively"):
        str(function(both).inlined_graph)


@pytest.mark.sampled(1 / 4)
def test_a_long_chain_of_functions_is_no_crash() -> None:
    text = "".join(
        f"def f{i}(x: Tensor) -> Tensor:\n  return __torch__.f{i + 1}(x, )\n" for i in range(1100)
    )
    f = function(text + "def f1100(x: Tensor) -> Tensor:\n  return x\n", name="f0")
    try:
        assert f(torch.ones(1)).tolist() == [1.0]
    except RuntimeError as error:
        assert isinstance(error, (ArchiveError, RecursionError))


def test_operators_that_do_not_exist_may_be_named() -> None:
    branches = "  if flag:\n    y = torch.to_padded_tensor(x, 0.)\n  else:\n    y = x\n"
    text = f"def f(x: Tensor, flag: bool) -> Tensor:\n{branches}  return y\n"
    f = function(text)
    assert f(torch.ones(1), False).tolist() == [1.0]
    said = (
        "the archive calls aten::to_padded_tensor. PyTorch has an operator 'to_padded_tensor'; "
        "here it is not"
    )
    with pytest.raises(Exception, match=said):
        f(torch.ones(1, 1, 2), True)


def test_literals() -> None:
    def read(text: str) -> Any:
        return literal(ast.parse(text, mode="eval").body, Namespace(("zero",)))

    assert read("[1, -2.5, 'a', None, True, (1,), {'a': [1]}]") == [
        1,
        -2.5,
        "a",
        None,
        True,
        (1,),
        {"a": [1]},
    ]
    assert (
        read("-inf") == float("-inf")
        and read("1.-2.j") == 1 - 2j
        and read("CONSTANTS.c0") == "zero"
    )
    assert (
        read('torch.device("cpu")') == torch.device("cpu") and read("annotate(List[int], [])") == []
    )
    for wrong in (
        "f()",
        "x",
        "x.y",
        "1 + 1",
        "[i for i in x]",
        "CONSTANTS.c1",
        "...",
        "{**a}",
        "b'x'",
        "-'a'",
        "lambda: 1",
    ):
        with pytest.raises(ValueError, match="not a constant value"):
            read(wrong)
