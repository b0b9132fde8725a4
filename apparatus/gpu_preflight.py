"""`python -m internals doctor --gpu`: will CUDA work here? Tried, not guessed, each thing in a
process of its own.

First of all one launch; where that works, what is left are the things that can still go wrong, each
one known from reading the driver's and numba's documentation: who may fork, what counts as pinned,
what a failed kernel leaves behind. Nothing is installed and nothing is looked for on the network:
it runs with the numba-cuda, Python and numpy that are there.

How the real one differs: `torch.utils.collect_env` prints versions, `torch.cuda` warns of a driver
that is too old, and nothing is tried.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys

from apparatus.preflight import Failed, Trial
from internals.cuda import nvml
from internals.cuda.gpu_driver import availability, library_name

Version = tuple[int, int]

INSTALL = "pip install 'numba-cuda[cu13]'"
# those of pyproject.toml
OLDEST = {"python": (3, 11), "numpy": (2, 0), "numba": (0, 61), "numba-cuda": (0, 30)}

LAUNCH = """
import internals as torch
x = torch.arange(1000.0, device="cuda")
assert (x + 1).sum().item() == 500500
print(torch.cuda.get_device_name(0))
"""
LAUNCH_ON_EACH = """
import internals as torch
count = torch.cuda.device_count()
for index in [*range(count), 0]:
    x = torch.arange(1000.0, device=f"cuda:{index}")
    assert (x * 2).sum().item() == 999000, index
print(count, "used by one thread")
"""
FORK = """
import os
import internals as torch
assert torch.cuda.is_available()
child = os.fork()
if not child:
    os._exit(0 if torch.ones(3, device="cuda").sum().item() == 3 else 1)
assert os.waitpid(child, 0)[1] == 0, "the child could not use CUDA"
print("a process that asked is_available() can fork")
"""
PINNED = """
import numpy as np
from internals.cuda import backend
driver = backend.driver()
pinned, pageable = driver.host_alloc(4096), np.zeros(1 << 22, np.uint8)
last = pinned + 4095
assert driver.is_pinned(pinned) and driver.is_pinned(last), "pinned memory is not known as such"
told = "pageable memory counts as pinned: copies would return before they are over"
assert not driver.is_pinned(pageable.ctypes.data), told
attribute = driver._binding.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
reads = driver.call("cuDeviceGetAttribute", attribute, 0)
print("told apart; kernels", "can" if reads else "cannot", "read pageable memory here")
"""
ASSERT = """
import internals as torch
x = torch.arange(3.0, device="cuda")
try:
    x.gather(0, torch.tensor([5], device="cuda"))
    torch.cuda.synchronize()
except RuntimeError as error:
    assert "device-side assert" in str(error), error
    print("told, in a process of its own")
