"""Run archives with `internals` and compare: `python -m runtimes.corpus.check FILES OR FOLDERS`.

A float32 number may differ from the expected one by 1e-5 of the largest in its tensor, a float64
one by 1e-12; everything else is equal: structure, types, dtypes, sizes, integers, strings.

How the real one differs: `torch.testing.assert_close` measures each number by itself, not by the
largest of its tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 1e-2}


def main(arguments: list[str]) -> int:
    import internals

    passed = failed = 0
    for path in archives(map(Path, arguments)):
        why = check(internals, path)
        print(f"ok {path.stem}" if not why else f"FAILED {path.stem}: {why}", flush=True)
        passed, failed = passed + (not why), failed + bool(why)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


def archives(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        found += sorted(path.glob("*.pt")) if path.is_dir() else [path]
    return [p for p in found if not p.name.endswith(".case.pt")]


def check(torch: Any, path: Path) -> str:
    """What is wrong with an archive; "" when all its calls give what is expected."""
    try:
        module = torch.jit.load(str(path))
        case = torch.load(str(path.with_suffix(".case.pt")))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for i, call in enumerate(case["calls"]):
        try:
            with torch.no_grad():
                result = getattr(module, call["method"])(*call["inputs"])
        except Exception as error:
            if call.get("raises", "\0") not in str(error):
                return f"call {i}: {type(error).__name__}: {error}"
            continue
        if "raises" in call:
            return f"call {i}: should raise {call['raises']!r}"
        why = difference(torch, result, call["expected"], "result")
        if why:
            return f"call {i}: {why}"
    return ""


def difference(torch: Any, a: Any, b: Any, where: str) -> str:
    """Where and how `a` differs from the expected `b`; "" if it does not."""
    if isinstance(b, torch.Tensor):
        if not isinstance(a, torch.Tensor) or (a.dtype, list(a.shape)) != (b.dtype, list(b.shape)):
            return f"{where} is {describe(torch, a)}, not {describe(torch, b)}"
        return tensor_difference(torch, a.detach(), b, where)
    if isinstance(b, float) and isinstance(a, float):
        # may stem from a float32
        same = a == b or (a != a and b != b) or abs(a - b) <= 1e-6 * max(abs(a), abs(b))
        return "" if same else f"{where} is {a}, not {b}"
    if isinstance(b, (list, tuple)):
        if not isinstance(a, type(b)) or len(a) != len(b):
            return f"{where} is {a!r}, not {b!r}"
        return next(
            filter(
                None,
                (difference(torch, x, y, f"{where}[{i}]") for i, (x, y) in enumerate(zip(a, b))),
            ),
            "",
        )
    if isinstance(b, dict):
        if not isinstance(a, dict) or list(a) != list(b):
            return f"{where} is {a!r}, not {b!r}"
        return next(filter(None, (difference(torch, a[k], b[k], f"{where}[{k!r}]") for k in b)), "")
    return "" if type(a) is type(b) and a == b else f"{where} is {a!r}, not {b!r}"


def tensor_difference(torch: Any, a: Any, b: Any, where: str) -> str:
    name = str(b.dtype).rpartition(".")[2]
    if not b.numel() or name not in TOLERANCE:
        return "" if bool((a == b).all()) else f"{where} is {a}, not {b}"
    x, y = a.to(torch.float64), b.to(torch.float64)
    odd = (y != y) | (y.abs() == float("inf"))
    if not bool(((x == y) | ((x != x) & (y != y)) | ~odd).all()):
        return f"{where}: infinities or NaN differ"
    zero = torch.zeros_like(y)
    worst = float(torch.where(odd, zero, (x - y).abs()).max())
    largest = float(torch.where(odd, zero, y.abs()).max())
    return (
        ""
        if worst <= TOLERANCE[name] * max(largest, 1e-30)
        else f"{where} differs by {worst:.3g}; largest is {largest:.3g}"
    )


def describe(torch: Any, value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
