"""if, while, for, break, continue, early returns, asserts, exceptions, functions that call
functions.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

import internals as torch
from runtimes.corpus import case, floats, ints


@case((floats(2, 3),), (floats(3, 2),))
def branch_on_a_tensor(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        return x * 2
    elif x.size(0) == 2:
        y = -x
    else:
        y = x + 10
    return y - 1


@case((7,), (27,), (1,))
def collatz(n: int) -> Tuple[int, List[int]]:
    steps = 0
    seen: List[int] = []
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        seen.append(n)
        steps += 1
    return steps, seen


@case((floats(4, 4), 3), (floats(2, 2), 0))
def loop_over_a_range(x: torch.Tensor, n: int) -> torch.Tensor:
    total = torch.zeros_like(x)
    for i in range(n):
        for j in range(i, n, 2):
            total = total + x * float(i + 1) - j
    return total


@case((20, 3), (5, 10))
def break_and_continue(n: int, skip: int) -> List[int]:
    kept: List[int] = []
    for i in range(n):
        if i == skip:
            continue
        if i * i > 150:
            break
        kept.append(i)
    return kept


@case((floats(5),))
def loop_over_a_tensor(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(1)
    for row in x:
        total = torch.max(total, row)
    return total


@case((floats(3), None), (floats(3), 4), (floats(3), -1))
def optional_number(x: torch.Tensor, k: Optional[int] = None) -> torch.Tensor:
    if k is None:
        return x
    if k < 0:
        k = -k * 2
    return x + k


@case((floats(2, 2), None), (floats(2, 2), floats(2, 2)))
def optional_tensor(x: torch.Tensor, bias: Optional[torch.Tensor]) -> Tuple[torch.Tensor, bool]:
    y = x
    if bias is not None:
        y = y + bias
    return y, bias is not None


@case((floats(3), 2), (floats(3), -3), raises="n must not be negative")
def raise_an_error(x: torch.Tensor, n: int) -> torch.Tensor:
    if n < 0:
        raise ValueError("n must not be negative, not " + str(n))
    return x * n


@case((ints(3),), (ints(1),), raises="too few")
def assert_something(x: torch.Tensor) -> int:
    assert x.numel() > 1, "too few"
    return int(x.sum().item())


def square(x: torch.Tensor, times: int = 1) -> torch.Tensor:
    for _ in range(times):
        x = x * x
    return x


def squares(x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    return square(x), square(x, times=2)


@case((floats(2, 3),))
def functions_that_call_functions(x: torch.Tensor) -> torch.Tensor:
    a, b = squares(x)
    return square(a + b) / 2


@case((3, True, False), (-2, False, True), (0, True, True))
def logic(n: int, a: bool, b: bool) -> Tuple[bool, bool, bool, int, bool]:
    c = (a and n > 0) or not b
    d = a or n // (n if n != 0 else 1) > 5
    e = not (a != b) and 0 <= n < 3
    return c, d, e, (n if c else -n), n in [1, 2, 3]


@case((30,))
def fibonacci(n: int) -> Tuple[int, int]:
    a, b = 0, 1
    while a + b <= n:
        a, b = b, a + b
        if a > 1000:
            return -1, -1
    return a, b
