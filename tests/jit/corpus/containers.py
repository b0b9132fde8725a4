"""Lists, tuples, dicts, strings."""

from __future__ import annotations

from typing import Dict, List, Tuple

import internals as torch
from tests.jit.corpus import normal, plain, program


@program((normal(3),))
def list_of_tensors(x):
    ys = [x, x + 1]
    ys.append(x * 2)
    return torch.stack(ys), ys[0] + ys[-1], ys[1:]


@program((normal(3), 4))
def list_built_in_a_loop(x, n: int):
    out = []
    for i in range(n):
        out.append(x * i)
    return torch.cat(out)


@program((normal(3), [3, 1, 2]))
def list_methods(x, xs: List[int]):
    ys = xs + [10]
    ys.sort()
    ys.reverse()
    ys.insert(0, 7)
    last = ys.pop()
    ys.extend([1, 1])
    return x * len(ys) + last + ys[0] + ys.index(10) + ys.count(1) + sum(ys) + max(ys) + min(xs)


@program((normal(4),))
def list_comprehension(x):
    squares = [i * i for i in range(4)]
    parts = [x * s for s in squares]
    return torch.stack(parts).sum(0)


@program((normal(3), normal(3)))
def list_comprehension_over_tensors(a, b):
    return torch.stack([t.exp() for t in [a, b]])


@program((normal(3),))
def tuples(x):
    pair = (x, x * 2)
    a, b = pair
    triple = (pair, a + b)
    return triple[0][1] - triple[1], pair


@program(((normal(2), normal(2)),))
def tuple_argument(p: Tuple[torch.Tensor, torch.Tensor]):
    a, b = p
    return a * b, (b, a)


@program(([normal(2), normal(2)],))
def list_argument(ts: List[torch.Tensor]):
    return ts[0] * ts[1] + torch.stack(ts).sum()


@program(({"a": normal(2), "b": normal(2)},))
def dict_argument(d: Dict[str, torch.Tensor]):
    return d["a"] - d["b"] * 2


@program((normal(2),))
def dict_literal(x):
    d = {"one": x, "two": x * 2}
    d["three"] = d["one"] + d["two"]
    total = torch.zeros(2)
    for k, v in d.items():
        total = total + v * len(k)
    return total


@program((normal(2),))
def dict_methods(x):
    counts = {"a": 1, "b": 2}
    counts["c"] = counts.get("z", 5)
    del counts["a"]
    n = 0
    for v in counts.values():
        n += v
    if "b" in counts and "a" not in counts:
        n += 100
    return x * n + len(counts)


@program((normal(2),))
def dict_result(x):
    return {"x": x, "y": x * 2}


@program((normal(2), "a-b-c"))
def strings(x, s: str):
    parts = s.split("-")
    joined = "+".join(parts)
    if joined.startswith("a") and joined.upper() == "A+B+C" and len(s) == 5:
        x = x * len(parts)
    return x + joined.count("+") + s.find("b")


@program((normal(2), 3))
def formatted(x, n: int):
    text = f"{n} of {n + 1}"
    if text == "{} of {}".format(3, 4):
        x = x + len(text)
    return x


@program((normal(3),))
def nested_lists(x):
    table = [[1, 2], [3, 4]]
    n = 0
    for row in table:
        for v in row:
            n += v
    return x * n + table[1][0]


@program((normal(3), 2))
def list_of_sizes(x, n: int):
    shape = [n, x.size(0)]
    return x.expand(shape) + torch.ones(shape)


@program((normal(3),))
def sorted_and_reversed(x):
    xs = sorted([3, 1, 2])
    n = 0
    for i in range(len(xs)):
        n = n * 10 + xs[i]
    return x + n


@program((normal(3), [1.0, 2.5]))
def list_of_floats(x, fs: List[float]):
    total = 0.0
    for f in fs:
        total += f
    return x * total + float(len(fs))


@program((normal(3),))
def tuple_in_a_loop(x):
    state = (x, 1)
    for i in range(3):
        h, k = state
        state = (h * 0.5, k + i)
    return state[0] * state[1]


@program((normal(6),))
def unpacked_with_star(x):
    a, *rest = (x[:2], x[2:4], x[4:])
    return a + rest[0] - rest[1]


@program((normal(3),))
def slices_of_lists(x):
    xs = [1, 2, 3, 4, 5]
    ys = xs[1:4] + xs[:1] + xs[-1:] + xs[::2]
    n = 0
    for y in ys:
        n = n * 3 + y
    return x + n


@program((plain(2, 3),))
def python_numbers_out_of_a_tensor(x):
    n = int(x.sum().item())
    f = float(x[0, 0])
    return x + n + f
