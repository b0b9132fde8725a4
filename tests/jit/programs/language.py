"""Programs for the script compiler: corners of the language."""

from __future__ import annotations

from tests.jit.programs import programs

LANGUAGE = programs('''
### keyword only
def g(x, *, n: int):
    return x * n
def f(x):
    return g(x, n=3)
>>> torch.ones(2)
### any
def f(x: Any):
    if isinstance(x, int):
        return x + 1
    return 0
>>> 3
>>> "a"
### jit isinstance
def f(x: Any):
    if torch.jit.isinstance(x, List[int]):
        return x[0]
    return -1
>>> [3, 4]
>>> "a"
### isinstance list
def f(x: Optional[List[int]]):
    if isinstance(x, list):
        return 1
    return 0
>>> [3]
>>> None
### return optional
def f(n: int) -> Optional[int]:
    if n > 0:
        return n
    return None
>>> 3
>>> -3
### return none implicit
def f(n: int) -> None:
    print(n)
>>> 3
### while and
def f(xs: List[int]):
    i = 0
    while i < len(xs) and xs[i] > 0:
        i += 1
    return i
>>> [1, 2, -1, 3]
### values
def f(d: Dict[str, int]):
    t = 0
    for v in d.values():
        t += v
    return t
>>> {"a": 1, "b": 2}
### enumerate tuple
def f(x):
    for i, v in enumerate((x, x * 2)):
        x = x + i * v
    return x
>>> torch.ones(2)
### zip tuple
def f(x):
    for a, b in zip((1, 2), (x, x)):
        x = x + a * b
    return x
>>> torch.ones(2)
### chained subscripts
def f(xs: List[List[int]], x):
    return xs[0][1], x[0][1]
>>> [[1, 2]], torch.arange(4).view(2, 2)
### default in function with optional
def g(x, y: Optional[torch.Tensor] = None):
    if y is None:
        return x
    return x + y
def f(x):
    return g(x) + g(x, x)
>>> torch.ones(2)
### nested tuples
def f(x):
    t = ((x, 1), (2.0, "a"))
    (a, b), (c, d) = t
    return a * b + c, d
>>> torch.ones(2)
### global constants of modules
def f(x):
    return x * math.pi + math.e, float("inf"), math.inf
>>> torch.ones(2)
### boolean values
def f(a: bool, b: bool):
    return a == b, a != b, int(a), float(b), a and not b
>>> True, False
### string compare
def f(a: str, b: str):
    return a == b, a != b, a < b
>>> "a", "b"
### division kinds
def f(a: int, b: int):
    return a / b, a // b, a % b, divmod(a, b)
>>> 7, 2
### list of optional
def f():
    xs: List[Optional[int]] = [1, None]
    return xs
>>> ()
### optional list default
def f(x: Optional[List[int]] = None):
    if x is None:
        x = [1]
    return x
>>> ()
>>> ([2],)
### unused branch variable
def f(n: int):
    if n > 0:
        a = 1
    else:
        b = 2
    return n
>>> 1
### different types unused
def f(n: int):
    if n > 0:
        a = 1
    else:
        a = "x"
    return n
>>> 1
### loop over loop result
def f(n: int):
    xs = [i for i in range(n)]
    t = 0
    for i in xs:
        for j in xs:
            if i == j:
                continue
            t += i * j
    return t
>>> 4
### early return in loop in if
def f(xs: List[int], n: int):
    if n > 0:
        for v in xs:
            if v > n:
                return v
    return -1
>>> [1, 2, 3], 1
>>> [1, 2, 3], 9
>>> [1, 2, 3], 0
### while else return
def f(n: int):
    while True:
        n -= 1
        if n < 0:
            return "done"
        elif n == 7:
            return "seven"
>>> 3
>>> 9
### try all paths
def f(n: int):
    if n > 0:
        return 1
    elif n < 0:
        return 2
    else:
        return 3
>>> 0
>>> 1
>>> -1
### raise in loop
def f(xs: List[int]):
    for v in xs:
        if v < 0:
            raise ValueError("negative")
    return len(xs)
>>> [1, 2]
### shadowed builtin
def f(x):
    max = x + 1
    return max
>>> torch.ones(2)
### comprehension nested
def f(n: int):
    return [[i * j for j in range(n)] for i in range(n)]
>>> 3
### comprehension tuple target
def f(d: Dict[str, int]):
    return [k + str(v) for k, v in d.items()]
>>> {"a": 1}
### dict of lists
def f():
    d: Dict[str, List[int]] = {}
    d["a"] = [1]
    d["a"].append(2)
    return d
>>> ()
### tensor in if expression
def f(x):
    return x if bool(x.sum() > 0) else -x
>>> torch.ones(2)
>>> -torch.ones(2)
### in place chain
def f(x):
    y = x.clone().add_(1).mul_(2)
    y[0] = 0
    return y
>>> torch.ones(2)
### star tuple argument of tensor method
def f(x):
    s = (1, 0)
    return x.permute(s), x.permute([1, 0]), x.permute(1, 0)
>>> torch.ones(2, 3)
### tensor from list
def f(n: int):
    return torch.tensor([n, 2]), torch.tensor([[1.0, 2.0]]), torch.tensor(n)
>>> 3
### random with seed size
def f(x):
    return torch.rand_like(x).size(0) + torch.randn(2, 3).numel()
>>> torch.ones(2)
### to device and dtype
def f(x, y):
    return x.to("cpu"), x.to(y), x.to(torch.device("cpu")), x.type_as(y), x.float(), x.cpu()
>>> torch.ones(2), torch.ones(2)
### multiline
def f(x,
      y):
    return (
        x
        + y * 2
    )
>>> torch.ones(2), torch.ones(2)
### docstring
def f(x):
    """Doubles."""
    # a comment
    return x * 2
>>> torch.ones(2)
### semicolons and pass
def f(x):
    pass
    y = x; z = y
    return z
>>> torch.ones(2)
### nested functions of other names
def inner(a, b: float = 0.5):
    return a * b
def outer(a):
    return inner(b=2.0, a=a) + inner(a)
def f(x):
    return outer(a=x)
>>> torch.ones(2)
### list argument literal
def g(xs: List[int]):
    return len(xs)
def f():
    return g([]), g([1, 2])
>>> ()
### float of string and back
def f(s: str):
    return float(s) + 1, str(float(s))
>>> "2.5"
### bool of list
def f(xs: List[int]):
    return bool(xs), not xs
>>> [1]
### del and redefine
def f(x):
    y = x + 1
    del y
    y = x + 2
    return y
>>> torch.ones(2)
### augmented attribute like names
def f(n: int):
    n_1 = n
    n_1 += 1
    n_1 *= 1 if n > 100 else 2
    return n_1
>>> 3
### fork
def g(x, n: int):
    return x * n
def f(x):
    a = torch.jit.fork(g, x, n=2)
    b = torch.jit.fork(torch.relu, x)
    return torch.jit.wait(a) + torch.jit.wait(b)
>>> torch.ones(2)
### tolist
def f(x):
    a: List[float] = x.tolist()
    return a
>>> torch.ones(2)
### matmul variants
def f(x, y):
    return x.mm(y), torch.matmul(x, y), x @ y, x.t()
>>> torch.ones(2, 2), torch.ones(2, 2)
### complex
def f(a: complex):
    return a * 2, abs(a), a + 1j
>>> 1 + 2j
### min max of mixed
def f(a: int, b: float):
    return min(a, b), max(a, b)
>>> 1, 2.0
### sorted and reversed
def f(xs: List[int]):
    ys = sorted(xs)
    xs.sort(reverse=True)
    return xs, ys
>>> [2, 3, 1]
### formatting constants
def f(s: str):
    return "{}:{}".format(1, "b"), "%d" % 3, str(3), "a" + "b", f"{s}"
>>> "c"
''')
