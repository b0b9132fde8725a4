"""The C++ runtime: it runs archives of ours and of PyTorch, notices what is wrong, and survives
what is damaged.

The programs are built once, with the address and undefined-behaviour sanitizers where there are
such, so that reading outside of a buffer ends the program with a status that no test accepts.
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
from tests.answers import answer
from tests.runtimes import runtime_calls
from tests.side_by_side import ours
from tools.runtimes_test import SANITIZERS

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "runtimes" / "cpp"
BUILT = ROOT / "build" / "runtimes" / "cpp_tests"
ARCHIVES = Path(__file__).parents[1] / "archives" / "torchscript"
HAS_COMPILER = (
    shutil.which(os.environ.get("CXX", "g++")) is not None and shutil.which("make") is not None
)
CRASHED = 99  # what a sanitizer ends the program with

pytestmark = pytest.mark.skipif(
    not HAS_COMPILER, reason="no C++ compiler and make; CXX names another than g++"
)

# What PyTorch's own archives hold that this runtime does not have; each must be an error, not a
# wrong result.
ABSENT = {
    "constants": "complex",
    "dtypes": "HalfStorage",
    "old_operators": "means something else since version",
}


@pytest.fixture(scope="module")
def check() -> Path:
    """The program `check`."""
    for name, flags in (("sanitized", SANITIZERS), ("plain", "-O0")):
        out = BUILT / name
        command = [
            "make",
            "-C",
            str(SOURCES),
            f"OUT={out}",
            f"CXXFLAGS={flags}",
            str(out / "check"),
        ]
        made = subprocess.run(command, text=True, capture_output=True)
        if made.returncode == 0:
            assert "warning" not in made.stderr, made.stderr
            return out / "check"
    raise AssertionError(made.stderr)


def run(check: Path, *arguments: str | Path) -> tuple[int, str]:
    options = {
        "ASAN_OPTIONS": f"exitcode={CRASHED}:allocator_may_return_null=1:detect_leaks=0",
        "UBSAN_OPTIONS": f"exitcode={CRASHED}",
    }
    process = subprocess.run(
        [check, *arguments],
        text=True,
        capture_output=True,
        env={**os.environ, **options},
        errors="replace",
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
        return torch.tensor(decoded(value["tensor"]), dtype=getattr(torch, value["dtype"])).reshape(
            value["sizes"]
        )
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
            entry["raises"] = (
                missing if missing in call["raises"] else call["raises"].split(": ", 1)[-1]
            )
        calls.append(entry)
    write_case(path, calls)
    status, output = run(check, path)
    if name in ABSENT:
        assert status == 1 and ABSENT[name] in output, output
    else:
        assert status == 0, output


def test_places_of_the_largest_in_windows_of_several_sizes(check: Path, tmp_path: Path) -> None:
    x = ours()(2, 3, 7, 5)
    x[0, 0, 3, 3] = float("nan")

    def pool(T: Any, x: Any) -> Any:
        return T.nn.functional.adaptive_max_pool2d(x, (3, 2), return_indices=True)

    expected = tuple(
        torch.tensor(t.numpy()) for t in answer(lambda real: pool(real, real.from_numpy(x.numpy())))
    )
    torch.jit.trace(torch.nn.AdaptiveMaxPool2d((3, 2), return_indices=True), x).save(
        str(tmp_path / "pool.pt")
    )
    write_case(tmp_path / "pool.pt", [{"method": "forward", "inputs": [x], "expected": expected}])
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
            if entry.filename.split("/")[1] != record and not entry.filename.endswith(
                "/.data/" + record
            ):
                new.writestr(entry, old.read(entry))
    shutil.copy(mlp.with_suffix(".case.pt"), damaged.with_suffix(".case.pt"))
    status, output = run(check, damaged)
    assert (
        status == 1
        and "FAILED damaged" in output
        and ("not found" in output or "a class of the archive" in output)
    )


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


@pytest.mark.sampled(1 / 4)
def test_damaged_archives_are_errors_and_nothing_worse(
    check: Path, mlp: Path, tmp_path: Path
) -> None:
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
            rewritten(
                mlp,
                to,
                lambda name, old, prefix=prefix: (
                    mutated(old, rng) if name.startswith(prefix) else old
                ),
            )
        shutil.copy(mlp.with_suffix(".case.pt"), to.with_suffix(".case.pt"))
    _, output = run(check, folder)
    # One verdict a file. What is wrong may be a name with a line break in it, which then goes on in
    # the next line.
    verdicts = re.findall(r"^(?:ok|FAILED) (\d+)(?::|$)", output, re.MULTILINE)
    assert sorted(map(int, verdicts)) == list(range(400))
    assert len(re.findall(r"^FAILED \d+: ", output, re.MULTILINE)) > 200


def test_headers_stand_alone() -> None:
    """Nothing but the standard library, no lock, and every header says what the real one does
    otherwise.
    """
    for header in sorted((SOURCES / "include" / "torchscript").glob("*.h")):
        text = header.read_text()
        assert "// How the real one differs:" in text and "#pragma once" in text, header.name
        assert "mutex" not in text, header.name
        for line in text.splitlines():
            if line.startswith("#include <"):
                system = line in ("#include <fcntl.h>", "#include <unistd.h>") or line.startswith(
                    "#include <sys/"
                )
                assert "." not in line or system, line


def test_the_example_of_the_talk_has_the_talks_lines() -> None:
    """`example.cpp` and `libtorch/main.cpp` differ in names only where the talk's program
    speaks.
    """
    ours, real = (
        (SOURCES / "example.cpp").read_text(),
        (SOURCES / "libtorch" / "main.cpp").read_text(),
    )
    assert "torchscript::Tensor output = module.forward(inputs).toTensor();" in ours
    assert "at::Tensor output = module.forward(inputs).toTensor();" in real
    assert (
        "auto module = torchscript::load(argv[1]);" in ours
        and "auto module = torch::jit::load(argv[1]);" in real
    )


@pytest.mark.sampled(1 / 8)
def test_any_call_of_an_operator_is_answered_or_refused(
    check: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few for each; `make runtimes-test ARGS=--full` makes many more. None may end the program,
    or give another number.
    """
    assert runtime_calls.main([str(check), "--calls", "4"]) == 0, capsys.readouterr().out[-5000:]


