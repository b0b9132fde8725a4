"""Programs for the script compiler: loops and comprehensions."""

from __future__ import annotations

from tests.jit.programs import programs

LOOPS = programs("""
### range
def f(x, n: int):
    for i in range(n):
        x = x + i
    return x
>>> torch.ones(2), 3
>>> torch.ones(2), 0
### range constant
def f(x):
    for i in range(3):
        x = x * x
    return x
>>> torch.ones(2) * 2
### range start step
def f():
    t = 0
    for i in range(1, 10, 2):
        t += i
    for j in range(5, 0, -1):
        t = t * 2 + j
    return t
>>> ()
### while
def f(x):
    while x.sum() < 3:
        x += 1
    return x
>>> torch.zeros(2)
### while int
def f(n: int):
    a, b = 0, 1
    while a < n:
        a, b = b, a + b
    return a
>>> 10
### while true break
def f(n: int):
    i = 0
    while True:
        i += 1
        if i > n:
            break
    return i
>>> 4
### break
def f(x, n: int):
    for i in range(n):
        if i == 3:
            break
        x = x * 2
    return x
>>> torch.ones(2), 2
>>> torch.ones(2), 6
### continue
def f(n: int):
    t = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        t = t + i
    return t
>>> 7
### while continue
def f(n: int):
    t = 0
    i = 0
    while i < n:
        i = i + 1
        if i % 3 == 0:
            continue
        t = t + i
    return t
>>> 10
### break and continue
def f(n: int):
    t = 0
    for i in range(n):
        if i == 2:
            continue
        elif i == 7:
            break
        t += i
    return t
>>> 5
>>> 12
### return in loop
def f(xs: List[int], y: int):
    for i in range(len(xs)):
        if xs[i] == y:
            return i
    return -1
>>> [3, 4, 5], 4
>>> [3, 4, 5], 9
### return in nested loop
def f(n: int):
    for i in range(n):
        for j in range(n):
            if i * j == 6:
                return i + j
    return 0
>>> 3
>>> 5
### nested loops
def f(x, n: int):
    for i in range(n):
        y = x
        for j in range(i):
            x = x + j
            y = y * 2
        x = x + y
    return x
>>> torch.ones(2), 4
### break in nested
def f(n: int):
    t = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            t += 1
    return t
>>> 4
### list
def f(xs: List[int]):
    t = 0
    for v in xs:
        t += v
    return t
>>> [1, 2, 3]
### list of tensors
def f(xs: List[torch.Tensor]):
    t = xs[0]
    for v in xs:
        t = t + v
    return t
>>> [torch.ones(2), torch.zeros(2)]
### tensor
def f(x):
    t = 0.0
    for row in x:
        t += float(row.sum())
    return t
>>> torch.ones(3, 2)
### string
def f(s: str):
    r = ""
    for ch in s:
        r = ch + r
    return r
>>> "abc"
### dict
def f(d: Dict[str, int]):
    t = 0
    for k in d:
        t += d[k]
    return t
>>> {"a": 1, "b": 2}
### dict items
def f(d: Dict[str, int]):
    t = 0
    for k, v in d.items():
        t += v + len(k)
    return t
>>> {"a": 1, "bb": 2}
### enumerate
def f(xs: List[int]):
    t = 0
    for i, v in enumerate(xs):
        t += i * v
    return t
>>> [1, 2, 3]
### enumerate start
def f(xs: List[int]):
    t = 0
    for i, v in enumerate(xs, 1):
        t += i * v
    return t
>>> [1, 2, 3]
### zip
def f(xs: List[int], ys: List[float]):
    t = 0.0
    for a, b in zip(xs, ys):
        t += a * b
    return t
>>> [1, 2, 3], [0.5, 1.5]
### zip nested
def f(xs: List[int], ys: List[int]):
    t = 0
    for i, (a, b) in enumerate(zip(xs, ys)):
        t += i * a * b
    return t
>>> [1, 2, 3], [4, 5, 6]
### tuple unrolled
def f(x):
    t = 0
    for v in (1, 2, 3):
        t += v
    return x * t
>>> torch.ones(2)
### tuple of types
def f(x, n: int):
    for v in (x, n):
        x = x + v
    return x
>>> torch.ones(2), 2
### list of pairs
def f(ps: List[Tuple[int, int]]):
    t = 0
    for a, b in ps:
        t += a * b
    return t
>>> [(1, 2), (3, 4)]
### carried order
def f(n: int):
    b = 0
    a = 1
    c = 2
    for i in range(n):
        c = a + b
        a = b
        b = c
    return a, b, c
>>> 5
### loop local
def f(n: int):
    t = 0
    for i in range(n):
        z = i * 2
        t = t + z
    return t
>>> 4
### condition in loop
def f(x, n: int):
    for i in range(n):
        if i % 2 == 0:
            x = x + 1
        else:
            x = x * 2
    return x
>>> torch.ones(2), 5
### loop in condition
def f(x, n: int):
    if n > 2:
        for i in range(n):
            x = x + 1
    else:
        while x.sum() < 10:
            x = x * 2
    return x
>>> torch.ones(2), 5
>>> torch.ones(2), 1
### list comprehension
def f(xs: List[int]):
    return [v * 2 for v in xs]
>>> [1, 2, 3]
### comprehension over range
def f(n: int):
    return [i * i for i in range(n)]
>>> 4
### comprehension keeps names
def f(xs: List[int]):
    v = 10
    ys = [v + 1 for v in xs]
    return ys, v
>>> [1, 2]
### comprehension of tuples
def f(x):
    return [x * i for i in (1, 2)]
>>> torch.ones(2)
### dict comprehension
def f(xs: List[int]):
    return {v: v * 2 for v in xs}
>>> [1, 2]
### range len
def f(xs: List[int]):
    for i in range(len(xs)):
        xs[i] = xs[i] + 1
    return xs
>>> [1, 2]
""")
