"""Tensors on the device as Python sees them: moving, printing, indexing, numbers, copies, storages;
with PyTorch's errors.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.cuda import backend

CUDA = torch.device("cuda", 0)


def arange(*sizes: int, dtype: Any = torch.float32) -> Any:
    n = int(np.prod(sizes))
    return torch.arange(n, device="cuda", dtype=dtype).view(*sizes)


# Moving


def test_to_and_back() -> None:
    x = torch.arange(6.0).view(2, 3)
    y = x.cuda()
    assert (y.device, y.is_cuda, y.is_cpu, y.get_device()) == (CUDA, True, False, 0)
    assert (
        y.cuda() is y and y.to("cuda") is y and y.to(y) is y and x.cpu() is x and x.to("cpu") is x
    )
    assert y.data_ptr() != x.data_ptr() and torch.equal(y.cpu(), x)
    assert x.get_device() == -1 and torch.get_device(y) == 0


def test_making_a_tensor_is_no_write_to_it() -> None:
    x = torch.ones(2, 3)
    made = [
        x.cuda(), torch.ones(3, device="cuda"), torch.full((2,), 3.0, device="cuda"),
        torch.tensor([1.0], device="cuda"), torch.eye(3, device="cuda"), x.cuda().double(),
        x.cuda().cpu(), x.cuda().clone(), x.cuda().t().contiguous(),
    ]  # fmt: skip
    assert [t._version for t in made] == [0] * len(made)
    y = x.cuda()
    y.add_(1)
    y.copy_(x)
    assert y._version == 2


def test_the_forms_of_to() -> None:
    x = torch.ones(2)
    y = x.to("cuda", torch.float64)
    assert (y.device, y.dtype) == (CUDA, torch.float64)
    assert x.to(y).dtype is torch.float64 and x.to(y).device is CUDA
    assert y.to(torch.float32).device is CUDA and y.to(device="cpu").device.type == "cpu"
    assert y.to("cuda", copy=True) is not y
    assert y.to(dtype=torch.int32, non_blocking=True).tolist() == [1, 1]
    assert y.to("meta").device.type == "meta"
    assert x.type_as(y).device is CUDA


def test_strides_survive_the_way() -> None:
    x = torch.arange(6.0).view(2, 3).T
    y = x.cuda()
    assert y.stride() == x.stride() and y.cpu().stride() == x.stride()
    picture = torch.ones(2, 3, 4, 5).to("cuda", memory_format=torch.channels_last)
    assert picture.is_contiguous(memory_format=torch.channels_last)
    assert x.expand(2, 3, 2).cuda().shape == (2, 3, 2)


def test_between_two_devices(second_device: int) -> None:
    x = torch.arange(3.0, device="cuda:0")
    y = x.cuda(second_device)
    assert y.device.index == second_device and y.tolist() == [0.0, 1.0, 2.0]
    assert x.to(f"cuda:{second_device}").get_device() == second_device
    with torch.cuda.device(second_device):
        assert (
            torch.ones(1, device="cuda").device.index == second_device
            and x.cuda().device.index == second_device
        )


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "int8", "int64", "uint8", "bool"]
)
def test_every_dtype_moves(dtype: str) -> None:
    x = torch.arange(5).to(getattr(torch, dtype))
    y = x.cuda()
    assert y.dtype is x.dtype and y.tolist() == x.tolist()


def test_no_such_device() -> None:
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        torch.ones(1, device="cuda:77")
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        torch.ones(1).cuda(77)
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        torch.ones(1).cuda("cpu")


def test_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    with backend.installed(None):
        monkeypatch.setenv(backend.VARIABLE, "none")
        monkeypatch.setattr(backend, "_asked", None)
        for attempt in (
            lambda: torch.ones(1).cuda(),
            lambda: torch.ones(1, device="cuda"),
            lambda: torch.tensor([1], device="cuda"),
            lambda: torch.ones(1).to("cuda"),
            lambda: torch.nn.Linear(1, 1).cuda(),
        ):
            with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
                attempt()
        with pytest.raises(TypeError, match="type torch.cuda.FloatTensor not available"):
            torch.cuda.FloatTensor(2)


def test_types_by_name() -> None:
    x = torch.ones(2, device="cuda")
    assert (
        x.type() == "internals.cuda.FloatTensor"
        and torch.typename(x) == "internals.cuda.FloatTensor"
    )
    assert x.long().type() == "internals.cuda.LongTensor"
    assert x.type("torch.LongTensor").device.type == "cpu"
    assert (
        x.cpu().type("torch.cuda.DoubleTensor").device is CUDA
        and x.type(torch.float64).device is CUDA
    )
    assert (
        x.type(torch.cuda.IntTensor).dtype is torch.int32
        and x.type(torch.IntTensor).device.type == "cpu"
    )
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert (
        torch.cuda.FloatTensor([1, 2]).tolist() == [1.0, 2.0]
        and torch.cuda.LongTensor(2, 3).device is CUDA
    )
    with pytest.raises(
        RuntimeError, match="legacy constructor expects device type: cpu but device type: cuda"
    ):
        torch.FloatTensor(2, device="cuda")


# Making


def test_constructors() -> None:
    a = np.arange(3.0)
    assert torch.tensor([1, 2], device="cuda").tolist() == [1, 2]
    assert torch.as_tensor(a, device="cuda").dtype is torch.float64
    x = torch.as_tensor([1.0, 2.0], device="cuda")
    assert torch.as_tensor(x) is x and torch.asarray(x) is x
    assert torch.asarray(x, device="cpu").device.type == "cpu"
    assert torch.from_numpy(a).cuda().tolist() == a.tolist()
    assert torch.tensor([x[0], x[1]]).tolist() == [1.0, 2.0]
    with pytest.warns(UserWarning, match="copy construct"):
        assert torch.tensor(x).device is CUDA
    made = [
        torch.zeros_like(x),
        torch.rand_like(x),
        torch.full_like(x, 2),
        torch.empty_like(x),
        x.new_ones(2),
    ]
    made += [
        x.new_tensor([1]),
        x.new_full((2,), 3),
        x.new_zeros(1),
        x.new_empty(3),
        x.new(2),
        x.new([1.0]),
    ]
    made += [
        torch.full((2,), 1.0, device="cuda"),
        torch.arange(3, device="cuda"),
        torch.linspace(0, 1, 3, device="cuda"),
    ]
    made += [
        torch.eye(2, device="cuda"),
        torch.randn(2, device="cuda"),
        torch.randperm(3, device="cuda"),
    ]
    assert all(t.device is CUDA for t in made)
    assert torch.zeros_like(x, device="cpu").device.type == "cpu"


# Reading


def test_numbers() -> None:
    x = arange(2, 3)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert (x[1, 1].item(), int(x[1, 2]), float(x[0, 1]), bool(x[0, 1]), bool(x[0, 0])) == (
        4.0,
        5,
        1.0,
        True,
        False,
    )
    assert len(x) == 2 and [row.tolist() for row in x] == x.tolist() and 4.0 in x and 7.0 not in x
    assert [10, 20, 30][torch.tensor(1, device="cuda")] == 20
    assert complex(torch.tensor(1j, device="cuda")) == 1j
    assert f"{x[1, 1]:.2f}" == "4.00"
    with pytest.raises(
        RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        bool(x)


def test_numpy_wants_memory_of_the_host() -> None:
    x = torch.ones(2, device="cuda")
    text = (
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
        "host memory first."
    )
    for attempt in (
        lambda: x.numpy(),
        lambda: np.asarray(x),
        lambda: np.array(x),
        lambda: np.sin(x),
    ):
        with pytest.raises(TypeError) as error:
            attempt()
        assert str(error.value) == text
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    assert np.float32(2) * x.cpu().numpy()[0] == 2.0


def test_printing_names_the_device() -> None:
    simulated = "  # simulated" if backend.driver().simulated else ""
    assert (
        repr(torch.arange(3.0, device="cuda"))
        == "tensor([0., 1., 2.], device='cuda:0')" + simulated
    )
    assert repr(torch.zeros(0, device="cuda")) == "tensor([], device='cuda:0')" + simulated
    x = torch.ones(2, device="cuda", dtype=torch.float64, requires_grad=True)
    assert "device='cuda:0', dtype=internals.float64, requires_grad=True)" in " ".join(
        repr(x).split()
    )
    assert "grad_fn=<MulBackward0>" in repr(x * 2)
    large = repr(torch.arange(2000, device="cuda"))
    assert large.startswith("tensor([   0,    1,    2,  ..., 1997, 1998, 1999], device='cuda:0')")


def test_indexing_reads() -> None:
    x, y = arange(3, 4), torch.arange(12.0).view(3, 4)
    for index in (
        1,
        -1,
        slice(None, None, 2),
        (slice(None), 1),
        (1, 2),
        ...,
        None,
        [0, 2],
        ([0, 1], [2, 3]),
        y > 4,
    ):
        there = index.cuda() if isinstance(index, torch.Tensor) else index
        assert torch.equal(x[there].cpu(), y[index])
    on_host = torch.tensor([2, 0])
    assert torch.equal(x[on_host].cpu(), y[on_host]) and torch.equal(
        x[on_host.cuda()].cpu(), y[on_host]
    )
    assert x[1].data_ptr() == x.data_ptr() + 16 and x[1]._base is not None
    with pytest.raises(
        RuntimeError,
        match="indices should be either on cpu or on the same device as the indexed tensor",
    ):
        y[on_host.cuda()]


def test_indexing_writes() -> None:
    x, y = arange(3, 4), torch.arange(12.0).view(3, 4)
    for index, value in (
        (0, 5.0),
        ((slice(None), 1), torch.tensor([7.0, 8.0, 9.0])),
        ([0, 2], 1.5),
        (y > 6, 0.0),
    ):
        x[index.cuda() if isinstance(index, torch.Tensor) else index] = value
        y[index] = value
    x[torch.tensor([1, 2])] = torch.ones(4, device="cuda")
    y[torch.tensor([1, 2])] = torch.ones(4)
    x[x > 8] = torch.tensor(-1.0)
    y[y > 8] = -1.0
    assert torch.equal(x.cpu(), y)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!"):
        x[torch.tensor([1, 2])] = torch.ones(4)


# Copies of Python's


def test_deepcopy_and_pickle() -> None:
    x = arange(2, 3).requires_grad_()
    x.note = "kept"
    x.grad = torch.ones(2, 3, device="cuda")
    base = torch.arange(4.0, device="cuda")
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (
            copied.device is CUDA
            and copied.requires_grad
            and copied.note == "kept"
            and torch.equal(copied, x)
        )
        assert copied.data_ptr() != x.data_ptr()
    assert torch.equal(copy.deepcopy(x).grad, x.grad)
    both = copy.deepcopy([base, base[1:]])
    both[0][1] = 9.0
    assert both[1][0].item() == 9.0 and base[1].item() == 1.0
    assert copy.copy(base).data_ptr() == base.data_ptr()


# Storages


def test_untyped_storages() -> None:
    x = torch.tensor([1, 256], dtype=torch.int32, device="cuda")
    s = x.untyped_storage()
    assert (s.device, s.is_cuda, s.nbytes(), s.get_device(), s.data_ptr()) == (
        CUDA,
        True,
        8,
        0,
        x.data_ptr(),
    )
    assert (
        s.tolist() == [1, 0, 0, 0, 0, 1, 0, 0]
        and s[0] == 1
        and s[-3] == 1
        and list(s[4:6]) == [0, 1]
    )
    s[0] = 7
    assert x[0].item() == 7
    on_host = s.cpu()
    assert (
        on_host.device.type == "cpu"
        and on_host.tolist() == s.tolist()
        and on_host.cuda().device is CUDA
    )
    assert s.cuda() is s and s.clone().data_ptr() != s.data_ptr() and s.is_shared()
    s.copy_(torch.tensor([3, 4], dtype=torch.int32).untyped_storage())
    assert x.tolist() == [3, 4]
    s.fill_(0)
    assert x.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="size mismatch"):
        s.copy_(torch.ones(1).untyped_storage())
    with pytest.raises(IndexError):
        s[8]
    assert repr(s) == " 0\n" * 8 + "[internals.storage.UntypedStorage(device=cuda:0) of size 8]"


def test_typed_storages() -> None:
    x = torch.tensor([1.0, 2.5], device="cuda")
    s = x.storage()
    assert (
        s.type() == "internals.cuda.FloatStorage"
        and s.tolist() == [1.0, 2.5]
        and s[1] == 2.5
        and s.is_cuda
    )
    s[0] = 9.0
    assert x[0].item() == 9.0
    assert s.cpu().tolist() == [9.0, 2.5] and s.cpu().cuda().device is CUDA and s.cuda() is s
    s.copy_(torch.tensor([3, 4]).storage())
    assert x.tolist() == [3.0, 4.0]
    s.fill_(0.5)
    assert (
        x.tolist() == [0.5, 0.5]
        and s.clone().tolist() == [0.5, 0.5]
        and s.to(torch.float64).tolist() == [0.5, 0.5]
    )
    assert repr(s) == (
        " 0.5\n 0.5\n[internals.storage.TypedStorage(dtype=internals.float32, device=cuda:0) "
        "of size 2]"
    )


def test_resize_keeps_what_there_was() -> None:
    x = torch.arange(4.0, device="cuda")
    x.untyped_storage().resize_(64)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    x.resize_(2, 8)
    assert x.shape == (2, 8) and x[0, :4].tolist() == [0.0, 1.0, 2.0, 3.0]
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0


def test_set_takes_memory_of_the_same_device() -> None:
    x, y = torch.zeros(1, device="cuda"), torch.arange(4.0, device="cuda")
    x.set_(y)
    assert x.data_ptr() == y.data_ptr() and x.is_set_to(y)
    x.set_(y.untyped_storage(), 1, (2,), (1,))
    assert x.tolist() == [1.0, 2.0]
    for source in (y, y.storage(), y.untyped_storage()):
        with pytest.raises(
            RuntimeError, match='on device "cpu" to a storage on different device "cuda:0"'
        ):
            torch.zeros(1).set_(source)
    assert x.set_().shape == (0,) and x.device is CUDA


def test_memory_is_said_to_be_shared() -> None:
    x = torch.ones(2, device="cuda")
    assert x.is_shared() and x.share_memory_() is x and not torch.ones(2).is_shared()


# What follows from there being an accelerator


def test_accelerator() -> None:
    real = not backend.driver().simulated
    assert torch.accelerator.is_available() is real is torch.cuda.is_available()
    assert torch.accelerator.device_count() == torch.cuda.device_count() > 0
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.current_accelerator(check_available=True) == (
        torch.device("cuda") if real else None
    )
    assert torch.accelerator.current_device_index() == 0
    side = torch.cuda.Stream()
    torch.accelerator.set_stream(side)
    try:
        assert torch.accelerator.current_stream() == side
    finally:
        torch.accelerator.set_stream(torch.cuda.default_stream())
    x = torch.ones(1000, device="cuda")
    assert torch.accelerator.memory_allocated() >= x.nbytes
    torch.accelerator.synchronize()
    free, total = torch.accelerator.get_memory_info()
    assert 0 < free <= total


def test_accelerator_device_blocks(second_device: int) -> None:
    with torch.accelerator.device_index(second_device):
        assert torch.cuda.current_device() == second_device
        with torch.accelerator.device_index(None):
            assert torch.cuda.current_device() == second_device
    assert torch.cuda.current_device() == 0


def test_expanded_tensors_are_filled_with_a_tensor() -> None:
    x = torch.zeros(2, 1, device="cuda")
    x.expand(2, 3).fill_(torch.tensor(4.0))
    x[0].expand(5).fill_(torch.tensor(5, device="cuda"))
    assert x.tolist() == [[5.0], [4.0]]
