"""Tensors on different devices: what is refused, in PyTorch's words, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import internals as torch
from internals import nn
from internals.core.dispatcher import dispatcher
from internals.cuda.device_check import SPECIAL, base_name, method_name, takes_several
from tests.answers import answer

F = nn.functional
AT_LEAST_TWO = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
)
BUT_GOT = (
    "Expected all tensors to be on the same device, but got {} is on {}, different from other "
    "tensors on {} (when checking argument in method wrapper_CUDA_{})"
)

x = torch.arange(6.0).view(2, 3)
square = torch.ones(2, 2)
picture = torch.ones(1, 1, 3, 3)
one = torch.tensor([1])

# Made of a TensorIterator: two devices are named, and which argument it was is not.
ITERATED_CALLS: list[Callable[[Any, Any], Any]] = [
    lambda here, there: there(x) + here(x),
    lambda here, there: here(x) + there(x),
    lambda here, there: here(x).add_(there(x)),
    lambda here, there: there(x).mul_(here(x)),
    lambda here, there: torch.add(there(x), 1, out=here(x).clone()),
    lambda here, there: torch.maximum(there(x), here(x)),
    lambda here, there: there(x) == here(x),
    lambda here, there: torch.where(there(x) > 1, there(x), here(x)),
    lambda here, there: torch.pow(there(x), here(x)),
    lambda here, there: torch.lerp(there(x), here(x), 0.5),
    lambda here, there: there(x).clamp(here(x)),
    lambda here, there: F.mse_loss(there(x), here(x)),
    lambda here, there: torch.outer(there(x[0]), here(x[0])),
    lambda here, there: torch.allclose(there(x), here(x)),
    lambda here, there: here(x) * there(x)[0, 0],
    lambda here, there: here(x).clone().bernoulli_(there(x) / 6),
]

# Others have a wrapper that knows the argument and its own name.
CHECKED_CALLS: list[tuple[Callable[[Any, Any], Any], tuple[str, str, str, str]]] = [
    (lambda h, t: t(x) @ h(x.T), ("mat2", "cpu", "cuda:0", "mm")),
    (lambda h, t: torch.mm(h(x), t(x.T)), ("mat2", "cuda:0", "cpu", "mm")),
    (
        lambda h, t: torch.mm(t(x), t(x.T), out=h(square).clone()),
        ("self", "cuda:0", "cpu", "mm_out_out"),
    ),
    (lambda h, t: torch.addmm(t(square), t(x), h(x.T)), ("mat2", "cpu", "cuda:0", "addmm")),
    (lambda h, t: torch.bmm(t(x[None]), h(x.T[None])), ("mat2", "cpu", "cuda:0", "bmm")),
    (lambda h, t: torch.dot(t(x[0]), h(x[0])), ("tensor", "cpu", "cuda:0", "_dot")),
    (lambda h, t: torch.cat([t(x), h(x)]), ("tensors", "cpu", "cuda:0", "cat")),
    (lambda h, t: torch.stack([t(x), h(x)]), ("tensors", "cpu", "cuda:0", "cat")),
    (lambda h, t: torch.stack([h(x), t(x)]), ("tensors", "cuda:0", "cpu", "cat")),
    (
        lambda h, t: torch.stack([h(x), h(x)], out=t(x).clone()),
        ("tensors", "cpu", "cuda:0", "cat_out_out"),
    ),
    (lambda h, t: nn.Linear(3, 2)(t(x)), ("mat1", "cuda:0", "cpu", "addmm")),
    (lambda h, t: F.linear(t(x), h(x)), ("mat2", "cpu", "cuda:0", "mm")),
    (lambda h, t: F.embedding(h(one), t(x)), ("index", "cpu", "cuda:0", "_index_select")),
    (lambda h, t: F.embedding(t(one), h(x)), ("index", "cuda:0", "cpu", "_index_select")),
    (lambda h, t: t(x).index_select(0, h(one)), ("index", "cpu", "cuda:0", "_index_select")),
    (lambda h, t: t(x).gather(0, h(one[None])), ("index", "cpu", "cuda:0", "gather")),
    (lambda h, t: t(x).scatter(0, h(one[None]), 1.0), ("index", "cpu", "cuda:0", "scatter_value")),
    (lambda h, t: t(x).masked_select(h(x) > 1), ("mask", "cpu", "cuda:0", "_masked_select")),
    (
        lambda h, t: F.cross_entropy(t(x), h(torch.tensor([0, 1]))),
        ("target", "cpu", "cuda:0", "nll_loss_forward"),
    ),
    (lambda h, t: nn.LayerNorm(3)(t(x)), ("weight", "cpu", "cuda:0", "_native_layer_norm")),
]

OTHER_CALLS: list[tuple[Callable[[Any, Any], Any], str]] = [
    (
        lambda h, t: t(x).masked_fill(h(x) > 1, 0.0),
        "expected self and mask to be on the same device, but got mask on cpu and ",
    ),
    (
        lambda h, t: h(x).masked_fill(t(x) > 1, 0.0),
        "expected self and mask to be on the same device, but got mask on cuda:0 a",
    ),
    (
        lambda h, t: h(x)[t(one)],
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
    (
        lambda h, t: torch.equal(t(x), h(x)),
        "Cannot compare two tensors on different devices. Got: cuda:0 and cpu",
    ),
    (
        lambda h, t: F.conv2d(t(picture), h(picture)),
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the "
        "same",
    ),
    (
        lambda h, t: F.conv2d(h(picture), t(picture)),
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the "
        "same or input should be a MKLDNN tensor and weight is a dense tensor",
    ),
    (
        lambda h, t: F.conv2d(t(picture), t(picture), h(torch.ones(1))),
        "Input type (torch.cuda.FloatTensor) and bias type (torch.FloatTensor) should be the same",
    ),
]


# A structured kernel is asked where its result belongs before it writes to `out`.
ELSEWHERE: list[Callable[[Any, Any], Any]] = [
    lambda x, out: torch.sum(x, 1, out=out),
    lambda x, out: torch.mean(x, 1, out=out),
    lambda x, out: torch.any(x, 1, out=out.bool()),
    lambda x, out: torch.amax(x, 1, out=out),
    lambda x, out: torch.max(x, 1, out=(out, out.long())),
    lambda x, out: torch.norm(x, 2, 1, out=out),
    lambda x, out: torch.cumsum(x, 1, out=out),
]


def message_of(call: Callable[[Any, Any], Any]) -> str:
    with pytest.raises(RuntimeError) as error:
        call(lambda t: t, lambda t: t.cuda())
    return str(error.value)


@pytest.mark.parametrize("call", ITERATED_CALLS)
def test_iterated(call: Callable[[Any, Any], Any]) -> None:
    assert message_of(call) == AT_LEAST_TWO


@pytest.mark.parametrize(
    ("call", "said"), CHECKED_CALLS, ids=[said[3] for _, said in CHECKED_CALLS]
)
def test_checked(call: Callable[[Any, Any], Any], said: tuple[str, ...]) -> None:
    assert message_of(call) == BUT_GOT.format(*said)


@pytest.mark.parametrize(("call", "start"), OTHER_CALLS)
def test_checked_otherwise(call: Callable[[Any, Any], Any], start: str) -> None:
    assert message_of(call).startswith(start)


@pytest.mark.parametrize("call", ELSEWHERE)
def test_a_result_that_is_to_be_written_elsewhere(call: Callable[[Any, Any], Any]) -> None:
    for here, there in ((x, torch.empty(2).cuda()), (x.cuda(), torch.empty(2))):
        with pytest.raises(RuntimeError) as error:
            call(here, there)
        assert str(error.value).startswith(  # some have the wrapper's check, which comes first
            (
                f"Expected out tensor to have device {here.device}, but got {there.device} instead",
                f"Expected all tensors to be on the same device, but got self is on {here.device}, "
                "different from other",
            )
        )


def test_two_gpus(second_device: int) -> None:
    a, b = x.cuda(), x.cuda(second_device)
    with pytest.raises(
        RuntimeError, match=f"at least two devices, cuda:0 and cuda:{second_device}!"
    ):
        a + b
    with pytest.raises(
        RuntimeError,
        match=f"but got mat2 is on cuda:{second_device}, different from other tensors on cuda:0",
    ):
        a @ b.T
    a.copy_(b * 2)
    assert torch.equal(a.cpu(), x * 2)


def test_numbers_of_the_cpu_may_join() -> None:
    y, two = x.cuda(), torch.tensor(2.0)
    for result in (
        y * two,
        two * y,
        y.mul(two),
        torch.where(y > 1, y, two),
        y.clamp(two),
        y + torch.tensor(3),
        two - y,
    ):
        assert result.is_cuda
    assert torch.equal((y * two).cpu(), x * 2)
    assert (torch.tensor(1.0) + y[0, 0]).is_cuda
    y += two
    y[0] = two
    assert y[0].tolist() == [2.0, 2.0, 2.0] and y[1].tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(RuntimeError) as error:
        two + y[0]
        torch.add(y[0, 0], 1, out=two)
    assert str(error.value) == AT_LEAST_TWO
    assert torch.zeros(2, 3).cuda().bernoulli_(x / x.amax()).is_cuda  # the probabilities are moved


def test_copies_and_what_takes_only_the_shape_may_differ() -> None:
    y = torch.zeros(2, 3).cuda()
    y.copy_(x)
    assert torch.equal(y.cpu(), x) and torch.equal(torch.zeros(2, 3).copy_(y), x)
    assert x.expand_as(y).device.type == "cpu" and x[0].view_as(y[1]).device.type == "cpu"
    assert y.resize_as_(square).shape == (2, 2) and x.cuda()[one].tolist() == [[3.0, 4.0, 5.0]]


def test_names_of_the_check_are_operators() -> None:
    names = {base_name(op) for op in dispatcher.operators.values()}
    assert SPECIAL.keys() <= names, sorted(SPECIAL.keys() - names)


def generated_names(names: list[str]) -> list[str | None]:
    """What PyTorch's code generator calls the wrapper of each operator; None where it writes none
    for CUDA.
    """
    from torchgen.api import cpp, native
    from torchgen.gen import get_torchgen_root, parse_native_yaml
    from torchgen.model import DispatchKey

    files = (
        get_torchgen_root() / "packaged" / "ATen" / "native" / f"{file}.yaml"
        for file in ("native_functions", "tags")
    )
    parsed = parse_native_yaml(*map(str, files))
    functions = {str(f.func.name): f for f in parsed.native_functions}
    cuda = parsed.backend_indices[DispatchKey.CUDA]

    def name(f: Any) -> str | None:
        if f is None or not (f.structured or f.structured_delegate or cuda.has_kernel(f)):
            return None
        if f.structured or f.structured_delegate:
            return f"wrapper_CUDA_{native.name(f.func)}"
        return f"wrapper_CUDA_{f.func.name.overload_name}_{cpp.name(f.func)}"

    return [name(functions.get(each)) for each in names]


def test_names_of_wrappers_are_those_that_pytorch_generates() -> None:
    operators = {n: op for n, op in dispatcher.operators.items() if n.startswith("aten::")}
    names = sorted(n.removeprefix("aten::") for n, op in operators.items() if takes_several(op))
    theirs = answer(lambda torch: generated_names(names), about=names)
    ours = {name: method_name(dispatcher.find(name)) for name in names}
    pairs = {
        name: (ours[name], wanted) for name, wanted in zip(names, theirs) if wanted is not None
    }
    assert len(pairs) > 500
    assert not {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
