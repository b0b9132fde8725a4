"""The CPU fallback: operators without a CUDA kernel run on copies, visibly, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import internals as torch
import viz
from internals.cuda import allow_fallback, fallbacks, no_fallback
from internals.library import Library


@pytest.fixture(scope="module")
def ops() -> Iterator[Any]:
    """Operators that have a CPU kernel and nothing else."""
    library = Library("host_only", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.define("bump_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    library.define("both(Tensor[] xs) -> (Tensor, Tensor)")
    library.define("grow(Tensor x, Tensor(a!) y) -> Tensor(a!)")
    library.define("first(Tensor(a) x) -> Tensor(a)")
    library.define("make(int n, *, Device? device=None) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    library.impl("bump_", lambda x, y: x.add_(y), "CPU")
    library.impl("both", lambda xs: (xs[0] + xs[1], xs[0] - xs[1]), "CPU")
    library.impl("grow", lambda x, y: y.resize_([2 * len(x)]).fill_(7), "CPU")
    library.impl("first", lambda x: x[0], "CPU")
    library.impl("make", lambda n, device: torch.arange(n), "CPU")
    yield torch.ops.host_only


def test_results_come_back(ops: Any) -> None:
    before = fallbacks().get("host_only::twice", 0)
    x = torch.arange(6.0, device="cuda").view(2, 3).t()
    y = ops.twice(x)
    assert y.device == x.device and torch.equal(y.cpu(), x.cpu() * 2) and y.stride() == x.stride()
    assert fallbacks()["host_only::twice"] == before + 1


def test_what_is_written_is_written_back(ops: Any) -> None:
    x = torch.zeros(4, device="cuda")
    result = ops.bump_(x[1:3], torch.ones(2, device="cuda"))
    assert x.cpu().tolist() == [0, 1, 1, 0] and result.data_ptr() == x[1:].data_ptr()


def test_the_same_tensor_twice_is_one_copy(ops: Any) -> None:
    x = torch.ones(2, device="cuda")
    assert ops.bump_(x, x) is x and x.cpu().tolist() == [2, 2]


def test_lists_and_several_results(ops: Any) -> None:
    a, b = ops.both([torch.full((2,), 3.0, device="cuda"), torch.ones(2, device="cuda")])
    assert a.is_cuda and b.is_cuda and a.cpu().tolist() == [4, 4] and b.cpu().tolist() == [2, 2]


def test_an_argument_that_grows(ops: Any) -> None:
    out = torch.empty(0, device="cuda")
    assert ops.grow(torch.zeros(3, device="cuda"), out) is out
    assert out.cpu().tolist() == [7] * 6


def test_the_second_device_keeps_its_results(ops: Any) -> None:
    assert ops.twice(torch.ones(1, device="cuda:1")).device == torch.device("cuda:1")


def test_a_factory(ops: Any) -> None:
    made = ops.make(3, device="cuda")
    assert made.device == torch.device("cuda:0") and made.cpu().tolist() == [0, 1, 2]


def test_a_view_cannot_be_computed_on_a_copy(ops: Any) -> None:
    with pytest.raises(NotImplementedError, match="host_only::first' returns a view"):
        ops.first(torch.ones(2, device="cuda"))


def test_it_can_be_made_an_error(ops: Any) -> None:
    x = torch.ones(2, device="cuda")
    with (
        no_fallback(),
        pytest.raises(NotImplementedError, match="'host_only::twice' has no CUDA kernel here"),
    ):
        ops.twice(x)
    assert ops.twice(x).cpu().tolist() == [2, 2]
    allow_fallback(False)
    try:
        with pytest.raises(NotImplementedError, match=r"internals.cuda.allow_fallback\(True\)"):
            ops.twice(x)
    finally:
        allow_fallback(True)


def test_the_dispatcher_shows_it(ops: Any) -> None:
    text = str(viz.dispatch(ops.twice, torch.ones(2, device="cuda")))
    assert "cpu_fallback" in text and "CUDA" in text


def test_a_kernel_that_leaves_complex_numbers_to_the_cpu_says_so() -> None:
    """Each of the two ways: a kernel of its own, and a loop of the iterator."""
    z = torch.ones(2, 2, dtype=torch.complex64, device="cuda")
    before = fallbacks()
    for function, name in ((torch.mm, "aten::mm"), (torch.add, "add of complex64")):
        picture = viz.dispatch(function, z, z)
        assert (
            f"no CUDA kernel for {name.removeprefix('aten::')}: CPU fallback" in picture.summary()
        )
        assert fallbacks()[name] == before.get(name, 0) + 1
        with (
            no_fallback(),
            pytest.raises(NotImplementedError, match="the CPU fallback is switched off"),
        ):
            function(z, z)
    out = torch.empty(2, 2, dtype=torch.complex64, device="cuda")
    assert torch.mm(z, z, out=out) is out and out.cpu().tolist() == [[2, 2], [2, 2]]


def test_complex_numbers_have_gradients_there_as_well() -> None:
    found = []
    for device in ("cuda", "cpu"):
        z = torch.tensor([1 + 2j, 3 - 1j], device=device, requires_grad=True)
        y = z * 1
        y.real.mul_(2)
        (
            (y * y.conj()).real.sum()
            + (y @ y).imag
            + y.sgn().real.sum()
            + y.angle().sum()
            + y.norm()
        ).backward()
        found.append(z.grad.tolist())
    for a, b in zip(*found):
        assert a == pytest.approx(b, rel=1e-5)
