"""`python -m internals doctor`: what this machine has, what each thing is needed for, and how to
get what is absent.

Each line comes from one `Probe`: a question to the machine, answered with a short description, or
None when the thing is absent. The exit status is 0 when everything that the notebooks need is
there; the rest only adds to them. With `--workshop` it is also tried (`preflight.py`). Only the
standard library is imported here, so `python -P apparatus/doctor.py` answers even where `import
internals` fails.

Mirrors `torch/utils/collect_env.py`.

How the real one differs: PyTorch's collects versions to paste into a bug report and judges nothing;
this one says whether the notebooks will run, and what to do if not.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Probe:
    name: str
    needed_for: str
    how_to_get: str
    find: Callable[[], str | None]
    required: bool = False


@dataclass(frozen=True)
class Finding:
    name: str
    found: str | None
    needed_for: str
    how_to_get: str
    required: bool


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m internals doctor", description="what is present and absent here"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--workshop",
        action="store_true",
        help="also try it: a kernel, a picture, JupyterLab; for a workshop",
    )
    parser.add_argument(
        "--gpu",
        action="store_true",
        help="try CUDA instead: one launch, and what else can go wrong",
    )
    options = parser.parse_args(list(arguments))
    if options.gpu:
        from apparatus.gpu_preflight import trials
        from apparatus.preflight import preflight

        return preflight(trials())
    findings = examine(probes())
    ready = not missing(findings)
    if options.json:
        print(
            json.dumps(
                {"notebooks_will_run": ready, "findings": [asdict(f) for f in findings]}, indent=2
            )
        )
    else:
        print(as_text(findings))
    if options.workshop and ready and not options.json:
        from apparatus.preflight import preflight

        print()
        return preflight()
    return 0 if ready else 1


def probes() -> list[Probe]:
    """Everything the doctor asks, in the order in which it is told."""
    environment = "make setup, and then .venv/bin/python; or: pip install -e ."
    return [
        Probe(
            "Python",
            "everything",
            "Python 3.11 or newer, from python.org or your system",
            find_python,
            True,
        ),
        Probe(
            "numpy",
            "the notebooks: arrays to share memory with",
            environment,
            module("numpy"),
            True,
        ),
        Probe(
            "scipy",
            "linear algebra, special functions",
            environment,
            module("scipy", importing=False),
            True,
        ),
        Probe("numba", "compiled kernels, and the CUDA layer", environment, module("numba"), True),
        Probe("yaml", "reading native_functions", environment, module("yaml", "PyYAML"), True),
        Probe("graphviz", "pictures of graphs", environment, module("graphviz"), True),
        Probe("dot", "pictures of graphs", environment, find_layout, True),
        Probe("matplotlib", "plots", environment, module("matplotlib"), True),
        Probe("astpretty", "syntax trees as text", environment, module("astpretty"), True),
        Probe(
            "jupyterlab",
            "opening the notebooks (make lab)",
            environment,
            module("jupyterlab"),
            True,
        ),
        Probe("kernel", "running the notebooks", environment, module("ipykernel"), True),
        Probe(
            "grpc",
            "serving models (python -m internals serve), notebooks 24-26",
            "make setup; or: pip install -e .[serving]",
            module("grpc", "grpcio"),
        ),
        Probe("GPU", "the CUDA layer on a real device", "an NVIDIA GPU and its driver", find_gpu),
        Probe(
            "numba-cuda",
            "kernels as PTX, and compiled for a GPU",
            "pip install 'numba-cuda[cu13]'",
            module("numba_cuda", "numba-cuda", importing=False),
        ),
        Probe(
            "CUDA",
            'what device="cuda" means here',
            how_to_get_cuda(),
            find_cuda,
        ),
        Probe(
            "torch",
            "side-by-side comparisons in the tests",
            "make oracle",
            module("torch", importing=False),
        ),
        Probe(
            "C compiler",
            "the cells that compile a C extension",
            "gcc or clang, with the Python headers",
            find_compiler,
        ),
        Probe(
            "g++",
            "the C++ runtime",
            "g++ or clang++, from your system",
            program("g++", "clang++", "c++"),
        ),
        Probe(
            "node",
            "the Node.js runtime",
            "Node.js, from nodejs.org or your system",
            program("node"),
        ),
    ]


def examine(questions: Iterable[Probe]) -> list[Finding]:
    return [Finding(p.name, p.find(), p.needed_for, p.how_to_get, p.required) for p in questions]


def missing(findings: Iterable[Finding]) -> list[Finding]:
    """What keeps the notebooks from running."""
    return [finding for finding in findings if finding.required and finding.found is None]


def as_text(findings: Sequence[Finding]) -> str:
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        label = "absent" if finding.required else "absent (optional)"
        lines.append(f"{finding.name:<{width}}  {finding.found or label}")
        lines.append(f"{'':<{width}}    for {finding.needed_for}")
        if finding.found is None:
            lines.append(f"{'':<{width}}    get it: {finding.how_to_get}")
    lacking = [finding.name for finding in missing(findings)]
    verdict = (
        f"The notebooks will not run: {', '.join(lacking)} missing."
        if lacking
        else "The notebooks will run."
    )
    return "\n".join([*lines, "", verdict])


def module(
    name: str, package: str | None = None, importing: bool = True
) -> Callable[[], str | None]:
    """A finder for a Python package. Importing it tells more than its being installed.

    It is imported in a process of its own, unless it is here already: a notebook that asks does not
    keep 110 MiB of libraries that it never uses, which in a class counts once for each student.
    """

    def find() -> str | None:
        try:
            version = importlib.metadata.version(package or name)
        except importlib.metadata.PackageNotFoundError:
            return None
        program = f"import sys; sys.path[:] = {sys.path}; import {name}; print('it works')"
        works = not importing or name in sys.modules or first_line(sys.executable, "-c", program)
        return version if works else None

    return find


def program(*names: str) -> Callable[[], str | None]:
    """A finder for the first of some programs that is on the PATH and answers `--version`."""

    def find() -> str | None:
        for name in names:
            if shutil.which(name) and (answer := first_line(name, "--version")):
                return answer
        return None

    return find


def find_python() -> str | None:
    return platform.python_version() if sys.version_info[:2] >= OLDEST_PYTHON else None


def find_layout() -> str | None:
    """The program that lays graphs out: the graphviz-pure wheel, or else the system's `dot`."""
    beside_python = Path(sys.executable).parent
    for name in ("graphviz-pure", "dot"):
        path = shutil.which(name) or shutil.which(name, path=str(beside_python))
        if path and (answer := first_line(path, "-V")):
            version = re.search(r"version (\S+)", answer)
            return f"{name} {version.group(1)}" if version else name
    return None


