"""Datasets, samplers, collating and the DataLoader: PyTorch's batches in PyTorch's order."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import internals as T
from internals.core.tensor_impl import TensorImpl
from internals.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, TensorDataset
from tests.answers import answer
from tests.support import first_line, outcome

Case = Callable[[Any], Any]  # of a library
Point = collections.namedtuple("Point", "x y")


def as_plain(x: Any) -> Any:
    """Tensors as (dtype, nested lists), containers with their types."""
    if isinstance(x, TensorImpl) or type(x).__module__ == "torch":
        return str(x.dtype).rpartition(".")[2], x.tolist()
    if isinstance(x, collections.abc.Mapping):
        return type(x).__name__, {k: as_plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return "array", x.tolist()
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [as_plain(v) for v in x]
    return x if type(x) in (int, float, bool, str, bytes) else repr(x)


def both(case: Case, seed: int = 7) -> None:
    """`case(library)` gives the same in both, from the same seed, and leaves the generators in the
    same state.
    """

    def results(t: Any) -> Any:
        t.manual_seed(seed)
        return as_plain(case(t)), t.randint(1000, (3,)).tolist()

    assert results(T) == answer(results, family="programs")


def both_refuse(case: Case) -> None:
    error = outcome(lambda: case(T))[1]
    assert error is not None
    expected = outcome(lambda: answer(case, family="programs"))[1]
    assert type(error) is type(expected) and first_line(error) == first_line(expected)


def squares(t: Any, n: int = 11) -> Any:
    return t.utils.data.TensorDataset(t.arange(n), t.arange(n) ** 2 * 0.5)


def stream(t: Any, n: int = 7, length: int | None = None) -> Any:
    class Stream(t.utils.data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            return iter(range(n))

        def __len__(self) -> int:
            if length is None:
                raise TypeError("no length")
            return length

    return Stream()


def epochs(t: Any, dataset: Any, n: int = 2, **options: Any) -> list[Any]:
    """The batches of `n` passes, and the length."""
    loader = t.utils.data.DataLoader(dataset, **options)
    return [list(loader) for _ in range(n)] + [len(loader)]


# Side by side with PyTorch


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 4},
        {"batch_size": 4, "drop_last": True},
        {"batch_size": 4, "shuffle": True},
        {"batch_size": 11, "shuffle": True},
        {"batch_size": 100},
        {"batch_size": None},
        {"batch_size": None, "shuffle": True},
        {"batch_size": 3, "sampler": [5, 1, 1, 0]},
        {"batch_sampler": [[0, 1], [2], [3, 4, 5]]},
        {"batch_size": 2, "collate_fn": len},
        {"batch_size": 4, "worker_init_fn": print, "timeout": 0},
    ],
)
def test_batches_come_in_the_same_order(options: dict[str, Any]) -> None:
    both(lambda t: epochs(t, squares(t), **options))


def test_a_generator_of_ones_own_gives_the_same_order() -> None:
    def case(t: Any) -> Any:
        return epochs(
            t, squares(t), batch_size=4, shuffle=True, generator=t.Generator().manual_seed(3)
        )

    both(case)


SAMPLERS: list[Case] = [
    lambda t: t.utils.data.SequentialSampler(range(5)),
    lambda t: t.utils.data.RandomSampler(range(50)),
    lambda t: t.utils.data.RandomSampler(range(5), num_samples=13),
    lambda t: t.utils.data.RandomSampler(range(50), True),
    lambda t: t.utils.data.RandomSampler(range(50), replacement=True, num_samples=70),
    lambda t: t.utils.data.RandomSampler(range(50), generator=t.Generator().manual_seed(2)),
    lambda t: t.utils.data.SubsetRandomSampler([3, 8, 1, 9, 12]),
    lambda t: t.utils.data.SubsetRandomSampler(range(9), generator=t.Generator().manual_seed(2)),
    lambda t: t.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 20),
    lambda t: t.utils.data.WeightedRandomSampler(
        t.ones(12), 30, generator=t.Generator().manual_seed(2)
    ),
    lambda t: t.utils.data.BatchSampler(t.utils.data.SequentialSampler(range(10)), 3, False),
    lambda t: t.utils.data.BatchSampler(range(10), 3, True),
    lambda t: t.utils.data.BatchSampler(t.utils.data.RandomSampler(range(10)), 4, drop_last=True),
]


@pytest.mark.parametrize("case", SAMPLERS)
def test_the_samplers_agree(case: Case) -> None:
    both(lambda t: [list(case(t)), len(case(t)), list(case(t))])


@pytest.mark.parametrize("lengths", [[7, 4], [0.5, 0.5], [0.3, 0.3, 0.4], [11], [0.9, 0.1]])
def test_splits_agree(lengths: list[float]) -> None:
    both(lambda t: [part.indices for part in t.utils.data.random_split(squares(t), lengths)])


def test_a_split_by_a_generator_agrees() -> None:
    both(
        lambda t: [
            p.indices
            for p in t.utils.data.random_split(range(9), [5, 4], t.Generator().manual_seed(42))
        ]
    )


def test_datasets_made_of_datasets_agree() -> None:
    def made(t: Any) -> list[Any]:
        d = t.utils.data
        together = squares(t, 3) + d.Subset(squares(t), [9, 8])
        stacked = d.StackDataset(squares(t, 5), d.Subset(range(20), [4, 3, 2, 1, 0]))
        named = d.StackDataset(number=range(5), square=squares(t, 5))
        return [
            [together[i] for i in range(-5, 5)],
            epochs(t, together, batch_size=2, shuffle=True),
            epochs(t, stacked, batch_size=2, shuffle=True),
            epochs(t, named, batch_size=3),
            epochs(t, d.Subset(squares(t), [3, 1, 2]), batch_size=2),
            epochs(t, d.Subset(stacked, [3, 1, 2]), batch_size=2),
            d.Subset(t.arange(5) * 10, [4, 2, 0])[[0, 2]],
            list(stream(t) + stream(t, 2)),
        ]

    both(made)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 7},
    ],
)
def test_streams_agree(options: dict[str, Any]) -> None:
    both(lambda t: [list(t.utils.data.DataLoader(stream(t), **options)) for _ in range(2)])
    both(lambda t: len(t.utils.data.DataLoader(stream(t, 7, 7), **options)))


class Bag(dict):
    """A mapping with a type of its own."""


BATCHES: list[Case] = [
    lambda t: [1, 2, 3],
    lambda t: [True, False],
    lambda t: [1.5, 2.5],
    lambda t: ["a", "b"],
    lambda t: [b"a", b"b"],
    lambda t: [t.ones(2), t.zeros(2)],
    lambda t: (t.ones(2), t.zeros(2)),
    lambda t: [(t.ones(2), 1), (t.zeros(2), 2)],
    lambda t: [[t.ones(2), "a"], [t.zeros(2), "b"]],
    lambda t: [{"x": 1, "y": [2.0, 3.0]}, {"x": 4, "y": [5.0, 6.0]}],
    lambda t: [Bag(x=1), Bag(x=2)],
    lambda t: [Point(1, t.ones(1)), Point(2, t.ones(1))],
    lambda t: [np.float32(1), np.float32(2)],
    lambda t: [np.int8(1), np.int8(2)],
    lambda t: [np.bool_(True), np.bool_(False)],
    lambda t: [np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)],
    lambda t: [range(3), range(3)],
    lambda t: [[], []],
]


@pytest.mark.parametrize("case", BATCHES)
def test_collating_agrees(case: Case) -> None:
    both(lambda t: t.utils.data.default_collate(case(t)))


@pytest.mark.parametrize(
    "case", [*BATCHES, lambda t: np.array(["a"]), lambda t: 3, lambda t: None, lambda t: "text"]
)
def test_converting_agrees(case: Case) -> None:
    both(lambda t: t.utils.data.default_convert(case(t)))


REFUSED: list[Case] = [
    lambda t: t.utils.data.default_collate([object(), object()]),
    lambda t: t.utils.data.default_collate([np.array(["a"]), np.array(["b"])]),
    lambda t: t.utils.data.default_collate([None]),
    lambda t: t.utils.data.default_collate([[1, 2], [3]]),
    lambda t: t.utils.data.default_collate([t.ones(2), t.ones(3)]),
    lambda t: t.utils.data.TensorDataset(t.ones(2), t.ones(3)),
    lambda t: t.utils.data.ConcatDataset([]),
    lambda t: t.utils.data.ConcatDataset([stream(t)]),
    lambda t: t.utils.data.ConcatDataset([range(3)])[-4],
    lambda t: list(t.utils.data.ChainDataset([range(3)])),
    lambda t: t.utils.data.StackDataset(),
    lambda t: t.utils.data.StackDataset(range(3), range(4)),
    lambda t: t.utils.data.StackDataset(range(3), b=range(3)),
    lambda t: t.utils.data.Dataset()[0],
    lambda t: t.utils.data.random_split(range(5), [2, 2]),
    lambda t: t.utils.data.random_split(range(5), [1.5, -0.5]),
    lambda t: t.utils.data.RandomSampler(range(5), replacement=1),
    lambda t: t.utils.data.RandomSampler(range(5), num_samples=0),
    lambda t: t.utils.data.RandomSampler([]),
    lambda t: t.utils.data.WeightedRandomSampler([1.0], 0),
    lambda t: t.utils.data.WeightedRandomSampler([1.0], 2, replacement="yes"),
    lambda t: t.utils.data.WeightedRandomSampler([[1.0]], 2),
    lambda t: t.utils.data.BatchSampler(range(3), 0, False),
    lambda t: t.utils.data.BatchSampler(range(3), True, False),
    lambda t: t.utils.data.BatchSampler(range(3), 2, 0),
    lambda t: iter(t.utils.data.Sampler()),
    lambda t: t.utils.data.DataLoader(range(3), num_workers=-1),
    lambda t: t.utils.data.DataLoader(range(3), timeout=-1),
    lambda t: t.utils.data.DataLoader(range(3), prefetch_factor=2),
    lambda t: t.utils.data.DataLoader(range(3), persistent_workers=True),
    lambda t: t.utils.data.DataLoader(range(3), multiprocessing_context="fork"),
    lambda t: t.utils.data.DataLoader(range(3), shuffle=True, sampler=[1]),
    lambda t: t.utils.data.DataLoader(range(3), batch_sampler=[[1]], batch_size=2),
    lambda t: t.utils.data.DataLoader(range(3), batch_sampler=[[1]], shuffle=True),
    lambda t: t.utils.data.DataLoader(range(3), batch_size=None, drop_last=True),
    lambda t: t.utils.data.DataLoader(range(3), batch_size=-2),
    lambda t: t.utils.data.DataLoader([], shuffle=True),
    lambda t: t.utils.data.DataLoader(stream(t), shuffle=True),
    lambda t: t.utils.data.DataLoader(stream(t), sampler=[3]),
    lambda t: t.utils.data.DataLoader(stream(t), batch_sampler=[[3]]),
    lambda t: setattr(t.utils.data.DataLoader(range(3)), "batch_size", 2),
    lambda t: setattr(t.utils.data.DataLoader(range(3)), "dataset", [1]),
    lambda t: type("Odd", (t.utils.data.Subset,), {"__getitem__": lambda self, i: 0})(
        range(3), [0]
    ),
]


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_refused_in_the_same_words(case: Case) -> None:
    both_refuse(case)


def test_an_empty_part_of_a_split_warns(T: Any) -> None:
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0") as caught:
        T.utils.data.random_split(range(3), [0.99, 0.01])
    assert caught[0].filename == __file__


def test_a_stream_longer_than_it_said_warns(T: Any) -> None:
    loader = T.utils.data.DataLoader(stream(T, 4, 3))
    assert len(loader) == 3
    with pytest.warns(
        UserWarning,
        match=r"was reported to be 3\(when accessing len\(dataloader\)\), but 4 samples",
    ):
        list(loader)


# Without PyTorch


def test_the_order_of_seed_zero() -> None:
    T.manual_seed(0)
    order = [
        i
        for (batch,) in DataLoader(TensorDataset(T.arange(10)), 4, shuffle=True)
        for i in batch.tolist()
    ]
    assert order == [6, 7, 1, 4, 2, 0, 9, 8, 3, 5]


def test_every_sample_comes_once_an_epoch_and_epochs_differ() -> None:
    loader = DataLoader(TensorDataset(T.arange(50)), batch_size=8, shuffle=True)
    orders = [[i for (batch,) in loader for i in batch.tolist()] for _ in range(2)]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(50))
    assert orders[0] != orders[1] and len(loader) == 7


def test_a_users_dataset_with_pairs_of_images_and_labels() -> None:
    class Images(Dataset[Any]):
        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> Any:
            return T.ones(3, 2, 2) * index, index % 2

    images, labels = next(iter(DataLoader(Images(), batch_size=4)))
    assert images.shape == (4, 3, 2, 2) and images[:, 0, 0, 0].tolist() == [0, 1, 2, 3]
    assert labels.dtype is T.int64 and labels.tolist() == [0, 1, 0, 1]


def test_a_dataset_may_fetch_a_batch_at_once() -> None:
    class Table:
        def __getitems__(self, indices: list[int]) -> list[int]:
            asked.append(indices)
            return [10 * i for i in indices]

        def __len__(self) -> int:
            return 5

    asked: list[list[int]] = []
    assert [b.tolist() for b in DataLoader(Table(), batch_size=2)] == [[0, 10], [20, 30], [40]]  # type: ignore[arg-type]
    assert asked == [[0, 1], [2, 3], [4]]


def test_collating_with_a_table_of_ones_own() -> None:
    from internals.utils.data.collate import collate, default_collate_fn_map

    def text(batch: Any, *, collate_fn_map: Any = None) -> str:
        return "".join(batch)

    table = {**default_collate_fn_map, str: text}
    assert collate([("a", "b"), ("c", "d")], collate_fn_map=table) == ["ac", "bd"]


def test_weights_decide_how_often() -> None:
    T.manual_seed(1)
    drawn = list(T.utils.data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    counts = collections.Counter(drawn)
    assert counts[0] == 0 and 2.6 < counts[2] / counts[1] < 3.4


def test_an_iterable_that_stops_is_not_asked_again() -> None:
    class Stops(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            yield from (1, 2, 3)

    loader = iter(DataLoader(Stops(), batch_size=2))
    assert [b.tolist() for b in loader] == [[1, 2], [3]]
    with pytest.raises(StopIteration):
        next(loader)


def test_workers_are_asked_for_in_vain() -> None:
    """Programs that ask for them run all the same, and get the same batches."""
    data = TensorDataset(T.arange(6.0))
    with pytest.warns(
        UserWarning, match="there are no worker processes here; num_workers=2 changes nothing"
    ):
        loader = DataLoader(
            data, batch_size=4, num_workers=2, prefetch_factor=2, persistent_workers=True
        )
    assert [b.tolist() for (b,) in loader] == [[0, 1, 2, 3], [4, 5]]
    assert T.utils.data.get_worker_info() is None


def test_a_batch_sampler_reads_no_further_than_it_must() -> None:
    read: list[int] = []

    def indices() -> Iterator[int]:
        for i in range(10):
            read.append(i)
            yield i

    batches = iter(BatchSampler(indices(), 3, False))
    assert next(batches) == [0, 1, 2] and read == [0, 1, 2]
