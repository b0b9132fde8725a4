"""Lists, tuples, dicts, named tuples; who shares what with whom."""

from typing import Dict, List, NamedTuple, Tuple

import internals as torch
from runtimes.corpus import case, floats, ints


@case(([3, 1, 2],), ([5],))
def lists_of_numbers(given: List[int]) -> Tuple[List[int], List[int], int, List[int]]:
    xs = given[:]
    xs.append(10)
    xs.extend([7, 8])
    xs.insert(1, -4)
    last = xs.pop()
    xs[0] = xs[0] + last
    ys = [x * 2 for x in xs]
    xs.sort()
    ys.reverse()
    return xs, ys[1:], len(xs) + xs.index(10) + ys.count(0), ys[::2] + xs[-2:]


@case(([1.5, 2.0], [3.25]))
def lists_of_floats(a: List[float], b: List[float]) -> Tuple[List[float], float, float, bool]:
    c = a + b
    return c * 2, sum(c), max(c), a == b


@case(([1, 2],))
def aliases(xs: List[int]) -> Tuple[List[int], List[int]]:
    ys = xs
    ys.append(3)
    zs = xs[:]
    zs.append(4)
    return xs, zs


@case((floats(4, 3),))
def lists_of_tensors(x: torch.Tensor) -> Tuple[torch.Tensor, List[torch.Tensor]]:
    parts = list(x.chunk(2))
    rows: List[torch.Tensor] = []
    for i, part in enumerate(parts):
        rows.append(part * (i + 1))
    for a, b in zip(parts, rows):
        rows.append(a + b)
    return torch.cat(rows), rows


@case(({"a": 1, "b": 2}, "a"), ({"x": 5}, "a"))
def dicts(d: Dict[str, int], key: str) -> Tuple[Dict[str, int], List[str], List[int], int, bool]:
    out = {"sum": 0}
    for k, v in d.items():
        out[k + k] = v * v
        out["sum"] += v
    if key in d:
        out["found"] = d[key]
    return out, list(out.keys()), list(out.values()), d.get(key, -1), "b" in d


@case((ints(6),))
def count_in_a_dict(x: torch.Tensor) -> Dict[int, int]:
    counts: Dict[int, int] = {}
    for i in range(x.size(0)):
        k = int(x[i])
        if k not in counts:
            counts[k] = 0
        counts[k] += 1
    return counts


class Point(NamedTuple):
    x: torch.Tensor
    label: int


@case((floats(2),))
def named_tuples(x: torch.Tensor) -> Tuple[Point, torch.Tensor]:
    p = Point(x + 1, 3)
    q = Point(label=p.label * 2, x=p.x * p.label)
    return q, q.x - p[0]


@case(((1, 2.5), "t"))
def tuples(t: Tuple[int, float], name: str) -> Tuple[float, Tuple[str, int], bool]:
    n, f = t
    pair = (name, n)
    return f + n, pair, pair[0] == "t"


@case((4,))
def nested_lists(n: int) -> List[List[int]]:
    table: List[List[int]] = []
    for i in range(n):
        row = [i * j for j in range(n)]
        row[i] = -1
        table.append(row)
    return table
