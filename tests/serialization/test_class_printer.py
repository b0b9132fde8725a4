"""The code of archives, without PyTorch: classes, functions, named tuples, hooks, forks, names,
versions.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import jit, nn
from internals.jit.ir import (
    ClassType,
    FunctionType,
    IntType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
)
from internals.jit.ir.parser import parse_ir
from internals.jit.script_function import ScriptFunction
from internals.serialization.script.class_printer import ArchiveCode
from internals.serialization.script.op_versions import version_of, version_record
from internals.serialization.script.type_names import TypeNames
from tests.serialization.archives import code, records, saved


def define(source: str, folder: Path) -> dict[str, Any]:
    """The names that a program of `__main__` defines."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(source))
    names: dict[str, Any] = {"torch": internals, "nn": nn, "__name__": "__main__"}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), names)
    return names


PROGRAM = """
    from typing import *
    class Pair(NamedTuple):
        first: torch.Tensor
        second: Optional[int]
    def kscale(x, k: int = 3):
        return x * k
    class Inner(nn.Module):
        n: Final[int]
        def __init__(self):
            super().__init__()
            self.n = 3
            self.w = nn.Parameter(torch.ones(2))
            self.register_buffer("b", torch.zeros(2))
        def forward(self, x, y: Optional[int] = None):
            if y is not None:
                x = x + y
            return Pair(kscale(x * self.w), y)
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.layers = nn.Sequential(nn.ReLU())
            self.sizes = [1, 2]
        def forward(self, x):
            return self.layers(self.inner(x, 2).first + self.inner.b + self.inner.n), "caf\\u00e9"
        @torch.jit.export
        def other(self, k: int) -> List[int]:
            self.sizes.append(k)
            return self.sizes
"""

# What real PyTorch writes for it.
MAIN = """\
class Outer(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  sizes : List[int]
  inner : __torch__.Inner
  layers : __torch__.torch.nn.modules.container.Sequential
  def forward(self: __torch__.Outer,
    x: Tensor) -> Tuple[Tensor, str]:
    layers = self.layers
    inner = self.inner
    _0 = ((inner).forward(x, 2, ))[0]
    inner0 = self.inner
    b = inner0.b
    _1 = (layers).forward(torch.add(torch.add(_0, b), 3), )
    return (_1, CONSTANTS.c0)
  def other(self: __torch__.Outer,
    k: int) -> List[int]:
    sizes = self.sizes
    _2 = torch.append(sizes, k)
    return self.sizes
class Inner(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", ]
  w : Tensor
  b : Tensor
  training : bool
  _is_full_backward_hook : NoneType
  n : Final[int] = 3
  def forward(self: __torch__.Inner,
    x: Tensor,
    y: Optional[int]=None) -> __torch__.Pair:
    if torch.__isnot__(y, None):
      y1 = unchecked_cast(int, y)
      x0, y0 = torch.add(x, y1), y1
    else:
      x0, y0 = x, y
    w = self.w
    _3 = __torch__.kscale(torch.mul(x0, w), 3, )
    return __torch__.Pair(_3, y0)
class Pair(NamedTuple):
  first : Tensor
  second : Optional[int]
def kscale(x: Tensor,
    k: int=3) -> Tensor:
  return torch.mul(x, k)
"""


def unmangled(text: str) -> str:
    """Names as they are when nothing of that name was compiled before. Where lines break depends on
    a function's mangled name, so `kscale` and `kforked` are called as no other functions in these
    tests."""
    return re.sub(r"[./]___torch_mangle_\d+", "", text)


def test_a_module_with_everything_it_needs(tmp_path: Path) -> None:
    found = records(saved(jit.script(define(PROGRAM, tmp_path)["Outer"]())))
    files: dict[str, str] = {}
    for name, text in found.items():
        if name.startswith("code/"):
            name = unmangled(name).replace("__torch__/.py", "__torch__.py")
            files[name] = files.get(name, "") + unmangled(text.decode())
    assert list(files) == [
        "code/__torch__.py",
        "code/__torch__/torch/nn/modules/container.py",
        "code/__torch__/torch/nn/modules/activation.py",
        "code/__torch__/torch/nn/functional.py",
    ]
    assert files["code/__torch__.py"] == MAIN
    assert (
        '  __annotations__["0"] = __torch__.torch.nn.modules.activation.ReLU\n'
        in list(files.values())[1]
    )
    assert '    _0 = getattr(self, "0")\n' in list(files.values())[1]
    assert b"caf\xc3\xa9" in found["constants.pkl"]


def test_hooks_are_methods_and_functions(tmp_path: Path) -> None:
    names = define(
        """
        from typing import *
        class Hooked(nn.Module):
            def forward(self, x):
                return x + 1
        class AroundHooked(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Hooked()
            def forward(self, x):
                return self.inner(x)
        def before(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
            return (input[0] * 2,)
        def after(self, input: Tuple[torch.Tensor], output: torch.Tensor):
            return output / 2
        """,
        tmp_path,
    )
    m = names["AroundHooked"]()
    m.inner.register_forward_pre_hook(names["before"])
    m.inner.register_forward_hook(names["after"])
    data = saved(jit.script(m))
    text = unmangled(code(data))
    assert '  __forward_pre_hooks__ = ["before", ]\n  __forward_hooks__ = ["after", ]\n' in text
    assert "_0 = __torch__.Hooked.before(inner, (x,), )" in text
    assert text.index("  def after(self: __torch__.Hooked") < text.index(
        "  def before(self: __torch__.Hooked"
    )
    assert [name for name in records(data) if name.endswith("Hooked.py")], (
        "a file for the functions of that name"
    )
    assert records(data)["version"] == b"4\n", "the hook divides"


