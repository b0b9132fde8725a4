"""`make runtimes-test`: the saved model in other languages.

Writes the corpus (`runtimes/corpus`) with `internals`, and with real PyTorch where it is installed;
builds the C++ programs; then lets Python, C++, Node.js and, where PyTorch is, libtorch run every
archive and compare. What is not on this machine is named and left out. Closes with `N passed, N
failed`.

`--full` also makes many single calls of each operator of both runtimes, hostile ones among them
(`tests/runtimes/runtime_calls.py`). The C++ runtime is built for it with the sanitizers that find
reads outside of memory and undefined behaviour.

How the real one differs: PyTorch's CI builds libtorch and runs its C++ tests on models that Python
has just saved.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.notebook_files import BUILD, ROOT

RUNTIMES = ROOT / "runtimes"
CPP = BUILD / "runtimes" / "cpp"
# where tests/runtimes/test_cpp.py has it, too
SANITIZED = BUILD / "runtimes" / "cpp_tests" / "sanitized"
SANITIZERS = (
    "-O0 -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all "
    "-D_GLIBCXX_ASSERTIONS"
)
CALLS = 200  # of each operator
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="run the corpus of archives in Python, C++ and Node.js"
    )
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--small", action="store_true", help="without ResNet-18")
    parser.add_argument(
        "--full",
        action="store_true",
        help="also single calls of all operators, hostile ones among them",
    )
    parser.add_argument("--seed", type=int, default=0, help="of those calls")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="corpus-") as temporary:
        corpus = Path(temporary)
        steps = [*corpus_steps(corpus, options.only, not options.small), *check_steps(corpus)]
        if options.full:
            steps += call_steps(options.seed)
        for number, (name, command) in enumerate(steps, 1):
            print(f"[{number}/{len(steps)}] {name}", flush=True)
            good, bad = run(command)
            passed, failed = passed + good, failed + bad
    for missing in absent(options.full):
        print(f"not tried: {missing}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


def corpus_steps(folder: Path, only: str, large: bool) -> Iterator[tuple[str, list[str]]]:
    for library in ["internals", *["torch"] * has_torch()]:
        command = [
            sys.executable,
            "-m",
            "runtimes.corpus",
            str(folder),
            "--with",
            library,
            "--only",
            only,
        ]
        yield f"write the corpus with {library}", command + ["--large"] * large


def check_steps(corpus: Path) -> Iterator[tuple[str, list[str]]]:
    yield "Python runs the corpus", [sys.executable, "-m", "runtimes.corpus.check", str(corpus)]
    if has_compiler():
        make = ["make", "--no-print-directory", "-C", str(RUNTIMES / "cpp")]
        yield "build the C++ runtime", make
        yield "C++ runs the corpus", [str(CPP / "check"), str(corpus)]
        yield (
            "C++ runs the corpus in 4 threads at once",
            [str(CPP / "check"), "--threads", "4", str(corpus)],
        )
        if has_torch():
            yield "build the programs for libtorch", [*make, "libtorch", f"TORCH={torch_folder()}"]
            yield "libtorch runs the corpus", [str(CPP / "check_libtorch"), str(corpus)]
    if has_node():
        yield "Node.js tests its parts", ["node", "--test", str(RUNTIMES / "node" / "test")]
        yield "Node.js runs the corpus", ["node", str(RUNTIMES / "node" / "check.js"), str(corpus)]


def call_steps(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Single calls, which tests/runtimes/runtime_calls.py makes up."""
    calls = [
        sys.executable,
        "-m",
        "tests.runtimes.runtime_calls",
        "--calls",
        str(CALLS),
        "--seed",
        str(seed),
    ]
    if has_sanitizers():
        program = str(SANITIZED / "check")
        make = [
            "make",
            "--no-print-directory",
            "-C",
            str(RUNTIMES / "cpp"),
            f"OUT={SANITIZED}",
            f"CXXFLAGS={SANITIZERS}",
        ]
        yield "build the C++ runtime with sanitizers", [*make, program]
        yield "C++ answers or refuses any call of its operators", [*calls, program]
    if has_node():
        yield (
            "Node.js answers or refuses any call of its operators",
            [*calls, "node", str(RUNTIMES / "node" / "check.js")],
        )


def run(command: list[str]) -> tuple[int, int]:
    """Runs it, prints what went wrong; how many passed and failed, a step without such a count
    being one.
    """
    process = subprocess.run(
        command,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": "."},
    )
    found = SUMMARY.findall(process.stdout)
    good, bad = map(int, found[-1]) if found else (0, 0)
    if process.returncode and not bad:
        bad = 1
        print(process.stdout, flush=True)
    for line in process.stdout.splitlines():
        if line.startswith("FAILED"):
            print(f"  {line}", flush=True)
    before = process.stdout.splitlines()[-2:-1] if "tests.runtimes.runtime_calls" in command else []
    print("".join(f"  {line}\n" for line in before), end="")  # what became of the calls
    print(f"  {good} passed, {bad} failed" if found or bad else "  done", flush=True)
    return good, bad


def has_compiler() -> bool:
    return (
        shutil.which(os.environ.get("CXX", "g++")) is not None and shutil.which("make") is not None
    )


def has_sanitizers() -> bool:
    """Whether the compiler makes a program with them that runs."""
    if not has_compiler():
        return False
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "empty.cpp", Path(folder) / "empty"
        source.write_text("int main() {}\n")
        command = [
            os.environ.get("CXX", "g++"),
            *SANITIZERS.split(),
            str(source),
            "-o",
            str(program),
        ]
        return (
            subprocess.run(command, capture_output=True).returncode == 0
            and subprocess.run([program]).returncode == 0
        )


def has_node() -> bool:
    return shutil.which("node") is not None


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def torch_folder() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def absent(full: bool) -> Iterator[str]:
    if full and not has_sanitizers():
        yield (
            "hostile calls in C++ (no compiler with -fsanitize=address,undefined; CXX names "
            "another than g++)"
        )
    if not has_compiler():
        yield "C++ (no g++ and make; CXX names another compiler)"
    if not has_node():
        yield "Node.js (no node)"
    if not has_torch():
        yield "libtorch, and archives written by PyTorch (not installed; `make oracle`)"


if __name__ == "__main__":
    sys.exit(main())
