"""Sharing GPU memory with other libraries: DLPack and `__cuda_array_interface__`.

A simulated device refuses: nobody else could read its memory. So that the rest can be tested
without a GPU, some tests let it pass for a real one, as this package itself can read it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
from internals._tensor import devices as _tensor_devices
from internals.construction import dlpack
from internals.cuda import array_interface, backend


@pytest.fixture
def passes_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether the device is a simulated one."""
    for module in (_tensor_devices, dlpack, array_interface):
        monkeypatch.setattr(module, "is_simulated", lambda where: False)


simulated_only = pytest.mark.skipif(backend.gpu_available(), reason="a real GPU refuses nothing")


# __cuda_array_interface__


def test_tensors_of_the_cpu_have_no_such_interface() -> None:
    x = torch.ones(2)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError) as error:
        getattr(x, "__cuda_array_interface__")  # noqa: B009
    assert str(error.value) == (
        "Can't get __cuda_array_interface__ on non-CUDA tensor type: internals.FloatTensor If CUDA "
        "data is required use tensor.cuda() to copy tensor to device memory."
    )


def test_the_interface(passes_for_real: None) -> None:
    x = torch.arange(6, device="cuda", dtype=torch.float32).view(2, 3)
    assert x.__cuda_array_interface__ == {
        "typestr": "<f4",
        "shape": (2, 3),
        "strides": None,
        "data": (x.data_ptr(), False),
        "version": 2,
    }
    assert x.T.__cuda_array_interface__["strides"] == (4, 12)
    assert x[:0].__cuda_array_interface__["data"] == (0, False)
    assert x.bool().__cuda_array_interface__["typestr"] == "|b1"
    with pytest.raises(
        RuntimeError,
        match="on Variable that requires grad. If gradients aren't required, use var.detach",
    ):
        getattr(x.requires_grad_(), "__cuda_array_interface__")  # noqa: B009


@simulated_only
def test_a_simulated_device_refuses() -> None:
    x = torch.ones(2, device="cuda")
    with pytest.raises(
        BufferError,
        match="'cuda:0' is a simulated device, and no other library can read",
    ):
        getattr(x, "__cuda_array_interface__")  # noqa: B009
    with pytest.raises(
        BufferError,
        match=r"__dlpack__: 'cuda:0' is a simulated device(.|\n)*right:  .*t\.cpu\(\)",
    ):
        x.__dlpack__()
    with pytest.raises(BufferError, match="is a simulated one here"):
        torch.as_tensor(Array(torch.ones(2, device="cuda")))


class Array:
    """What another library would give: an object with the interface, on memory of a tensor."""

    def __init__(self, x: Any, **changes: Any) -> None:
        self.x = x
        n = x.itemsize
        self.__cuda_array_interface__ = {
            "shape": tuple(x.shape),
            "strides": tuple(s * n for s in x.stride()),
            "typestr": x.dtype.np.str,
            "data": (x.data_ptr(), False),
            "version": 3,
            **changes,
        }


def test_arrays_of_others_are_taken_as_they_are(passes_for_real: None) -> None:
    x = torch.arange(6, device="cuda").view(2, 3).T
    y = torch.as_tensor(Array(x))
    assert y.is_cuda and y.stride() == (1, 3) and y.dtype is torch.int64 and torch.equal(y, x)
    y[0, 0] = 9
    assert x[0, 0].item() == 9
    copied = torch.tensor(Array(x))
    copied[0, 0] = 1
    assert copied.is_cuda and x[0, 0].item() == 9
    assert torch.as_tensor(Array(x), dtype=torch.float32, device="cpu").device.type == "cpu"
    assert torch.as_tensor(
        Array(x, strides=None, shape=(6,), data=(x.data_ptr(), False))
    ).tolist() == [
        9,
        1,
        2,
        3,
        4,
        5,
    ]