def test_a_fork_is_a_function_inside(tmp_path: Path) -> None:
    f = define(
        """
        def kforked(x, n: int):
            return x * n
        def forks(x):
            return torch.jit.wait(torch.jit.fork(kforked, x, 3)) + x
        """,
        tmp_path,
    )["forks"]
    assert unmangled(code(saved(jit.script(f)))).endswith("""\
    x: Tensor) -> Tensor:
    def __forked_function():
      return __torch__.kforked(x, 3, )
    _0 = fork(__forked_function)
    return torch.add(torch.wait(_0), x)
def kforked(x: Tensor,
    n: int) -> Tensor:
  return torch.mul(x, n)
""")


def named(name: str) -> ClassType:
    found = ClassType(name)
    found.addAttribute("training", IntType.get())
    return found


def test_two_types_of_one_name_are_told_apart() -> None:
    outer, a, b = named("__torch__.Outer"), named("__torch__.m.Net"), named("__torch__.m.Net")
    outer.addAttribute("a", a, "module")
    outer.addAttribute("b", ListType(OptionalType(b)))
    archive = ArchiveCode()
    archive.add_with_all_it_needs(outer)
    files = archive.files()
    assert list(files) == [
        "code/__torch__.py",
        "code/__torch__/m.py",
        "code/__torch__/m/___torch_mangle_0.py",
    ]
    assert (
        "  a : __torch__.m.Net\n  b : List[Optional[__torch__.m.___torch_mangle_0.Net]]\n"
        in files["code/__torch__.py"]
    )
    assert list(files.values())[1] == list(files.values())[2]


def test_names_stay_with_their_types() -> None:
    names = TypeNames()
    a, b, c = named("__torch__.N"), named("__torch__.N"), named("__torch__.___torch_mangle_0.N")
    assert [names.of(t) for t in (c, a, b, a, c)] == [
        "__torch__.___torch_mangle_0.N", "__torch__.N", "__torch__.___torch_mangle_1.N",
        "__torch__.N", "__torch__.___torch_mangle_0.N",
    ]  # fmt: skip
    pair = TupleType((TensorType.get(), a), ("x", "y"), "__torch__.Pair")
    assert (
        names.spell(TupleType([pair, ListType(b)]))
        == "Tuple[__torch__.Pair, List[__torch__.___torch_mangle_1.N]]"
    )
    assert (
        names.of(TupleType((TensorType.get(), a), ("x", "y"), "__torch__.Pair")) == "__torch__.Pair"
    ), "equal types are one"
    assert names.spell(TupleType([])) == "Tuple[()]"


def test_an_attribute_without_an_identifier_at_the_front() -> None:
    kind = ClassType("__torch__.Odd")
    kind.addAttribute("0", TensorType.get(), "parameter")
    kind.addAttribute("é", IntType.get())
    archive = ArchiveCode()
    archive.add(kind)
    assert archive.files()["code/__torch__.py"].split("\n")[1:-1] == [
        '  __parameters__ = ["0", ]', "  __buffers__ = []", "  __annotations__ = []",
        '  __annotations__["0"] = Tensor', '  __annotations__["é"] = int',
    ]  # fmt: skip


@pytest.mark.parametrize(
    "call, version",
    [("aten::add(%x, %x, %one)", 3), ("aten::div(%x, %x)", 4), ("aten::div(%one, %one)", 3),
     ("aten::div_(%x, %x)", 4), ("aten::full(%sizes, %one, %none, %none, %none, %none)", 5),
     ("aten::gelu(%x, %tanh)", 10),
     ("aten::linspace(%one, %one, %one, %none, %none, %none, %none)", 8)],
)  # fmt: skip
def test_the_version_is_as_low_as_the_operators_allow(call: str, version: int) -> None:
    result = "float" if call == "aten::div(%one, %one)" else "Tensor"
    graph = parse_ir(f"""
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %tanh : str = prim::Constant[value="tanh"]()
  %sizes : int[] = prim::ListConstruct(%one)
  %y : {result} = {call}
  return (%y)""")
    assert max(map(version_of, graph.nodes())) == version
    archive = ArchiveCode()
    archive.add(FunctionType(ScriptFunction("f", graph, qualified_name="__torch__.f")))
    assert archive.version == version


def test_where_the_version_is() -> None:
    assert [version_record(v) for v in (3, 5, 6, 10)] == [
        "version",
        "version",
        ".data/version",
        ".data/version",
    ]


def test_more_than_one_result_cannot_be_exported() -> None:
    graph = parse_ir("graph(%x : Tensor):\n  return (%x, %x)")
    with pytest.raises(RuntimeError, match="Exportable methods must have a single return value"):
        ArchiveCode().add(FunctionType(ScriptFunction("f", graph, qualified_name="__torch__.f")))
