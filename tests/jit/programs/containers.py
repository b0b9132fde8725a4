"""Programs for the script compiler: lists, tuples, dicts, strings, indexing, assignment."""

from __future__ import annotations

from tests.jit.programs import programs

CONTAINERS = programs("""
### list literal
def f(x):
    return [x, x + 1]
>>> torch.ones(2)
### empty list
def f(x):
    xs: List[int] = []
    xs.append(3)
    return xs
>>> torch.ones(2)
### annotate empty list
def f(x):
    xs = torch.jit.annotate(List[int], [])
    for i in range(3):
        xs.append(i)
    return xs
>>> torch.ones(2)
### empty list of tensors
def f(x):
    xs = []
    for i in range(3):
        xs.append(x * i)
    return torch.stack(xs)
>>> torch.ones(2)
### list index
def f(xs: List[int], i: int):
    return xs[0], xs[-1], xs[i]
>>> [4, 5, 6], 1
### list slice
def f(xs: List[int]):
    return xs[1:], xs[:2], xs[::2], xs[1:3]
>>> [4, 5, 6, 7]
### list store
def f(xs: List[int]):
    xs[0] = 9
    xs[1] += 5
    return xs
>>> [4, 5, 6]
### list methods
def f(xs: List[int]):
    xs.append(7)
    xs.extend([8, 9])
    xs.insert(0, 1)
    a = xs.pop()
    b = xs.pop(0)
    xs.reverse()
    n = xs.count(7)
    i = xs.index(8)
    c = xs.copy()
    xs.sort()
    xs.remove(7)
    return xs, a, b, n, i, c
>>> [4, 5]
### list clear
def f(xs: List[int]):
    xs.clear()
    return xs
>>> [4, 5]
### list add mul
def f(xs: List[int]):
    return xs + [1], xs * 2
>>> [4, 5]
### list aug
def f(xs: List[int]):
    xs += [3]
    return xs
>>> [4, 5]
### list contains
def f(xs: List[int], s: List[str]):
    return 4 in xs, 7 not in xs, "a" in s
>>> [4, 5], ["a"]
### list equal
def f(xs: List[int], ys: List[int]):
    return xs == ys, xs != ys
>>> [4, 5], [4, 5]
### list copy
def f(xs: List[int]):
    ys = list(xs)
    ys.append(1)
    return xs, ys
>>> [4, 5]
### list of range
def f(n: int):
    return list(range(n))
>>> 4
### list of string
def f(s: str):
    return list(s)
>>> "abc"
### list unpack
def f(xs: List[int]):
    a, b = xs
    return a + b
>>> [4, 5]
### list of lists
def f():
    xs = [[1, 2], [3]]
    return xs[0][1], len(xs)
>>> ()
### del list
def f(xs: List[int]):
    del xs[0]
    return xs
>>> [4, 5]
### list condition
def f(xs: List[int], s: str):
    if xs:
        return 1
    if s:
        return 2
    return 3
>>> [4, 5], ""
>>> torch.jit.annotate(List[int], []), "a"
### max with key of floats
def f(xs: List[float]):
    return max(xs), min(xs), sum(xs)
>>> [0.5, 2.5]
### tuple
def f(x, n: int):
    t = (x, n)
    return t[0] * t[1]
>>> torch.ones(2), 3
### tuple negative
def f(x, n: int):
    t = (x, n, 2.0)
    return t[-1], t[-3]
>>> torch.ones(2), 3
### tuple slice
def f(t: Tuple[int, float, str]):
    return t[1:], t[:2], t[0:1]
>>> ((1, 2.0, "a"),)
### tuple unpack
def f(t: Tuple[int, Tuple[int, int]]):
    a, (b, c) = t
    return a + b * c
>>> ((1, (2, 3)),)
### tuple swap
def f(a: int, b: int):
    a, b = b, a
    return a, b
>>> 1, 2
### starred unpack
def f(t: Tuple[int, int, int, int]):
    a, *b, c = t
    return a, b, c
>>> ((1, 2, 3, 4),)
### tuple compare
def f(t: Tuple[int, int], u: Tuple[int, int]):
    return t == u
>>> (1, 2), (1, 2)
### tuple from if
def f(x, c: bool):
    if c:
        t = (x, 1)
    else:
        t = (x + 1, 2)
    a, b = t
    return a * b
>>> torch.ones(2), True
>>> torch.ones(2), False
### tuple call
def f(xs: Tuple[int, int]):
    return tuple(xs)
>>> ((1, 2),)
### tuple to list argument
def f(x):
    s = (2, 3)
    return x.view(s)
>>> torch.ones(6)
### chained assignment
def f(x):
    a = b = x + 1
    return a * b
>>> torch.ones(2)
### dict literal
def f():
    d = {"a": 1, "b": 2}
    return d["a"] + d["b"]
>>> ()
### dict empty
def f(x):
    d: Dict[str, torch.Tensor] = {}
    d["x"] = x
    return d
>>> torch.ones(2)
### dict methods
def f(d: Dict[str, int]):
    d["c"] = 3
    ks = list(d.keys())
    vs = list(d.values())
    n = len(d)
    g = d.get("a", 0)
    h = d.get("zz")
    p = d.pop("c")
    i = "a" in d
    return ks, vs, n, g, h, p, i
>>> {"a": 1, "b": 2}
### dict update
def f(d: Dict[str, int], e: Dict[str, int]):
    d.update(e)
    return d
>>> {"a": 1}, {"b": 2}
### dict aug
def f(d: Dict[str, int]):
    d["a"] += 4
    return d
>>> {"a": 1}
### dict del
def f(d: Dict[str, int]):
    del d["a"]
    return d
>>> {"a": 1, "b": 2}
### dict call
def f():
    return dict(a=1, b=2)
>>> ()
### dict copy
def f(d: Dict[str, int]):
    e = dict(d)
    e["z"] = 1
    return d, e
>>> {"a": 1}
### dict int keys
def f(d: Dict[int, str]):
    return d[1] + d[2]
>>> {1: "a", 2: "b"}
### strings
def f(s: str):
    return s + "x", s[0], s[1:], s == "ab", len(s)
>>> "abc"
### string methods
def f(s: str):
    return s.upper(), s.lower(), s.strip(), s.split(","), s.replace("a", "b"), \
s.startswith("a"), s.find("b")
>>> "a,b"
### string join
def f(xs: List[str]):
    return ",".join(xs)
>>> ["a", "b"]
### format
def f(n: int, a: float):
    return "{} and {}".format(n, a)
>>> 1, 2.5
### f string
def f(n: int, s: str):
    return f"{n}: {s}!"
>>> 1, "a"
### percent
def f(n: int, s: str):
    return "%d %s" % (n, s)
>>> 1, "a"
### str int conversions
def f(s: str):
    return int(s), float(s), str(3), ord("a"), chr(98)
>>> "12"
""")

