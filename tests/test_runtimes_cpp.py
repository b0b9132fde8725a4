"""The C++ runtime: it runs archives of ours and of PyTorch, notices what is wrong, and survives what is damaged.

The programs are built once, with the address and undefined-behaviour sanitizers where there are such, so that reading outside
of a buffer ends the program with a status that no test accepts.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from tests.support import oracle

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "runtimes" / "cpp"
BUILT = ROOT / "build" / "runtimes" / "cpp_tests"
ARCHIVES = Path(__file__).parent / "archives" / "torchscript"
SANITIZERS = "-O0 -fsanitize=address,undefined -fno-sanitize-recover=all"
HAS_COMPILER = shutil.which(os.environ.get("CXX", "g++")) is not None and shutil.which("make") is not None
CRASHED = 99  # what a sanitizer ends the program with

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="no C++ compiler and make; CXX names another than g++")

# What PyTorch's own archives hold that this runtime does not have; each must be an error, not a wrong result.
ABSENT = {"constants": "complex", "dtypes": "HalfStorage", "old_operators": "means something else since version"}


@pytest.fixture(scope="module")
def check() -> Path:
    """The program `check`."""
    for name, flags in (("sanitized", SANITIZERS), ("plain", "-O0")):
        out = BUILT / name
        command = ["make", "-C", str(SOURCES), f"OUT={out}", f"CXXFLAGS={flags}", str(out / "check")]
        made = subprocess.run(command, text=True, capture_output=True)
        if made.returncode == 0:
            assert "warning" not in made.stderr, made.stderr
            return out / "check"
    raise AssertionError(made.stderr)


def run(check: Path, *arguments: str | Path) -> tuple[int, str]:
    options = {
        "ASAN_OPTIONS": f"exitcode={CRASHED}:allocator_may_return_null=1",
        "UBSAN_OPTIONS": f"exitcode={CRASHED}",
    }
    process = subprocess.run(
        [check, *arguments], text=True, capture_output=True, env={**os.environ, **options}, errors="replace"
    )
    assert process.returncode in (0, 1), process.stderr[-3000:]
    return process.returncode, process.stdout


def write_case(path: Path, calls: list[dict[str, Any]]) -> None:
    torch.save({"calls": calls}, str(path.with_suffix(".case.pt")))


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    """A small model and one call of it."""
    torch.manual_seed(0)
    model, x = Mlp(), torch.randn(2, 4)
    path = tmp_path / "mlp.pt"
    torch.jit.script(model).save(str(path))
    write_case(path, [{"method": "forward", "inputs": [x], "expected": model(x).detach()}])
    return path


def test_a_model_gives_the_same_numbers(check: Path, mlp: Path) -> None:
    assert run(check, mlp) == (0, "ok mlp\n1 passed, 0 failed\n")


def test_from_several_threads(check: Path, mlp: Path) -> None:
    assert run(check, "--threads", "4", mlp) == (0, "ok mlp\n1 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda y: y + 0.001, "instead of"),
        (lambda y: y.double(), "is float32 instead of float64"),
        (lambda y: y[:1], "has sizes"),
        (lambda y: [y], "is a Tensor instead of a List"),
    ],
)
def test_another_result_fails(check: Path, mlp: Path, change: Any, why: str) -> None:
    case = torch.load(str(mlp.with_suffix(".case.pt")))["calls"][0]
    write_case(mlp, [{**case, "expected": change(case["expected"])}])
    status, output = run(check, mlp)
    assert status == 1 and "FAILED mlp" in output and why in output


def test_an_error_must_be_the_expected_one(check: Path, tmp_path: Path) -> None:
    @torch.jit.script
    def positive(n: int) -> int:
        if n < 0:
            raise ValueError(f"{n} is negative")
        return n

    path = tmp_path / "positive.pt"
    torch.jit.save(positive, str(path))
    good: list[dict[str, Any]] = [
        {"method": "forward", "inputs": [-2], "raises": "-2 is negative"},
        {"method": "forward", "inputs": [2], "expected": 2},
    ]
    write_case(path, good)
    assert run(check, path)[0] == 0
    for bad in (
        {**good[0], "raises": "another text"},
        {**good[1], "raises": "negative"},
        {**good[1], "expected": True},
    ):
        write_case(path, [bad])
        assert run(check, path)[0] == 1


def decoded(value: Any) -> Any:
    """The values in `expected.json`."""
    if isinstance(value, list):
        return [decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return torch.tensor(decoded(value["tensor"]), dtype=getattr(torch, value["dtype"])).reshape(value["sizes"])
    if "tuple" in value:
        return tuple(decoded(v) for v in value["tuple"])
    if "complex" in value:
        return complex(*value["complex"])
    return {decoded(k): decoded(v) for k, v in value["dict"]}


RECORDED: dict[str, Any] = json.loads((ARCHIVES / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_archives_of_pytorch(check: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.pt"
    shutil.copy(ARCHIVES / path.name, path)
    calls = []
    for call in RECORDED[name]["calls"]:
        entry = {"method": call["method"], "inputs": [decoded(a) for a in call["arguments"]]}
        if "returns" in call:
            entry["expected"] = decoded(call["returns"])
        else:  # what Python says about a call is not what C++ says
            missing = "missing value for argument"
            entry["raises"] = missing if missing in call["raises"] else call["raises"].split(": ", 1)[-1]
        calls.append(entry)
    write_case(path, calls)
    status, output = run(check, path)
    if name in ABSENT:
        assert status == 1 and ABSENT[name] in output, output
    else:
        assert status == 0, output


def test_places_of_the_largest_in_windows_of_several_sizes(check: Path, tmp_path: Path) -> None:
    theirs = oracle()
    pool = theirs.nn.AdaptiveMaxPool2d((3, 2), return_indices=True)
    x = theirs.randn(2, 3, 7, 5)
    x[0, 0, 3, 3] = float("nan")
    theirs.jit.trace(pool, x).save(tmp_path / "pool.pt")
    theirs.save({"calls": [{"method": "forward", "inputs": [x], "expected": pool(x)}]}, tmp_path / "pool.case.pt")
    assert run(check, tmp_path / "pool.pt") == (0, "ok pool\n1 passed, 0 failed\n")


def test_an_unknown_operator_is_named(check: Path, tmp_path: Path) -> None:
    path = tmp_path / "normal.pt"
    torch.jit.save(torch.jit.script(random_numbers), str(path))
    write_case(path, [{"method": "forward", "inputs": [3], "expected": torch.zeros(3)}])
    assert "operator aten::randn is not known to this runtime" in run(check, path)[1]


def random_numbers(n: int) -> torch.Tensor:
    return torch.randn(n)


def rewritten(path: Path, to: Path, change: Any) -> None:
    """The archive with every record passed through `change`, and right checksums."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, change(entry.filename.partition("/")[2], old.read(entry)))


