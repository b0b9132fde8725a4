"""Programs for the script compiler: arithmetic, names, conditions, loops, calls."""

from __future__ import annotations

from tests.jit_programs import programs

ARITHMETIC = programs("""
### add
def f(x, y):
    return x + y
>>> torch.ones(2), torch.ones(2)
### scalar right
def f(x):
    return x * 2.5 - 1
>>> torch.ones(2, 2)
### scalar left
def f(x):
    return 1 - x
>>> torch.ones(3)
### scalar left all
def f(x):
    return 2 * x + (1 + x) - (3 / x) + (2.0 - x)
>>> torch.tensor([1.0, 2.0])
### comparisons
def f(x):
    return 1 < x, 2 >= x, x == 1, 3 != x
>>> torch.tensor([1.0, 2.0, 3.0])
### unary
def f(x, n: int):
    return -x, -n, -3, -2.5, ~x.int()
>>> torch.ones(2), 4
### bool tensor
def f(x):
    return ~(x > 1)
>>> torch.tensor([0.0, 2.0])
### matmul power
def f(x, y):
    return (x @ y) ** 2
>>> torch.ones(2, 3), torch.ones(3, 2)
### int arithmetic
def f(a: int, b: int):
    return a + b, a - b, a * b, a // b, a % b, a / b, a ** b
>>> 7, 2
>>> -7, 3
### float arithmetic
def f(a: float, b: float):
    return a + b, a - b, a * b, a // b, a % b, a / b, a ** b
>>> 7.5, 2.0
### mixed arithmetic
def f(a: int, b: float):
    return a + b, b - a, a * b, b // a, a < b, a == b
>>> 7, 2.0
### bit operations
def f(a: int, b: int):
    return a & b, a | b, a ^ b, a << b, a >> b
>>> 12, 2
### tensor bit operations
def f(a, b):
    return a & b, a | b, a ^ b
>>> torch.tensor([True, False]), torch.tensor([True, True])
### constants fold
def f():
    return 3 / 2, 3 // 2, 2 * 3 + 4, -3 % 2
>>> ()
### precedence
def f(x):
    return -x ** 2 + 3 * x - 1
>>> torch.ones(2)
### parentheses and names
def f(x):
    a = x + 1
    b = a * a
    a = b - a
    return a + b
>>> torch.ones(2)
### keyword arguments
def f(x, y):
    return torch.add(x, y, alpha=2)
>>> torch.ones(2), torch.ones(2)
### input keyword
def f(x):
    return torch.sum(input=x, dim=0, keepdim=True)
>>> torch.ones(2, 3)
### methods
def f(x):
    return x.sum(0).mean().abs().clamp(min=0.5)
>>> torch.ones(2, 3)
### varargs as list
def f(x):
    return x.view(3, 2).permute(1, 0).reshape(-1)
>>> torch.ones(2, 3)
### list argument
def f(x):
    return x.sum([0, 1]), x.view([6]), x.expand(4, 2, 3)
>>> torch.ones(2, 3)
### broadcasting list
def f(x):
    return torch.nn.functional.avg_pool2d(x, 2)
>>> torch.ones(1, 1, 4, 4)
### factories
def f(n: int):
    return torch.zeros(n, 2), torch.ones([n]), torch.full([2], 3.0), torch.arange(n), torch.zeros(2, dtype=torch.int64)
>>> 3
### dtype
def f(x):
    return x.to(torch.float64), x.int(), x.double(), x.dtype, x.to(x.dtype)
>>> torch.ones(2)
### properties
def f(x):
    return x.shape, x.size(), x.size(0), x.dim(), x.ndim, x.numel(), x.T, x.requires_grad, x.is_cuda
>>> torch.ones(2, 3)
### device
def f(x):
    return torch.zeros(2, device=x.device) + x
>>> torch.ones(2)
### several results
def f(x):
    v, i = x.max(0)
    return v, i
>>> torch.tensor([[1.0, 5.0], [3.0, 2.0]])
### named results
def f(x):
    r = x.sort(0)
    return r.values + r.indices
>>> torch.tensor([3.0, 1.0])
### chunk and cat
def f(x):
    a, b = x.chunk(2, 1)
    return torch.cat([a * b, a + b], 1)
>>> torch.ones(2, 4)
### stack
def f(x, y):
    return torch.stack([x, y]), torch.stack((x, y), 1)
>>> torch.ones(2), torch.zeros(2)
### math
def f(a: float):
    return math.sqrt(a), math.floor(a), math.pi * a, math.exp(a), math.log(a)
>>> 2.5
### int float bool casts
def f(x, a: float, n: int):
    return int(a), float(n), bool(n), int(x), float(x), bool(x), str(n)
>>> torch.tensor(2.0), 3.7, 2
### aliases are normalized
def f(x, y):
    return torch.absolute(x), torch.negative(x), torch.clip(x, 0, 1), torch.true_divide(x, y)
>>> torch.ones(2), torch.zeros(2)
### in place methods
def f(x):
    y = x.clone()
    y.add_(1)
    y.mul_(y)
    return y
>>> torch.ones(2)
### min max abs builtin
def f(a: int, b: int, c: float):
    return min(a, b), max(a, b), abs(a), min(c, 1.0), round(c)
>>> -3, 2, 2.6
### min max list
def f(xs: List[int]):
    return min(xs), max(xs), sum(xs), len(xs), sorted(xs)
>>> [3, 1, 2]
### any all
def f(xs: List[bool], x):
    return any(xs), all(xs), any(x), torch.all(x)
>>> [True, False], torch.tensor([True, True])
### unused value
def f(x):
    y = x * 3
    return x
>>> torch.ones(2)
### return none
def f(x):
    x.add_(1)
>>> torch.ones(2)
### bare return
def f(x):
    x.add_(1)
    return
>>> torch.ones(2)
### underscore names
def f(x):
    _ = x + 1
    _1 = x + 2
    _a = x + 3
    return _1 * _a
>>> torch.ones(2)
### print
def f(x):
    print("value", 3)
    return x
>>> torch.ones(2)
""")

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
""")

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

CALLS = programs("""
### function
def g(x, y: int = 2):
    return x + y
