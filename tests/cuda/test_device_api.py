"""Which device is current, what it is, what is there when there is none, and how the runtime is
chosen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import internals as torch
from internals.cuda import backend
from internals.cuda.driver import CudaError
from internals.cuda.simulator.driver import SimulatedDriver

cuda = torch.cuda


def run(code: str, **environment: str) -> str:
    """What a new process prints."""
    variables = {
        k: v for k, v in os.environ.items() if k not in ("INTERNALS_CUDA", "NUMBA_ENABLE_CUDASIM")
    } | environment
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_simulated_device_says_so(simulator: SimulatedDriver) -> None:
    assert not cuda.is_available()
    assert cuda.is_simulated() and cuda.is_initialized() and cuda.device_count() == 2
    assert cuda.get_device_name() == "Simulated GPU" and cuda.get_device_capability("cuda:1") == (
        9,
        0,
    )
    assert not cuda.is_bf16_supported() and not hasattr(torch, "bfloat16")
    assert repr(cuda.get_device_properties(1)) == (
        "_CudaDeviceProperties(name='Simulated GPU', major=9, minor=0, total_memory=1024MB, "
        "multi_processor_count=16, uuid=00000000-0000-0000-0000-000000000001, pci_bus_id=1, "
        "pci_device_id=0, pci_domain_id=0, L2_cache_size=4MB, simulated)"
    )


def test_devices_nest_and_restore(second_device: int) -> None:
    assert cuda.current_device() == 0
    with cuda.device(second_device):
        assert cuda.current_device() == 1
        with cuda.device("cuda:0"), cuda.device(None), cuda.device(-1):
            assert cuda.current_device() == 0
        with cuda.device(torch.device("cuda")):
            assert cuda.current_device() == 1
        with cuda.device(cuda.device(0)):
            assert cuda.current_device() == 0
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0


def test_device_of(second_device: int) -> None:
    there = SimpleNamespace(is_cuda=True, get_device=lambda: second_device)
    with cuda.device_of(there):
        assert cuda.current_device() == second_device
    with cuda.device_of(torch.zeros(2)):
        assert cuda.current_device() == 0


def test_set_device(second_device: int) -> None:
    cuda.set_device("cuda:1")
    assert cuda.current_device() == 1
    cuda.set_device(-1)
    assert cuda.current_device() == 1
    cuda.set_device(torch.device("cuda", 0))
    assert cuda.current_device() == 0


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: cuda.set_device(99), CudaError, "CUDA error: invalid device ordinal\n"),
        (lambda: cuda.device(99).__enter__(), CudaError, "CUDA error: invalid device ordinal\n"),
        (lambda: cuda.synchronize(99), CudaError, "CUDA error: invalid device ordinal\n"),
        (
            lambda: cuda.set_device("cuda"),
            ValueError,
            "Expected a torch.device with a specified index or an integer, but got:cuda",
        ),
        (lambda: cuda.set_device("cpu"), ValueError, "Expected a cuda device, but got: cpu"),
        (lambda: cuda.set_device(1.5), TypeError, "not as float"),
        (lambda: cuda.get_device_properties(99), AssertionError, "^Invalid device id$"),
        (lambda: cuda.get_device_name(-1), AssertionError, "^Invalid device id$"),
        (lambda: cuda.can_device_access_peer(99, 0), AssertionError, "^Invalid device id$"),
        (lambda: cuda.can_device_access_peer(0, 99), AssertionError, "^Invalid peer device id$"),
    ],
)
def test_devices_that_are_not_there(call: Any, error: type[Exception], text: str) -> None:
    before = cuda.current_device()
    with pytest.raises(error, match=text):
        call()
    assert cuda.current_device() == before


def test_errors_are_accelerator_errors() -> None:
    assert cuda.AcceleratorError is CudaError and issubclass(CudaError, RuntimeError)
    assert CudaError.__name__ == "AcceleratorError"  # what PyTorch shows in front of the message


def test_peers(second_device: int) -> None:
    assert isinstance(cuda.can_device_access_peer(0, 1), bool) and not cuda.can_device_access_peer(
        0, 0
    )


def test_index_of(second_device: int) -> None:
    assert (
        backend.index_of(torch.device("cuda:1")) == 1
        and backend.index_of(torch.device("cuda")) == 0
    )
    with pytest.raises(CudaError, match="invalid device ordinal"):
        backend.index_of(torch.device("cuda:99"))


@pytest.mark.parametrize(
    "text, meaning",
    [
        ("", ("auto", 0, 0)),
        ("gpu", ("gpu", 0, 0)),
        ("none", ("none", 0, 0)),
        ("simulator", ("simulator", 1, 1 << 30)),
        (" Simulator:3 ", ("simulator", 3, 1 << 30)),
        ("numba-simulator", ("numba-simulator", 1, 1 << 30)),
    ],
)
def test_what_the_variable_means(text: str, meaning: Any) -> None:
    assert backend.parse(text) == meaning


@pytest.mark.parametrize(
    "text", ["simulater", "simulator:", "simulator:0", "simulator:x", "simulator:17", "gpu:2", "1"]
)
def test_what_the_variable_does_not_mean(text: str) -> None:
    with pytest.raises(
        ValueError,
        match=(
            "INTERNALS_CUDA=.* has no meaning: it is one of gpu, simulator, numba-simulator, none"
        ),
    ):
        backend.parse(text)


def test_use_simulator_comes_first(simulator: SimulatedDriver) -> None:
    with pytest.raises(RuntimeError, match="CUDA is in use already"):
        cuda.use_simulator(devices=3)
    with pytest.raises(ValueError, match="at least 1 device"):
        cuda.use_simulator(devices=0)


def test_a_driver_that_was_exchanged_takes_its_state_along(simulator: SimulatedDriver) -> None:
    inner = SimulatedDriver()
    cuda.set_device(1)
    stream = cuda.Stream()
    with backend.installed(inner):
        assert backend.driver() is inner and cuda.device_count() == 1 and cuda.current_device() == 0
        # a pool of its own, from the first handle on
        assert cuda.Stream().cuda_stream == stream.cuda_stream
    assert backend.driver() is simulator and cuda.current_device() == 1


PROGRAM = """
import internals as torch
cuda = torch.cuda
print(cuda.is_available(), cuda.is_initialized(), cuda.device_count(), cuda.is_simulated())
print(cuda.current_device(), cuda.is_initialized(), cuda.get_device_name())
"""


def test_the_simulator_by_the_environment() -> None:
    assert run(PROGRAM, INTERNALS_CUDA="simulator:2").splitlines() == [
        "False False 2 True",
        "0 True Simulated GPU",
    ]


def test_the_simulator_by_a_call() -> None:
    call = (
        "import internals; internals.cuda.use_simulator(devices=2); "
        "internals.cuda.use_simulator(devices=2)"
    )
    assert run(call + PROGRAM).splitlines() == ["False False 2 True", "0 True Simulated GPU"]


def test_no_cuda() -> None:
    program = """