@pytest.mark.parametrize("record", ["data.pkl", "constants.pkl", "code", "version"])
def test_a_missing_record_is_named(check: Path, mlp: Path, record: str) -> None:
    damaged = mlp.with_name("damaged.pt")
    with zipfile.ZipFile(mlp) as old, zipfile.ZipFile(damaged, "w") as new:
        for entry in old.infolist():
            if entry.filename.split("/")[1] != record and not entry.filename.endswith("/.data/" + record):
                new.writestr(entry, old.read(entry))
    shutil.copy(mlp.with_suffix(".case.pt"), damaged.with_suffix(".case.pt"))
    status, output = run(check, damaged)
    assert status == 1 and "FAILED damaged" in output and ("not found" in output or "a class of the archive" in output)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A byte changed, a run of bytes removed, doubled, or the end cut off."""
    if not data:
        return data
    at = rng.randrange(len(data))
    to = min(at + rng.randrange(1, 9), len(data))
    return rng.choice(
        [
            data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
            data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            data[:at] + data[to:],
            data[:to] + data[at:to] + data[to:],
            data[:at],
        ]
    )


def test_damaged_archives_are_errors_and_nothing_worse(check: Path, mlp: Path, tmp_path: Path) -> None:
    """Bytes of the file, and bytes of single records in an archive that is in order otherwise."""
    rng = random.Random(5)
    folder = tmp_path / "damaged"
    folder.mkdir()
    data = mlp.read_bytes()
    for i in range(400):
        to = folder / f"{i}.pt"
        if i % 2 == 0:
            to.write_bytes(mutated(data, rng))
        else:
            prefix = rng.choice(["data.pkl", "constants.pkl", "code/", "data/", "version"])
            rewritten(mlp, to, lambda name, old, prefix=prefix: mutated(old, rng) if name.startswith(prefix) else old)
        shutil.copy(mlp.with_suffix(".case.pt"), to.with_suffix(".case.pt"))
    _, output = run(check, folder)
    # One verdict a file. What is wrong may be a name with a line break in it, which then goes on in the next line.
    verdicts = re.findall(r"^(?:ok|FAILED) (\d+)(?::|$)", output, re.MULTILINE)
    assert sorted(map(int, verdicts)) == list(range(400))
    assert len(re.findall(r"^FAILED \d+: ", output, re.MULTILINE)) > 200


def test_headers_stand_alone() -> None:
    """Nothing but the standard library, no lock, and every header says what the real one does otherwise."""
    for header in sorted((SOURCES / "include" / "torchscript").glob("*.h")):
        text = header.read_text()
        assert "// How the real one differs:" in text and "#pragma once" in text, header.name
        assert "mutex" not in text, header.name
        for line in text.splitlines():
            if line.startswith("#include <"):
                system = line in ("#include <fcntl.h>", "#include <unistd.h>") or line.startswith("#include <sys/")
                assert "." not in line or system, line


def test_the_example_of_the_talk_has_the_talks_lines() -> None:
    """`example.cpp` and `libtorch/main.cpp` differ in names only where the talk's program speaks."""
    ours, real = (SOURCES / "example.cpp").read_text(), (SOURCES / "libtorch" / "main.cpp").read_text()
    assert "torchscript::Tensor output = module.forward(inputs).toTensor();" in ours
    assert "at::Tensor output = module.forward(inputs).toTensor();" in real
    assert "auto module = torchscript::load(argv[1]);" in ours and "auto module = torch::jit::load(argv[1]);" in real
