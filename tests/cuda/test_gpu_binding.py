"""The driver for a real GPU, with the true `cuda.bindings` and the true numba.cuda, on a libcuda
that stands for the hardware (`fake_libcuda.c`). It shows that arguments and results have the types
that these two want and give; kernels are compiled, and do nothing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from internals.cuda import backend, nvml

UUIDS = ["GPU-00000000-fake", "GPU-10000000-fake"]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"),
        reason="a libcuda.so can stand in for the driver's on Linux only",
    ),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.skipif(
        importlib.util.find_spec("numba_cuda") is None,
        reason="needs numba-cuda: pip install 'numba-cuda[cu13]'",
    ),
]

RUNTIME = """
import numpy as np
from internals.cuda.driver import DeviceOutOfMemory, IllegalMemoryAccess
from internals.cuda.gpu_driver import GpuDriver, availability

assert availability() == (2, ""), availability()
driver = GpuDriver()
print(driver.properties(1))
p, q = driver.malloc(0, 4096), driver.malloc(1, 4096)
x, y = np.arange(4096, dtype=np.uint8), np.zeros(4096, np.uint8)
stream = driver.create_stream(0, -2)
driver.copy(0, 0, p, x.ctypes.data, 4096, "h2d")
driver.copy(0, stream, q, p, 4096, "d2d")
driver.copy(0, stream, y.ctypes.data, q, 4096, "d2h")
assert (x == y).all()
host = driver.host_alloc(64)
assert driver.is_pinned(host) and not driver.is_pinned(x.ctypes.data)
driver.memset(0, stream, p, 0x1FF, 16)
assert driver.memory_info(0) == (5, 10) and driver.can_access_peer(0, 1)
start = driver.record_event(0, stream, timing=True)
end = driver.record_event(0, stream, timing=True)
assert start.query() and start.elapsed_ms(end) == 1.5 and start.handle != end.handle
end.synchronize()
driver.stream_wait_event(1, 0, driver.record_event(0, stream))
assert not driver.query_stream(0, stream) and driver.query_stream(0, 0)
failing = {
    IllegalMemoryAccess: lambda: driver.query_stream(0, 0x77),
    DeviceOutOfMemory: lambda: driver.malloc(0, 1 << 50),
}
for error, call in failing.items():
    try:
        call()
    except error as found:
        print(str(found).splitlines()[0])
found = []
driver.start_recording(found.append)
driver.memset(0, stream, p, 1, 16)
driver.stop_recording()
print([(a.name, a.kind) for a in found])
driver.destroy_stream(0, stream)
driver.free(0, p), driver.free(1, q), driver.host_free(host)
assert all(type(n) is int for n in (p, q, host, stream, start.handle))
"""

KERNELS = """
import warnings
import numpy as np
import internals
from internals.cuda import backend
from internals.cuda.device_array import DeviceArray
from internals.cuda.language import cuda, kernel

warnings.simplefilter("error")  # numba has an opinion on small grids

@kernel
def fill(out, value, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = value

driver = backend.driver()
for device in (0, 1):
    pointer, stream = driver.malloc(device, 4096), driver.create_stream(device)
    array = DeviceArray(pointer, (8,), (1,), internals.float32, device)
    for s in (0, stream):
        driver.launch(device, s, fill, (2, 1, 1), (32, 1, 1), (array, np.float32(3), 8))
    print(f"{stream:#x} {pointer:#x}")
"""


FORK = """
import os
import internals as torch
from internals.cuda import backend

print(torch.cuda.is_available(), torch.cuda.device_count(), backend.initialized(), flush=True)
child = os.fork()
if not child:
    try:
        print(torch.cuda.get_device_name(1), flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def run(folder: Path, program: str, nvml: bool = False, **more: str) -> tuple[list[str], list[str]]:
    """What the program prints, and what the library was asked to do; `nvml`: there is a library
    that counts devices.
    """
    assert COMPILER is not None
    for library in ["libcuda", "libnvidia-ml"] if nvml else ["libcuda"]:
        source = Path(__file__).with_name(
            "fake_libcuda.c" if library == "libcuda" else "fake_libnvml.c"
        )
        subprocess.run(
            [COMPILER, "-shared", "-fPIC", "-o", folder / f"{library}.so.1", source, "-ldl"],
            check=True,
        )
    script, log = folder / "program.py", folder / "log"
    script.write_text(program)
    variables = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("NUMBA_ENABLE_CUDASIM", "CUDA_", "INTERNALS_CUDA"))
    }
    variables |= {
        "LD_LIBRARY_PATH": str(folder),
        "FAKE_LIBCUDA_LOG": str(log),
        "PYTHONPATH": os.getcwd(),
        **more,
    }
    log.touch()
    done = subprocess.run(
        [sys.executable, script], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), log.read_text().splitlines()


