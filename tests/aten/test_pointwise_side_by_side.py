"""Every pointwise operator and every reduction, over dtypes, layouts and variants, beside real
PyTorch.

One test an operator; inside, it tries all combinations and reports those that differ.
"""

from __future__ import annotations

import pytest

from internals.core.dtype import ALL
from tests.side_by_side import check, expression

DTYPES = [d.name for d in ALL]
LAYOUTS = [
    'x(2, 3, dtype="{d}")',
    'x(3, 2, dtype="{d}").t()',
    'x(dtype="{d}")',
    'x(0, 3, dtype="{d}")',
    'x(4, 6, dtype="{d}")[::2, 1::2]',
]

UNARY = (
    "abs neg exp expm1 log log1p log2 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh "
    "tanh sigmoid erf floor ceil round trunc frac sign isnan isinf isfinite logical_not "
    "bitwise_not square relu"
).split()
BINARY = (
    "add sub mul div floor_divide remainder fmod pow maximum minimum eq ne lt le gt ge atan2 "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor"
).split()
REDUCTIONS = [
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "amax",
    "amin",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "norm",
    "logsumexp",
]
REDUCED = [
    "T.{op}({a})", "T.{op}({a}, 0)", "T.{op}({a}, -1, keepdim=True)", "T.{op}({a}, dim=(0, 1))",
    "{a}.{op}(1)", "T.{op}({a}, 2)", "T.{op}({a}.t())", "T.{op}({a}, dim=0, keepdim=True)",
]  # fmt: skip
MORE = """
T.div(x(2, 3), x(2, 3), rounding_mode="floor")
T.div(x(2, 3), x(2, 3), rounding_mode="trunc")
T.div(x(2, 3, dtype="int64"), 2, rounding_mode="floor")
T.div(x(2, 3, dtype="int64"), 2, rounding_mode="trunc")
T.div(x(2, 3), x(2, 3), rounding_mode="up")
T.add(x(2, 3), x(2, 3), alpha=2)
T.add(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"), alpha=2.5)
T.add(x(2, 3), x(2, 3), alpha=2.5)
T.sub(x(2, 3, dtype="float64"), x(2, 3, dtype="float64"), alpha=-0.3)
T.add(x(2, 3, dtype="float16"), x(2, 3, dtype="float16"), alpha=0.1)
T.add(x(2, 3), x(2, 3, dtype="float64"), alpha=0.1)
T.add(x(2, 3), x(2, 3), alpha=1e300)
T.add(x(2, 3), x(2, 3), alpha=float("inf"))
T.add(x(), x(), alpha=0.1)
x(2, 3).add_(x(2, 3), alpha=-0.1)
x(4, 6)[::2, ::2].sub_(x(3, 2).t(), alpha=0.1)
(lambda a: a.add_(a, alpha=0.5))(x(3))
(lambda a: a[1:].add_(a[:-1], alpha=0.5))(x(3))
(lambda a: a[:2].add_(a[2:], alpha=0.5))(x(4))
T.sub(x(2, 3), 1, alpha=3)
T.sub(x(2, dtype="bool"), x(2, dtype="bool"))
2 - x(2, 3)
2 / x(2, 3)
2.5 ** x(2, 3)
7 // x(2, 3)
7 % x(2, 3)
x(2, 3, dtype="int64") // 2
x(2, 3, dtype="int64") % -3
x(2, 3, dtype="int64") / 2
x(2, 3, dtype="int64") ** -1
x(2, 3, dtype="int64") ** 2
x(2, 3, dtype="uint8") + 300
x(2, 3, dtype="uint8") - 7
~x(2, 3, dtype="bool")
x(2, 3, dtype="int64") & 3
6 | x(2, 3, dtype="int64")
x(2, 3) & 3
T.clamp(x(2, 3), 0)
T.clamp(x(2, 3), max=0.5)
T.clamp(x(2, 3), -0.5, 0.5)
T.clamp(x(2, 3), x(3), x(3))
T.clamp(x(2, 3, dtype="int64"), 0.5, 1.5)
T.clamp(x(2, 3))
T.clamp(x.of([nan, 1.0, -inf]), 0, 1)
T.lerp(x(2, 3), x(2, 3), 0.3)
T.lerp(x(2, 3), x(2, 3), x(3))
T.addcmul(x(2, 3), x(2, 3), x(3), value=0.5)
T.addcdiv(x(2, 3), x(2, 3), x(3), value=0.5)
T.addcdiv(x(2, dtype="int64"), x(2, dtype="int64"), x(2, dtype="int64"))
T.where(x(2, 3) > 0, x(2, 3), x(3))
T.where(x(2, 3) > 0, x(2, 3), 1)
T.where(x(2, 3) > 0, 1, 0.5)
T.where(x(2, 3) > 0)
T.where(x(2, 3), x(2, 3), x(2, 3))
T.masked_fill(x(2, 3), x(2, 3) > 0, 7)
x(2, 3).masked_fill_(x(3) > 0, -1.5)
x(2, 3).masked_fill(x(2, 3), 1)
T.round(x(2, 3), decimals=2)
T.isnan(x.of([nan, 1, inf]))
T.isinf(x.of([nan, 1, -inf]))
T.isfinite(x.of([nan, 1, -inf]))
T.exp(x.of([nan, 1000, -inf]))
T.tanh(x.of([nan, inf, -inf, 0.0, -0.0]))
T.sigmoid(x.of([nan, inf, -inf, 100, -100]))
T.erf(x.of([nan, inf, -inf, 0.5, -3, 1e-10, 6]))
T.maximum(x.of([nan, 1]), x.of([0, nan]))
T.add(x(2, 3), x(4))
x(3).add_(x(2, 3))
x(3, dtype="int64").add_(1.5)
x(3, dtype="int64").mul_(x(3))
T.add(x(3), x(3), out=T.empty(0))
T.add(x(3), x(3), out=T.empty(3, dtype=T.int64))
T.eq(x(3), x(3), out=T.empty(3))
x(1).expand(3).add_(1)
T.var_mean(x(2, 3), 1)
T.var(x(2, 3), 1, correction=0)
T.var(x(2, 3), unbiased=False)
T.std(x(2, 3), 0, unbiased=True, keepdim=True)
T.var(x(1))
T.sum(x(2, 3, dtype="bool"))
T.sum(x(2, 3), dtype=T.float64)
T.sum(x(2, 3, dtype="int32"), 1)
T.mean(x(2, 3, dtype="int64"))
T.mean(x(2, 3, dtype="int64"), dtype=T.float32)
T.mean(x(0))
T.max(x(0))
T.max(x(0, 3), 0)
T.max(x(2, 3), x(3))
T.max(x.of([1, nan, 2]))
T.max(x.of([[1, nan, 2], [3, 3, 1]]), 1)
T.argmax(x.of([[1, 3, 3], [2, 2, 1]]), 1)
T.argmax(x.of([1, nan, 2]))
T.amax(x(2, 3, 4), (0, 2))
T.prod(x(0))
T.prod(x(2, 3, dtype="int64"), 1)
T.any(x(2, 3, dtype="uint8"), 1)
T.all(x(0))
T.norm(x(2, 3), p=1)
T.norm(x(2, 3), p=inf, dim=1)
T.norm(x(2, 3), p=-inf, dim=1)
T.norm(x(2, 3), p=0)
T.norm(x(2, 3), "fro", dim=(0, 1))
T.norm(x(2, 3), "nuc")
T.norm(x(2, 3, dtype="int64"))
T.logsumexp(x(2, 3), 1)
T.logsumexp(x(2, 3), (0, 1), keepdim=True)
T.logsumexp(x.of([-inf, -inf]), 0)
T.cumsum(x(2, 3), 1)
T.cumsum(x(2, 3, dtype="bool"), 0)
T.cumsum(x(2, 3), 0, dtype=T.float64)
T.cumprod(x(2, 3), -1)
T.cumsum(x(), 0)
T.cumsum(x(2, 3), 2)
x(2, 3).cumsum_(0)
T.sum(x(2, 3), (0, 0))
T.sum(x(2, 3), 0, out=T.empty(0))
""".strip().splitlines()