def find_compiler() -> str | None:
    """A C compiler, given that Python's headers are there as well."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return program("cc", "gcc", "clang")() if headers.exists() else None


def find_gpu() -> str | None:
    """Asks the driver itself, as `torch.cuda.device_count` does; nothing else is loaded for it."""
    library = (
        "nvcuda.dll" if os.name == "nt" else ctypes.util.find_library("cuda") or "libcuda.so.1"
    )
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return None
    count, name = ctypes.c_int(0), ctypes.create_string_buffer(100)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    driver.cuDeviceGetName(name, len(name), 0)
    others = f" and {count.value - 1} more" if count.value > 1 else ""
    return name.value.decode(errors="replace") + others


def find_cuda() -> str | None:
    """The device that `internals.cuda.backend` would choose in a program that is started here."""
    asked = os.environ.get("INTERNALS_CUDA", "").strip().lower()
    if asked.partition(":")[0] in ("simulator", "numba-simulator"):
        return f"simulated (INTERNALS_CUDA={asked})"
    if asked not in ("", "gpu") or importlib.util.find_spec("numba_cuda") is None:
        return None
    return find_gpu()


def how_to_get_cuda() -> str:
    """What to do where `find_cuda` finds none; the reason comes first, if it is what INTERNALS_CUDA
    says.
    """
    asked = os.environ.get("INTERNALS_CUDA", "")
    kind = asked.strip().lower().partition(":")[0]
    simulator = "set INTERNALS_CUDA=simulator for a simulated GPU"
    if kind == "none":
        return f"INTERNALS_CUDA=none switches it off; unset it, or {simulator}"
    if kind not in ("", "gpu", "simulator", "numba-simulator"):
        return f"INTERNALS_CUDA={asked} has no meaning; {simulator}"
    return f"{simulator}; or a GPU, its driver and numba-cuda"


def first_line(*command: str) -> str | None:
    """The first line that a program prints, or None when it fails."""
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[0].strip() if run.returncode == 0 and lines else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
