"""Programs for the script compiler: conditions, refinement, early returns."""

from __future__ import annotations

from tests.jit.programs import programs

CONDITIONS = programs("""
### if else
def f(x):
    if bool(x.mean() > 1.0):
        r = 1
    else:
        r = 2
    return r
>>> torch.ones(2)
>>> torch.ones(2) + 1
### tensor condition
def f(x):
    if x.sum() > 0:
        y = x
    else:
        y = -x
    return y
>>> torch.ones(2)
>>> -torch.ones(2)
### if without else
def f(x, n: int):
    if n > 2:
        x = x * n
    return x
>>> torch.ones(2), 3
>>> torch.ones(2), 1
### elif
def f(n: int):
    if n == 0:
        s = "zero"
    elif n < 0:
        s = "less"
    elif n > 10:
        s = "many"
    else:
        s = "some"
    return s
>>> 0
>>> -1
>>> 11
>>> 4
### nested
def f(x, a: bool, b: bool):
    y = x
    if a:
        if b:
            y = x + 1
        else:
            y = x + 2
        z = y * 2
    else:
        z = y
    return z + y
>>> torch.ones(2), True, True
>>> torch.ones(2), True, False
>>> torch.ones(2), False, True
### early return
def f(x):
    if x.sum() > 0:
        return x
    return x + 1
>>> torch.ones(2)
>>> -torch.ones(2)
### early returns
def f(n: int):
    if n < 0:
        return -1
    if n == 0:
        return 0
    m = n * 2
    if m > 10:
        return m
    return m + 1
>>> -5
>>> 0
>>> 3
>>> 8
### return in both
def f(n: int):
    if n < 0:
        return "a"
    else:
        return "b"
>>> 1
>>> -1
### return nested
def f(n: int, m: int):
    if n > 0:
        if m > 0:
            return 1
        n = n + 1
    else:
        n = n - 1
    return n
>>> 1, 1
>>> 1, 0
>>> -1, 1
### ternary
def f(x, n: int):
    y = x if n > 0 else -x
    return y + (1 if n > 1 else 2)
>>> torch.ones(2), 1
>>> torch.ones(2), 2
>>> torch.ones(2), -1
### and or not
def f(a: int, b: int):
    return a > 0 and b > 0, a > 0 or b > 0, not a > 0
>>> 1, 0
>>> 0, 1
>>> 1, 1
### short circuit
def f(xs: List[int]):
    if len(xs) > 0 and xs[0] > 1:
        return True
    return False
>>> [2]
>>> [0]
>>> torch.jit.annotate(List[int], [])
### comparison chain
def f(a: int):
    return 0 < a < 10, 0 <= a <= 5 < 7
>>> 3
>>> 12
### static conditions
def f(x):
    if True:
        x = x + 1
    if False:
        x = x * 5
    if not torch.jit.is_scripting():
        x = undefined_here(x)
    return x
>>> torch.ones(2)
### is none static
def f(x):
    y = None
    if y is None:
        z = x + 1
    else:
        z = y.nothing
    return z
>>> torch.ones(2)
### optional
def f(x: Optional[torch.Tensor], y):
    if x is not None:
        y = y + x
    return y
>>> None, torch.ones(2)
>>> torch.ones(2), torch.ones(2)
### optional else
def f(x: Optional[int]):
    if x is None:
        r = 0
    else:
        r = x + 1
    return r
>>> None
>>> 3
### optional early return
def f(x: Optional[int]) -> int:
    if x is None:
        return 0
    return x + 1
>>> None
>>> 3
### optional assert
def f(x: Optional[int]):
    assert x is not None
    return x + 1
>>> 3
### optional and
def f(x: Optional[int], y: Optional[int]):
    if x is not None and y is not None:
        return x + y
    return -1
>>> 1, 2
>>> 1, None
>>> None, 2
### optional or
def f(x: Optional[int]):
    if x is None or x > 3:
        return 0
    return 1
>>> 1
>>> 5
>>> None
### optional not
def f(x: Optional[int]):
    if not (x is None):
        return x * 2
    return 1
>>> 1
>>> None
### optional ternary
def f(x: Optional[int]):
    return x + 1 if x is not None else 0
>>> 1
>>> None
### optional raise
def f(x: Optional[int]):
    if x is None:
        raise ValueError("none")
    return x + 1
>>> 1
### optional reassigned
def f(x: Optional[int]):
    if x is None:
        x = 5
    return x + 1
>>> 1
>>> None
### isinstance
def f(x: Optional[int]):
    if isinstance(x, int):
        return x + 1
    return 0
>>> 1
>>> None
### isinstance static
def f(x, n: int):
    if isinstance(n, int):
        x = x + n
    if isinstance(n, float):
        x = x + "never compiled"
    return x
>>> torch.ones(2), 1
### assert message
def f(x, n: int):
    assert n > 0, f"n is {n}"
    return x * n
>>> torch.ones(2), 1
### raise
def f(n: int):
    if n < 0:
        raise RuntimeError("negative")
    return n
>>> 1
### raise without message
def f(n: int):
    if n < 0:
        raise ValueError
    else:
        m = n
    return m
>>> 1
### variable in one branch that exits
def f(n: int):
    if n > 0:
        y = n + 1
    else:
        raise RuntimeError("no")
    return y
>>> 1
### truth of numbers
def f(n: int, a: float):
    if n:
        return 1
    if a:
        return 2
    return 3
>>> 0, 0.0
>>> 1, 0.0
>>> 0, 0.5
### two variables
def f(x, c: bool):
    if c:
        a = x + 1
        b = x + 2
    else:
        b = x + 3
        a = x + 4
    return a * b
>>> torch.ones(2), True
>>> torch.ones(2), False
### unify none
def f(n: int):
    if n > 0:
        r: Optional[int] = n
    else:
        r = None
    return r
>>> 1
>>> -1
### is of bools
def f(a: bool, b: bool):
    return a is b, a is not b, a is True
>>> True, False
>>> True, True
""")