INDEXING = programs("""
### select
def f(x):
    return x[0], x[-1], x[1, 2]
>>> torch.arange(12).view(3, 4)
### slice
def f(x):
    return x[1:], x[:2], x[::2], x[0:3:2], x[:]
>>> torch.arange(12).view(3, 4)
### slice and select
def f(x):
    return x[:, 0], x[1:, 1], x[0, 1:3], x[:, 1:]
>>> torch.arange(12).view(3, 4)
### none
def f(x):
    return x[None], x[:, None], x[0, None, 1:]
>>> torch.arange(12).view(3, 4)
### ellipsis
def f(x):
    return x[..., 0], x[0, ...], x[..., 1:]
>>> torch.arange(12).view(3, 4)
### mixed
def f(x):
    return x[0, 1:, None], x[..., 1]
>>> torch.arange(12).view(3, 4)
### tensor index
def f(x, i):
    return x[i], x[:, i], x[i, 0]
>>> torch.arange(12).view(3, 4), torch.tensor([0, 2])
### two tensors
def f(x, i, j):
    return x[i, j]
>>> torch.arange(12).view(3, 4), torch.tensor([0, 2]), torch.tensor([1, 3])
### mask
def f(x):
    return x[x > 4]
>>> torch.arange(12).view(3, 4)
### list index
def f(x):
    return x[[0, 2]]
>>> torch.arange(12).view(3, 4)
### variable index
def f(x, n: int):
    return x[n], x[n:], x[:n], x[n - 1 : n + 1]
>>> torch.arange(12).view(3, 4), 1
### store select
def f(x):
    y = x.clone()
    y[0] = 5
    y[1, 2] = 7
    return y
>>> torch.arange(12.0).view(3, 4)
### store slice
def f(x, v):
    y = x.clone()
    y[1:] = v
    y[:, 0] = 1.5
    return y
>>> torch.arange(12.0).view(3, 4), torch.ones(4)
### store mask
def f(x):
    y = x.clone()
    y[y > 4] = 0.0
    return y
>>> torch.arange(12.0).view(3, 4)
### store index
def f(x, i):
    y = x.clone()
    y[i] = torch.ones(4)
    return y
>>> torch.arange(12.0).view(3, 4), torch.tensor([0, 2])
### aug store
def f(x):
    y = x.clone()
    y[0] += 1
    y[:, 1] *= 2
    return y
>>> torch.arange(12.0).view(3, 4)
### aug mask
def f(x):
    y = x.clone()
    y[y > 4] += 1
    return y
>>> torch.arange(12.0).view(3, 4)
### aug ops
def f(x, n: int, a: float):
    x += 1
    x -= 2.5
    x *= x
    x /= 2
    n += 1
    n -= 3
    n *= 2
    a /= 4
    return x, n, a
>>> torch.ones(2), 3, 1.0
### aug pow mod
def f(n: int, a: float):
    n |= 4
    n &= 7
    n ^= 2
    n %= 4
    return n
>>> 3, 1.0
### in place through view
def f(x):
    y = x.clone()
    z = y[0]
    z.add_(10)
    return y
>>> torch.zeros(2, 2)
### shape arithmetic
def f(x):
    n = x.shape[0]
    m = x.size(1)
    return x.view(n * m), x.reshape(m, n)
>>> torch.ones(2, 3)
### implicit tensor to number
def f(x, n):
    # type: (Tensor, Tensor) -> int
    return n
>>> torch.ones(2), torch.tensor(3)
### float item
def f(x):
    return x.sum().item()
>>> torch.ones(2)
""")
