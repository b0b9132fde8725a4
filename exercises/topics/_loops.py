"""The loops of `passes_3`: what may be moved out of them, and what may not."""


def invariant(x, y, n: int):  # type: ignore[no-untyped-def]
    for i in range(n):
        y = y + x.exp().tanh() * i
    return y


def carried(x, y, n: int):  # type: ignore[no-untyped-def]
    for _ in range(n):
        y = y + (y + x).tanh()
    return y


def another_kind(x, y, n: int):  # type: ignore[no-untyped-def]
    for _ in range(n):
        y = y + x * 2
    return y


def input_written(x, y, n: int):  # type: ignore[no-untyped-def]
    for _ in range(n):
        y = y + x.exp()
        x.add_(1)
    return y


def result_written(x, y, n: int):  # type: ignore[no-untyped-def]
    for _ in range(n):
        y = y + x.exp().mul_(y)
    return y


def last_two(x, y, n: int):  # type: ignore[no-untyped-def]
    a, b = y.neg(), y
    for _ in range(n):
        a = b
        b = x.exp()
    return a, b
