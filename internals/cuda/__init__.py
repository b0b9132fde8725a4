"""`internals.cuda`: tensors on a GPU, real or simulated (`torch/cuda/__init__.py`).

    x = torch.ones(3, device="cuda")

needs an NVIDIA GPU and its driver, or the simulator: set INTERNALS_CUDA=simulator in the
environment, or call `internals.cuda.use_simulator()` first. Importing this initialises nothing; the
first tensor on "cuda" does.

The layers, from the bottom:

- The device: `driver` lists what a device can do. `gpu_driver`, `gpu_launch` and `gpu_recording`
  ask NVIDIA's driver for it, `simulator/` does it in Python; `backend` knows which of the two is in
  use, and the current device and streams. `nvml` counts devices without starting the driver.
  `python -m internals doctor --gpu` (`apparatus/gpu_preflight.py`) checks a machine with a GPU.
- Memory: `allocator/` caches it. `memory`, `memory_history` and `memory_summary` are its functions
  for users.
- Programs for threads: `language` (in which kernels are written), `device_array` and `launch`
  (their arguments, and how they start). The same source takes several paths: it runs in the
  `interpreter` (with `registers` for `cuda` and `warp` for shuffles); numba compiles it in
  `compiled` (with `assert_fail`, the one instruction that numba lacks), and `cubins` keeps the
  machine code on disk; the `recorder` (an `observer`) watches it and writes an `access_log`; `ptx`
  (with `ptx_compiler`, `ptx_text`) shows it as text, whose registers `ptxas` counts. `foreign`
  takes kernels that were written for numba itself.
- Operators: `kernels/` for the device and `native/` for the host, each with a table of contents;
  `device_check` and `fallback` around them; `hooks`, through which the core reaches all this.
- For users: `device`, `streams`, `random`, `activity` (a recording of the device's work),
  `sync_debug`, `sleep`, `array_interface`.

How the real one differs: it also has CUDA graphs, NCCL and memory shared between processes, and it
calls cuBLAS and cuDNN where kernels of our own run here.
"""

from __future__ import annotations

from internals.construction.legacy import CUDA_TENSOR_TYPES

from .activity import Activity, Recording, record_activity
from .backend import use_simulator
from .device import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_simulated,
    set_device,
    synchronize,
)
from .driver import AcceleratorError, CudaError
from .fallback import allow_fallback, fallbacks, no_fallback
from .memory import (
    OutOfMemoryError,
    caching_allocator_alloc,
    caching_allocator_delete,
    caching_allocator_disabled,
    caching_allocator_enable,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .random import (
    default_generators,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .sleep import _sleep
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)
from .sync_debug import get_sync_debug_mode, set_sync_debug_mode

globals().update(CUDA_TENSOR_TYPES)  # FloatTensor and its like
