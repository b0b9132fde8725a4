"""What the operators launch: each kernel with the types of its arguments, noted while a driver that
runs none of them is called.

So nothing has to say which instances there are, and a kernel that no call here comes to is missed
by `test_ptx.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import internals
from internals._generated import ops
from internals.aten.scalar_functions import ScalarFunction, entries, get, kind_of
from internals.core import dtype as dt
from internals.cuda import backend
from internals.cuda.device_array import DeviceArray
from internals.cuda.kernels import compaction
from internals.cuda.kernels.functors import on_gpu
from internals.cuda.language import Kernel
from internals.cuda.native.elementwise import _call, instance
from internals.cuda.native.opmath import opmath_type
from internals.cuda.simulator.driver import SimulatedDriver

Item = tuple[Kernel, tuple[Any, ...]]


class Noting(SimulatedDriver):
    """To host code it is a GPU. It only runs what counts, for a result whose size depends on it."""

    simulated = False

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[Any, Item] = {}

    def launch(
        self, device: int, stream: int, kernel: Any, grid: Any, block: Any, args: tuple[Any, ...]
    ) -> None:
        types = tuple(map(type_of, args))
        self.items.setdefault((spelled_out(kernel), repr(types)), (kernel, types))
        if kernel.function.__module__ == compaction.__name__:
            super().launch(device, stream, kernel, grid, block, args)


def spelled_out(value: Any) -> Any:
    """A kernel, or what fills one of its template parameters, with all that is filled in there in
    turn.
    """
    if not hasattr(value, "bindings"):
        return value
    return value.function, tuple((name, spelled_out(v)) for name, v in value.bindings)


def type_of(argument: Any) -> Any:
    """As `ptx` wants to be told."""
    if isinstance(argument, DeviceArray):
        return f"{argument.dtype.np.name}[:]"
    if isinstance(argument, tuple) and not hasattr(argument, "_fields"):
        return tuple(map(type_of, argument))
    return argument if hasattr(argument, "_fields") else type(argument)


def noted(call: Callable[[], Any]) -> list[Item]:
    """What `call()` launches."""
    with backend.installed(Noting()) as driver:
        call()
    assert isinstance(driver, Noting)
    return list(driver.items.values())


def by_operators() -> list[Item]:
    """What the operators launch, but for elementwise ones, of which there are a few."""

    def all_calls() -> None:
        for d in (dt.float16, dt.float32, dt.float64):
            list(of_floats(d))
        for d in (dt.float16, dt.float32):
            list(products(d))
        list(convolutions(dt.float32))
        for d in dt.ALL:
            list(moves(d))
            if not d.is_complex:
                list(of_real(d))

    return [*noted(all_calls), *elementwise()]


def some(d: Any, *sizes: int) -> Any:
    """Made on the host: what is copied arrives."""
    return internals.ones(*sizes).to(d).cuda()


def of_floats(d: Any) -> Iterator[Any]:
    x, image, index, row = some(d, 40, 50), some(d, 2, 4, 8, 6), some(dt.int64, 3), some(d, 50)
    splits = (
        [(some(d, 4096, 300), 0), (some(d, 1 << 16), 0), (some(d, 3, 4, 5, 6), (0, 2))]
        if d is dt.float32
        else []
    )
    for t, dim in [(x, 0), (x, 1), *splits]:
        for name in ("sum", "mean", "var", "std", "amax", "amin", "logsumexp", "any"):
            yield getattr(t, name)(dim)
    for p in (0.0, 1.0, 2.0, 3.0, float("inf"), -float("inf")):
        yield x.norm(p, 1)
    for dim in (0, 1):
        yield [
            x.cumsum(dim),
            x.cumprod(dim),
            x.sort(dim),
            x.topk(2, dim),
            internals.var_mean(x, dim),
        ]
        yield [x.max(dim), x.min(dim), x.argmax(dim), x.prod(dim), x.all(dim)]
        yield [ops._softmax_backward_data(x.softmax(dim), x, dim, d), some(d, 3, 20000).cumsum(dim)]
        yield ops._log_softmax_backward_data(x.log_softmax(dim), x, dim, d)
    asked, target = [True] * 3, some(dt.int64, 40)
    for weight, scale in ((None, None), (row, some(d, 4))):
        mean, rstd = ops.native_layer_norm(x, [50], weight, weight, 1e-5)[1:]
        mask = [True] + [weight is not None] * 2
        yield ops.native_layer_norm_backward(x, x, [50], mean, rstd, weight, weight, mask)
        means, rstds = ops.native_group_norm(image, scale, scale, 2, 4, 48, 2, 1e-5)[1:]
        yield ops.native_group_norm_backward(image, image, means, rstds, scale, 2, 4, 48, 2, asked)
        running = [some(d, 4)] * 2
        for train in (True, False):
            yield ops.native_batch_norm(image, scale, scale, *running, train, 0.1, 1e-5)
            yield ops.native_batch_norm_backward(
                image, image, scale, *running, *running, train, 1e-5, asked
            )
        for reduction in (0, 1, 2):
            output, total = ops.nll_loss_forward(x, target, weight, reduction, -100)
            yield ops.nll_loss_backward(output, x, target, weight, reduction, -100, total)
    window = [2, 2], [2, 2], [0, 0]
    y, places = ops.max_pool2d_with_indices(image, *window, [1, 1], False)
    yield ops.max_pool2d_with_indices_backward(y, image, *window, [1, 1], False, places)
    yield ops.avg_pool2d_backward(
        ops.avg_pool2d(image, *window, False, True, None), image, *window, False, True, None
    )
    yield ops._adaptive_avg_pool2d_backward(ops._adaptive_avg_pool2d(image, [3, 2]), image)
    small, big = [2, 4, 8, 6], [16, 12]
    yield ops.upsample_nearest2d_backward(
        ops.upsample_nearest2d(image, big, None, None), big, small, None, None
    )
    wide = some(d, 2, 4, *big)
    yield ops.upsample_bilinear2d(image, big, False, None, None)
    yield ops.upsample_bilinear2d_backward(wide, big, small, False, None, None)
    yield ops.col2im(ops.im2col(image, *[[2, 2]] * 4), [8, 6], *[[2, 2]] * 4)
    yield [ops.native_dropout(x, 0.5, True), ops.native_dropout_backward(x, x > 0, 2.0)]
    yield [
        x.clone().normal_(),
        x.clone().uniform_(),
        x.clone().exponential_(),
        x.clone().bernoulli_(0.5),
    ]
    yield [x.bernoulli(), x.clone().random_(), x.clone().random_(1 << 30), x.multinomial(3, True)]
    yield [
        ops.embedding(x, index, -1, False, False),
        ops.embedding_renorm_(x.clone(), index, 1.0, 2.0),
    ]
    for kind in (dt.int32, dt.int64):
        yield ops.embedding_dense_backward(some(d, 3, 50), index.to(kind), 40, -1, True)
    yield [
        internals.linspace(0, 1, 5, dtype=d, device="cuda"),
        internals.arange(5, dtype=d, device="cuda"),
    ]


def moves(d: Any) -> Iterator[Any]:
    """What no dtype is refused, nor computed with."""
    x, index = some(d, 6, 5), some(dt.int64, 6, 5)
    at = index[:, 0].contiguous()
    yield [x.flip(0), x.roll(1, 0), x.repeat(2, 1), x.tril(), x.triu(), internals.cat([x, x], 1)]
    yield [
        x.gather(1, index),
        x.scatter(1, index, x),
        x.index_select(0, at),
        x.masked_select(some(dt.bool_, 6, 5)),
    ]
    yield [x[at], x.index_put((at.int(),), x), x.nonzero()]


def of_real(d: Any) -> Iterator[Any]:
    x, turned, index = some(d, 6, 5), some(d, 5, 6).t(), some(dt.int64, 6, 5)
    at = index[:, 0].contiguous()
    yield [
        x.scatter(1, index, x, reduce="multiply"),
        x.scatter_add(1, index, x),
        x.index_add(0, at, x),
    ]
    yield [turned.contiguous(), x.index_put((at,), x, True), x.any(), x.all(1), x.sum()]
    yield [
        x.to(dt.float32),
        x.clone().fill_(1),
        x[:, ::2].fill_(1),
        some(dt.float32, 6, 5).copy_(turned),
    ]
    yield ops.unfold_backward(some(d, 3, 5, 2), [6, 5], 0, 2, 2)
    if d.category == dt.INTEGRAL:
        yield [
            x.sort(1),
            x.amax(1),
            x.argmin(0),
            x.cumsum(1),
            x.random_(),
            internals.arange(5, dtype=d, device="cuda"),
        ]
        yield internals.linspace(0, 9, 5, dtype=d, device="cuda")
    if d in (dt.int32, dt.int64):
        yield [
            some(d, 6).repeat_interleave(some(d, 6)),
            internals.randperm(100, device="cuda"),
            x @ x.t(),
        ]
    if d is dt.int64:
        yield [x.random_(-(1 << 31), 1 << 31), x.random_(-(1 << 63), None)]


def products(d: Any) -> Iterator[Any]:
    """Of matrices small, middling and large, some of them transposed, and with vectors."""
    for n in (4, 40, 512):
        a = some(d, n, n)
        yield [a @ a, a @ a.t(), a @ a[0], a[0].dot(a[0]), internals.addmm(a, a.t(), a)]


def convolutions(d: Any) -> Iterator[Any]:
    """In one, two and three dimensions, with one channel to a group and with many."""
    for dims in (1, 2, 3):
        for channels, groups in ((2, 1), (32, 1), (4, 4)):
            x, w = (
                some(d, 2, channels, *(9,) * dims),
                some(d, channels, channels // groups, *(3,) * dims),
            )
            how = ([1] * dims, [1] * dims, [1] * dims, False, [0] * dims, groups)
            yield ops.convolution(x, w, some(d, channels), *how)
            yield ops.convolution_backward(x, x, w, [channels], *how, [True] * 3)


def elementwise(everything: bool = False) -> list[Item]:
    """Of each kind some, or every function in every dtype that it is for."""
    floats = [dt.float32, dt.float64, dt.float16]
    integers = [dt.int64, dt.int32, dt.int16, dt.int8, dt.uint8, dt.bool_]
    wanted: list[tuple[str, Any, int]] = [
        ("add", d, 0) for d in (dt.float32, dt.float16, dt.int32, dt.bool_)
    ]
    wanted += [(name, dt.float32, rank) for name in ("exp", "add", "lerp") for rank in (1, 3)]
    wanted += [
        (name, dt.float32, 0) for name in ("elu", "where", "binary_cross_entropy", "floor_divide")
    ]
    wanted += [("int_power", dt.int64, 0)]
    if everything:
        for entry in entries():
            kinds = entry.dtypes + "i" * (entry.on_integers is not None)
            wanted += [(entry.name, d, 0) for d in floats if "f" in kinds or not kinds]
            wanted += [(entry.name, d, 0) for d in integers if "i" in kinds]
    return [
        elementwise_example(get(name), d, rank) for name, d, rank in wanted if on_gpu(get(name))
    ]


def elementwise_example(entry: ScalarFunction, d: Any, rank: int) -> Item:
    """The kernel of `entry` for elements of dtype `d`, dense or strided with `rank` dimensions, and
    its arguments' types.
    """
    op, own = on_gpu(entry.on(kind_of(d))), len(entry.numbers)
    assert op is not None
    count = op.function.__code__.co_argcount - own
    targets = [dt.bool_, d, d] if entry.name in ("where", "masked") else [d] * count
    bound = instance(
        op, _call(count, list(range(count)), own), d, d, targets, targets, d, not rank, 1
    )
    arrays = [f"{x.np.name}[:]" for x in (d, *targets)]
    strides = (int,) * (rank or 1)
    return bound, (
        *arrays,
        (opmath_type(d),) * own or (int,),
        int,
        strides,
        *[strides] * (count + 1),
    )
