"""Python's numbers and strings as TorchScript has them: ints are 64 bits, `/` gives floats, `//`
and `%` round down.
"""

from __future__ import annotations

from typing import List, Tuple

import internals as torch
from runtimes.corpus import case, floats


@case((7, 2), (-7, 2), (7, -2), (-9, 4))
def whole_numbers(a: int, b: int) -> Tuple[int, int, int, float, int, int]:
    return a // b, a % b, a * b - (a + b), a / b, abs(a), min(a, b) + max(a, b)


@case((7.5, 2.0), (-7.5, 2.0), (1e300, 0.001))
def real_numbers(a: float, b: float) -> Tuple[float, float, float, float, int, bool]:
    return a // b, a % b, a * b - (a + b), a / b, int(b), a > b


@case(
    (3, 2.5),
)
def mixed_numbers(n: int, f: float) -> Tuple[float, float, float, int, float, bool]:
    return n + f, n * f, float(n) / 2, int(f * n), n**2 + f**2, bool(n)


@case(
    (12345678901, 98765432),
)
def large_numbers(a: int, b: int) -> Tuple[int, int, int]:
    return a * b // 1000, (a * 700000001) % 1000003, a * 3 - b


@case(
    (12, 10),
)
def bits(a: int, b: int) -> Tuple[int, int, int, int, int]:
    return a & b, a | b, a ^ b, a << 3, a >> 2


@case(("Hello", 3, 2.5), ("", 0, -0.25))
def strings(s: str, n: int, f: float) -> Tuple[str, str, str, bool, int]:
    t = s + " world " + str(n)
    formatted = "{} is {} and {}".format(s, n, f)
    return t.upper(), formatted, f"<{n}|{s}|{True}>", s == "Hello", len(t)


@case(("a,b,,c",))
def split_and_join(s: str) -> Tuple[List[str], str, str, bool, int, str]:
    parts = s.split(",")
    return (
        parts,
        "-".join(parts),
        s.replace(",", ";"),
        s.startswith("a,"),
        s.find("b"),
        s[2:] + s[0],
    )


@case((floats(2, 2),))
def numbers_out_of_tensors(x: torch.Tensor) -> Tuple[float, int, bool, float]:
    v = float(x[0, 0])
    return v, int(x[1, 1] * 100), bool(x[0, 1] > 0), x.sum().item() + 1


@case((5,))
def print_something(n: int) -> int:
    print("n is", n, [1, 2], 2.5)
    return n
