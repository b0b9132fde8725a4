"""What may be written where: an `out` that is a view of something larger, and arguments that share
memory with it.
"""

from __future__ import annotations

import math
import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.dispatcher import OperatorHandle
from internals.core.tensor_impl import array
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import TensorSpec
from tests.aten.test_op_fuzz import NOT_CALLED, OPS, UNINITIALISED, build
from tests.side_by_side import cases, check, expression
from tests.support import outcome

WRITES_OUT = [op for op in OPS if op.schema.is_out and op.schema.name not in UNINITIALISED]
GUARD, SIZE = 77, 4096


def contiguous(sizes: tuple[int, ...]) -> list[int]:
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]


def views(sizes: tuple[int, ...]) -> dict[str, tuple[int, tuple[int, ...], list[int]]]:
    """Offset, sizes and strides of tensors that `sizes` are written to, by what is special about
    them.
    """
    n, steps = math.prod(sizes), contiguous(sizes)
    wide = contiguous(tuple(size + 2 for size in sizes))
    return {
        "with an offset": (3, sizes, steps),
        "with gaps": (2, sizes, [2 * s for s in steps]),
        "narrowed": (2, sizes, wide),
        "transposed": (1, sizes, contiguous(sizes[::-1])[::-1]),
        "of as many elements": (2, (1, n, 1), [4, 2, 1]),
        "too small": (2, (1,), [1]),
        "too large": (2, (n + 2,), [2]),
        "empty": (3, (0,), [1]),
    }


def good_calls(op: OperatorHandle, count: int) -> list[dict[str, Any]]:
    """Arguments that the operator takes, with an empty `out`; the layouts are plain."""
    stream, found = np.random.default_rng(zlib.crc32(op.name.encode())), []
    for _ in range(60 * count):
        values = arguments(op.schema, stream)
        for v in values.values():
            for t in v if isinstance(v, list) else [v]:
                if isinstance(t, TensorSpec):
                    t.layout = "plain"
        if all(0 < t.numel() <= 64 for t in written(op, run(op, values))):
            found.append(values)
        if len(found) == count:
            break
    return found


