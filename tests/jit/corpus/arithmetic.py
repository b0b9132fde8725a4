"""Operators between tensors, numbers, and both."""

from __future__ import annotations

import internals as torch
from tests.jit.corpus import bools, ints, normal, plain, positive, program


@program((normal(3, 4), normal(3, 4)))
def add(x, y):
    return x + y


@program((normal(3, 4), normal(4)))
def broadcast(x, y):
    return x * y - x / (y * y + 1)


@program((normal(5),))
def numbers_on_either_side(x):
    return (2 * x + 1 - x * 0.5) / 4 + (3 - x)


@program((positive(4),))
def number_divided_by_tensor(x):
    return 1 / x + 2.0 / x


@program((normal(4), normal(4)))
def alpha(x, y):
    return torch.add(x, y, alpha=3) + torch.sub(x, y, alpha=2)


@program((positive(4),))
def powers(x):
    return x**2 + x**0.5 + 2**x


@program((normal(4), normal(4)))
def common_subexpressions(x, y):
    a = x + y
    b = x + y
    return a * b + (x + y)


@program((normal(3, 3),))
def neutral_elements(x):
    return ((x * 1) + 0) / 1 - 0


@program((normal(2, 3),))
def transposed_twice(x):
    return x.t().t() * x


@program((ints(6), ints(6)))
def integers(x, y):
    return x // (y + 1) + x % (y + 1) - (x & y) + (x | y) - (x ^ y)


@program((normal(4), normal(4)))
def comparisons(x, y):
    return (
        (x < y).float()
        + (x <= y).float() * 2
        + (x > 0).float()
        + (x != y).float()
        + (x >= 1.5).float()
        + (y == y).float()
    )


@program((bools(5), bools(5)))
def logic(a, b):
    return (a & b) | ~a ^ b


@program((normal(6),))
def gelu_by_hand(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@program((normal(6),))
def many_functions(x):
    return torch.exp(-x * x) + torch.sigmoid(x) * torch.tanh(x) - torch.sin(x) * torch.cos(x)


@program((positive(6),))
def of_positive_numbers(x):
    return torch.log(x) + torch.sqrt(x) + torch.rsqrt(x) + x.reciprocal() + torch.log1p(x)


@program((normal(6),))
def rounding(x):
    return torch.floor(x) + torch.ceil(x) * 2 + torch.round(x) + torch.trunc(x) + x.frac()


@program((normal(6),))
def clamped(x):
    return x.clamp(-0.5, 0.5) + torch.clamp(x, min=0.0) + x.clamp(max=0.3)


@program((normal(4), normal(4)))
def larger_and_smaller(x, y):
    return torch.max(x, y) - torch.min(x, y) + torch.maximum(x, y) * torch.minimum(x, y)


@program((normal(2, 3), normal(2, 3), bools(2, 3)))
def chosen(x, y, c):
    return torch.where(c, x, y) + torch.where(x > y, x, y * 2)


@program((normal(3, 3),))
def absolute(x):
    return x.abs() + torch.abs(-x) + x.sign()


@program((normal(3, 4), normal(4, 2)))
def matrix_product(a, b):
    return a @ b + torch.mm(a, b) - a.matmul(b)


@program((normal(2), normal(3, 4), normal(4, 2)))
def affine(b, x, w):
    return torch.addmm(b, x, w) + torch.addmm(b, x, w, beta=2, alpha=0.5)


@program((normal(2, 3, 4), normal(2, 4, 5)))
def batched_product(a, b):
    return torch.bmm(a, b) + a @ b


@program((normal(4), normal(4)))
def dot(a, b):
    return torch.dot(a, b) + (a * b).sum()


@program((normal(3, 2), normal(2)))
def matrix_and_vector(m, v):
    return m @ v + torch.mv(m, v)


@program((normal(3), 2, 0.5))
def arguments_that_are_numbers(x, n: int, a: float):
    return x * n + a - n / 2 + n // 2 + n % 2 + n**2


@program((plain(3),))
def to_other_dtypes(x):
    return x.double() * 2 + x.long() + x.int().float() + x.to(torch.float64)


@program((ints(3), plain(3)))
def promotion(i, x):
    return i + 1.5, i * x, i / 2, i + 2


@program((normal(3),))
def addcmul_and_lerp(x):
    return torch.addcmul(x, x, x, value=2) + torch.lerp(x, x * 2, 0.3)


@program((normal(2, 2),))
def dead_code(x):
    y = x * 3
    z = y + x
    y = z.exp()
    return x - 1


@program((normal(4),))
def long_chain(x):
    y = x
    y = y * 1.1 + 0.1
    y = y * y - x
    y = torch.relu(y) + 0.2
    y = y.sigmoid() * x
    y = y - y.mean()
    return y * 2


@program((normal(3), normal(3)))
def detached(x, y):
    return x.detach() * y + x


@program((normal(3, 3),))
def type_as(x):
    return (x > 0).type_as(x) * x


@program((plain(4),))
def not_a_number(x):
    z = x * 0
    return torch.isnan(z / z).float() + torch.isfinite(x).float()
