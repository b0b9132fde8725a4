"""Modules and optimizers on the device: what moves, what training steps do beside those on the
CPU.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import internals as torch
from internals import nn
from internals.nn.utils import (
    clip_grad_norm_,
    clip_grad_value_,
    parameters_to_vector,
    vector_to_parameters,
)
from internals.optim import SGD, Adagrad, Adam, AdamW, RMSprop
from internals.optim.lr_scheduler import StepLR
from tests.support import full

CUDA = torch.device("cuda", 0)


def mlp() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))


def cnn() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(12, 3),
    )


def train(model: Any, x: Any, y: Any, optimizer: Any, steps: int = 3) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS: list[Callable[[Any], Any]] = [
    lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    lambda p: Adam(p, lr=0.01, amsgrad=True),
    lambda p: AdamW(p, lr=0.01),
    lambda p: RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    lambda p: Adagrad(p, lr=0.05),
]


@pytest.mark.parametrize("make", OPTIMIZERS if full() else OPTIMIZERS[:3])
def test_an_mlp_trains_as_on_the_cpu(make: Callable[[Any], Any]) -> None:
    model = mlp()
    there = copy.deepcopy(model).cuda()
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    optimizer, other = make(model.parameters()), make(there.parameters())
    expected, found = train(model, x, y, optimizer), train(there, x.cuda(), y.cuda(), other)
    assert found == pytest.approx(expected, rel=1e-4) and found[-1] < found[0]
    for a, b in zip(there.parameters(), model.parameters()):
        assert a.is_cuda and a.grad.is_cuda and torch.allclose(a.cpu(), b, rtol=1e-3, atol=1e-5)
    state = [
        v
        for s in other.state.values()
        for v in s.values()
        if isinstance(v, torch.Tensor) and v.dim()
    ]
    assert all(t.is_cuda for t in state)


def test_a_small_cnn_trains_as_on_the_cpu() -> None:
    model = cnn()
    there = copy.deepcopy(model).to("cuda")
    x, y = torch.randn(3, 1, 4, 4), torch.tensor([0, 1, 2])
    expected = train(model, x, y, SGD(model.parameters(), lr=0.1), steps=2)
    assert train(
        there, x.cuda(), y.cuda(), SGD(there.parameters(), lr=0.1), steps=2
    ) == pytest.approx(expected, rel=1e-4)
    for (name, a), b in zip(there.state_dict().items(), model.state_dict().values()):
        assert a.is_cuda and torch.allclose(a.cpu(), b, rtol=1e-3, atol=1e-5), name
    assert torch.allclose(there.eval()(x.cuda()).cpu(), model.eval()(x), rtol=1e-3, atol=1e-5)


def test_modules_move_with_their_gradients_and_buffers() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model(torch.ones(3, 2)).sum().backward()
    before = [p.grad.clone() for p in model.parameters()]
    parameters = list(model.parameters())
    assert model.cuda() is model
    assert all(t.is_cuda for t in model.state_dict().values())
    assert all(
        torch.equal(p.grad.cpu(), g) and p.grad.is_cuda for p, g in zip(model.parameters(), before)
    )
    assert all(isinstance(p, nn.Parameter) and p.is_leaf for p in model.parameters())
    assert all(p is q for p, q in zip(model.parameters(), parameters, strict=True))
    assert all(not t.is_cuda for t in model.cpu().state_dict().values())
    assert all(
        p is q and not p.grad.is_cuda for p, q in zip(model.parameters(), parameters, strict=True)
    )
    half = model.to("cuda", torch.float64)
    assert (
        half[0].weight.dtype is torch.float64 and half[1].num_batches_tracked.dtype is torch.int64
    )
    assert (
        half[1].num_batches_tracked.is_cuda
        and model.to(torch.ones(1))[0].weight.device.type == "cpu"
    )


def test_an_optimizer_made_before_the_model_moved_still_trains_it() -> None:
    model = nn.Linear(2, 1)
    optimizer = SGD(model.parameters(), lr=1.0, momentum=0.9)
    model.cuda()
    before = model.weight.detach().cpu()
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    assert torch.equal(model.weight.detach().cpu(), before - 1)
    assert optimizer.state[model.weight]["momentum_buffer"].is_cuda


def test_the_other_ways_to_a_device(second_device: int) -> None:
    assert nn.Linear(2, 2, device="cuda").weight.is_cuda
    assert nn.Linear(2, 2).cuda(second_device).weight.get_device() == second_device
    empty = nn.Linear(2, 2, device="meta").to_empty(device="cuda")
    assert empty.weight.is_cuda and empty.weight.shape == (2, 2)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        nn.Linear(2, 2, device="meta").to("cuda")
    assert nn.Parameter(torch.ones(2, device="cuda")).is_cuda
    listed = nn.ParameterList([torch.ones(2, device="cuda")])
    assert "(0): Parameter containing: [internals.float32 of size 2 (cuda:0)]" in repr(listed)


def test_initialization_on_the_device() -> None:
    w = torch.empty(3, 4, device="cuda")
    for init in (
        nn.init.xavier_uniform_,
        nn.init.kaiming_normal_,
        nn.init.orthogonal_,
        nn.init.ones_,
        nn.init.zeros_,
    ):
        assert init(w) is w and w.is_cuda
    nn.init.orthogonal_(w)
    assert torch.allclose((w @ w.T).cpu(), torch.eye(3), atol=1e-5)
    nn.init.eye_(w)
    assert torch.equal(w.cpu(), torch.eye(3, 4))
    nn.init.trunc_normal_(w, std=0.02)
    assert w.abs().max().item() < 2


def test_state_dicts_cross_devices() -> None:
    model, there = mlp(), mlp().cuda()
    with torch.no_grad():
        model[0].weight.fill_(0.5)
    there.load_state_dict(model.state_dict())
    assert there[0].weight.is_cuda and there[0].weight[0, 0].item() == 0.5
    optimizer = Adam(model.parameters())
    train(model, torch.randn(2, 4), torch.tensor([0, 1]), optimizer, steps=1)
    moved = Adam(there.parameters())
    moved.load_state_dict(optimizer.state_dict())
    assert all(moved.state[p]["exp_avg"].device is CUDA for p in there.parameters())


def test_utilities_of_gradients() -> None:
    model = mlp().cuda()
    model(torch.randn(2, 4, device="cuda")).pow(2).sum().backward()
    norm = clip_grad_norm_(model.parameters(), 0.5)
    assert norm.is_cuda and norm.item() > 0.5
    total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    assert total.item() == pytest.approx(0.5, rel=1e-4)
    clip_grad_value_(model.parameters(), 0.01)
    assert max(p.grad.abs().max().item() for p in model.parameters()) <= 0.01 + 1e-7
    vector = parameters_to_vector(model.parameters())
    assert vector.is_cuda
    vector_to_parameters(vector * 0, model.parameters())
    assert all(p.abs().sum().item() == 0 for p in model.parameters())


def test_schedulers_do_not_care() -> None:
    model = mlp().cuda()
    optimizer = SGD(model.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 1, gamma=0.1)
    train(
        model,
        torch.randn(2, 4, device="cuda"),
        torch.tensor([0, 1], device="cuda"),
        optimizer,
        steps=1,
    )
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


def test_dropout_draws_on_the_device() -> None:
    x = torch.ones(2000, device="cuda")
    torch.manual_seed(3)
    a = nn.functional.dropout(x, 0.25)
    torch.manual_seed(3)
    b = nn.functional.dropout(x, 0.25)
    assert a.is_cuda and torch.equal(a, b) and 0.2 < (a == 0).float().mean().item() < 0.3
    assert torch.allclose(a[a != 0], torch.tensor(1 / 0.75))