def compare(lines: list[str]) -> None:
    """Try every line and report all that differ."""
    wrong = []
    for line in lines:
        tolerance = 2e-2 if "float16" in line else 1e-5
        try:
            check(expression(line), rtol=tolerance, atol=tolerance)
        except AssertionError as e:
            wrong.append(f"{line}: {(str(e).strip().splitlines() or ['differs'])[0]}")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str) -> None:
    lines = []
    for d in DTYPES:
        lines += [f"T.{op}({layout.format(d=d)})" for layout in LAYOUTS]
        if op not in ("isnan", "isinf", "isfinite"):
            lines += [
                f"{LAYOUTS[1].format(d=d)}.{op}_()",
                f'T.{op}(x(2, 3, dtype="{d}"), out=T.empty(0, dtype=T.{d}))',
            ] * (op != "relu")
    compare(lines)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("op", BINARY)
def test_binary(op: str) -> None:
    lines = []
    for d in DTYPES:
        for e in (d, "float32", "int64", "bool", "complex64"):
            a, b = f'x(2, 3, dtype="{d}")', f'(x(3, dtype="{e}") + T.ones(3, dtype=T.{e}) * 6)'
            lines += [f"T.{op}({a}, {b})", f"{a}.{op}(x(2, 1, dtype='{e}').t().t() * 0 + 2)"]
            lines.append(f'T.{op}(x(3, 2, dtype="{d}").t(), x(2, 3, dtype="{e}") * 0 + 3)')
        lines += [
            f'x(2, 3, dtype="{d}").{op}_(x(3, dtype="{d}") * 0 + 3)',
            f'T.{op}(x(0, 3, dtype="{d}"), x(3, dtype="{d}"))',
        ]
        if op not in ("maximum", "minimum", "atan2", "logical_and", "logical_or", "logical_xor"):
            lines += [f'T.{op}(x(2, 3, dtype="{d}"), {n})' for n in ("2", "2.5", "True")]
    compare(lines)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduction(op: str) -> None:
    inputs = [f'x(2, 3, dtype="{d}")' for d in DTYPES]
    # their complaint about a tuple lists all overloads
    one_dim = op in ("prod", "max", "min", "argmax", "argmin")
    compare(
        [
            form.format(op=op, a=a)
            for a in inputs
            for form in REDUCED
            if not (one_dim and "(0, 1)" in form)
        ]
    )


@pytest.mark.parametrize("line", MORE)
def test_more(line: str) -> None:
    check(expression(line))
