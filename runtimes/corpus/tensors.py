"""Operators on tensors: dtypes, broadcasting, views and writing into them, indexing, reductions."""

from __future__ import annotations

from typing import List, Tuple

import internals as torch
from runtimes.corpus import BOTH, bools, case, doubles, floats, ints


@case((floats(2, 3), floats(3)), (floats(2, 1), floats(1, 4)), ways=BOTH)
def broadcasting(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a + b) * (a - 2 * b) / (b.abs() + 1)


@case((ints(4), floats(4)), ways=BOTH)
def promotion(
    n: torch.Tensor, f: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    return n + f, n * 2, n + 0.5, n / 2


@case((doubles(3), floats(3)), ways=BOTH)
def double_precision(d: torch.Tensor, f: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    return torch.exp(d) + f, (d * 1e-3).to(torch.float32)


@case((ints(5), bools(5)), ways=BOTH)
def comparisons(
    n: torch.Tensor, m: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    small = n < 3
    return small & m, (n == 2) | ~m, torch.where(small, n, -n)


@case((floats(3, 4),), ways=BOTH)
def pointwise(x: torch.Tensor) -> List[torch.Tensor]:
    p = x.abs() + 0.5
    return [
        torch.exp(x), torch.log(p), torch.sqrt(p), torch.rsqrt(p), torch.sin(x), torch.cos(x),
        torch.tanh(x), torch.sigmoid(x), torch.erf(x), x.clamp(-0.5, 0.5), torch.relu(x), x**2,
        p**-0.5, x.round(), x.floor(), x.neg(),
    ]  # fmt: skip


@case((floats(2, 3, 4),), ways=BOTH)
def reductions(x: torch.Tensor) -> List[torch.Tensor]:
    values, indices = x.max(1)
    return [
        x.sum(), x.sum(1), x.mean([0, 2]), x.mean(-1, True), x.std(), x.var(2, False), x.max(),
        x.min(), values, indices, x.argmax(2), x.argmin(), x.prod(0), x.cumsum(1), (x > 0).any(),
        (x > -9).all(1),
    ]  # fmt: skip


@case((floats(2, 3, 4),), ways=BOTH)
def shapes(x: torch.Tensor) -> List[torch.Tensor]:
    y = x.permute(2, 0, 1)
    return [
        x.view(6, 4), x.reshape(-1), x.transpose(0, 2), y, y.reshape(4, 6), x.flatten(1),
        x.unsqueeze(1),
        x.unsqueeze(0).squeeze(), x[:, 1],
        x[..., ::2], x[0, 1:, -1], x.narrow(2, 1, 2), x.select(1, 2), x[0].t(),
        x[:, :1].expand(2, 5, 4),
        x[0].repeat(2, 1), torch.cat([x, x * 2], 1), torch.stack([x, x]), x.contiguous(),
    ]  # fmt: skip


@case((floats(4, 5),), ways=BOTH)
def pieces(x: torch.Tensor) -> List[torch.Tensor]:
    a, b = x.split([2, 3], 1)
    c, d = x.chunk(2, 0)
    return [a, b, c + d, a @ b[:2]]


@case((floats(4, 4), ints(3)), ways=BOTH)
def indexing(x: torch.Tensor, i: torch.Tensor) -> List[torch.Tensor]:
    j = i % 4
    mask = x > 0
    return [
        x[j], x.index_select(1, j), x[mask], x.masked_fill(mask, 0.0),
        x.gather(1, torch.zeros(4, 2, dtype=torch.int64) + 1), torch.tril(x), torch.triu(x, 1),
        x[j, 0], torch.zeros(4, 4).scatter(1, j.unsqueeze(1), 1.0),
    ]  # fmt: skip


@case((floats(3, 4),))
def writing(x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    y = x.clone()
    row = y[1]
    row += 10
    y[:, 0] = 7.0
    y[2, 1:3].mul_(2)
    y.t()[3].zero_()
    y[0].copy_(torch.ones(4) * 3)
    return y, row


@case((floats(3, 2),))
def making(x: torch.Tensor) -> List[torch.Tensor]:
    n = x.size(0)
    return [
        torch.arange(n), torch.arange(1.0, 2.0, 0.25), torch.zeros(n, 2),
        torch.ones(2, dtype=torch.int64), torch.full([2, 2], 1.5), torch.zeros_like(x),
        torch.ones_like(x), torch.eye(3), torch.tensor([1, 2, 3]), torch.tensor(2.5),
        torch.linspace(0, 1, 5), torch.arange(6).view(2, 3), x.new_zeros(2),
    ]  # fmt: skip


@case((floats(2, 3), floats(3, 4), floats(4)), ways=BOTH)
def products(a: torch.Tensor, b: torch.Tensor, v: torch.Tensor) -> List[torch.Tensor]:
    return [
        a @ b, torch.mm(a, b) @ v, torch.matmul(a.unsqueeze(0), b),
        torch.bmm(a.expand(2, 2, 3), b.expand(2, 3, 4)), torch.addmm(v, a, b),
        torch.nn.functional.linear(a, b.t(), v), (v * v).sum(), torch.outer(v, v),
    ]  # fmt: skip


@case((floats(3, 6),), ways=BOTH)
def sorting(x: torch.Tensor) -> List[torch.Tensor]:
    values, indices = torch.topk(x, 2)
    ordered, order = torch.sort(x, 1)
    return [values, indices, ordered, order]


@case((floats(2, 3),))
def sizes(x: torch.Tensor) -> Tuple[List[int], int, int, int, bool]:
    return x.shape, x.size(-1), x.dim(), x.numel(), x.dtype == torch.float32


@case((floats(2, 3),), ways=("trace",))
def constants_of_a_trace(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1.0, 2.0, 3.0]) * torch.arange(3) + x.new_tensor([[1.0], [2.0]])
