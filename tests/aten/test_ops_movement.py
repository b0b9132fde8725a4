"""Writing by index, reductions at an index, diagonals, stacking, splitting, grids, ranges: what
random arguments do not reach.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import internals as T
from tests.autograd.gradients_beside import check_gradients, expression as gradient
from tests.side_by_side import cases, check, expression

WRITES = """
    T.zeros(3).index_copy(0, T.tensor([0, -1]), T.ones(2))
    T.zeros(3).index_copy(0, T.tensor([0, 1], dtype=T.int32), T.ones(2))
    T.zeros(3).index_copy(0, T.tensor([0, 1]), T.ones(2, dtype=T.float64))
    T.zeros(3).index_copy(0, T.tensor([[0, 1]]), T.ones(2))
    T.zeros(3).index_copy(0, T.tensor([0, 1]), T.ones(3))
    T.zeros(3, 2).index_copy(0, T.tensor([0, 1]), T.ones(2))
    T.zeros(3, 2).index_copy(0, T.tensor([0, 1]), T.ones(2, 3))
    T.zeros(3).index_copy(0, T.tensor([1]), T.ones(()))
    T.zeros(()).index_copy(0, T.tensor([0]), T.ones(1))
    T.zeros(1).expand(3).index_copy_(0, T.tensor([0, 1]), T.ones(2))
    T.zeros(3).index_fill(0, T.tensor([0, -1]), 1)
    T.zeros(3).index_fill(0, T.tensor([0, -4]), 1)
    T.zeros(2, 3).t().index_fill(0, T.tensor([0]), 1).stride()
    T.zeros(2, 3).t().put(T.tensor([1]), T.ones(1)).stride()
    T.zeros(2, 3).t().index_copy(0, T.tensor([1]), T.ones(1, 2)).stride()
    T.zeros(2, 0).index_copy(0, T.tensor([7]), T.ones(1, 0))
    T.zeros(()).index_add(0, T.tensor([0, 0]), T.ones(()))
    T.zeros(()).index_reduce(0, T.tensor([0, 0]), T.ones(()), "amax")
    T.take_along_dim(T.ones(1), T.ones(1, 1), 1)
    T.ones(2).masked_scatter_(T.ones(3).bool(), T.ones(3))
    T.ones(1).expand(3).fill_(T.tensor(1.0))
    T.index_select(T.ones(0), 0, T.tensor([0]))
    T.zeros(3).index_fill(0, T.tensor([0, 1], dtype=T.int32), 1)
    T.zeros(3).index_fill(0, T.tensor([0]), 1j)
    T.zeros(3, dtype=T.uint8).index_fill(0, T.tensor([0]), 300)
    T.zeros(3).index_fill(0, T.tensor([0]), T.ones(1))
    T.zeros(3, dtype=T.long).index_fill(0, T.tensor([0]), T.tensor(2.7))
    T.zeros(1).expand(3).index_fill_(0, T.tensor([0]), 1)
    T.zeros(3).put(T.tensor([0, -1]), T.ones(2))
    T.zeros(3).put(T.tensor([0, 5]), T.ones(2))
    T.zeros(3).put(T.tensor([0, 1]), T.ones(3))
    T.zeros(0).put(T.tensor([0, 1]), T.ones(2))
    T.zeros(3, 2).t().put_(T.tensor([[0, 4, 4]]), T.ones(3), True)
    T.zeros(3).take(T.tensor([[0, -5]]))
    T.zeros(0).take(T.tensor([0, 1]))
    T.take(T.zeros(3), T.tensor([0, 1]), out=T.zeros(2).double())
    T.arange(6.0).view(3, 2).take_along_dim(T.tensor([[0, -4]]), 0)
    T.arange(6.0).view(3, 2).take_along_dim(T.tensor([0, -1]))
    T.arange(6.0).view(3, 2).take_along_dim(indices=T.tensor([0]), dim=0)
    T.take_along_dim(T.arange(6.0).view(3, 2), T.tensor([[0, 1]]), 0, out=T.zeros(0))
    T.zeros(3).masked_scatter(T.tensor([True, False, True]), T.ones(1))
    T.zeros(3).masked_scatter(T.tensor([1, 0, 1]), T.ones(2))
    T.zeros(3).masked_scatter(mask=T.tensor([[True], [False]]), source=T.arange(9.0))
    T.zeros(2, 3).masked_scatter_(T.tensor([True, False, True]), T.arange(9.0))
    T.zeros(3, 2).t().select_scatter(T.ones(3).double(), 0, -1).stride()
    T.zeros(8)[2:].as_strided_scatter(T.ones(2), (2,), (2,)).storage_offset()
    T.zeros(3, 2).slice_scatter(T.ones(2), 0, 1, 3)
    T.zeros(3, 2).slice_scatter(T.ones(2, 2), step=2)
    T.zeros(1).expand(3).select_scatter(T.tensor(1.0), 0, 1)
