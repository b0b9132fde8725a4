"""`python -m internals convert`: between today's layout and that of PyTorch 1.0.1, and between
files of tensors.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from internals import jit, nn
from internals.__main__ import main
from tests.answers import answer
from tests.serialization.archives import held
from tests.serialization.archives_101 import (
    EXPECTED,
    FOLDER,
    archive,
    assert_equal,
    one_function,
    records,
    value,
)
from tests.support import from_torch


def convert(*arguments: Any) -> int:
    return main(["convert", *map(str, arguments)])


def to_real(torch: Any, stored: Any) -> Any:
    if isinstance(stored, dict) and "dtype" in stored:
        return torch.tensor(stored["values"], dtype=getattr(torch, stored["dtype"])).reshape(
            stored["sizes"]
        )
    if isinstance(stored, dict):
        return (
            tuple(to_real(torch, v) for v in stored["tuple"])
            if "tuple" in stored
            else stored["list"]
        )
    return stored


@pytest.mark.parametrize("name", EXPECTED)
def test_archives_of_1_0_1_become_todays_and_back(name: str, tmp_path: Path) -> None:
    """Modern, old, modern: each runs as the first did."""
    assert convert(FOLDER / f"{name}.pt", tmp_path / "a.pt") == 0
    assert "model.json" not in records(tmp_path / "a.pt") and "data.pkl" in records(
        tmp_path / "a.pt"
    )
    if name != "layers101":  # its masks are of a dtype that there was not
        assert convert("--format", "1.0.1", tmp_path / "a.pt", tmp_path / "b.pt") == 0
        assert "model.json" in records(tmp_path / "b.pt")
        assert convert(tmp_path / "b.pt", tmp_path / "c.pt") == 0
    for file in sorted(tmp_path.iterdir()):
        m = jit.load(file)
        for call in EXPECTED[name]:
            assert_equal(m(*map(value, call["inputs"])), value(call["expected"]))


@pytest.mark.parametrize("name", EXPECTED)
def test_real_pytorch_runs_what_it_had_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Legacy model format"):
        answer(lambda real: real.jit.load(FOLDER / f"{name}.pt"), family="archives")
    assert convert(FOLDER / f"{name}.pt", tmp_path / "net.pt") == 0
    data = (tmp_path / "net.pt").read_bytes()

    def results(real: Any) -> list[Any]:
        m = real.jit.load(io.BytesIO(data))
        return [m(*(to_real(real, v) for v in call["inputs"])) for call in EXPECTED[name]]

    for got, call in zip(
        answer(results, about=held(data), family="archives"), EXPECTED[name], strict=True
    ):
        assert_equal(from_torch(got), value(call["expected"]))


def test_a_file_may_become_itself(tmp_path: Path) -> None:
    path = tmp_path / "trace101.pt"
    path.write_bytes((FOLDER / "trace101.pt").read_bytes())
    before = records(path)
    assert convert(path, path) == 0 and convert("--format", "1.0.1", path, path) == 0
    assert {k: v for k, v in records(path).items() if k.startswith("tensors/")} == {
        k: v for k, v in before.items() if k.startswith("tensors/")
    }
    assert_equal(
        jit.load(path)(torch.ones(2, 2)), jit.load(FOLDER / "trace101.pt")(torch.ones(2, 2))
    )
    assert os.listdir(tmp_path) == ["trace101.pt"]


def test_tensors_change_their_format(tmp_path: Path) -> None:
    state = nn.Linear(2, 3).state_dict()
    torch.save(state, tmp_path / "a.pth")
    assert convert(tmp_path / "a.pth", tmp_path / "b.safetensors") == 0
    assert convert(tmp_path / "b.safetensors", tmp_path / "c.pth") == 0
    back = torch.load(tmp_path / "c.pth")
    assert set(back) == set(state)
    assert_equal([back[name] for name in state], list(state.values()))


BROKEN = archive(one_function("def f(self) -> int:\n  return 1\n", tensors=[{}]))


@pytest.mark.parametrize(
    ("contents", "arguments", "message"),
    [
        (None, [], "No such file or directory"),
        (b"", [], "Ran out of input"),
        (b"PK\3\4 and no more", [], ""),
        (BROKEN, [], "record 'model.json': tensors[0].dataType is missing"),
        (archive(one_function("def f(self) -> int:\n  return 1 +\n")), [], "record 'code/net.py'"),
        (
            archive(one_function("def f(self, x: Tensor) -> Tensor:\n  return torch.nothing(x)\n")),
            [],
            "record 'code/net.py'",
        ),
        (
            archive(
                one_function(
                    "def f(self, x: Tensor) -> Tensor:\n  return torch.maximum(torch.amax(x, [0]), "
                    "x)\n"
                )
            ),
            ["--format", "1.0.1"],
            "PyTorch 1.0.1 had no operator aten::amax",
        ),
        (torch.zeros(2), ["--format", "1.0.1"], "holds tensors and no compiled module"),
        (torch.zeros(2), [".safetensors"], "Expected a dict"),
        (
            archive(one_function("def f(self) -> int:\n  return 1\n")),
            [".safetensors"],
            "holds a compiled module",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_the_file_that_was_there(
    contents: Any,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, target = (
        tmp_path / "in.pt",
        tmp_path / f"out{'.safetensors' if arguments == ['.safetensors'] else '.pt'}",
    )
    if isinstance(contents, bytes):
        source.write_bytes(contents)
    elif contents is not None:
        torch.save(contents, source)
    target.write_bytes(b"old")
    there = sorted(os.listdir(tmp_path))
    assert convert(source, target, *[a for a in arguments if a != ".safetensors"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and message in said and "in.pt" in said
    assert target.read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == there
