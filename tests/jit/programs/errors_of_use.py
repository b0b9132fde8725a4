"""More programs that do not compile: values used as what they are not, statements that are
refused.
"""

from __future__ import annotations

from tests.jit.programs import programs

ERRORS_OF_USE = programs(
    """
### global list
K = [1, 2]
def f(x):
    return K[0]
### python builtin
def f(x):
    return open("a")
### print keyword
def f(x):
    print(x, end="")
    return x
### call value
def f(x):
    return x(1)
### module as value
def f(x):
    return math
### module attribute
def f(x):
    return math.foo(1)
### function as value compared
def f(n: int):
    n = math.sqrt
    return n
### optional arithmetic
def f(x: Optional[int]):
    return torch.matmul(x, 2)
### range of float
def f():
    for i in range(3.0):
        pass
### range too many
def f():
    for i in range(1, 2, 3, 4):
        pass
### range none
def f():
    for i in range():
        pass
### iterate int
def f(n: int):
    for i in n:
        pass
### iterate none
def f(n: Optional[List[int]]):
    for i in n:
        pass
### zip none
def f():
    for i in zip():
        pass
### enumerate none
def f():
    for i in enumerate():
        pass
### unpack in loop
def f(xs: List[int]):
    for a, b in xs:
        pass
### break unrolled
def f(x):
    for v in (1, 2.0):
        break
    return x
### raise non exception
def f(x):
    raise x
### raise string
def f(x):
    raise "a"
### dict key types
def f(x):
    return {"a": x, 1: x}
### list hint
def f():
    x: List[int] = ["a"]
    return x
### list hint not a list
def f():
    x: int = [1]
    return x
### variable annotation
def f():
    x: int = "a"
    return x
### annotate mismatch
def f(x):
    return torch.jit.annotate(int, "a")
### redeclare in block
def f(n: int):
    x = 1
    if n > 2:
        x: int = 2
    return x
### isinstance count
def f(x):
    return isinstance(x)
### getattr not literal
def f(x, s: str):
    return getattr(x, s)
### hasattr of tensor
def f(x):
    return hasattr(x, "foo")
### unknown type
def f(x: 'Foo'):
    return x
### unknown type in body
def f(x):
    y: Foo = x
    return y
### bare list
def f(x: List):
    return x
### starred alone
def f(x):
    *a, = (x, x, x)
    return a
### starred short
def f(x):
    a, b, c, *d = (x, x)
    return a
### lambda
def f(x):
    g = lambda y: y
    return g(x)
### try
def f(x):
    try:
        y = x
    except Exception:
        y = x
    return y
### while else
def f(x):
    for i in range(3):
        x = x + 1
    else:
        x = x + 2
    return x
### varargs
def f(*x):
    return x
### keyword only default
def f(x, *, y=2):
    return x
### default type
def f(x: int = "a"):
    return x
### inner function
def f(x):
    def g(y):
        return y
    return g(x)
### class in function
def f(x):
    class A:
        pass
    return x
### global statement
def f(x):
    global K
    return x
### import
def f(x):
    import math
    return x
### set literal
def f(x):
    return {1, 2}
### walrus
def f(x):
    if (y := x.sum()) > 0:
        return y
    return x
### yield
def f(x):
    yield x
### del undefined
def f(x):
    del y
    return x
### use after del
def f(x):
    y = x
    del y
    return y
### del slice
def f(xs: List[int]):
    del xs[0:1]
    return xs
### aug to undefined
def f(x):
    y += x
    return y
### tolist without hint
def f(x):
    return x.tolist()
### with
def f(x):
    with x:
        y = x
    return y
### function value in branch
def g(x):
    return x
def h(x):
    return x
def f(x, c: bool):
    if c:
        k = g
    else:
        k = h
    return k(x)
### cast list
def f(xs: List[int]):
    return int(xs)
### neg str
def f(s: str):
    return -s
### named tuple field
class P(NamedTuple):
    a: int
def f(n: int):
    p = P(n)
    return p.b
### named tuple missing
class P(NamedTuple):
    a: int
    b: int
def f(n: int):
    return P(n)
### fork nothing
def f(x):
    return torch.jit.fork()
### dict hint
def f():
    d: Dict[str, int] = {1: 2}
    return d
### augmented floor division
def f(n: int):
    n //= 2
    return n
### comprehension filter
def f(xs: List[int]):
    return [v for v in xs if v > 1]
### annotated with value type
def f(x: 3):
    return x
"""
)
