"""Groups with reductions over rows in them, and layer norm: one kernel for what comes before and
after too; and any group.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import internals as torch
import internals.nn.functional as F
from internals.autograd import gradcheck
from internals.core.geometry import contiguous_strides
from internals.jit.fuser import fuser, kernels_of
from internals.jit.fuser.compiled_group import CompiledGroup
from internals.jit.fuser.loop_nest import loop_nest_of_rows
from internals.jit.fuser.steps import NotFusable, Rows
from tests.jit.fuser.support import both, close, group


def of_rows(body: str, result: str = "%r", inputs: str = "%x : Tensor, %y : Tensor") -> str:
    """A group that computes `body` with the constants below."""
    return f"""graph({inputs}):
  %1 : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %last : int[] = prim::Constant[value=[-1]]()
  %two : int[] = prim::Constant[value=[-2, -1]]()
  %eps : float = prim::Constant[value=1.0000000000000001e-05]()
{body}
  return ({result})"""


def reduction(name: str, dims: str, keep: str) -> str:
    middle = {"var": "%no, ", "std": "%yes, "}.get(name, "")
    end = "" if middle else ", %none"
    return f"""  %p : Tensor = aten::mul(%x, %y)
  %s : Tensor = aten::{name}(%p, %{dims}, {middle}%{keep}{end})
  %r : Tensor = aten::add(%s, %s, %1)"""


REDUCTIONS = ["sum", "mean", "var", "std"]
LAYER_NORM = """  %a : Tensor = aten::add(%x, %y, %1)
  %n : Tensor = aten::layer_norm(%a, %shape, %w, %b, %eps, %no)
  %r : Tensor = aten::relu(%n)"""


def layer_norm(shape: list[int], weights: str = "%w, %b") -> str:
    lines = LAYER_NORM.replace("%w, %b", weights)
    body = f"  %shape : int[] = prim::Constant[value={shape}]()\n{lines}"
    given = "".join(f", {v} : Tensor" for v in weights.split(", ") if v != "%none")
    return of_rows(body, inputs=f"%x : Tensor, %y : Tensor{given}")


class Array(NamedTuple):
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


SIZES = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)


@given(shape=SIZES.filter(lambda sizes: len(sizes) > 1), read=SIZES)
def test_rows_are_walked_over_with_whatever_is_broadcast_to_them_and_nothing_else(
    shape: Any, read: Any
) -> None:
    array = Array(read, contiguous_strides(read))
    try:
        fits = np.broadcast_shapes(shape, read) == shape
    except ValueError:
        fits = False
    with nullcontext() if fits else pytest.raises(NotFusable, match="other sizes than the rows"):
        walk = loop_nest_of_rows(Rows(shape, 1), [array], [], [torch.float32])
        assert walk.numel == int(np.prod(shape))


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(REDUCTIONS),
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    n=st.sampled_from([1, 2, 7, 33]),
    dims=st.sampled_from(["last", "two"]),
    keep=st.sampled_from(["yes", "no"]),
    repeated=st.sampled_from(["", "rows", "elements"]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_reduction_between_loops(
    name: str, sizes: list[int], n: int, dims: str, keep: str, repeated: str, dtype: Any
) -> None:
    sizes = [*sizes, n]
    other = {"": sizes, "rows": [1] * (len(sizes) - 1) + [n], "elements": [*sizes[:-1], 1]}[
        repeated
    ]
    x, y = torch.randn(sizes, dtype=dtype), torch.randn(other, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the standard deviation of one element
        fused, unfused, kernels = both(of_rows(reduction(name, dims, keep)), x, y)
    close(fused, unfused)
    length = n if dims == "last" else n * sizes[-2]
    whole = repeated == "" or dims == "last"
    if whole and not (name == "std" and length == 1):
        (kernel,) = kernels
        assert "row_" in kernel.source and kernel.outputs[0].sizes == tuple(unfused[0].shape)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.integers(1, 40),
    shape=st.sampled_from([[1], [5], [64], [3, 7], [1, 1]]),
    weights=st.sampled_from(["%w, %b", "%w, %none", "%none, %none"]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_layer_norm_between_loops(rows: int, shape: list[int], weights: str, dtype: Any) -> None:
    x, y = torch.randn([2, rows, *shape], dtype=dtype), torch.randn([2, rows, *shape], dtype=dtype)
    given = [torch.randn(shape, dtype=dtype) for v in weights.split(", ") if v != "%none"]
    fused, unfused, (kernel,) = both(layer_norm(shape, weights), x, y, *given)
    assert "row_rstd" in kernel.source
    close(fused, unfused)


ROOT_MEAN_SQUARE = """  %p : Tensor = aten::mul(%x, %x)
  %m : Tensor = aten::mean(%p, %last, %yes, %none)
  %e : Tensor = aten::add(%m, %eps, %1)
  %s : Tensor = aten::rsqrt(%e)
  %q : Tensor = aten::mul(%x, %s)
  %r : Tensor = aten::mul(%q, %y)"""


def test_the_text_of_a_kernel_with_a_mean() -> None:
    (kernel,) = both(of_rows(ROOT_MEAN_SQUARE), torch.randn(4, 6), torch.randn(6))[2]
    assert kernel.source.splitlines() == [
        "def fused_mul_mean_add_rsqrt_mul(begin, end, x, y, out, size1, x_stride0, y_stride0, "
        "out_stride0):",
        "    c1 = float32(1e-05)",
        "    one = float32(1)",
        "    for row in range(begin, end):",
        "        x_row = row * x_stride0",
        "        y_row = row * y_stride0",
        "        out_row = row * out_stride0",
        "        for j in range(size1):",
        "            x2 = x[x_row + j]",
        "            p = x2 * x2                             # %p = aten::mul(%x, %x)",
        "            out[out_row + j] = p",
        "        m = float32(row_mean(out, out_row, size1))  # %m = aten::mean(%p, %last, %yes, "
        "%none)",
        "        e = m + c1                                  # %e = aten::add(%m, %eps, %1)",
        "        s = one / sqrt(e)                           # %s = aten::rsqrt(%e)",
        "        for j in range(size1):",
        "            x2 = x[x_row + j]",
        "            y2 = y[y_row + j]",
        "            q = x2 * s                              # %q = aten::mul(%x, %s)",
        "            r = q * y2                              # %r = aten::mul(%q, %y)",
        "            out[out_row + j] = r",
    ]
    assert (kernel.bytes_moved, kernel.flops) == (4 * (24 + 6 + 24), 24 + 24 + 4 * 24)


def test_several_results_of_one_kernel() -> None:
    fused, unfused, kernels = both(
        of_rows(ROOT_MEAN_SQUARE, "%p, %m, %s, %q, %r"), torch.randn(5, 9), torch.randn(9)
    )
    assert len(kernels) == 1
    close(fused, unfused)


VARIANCE_BY_HAND = """  %m : Tensor = aten::mean(%x, %last, %yes, %none)
  %d : Tensor = aten::sub(%x, %m, %1)
  %q : Tensor = aten::mul(%d, %d)
  %v : Tensor = aten::mean(%q, %last, %no, %none)
  %r : Tensor = aten::mul(%v, %y)"""


def test_a_mean_of_what_a_mean_was_needed_for() -> None:
    """The last line multiplies numbers of rows with a tensor of one element for each row."""
    fused, unfused, kernels = both(of_rows(VARIANCE_BY_HAND), torch.randn(5, 9), torch.randn(5))
    assert len(kernels) == 1 and "work" in kernels[0].source
    close(fused, unfused)


def test_numbers_of_rows_that_meet_columns() -> None:
    """`x.sum(-1)` has 6 elements, and broadcasting takes them for a row: no kernel over rows does
    that.
    """
    body = "  %s : Tensor = aten::sum(%x, %last, %no, %none)\n  %r : Tensor = aten::mul(%x, %s)"
    for x in (torch.randn(6, 6), torch.randn(6, 6, 6)):
        fused, unfused, _ = both(of_rows(body), x, x)
        close(fused, unfused)


def test_reductions_and_softmax_in_one_group() -> None:
    body = """  %d : int = prim::Constant[value=-1]()
  %m : Tensor = aten::mean(%x, %last, %yes, %none)
  %c : Tensor = aten::sub(%x, %m, %1)
  %s : Tensor = aten::softmax(%c, %d, %none)
  %t : Tensor = aten::log_softmax(%c, %d, %none)
  %p : Tensor = aten::mul(%s, %t)
  %r : Tensor = aten::sum(%p, %last, %no, %none)"""
    fused, unfused, kernels = both(of_rows(body), torch.randn(7, 20), torch.ones(1))
    assert len(kernels) == 1
    close(fused, unfused)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_special_values_of_rows(name: str) -> None:
    x = torch.tensor(
        [
            [np.inf, 0.0, 1.0],
            [-np.inf, np.inf, 1.0],
            [np.nan, 0.0, 1.0],
            [3e38, 3e38, 0.0],
            [-0.0] * 3,
        ]
    )
    with np.errstate(all="ignore"):
        fused, unfused, _ = both(of_rows(reduction(name, "last", "no")), x, torch.ones(1))
    close(fused, unfused)


@pytest.mark.parametrize(
    "x", [torch.randn(6, 5).t(), torch.randn(5, 12)[:, ::2], torch.zeros(5, 0), torch.zeros(0, 5)],
    ids=lambda x: str(x.stride())
)  # fmt: skip
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_what_does_not_lie_in_rows(name: str, x: Any) -> None:
    body = (
        f"  %s : Tensor = aten::{name}(%x, %last, %yes, %none)\n  %r : Tensor = aten::sub(%x, %s, "
        "%1)"
    )
    with np.errstate(all="ignore"):
        node = CompiledGroup(group(of_rows(body)))
        with fuser(threshold=0, synchronous=True):
            fused = node(x, x)
        with fuser(enabled=False):
            close([fused], [node(x, x)])


def test_integers_and_a_few_long_rows_are_left_to_the_operators() -> None:
    body = "  %p : Tensor = aten::mul(%x, %y)\n  %r : Tensor = aten::sum(%p, %last, %no, %none)"
    for x in (torch.arange(12).reshape(3, 4), torch.randn(2, 1 << 16)):
        fused, unfused, kernels = both(of_rows(body), x, x)
        assert [k.left_to_operators for k in kernels] == [["aten::sum"]]
        close(fused, unfused)


def test_parts_of_the_work_have_memory_of_their_own() -> None:
    body = "  %p : Tensor = aten::mul(%x, %y)\n  %r : Tensor = aten::sum(%p, %last, %no, %none)"
    x, y = torch.randn(3000, 130), torch.randn(3000, 130)
    before = torch.get_num_threads()
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            for _ in range(5):
                close(*both(of_rows(body), x, y)[:2])
    finally:
        torch.set_num_threads(before)


def test_groups_take_along_what_goes_over_the_last_dimensions() -> None:
    def normalized(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w

    def centered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x * w - x.mean(0, keepdim=True)) * w

    x, w = torch.randn(4, 6), torch.randn(6)
    assert [k.tier for k in kernels_of(torch.jit.script(normalized), x, w)] == ["numba"]
    compiled = torch.jit.script(centered)
    kernels_of(compiled, x, w)
    assert "aten::mean" in [n.kind() for n in compiled.graph_for(x, w).nodes()]
    close([compiled(x, w)], [centered(x, w)])


def test_sizes_of_a_layer_norm_may_be_computed() -> None:
    def normalized(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(F.layer_norm(x, (x.size(-1),))) * 2.0

    compiled = torch.jit.script(normalized)
    for n in (4, 7):
        x = torch.randn(3, n)
        assert [k.name for k in kernels_of(compiled, x)] == ["fused_layer_norm_relu_mul"]
        with fuser(threshold=0, synchronous=True):
            close([compiled(x)], [normalized(x)])


def test_wrong_sizes_are_refused_as_by_the_operator() -> None:
    def normalized(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(F.layer_norm(x, (3,))) * 2.0

    compiled = torch.jit.script(normalized)
    with (
        fuser(threshold=0, synchronous=True),
        pytest.raises(RuntimeError, match="expected input with shape"),
    ):
        compiled(torch.randn(3, 4))


def test_rows_learn() -> None:
    def loss(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        y = F.layer_norm(x * w, (4,), w, b)
        y = torch.tanh(y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-5)) * w
        return ((y - y.mean(-1, keepdim=True)) ** 2).sum(-1) * y.var(-1)

    compiled = torch.jit.script(loss)
    with fuser(threshold=0, synchronous=True):
        inputs = [
            torch.randn(s, dtype=torch.float64).requires_grad_() for s in ((3, 4), (4,), (4,))
        ]
        assert gradcheck(compiled, inputs)
        with torch.no_grad():
            close([compiled(*inputs)], [loss(*inputs)])


def line(kind: str, a: str, b: str) -> str:
    """The right side of a node."""
    if kind in ("add", "sub"):
        return f"aten::{kind}(%{a}, %{b}, %1)"
    if kind == "mul":
        return f"aten::mul(%{a}, %{b})"
    if kind in ("relu", "tanh"):
        return f"aten::{kind}(%{a})"
    if kind in ("softmax", "log_softmax"):
        return f"aten::{kind}(%{a}, %d, %none)"
    name, keep = kind.split()
    middle = "%no, " if name == "var" else ""
    return f"aten::{name}(%{a}, %last, {middle}%{keep}{'' if middle else ', %none'})"


KINDS = [
    "add",
    "sub",
    "mul",
    "relu",
    "tanh",
    "softmax",
    "log_softmax",
    "sum yes",
    "sum no",
    "mean yes",
    "mean no",
    "var yes",
]


@settings(max_examples=60, deadline=None)
# the first one's row has to stay
@example(nodes=[("softmax", 0, 0), ("softmax", 0, 0)], outputs=[0, 1], rows=1, n=4)
@given(
    nodes=st.lists(
        st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 9)),
        min_size=2,
        max_size=8,
    ),
    outputs=st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True),
    rows=st.sampled_from([1, 4]),
    n=st.sampled_from([1, 4, 9]),
)
def test_any_group(
    nodes: list[tuple[str, int, int]], outputs: list[int], rows: int, n: int
) -> None:
    known, lines = ["x", "y", "z", "w"], ["  %d : int = prim::Constant[value=-1]()"]
    for i, (kind, a, b) in enumerate(nodes):
        a_name, b_name = known[-1 - a % len(known)], known[-1 - b % len(known)]
        lines.append(f"  %v{i} : Tensor = {line(kind, a_name, b_name)}")
        known.append(f"v{i}")
    results = list(dict.fromkeys(f"%{known[-1 - k % (len(known) - 4)]}" for k in outputs))
    text = of_rows(
        "\n".join(lines), ", ".join(results), "%x : Tensor, %y : Tensor, %z : Tensor, %w : Tensor"
    )
    torch.manual_seed(0)
    x, y, z, w = (
        torch.randn(s, dtype=torch.float64) for s in ((rows, n), (n,), (rows, 1), (rows,))
    )
    compiled = CompiledGroup(group(text))
    with fuser(enabled=False):
        try:
            unfused = compiled(x, y, z, w)
        except (RuntimeError, IndexError):  # sizes that do not fit
            return
    with fuser(threshold=0, synchronous=True):
        fused = compiled(x, y, z, w)
    close(*([r] if isinstance(r, torch.Tensor) else list(r) for r in (fused, unfused)))
