"""Functions that call functions, arguments by name and by default, closures over constants."""

from __future__ import annotations

import math
from typing import List, Optional, Tuple

import internals as torch
from tests.jit.corpus import normal, positive, program

SCALE = 2.5
OFFSETS = (1, 2, 3)


def double(x):
    return x * 2


def affine(x, scale: float = 2.0, shift: float = 1.0):
    return x * scale + shift


def halves(x) -> Tuple[torch.Tensor, torch.Tensor]:
    n = x.size(0) // 2
    return x[:n], x[n:]


def power(x, n: int):
    result = torch.ones_like(x)
    for _ in range(n):
        result = result * x
    return result


def first_or(xs: List[torch.Tensor], default: Optional[torch.Tensor] = None):
    if len(xs) > 0:
        return xs[0]
    assert default is not None
    return default


@program((normal(3),))
def calls_another(x):
    return double(x) + double(double(x))


@program((normal(3),))
def by_name_and_by_default(x):
    return affine(x) + affine(x, 3.0) + affine(scale=0.5, x=x) + affine(x, shift=-1.0)


@program((normal(6),))
def several_results(x):
    a, b = halves(x)
    return a * b


@program((normal(3), 3), (normal(3), 0))
def callee_with_a_loop(x, n: int):
    return power(x, n) + power(x, 2)


@program((normal(3),))
def callee_with_an_early_return(x):
    return first_or([x, x * 2]) + first_or([], x * 3)


@program((normal(3),))
def global_constants(x):
    return x * SCALE + OFFSETS[1] + math.pi


@program((positive(3), 2.0))
def math_functions(x, a: float):
    return x * math.sqrt(a) + math.exp(a) - math.floor(a + 0.7) + math.log(a) + abs(-a) + round(a)


@program((normal(2, 3),))
def keyword_arguments_of_operators(x):
    return (
        torch.sum(x, dim=0, keepdim=True)
        + x.mean(dim=1, keepdim=True)
        + torch.zeros([3], dtype=torch.float32)
    )


@program((normal(2, 3),))
def functions_and_methods(x):
    return torch.relu(x) + x.relu() + torch.nn.functional.relu(x) + torch.transpose(x, 0, 1).t()


@program((normal(3), -3))
def builtin_functions(x, n: int):
    return x * abs(n) + max(n, 2) + min(n, 2) + int(2.7) + float(n) + len([1, 2]) + pow(2, 3)


@program((normal(3),))
def annotated_variables(x):
    n: int = 3
    y: torch.Tensor = x * n
    xs: List[int] = []
    for i in range(n):
        xs.append(i)
    return y + len(xs)


@program((normal(3),))
def type_comment(x):
    # type: (Tensor) -> Tensor
    return x * 2


@program((normal(3),))
def numbers_from_tensors(x):
    n = x.size(0)
    k = int(x.numel() / 3)
    return x * n * k


@program((normal(3),), traced=False)  # a trace does not know that no gradient was wanted
def no_gradient_inside(x):
    with torch.no_grad():
        y = x * 2
    return x + y


@program((normal(4),))
def unused_results(x):
    double(x)
    torch.exp(x)
    return x.neg()


@program((normal(3),))
def isinstance_is_known(x):
    if isinstance(x, torch.Tensor):
        return x + 1
    return x


@program((normal(3), 1), (normal(3), 2))
def mutual_depth(x, n: int):
    y = affine(double(x), float(n))
    return power(y, n) - first_or([y])
