"""Exercises of notebook 22: arrays counted, what ends a group, and a softmax that walks over its
rows less often.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise


@exercise(
    level=1,
    title="Count the arrays",
    ask="""
        How many arrays does each function read or write in memory, run operator by operator, and
        run as one fused kernel? `x` and `y` are equally large, so an array is the unit. Count what
        is read and what is written; results count as well.""",
    given="""
        def chain(x, y):
            return torch.exp(x * y + 1)

        def both(x, y):
            z = torch.tanh(x)
            return z, z * y""",
    start="""
        answer = {
            "chain, one by one": ...,
            "chain, fused": ...,
            "both, one by one": ...,
            "both, fused": ...,
        }""",
    hints=(
        "An operator on two tensors reads two arrays and writes one; with a number instead of a "
        "tensor it reads one.",
        "A fused kernel reads every input once and writes every result once; what is only used "
        "inside stays in registers.",
    ),
    solution="""
        answer = {
            "chain, one by one": 7,
            "chain, fused": 3,
            "both, one by one": 5,
            "both, fused": 4,
        }""",
    why=(
        "The more results are wanted, the less there is to save: `z` has to be written, "
        "because the caller asked for it."
    ),
    mistakes=[
        Mistake(
            "What counts are the inputs and the result.",
            'answer = {"chain, one by one": 3, "chain, fused": 3, "both, one by one": 4, "both, '
            'fused": 4}',
            "temporaries",
        ),
        Mistake(
            "A number is read like a tensor.",
            'answer = {"chain, one by one": 8, "chain, fused": 3, "both, one by one": 5, "both, '
            'fused": 4}',
            "a number is no array",
        ),
        Mistake(
            "Fused code writes one result.",
            'answer = {"chain, one by one": 7, "chain, fused": 3, "both, one by one": 5, "both, '
            'fused": 3}',
            "two results",
        ),
        Mistake(
            "What a kernel has in registers costs nothing to read: only writing counts.",
            'answer = {"chain, one by one": 3, "chain, fused": 1, "both, one by one": 2, "both, '
            'fused": 2}',
            "read as well",
        ),
    ],
)
def fusion_1(answer: dict[str, int]) -> str:
    from internals.jit.fuser import kernels_of

    def chain(x, y):  # type: ignore[no-untyped-def]
        return torch.exp(x * y + 1)

    def both(x, y):  # type: ignore[no-untyped-def]
        z = torch.tanh(x)
        return z, z * y

    x = torch.ones(8, 8)
    truth: dict[str, int] = {}
    for function in (chain, both):
        kernels = kernels_of(torch.jit.script(function), x, x)
        truth[f"{function.__name__}, one by one"] = (
            sum(k.bytes_unfused for k in kernels) // x.nbytes
        )
        truth[f"{function.__name__}, fused"] = sum(k.bytes_moved for k in kernels) // x.nbytes
    if not isinstance(answer, dict) or answer.keys() != truth.keys():
        raise Wrong("the answer is the dict above, with a number for each of its four keys")
    if answer == truth:
        return (
            "the fuser counts the same: 2.3 times fewer bytes for the one, 1.25 times fewer for "
            "the other"
        )
    apart, fused = answer["chain, one by one"], answer["chain, fused"]
    if fused == 1:
        raise Wrong("each input has to come from memory: arrays are read as well as written")
    if apart == 3:
        raise Wrong(
            "one by one, `x * y` and the sum are temporaries: each is written, and read again by "
            "the next operator"
        )
    if apart == 8:
        raise Wrong("`+ 1` reads one array and writes one: a number is no array")
    if answer["both, fused"] == 3:
        raise Wrong(
            "`both` has two results, and both have to be written; so it reads x and y, and writes "
            "two"
        )
    for key, count in truth.items():
        if answer[key] != count:
            what = (
                "what no kernel has to hand on stays in registers"
                if "fused" in key
                else "go operator by operator"
            )
            raise Wrong(
                f"{key}: not {answer[key]!r} arrays; {what}, and count inputs and results of each"
            )
    return ""


@exercise(
    level=2,
    title="One group, please",
    ask="""
        `apart` runs as operators, or as several kernels. Write `together(x, y)` with the same
        results (up to rounding) for equally large matrices, so that the compiled function is *one*
        fusion group and nothing else. The caller's tensors stay as they are.""",
    given="""
        def apart(x, y):
            z = x * y
            z.add_(1)
            w = torch.sigmoid(z.t())
            return w.t() * x""",
    start="""
        def together(x, y):
            ...""",
    passes=("together",),
    hints=(
        "Two things end a group here. Which line writes to memory that may be looked at from "
        "elsewhere, and which moves elements?",
        "A sigmoid does not care where an element is: what is turned and turned back need not be "
        "turned.",
    ),
    solution="""
        def together(x, y):
            z = x * y + 1
            return torch.sigmoid(z) * x""",
    why=(
        "In-place operations save memory where each operator runs alone. Where a compiler joins "
        "them, they are in its way."
    ),
    mistakes=[
        Mistake(
            "In place saves memory, so it is good for fusion.",
            """
            def together(x, y):
                z = x * y
                z.add_(1)
                return torch.sigmoid(z) * x""",
            "written in place",
        ),
        Mistake(
            "A transpose costs nothing.",
            """
            def together(x, y):
                z = x * y + 1
                return torch.sigmoid(z.t()).t() * x""",
            "turns",
        ),
        Mistake(
            "The sum may be put into the caller's tensor.",
            """
            def together(x, y):
                x.mul_(y)
                return torch.sigmoid(x + 1) * x""",
            "the caller's",
        ),
        Mistake(
            "The order of product and sum does not matter.",
            """
            def together(x, y):
                return torch.sigmoid(x * (y + 1)) * x""",
            "other numbers",
        ),
        Mistake(
            "Leave away what is not needed for the shape.",
            """
            def together(x, y):
                return torch.sigmoid(x * y + 1) * y""",
            "other numbers",
        ),
    ],
)
def fusion_2(together: Callable[[Any, Any], Any]) -> str:
    x, y = (torch.arange(12.0).reshape(3, 4) / scale - 1 for scale in (4, 7))
    before = x.tolist(), y.tolist()
    expected = torch.sigmoid(x * y + 1) * x
    result = together(x, y)
    if (x.tolist(), y.tolist()) != before:
        raise Wrong(
            "the caller's tensor was changed: an operation in place on an argument is seen outside"
        )
    if not isinstance(result, torch.Tensor) or result.shape != expected.shape:
        raise Wrong(f"a tensor of the shape of x is wanted, not {result!r}")
    if not torch.allclose(result, expected):
        largest = (result - expected).abs().max().item()
        raise Wrong(f"it gives other numbers than `apart`: they are {largest:.2g} off")
    square = torch.ones(8, 8)
    kinds = [
        n.kind()
        for n in torch.jit.script(together).graph_for(square, square).nodes()
        if n.kind() != "prim::Constant"
    ]
    if kinds == ["prim::FusionGroup"]:
        return "seven operators, two of them only turning, and now one loop"
    told = ", ".join(kinds)
    if any(kind.endswith("_") for kind in kinds):
        raise Wrong(f"something is still written in place, and nothing moves past it: {told}")
    if any(kind in ("aten::t", "aten::transpose", "aten::permute") for kind in kinds):
        raise Wrong(
            "something still turns the matrix, after which 'the same place' is another place: "
            f"{told}"
        )
    raise Wrong(f"one group is wanted, the executor has: {told}")