HOSTILE: list[tuple[str, list[Any], str]] = [
    (
        "aten::scatter_",
        [torch.zeros(3, 4), 1, torch.zeros(3, 4, dtype=torch.int64), torch.ones(2)],
        "dimensions as src",
    ),
    (
        "aten::scatter_",
        [torch.zeros(3), 0, torch.zeros(3, dtype=torch.int64), torch.ones(2)],
        "no larger than src",
    ),
    (
        "aten::lstm_cell",
        [torch.zeros(2, 3), [], torch.zeros(8, 3), torch.zeros(8, 2)],
        "two hidden states",
    ),
    (
        "aten::lstm",
        [torch.ones(1, 1, 1), [torch.ones(1, 1, 1)] * 2, [], True, 2**62, 0.0, False, False, False],
        "parameters",
    ),
    ("aten::pixel_shuffle", [torch.zeros(1, 4, 2, 2), 0], "positive upscale_factor"),
    ("aten::pixel_shuffle", [torch.zeros(1, 4, 2, 2), 2**32], "divisible"),
    ("aten::hstack", [[]], "non-empty"),
    ("aten::upsample_nearest2d", [torch.zeros(1, 1, 2, 2), None, [2.0]], "two sizes"),
    ("aten::upsample_nearest2d", [torch.zeros(1, 1, 2, 2), [2, 2, 2], None], "two sizes"),
    (
        "aten::upsample_nearest2d",
        [torch.zeros(1, 1, 2, 2), None, [float("inf"), -1.0]],
        "greater than 0",
    ),
    ("aten::ljust", ["a", 5, ""], "exactly one character"),
    ("aten::rjust", ["a", 2**62, " "], "more than the"),
    ("aten::mul", [[1, 2], 2**62], "more than the"),
    ("aten::zeros", [[2**40]], "more than the"),
    ("aten::zeros", [[0, 2**62, 2**62]], "cannot be"),
    ("aten::view", [torch.zeros(4), [2**62, 4]], "cannot be"),
    ("aten::stride", [torch.zeros(()), 0], "no dimensions"),
    ("aten::repeat_interleave", [torch.zeros(()), 2, 1], "out of range"),
    ("aten::repeat", [torch.zeros(1), [-1]], "negative"),
    ("aten::im2col", [torch.zeros(1, 1, 3, 3), [], [1], [0], [1]], "two ints"),
    ("aten::kthvalue", [torch.arange(3.0), 0], "out of range"),
    ("aten::pad", [torch.zeros(3), [0, 1, 2], "replicate"], "divisible by 2"),
    ("aten::one_hot", [torch.tensor([-1]), 3], "non-negative"),
    ("aten::fill_", [torch.zeros(1).expand(3), 1.0], "single memory location"),
    ("prim::range", [0, 2**63 - 1, 1], "more than the"),
    ("aten::slice", [[1, 2], None, None, 0], "non-zero step"),
    ("aten::Int", ["9223372036854775808"], "invalid literal"),
]