def test_the_current_stream_waits_for_theirs(passes_for_real: None, simulator: Any) -> None:
    side = torch.cuda.Stream()
    x = torch.zeros(4, device="cuda")
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000)
        x.fill_(7)
    assert torch.as_tensor(Array(x, stream=side.cuda_stream)).tolist() == [7.0] * 4


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"typestr": "<U4"}, TypeError, "can't convert an array of type <U4"),
        ({"strides": (3,)}, ValueError, "strides not a multiple of the element byte size"),
        ({"strides": (-4,)}, ValueError, "negative strides"),
    ],
)
def test_arrays_that_no_tensor_can_be(
    changes: Any, kind: type[Exception], text: str, passes_for_real: None
) -> None:
    with pytest.raises(kind, match=text):
        torch.as_tensor(Array(torch.ones(2, device="cuda"), **changes))


def test_an_interface_that_is_none() -> None:
    class Broken:
        __cuda_array_interface__: Any = 3

    with pytest.raises(TypeError, match="`__cuda_array_interface__` must be a dict"):
        torch.as_tensor(Broken())
    Broken.__cuda_array_interface__ = {"shape": (1,)}
    with pytest.raises(TypeError, match="attribute `typestr` must exist"):
        torch.as_tensor(Broken())


# DLPack


def test_the_device_is_told() -> None:
    kind, index = torch.ones(2, device="cuda").__dlpack_device__()
    assert (int(kind), index) == (2, 0)


def test_there_and_back(passes_for_real: None) -> None:
    x = torch.arange(6.0, device="cuda").view(2, 3).T
    y = torch.from_dlpack(x)
    assert (
        y.device == x.device
        and y.data_ptr() == x.data_ptr()
        and y.stride() == x.stride()
        and torch.equal(x, y)
    )
    z = torch.from_dlpack(x.__dlpack__(max_version=(1, 0), stream=-1))
    z[0, 0] = 5.0
    assert x[0, 0].item() == 5.0
    copied = torch.from_dlpack(x.__dlpack__(copy=True))
    assert copied.is_cuda and copied.data_ptr() != x.data_ptr()


def test_to_the_cpu_on_request(passes_for_real: None) -> None:
    x = torch.arange(3.0, device="cuda")
    a = np.from_dlpack(torch.from_dlpack(x.__dlpack__(dl_device=(1, 0))))
    assert a.tolist() == [0.0, 1.0, 2.0]
    assert torch.from_dlpack(x, device="cpu").device.type == "cpu"
    with pytest.raises(BufferError, match="cannot move"):
        x.__dlpack__(dl_device=(1, 0), copy=False)


def test_streams_are_told_to_wait(passes_for_real: None, simulator: Any) -> None:
    x = torch.zeros(4, device="cuda")
    side, theirs = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000)
        x.fill_(3)
        capsule = x.__dlpack__(stream=theirs.cuda_stream)
    with torch.cuda.stream(theirs):
        assert torch.from_dlpack(capsule).tolist() == [3.0] * 4


def test_what_is_not_handed_out(passes_for_real: None, second_device: int) -> None:
    x = torch.ones(2, device="cuda")
    with pytest.raises(BufferError, match="per-thread default stream is not supported"):
        x.__dlpack__(stream=2)
    with pytest.raises(AssertionError, match="unsupported stream on CUDA: 0"):
        x.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="a")
    with pytest.raises(BufferError, match="Can't export tensors on a different CUDA device index"):
        x.to(f"cuda:{second_device}").__dlpack__()
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        x.requires_grad_().__dlpack__()


@pytest.mark.gpu
def test_with_real_pytorch_on_a_gpu() -> None:
    real = pytest.importorskip("torch", reason="real PyTorch is not installed")
    if not real.cuda.is_available():
        pytest.skip("this PyTorch is not built for CUDA")
    x = torch.arange(6.0, device="cuda").view(2, 3)
    theirs = real.from_dlpack(x)
    theirs[0, 0] = 9.0
    real.cuda.synchronize()
    assert x[0, 0].item() == 9.0 and theirs.data_ptr() == x.data_ptr()
    assert torch.equal(torch.from_dlpack(theirs * 2), x * 2)
    assert real.as_tensor(x).data_ptr() == x.data_ptr() == torch.as_tensor(theirs).data_ptr()


@pytest.mark.gpu
def test_with_cupy_on_a_gpu() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x = torch.arange(6.0, device="cuda")
    assert cupy.asarray(x).data.ptr == x.data_ptr()
    assert (
        torch.from_dlpack(cupy.arange(3)).tolist()
        == [0, 1, 2]
        == torch.as_tensor(cupy.arange(3)).tolist()
    )
