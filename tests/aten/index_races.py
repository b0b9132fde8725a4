"""Operators whose indices, masks and counts another thread writes to meanwhile.

    python -m tests.aten.index_races SECONDS [NAME ...]

The other thread runs machine code, without the GIL: it changes an index from one that is right to
one far outside, and back, a million times a second. An operator may then raise its error or not,
but must not leave its memory. That would end the process, which is why
tests/aten/test_index_races.py starts one. Each operator has `SECONDS` with numpy, and as many with
machine code.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import internals as torch
from internals._generated import ops
from internals.machine_code import compiled_kernels, kernel

N, ROWS = 256, 8  # how many indices there are, and into how many rows
FAR = 1 << 40


@kernel
def flip(begin, end, shared, one, other, n):
    for k in range(begin, end):
        if k & 1:
            for i in range(n):
                shared[i] = one[i]
        else:
            for i in range(n):
                shared[i] = other[i]


def right(dtype: Any = np.int64) -> Any:
    return (np.arange(N) % ROWS).astype(dtype)


def wrong(at: Any, dtype: Any = np.int64) -> Any:
    """`right`, but for the last."""
    return np.array([*right()[:-1], at]).astype(dtype)


# What is written to: its two contents.
KINDS = {
    "index": (right(), wrong(FAR)),
    "negative": (right(), wrong(-FAR)),
    "int32": (right(np.int32), wrong(1 << 30, np.int32)),
    "column": (right().reshape(N, 1), wrong(FAR).reshape(N, 1)),
    "mask": (right() == 0, np.ones(N, bool)),
    "dense": (right() != 0, np.ones(N, bool)),
    "counts": (np.ones(N, np.int64), np.array([*np.ones(N - 1, np.int64), 100_000])),
    "numbers": tuple(np.random.default_rng(0).integers(-30_000, 30_000, (2, N)).astype(np.int16)),
    "floats": tuple(np.random.default_rng(0).standard_normal((2, N))),
    "sorted": tuple(np.sort(np.random.default_rng(0).standard_normal((2, N)))),
    "pivots": (np.arange(1, N + 1, dtype=np.int32), np.array([*range(1, N), 1 << 30], np.int32)),
    "offsets": (np.arange(N), np.array([*range(N - 1), FAR])),
}


def x() -> Any:
    return torch.zeros(ROWS)


def table() -> Any:
    return torch.zeros(ROWS, 4)


def rows() -> Any:
    return torch.ones(N, 4)


def ones() -> Any:
    return torch.ones(N)


def matrix() -> Any:
    return torch.eye(N)


Case = tuple[str, Callable[[Any], Any]]
CASES: dict[str, Case] = {
    "x[index]": ("index", lambda i: x()[i]),
    "x[index], negative": ("negative", lambda i: x()[i]),
    "x[index], int32": ("int32", lambda i: x()[i]),
    "table[index]": ("index", lambda i: table()[i]),
    "table[index, index]": ("index", lambda i: torch.zeros(ROWS, ROWS)[i, i]),
    "x[index] =": ("index", lambda i: x().index_put_([i], ones())),
    "x[index] = 0": ("index", lambda i: x().index_put_([i], torch.tensor(0.0))),
    "table[index] =": ("negative", lambda i: table().index_put_([i], rows())),
    "table[index, index] "
    "=": ("index", lambda i: torch.zeros(ROWS, ROWS).index_put_([i, i], ones())),
    "x[index] +=": ("index", lambda i: x().index_put_([i], ones(), accumulate=True)),
    "x[index] +=, negative": ("negative", lambda i: x().index_put_([i], ones(), accumulate=True)),
    "table[index] +=": ("index", lambda i: table().index_put_([i], rows(), accumulate=True)),
    "table[index] +=, many": ("index", lambda i: torch.zeros(ROWS, 64).index_put_([i], torch.ones(
        N, 64,
    ), accumulate=True)),
    "gather": ("index", lambda i: x().gather(0, i)),
    "gather, rows": ("column", lambda i: torch.zeros(N, ROWS).gather(1, i)),
    "take_along_dim": ("index", lambda i: x().take_along_dim(i, 0)),
    "index_select": ("index", lambda i: table().index_select(0, i)),
    "index_select, columns": ("int32", lambda i: table().index_select(0, i)),
    "scatter": ("index", lambda i: x().scatter_(0, i, ones())),
    "scatter, a number": ("index", lambda i: x().scatter_(0, i, 1.0)),
    "scatter, rows": ("column", lambda i: torch.zeros(N, ROWS).scatter_(1, i, torch.ones(N, 1))),
    "scatter, columns": ("column", lambda i: table().scatter_(0, i.expand(N, 4), rows())),
    "scatter_add": ("index", lambda i: x().scatter_add_(0, i, ones())),
    "scatter_add, columns": ("column", lambda i: table().scatter_add_(0, i.expand(N, 4), rows())),
    "scatter multiply": ("index", lambda i: ops.scatter__reduce(x(), 0, i, ones(), "multiply")),
    "scatter_reduce": ("index", lambda i: x().scatter_reduce_(0, i, ones(), "amax")),
    "scatter_reduce, mean": ("index", lambda i: x().scatter_reduce_(
        0, i, ones(), "mean", include_self=False,
    )),
    "index_add": ("index", lambda i: x().index_add_(0, i, ones())),
    "index_add, rows": ("index", lambda i: table().index_add_(0, i, rows())),
    "index_add, columns": ("negative", lambda i: table().t().contiguous().index_add_(
        1, i, rows().t().contiguous(),
    )),
    "index_copy": ("index", lambda i: table().index_copy_(0, i, rows())),
    "index_fill": ("index", lambda i: table().index_fill_(0, i, 1.0)),
    "index_reduce": ("index", lambda i: table().index_reduce_(0, i, rows(), "prod")),
    "put": ("index", lambda i: x().put_(i, ones())),
    "put, accumulate": ("negative", lambda i: x().put_(i, ones(), accumulate=True)),
    "take": ("index", lambda i: x().take(i)),
    "embedding": ("index", lambda i: torch.nn.functional.embedding(i, table())),
    "embedding backward": ("index", lambda i: ops.embedding_dense_backward(
        rows(), i, ROWS, -1, False,
    )),
    "embedding_renorm_": ("index", lambda i: ops.embedding_renorm_(table(), i, 1.0, 2.0)),
    "embedding_bag": ("index", lambda i: torch.nn.functional.embedding_bag(
        i, table(), torch.tensor([0, 9]),
    )),
    "embedding_bag, max": ("index", lambda i: torch.nn.functional.embedding_bag(
        i, table(), i.new_tensor([0, 9]), mode="max",
    )),
    "embedding_bag, offsets": ("offsets", lambda i: torch.nn.functional.embedding_bag(
        i.new_zeros(N), table(), i,
    )),
    "embedding_bag backward": ("index", lambda i: ops._embedding_bag_dense_backward(
        torch.ones(2, 4), i, (torch.arange(N) > 9).long(), torch.tensor([10, N - 10]),
        torch.zeros(2, dtype=torch.int64), ROWS, False, 0, None, -1)),
    "nll_loss": ("index", lambda i: torch.nn.functional.nll_loss(torch.zeros(N, ROWS), i)),
    "nll_loss, weighted": ("index", lambda i: torch.nn.functional.nll_loss(
        torch.zeros(N, ROWS), i, x(),
    )),
    "nll_loss backward": ("index", lambda i: ops.nll_loss_backward(
        torch.tensor(1.0), torch.zeros(N, ROWS), i, x(), 1, -100, torch.tensor(1.0))),
    "cross_entropy": ("index", lambda i: torch.nn.functional.cross_entropy(
        torch.zeros(N, ROWS), i, label_smoothing=0.1,
    )),
    "multi_margin_loss": ("index", lambda i: torch.nn.functional.multi_margin_loss(torch.zeros(
        N, ROWS,
    ), i, weight=x())),
    "multilabel_margin_loss": ("index", lambda i: torch.nn.functional.multilabel_margin_loss(
        torch.zeros(N), i,
    )),
    "ctc_loss": ("index", lambda i: ops._ctc_loss(
        torch.zeros(N, 1, ROWS), i.view(1, N), [N], [N], 0, False,
    )),
    "one_hot": ("index", lambda i: torch.nn.functional.one_hot(i, ROWS)),
    "bincount": ("counts", lambda i: i.bincount()),
    "searchsorted": ("offsets", lambda i: torch.searchsorted(ones(), ones(), sorter=i)),
    "max_unpool": ((
        "index"
    ), lambda i: ops.max_unpool2d(torch.ones(1, N, 1), i.view(1, N, 1), [N, 2])),
    "max_pool backward": ("index", lambda i: ops.max_pool2d_with_indices_backward(
        torch.ones(1, 1, N, 1), torch.ones(1, 1, N, 2), [1, 2], [1, 2], [0, 0], [1, 1], False,
        i.view(1, 1, N, 1))),
    "segment_reduce": ("counts", lambda i: ops.segment_reduce(
        ones(), "sum", i, None, None, 0, True, None,
    )),
    "repeat_interleave": ("counts", lambda i: torch.repeat_interleave(i)),
    "repeat_interleave, rows": ("counts", lambda i: rows().repeat_interleave(i, 0)),
    "pack_padded_sequence": ("counts", lambda i: ops._pack_padded_sequence(
        torch.ones(3, N), i, False,
    )),
    "pad_packed_sequence": ("counts", lambda i: ops._pad_packed_sequence(ones(), i, False, 0.0, 0)),
    "x[mask]": ("mask", lambda m: ones()[m]),
    "x[mask] =": ("mask", lambda m: ones().index_put_([m], torch.ones(N // ROWS))),
    "x[mask] = 0": ("mask", lambda m: ones().index_put_([m], torch.tensor(0.0))),
    "rows[mask]": ("dense", lambda m: rows()[m]),
    "rows[mask] = 0": ("mask", lambda m: rows().index_put_([m], torch.tensor(0.0))),
    "masked_select": ("mask", lambda m: ones().masked_select(m)),
    "masked_scatter": ("mask", lambda m: ones().masked_scatter_(m, torch.ones(N // ROWS))),
    "masked_fill": ("mask", lambda m: ones().masked_fill_(m, 0.0)),
    "nonzero": ("mask", lambda m: m.nonzero()),
    "nonzero, dense": ("dense", lambda m: m.nonzero()),
    "nonzero, numbers": ("index", lambda i: i.nonzero()),
    "argwhere": ("mask", lambda m: torch.argwhere(m.view(ROWS, -1))),
    "sort": ("numbers", lambda t: t.sort(stable=True)),
    "sort, floats": ("floats", lambda t: t.sort()),
    "topk": ("numbers", lambda t: t.topk(100)),
    "mode": ("numbers", lambda t: t.mode()),
    "median": ("floats", lambda t: t.median(0)),
    "kthvalue": ("numbers", lambda t: t.kthvalue(9)),
    "unique": ("numbers", lambda t: t.unique(return_inverse=True)),
    "unique, rows": ("numbers", lambda t: t.view(-1, 2).unique(dim=0)),
    "histc": ("floats", lambda t: t.histc(10)),
    "histogram": ("floats", lambda t: t.histogram(10)),
    "histogram, edges": ("sorted", lambda t: torch.histogram(torch.rand(N).double(), t)),
    "histogramdd": ("floats", lambda t: torch.histogramdd(t.view(-1, 2), [3, 3])),
    "isin": ("numbers", lambda t: torch.isin(t, t)),
    "lu_unpack": ("pivots", lambda p: torch.lu_unpack(matrix(), p)),
    "lu_solve": ("pivots", lambda p: torch.linalg.lu_solve(matrix(), p, matrix()[:, :1])),
    "ldl_solve": ("pivots", lambda p: torch.linalg.ldl_solve(matrix(), p, matrix()[:, :1])),
}  # fmt: skip


def run(name: str, seconds: float) -> int:
    """How often it was called."""
    kind, call = CASES[name]
    one, other = KINDS[kind]
    call(torch.tensor(one))  # which must succeed, or there is no race
    shared = torch.tensor(one)
    address, words = shared.data_ptr(), shared.nbytes // 8
    entry, is_over = flip.entry("*i8 *i8 *i8 i8"), False

    def write() -> None:
        while not is_over:
            entry(0, 1000, address, one.ctypes.data, other.ctypes.data, words)

    thread = threading.Thread(target=write)
    thread.start()
    calls = 0
    try:
        for setting in ({"enabled": False}, {"threshold": 1}):
            end = time.monotonic() + seconds
            with compiled_kernels(**setting):  # type: ignore[arg-type]
                while time.monotonic() < end:
                    calls += 1
                    try:
                        call(shared)
                    except (RuntimeError, IndexError, NotImplementedError):
                        pass
    finally:
        is_over = True
        thread.join()
    return calls


def main(seconds: float, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-4)
    for name in names or CASES:
        print(name, flush=True)
        run(name, seconds)
    print("all of them", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