def run(
    op: OperatorHandle, values: dict[str, Any], given: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The arguments after the call; `error` is what it raised. Each `out` that is not given is
    empty.
    """
    made = {name: build(v, internals) for name, v in values.items()}
    for a in op.schema.arguments:
        if a.is_write and a.kwarg_only:
            made[a.name] = internals.empty(0, dtype=made[a.name].dtype)
    made |= given or {}
    internals.manual_seed(1)
    error = outcome(lambda: op(*made.values()))[1]
    return {**made, "error": error}


def written(op: OperatorHandle, result: dict[str, Any]) -> list[Any]:
    names = [a.name for a in op.schema.arguments if a.is_write and a.kwarg_only]
    return [internals.empty(0)] if result["error"] else [result[name] for name in names]


def close(a: Any, b: Any) -> bool:
    with np.errstate(all="ignore"):
        return a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-4, equal_nan=True)


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize(
    "op", WRITES_OUT, ids=[op.name.removeprefix("aten::") for op in WRITES_OUT]
)
def test_nothing_is_written_beside_the_view(op: OperatorHandle) -> None:
    """An `out` in the middle of a larger storage: the result is what a new tensor would hold, and
    the rest is as it was.
    """
    if {op.name.removeprefix("aten::"), op.schema.name} & NOT_CALLED.keys():
        pytest.skip("no recipe")
    names = [a.name for a in op.schema.arguments if a.is_write and a.kwarg_only]
    for values in good_calls(op, 2):
        expected = run(op, values)
        for kind in views((1,)):
            memory, outs = {}, {}
            for name in names:
                t = expected[name]
                offset, sizes, strides = views(tuple(t.shape))[kind]
                memory[name] = internals.full((SIZE,), GUARD, dtype=t.dtype)
                outs[name] = memory[name].as_strided(sizes, strides, offset)
            got = run(op, values, outs)
            if got["error"] is not None:
                assert isinstance(got["error"], RuntimeError), f"{kind}: {got['error']!r}"
                continue
            for name in names:
                out, before = outs[name], np.full(SIZE, GUARD).astype(array(memory[name]).dtype)
                untouched = np.ones(SIZE, bool)
                places = np.zeros(tuple(out.shape), int) + out.storage_offset()
                for d, (size, step) in enumerate(zip(out.shape, out.stride())):
                    places = places + (np.arange(size) * step).reshape(
                        [-1 if i == d else 1 for i in range(out.dim())]
                    )
                untouched[places.ravel()] = False
                assert (array(memory[name])[untouched] == before[untouched]).all(), (
                    f"{kind}: {out.shape} {out.stride()}"
                )
                if not random(op):
                    wanted = np.array(array(expected[name]))
                    assert close(np.array(array(out)).reshape(wanted.shape), wanted), (
                        f"{kind}: {out} against {wanted}"
                    )


def random(op: OperatorHandle) -> bool:
    """Numbers are drawn in the order of memory, which differs."""
    return op.schema.name.startswith(("rand", "normal", "bernoulli", "multinomial", "rrelu"))


RANGES = cases("""
    T.arange(0, 4, out=T.zeros(2, 4).narrow(1, 1, 2))
    T.arange(0, 4, out=T.zeros(2, 2).t())
    T.arange(4, out=T.zeros(4, 2)[:, 1])
    T.arange(0, 4, out=T.zeros(2, 3)[:, :1])
    T.arange(0, 4, out=T.zeros(1).expand(4))
    T.range(0, 3, out=T.zeros(2, 4).narrow(1, 1, 2))
    T.linspace(0, 3, 4, out=T.zeros(2, 4).narrow(1, 1, 2))
    T.logspace(0, 3, 4, out=T.zeros(2, 4).narrow(1, 1, 2))
    T.fft.rfftfreq(6, out=T.zeros(2, 4).narrow(1, 1, 2))
""")


@pytest.mark.parametrize("text", RANGES)
def test_ranges_fill_what_is_as_large(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(expression(text), strides=True)


def test_a_range_stays_inside_its_view() -> None:
    x = internals.full((2, 4), 9.0)
    out = x.narrow(1, 1, 2)
    assert internals.arange(0, 4, out=out) is out
    assert x.tolist() == [[9, 0, 1, 9], [9, 2, 3, 9]] and out.stride() == (4, 1)
    with pytest.warns(UserWarning, match="does not match the computed number of elements 4"):
        assert internals.arange(0, 4, out=internals.empty(3)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["rand", "randn"])
def test_random_numbers_come_in_the_order_of_the_outs_memory(name: str) -> None:
    def case(T: Any, x: Any) -> Any:
        T.manual_seed(3)
        return getattr(T, name)(4, 5, out=T.empty(5, 4).t())

    check(case)
    check(lambda T, x: (T.manual_seed(3), T.empty(5, 4).t().bernoulli_(T.full((4, 5), 0.5)))[1])


REFUSED = cases("""
    (lambda t: t.view(4)[:3].index_add_(0, T.tensor([0, 1, 2]), t.view(4)[1:]))(x(2, 2))
    (lambda t: t[:2].index_add_(0, t[1:3], T.ones(2, dtype=T.int64)))(T.tensor([0, 1, 0, 1]))
    (lambda t: t[:2].index_fill_(0, t[1:3], 7))(T.tensor([0, 1, 0, 1]))
    (lambda t: t.index_fill_(0, t, 7))(T.tensor([0, 1, 0, 1]))
    (lambda t: t[:2].index_copy_(0, T.tensor([0, 1]), t[1:3]))(x(4))
    (lambda t: t[:2].index_reduce_(0, T.tensor([0, 1]), t[1:3], "amax"))(x(4))
    T.zeros(1).expand(3).bernoulli_(T.full((3,), 0.5))
    (lambda t: t[:2].bernoulli_(t[1:3]))(x.uniform(4))
    (lambda t: T.bernoulli(t[:2], out=t[1:3]))(x.uniform(4))
    (lambda t: t[:2].scatter_(0, t[1:3], 5))(T.tensor([0, 1, 0, 1]))
    (lambda t: T.gather(t, 0, T.tensor([0, 1]), out=t))(x(2))
    (lambda t: T.index_select(t, 0, T.tensor([0, 1]), out=t))(x(2))
    (lambda t: T.nonzero(t[:3].view(3), out=t.view(2, 3)[:1].t()))(T.ones(6, dtype=T.int64))
    (lambda t: T.masked_select(t[:2], T.tensor([True, True]), out=t[1:3]))(x(4))
    (lambda t: T.cumsum(t[:2], 0, out=t[1:3]))(x(4))
    (lambda t: T.sort(t[:2], out=(t[1:3], T.zeros(2, dtype=T.int64))))(x(4))
    (lambda t: T.max(t[:2], 0, out=(t[1], T.tensor(0))))(x(3))
    (lambda t: T.square(t[:2], out=t[1:3]))(x(4))
    (lambda t: T.linalg.cross(t, T.ones(3), out=t))(x(3))
    T.nonzero(T.ones(3), out=T.zeros(1, dtype=T.int64).expand(3, 1))
    T.nonzero(T.ones(3), as_tuple=True, out=T.zeros(0, dtype=T.int64))
""")


@pytest.mark.parametrize("text", REFUSED)
def test_shared_memory_is_refused_as_in_pytorch(text: str) -> None:
    check(expression(text))


@pytest.mark.parametrize("name", ["celu_", "selu_"])
def test_a_composed_activation_writes_to_no_element_twice(T: Any, name: str) -> None:
    """Its result is computed first and copied afterwards."""
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        getattr(T, name)(T.zeros(1).expand(3))


def test_shared_memory_is_refused() -> None:
    t = internals.tensor([0, 1, 0, 1])
    for call in (
        lambda: t[:2].index_add_(0, t[1:3], internals.ones(2, dtype=internals.int64)),
        lambda: t[:2].index_fill_(0, t[1:3], 7),
        lambda: internals.gather(t, 0, t, out=t),
        lambda: (p := internals.full((4,), 0.5))[:2].bernoulli_(p[1:3]),
    ):
        with pytest.raises(
            RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single",
        ):
            call()
    assert t.tolist() == [0, 1, 0, 1]
    with pytest.raises(
        RuntimeError, match="nonzero does not support the out kwarg when as_tuple is True"
    ):
        internals.nonzero(t, as_tuple=True, out=t)