def f(x):
    return g(x) + g(x, y=3) + g(x, 4)
>>> torch.ones(2)
### function of function
def h(x):
    return x * 2
def g(x):
    return h(x) + 1
def f(x):
    return g(h(x))
>>> torch.ones(2)
### scripted function
@torch.jit.script
def g(x):
    return x * 2
def f(x):
    return g(x) + 1
>>> torch.ones(2)
### tuple result
def g(x):
    return x + 1, x + 2
def f(x):
    a, b = g(x)
    return a * b
>>> torch.ones(2)
### annotated
def g(x: torch.Tensor, n: int, s: str = "a") -> Tuple[torch.Tensor, int]:
    return x * n, len(s)
def f(x):
    y, n = g(x, 2)
    return y + n
>>> torch.ones(2)
### type comment
def f(x, n):
    # type: (Tensor, int) -> Tensor
    return x * n
>>> torch.ones(2), 3
### functional
def f(x):
    return torch.nn.functional.relu(x), torch.relu(x)
>>> torch.tensor([-1.0, 1.0])
### functional softmax
def f(x):
    return torch.nn.functional.softmax(x, dim=1)
>>> torch.ones(2, 3)
### star argument
def g(a: int, b: int, c: int):
    return a * 100 + b * 10 + c
def f(t: Tuple[int, int]):
    return g(1, *t)
>>> ((2, 3),)
### closure
def make():
    def inner(x):
        return x * 2
    def f(x):
        return inner(x) + 1
    return f
f = make()
>>> torch.ones(2)
### ignored
@torch.jit.ignore
def g(x):
    return x * 2
def f(x):
    return g(x) + 1
>>> torch.ones(2)
### ignored typed
@torch.jit.ignore
def g(x: int) -> int:
    return x * 2
def f(x: int):
    return g(x) + 1
>>> 2
### unused
@torch.jit.unused
def g(x):
    return undefined(x)
def f(x, n: int):
    if n > 5:
        return g(x)
    return x
>>> torch.ones(2), 1
### named tuple
class P(NamedTuple):
    a: torch.Tensor
    b: int
def f(x):
    p = P(x, 3)
    return p.a * p.b
>>> torch.ones(2)
### defaults
def f(x, n: int = 3, a: float = 0.5, s: str = "ab", b: bool = True, o: Optional[int] = None):
    return x * n + a + len(s)
>>> (torch.ones(2),)
>>> torch.ones(2), 4, 1.5
""")