"""

REDUCTIONS = """
    T.zeros(3).scatter_reduce(0, T.tensor([0, 1]), T.ones(2), reduce="add")
    T.zeros(3, dtype=T.bool).scatter_reduce(0, T.tensor([0, 1]), T.ones(2, dtype=T.bool), "mean")
    T.zeros(3, dtype=T.complex64).scatter_reduce(0, T.tensor([0, 1]), T.ones(2, dtype=T.complex64),
        "amax")
    T.tensor([3, 4, -5], dtype=T.int8).scatter_reduce(0, T.tensor([0, 0, 2]),
        T.tensor([100, 100, 0], dtype=T.int8), "mean")
    T.tensor([3, 4, -5]).scatter_reduce(0, T.tensor([0, 2]), T.tensor([2, 0]), "amax",
        include_self=False)
    T.tensor([3.0, 4, -5]).scatter_reduce(0, T.tensor([0, 2]), T.tensor([nan, 0]), "amax")
    T.tensor(3.0).scatter_reduce_(0, T.tensor([0, 0]), T.tensor([1.0, 4]), "sum")
    T.zeros(3).index_reduce(0, T.tensor([0, 1]), T.ones(2), "sum")
    T.zeros(3).index_reduce(0, T.tensor([0, -1]), T.ones(2), "prod")
    T.zeros(3, dtype=T.bool).index_reduce(0, T.tensor([0, 1]), T.ones(2, dtype=T.bool), "amax")
    T.tensor([3, 4, -5]).index_reduce(0, T.tensor([0, 2]), T.tensor([2, 0]), "mean",
        include_self=False)
"""

DIAGONALS = """
    T.diag(T.zeros(2, 2, 2))
    T.diag(T.arange(3.0), diagonal=1)
    T.diag(T.arange(6.0).view(2, 3), 5)
    T.diag(T.arange(4.0).view(2, 2), out=T.zeros(0, dtype=T.double))
    T.diag_embed(T.ones(2, 2), 0, 0, 0)
    T.diag_embed(T.ones(2), 0, 0, 5)
    T.diag_embed(T.arange(4.0).view(2, 2), -1, 2, 0)
    T.diagflat(T.tensor(3.0), 1)
    T.zeros(7, 3).fill_diagonal_(1, wrap=True)
    T.zeros(3, 3, 3).fill_diagonal_(1)
    T.zeros(3, 3, 2).fill_diagonal_(1)
    T.zeros(4, 3).t().fill_diagonal_(1)
    T.block_diag(T.ones(2, 2), T.tensor(3), T.ones(2))
    T.block_diag(T.ones(2, 2, 2))
    T.block_diag()
    T.block_diag([T.ones(1, 1)])
    T.rot90(T.arange(4).view(2, 2), 1, [0, 0])
    T.rot90(T.arange(4).view(2, 2), 1, [0])
    T.rot90(T.arange(4).view(2, 2)).stride()
    T.fliplr(T.arange(4))
    T.flipud(T.tensor(1))
