"""What the figures were measured on: the machine, the libraries, the moment.

pyperf collects what it can about the machine; of that only what cannot name a person or a place is
kept.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

KEPT = {"cpu_model_name": "cpu", "cpu_count": "cores", "cpu_affinity": "affinity"}
PACKAGES = ("numpy", "numba", "llvmlite", "torch", "micrograd", "tinygrad", "pyperf")
SETTINGS = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "INTERNALS_COMPILED_KERNELS",
    "NUMBA_CPU_FEATURES",
)


def describe(load: float | None = None) -> dict[str, Any]:
    """Of this machine: processor, cores, system, and settings of the environment that change what
    is measured.

    `load`: how many programs wanted to run before the benchmarks began, if that is known.
    """
    found = metadata()
    described: dict[str, Any] = {name: found[key] for key, name in KEPT.items() if key in found}
    described["system"] = f"{platform.system()} {platform.machine()}"
    described["instructions"] = instructions()
    described["load"] = load
    described["settings"] = {name: os.environ[name] for name in SETTINGS if name in os.environ}
    return described


def metadata() -> dict[str, Any]:
    """What pyperf says about this process and machine. Empty without pyperf."""
    try:
        import pyperf
    except ImportError:
        return {"cpu_count": os.cpu_count()}
    return dict(pyperf.Run([1.0], metadata={"name": "machine"}).get_metadata())


def load() -> float | None:
    """How many programs have wanted to run in the last minute, where the system counts them."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def instructions() -> str:
    """The widest vectors that the processor has, where the system tells."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown"
    return next(
        (name for name in ("avx512f", "avx2", "avx", "asimd", "neon") if f" {name}" in flags),
        "unknown",
    )


def versions() -> dict[str, str]:
    """Of Python, of every peer that is installed, and of ourselves: the commit."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"internals": commit()}


def commit() -> str:
    """What is checked out here, with "+" after it if something has been changed since."""
    try:
        run = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=10"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
        )
    except OSError:
        return "unknown"
    return run.stdout.strip() or "unknown"


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
