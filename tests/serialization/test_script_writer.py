"""`jit.save` without PyTorch: what is in an archive, what cannot be saved, what comes back."""

from __future__ import annotations

import io
import os
import pickletools
import zipfile
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import jit, nn
from internals.jit.script_module import ScriptModule
from internals.serialization.pickles.storages import StorageTable
from internals.serialization.script.script_pickler import ScriptPickler
from internals.serialization.script.script_writer import save_script
from internals.serialization.script.type_names import TypeNames
from tests.jit.corpus import load
from tests.jit.corpus.running import assert_same, callable_of, outcome, plain
from tests.jit.modules import CASES, ModuleCase
from tests.serialization.archives import (
    assert_alike,
    code,
    comparable,
    module_of,
    records,
    reloaded,
    saved,
    traced,
)

pytestmark = pytest.mark.sampled(1 / 4)

OURS = load(internals)


def helper(x, k: int = 3):  # type: ignore[no-untyped-def]
    return x * k


class Tied(nn.Module):
    """A shared submodule, a shared parameter, a view, a buffer that is not persistent.

    The submodule is compiled twice, as in PyTorch; its tensors are shared.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = self.first
        self.w = self.first.weight
        self.whole = internals.arange(6.0)
        self.part = self.whole[2:4]
        self.register_buffer("hidden", internals.ones(2), persistent=False)

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.whole += 1
        return self.second(x) + self.w + self.part + self.hidden


def test_the_records_and_their_order() -> None:
    buffer = io.BytesIO()
    save_script(jit.script(Tied()), buffer, {"notes.txt": "é", "raw": b"\x00"})
    with zipfile.ZipFile(buffer) as z:
        names = [name for name in z.namelist() if "mangle" not in name and ".py" not in name]
        assert names == [
            "archive/extra/notes.txt", "archive/extra/raw", "archive/data/0", "archive/data/1",
            "archive/data/2", "archive/data/3", "archive/data.pkl", "archive/constants.pkl",
            "archive/version", "archive/byteorder", "archive/.data/serialization_id",
        ]  # fmt: skip
        assert (
            z.read("archive/extra/notes.txt") == "é".encode()
            and z.read("archive/extra/raw") == b"\x00"
        )
        assert (
            z.read("archive/version") == b"3\n" and z.read("archive/constants.pkl") == b"\x80\x02)."
        )
        assert all((info.compress_type == 8) == (".py" in info.filename) for info in z.infolist())


def test_paths_name_the_folder(tmp_path: Path) -> None:
    save_script(jit.script(Tied()), tmp_path / "net.v1.pt")
    with zipfile.ZipFile(tmp_path / "net.v1.pt") as z:
        assert {name.partition("/")[0] for name in z.namelist()} == {"net.v1"}
    assert os.listdir(tmp_path) == ["net.v1.pt"]


def test_what_is_shared_is_written_once_and_shared_again() -> None:
    m = reloaded(jit.script(Tied()))
    assert (
        m.first.weight is m.second.weight
        and m.w is m.first.weight
        and m.first.bias is m.second.bias
    )
    assert m.part.untyped_storage() is m.whole.untyped_storage() and m.part.storage_offset() == 2
    assert isinstance(m.w, nn.Parameter) and m.w.requires_grad and not m.hidden.requires_grad
    x = internals.ones(2)
    assert_same(
        plain(m(x)), plain(jit.script(Tied())(x) * 0 + m.first(x) + m.w + m.part + m.hidden)
    )


def test_a_function_is_a_module_without_attributes() -> None:
    data = saved(jit.script(helper))
    assert code(data) == (
        "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : "
        "bool\n"
        "  def forward(self: __torch__.PlaceholderModule,\n    x: Tensor,\n    k: int) -> "
        "Tensor:\n    return torch.mul(x, k)\n"
    )
    assert [op.name for op, _, _ in pickletools.genops(records(data)["data.pkl"])] == [
        "PROTO", "GLOBAL", "BINPUT", "EMPTY_TUPLE", "NEWOBJ", "EMPTY_DICT", "MARK", "BINUNICODE",
        "BINPUT", "NEWTRUE", "SETITEMS", "BUILD", "BINPUT", "STOP",
    ]  # fmt: skip
    assert jit.script(helper).schema.arguments[1].has_default_value(), (
        "the function itself keeps its default"
    )


VALUES = [
    "[1, 2]", "{1: 'x'}", "[1.5, float('inf')]", "[True]", "['a', 'b', 'a']", "[[1], [2, 3]]",
    "{'a': [1.0]}", "(1,)",
    "(1, 'x', None)", "((1, 2), [3, 4], 'y', 2.5, True)", "5", "-3", "300", "70000", "2**40",
    "-(2**40)",
    "2**63 - 1", "1.5", "float('-inf')",
    "1+2j", "'h\\u00e9\\n\"'", "'\\U0001f600'", "True", "None", "internals.device('cpu')",
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_values_of_every_type(text: str) -> None:
    value = eval(text)

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value = value

        def forward(self):  # type: ignore[no-untyped-def]
            return self.value

    m = reloaded(jit.script(Holder()))
    assert m() == value and type(m()) is type(value) and m.value == value


def test_a_list_that_occurs_twice_is_one_list_again() -> None:
    class Lists(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = [1], [2]

        def forward(self, k: int):  # type: ignore[no-untyped-def]
            self.a = self.b
            self.a.append(k)
            return self.b

    m = jit.script(Lists())
    m(5)
    again = reloaded(m)
    assert again.a is again.b and again.a == [2, 5]


def test_pickles_name_list_types() -> None:
    from internals.jit.ir.type_parser import parse_type

    data = ScriptPickler(StorageTable(), TypeNames()).dump_typed(
        {"a": [[], [1]]}, parse_type("Dict(str, int[][])")
    )
    found = [arg for op, arg, _ in pickletools.genops(data) if op.name in ("GLOBAL", "BINUNICODE")]
    assert found == [
        "torch.jit._pickle restore_type_tag", "a", "torch.jit._pickle build_intlist",
        "List[List[int]]", "Dict[str, List[List[int]]]",
    ]  # fmt: skip


# What cannot be saved


@jit.ignore
def python(x: internals.Tensor) -> internals.Tensor:
    return x


def calls_python(x):  # type: ignore[no-untyped-def]
    return python(x)


def test_a_call_of_python_cannot_be_saved_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        save_script(jit.script(calls_python), tmp_path / "f.pt")
    assert str(caught.value).startswith(
        "\nCould not export Python function call 'python'. Remove calls to Python functions before "
        "export. Did you forget to add @script or @script_method annotation? If this is a "
        "nn.ModuleList, add it to __constants__:\n"
    )
    assert "return python(x)" in str(caught.value)
    stream = io.BytesIO()
    with pytest.raises(RuntimeError):
        save_script(jit.script(calls_python), stream)
    assert not os.listdir(tmp_path) and not stream.getvalue()


def test_what_is_not_compiled_has_nothing_to_save(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'save'$"):
        save_script(nn.Linear(2, 2), tmp_path / "m.pt")
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'save_to_buffer'"):
        save_script(nn.Linear(2, 2), io.BytesIO())


def test_extra_files_are_text_or_bytes() -> None:
    with pytest.raises(
        TypeError, match="_extra_files maps names to str or bytes, not str to int: 'n'"
    ):
        save_script(jit.script(helper), io.BytesIO(), {"n": 1})  # type: ignore[dict-item]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        save_script(jit.script(helper), tmp_path / "no" / "f.pt")


# Round trips


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("name", OURS)
def test_scripted_programs_come_back(name: str) -> None:
    program = OURS[name]
    function, parameters = callable_of(internals, program)
    m = jit.script(function)
    again = reloaded(m)
    for which in range(len(program.inputs)):
        expected = outcome(internals, m, program.arguments(internals, which), parameters)
        assert_same(
            outcome(
                internals, again, program.arguments(internals, which), list(again.parameters())
            ),
            expected,
        )


@pytest.mark.sampled(1 / 8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in OURS if OURS[name].traced])
def test_traced_programs_come_back(name: str) -> None:
    program = OURS[name]
    function, parameters = callable_of(internals, program)
    m, moving = traced(internals, program, function)
    again = reloaded(m)
    args = [tuple(program.arguments(internals)[i] for i in moving) for _ in range(2)]
    expected = outcome(internals, m, args[0], parameters)
    assert_same(outcome(internals, again, args[1], list(again.parameters())), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name != "methods"], ids=lambda case: case.name
)
def test_modules_come_back_and_can_be_saved_again(case: ModuleCase, tmp_path: Path) -> None:
    module, inputs = module_of(case, internals, tmp_path, "coming_back")
    m = jit.script(module)
    again = reloaded(reloaded(m))
    assert isinstance(again, ScriptModule)
    for _ in range(2):
        assert_same(plain(again(*inputs)), plain(m(*inputs)))


ARCHIVES = sorted((Path(__file__).parents[1] / "archives" / "torchscript").glob("*.pt"))
# Saved again they differ: extra files and traced inputs are not kept, old operators have been
# replaced.
NOT_AS_IT_WAS = {"extra_files", "traced_net", "old_operators"}


@pytest.mark.parametrize(
    "path", [p for p in ARCHIVES if p.stem not in NOT_AS_IT_WAS], ids=lambda path: path.stem
)
def test_what_real_pytorch_saved_is_saved_again_byte_for_byte(path: Path) -> None:
    """Pickles, code, constants and storages; PyTorch's tables of source ranges and its hash of the
    names aside.
    """
    assert_alike(saved(jit.load(path)), comparable(path.read_bytes(), values=True), values=True)


def test_two_loaded_types_of_one_name_in_one_module() -> None:
    class One(nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.n = n

        def forward(self, x):  # type: ignore[no-untyped-def]
            return x + self.n

    class Other(nn.Module):
        def forward(self, x):  # type: ignore[no-untyped-def]
            return x * 10

    Other.__name__ = Other.__qualname__ = "One"
    data = [_unmangled(saved(jit.script(m))) for m in (One(1), Other())]
    parts = [jit.load(io.BytesIO(each)) for each in data]
    assert (
        parts[0]._jit_type.name() == parts[1]._jit_type.name()
        or "mangle" in parts[1]._jit_type.name()
    )
    both = nn.Sequential(*parts)
    m: Any = reloaded(jit.script(both))
    assert m(internals.ones(1)).tolist() == [20.0]


def _unmangled(data: bytes) -> bytes:
    """The archive with the names its types would have in a fresh process."""
    import re

    from internals.serialization.container.zip_writer import ArchiveWriter

    buffer = io.BytesIO()
    with ArchiveWriter(buffer) as writer:
        for name, content in records(data).items():
            shorter = re.sub(r"/___torch_mangle_\d+", "", name)
            writer.write(shorter, re.sub(rb"\.___torch_mangle_\d+", b"", content))
    return buffer.getvalue()
