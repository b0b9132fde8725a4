"""TorchScript functions of every construct, as source: what the tests of texts have real PyTorch
compile.

`PROGRAMS` maps a name to a program whose last function is called f; `compiled(torch, name)` is that
function, compiled.
"""

from __future__ import annotations

from typing import Any

_TEXT = r"""
# talk
def f(x):
  if bool(x.mean() > 1.0):
    r = 1
  else:
    r = 2
  return r

# for
def f(x, n: int):
  for i in range(n):
    x = x + i
  return x

# while
def f(x, n: int):
  while n > 0:
    x, n = x * 2, n - 1
  return x

# break
def f(n: int):
  k = 0
  while True:
    k += 1
    if k > n:
      break
    if k % 2 == 0:
      continue
  return k

# early return
def f(x, n: int):
  if n > 3:
    return x
  x = x.relu()
  return x + n

# nested
def f(x, n: int):
  for i in range(n):
    for j in range(i):
      if i > j:
        x = x + i
      else:
        x = x - j
  return x

# lists
def f(xs: List[Tensor]):
  r = [1, 2]
  r.append(len(xs))
  return torch.cat(xs, 0), r, r[0], xs[-1]

# dicts
def f(d: Dict[str, int]):
  d['a'] = 3
  return d, {1: 2.5}, 'a' in d, d.keys()

# tuples
def f(t: Tuple[int, Tensor]):
  a, b = t
  return b, (a, (t[1], 1))

# optional
def f(x: Optional[Tensor], k: Optional[int] = None):
  if x is not None and k is not None:
    return x + k
  return None

# unpack
def f(x):
  a, b = x.chunk(2, 1)
  c, d = torch.split(x, 2)
  return a + b, c

# strings
def f(s: str):
  print(s, 'a"b', 1)
  return s.upper() + 'x\n' + 'it {}'.format(s), s[0]

# numbers
def f(a: int, b: float):
  return a // 2, a / 2, a % 3, b ** 2, -a, a < b, abs(b), int(b), float(a), 1e-5, 1e300

# complex
def f(c: complex):
  return c * 2j, complex(1, 2)

# infinite
def f(x):
  return x + float('inf'), x - float('-inf'), float('nan')

# raise
def f(n: int):
  if n < 0:
    raise ValueError('negative')
  return n

# assert
def f(x):
  assert x.dim() == 2, 'not a matrix'
  return x

# isinstance
def f(x: Any):
  if isinstance(x, (int, List[str], Tensor)):
    return 1
  return 2

# in place
def f(x):
  x.add_(1)
  x[0] = 3
  x[1:, None] += 2
  return x

# slices
def f(x):
  return x[0], x[1:], x[:, ::2], x[..., None], x[x > 0]

# keywords
def f(x, y):
  z = torch.zeros([2, 3], dtype=torch.int, device=torch.device('cpu'))
  return torch.add(x, y, alpha=2), z

# comprehension
def f(n: int):
  return [i * 2 for i in range(n)], [k for k in ['a', 'b']]

# call
def g(x):
  return x * x
def f(x):
  return g(x) + g(x + 1)

# fork
def g(x):
  return x * x
def f(x):
  t = torch.jit.fork(g, x)
  return torch.jit.wait(t)

# ternary
def f(a: int, b: int):
  return a if a > b else b

# and or not
def f(a: bool, b: bool):
  return a and b or not a

# lstm cell
def f(x, h, w, b):
  g = torch.sigmoid(x.mm(w) + b) * torch.tanh(h)
  c, d = g.chunk(2, 1)
  return torch.cat([c * d, c + d], 1)

# norm
def f(x):
  return torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)

# enumerate
def f(xs: List[int]):
  s = 0
  for i, x in enumerate(xs):
    s += i * x
  for a, b in zip(xs, xs):
    s += a * b
  return s

# delete
def f(xs: List[int]):
  del xs[0]
  xs.sort()
  return xs.pop(), xs

# nothing
def f():
  pass
"""

_PARTS = [part.partition("\n") for part in _TEXT.strip("# \n").split("\n# ")]
PROGRAMS = {name: program.strip() + "\n" for name, _, program in _PARTS}


def compiled(torch: Any, name: str) -> Any:
    return torch.jit.CompilationUnit(PROGRAMS[name]).f