"""

STACKING = """
    T.unbind(T.tensor(1.0), -1)
    T.roll(T.ones(0), 1, 3)
    T.tensor(1.0).unflatten(0, (1, -1))
    T.ones(4).unflatten(0, (-1, -1))
    T.ones(4).unflatten(0, (-2, 2))
    T.repeat_interleave(T.tensor(1.0))
    T.broadcast_shapes((2, -1))
    T.broadcast_shapes((2, 3), (2, 1), (4, 2, 2))
    T.broadcast_shapes((0,), (3,))
    T.broadcast_shapes((1, 3), 3, [2, 1])
    T.hstack([T.tensor(1), T.ones(3)])
    T.hstack([])
    T.hstack([T.ones(2, 2), T.ones(2)])
    T.vstack([T.ones(2), T.ones(2, 2)])
    T.dstack([T.ones(2), T.ones(2)])
    T.column_stack([T.tensor(1), T.tensor(2.0)])
    T.column_stack((T.ones(2), T.ones(2, 2)))
    T.row_stack([])
    T.hstack([T.ones(2), T.ones(2)], out=T.zeros(0, dtype=T.long))
    T.concatenate([T.ones(1, 1), T.ones(1, 2)], axis=1)
    T.concat([])
    T.atleast_2d(T.ones(2), T.tensor(1))
    T.atleast_3d([T.ones(2), T.tensor(1)])
    T.atleast_1d()
    T.atleast_3d(T.ones(2, 2))
    T.tensor_split(T.arange(7), (3, 1, 9, -1))
    T.tensor_split(T.arange(7), T.tensor(3))
    T.tensor_split(T.arange(7), T.tensor([[1, 3]]))
    T.tensor_split(T.arange(7), T.tensor([1.0]))
    T.tensor_split(T.arange(7), 0)
    T.tensor_split(T.tensor(7), 1)
    T.tensor_split(T.arange(6).view(2, 3), indices=[1], dim=1)
    T.arange(6).view(2, 3).tensor_split(sections=2, dim=1)
    T.hsplit(T.arange(6).view(2, 3), 2)
    T.hsplit(T.tensor(1), 1)
    T.vsplit(T.arange(6), 2)
    T.dsplit(T.arange(8).view(2, 2, 2), [1])
    T.split(T.arange(5), split_size_or_sections=2, dim=0)
    T.unsafe_split_with_sizes(T.arange(5), [2, 3])
    T.narrow_copy(T.arange(5), 0, 4, 2)
    T.narrow_copy(T.arange(5), 0, -2, 2)
    T.broadcast_tensors()
    T.broadcast_tensors([T.ones(2), T.ones(1)])
    T.concat([T.ones(1)], out=T.zeros(0))
    T.row_stack([T.ones(1)], out=T.zeros(0))
    T.unflatten(input=T.arange(6), dim=0, sizes=(2, 3))
"""

GRIDS = """
    T.meshgrid(T.arange(2), T.arange(3))
    T.meshgrid([T.arange(2), T.tensor(3)], indexing="ij")
    T.meshgrid(T.arange(2), indexing="zz")
    T.meshgrid(T.arange(2), T.arange(2.0), indexing="ij")
    T.meshgrid(T.arange(2), T.arange(3), T.arange(2), indexing="xy")[0].stride()
    T.cartesian_prod(T.arange(2))
    T.cartesian_prod()
    T.cartesian_prod([T.arange(2), T.arange(2)])
    T.cartesian_prod(T.arange(2), T.arange(2.0))
    T.combinations(T.arange(3), 2, True)
    T.combinations(T.arange(3), 0)
    T.combinations(T.arange(3), r=5)
    T.combinations(T.tensor(1))
    T.tril_indices(4, 3, -1)
    T.triu_indices(3, 4, offset=1)
    T.tril_indices(-1, 3)
    T.tril_indices(3, 3, dtype=T.int16)
    T.vander(T.tensor([1, 2], dtype=T.int8), 3)
    T.vander(T.tensor([True, False]), N=3, increasing=True)
    T.vander(T.tensor([1, 2, 3]), N=-1)
    T.unravel_index(T.tensor([3, 5], dtype=T.int32), (2, 3))
    T.unravel_index(T.tensor([5.0]), 6)
    T.unravel_index(T.tensor([5]), (2, -3))
    T.unravel_index(T.tensor([5]), "a")
    T.logspace(0, 2, 5, dtype=T.int64)
    T.logspace(0, 2, 5, base=-2)
    T.logspace(0, 2j, 3, dtype=T.float32)
    T.logspace(T.tensor(0), 2, 3, out=T.zeros(3, dtype=T.int32))
    T.linspace(0, T.tensor([2.0]), 3)
    T.linspace(T.tensor(0), T.tensor(2.0), steps=3)
    T.range(0, 1, 0.25)
    T.range(0, 3, dtype=T.int64)
    T.range(0.5, 3.7, dtype=T.int64)
    T.range(1.5, 6.9, 2.2, dtype=T.int32)
    T.range(-1, 2, dtype=T.uint8)
    T.range(3, 0)
    T.range(0, 3, dtype=T.bool)
    T.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
    T.empty_permuted((2, 3), (0, 0))
    T.empty_permuted((2, 3), (0, -1))
"""

PYTHON_FUNCTIONS = """
    T.zeros(3).apply_(lambda v: v + 1)
    T.zeros(3).apply_(lambda v: "a")
    T.zeros(3, dtype=T.long).apply_(lambda v: 1.5)
    T.zeros(3, dtype=T.long).apply_(lambda v: "a")
    T.zeros(3).apply_(3)
    T.ones(2, 2).t().apply_(lambda v: v + 1).stride()
    T.zeros(3, requires_grad=True).apply_(lambda v: v + 1)
    T.ones(2, 3).map_(T.arange(3.0), lambda a, b: a + b)
    T.ones(3).map_(T.arange(3), lambda a, b: a + b)
    T.ones(3).map_(2.0, lambda a, b: a + b)
    T.ones(3).map2_(T.arange(3.0), T.ones(1), lambda a, b, c: a + b * c)
    T.ones(3).is_set_to(T.ones(3))
