"""`python -m internals run`: saved programs of every kind are called; what goes wrong is one line
and exit status 1.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals import jit, nn
from internals.serialization.run import main

ARCHIVES = Path(__file__).parents[1] / "archives"
Run = Callable[..., tuple[int, str, str]]


class Several(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(internals.ones(2) * 3)

    def forward(self, x: internals.Tensor, k: int = 1, flip: bool = False) -> internals.Tensor:
        return x * self.scale * k if not flip else -x

    @jit.export
    def both(self, x: internals.Tensor) -> tuple[internals.Tensor, int]:
        return x.sum(), x.numel()

    @jit.export
    def table(self, x: internals.Tensor) -> dict[str, internals.Tensor]:
        return {"twice": x * 2, "half": x / 2}

    @jit.export
    def joined(self, words: list[str], n: int) -> str:
        return ", ".join(words) + str(n)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("programs") / "several.pt"
    jit.save(jit.script(Several()), path)
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main(list(map(str, arguments)))
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def test_ones_and_numbers(program: str, run: Run) -> None:
    assert run(program, "--ones", "2,2") == (0, "output: float32 (2, 2)  [3, 3, 3, 3]\n", "")
    assert run(program, "--ones", "(2,)", "--input", 4) == (
        0,
        "output: float32 (2,)  [12, 12]\n",
        "",
    )
    assert (
        run(program, "--ones", 2, "--input", 4, "--input", "True")[1]
        == "output: float32 (2,)  [-1, -1]\n"
    )
    words = run(program, "--method", "joined", "--input", "['a', 'b']", "--input", "2")
    assert words == (0, "output: 'a, b2'\n", "")


def test_arrays_in_any_byte_order(program: str, run: Run, tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for name, array in {
        "x": x,
        "big": x.astype(">f4"),
        "fortran": np.asfortranarray(x),
        "view": x[::1],
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
        status, out, _ = run(program, "--input", tmp_path / f"{name}.npy")
        assert (status, out) == (0, "output: float32 (4, 2)  [0, 3, 6, 9, 12, 15, ...]\n")


def test_several_results(program: str, run: Run) -> None:
    out = run(program, "--method", "both", "--ones", "2,3")[1]
    assert out == "output[0]: float32 ()  [6]\noutput[1]: 6\n"
    out = run(program, "--method", "table", "--ones", "1")[1]
    assert out == "output['twice']: float32 (1,)  [2]\noutput['half']: float32 (1,)  [0.5]\n"


def test_results_are_written(program: str, run: Run, tmp_path: Path) -> None:
    one, several, table = tmp_path / "y.npy", tmp_path / "y.npz", tmp_path / "t.npz"
    assert run(program, "--ones", "2,2", "--output", one) == (0, f"written: {one}\n", "")
    np.testing.assert_array_equal(np.load(one), np.full((2, 2), 3, np.float32))
    run(program, "--method", "both", "--ones", "2,2", "--output", several)
    assert {k: v.item() for k, v in np.load(several).items()} == {"0": 4, "1": 4}
    run(program, "--method", "table", "--ones", "1", "--output", table)
    assert {k: v.item() for k, v in np.load(table).items()} == {"twice": 2, "half": 0.5}
    # no temporary file is left
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.npz", "y.npy", "y.npz"]


@pytest.mark.parametrize(
    ("name", "arguments", "first"),
    [
        ("torchscript/traced_function.pt", ["--ones", "3"], "output: float32 (3,)"),
        ("v101/trace101.pt", ["--ones", "2,2"], "output: float32 (2, 3)"),
        (
            "v101/fn101.pt",
            ["--ones", "2", "--input", "3"],
            "output[0]: float32 (2,)  [4, 4]\noutput[1]: [1, 0, 1, 2]",
        ),
        ("pt2/counting.pt2", ["--ones", "3,2", "--ones", "2"], "output"),
    ],
)
def test_programs_of_real_pytorch(name: str, arguments: list[str], first: str, run: Run) -> None:
    path = ARCHIVES / name
    status, out, err = run(path, *arguments)
    assert (status, err) == (0, "") and out.startswith(first)


def test_the_numbers_are_those_of_the_module(program: str, run: Run, tmp_path: Path) -> None:
    internals.manual_seed(5)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), internals.randn(3, 4)
    path, given, found = tmp_path / "net.pt", tmp_path / "x.npy", tmp_path / "y.npy"
    jit.trace(net, x).save(path)
    np.save(given, x.numpy())
    assert run(path, "--input", given, "--output", found)[0] == 0
    np.testing.assert_array_equal(np.load(found), net(x).detach().numpy())


WRONG: list[tuple[str, list[Any], str]] = [
    ("no file", ["{folder}/no.pt"], "No such file or directory"),
    ("no program", [ARCHIVES / "torch_save/views.pt"],
     "(zip archive of torch.save), not a program: save"),
    ("stream", [ARCHIVES / "torch_save/views_stream.pt"], "not a program: save"),
    ("safetensors", [ARCHIVES / "torch_save/tensors.safetensors"],
     "tensors.safetensors is tensors (safetensors), not a program"),
    ("not any", [__file__], "neither a zip archive (.pt, .pth, .pt2) nor"),
    ("no method", ["{program}", "--method", "backward"],
     "has no method 'backward'; it has forward, both, joined, table"),
    ("no private one", ["{program}", "--method", "__class__"], "has no method '__class__'"),
    ("too few", ["{program}"], "missing value for argument 'x'"),
    ("too many", ["{program}", *["--input", "1"] * 5],
     "expected at most 4 argument(s) but received 6"),
    ("wrong type", ["{program}", "--input", "3.5"],
     "Expected a value of type 'Tensor' for argument 'x'"),
    ("wrong size", ["{program}", "--ones", "2,3"],
     "forward: RuntimeError: The size of tensor a (3) must match"),
    ("where it fails", ["{program}", "--ones", "2,3"], '/test_run.py, line '),
    ("bad sizes", ["{program}", "--ones", "2,x"],
     "sizes are numbers with commas, such as 1,3,224,224"),
    ("negative", ["{program}", "--ones=-1,2"], "sizes are numbers with commas"),
    ("no such input", ["{program}", "--input", "{folder}/x.npy"], "there is no such file"),
    ("no literal", ["{program}", "--input", "what is it"],
     "neither a file nor a literal such as 3, 0.5 or [1, 2]"),
    ("no array", ["{program}", "--input", __file__], "a .npy file of numbers is needed"),
    ("objects", ["{program}", "--input", "{folder}/objects.npy"],
     "a .npy file of numbers is needed"),
    ("suffix", ["{program}", "--ones", "2", "--output", "y.txt"],
     "the suffix must be .npy (one tensor) or .npz (several)"),
    ("two", ["{program}", "--method", "both", "--ones", "2", "--output", "{folder}/y.npy"],
     "a .npz file holds several"),
    ("no folder", ["{program}", "--ones", "2", "--output", "{folder}/no/y.npy"], "does not exist"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_what_goes_wrong_is_one_line(
    arguments: list[Any], message: str, program: str, run: Run, tmp_path: Path
) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    status, out, err = run(*(str(a).format(program=program, folder=tmp_path) for a in arguments))
    assert (status, out) == (1, "") and message in err
    assert err.startswith("run: ") and err.count("\n") == 1 and "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["objects.npy"]


def test_a_damaged_program(program: str, run: Run, tmp_path: Path) -> None:
    content = Path(program).read_bytes()
    path = tmp_path / "cut.pt"
    path.write_bytes(content[: len(content) // 2])
    status, _, err = run(path, "--ones", "2")
    assert status == 1 and "failed finding central directory" in err


def test_from_the_shell(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "internals", "run", program, "--ones", "1,2"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "output: float32 (1, 2)  [3, 3]\n"), done.stderr