@exercise(
    level=3,
    title="A softmax in one walk",
    ask="""
        A softmax of a row needs its maximum and its sum: three walks over the row. It can do with
        two. Write `maximum_and_sum(begin, end, x, out)` in the kernel language: in *one* walk from
        `begin` to `end` it finds the maximum m of `x` and the sum of exp(x - m), and writes them to
        `out[0]` and `out[1]`. The trick: when a larger maximum comes, what was summed so far is
        multiplied by exp(old - new). Every element is read once; nothing may overflow.

        It runs as Python first, then as machine code. `math` and `np` are there.""",
    given="import math",
    start="""
        def maximum_and_sum(begin, end, x, out):
            ...""",
    passes=("maximum_and_sum",),
    hints=(
        "Begin with the first element as the maximum, and 1 as the sum.",
        "For each further element: if it is larger than m, the sum becomes `sum * exp(m - value) + "
        "1`; else add exp(value - m).",
    ),
    solution="""
        def maximum_and_sum(begin, end, x, out):
            m, total = x[begin], 1.0
            for i in range(begin + 1, end):
                value = x[i]
                if value > m:
                    total = total * math.exp(m - value) + 1.0
                    m = value
                else:
                    total += math.exp(value - m)
            out[0] = m
            out[1] = total""",
    why=(
        "This is the online softmax, on which FlashAttention rests: a row need not be in one "
        "piece, nor in memory at all."
    ),
    mistakes=[
        Mistake(
            "First the maximum, then the sum.",
            """
            def maximum_and_sum(begin, end, x, out):
                m = x[begin]
                for i in range(begin, end):
                    m = max(m, x[i])
                total = 0.0
                for i in range(begin, end):
                    total += math.exp(x[i] - m)
                out[0] = m
                out[1] = total""",
            "was read",
        ),
        Mistake(
            "The maximum is not needed, it cancels.",
            """
            def maximum_and_sum(begin, end, x, out):
                m, total = x[begin], 0.0
                for i in range(begin, end):
                    value = x[i]
                    total += math.exp(value)
                    m = max(m, value)
                out[0] = m
                out[1] = total / math.exp(m)""",
            "overflow",
        ),
        Mistake(
            "What was summed stays as it is.",
            """
            def maximum_and_sum(begin, end, x, out):
                m, total = x[begin], 0.0
                for i in range(begin, end):
                    value = x[i]
                    m = max(m, value)
                    total += math.exp(value - m)
                out[0] = m
                out[1] = total""",
            "for an older, smaller maximum",
        ),
        Mistake(
            "The correction goes the other way.",
            """
            def maximum_and_sum(begin, end, x, out):
                m, total = x[begin], 1.0
                for i in range(begin + 1, end):
                    value = x[i]
                    if value > m:
                        total = total * math.exp(value - m) + 1.0
                        m = value
                    else:
                        total += math.exp(value - m)
                out[0] = m
                out[1] = total""",
            "exp(old - new)",
        ),
        Mistake(
            "A maximum begins at 0.",
            """
            def maximum_and_sum(begin, end, x, out):
                m, total = 0.0, 0.0
                for i in range(begin, end):
                    value = x[i]
                    if value > m:
                        total = total * math.exp(m - value) + 1.0
                        m = value
                    else:
                        total += math.exp(value - m)
                out[0] = m
                out[1] = total""",
            "all negative",
        ),
    ],
)
def fusion_3(maximum_and_sum: Callable[..., None]) -> str:
    from internals.machine_code import kernel

    class Row(list[float]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            self.reads += 1
            return super().__getitem__(index)

    rows = {
        "falling": [3.0, 2.0, 1.0],
        "rising": [1.0, 2.0, 4.0],
        "negative": [-5.0, -3.0, -4.0],
        "large": [900.0, 1000.0, 999.0],
        "mixed": [0.5, 2.0, -1.0, 2.5, 2.5, 0.0],
    }
    for name, numbers in rows.items():
        row, out = Row([7e7, *numbers]), [0.0, 0.0]
        try:
            maximum_and_sum(1, len(row), row, out)
        except OverflowError:
            raise Wrong(
                f"{numbers}: an overflow; exp(1000) is too large for any float, exp(x - m) never is"
            ) from None
        m = max(numbers)
        total = sum(float(np.exp(value - m)) for value in numbers)
        if out[0] != m:
            told = (
                "; with numbers that are all negative 0 is not the maximum"
                if m < 0 and out[0] == 0
                else ""
            )
            raise Wrong(f"{numbers}: the maximum is {m}, not {out[0]}{told}")
        if abs(out[1] - total) > 1e-6 * total:
            if name == "rising" and out[1] > 5:
                raise Wrong(
                    f"{numbers}: {out[1]:.3f} instead of {total:.3f}; the sum shrinks when m "
                    "grows: exp(old - new)"
                )
            if name == "rising":
                raise Wrong(
                    f"{numbers}: {out[1]:.3f} instead of {total:.3f}; a part was summed for an "
                    "older, smaller maximum"
                )
            raise Wrong(f"{numbers}: the sum of exp(x - m) is {total:.4f}, not {out[1]:.4f}")
        if row.reads > len(numbers) + 1:
            raise Wrong(
                f"a row of {len(numbers)} elements was read {row.reads} times: one walk, so each "
                "element once"
            )
    x, result = torch.linspace(-3, 3, 1000), torch.zeros(2)
    kernel(maximum_and_sum).entry("*f4 *f4")(0, 1000, x.data_ptr(), result.data_ptr())
    softmax = torch.exp(x - result[0]) / result[1]
    if not torch.allclose(softmax, torch.softmax(x, 0), atol=1e-5):
        raise Wrong("as machine code it gives other numbers than as Python")
    return "one walk for both, and exp(x - m) / sum is the softmax that the real operator gives"