"""


@pytest.mark.parametrize(
    "line", cases(WRITES + REDUCTIONS + DIAGONALS + STACKING + GRIDS + PYTHON_FUNCTIONS)
)
def test_like_pytorch(line: str) -> None:
    check(expression(line))


# What gradients do at ties, at zeros and in views.
GRADIENTS = """
    x(3).scatter_reduce(0, x.index(0, 0, 2), x.of([1.0, 0.0, 2.0], "float64"), "prod")
    x.of([1.0, 2.0, 2.0], "float64").scatter_reduce(0, x.index(0, 0, 2),
        x.of([1.0, 1.0, 2.0], "float64"), "amax")
    x.of([1.0, 2.0, 2.0], "float64").scatter_reduce(0, x.index(0, 0, 2), x(3), "mean",
        include_self=False)
    x.of([0.0, 2.0, 0.0], "float64").index_reduce(0, x.index(0, 0, 2),
        x.of([3.0, 4.0, 2.0], "float64"), "prod")
    x(3, 2).index_reduce(0, x.index(0, 0, 2), x(3, 2), "amin", include_self=False)
    x(3).index_fill(0, x.index(0, 0, 2), x.of(2.0, "float64"))
    x(3).index_copy(0, x.index(1), x.of(2.0, "float64"))
    x(2, 3).masked_scatter(x.mask(2, 3), x(8))
    x(3).masked_scatter(x.mask(2, 3), x(2, 4))
    x(2, 3).put(x.index(1, 4), x(2))
    x(2, 3).put(x.index(1, 1), x(2), True)
    x(2, 3).take(x.index(1, 1, -1))
    x(3, 3).clone().fill_diagonal_(2.0)
    x(3, 2).clone().t().index_fill_(0, x.index(0), 1.0)
    x(3, 3).clone()[1:].masked_scatter_(x.mask(2, 3), x(6))
    T.block_diag(x(2, 2), x(3), x.of(1.0, "float64"))
    T.diag(x(2, 3))
    T.diag(x(3), -1)
    T.rot90(x(2, 3, 2), -1, (0, 2))
    T.meshgrid(x(2), x(3), indexing="xy")
    T.column_stack((x(2), x(2, 3)))
    x(4, 3).tensor_split(3)[1]
    x(4).unsafe_split(3)[1]
    T.unbind_copy(x(3, 2))[2]
    T.narrow_copy(x(5), 0, 1, 3)
    x(2, 3).take_along_dim(x.index(0, 2).view(2, 1), 1)