def said(check: Path, path: Path, calls: list[tuple[str, list[Any]]]) -> list[str]:
    """What the runtime says to each of these calls."""
    torch.save(
        {"calls": [{"operator": o, "inputs": i, "keywords": []} for o, i in calls]}, str(path)
    )
    return [line for _, line in runtime_calls.verdicts([str(check)], path, len(calls))]


def test_hostile_calls_are_refused_in_words(check: Path, tmp_path: Path) -> None:
    lines = said(
        check, tmp_path / "calls.pt", [(operator, inputs) for operator, inputs, _ in HOSTILE]
    )
    for (operator, _, words), line in zip(HOSTILE, lines):
        assert line.startswith("refused: ") and words in line, f"{operator}: {line}"


def test_ints_wrap_and_windows_are_as_large_as_their_input(check: Path, tmp_path: Path) -> None:
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    calls = [
        ("aten::floordiv", [-(2**63), -1], -(2**63)),
        ("prim::abs", [-(2**63)], -(2**63)),
        ("aten::__lshift__", [1, 64], 1),
        ("aten::__range_length", [-(2**63), 2**63 - 1, 2**62], 4),
        ("aten::slice", [torch.arange(5), 0, 1, 2**63 - 1, 2**62], torch.tensor([1])),
        (
            "aten::max_pool2d",
            [image, [2**31 - 1] * 2, [1, 1], [2**30 - 1] * 2, [1, 1]],
            torch.full((1, 1, 4, 4), 15.0),
        ),
        ("aten::equal", [image, image], True),
        ("aten::find", ["abcabc", "abc", 1, 4], -1),
        (
            "aten::addmm",
            [torch.full((1, 1), float("nan")), torch.ones(1, 1), torch.ones(1, 1), 0, 2],
            torch.tensor([[2.0]]),
        ),
    ]
    entries = [
        {
            "operator": o,
            "inputs": i,
            "keywords": ["beta", "alpha"] if o == "aten::addmm" else [],
            "expected": e,
        }
        for o, i, e in calls
    ]
    torch.save({"calls": entries}, str(tmp_path / "calls.pt"))
    lines = [
        line
        for _, line in runtime_calls.verdicts([str(check)], tmp_path / "calls.pt", len(entries))
    ]
    assert lines == ["same"] * len(entries)


@torch.jit.script
def nested(n: int) -> int:
    found: list[int] = []
    for i in range(n):
        found.append(i)
    return len(found)


def with_code(path: Path, to: Path, change: Any) -> Path:
    rewritten(
        path, to, lambda name, old: change(old.decode()).encode() if name.endswith(".py") else old
    )
    shutil.copy(path.with_suffix(".case.pt"), to.with_suffix(".case.pt"))
    return to


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("x = [n]\n{0}for i in range(200000):\n{0}  x = [x]\n{0}return 3", "ok hostile"),
        (
            "x = [n]\n{0}_0 = torch.append(x, x)\n{0}return torch.len(torch.str(x))",
            "nested too deeply",
        ),
        ("def f():\n{0}  return fork(f)\n{0}return fork(f)", "without end"),
        ("return self.forward(n)", "without end"),
        ("return " + "torch.add(" * 300 + "1" + ", 1)" * 300, "is 301 instead of 3"),
        ("return " + "torch.add(" * 500 + "1" + ", 1)" * 500, "too"),
        ("return n" + ".a" * 5000, "for too long"),
        ("a, b, c = [1, 2]\n{0}return n", "are taken from it"),
    ],
)
def test_code_that_was_made_to_harm(check: Path, tmp_path: Path, body: str, why: str) -> None:
    path = tmp_path / "nested.pt"
    torch.jit.save(nested, str(path))
    write_case(path, [{"method": "forward", "inputs": [3], "expected": 3}])
    head = "def forward(self,\n    n: int) -> int:\n"
    code = "  " + head + "    " + body.format("    ") + "\n"
    hostile = with_code(
        path, tmp_path / "hostile.pt", lambda text: text[: text.index("  def forward")] + code
    )
    assert why in run(check, hostile)[1]


def test_records_that_inflate_too_far_are_refused(check: Path, mlp: Path, tmp_path: Path) -> None:
    """784 kB that become 768 MiB, and Python's words for it."""
    bomb = tmp_path / "bomb.pt"
    with zipfile.ZipFile(mlp) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
        new.writestr(old.namelist()[0].partition("/")[0] + "/data/bomb", b"\0" * (64 << 20))
    shutil.copy(mlp.with_suffix(".case.pt"), bomb.with_suffix(".case.pt"))
    words = "8 times the file and 16 MiB): a compression bomb"
    assert words in run(check, bomb)[1]
    with pytest.raises(RuntimeError, match=re.escape(words)):
        torch.jit.load(str(bomb))
