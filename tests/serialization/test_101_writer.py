"""Archives in the layout of PyTorch 1.0.1: the same code, the same model.json and the same bytes as
the real one wrote.

The real one also loaded and ran what is written here; `tests/archives/v101/make.py` says where its
archives are from.
"""

from __future__ import annotations

import io
import json
import os
import struct
from pathlib import Path
from typing import Any, Optional

import pytest

import internals as torch
from internals import Tensor, jit, nn
from internals.models import resnet18
from internals.serialization import load_101, save_101
from tests.serialization.archives_101 import FOLDER, assert_equal, records


def saved(m: Any) -> dict[str, bytes]:
    out = io.BytesIO()
    save_101(m, out)
    return records(out.getvalue())


def code_of(m: Any) -> str:
    return saved(m)["code/archive.py"].decode()


def test_a_slice_without_an_end_ends_at_the_largest_int_as_in_1_0_1() -> None:
    class Rest(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[1:]

    assert f"torch.slice(x, 0, 1, {2**63 - 1}, 1)" in code_of(jit.script(Rest()))


def round_trip(m: Any) -> Any:
    out = io.BytesIO()
    save_101(m, out)
    return load_101(io.BytesIO(out.getvalue()))


class Golden(nn.Module):
    """The module of `make.py`, with the weights that it had there."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.bn = nn.BatchNorm1d(3)
        self.register_buffer("k", torch.arange(12.0).view(3, 4)[:, 1:3])
        self.load_state_dict(load_101(FOLDER / "trace101.pt").state_dict())

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.bn(self.fc(x))) + self.k.sum() + torch.ones(2, 3)[0]


@jit.script
def golden_function(x, n):  # type: ignore[no-untyped-def]
    # type: (Tensor, int) -> Tuple[Tensor, List[int]]
    l = [1]  # noqa: E741
    for i in range(n):
        x = x + i
        l.append(i)
    return x, l


def without_dates(data: bytes) -> bytes:
    """An archive with the time and date of each entry zeroed, in the local headers and in the
    central directory.
    """
    out = bytearray(data)
    count, _, start = struct.unpack_from("<HII", data, data.rindex(b"PK\5\6") + 10)
    for _ in range(count):
        n, extra, comment = struct.unpack_from("<HHH", data, start + 28)
        (header,) = struct.unpack_from("<I", data, start + 42)
        out[start + 12 : start + 16] = out[header + 10 : header + 14] = bytes(4)
        start += 46 + n + extra + comment
    return bytes(out)


@pytest.mark.parametrize("name", ["trace101", "fn101"])
def test_the_same_bytes_as_1_0_1(name: str, tmp_path: Path) -> None:
    """Dates aside: ours are zero."""
    m = golden_function if name == "fn101" else jit.trace(Golden().eval(), torch.ones(2, 2))
    path = tmp_path / f"{name}.pt"
    save_101(m, path)
    real = FOLDER / f"{name}.pt"
    assert records(path) == records(real) and list(records(path)) == list(records(real))
    assert without_dates(path.read_bytes()) == without_dates(real.read_bytes())


@pytest.mark.sampled(1 / 4)
def test_the_listing_of_the_talk(tmp_path: Path) -> None:
    """`resnet/version`, `resnet/code/resnet.py`, `resnet/model.json`, `resnet/tensors/0`, and the
    excerpts of two of them.
    """
    model = resnet18().eval()
    traced = jit.trace(model, torch.rand(1, 3, 64, 64), check_trace=False)
    traced.save(tmp_path / "resnet.pt", format="1.0.1")
    found = records(tmp_path / "resnet.pt")
    tensors = [name for name in found if name.startswith("tensors/")]
    assert list(found) == ["version", "code/resnet.py", *tensors, "model.json"]
    assert tensors == [f"tensors/{i}" for i in range(len(model.state_dict()))]
    lines = found["code/resnet.py"].decode().splitlines()
    assert lines[:3] == [
        "op_version_set = 0",
        "def forward(self,",
        "    input_1: Tensor) -> Tensor:",
    ]
    assert lines[3].startswith("  input_2 = torch._convolution(input_1, self.conv1.weight, ")
    assert lines[4].startswith(
        "  input_3 = torch.batch_norm(input_2, self.bn1.weight, self.bn1.bias, "
        "self.bn1.running_mean, self.bn1.running_var, "
    )
    text = found["model.json"].decode()
    assert (
        '{"parameters":[{"isBuffer":false,"tensorId":"0","name":"weight"}],"name":"conv1","optimize":true}'
        in text
    )
    assert (
        '{"isBuffer":true,"tensorId":"3","name":"running_mean"},{"isBuffer":true,"tensorId":"4","name":"running_var"}'
        in text
    )
    x = torch.rand(1, 3, 64, 64)
    assert_equal(jit.load(tmp_path / "resnet.pt")(x), traced(x))


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0]))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w


class Middle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor, times: int) -> Tensor:
        for i in range(times):
            x = self.inner(x) + i
        return x


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Middle(), Middle()])

    def forward(self, x: Tensor, times: int) -> Tensor:
        for block in self.blocks:
            x = block(x, times)
        return x


def test_scripted_modules_have_code_of_their_own_and_calls_are_inlined(tmp_path: Path) -> None:
    """All of it as the real one wrote it, `getattr(self.blocks, "0").inner.w` included."""
    save_101(jit.script(Nested()), tmp_path / "nested101.pt")
    assert records(tmp_path / "nested101.pt") == records(FOLDER / "nested101.pt")


class Fork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        f = jit.fork(self.g, x, 2)
        y = x * 3
        return jit.wait(f) + y

    def g(self, x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = x * self.w + 1
        return x


def test_a_fork_calls_a_method_that_gets_the_tensors() -> None:
    code = code_of(jit.script(Fork()))
    assert "  f = fork(self.__forked_function, x, 2, self.w)\n" in code
    assert (
        "\n\n\ndef __forked_function(self,\n    x_1: Tensor,\n    _0: int,\n    _1: Tensor) -> "
        "Tensor:\n" in code
    )
    assert_equal(round_trip(jit.script(Fork()))(torch.ones(2)), torch.tensor([6.0, 6.0]))


class Folded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale, self.n, self.names, self.nothing = 0.5, 3, ["a", "b"], None
        self.bn = nn.BatchNorm1d(2)

    def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        if self.training:
            x = x * 100
        for i in range(self.n):
            x = x + self.scale * i
        if self.nothing is None and y is not None:
            x = x + y
        return self.bn(x) + len(self.names)


def test_attributes_that_are_no_tensors_are_constants_and_decide_branches() -> None:
    m = jit.script(Folded().eval())
    code = code_of(m)
    assert "for i in range(3):" in code and "torch.mul(i, 0.5)" in code.replace(
        "torch.mul(0.5, i)", "torch.mul(i, 0.5)"
    )
    # a wrong dimension still raises
    assert "100" not in code and "training" not in code and "RaiseException" in code
    x = torch.randn(3, 2)
    assert_equal(round_trip(m)(x, None), m(x))
    assert_equal(round_trip(m)(x, x), m(x, x))
    with pytest.raises(jit.Error):
        round_trip(m)(torch.randn(2), None)


def test_storages_are_written_once_and_views_stay_views() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            base = torch.arange(6.0)
            for name, t in (("whole", base), ("evens", base[::2]), ("last", base[5])):
                self.register_buffer(name, t)
            self.fixed = nn.Parameter(torch.ones(2).half(), requires_grad=False)
            self.free = nn.Parameter(torch.zeros(1, 0))

        def forward(self, x: Tensor) -> Tensor:
            self.evens.add_(x)
            return self.whole + self.last

    m = jit.script(Shared())
    found = saved(m)
    tensors = {
        p["name"]: p["tensorId"]
        for p in json.loads(found["model.json"])["mainModule"]["parameters"]
    }
    table = json.loads(found["model.json"])["tensors"]
    evens, last = table[int(tensors["evens"])], table[int(tensors["last"])]
    assert evens["data"] == last["data"] == table[int(tensors["whole"])]["data"]
    assert evens["strides"] == ["2"] and last["offset"] == "5" and "dims" not in last
    assert [t["requiresGrad"] for t in table] == [name == "free" for name in tensors]
    assert len([name for name in found if name.startswith("tensors/")]) == 3
    loaded = round_trip(m)
    assert (
        loaded.evens.data_ptr() == loaded.whole.data_ptr()
        and loaded.free.requires_grad
        and not loaded.fixed.requires_grad
    )
    assert_equal(loaded(torch.ones(3)), torch.tensor([6.0, 6, 8, 8, 10, 10]))


def test_a_constant_that_equals_a_parameter_does_not_become_it() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.w + torch.tensor([1.0, 1.0]) + torch.tensor([1.0, 1.0])

    m = jit.trace(Net(), torch.ones(2), check_trace=False)
    assert code_of(m).count("CONSTANTS.c1") == 2 and "CONSTANTS.c0" not in code_of(m)
    loaded = round_trip(m)
    with torch.no_grad():
        loaded.w.zero_()
    assert_equal(loaded(torch.ones(2)), torch.tensor([2.0, 2.0]))


def test_a_write_is_not_moved_behind_a_long_expression() -> None:
    @jit.script
    def f(x: Tensor, y: Tensor) -> Tensor:
        return torch.cat(
            [
                x.add_(1),
                torch.add(torch.mul(torch.add(x, y), torch.add(x, 2)), torch.exp(torch.mul(y, 0))),
            ]
        )

    assert_equal(round_trip(f)(torch.ones(1), torch.ones(1)), f(torch.ones(1), torch.ones(1)))
    lines = code_of(f).splitlines()
    assert lines[4] == "  _0 = torch.add_(x, 1, 1)"


@jit.script
def words(x, n, flag, name):  # type: ignore[no-untyped-def]
    # type: (Tensor, int, bool, str) -> Tuple[int, float, List[List[int]], Optional[Tensor], str]
    count, total = 0, 0.5
    while count < n and not flag:
        total = total / 3 + 1e-05
        count += 1
    table = [[1, 2], [count]]
    table.append([3])
    found: Optional[Tensor] = None  # noqa: UP045
    if name == 'it\'s "quoted"\n\u00fc':
        found = x[0, 1:]
    return count // 2, total, table, found, name + "\0"


@pytest.mark.parametrize("name", ['it\'s "quoted"\n\u00fc', "other"])
@pytest.mark.parametrize("flag", [True, False])
def test_numbers_strings_lists_of_lists_and_none(name: str, flag: bool) -> None:
    args = torch.ones(2, 3), 5, flag, name
    assert_equal(round_trip(words)(*args), words(*args))


def early_return(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        if i == 3:
            return x * i
    return x


def test_what_is_never_looked_at_is_some_constant() -> None:
    f = jit.script(early_return)
    assert "torch.zeros([0], dtype=6" in code_of(f).replace("annotate(List[int], [0])", "[0]")
    for n in (2, 5):
        assert_equal(round_trip(f)(torch.ones(2), n), f(torch.ones(2), n))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        return x + self.n


class WithMask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor([True]))

    def forward(self, x: Tensor) -> Tensor:
        return x


def a_dict(x: Tensor) -> Tensor:
    return {"a": x}["a"]


def a_bool_tensor(x: Tensor) -> Tensor:
    return x.to(torch.bool)


def an_operator(x: Tensor) -> Tensor:
    return torch.amax(x, [0])


def an_argument(x: Tensor) -> Tensor:
    return torch.div(x, x, rounding_mode="floor")


@jit.ignore
def python(x: Tensor) -> Tensor:
    return x


def calls_python(x: Tensor) -> Tensor:
    return python(x)


@pytest.mark.parametrize(
    ("m", "message"),
    [
        (
            Counter(),
            "the attribute 'n' is set by a method; modules of PyTorch 1.0.1 had tensors only",
        ),
        (WithMask(), "PyTorch 1.0.1 had no tensors of internals.bool, such as 'mask'"),
        (a_dict, "PyTorch 1.0.1 had no operator prim::DictConstruct"),
        (a_bool_tensor, "PyTorch 1.0.1 had no internals.bool, which aten::to asks for"),
        (an_operator, "PyTorch 1.0.1 had no operator aten::amax"),
        (an_argument, "PyTorch 1.0.1 had no aten::div.Tensor_mode("),
        (calls_python, "could not export python function call python"),
    ],
)
def test_what_1_0_1_could_not_hold_is_refused_and_leaves_no_file(
    m: Any, message: str, tmp_path: Path
) -> None:
    (tmp_path / "m.pt").write_bytes(b"old")
    with pytest.raises(RuntimeError) as refused:
        save_101(jit.script(m), tmp_path / "m.pt")
    assert message in str(refused.value)
    assert os.listdir(tmp_path) == ["m.pt"] and (tmp_path / "m.pt").read_bytes() == b"old"


def test_only_what_is_compiled_can_be_saved() -> None:
    with pytest.raises(
        TypeError, match="only compiled modules and functions can be saved, not a Linear"
    ):
        save_101(nn.Linear(1, 1), io.BytesIO())