"""


def trials() -> list[Trial]:
    """One launch first, then the risks; without a GPU what can be told without one."""
    always = [
        Trial("launch", launch, "read the lines below: one of them is the reason"),
        Trial("driver", driver_is_there, "install NVIDIA's driver, or run on a machine with a GPU"),
        Trial(
            "versions",
            versions,
            f"{INSTALL}; without a network, in a venv from a machine that has one",
            needed=False,
        ),
        Trial("PTX", linking, INSTALL),
    ]
    if not availability().devices:
        return always
    return [
        *always,
        Trial(
            "NVML",
            counting,
            "install libnvidia-ml, which comes with the driver; without it, do not fork",
            needed=False,
        ),
        Trial("fork", lambda: in_process(FORK), "use the start method 'spawn' of multiprocessing"),
        Trial("pinned memory", lambda: in_process(PINNED), "do not use non_blocking=True"),
        Trial("failed kernels", lambda: in_process(ASSERT), "report what it says"),
        Trial("several GPUs", lambda: in_process(LAUNCH_ON_EACH), "set CUDA_VISIBLE_DEVICES=0"),
    ]


def launch() -> str:
    driver_is_there()
    return f"the sum is right: {in_process(LAUNCH)}"


def in_process(program: str) -> str:
    """The last line that a program prints. Raises Failed with its last complaint."""
    environment = {**os.environ, "INTERNALS_CUDA": "gpu"}
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path}\n{program}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed("not over after five minutes") from None
    if done.returncode or not done.stdout.strip():
        said = [line for line in done.stderr.splitlines() if line.strip()] or [
            f"exit status {done.returncode}"
        ]
        raise Failed(said[-1][:300])
    return done.stdout.strip().splitlines()[-1]


def driver_is_there() -> str:
    found = availability()
    if not found.devices:
        raise Failed(found.reason)
    return (
        f"for CUDA {dotted(driver_version())}, {found.devices} "
        f"{'device' if found.devices == 1 else 'devices'}"
    )


def versions() -> str:
    """Those that are here. Raises Failed for one that is older than what this package is written
    for.
    """
    found = {"python": platform.python_version()}
    for name in ("numpy", "numba", "numba-cuda"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise Failed(f"{name} is not installed") from None
    for name, oldest in OLDEST.items():
        if tuple(map(int, found[name].split(".")[:2])) < oldest:
            raise Failed(
                f"{name} {found[name]} is older than {dotted(oldest)}: it may work, and is not "
                "tested"
            )
    return ", ".join(f"{name} {version}" for name, version in found.items())


def linking() -> str:
    """What turns the PTX that NVVM writes into machine code here: nvJitLink, or the driver. Raises
    Failed if none can.
    """
    return who_links(ptx_written(), nvjitlink_version(), driver_version())


def who_links(written: Version, nvjitlink: Version | None, driver: Version | None) -> str:
    """Who can read what is written; each release of CUDA reads the PTX of its own time and
    older.
    """
    facts = f"NVVM writes PTX {dotted(written)}"
    for name, release in (("nvJitLink", nvjitlink), ("the driver", driver)):
        facts += f", {name} {f'reads up to {dotted(reads(release))}' if release else 'is not here'}"
    if nvjitlink is not None and reads(nvjitlink) >= written:
        return f"{facts}: nvJitLink makes the machine code"
    if nvjitlink is None and driver is not None and reads(driver) >= written:
        return f"{facts}: the driver makes the machine code"
    needed = f"nvidia-nvjitlink>={written[0] + 4}.{written[1]},<{written[0] + 5}"
    raise Failed(f"{facts}. Install an nvJitLink as new as NVVM: pip install '{needed}'")


def reads(cuda: Version) -> Version:
    """The newest PTX that a release of CUDA reads: 13.5 reads 9.5. CUDA 12.6 brought none of its
    own.
    """
    major, minor = cuda
    return major - 4, minor - 1 if major == 12 and minor > 5 else minor


def ptx_written() -> Version:
    """The version of the PTX that NVVM writes, from a kernel. Raises Failed where nothing
    compiles.
    """
    from internals.cuda.kernels.copy import fill_contiguous
    from internals.cuda.ptx import PtxUnavailable, ptx

    try:
        text = ptx(fill_contiguous, "float32[:]", float, int)
    except PtxUnavailable as error:
        raise Failed(str(error).splitlines()[-1]) from None
    major, minor = text.split(".version ")[1].split()[0].split(".")
    return int(major), int(minor)


def nvjitlink_version() -> Version | None:
    try:
        major, minor = importlib.import_module("cuda.bindings.nvjitlink").version()
    except Exception:  # each way of being absent has its own
        return None
    return int(major), int(minor)


def driver_version() -> Version | None:
    """The CUDA that the driver is made for; asking does not initialise it."""
    number = ctypes.c_int(0)
    try:
        status = ctypes.CDLL(library_name()).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if status else (number.value // 1000, number.value % 1000 // 10)


def counting() -> str:
    count = nvml.device_count()
    if count is None:
        raise Failed(
            "it does not answer: is_available() initialises CUDA, and children of a fork are "
            "refused it"
        )
    return f"counts {count}"


def dotted(version: Version | None) -> str:
    return "?" if version is None else ".".join(map(str, version))