import internals as torch
cuda = torch.cuda
print(cuda.is_available(), cuda.is_initialized(), cuda.device_count(), cuda.is_simulated(),
      torch.accelerator.is_available())
cuda.manual_seed(1)
on_device = lambda: torch.zeros(1, device="cuda")
for call in (cuda.current_device, cuda.synchronize, cuda.Stream, on_device):
    try:
        call()
    except AssertionError as error:
        print(error, *error.__notes__, sep=": ")
"""
    first, *errors = run(program, INTERNALS_CUDA="none").splitlines()
    assert first == "False False 0 False False"
    assert len(errors) == 4 and set(errors) == {
        "Torch not compiled with CUDA enabled: No NVIDIA GPU can be used here "
        "(INTERNALS_CUDA=none). To see CUDA work without one, set INTERNALS_CUDA=simulator in the "
        "environment, or call internals.cuda.use_simulator() first"
    }


FORK = """
import os
import internals as torch
torch.cuda.use_simulator()
{before}
reader, writer = os.pipe()
if not os.fork():
    said = "no error"
    try:
        torch.ones(1, device="cuda")
    except RuntimeError as error:
        said = str(error)
    os.write(writer, f"{{torch.cuda.is_initialized()}} {{said}}".encode())
    os._exit(0)
os.wait()
print(os.read(reader, 500).decode())
{after}
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_the_child_of_a_process_that_has_used_cuda_cannot() -> None:
    used = FORK.format(before="x = torch.zeros(1, device='cuda')", after="print(x.item())")
    refusal = (
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
        "must use the 'spawn' "
    )
    assert run(used) == f"False {refusal}start method\n0.0"
    assert run(FORK.format(before="", after="")) == "True no error"


def test_importing_it_loads_and_starts_nothing() -> None:
    program = (
        "import sys, internals; c = internals.cuda; print('numba' in sys.modules, "
        "c.is_initialized())"
    )
    assert run(program, INTERNALS_CUDA="simulator") == "False False"
