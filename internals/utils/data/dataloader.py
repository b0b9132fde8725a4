"""`DataLoader`: the batches of a dataset, in a certain order (`torch/utils/data/dataloader.py`).

A loader combines a dataset, a sampler (which indices), a batch sampler (how many at a time) and a
collate function (how samples become a batch). Each iteration over it restarts the sampler, so with
`shuffle=True` every epoch has another order.

With `pin_memory` batches are in page-locked memory, so that `batch.to("cuda", non_blocking=True)`
need not wait for the copy.

How the real one differs: with `num_workers` it has processes that fetch batches ahead of time, and
a thread that pins them. Here everything happens in the thread that asks for the next batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from internals import Generator, empty, int64
from internals.core.backend_hooks import hooks
from internals.utils.data.collate import default_collate, default_convert
from internals.utils.data.dataset import Dataset, IterableDataset
from internals.utils.data.pin_memory import pin_memory
from internals.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Iterates over `dataset` in batches.

    With `batch_size=None` it yields single samples. `shuffle`, `sampler` and `batch_sampler` are
    three ways to choose the order, of which only one may be used, and none for an
    `IterableDataset`. There are no workers: `num_workers` above 0 only causes a warning, and
    `worker_init_fn` is never called. Raises ValueError for contradictory options.
    """

    _initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(
            num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context
        )
        self.dataset = dataset
        self.num_workers, self.prefetch_factor, self.persistent_workers = (
            num_workers,
            prefetch_factor,
            False,
        )
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn, self.in_order = timeout, worker_init_fn, in_order
        self.multiprocessing_context, self.generator = None, generator
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = _default_sampler(dataset, bool(shuffle), generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (
            default_convert if batch_sampler is None else default_collate
        )
        self._promised: int | None = None  # the length of a stream, once `len` has reported it
        self._initialized = True

    def __iter__(self) -> Iterator[Any]:
        return _Epoch(self)

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the dataset or a sampler has no length."""
        if not self._is_stream:
            return len(self._index_sampler)
        n = self._promised = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)  # rounded up

    def __setattr__(self, name: str, value: object) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler


class _Epoch:
    """One pass over the data: the result of `iter(loader)`."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader = loader
        self.indices = iter(loader._index_sampler)
        # PyTorch draws a seed for its workers here, even without any. Drawing it too keeps all
        # later random numbers the same.
        empty((), dtype=int64).random_(generator=loader.generator)
        self.stream = iter(loader.dataset) if loader._is_stream else None
        self.stream_ended = False
        self.yielded = 0
        self.pins = loader.pin_memory and _can_pin(loader.pin_memory_device)

    def __iter__(self) -> _Epoch:
        return self

    def __len__(self) -> int:
        return len(self.loader._index_sampler)

    def __next__(self) -> Any:
        loader = self.loader
        index = next(self.indices)  # an index, or with a batch sampler a list of them
        if self.stream is not None:
            samples = self._from_stream(index)
        elif loader.batch_sampler is None:
            samples = loader.dataset[index]
        elif getattr(loader.dataset, "__getitems__", None):
            samples = loader.dataset.__getitems__(index)  # type: ignore[attr-defined]
        else:
            samples = [loader.dataset[i] for i in index]
        batch = loader.collate_fn(samples)
        if self.pins:
            batch = pin_memory(batch)
        self.yielded += 1
        self._check_promise()
        return batch

    def _from_stream(self, index: Any) -> Any:
        """The next sample, or a list of len(index) samples. Raises StopIteration at the end."""
        if self.stream_ended:
            raise StopIteration
        if self.loader.batch_sampler is None:
            return next(self.stream)  # type: ignore[arg-type]
        samples = [sample for _, sample in zip(index, self.stream)]  # type: ignore[arg-type]
        self.stream_ended = len(samples) < len(index)
        if not samples or (self.stream_ended and self.loader.drop_last):
            raise StopIteration
        return samples

    def _check_promise(self) -> None:
        """Warn if a stream yields more than its `len` reported."""
        promised = self.loader._promised
        if promised is not None and self.yielded > promised:
            warnings.warn(
                f"Length of IterableDataset {self.loader.dataset} was reported to be "
                f"{promised}(when accessing len(dataloader)), but {self.yielded} samples have "
                "been fetched. ",
                stacklevel=3,
            )


class _Forever(Sampler[None]):
    """The sampler of a stream, which has no indices: it yields None without end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def _default_sampler(dataset: object, shuffle: bool, generator: Generator | None) -> Sampler[Any]:
    if isinstance(dataset, IterableDataset):
        return _Forever()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _check_workers(
    num_workers: int,
    timeout: float,
    prefetch_factor: int | None,
    persistent_workers: bool,
    context: Any,
) -> None:
    """Raise ValueError for options that need workers without any; warn if there should be some."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers > 0:
        warnings.warn(
            f"DataLoader: there are no worker processes here; num_workers={num_workers} changes "
            "nothing, the batches are made, in the same order, in this process.",
            UserWarning,
            stacklevel=3,
        )
        return
    if prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if persistent_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > "
            f"0), but got num_workers={num_workers}"
        )


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """Raise ValueError if an order is given for a stream, which has its own."""
    for name, value in (
        ("shuffle", shuffle or None),
        ("sampler", sampler),
        ("batch_sampler", batch_sampler),
    ):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def get_worker_info() -> None:
    """Information about the current worker process; always None, as there are no workers here."""
    return None


def _can_pin(device: str) -> bool:
    """Whether there is a GPU, real or simulated, to pin memory for. Warns if not."""
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'.",
            stacklevel=4,
        )
    if not hooks("cuda").device_count():
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
            "memory won't be used.",
            stacklevel=4,
        )
        return False
    return True