"""


@pytest.mark.parametrize("line", cases(GRADIENTS))
def test_gradients_like_pytorch(line: str) -> None:
    check_gradients(gradient(line))


def test_reductions_at_an_index_are_those_of_a_loop() -> None:
    stream = np.random.default_rng(1)
    start, index, src = stream.normal(size=6), stream.integers(0, 5, 40), stream.normal(size=40)
    reductions = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}
    for (name, reduce), include in itertools.product(reductions.items(), (True, False)):
        expected = [
            reduce([*src[index == i], *[s] * (include or i not in index)])
            for i, s in enumerate(start)
        ]
        arguments = (0, T.from_numpy(index), T.from_numpy(src), name)
        got = T.from_numpy(start.copy()).scatter_reduce_(*arguments, include_self=include)
        np.testing.assert_allclose(got.numpy(), expected, err_msg=name)
        if name != "sum":
            with warnings.catch_warnings(action="ignore"):
                got = T.from_numpy(start).index_reduce(*arguments, include_self=include)
            np.testing.assert_allclose(got.numpy(), expected, err_msg=name)


def test_like_numpy_and_itertools() -> None:
    a, b, c = np.arange(3.0), np.arange(4.0), np.arange(2.0)
    x, y, z = map(T.from_numpy, (a, b, c))
    for indexing in ("ij", "xy"):
        for ours, theirs in zip(
            T.meshgrid(x, y, z, indexing=indexing), np.meshgrid(a, b, c, indexing=indexing)
        ):
            np.testing.assert_array_equal(ours.numpy(), theirs)
    assert T.cartesian_prod(x, y, z).tolist() == [list(p) for p in itertools.product(a, b, c)]
    assert T.combinations(y, 3).tolist() == [list(p) for p in itertools.combinations(b, 3)]
    with_repeats = itertools.combinations_with_replacement(b, 2)
    assert T.combinations(y, 2, True).tolist() == [list(p) for p in with_repeats]
    np.testing.assert_array_equal(T.vander(y, 3).numpy(), np.vander(b, 3))
    np.testing.assert_array_equal(T.tril_indices(3, 4, 1).numpy(), np.tril_indices(3, 1, 4))
    np.testing.assert_allclose(T.logspace(0, 3, 7).numpy(), np.logspace(0, 3, 7), rtol=1e-6)
    matrix = np.arange(6.0).reshape(2, 3)
    m = T.from_numpy(matrix)
    for k in range(-1, 5):
        np.testing.assert_array_equal(T.rot90(m, k).numpy(), np.rot90(matrix, -k, (1, 0)))
    np.testing.assert_array_equal(m.take(T.tensor([[5, -6]])).numpy(), matrix.take([[5, -6]]))
    for ours, theirs in zip(T.tensor_split(y, [1, 3]), np.array_split(b, [1, 3])):
        np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize("cut", [
    lambda t: t.tensor_split(2), lambda t: t.hsplit(2), lambda t: T.vsplit(t, 2),
    lambda t: T.meshgrid(t[0], t[1], indexing="ij"), lambda t: T.broadcast_tensors(t, t[0]),
    lambda t: T.atleast_3d([t]), lambda t: [t.ravel()], lambda t: T.split(t, 3),
])  # fmt: skip
def test_parts_and_grids_are_views(cut: Any) -> None:
    t = T.arange(16.0).view(4, 4)
    parts = cut(t)
    assert all(part is t or part._base is t._base for part in parts)
    t.fill_(7.0)
    assert all((part == 7).all() for part in parts)


def test_copies_are_none() -> None:
    t = T.arange(6.0).view(2, 3)
    for copy in (
        T.select_copy(t, 0, 1),
        *T.unbind_copy(t),
        T.view_copy(t.t(), (6,)),
        T.diagonal_copy(t),
        T.alias_copy(t),
    ):
        assert not copy._is_view() and copy.is_contiguous()
        copy.zero_()
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]
    out = T.empty(0)
    assert T.slice_copy(t, 1, 0, 2, out=out) is out and out.tolist() == [[0, 1], [3, 4]]


def test_complex_products_have_gradients() -> None:
    """PyTorch refuses them."""
    z = T.tensor([1 + 2j, 0, 3 - 1j], dtype=T.complex128).requires_grad_()
    index = T.tensor([0, 0, 2])
    assert T.autograd.gradcheck(
        lambda a, b: a.scatter_reduce(0, index, b, "prod"), (z, (z * 2).detach().requires_grad_())
    )


def test_a_narrow_copy_may_begin_at_the_end() -> None:
    """PyTorch's gradient of it does not."""
    t = T.arange(5.0).requires_grad_()
    T.narrow_copy(t, 0, -2, 2).sum().backward()
    assert t.grad.tolist() == [0, 0, 0, 1, 1]


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="required to pass the indexing argument"):
        T.meshgrid(T.arange(2), T.arange(3))
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        T.range(0, 3)
    with pytest.warns(UserWarning, match="index_fill_ on expanded tensors is deprecated"):
        T.zeros(1).expand(3).index_fill_(0, T.tensor([0]), 1)


def test_python_loops_are_not_recorded() -> None:
    t = T.arange(4.0)
    assert t.apply_(lambda v: v * v) is t and t.tolist() == [0, 1, 4, 9] and t._version == 0
    assert T.ones(3).map_(t[1:], max).tolist() == [1, 4, 9]
    assert t.is_set_to(t.view(4)) and not t.is_set_to(t[1:])


def test_the_jit_knows_that_some_give_back_what_they_got() -> None:
    """Their schemas do not say so, in PyTorch neither."""
    from internals.jit.operators.alias_analysis import AliasDb

    def parts(x: T.Tensor):  # type: ignore[no-untyped-def]
        return (
            T.atleast_2d(x),
            T.meshgrid([x, x], indexing="ij")[0],
            T.cartesian_prod([x]),
            T.hstack([x]),
        )

    graph = T.jit.script(parts).graph
    (x,), aliases = graph.inputs(), AliasDb(graph)
    results = next(n for n in graph.nodes() if n.kind() == "prim::TupleConstruct").inputs()
    assert [aliases.may_alias(x, v) for v in results] == [True, True, True, False]
