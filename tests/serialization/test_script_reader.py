"""`jit.load` reads what real PyTorch saved: `tests/archives/torchscript/*.pt`, which hold all that
code can contain.
"""

from __future__ import annotations

import copy
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.serialization import ArchiveError
from internals.serialization.script.script_reader import load_script
from tests.serialization.expected import EXPECTED, FOLDER, assert_same, decoded

NAMES = sorted(EXPECTED)


def load(name: str) -> Any:
    return load_script(FOLDER / f"{name}.pt")


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", NAMES)
def test_calls_return_what_pytorch_returned(name: str) -> None:
    m = load(name)
    for call in EXPECTED[name]["calls"]:
        method, arguments = (
            getattr(m, call["method"]),
            [decoded(a, torch) for a in call["arguments"]],
        )
        if "raises" in call:
            with pytest.raises(Exception) as raised:
                method(*arguments)
            assert call["raises"] in str(raised.value)
        else:
            assert_same(method(*arguments), decoded(call["returns"], torch))


@pytest.mark.parametrize("name", NAMES)
def test_code_and_members_are_pytorch_s(name: str) -> None:
    m, expected = load(name), EXPECTED[name]
    if name != "old_operators":  # there the code shows what stands for the old operators
        assert m.code == expected["code"]
    assert sorted(m.state_dict()) == expected["state"]
    assert sorted(n for n, _ in m.named_parameters()) == expected["parameters"]
    assert repr(m) == expected["repr"]


@pytest.mark.parametrize("name", NAMES)
def test_graphs_are_well_formed(name: str) -> None:
    m = load(name)
    m.graph.lint()
    m.inlined_graph.lint()


def test_reads_file_objects_and_fills_extra_files() -> None:
    extra = {"notes/a.txt": "", "b": "", "none": "x"}
    data = (FOLDER / "extra_files.pt").read_bytes()
    m = load_script(io.BytesIO(data), extra_files=extra)
    assert extra == {"notes/a.txt": "hé".encode(), "b": b"\0\xff", "none": b""}
    assert m(torch.ones(1)).tolist() == [1.0]


def test_map_location() -> None:
    m = load_script(FOLDER / "scripted_net.pt", map_location="meta")
    assert {p.device.type for p in m.parameters()} == {"meta"}
    m = load_script(FOLDER / "scripted_net.pt", map_location=torch.device("cpu"))
    assert {p.device.type for p in m.parameters()} == {"cpu"}
    with pytest.raises(
        ValueError, match="map_location should be either None, string or torch.device, but got"
    ):
        load_script(FOLDER / "scripted_net.pt", map_location=0)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="The provided filename .*nothing.pt does not exist"):
        load_script(tmp_path / "nothing.pt")
    with pytest.raises(ValueError, match="is a directory"):
        load_script(tmp_path)
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(ArchiveError):
        load_script(tmp_path / "junk")


def test_an_archive_of_torch_save_is_told_apart(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(2)}, tmp_path / "a.pt")
    with pytest.raises(ArchiveError, match="constants.pkl: file not found.*written by torch.save"):
        load_script(tmp_path / "a.pt")


def test_parameters_are_writable_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    path.write_bytes((FOLDER / "scripted_net.pt").read_bytes())
    before, m = path.read_bytes(), load_script(path)
    with torch.no_grad():
        for p in m.parameters():
            p.zero_()
    assert path.read_bytes() == before
    assert load_script(path).state_dict()["0.weight"].abs().sum().item() > 0


def test_gradients_flow_and_training_changes_the_output() -> None:
    m = load("scripted_net")
    assert all(isinstance(p, torch.nn.Parameter) and p.requires_grad for p in m.parameters())
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((4, 1, 4, 4)).astype(np.float32))
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (m(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    trained = m(x)
    m.eval()
    assert not torch.equal(trained, m(x))


def test_a_loaded_module_is_a_scripted_one() -> None:
    m = load("scripted_net").eval()
    x = torch.ones(1, 1, 4, 4)
    expected = m(x)
    assert_same(copy.deepcopy(m)(x), expected)
    assert_same(torch.jit.freeze(m)(x), expected)
    assert_same(torch.jit.optimize_for_inference(m)(x), expected)
    double = load("scripted_net").eval().to(torch.float64)
    assert double(x.to(torch.float64)).dtype is torch.float64
    other = load("scripted_net").eval()
    other.load_state_dict({name: torch.zeros_like(value) for name, value in m.state_dict().items()})
    assert other(x).abs().sum().item() == 0


def test_inside_of_other_modules() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = load("scripted_net").eval()

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.inner(x) + 1

    x = torch.ones(1, 1, 4, 4)
    expected = load("scripted_net").eval()(x) + 1
    assert_same(torch.jit.script(Outer())(x), expected)
    assert_same(torch.jit.trace(Outer(), x)(x), expected)
    assert_same(torch.nn.Sequential(load("scripted_net").eval())(x) + 1, expected)


def test_shared_submodules_and_storages_stay_shared() -> None:
    m = load("shared")
    assert m.b.weight.data_ptr() == m.a.weight.data_ptr()
    assert m.tied.weight.data_ptr() == m.a.weight.data_ptr()
    views = load("dtypes")
    assert views.view.untyped_storage() is views.transposed.untyped_storage()
    assert views.view.stride() == (4, 2)


def test_attributes_of_a_counter_are_its_own() -> None:
    a, b = load("counter"), load("counter")
    a(torch.ones(2))
    assert (a.count, b.count) == (1, 0)
    a.count = 7
    with pytest.raises(RuntimeError, match="Could not cast attribute 'count' to type int"):
        a.count = "seven"


def test_two_loads_do_not_share_types() -> None:
    assert load("counter")._jit_type is not load("counter")._jit_type


def test_positions_are_those_in_the_archive() -> None:
    assert "# code/__torch__/torchscript_programs.py:" in str(load("writes").graph)


def test_hooks_run() -> None:
    m = load("hooked")
    assert m.inner(torch.tensor([1.0])).tolist() == [20.0]
