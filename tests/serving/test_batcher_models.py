"""Models that raise, that cannot be batched, and requests that are filled up: answers are right all
the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("prometheus_client", reason="the extra `serving` is not installed")

import internals as torch
from internals import nn
from internals.nn import functional as F
from internals.serving.batching.batcher import Batcher
from internals.serving.batching.execution import Execution
from internals.serving.errors import ModelFailed
from internals.serving.models.served_model import ServedModel
from tests.serving.batching_support import Model, batches, in_line, request, with_batcher

Together = Callable[..., list[Any]]


def together(
    model: Any, requests: Sequence[Any], **settings: Any
) -> tuple[list[Any], list[list[int]], Execution]:
    """Submits all at once while the worker is busy with something of its own kind; outcomes,
    batches, and how they were run.
    """

    async def test(batcher: Batcher) -> Any:
        batcher.running += 1  # as if the worker was busy
        tasks = [asyncio.create_task(batcher.submit(request(x))) for x in requests]
        await in_line(batcher, len(requests))
        batcher.running -= 1
        batcher._start_what_is_ready()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        return outcomes, batches(batcher.recorder), batcher.execution

    found: tuple[list[Any], list[list[int]], Execution] = with_batcher(
        model, test, max_delay=0, **settings
    )
    return found


def different(count: int, rows: int = 1, width: int = 3) -> list[torch.Tensor]:
    generator = np.random.default_rng(7)
    return [
        torch.from_numpy(generator.normal(size=(rows, width)).astype(np.float32))
        for _ in range(count)
    ]


def assert_right(
    function: Callable[..., Any], xs: Sequence[torch.Tensor], outcomes: Sequence[Any]
) -> None:
    """Each got what the model says to it alone."""
    for x, outcome in zip(xs, outcomes):
        assert not isinstance(outcome, BaseException), outcome
        expected = function(x)
        assert outcome["y"].shape == expected.shape
        np.testing.assert_allclose(outcome["y"].numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_one_bad_request_never_fails_its_neighbours() -> None:
    def refuses_negatives(x: torch.Tensor) -> torch.Tensor:
        if (x < 0).any():
            raise ModelFailed("a negative number")
        return x.sqrt()

    model = Model(refuses_negatives)
    xs = [torch.full((1, 2), float(n)) for n in (1, 4, -9, 16)]
    outcomes, found, execution = together(model, xs)
    assert found == [[0, 1, 2, 3]]
    assert isinstance(outcomes[2], ModelFailed) and str(outcomes[2]) == "a negative number"
    assert_right(refuses_negatives, xs[:2] + xs[3:], outcomes[:2] + outcomes[3:])
    assert execution.batching  # the request was to blame, not the model
    assert model.calls == [4, 1, 1, 1, 1]


def test_each_bad_request_gets_its_own_error() -> None:
    def raises(x: torch.Tensor) -> torch.Tensor:
        raise ModelFailed(f"no {x.sum().item():g}")

    outcomes, _, execution = together(
        Model(raises), [torch.full((1, 1), float(n)) for n in range(3)]
    )
    assert [str(outcome) for outcome in outcomes] == ["no 0", "no 1", "no 2"] and execution.batching


def softmax_over_the_batch(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 0)


def minus_the_mean(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(0)


def sorted_rows(x: torch.Tensor) -> torch.Tensor:
    return x.sort(0)[0]


def running_sum(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0)


def number_of_the_row(x: torch.Tensor) -> torch.Tensor:
    return x + torch.arange(float(x.shape[0])).view(-1, 1)


DEPENDENT = [softmax_over_the_batch, minus_the_mean, sorted_rows, running_sum, number_of_the_row]


@pytest.mark.parametrize("function", DEPENDENT)
@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_depend_on_each_other_are_found_out(function: Any, rows: int) -> None:
    model, xs = Model(function), different(5, rows)
    outcomes, _, execution = together(model, xs)
    assert_right(function, xs, outcomes)
    assert not execution.batching
    assert execution.why_not == "a row's result depends on the other rows of the batch"


def test_once_found_out_nothing_is_batched_any_more() -> None:
    model = Model(softmax_over_the_batch)

    async def test(batcher: Batcher) -> None:
        xs = different(12)
        for part in (xs[:6], xs[6:]):
            outcomes = await asyncio.gather(*(batcher.submit(request(x)) for x in part))
            assert_right(softmax_over_the_batch, part, outcomes)
        assert [len(batch) for batch in batches(batcher.recorder)][-6:] == [1] * 6
        assert model.calls[-6:] == [1] * 6

    with_batcher(model, test, max_delay=5)


def test_no_rows_in_the_result() -> None:
    for function in (
        lambda x: x.sum(),
        lambda x: x.sum(0),
        lambda x: x.t(),
        lambda x: torch.cat([x, x]),
    ):
        xs = different(4, 2)
        outcomes, _, execution = together(Model(function), xs)
        assert_right(function, xs, outcomes)
        assert execution.why_not == "its results do not have the 8 rows of the batch"


def test_one_output_without_rows_is_enough() -> None:
    def two(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"y": x + 1, "mean": x.mean()}

    xs = different(3)
    outcomes, _, execution = together(Model(two), xs)
    assert [o["mean"].item() for o in outcomes] == [
        x.mean().item() for x in xs
    ] and not execution.batching


def test_batch_norm_in_training_mode() -> None:
    def normalized(x: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, None, None, training=True)

    xs = different(4, 2)
    outcomes, _, execution = together(Model(normalized), xs)
    assert_right(normalized, xs, outcomes)
    assert not execution.batching
    # one row alone is an error, and a batch must not hide that
    served = ServedModel.from_module(normalized, "normalized")
    outcomes, _, execution = together(Batchable(served), different(3))
    assert all(
        isinstance(o, ModelFailed) and "Expected more than 1 value per channel" in str(o)
        for o in outcomes
    )
    assert not execution.batching


class Batchable(Model):
    """A ServedModel whose trial is not asked: the batcher has to find out by itself."""

    def __init__(self, served: ServedModel) -> None:
        super().__init__()
        self.served = served

    def run(self, inputs: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        outputs = self.served.run(inputs)
        return {"y": next(iter(outputs.values()))}


def test_a_module_in_training_mode_is_served_in_evaluation_mode() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU())
    net(torch.randn(16, 3))
    xs = different(6)
    served = ServedModel.from_module(net.train(), "net")
    outcomes, _, execution = together(Batchable(served), xs)
    with torch.no_grad():
        assert_right(net, xs, outcomes)
    assert execution.batching


def test_randomness_is_found_out() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.randn(x.shape)

    _, _, execution = together(Model(noisy), different(4))
    assert not execution.batching


def test_a_model_that_raises_on_batches_only() -> None:
    def one_row(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 1:
            raise ModelFailed("one row, please")
        return x * 2

    xs = different(4)
    model = Model(one_row)
    outcomes, _, execution = together(model, xs)
    assert_right(lambda x: x * 2, xs, outcomes)
    assert execution.why_not == "it raises on a batch of requests that are fine alone"


def test_a_model_that_raises_alone_but_not_in_a_batch() -> None:
    def company(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] == 1:
            raise ModelFailed("more, please")
        return x

    outcomes, _, execution = together(Model(company), different(3))
    assert [str(o) for o in outcomes] == ["more, please"] * 3 and not execution.batching


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int64", "int8", "bool", "complex64"]
)
def test_honest_models_of_every_dtype_are_batched(dtype: str) -> None:
    kind = getattr(torch, dtype)
    xs = [torch.tensor([[n % 2, 1, 0]]).to(kind) for n in range(4)]
    outcomes, _, execution = together(Model(lambda x: torch.cat([x, x], 1)), xs)
    assert [o["y"].tolist() for o in outcomes] == [torch.cat([x, x], 1).tolist() for x in xs]
    assert execution.batching and all(o["y"].dtype is kind for o in outcomes)


def test_nan_and_infinity_are_no_proof_against_a_model() -> None:
    xs = [torch.tensor([[v, 1.0]]) for v in (float("nan"), float("inf"), 2.0)]
    outcomes, _, execution = together(Model(lambda x: x * 2), xs)
    assert execution.batching and outcomes[2]["y"].tolist() == [[4.0, 2.0]]
    assert str(outcomes[0]["y"].tolist()) == "[[nan, 2.0]]"


def test_several_inputs_and_outputs() -> None:
    model = Model(lambda x, z: {"sum": x + z, "z": z})

    async def test(batcher: Batcher) -> None:
        tasks = []
        for n in range(4):
            tasks.append(
                batcher.submit(
                    request(torch.full((n + 1, 2), 1.0 * n), z=torch.full((n + 1, 1), 10.0))
                )
            )
        for n, outputs in enumerate(await asyncio.gather(*tasks)):
            assert outputs["sum"].tolist() == [[n + 10.0] * 2] * (n + 1) and outputs["z"].shape == (
                n + 1,
                1,
            )

    with_batcher(model, test, max_delay=5)


# Padding


def ragged(lengths: Sequence[int]) -> list[torch.Tensor]:
    return [torch.arange(1.0, n + 1).view(1, n) for n in lengths]


def test_without_pad_other_sizes_are_other_lanes() -> None:
    outcomes, found, _ = together(Model(), ragged([3, 5, 3]))
    assert sorted(found) == [[0, 2], [1]] and [o["y"].shape[1] for o in outcomes] == [3, 5, 3]


def test_pad_fills_up_with_zeros_and_cuts_off_again() -> None:
    seen: list[Any] = []

    def double(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.tolist())
        return x * 2

    xs = ragged([2, 4, 1])
    outcomes, found, execution = together(Model(double), xs, pad=True)
    assert found == [[0, 1, 2]] and execution.batching
    assert seen[0] == [[1, 2, 0, 0], [1, 2, 3, 4], [1, 0, 0, 0]]
    assert_right(lambda x: x * 2, xs, outcomes)


def test_pad_does_not_mix_dtypes_or_dimensions() -> None:
    xs = [
        torch.ones(1, 2),
        torch.ones(1, 3, dtype=torch.int64),
        torch.ones(1, 2, 2),
        torch.ones(1, 5),
    ]
    _, found, _ = together(Model(), xs, pad=True)
    assert sorted(found) == [[0, 3], [1], [2]]


def test_pad_in_two_dimensions() -> None:
    xs = [torch.ones(1, 2, 5), torch.ones(2, 4, 3), torch.ones(1, 4, 5)]
    outcomes, found, execution = together(Model(), xs, pad=True)
    assert found == [[0, 1, 2]] and execution.batching
    assert_right(lambda x: x * 2 + 1, xs, outcomes)


def test_a_model_that_feels_the_padding_is_found_out() -> None:
    xs = ragged([2, 4, 3])
    outcomes, _, execution = together(Model(lambda x: x.mean(1, keepdim=True)), xs, pad=True)
    assert_right(lambda x: x.mean(1, keepdim=True), xs, outcomes)
    assert execution.why_not == "a row's result depends on padding"


def test_also_when_the_first_batch_needed_none() -> None:
    model = Model(lambda x: x.mean(1, keepdim=True))

    async def test(batcher: Batcher) -> None:
        for lengths in ([4, 4, 4], [4, 2, 4]):
            xs = ragged(lengths)
            outcomes = await asyncio.gather(*(batcher.submit(request(x)) for x in xs))
            assert_right(model.function, xs, outcomes)
        assert not batcher.execution.batching

    with_batcher(model, test, pad=True, max_delay=5)


def test_a_size_that_only_looks_like_the_padded_one_is_not_cut() -> None:
    five_classes = Model(lambda x: x.sum(1, keepdim=True) * torch.ones(1, 5))

    async def test(batcher: Batcher) -> None:
        for lengths in ([3, 4], [3, 5], [2, 5]):  # filled up to 5, as many as there are classes
            xs = ragged(lengths)
            outcomes = await asyncio.gather(*(batcher.submit(request(x)) for x in xs))
            assert_right(five_classes.function, xs, outcomes)

    with_batcher(five_classes, test, pad=True, max_delay=5)


def test_more_kinds_than_are_remembered_are_still_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("internals.serving.batching.execution.MOST_PROOFS", 3)
    model = Model(lambda x: x - x.mean(0) if x.shape[1] == 9 else x * 2)

    async def test(batcher: Batcher) -> None:
        for width in (1, 2, 3, 4, 5, 9):
            xs = different(3, 1, width)
            outcomes = await asyncio.gather(*(batcher.submit(request(x)) for x in xs))
            assert_right(model.function, xs, outcomes)
            assert len(batcher.execution.proven) <= 3
        assert not batcher.execution.batching

    with_batcher(model, test, max_delay=5)


@pytest.mark.parametrize(
    "function", [lambda x: x / x.max(), lambda x: x - x.mean(0)], ids=["largest", "mean"]
)
def test_equal_requests_do_not_prove_anything(function: Callable[..., Any]) -> None:
    xs = [torch.tensor([[1.0, 2.0]])] * 3
    outcomes, _, execution = together(Model(function), xs)
    assert_right(function, xs, outcomes)
    assert not execution.batching


def test_equal_requests_do_not_condemn_anything() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        if (x != 1).any():
            raise ModelFailed("only ones")
        return x * 2

    for function in (picky, torch.tanh):
        outcomes, _, execution = together(Model(function), [torch.ones(1, 3)] * 3)
        assert_right(function, [torch.ones(1, 3)] * 3, outcomes)
        assert execution.batching
