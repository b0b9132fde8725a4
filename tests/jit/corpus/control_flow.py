"""if, while, for, break, continue, return, assert, and conditions of every kind. A trace keeps the
way its inputs took.
"""

from __future__ import annotations

from typing import List, Optional

import internals as torch
from tests.jit.corpus import normal, plain, positive, program


@program((positive(2, 2),), (plain(2, 2),))
def my_function(x):
    if bool(x.mean() > 1.0):
        r = x * 1
    else:
        r = x * 2
    return r


@program((normal(3), 5), (normal(3), 0))
def counted_loop(x, n: int):
    for i in range(n):
        x = x * 0.5 + i
    return x


@program((normal(3), 10), (normal(3), 17), (normal(3), 3))
def loop_to_unroll(x, n: int):
    for i in range(n):
        x = x + i
    return x


@program((normal(3),))
def constant_loop(x):
    for i in range(4):
        x = x * x
    return x


@program((normal(3),))
def loop_that_never_runs(x):
    for i in range(0):
        x = x * 100
    return x


@program((normal(3), 2, 11, 3), (normal(3), 11, 2, -4))
def range_with_step(x, a: int, b: int, s: int):
    for i in range(a, b, s):
        x = x + i * 0.1
    return x


@program((positive(3),))
def while_tensor_is_small(x):
    while bool(x.sum() < 50):
        x = x * 2
    return x


@program((normal(3), 20))
def while_counting(x, n: int):
    i = 0
    while i < n and i * i < 50:
        x = x + i
        i += 1
    return x


@program((normal(3), 10))
def break_out(x, n: int):
    for i in range(n):
        if i == 4:
            break
        x = x + i
    return x


@program((normal(3), 10))
def continue_over(x, n: int):
    for i in range(n):
        if i % 3 == 0:
            continue
        x = x + i
    return x


@program((normal(3), 6))
def break_and_continue(x, n: int):
    i = 0
    while True:
        i += 1
        if i % 2 == 0:
            continue
        if i > n:
            break
        x = x * 0.9 + i
    return x


@program((positive(3),), (plain(3),))
def early_return(x):
    if bool(x.sum() > 2):
        return x * 10
    y = x + 1
    return y.abs()


@program((normal(2), 3), (normal(2), 30))
def return_from_a_loop(x, n: int):
    for i in range(n):
        x = x + 1
        if i > 10:
            return x * 2
    return x


@program((normal(2), 1), (normal(2), 2), (normal(2), 5))
def elif_chain(x, k: int):
    if k == 1:
        y = x
    elif k == 2:
        y = x * 2
    elif k > 3 and k < 10:
        y = -x
    else:
        y = x * 0
    return y


@program((normal(2), True), (normal(2), False))
def ternary(x, flag: bool):
    y = x if flag else x * 2
    return y + (1 if not flag else 3)


@program((normal(2), 3, 4), (normal(2), 5, 4))
def chained_comparison(x, a: int, b: int):
    if 0 < a <= b < 10:
        x = x + 1
    return x * (2 if a == b or a > b else 1)


@program((normal(2), None), (normal(2), 3))
def optional_argument(x, n: Optional[int]):
    if n is None:
        return x
    return x * n


@program((normal(2), None), (normal(2), normal(2)))
def optional_tensor(x, bias: Optional[torch.Tensor] = None):
    if bias is not None:
        x = x + bias
    return x


@program((normal(2), None, 2), (normal(2), 4, 3))
def refined_by_and(x, n: Optional[int], m: int):
    if n is not None and n > m:
        x = x * n
    k = n if n is not None else m
    return x + k


@program((normal(4, 3),))
def over_rows_of_a_tensor(x):
    total = torch.zeros(3)
    for row in x:
        total = total + row * row
    return total


@program((normal(3), [1, 2, 5]))
def over_a_list(x, factors: List[int]):
    for f in factors:
        x = x * f
    return x


@program((normal(3), 4))
def nested_loops(x, n: int):
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            x = x + i * j
        x = x * 0.5
    return x


@program((normal(3), 3))
def variables_born_in_a_branch(x, n: int):
    if n > 2:
        a = x * 2
        b = 1
    else:
        a = x
        b = 2
    return a * b


@program((normal(3), 7))
def collatz(x, n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return x * steps


@program((normal(3), 5))
def enumerated_and_zipped(x, n: int):
    ys = [x, x * 2, x * 3]
    for i, y in enumerate(ys):
        x = x + y * i
    for y, k in zip(ys, [1, 2, 3]):
        x = x - y * k
    return x * n


@program((normal(3), 2))
def asserted(x, n: int):
    assert n > 0, "n must be positive"
    assert x.size(0) == 3
    return x / n


@program((normal(2, 2), 1.0))
def fibonacci_of_matrices(x, eps: float):
    a, b = x, x * eps
    for _ in range(5):
        a, b = b, a + b
    return a


@program((normal(4),))
def tuple_swap(x):
    a, b = x * 2, x + 1
    a, b = b, a
    c, (d, e) = a, (b, x)
    return a - b, c * d - e


@program((positive(4),))
def newton_square_root(x):
    y = x
    for i in range(6):
        y = 0.5 * (y + x / y)
    return y


@program((normal(3), 3, 0))
def short_circuit(x, a: int, b: int):
    if b != 0 and a // b > 0:
        x = x + 100
    if b == 0 or a // b > 0:
        x = x - 1
    return x


@program((normal(5),))
def conditional_on_shape(x):
    if x.size(0) > 3 and x.dim() == 1:
        return x[:3]
    return x


@program((normal(3), "double"), (normal(3), "halve"))
def on_a_string(x, how: str):
    if how == "double":
        return x * 2
    elif how in ["halve", "half"]:
        return x / 2
    return x
