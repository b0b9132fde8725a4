"""Programs for the script compiler: arithmetic, calls of operators and of functions."""

from __future__ import annotations

from tests.jit.programs import programs

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
    return torch.zeros(n, 2), torch.ones([n]), torch.full([2], 3.0), torch.arange(n), \
torch.zeros(2, dtype=torch.int64)
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
### memory formats
def f(x):
    y = x.contiguous(memory_format=torch.channels_last)
    z = torch.zeros_like(y, memory_format=torch.preserve_format)
    return y.stride(1), y.is_contiguous(memory_format=torch.contiguous_format), z
>>> torch.ones(1, 2, 3, 3)
### transposes
def f(x):
    return x.T, x.H, x.mT, x.mH, x.adjoint()
>>> torch.ones(2, 3)
>>> torch.ones(2, 3) * 1j
### a memory format as an argument
def f(x, form: int = torch.channels_last):
    return x.clone(memory_format=form).stride(1)
>>> torch.ones(1, 2, 3, 3),
""")
