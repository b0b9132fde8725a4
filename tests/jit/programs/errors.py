"""Programs that do not compile. What PyTorch says about them is what we say."""

from __future__ import annotations

from tests.jit.programs import programs

ERRORS = programs("""
### undefined
def f(x):
    y = x + zz
    return y
### undefined in callee
def h(x):
    return x + zz
def g(x):
    y = x
    return h(x)
def f(x):
    z = x
    return g(z)
### wrong argument
def f(x):
    return torch.dot(x, 3)
### wrong argument of function
def g(x: int, y: int):
    return x
def f(x):
    return g(x, "a")
### missing argument
def g(x: int, y: int):
    return x
def f(x):
    return g(1)
### unknown keyword
def g(x: int, y: int):
    return x
def f(x):
    return g(1, 2, z=3)
### too many arguments
def g(x: int):
    return x
def f(x):
    return g(1, 2)
### unannotated argument
def g(x: int):
    return x
def f(x):
    return g("s")
### recursion
def f(x):
    return f(x)
### one branch only
def f(x):
    if bool(x.mean() > 1.0):
        r = 1
    return r
### other branch only
def f(x):
    if bool(x.mean() > 1.0):
        pass
    else:
        r = 1
    return r
### type mismatch
def f(x):
    if bool(x.mean() > 1.0):
        r = 1
    else:
        r = "a"
    return r
### type mismatch outer
def f(x, n: int):
    r = 1
    if n > 2:
        r = "a"
    return r
### reassign in loop
def f(n: int):
    r = 1
    for i in range(n):
        r = "a"
    return r
### reassign list in loop
def f(n: int):
    r = [1]
    for i in range(n):
        r = ["a"]
    return r
### return annotation
def f(x: int) -> torch.Tensor:
    return x
### return annotation str
def f(x: int) -> int:
    return "a"
### returns differ
def f(n: int):
    if n > 0:
        return 1
    return "a"
### no return on all paths
def f(xs: List[int]) -> int:
    if len(xs) > 1:
        return 1
### ternary types
def f(n: int):
    return 1 if n > 0 else "a"
### no such op
def f(x):
    return torch.foo(x)
### no such method
def f(x):
    return x.foo()
### no such method of list
def f(xs: List[int]):
    return xs.foo()
### no such attribute of int
def f(n: int):
    return n.foo
### tuple unpack short
def f(x):
    a, b, c = (x, x)
    return a
### tuple unpack long
def f(x):
    a, b = (x, x, x)
    return a
### unpack tensor
def f(x):
    a, b = x
    return a
### unpack int
def f(n: int):
    a, b = n
    return a
### tuple index range
def f(x):
    return (x, x)[2]
### tuple index variable
def f(x, n: int):
    return (x, 1)[n]
### tuple index type
def f(x):
    return (x, x)["a"]
### subscript int
def f(n: int):
    return n[0]
### subscript multi non tensor
def f(xs: List[int]):
    return xs[0, 1]
### index type
def f(x):
    return x["a"]
### index float
def f(x):
    return x[1.0]
### two ellipses
def f(x):
    return x[..., 0, ...]
### tuple assign
def f(x):
    t = (x, x)
    t[0] = x
    return t
### slice assign list
def f(xs: List[int]):
    xs[0:1] = [1]
    return xs
""")