def test_who_asked_whether_there_is_a_gpu_can_still_fork(tmp_path: Path) -> None:
    printed, calls = run(tmp_path, FORK, nvml=True)
    assert printed == ["True 2 False", "Fake 1"] and calls == ["init"]  # by the child


@pytest.mark.parametrize("why", ["no library", "told to"])
def test_where_cuda_itself_had_to_be_asked_the_child_is_told(tmp_path: Path, why: str) -> None:
    told = {"PYTORCH_NVML_BASED_CUDA_CHECK": "0"} if why == "told to" else {}
    printed, calls = run(tmp_path, FORK, nvml=why == "told to", **told)
    assert printed == ["True 2 False", backend.FORKED] and calls == ["init"]


@pytest.mark.parametrize(
    "visible, count",
    [
        ("", 0), ("0", 1), ("1,0", 2), ("0,0", 0), ("1,2,0", 1), ("0,-1,1", 1), ("-1", 0),
        ("1gpu0,0ampere", 2), ("no", 0), ("GPU-1", 1), ("GPU-1,GPU-0", 2), ("GPU-", 0),
        ("GPU-1,0", 1), ("GPU-9", 0), ("GPU-1,GPU-10000000-fake", 0),
    ],
)  # fmt: skip
def test_devices_are_counted_as_cuda_would(
    visible: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch's own count says the same: of two GPUs, for each of these values of
    CUDA_VISIBLE_DEVICES.
    """
    monkeypatch.setattr(nvml, "_uuids", lambda: UUIDS)
    monkeypatch.delenv("PYTORCH_NVML_BASED_CUDA_CHECK", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert nvml.device_count() == count
    torch = pytest.importorskip("torch", reason="compares with PyTorch where it is installed")
    monkeypatch.setattr(torch.cuda, "_raw_device_count_nvml", lambda: 2)
    monkeypatch.setattr(torch.cuda, "_raw_device_uuid_nvml", lambda: UUIDS)
    assert torch.cuda._device_count_nvml() == count


def test_where_nvml_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(nvml, "LIBRARY", "libno-such-thing.so.1")
    assert nvml.device_count() is None
    monkeypatch.setattr(nvml, "_uuids", lambda: None)
    assert nvml.device_count() is None
    monkeypatch.setattr(nvml, "_uuids", lambda: UUIDS)
    assert nvml.device_count() == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1")
    assert nvml.device_count() is None


def test_memory_streams_and_events(tmp_path: Path) -> None:
    printed, calls = run(tmp_path, RUNTIME)
    assert printed == [
        "_CudaDeviceProperties(name='Fake 1', major=9, minor=0, total_memory=81920MB, "
        "multi_processor_count=16, uuid=00010203-0405-0607-0809-0a0b0c0d0e0f, pci_bus_id=33, "
        "pci_device_id=34, pci_domain_id=50, L2_cache_size=0MB)",
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: out of memory",
        "[('cudaMemsetAsync', 'host'), ('Memset (Device)', 'memset')]",
    ]
    assert [c for c in calls if c != "init"][:8] == [
        "stream, flags 1, priority -2", "h2d 4096", "wait", "d2d 4096", "d2h 4096", "wait",
        "pinned, flags 1", "memset 255 16",
    ]  # fmt: skip
    assert (
        calls.count("event, flags 0") >= 2
        and calls.count("event, flags 2") == 1
        and "wait for event" in calls
    )


@pytest.mark.sampled(1 / 4)
def test_kernels_are_compiled_and_get_their_arguments(tmp_path: Path) -> None:
    printed, calls = run(tmp_path, KERNELS)
    launches = [call for call in calls if call.startswith("launch")]
    expected = []
    for line in printed:
        stream, pointer = line.split()
        for s in ("(nil)", stream):
            expected.append(
                f"launch 2 x 32, stream {s}, size 8, itemsize 4, pointer {pointer}, number 3"
            )
    assert launches == expected and len(expected) == 4
    assert calls.count("kernel fill") >= 1
