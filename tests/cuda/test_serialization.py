"""Saving and loading what is on the device: the location in the file, where it goes, and PyTorch's
errors where it cannot.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from internals import jit, nn
from internals.cuda import backend
from tests.answers import answer, oracle


def saved(obj: Any) -> io.BytesIO:
    f = io.BytesIO()
    torch.save(obj, f)
    f.seek(0)
    return f


@pytest.fixture
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine that has no GPU and does not simulate one."""
    monkeypatch.setenv(backend.VARIABLE, "none")
    monkeypatch.setattr(backend, "_asked", None)

    def load(f: Any, **options: Any) -> Any:
        with backend.installed(None):
            return torch.load(f, **options)

    return load


def test_a_tensor_comes_back_to_its_device() -> None:
    x = torch.arange(6.0, device="cuda").view(2, 3).T
    y = torch.load(saved({"x": x, "part": x[1:]}))
    assert y["x"].device == x.device and y["x"].stride() == x.stride() and torch.equal(y["x"], x)
    y["x"][1, 0] = 9.0
    assert y["part"][0, 0].item() == 9.0  # one storage still


def test_the_file_says_where() -> None:
    with zipfile.ZipFile(saved([torch.ones(2, device="cuda"), torch.ones(3)])) as archive:
        pickled = archive.read("archive/data.pkl")
    assert pickled.count(b"cuda:0") == 1 and pickled.count(b"cpu") == 1


def test_map_location(second_device: int) -> None:
    x, y = torch.ones(2, device="cuda"), torch.zeros(2)

    def load(where: Any) -> Any:
        return [
            t.device.type if t.device.index in (None, 0) else str(t.device)
            for t in torch.load(saved([x, y]), where)
        ]

    other = f"cuda:{second_device}"
    assert load(None) == ["cuda", "cpu"]
    assert load("cpu") == load(torch.device("cpu")) == load(b"cpu") == ["cpu", "cpu"]
    assert load("cuda") == load("cuda:0") == load(torch.device("cuda")) == ["cuda", "cuda"]
    assert load(other) == [other, other]
    assert load({"cuda:0": other}) == [other, "cpu"]
    assert load({"cuda:0": "cpu", "cpu": "cuda:0"}) == ["cpu", "cuda"]
    assert load(lambda storage, location: storage) == ["cpu", "cpu"]
    assert load(lambda storage, location: storage.cuda() if location == "cpu" else None) == [
        "cuda",
        "cuda",
    ]
    assert load("meta") == ["meta", "meta"]


def test_a_checkpoint_of_a_gpu_where_there_is_none(without_cuda: Any) -> None:
    f = saved(torch.arange(3.0, device="cuda"))
    text = (
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
        "If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )
    with pytest.raises(RuntimeError) as error:
        without_cuda(f)
    assert str(error.value).endswith(text)
    f.seek(0)
    assert without_cuda(f, map_location="cpu").tolist() == [0.0, 1.0, 2.0]


def test_a_device_that_is_not_there() -> None:
    f = saved(torch.ones(1, device="cuda"))
    with pytest.raises(RuntimeError, match=r"on CUDA device 9 but torch.cuda.device_count\(\) is "):
        torch.load(f, map_location="cuda:9")
    f.seek(0)
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        torch.load(f, map_location="cudaisfast")


def test_pytorch_reads_it_and_says_the_same() -> None:
    f = saved({"weight": torch.arange(4.0, device="cuda")})

    def read(real: Any) -> list[float]:
        if not real.cuda.is_available():
            with pytest.raises(
                RuntimeError, match="Attempting to deserialize object on a CUDA device"
            ):
                real.load(f)
            f.seek(0)
        return real.load(f, map_location="cpu")["weight"].tolist()

    assert answer(read, about=f.getvalue(), family="archives") == [0.0, 1.0, 2.0, 3.0]


def test_files_of_before_zip(tmp_path: Path) -> None:
    real = oracle()
    path = tmp_path / "old.pt"
    real.save({"x": real.arange(3.0)}, path, _use_new_zipfile_serialization=False)
    x = torch.load(path, map_location="cuda")["x"]
    assert x.is_cuda and x.tolist() == [0.0, 1.0, 2.0]


def test_state_dicts_go_to_where_the_module_is() -> None:
    source = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).cuda()
    state = torch.load(saved(source.state_dict()))
    assert all(t.is_cuda for t in state.values())
    target = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    target.load_state_dict(state)
    assert all(not t.is_cuda for t in target.state_dict().values())
    x = torch.ones(4, 2)
    assert torch.allclose(target.eval()(x), source.eval()(x.cuda()).cpu())
    assigned = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assigned.load_state_dict(state, assign=True)
    assert all(p.is_cuda for p in assigned.parameters())


def test_safetensors(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is not installed")
    from internals.serialization.safetensors_files import load_safetensors, save_safetensors

    path = tmp_path / "model.safetensors"
    save_safetensors({"x": torch.arange(3.0, device="cuda")}, path)
    assert load_safetensors(path)["x"].tolist() == [0.0, 1.0, 2.0]
    assert (
        load_safetensors(path, device="cuda")["x"].is_cuda and torch.load(path, "cuda")["x"].is_cuda
    )


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0))
        self.register_buffer("offset", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight + self.offset


@pytest.mark.parametrize("compiled", ["script", "trace"])
def test_compiled_modules(compiled: str, without_cuda: Any) -> None:
    x = torch.ones(3, device="cuda")
    module = Scaled().cuda()
    scripted = jit.script(module) if compiled == "script" else jit.trace(module, (x,))

    def file() -> io.BytesIO:
        f = io.BytesIO()
        jit.save(scripted, f)
        f.seek(0)
        return f

    back = jit.load(file())
    assert back.weight.is_cuda and back.offset.is_cuda and torch.equal(back(x), module(x))
    on_host = jit.load(file(), map_location="cpu")
    assert not on_host.weight.is_cuda and torch.equal(on_host(x.cpu()), module(x).cpu())
    up = jit.load(file(), map_location=torch.device("cuda"))
    assert up.weight.is_cuda
    f = file()
    with (
        backend.installed(None),
        pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"),
    ):
        jit.load(f)


def test_optimizers_come_back_to_the_device_of_their_parameters() -> None:
    model = nn.Linear(2, 2).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    state = torch.load(saved(optimizer.state_dict()), map_location="cpu")
    again = torch.optim.Adam(model.parameters(), lr=0.1)
    again.load_state_dict(state)
    assert all(again.state[p]["exp_avg"].is_cuda for p in model.parameters())
