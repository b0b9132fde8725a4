"""The rarer losses, bags of embeddings, dropout of volumes and after selu, the adaptive softmax.

Side by side with PyTorch (`tests/nn/layers.py`), in scripts and traces.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import internals
from internals import jit, nn
from internals.nn import functional as F
from tests.nn import layers
from tests.nn.layers import layer_tests
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, to_numpy

CASES = cases("""
    nn.MultiMarginLoss() >> m(x(3, 4), x.labels(3, classes=4))
    nn.MultiMarginLoss(2, 0.5, reduction="none") >> m(x(3, 4), x.labels(3, classes=4))
    nn.MultiMarginLoss(weight=x_weight(4), reduction="sum") >> m(x(3, 4), x.labels(3, classes=4))
    nn.MultiMarginLoss(size_average=False) >> m(x(4), x.labels(classes=4))
    nn.MultiLabelMarginLoss() >> m(x(2, 4), x.of([[3, 0, -1, 1], [-1, 2, 1, 0]], "int64"))
    nn.MultiLabelMarginLoss(reduction="none")
        >> m(x(2, 4), x.of([[3, 0, 1, 2], [1, 1, -1, 0]], "int64"))
    nn.MultiLabelMarginLoss() >> m(x(3), x.of([1, -1, 2], "int64"))
    nn.MultiLabelSoftMarginLoss() >> m(x(3, 4), x.labels(3, 4, classes=2))
    nn.MultiLabelSoftMarginLoss(x_weight(4), reduction="none")
        >> m(x(2, 3, 4), x.labels(2, 3, 4, classes=2))
    nn.MultiLabelSoftMarginLoss(reduce=False) >> m(x(4), x.labels(4, classes=2))
    nn.SoftMarginLoss(reduction="none") >> m(x(2, 3), x.of([[1, -1, 1], [-1, -1, 1]]))
    nn.TripletMarginWithDistanceLoss() >> m(x(3, 4), x(3, 4), x(3, 4))
    nn.TripletMarginWithDistanceLoss(distance_function=nn.CosineSimilarity(), swap=True, margin=2.0)
        >> m(x(3, 4), x(3, 4), x(3, 4))
    nn.TripletMarginWithDistanceLoss(reduction="sum", swap=True) >> m(x(4), x(4), x(4))
    nn.CTCLoss() >> m(x(6, 2, 4).log_softmax(2), x.of([[1, 2, 2], [3, 1, 0]], "int64"),
        x.of([6, 5], "int64"), x.of([3, 2], "int64"))
    nn.CTCLoss(2, "sum") >> m(x(6, 2, 4).log_softmax(2), x.of([1, 0, 3, 1, 1], "int64"),
        x.of([6, 4], "int64"), x.of([2, 3], "int64"))
    nn.CTCLoss(reduction="none", zero_infinity=True)
        >> m(x(3, 2, 4).log_softmax(2), x.of([[1, 1, 1], [3, 1, 0]], "int64"), [3, 3], [3, 1])
    nn.CTCLoss()
        >> m(x(5, 4).log_softmax(1), x.of([1, 3], "int64"), x.of(5, "int64"), x.of(2, "int64"))
    nn.EmbeddingBag(5, 3) >> m(x.labels(3, 4, classes=5))
    nn.EmbeddingBag(5, 3, mode="sum") >> m(x.labels(3, 4, classes=5), per_sample_weights=x(3, 4))
    nn.EmbeddingBag(5, 3, mode="max", padding_idx=-2)
        >> m(x.labels(7, classes=5), x.of([0, 3, 3], "int64"))
    nn.EmbeddingBag(5, 3, 0.5, 3.0, include_last_offset=True)
        >> m(x.labels(7, classes=5), x.of([0, 2, 7], "int64"))
    nn.EmbeddingBag.from_pretrained(T.eye(5, 3), freeze=False, mode="sum")
        >> m(x.labels(3, 4, classes=5))
    nn.Embedding(5, 3, max_norm=0.5) >> m(x.labels(2, 4, classes=5))
    nn.Dropout3d(0.4) >> m(x(2, 3, 2, 2, 2))
    nn.Dropout3d(0.4) >> m(x(3, 2, 2, 2))
    nn.Dropout3d(0.4, inplace=True) >> m(x(2, 3, 2, 2, 2) * 1)
    nn.AlphaDropout(0.3) >> m(x(4, 5))
    nn.FeatureAlphaDropout(0.3) >> m(x(3, 4, 5))
    nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5]) >> m(x(6, 8), x.of([0, 9, 4, 1, 2, 6], "int64"))
    nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3], 2.0, True) >> m(x(8), x.of(7, "int64"))
    nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5]) >> m.log_prob(x(4, 8))
""")
test_as_pytorch, test_gradients_as_pytorch = layer_tests(CASES)

NOT_IN_SCRIPTS = ("TripletMarginWithDistance", "log_prob")


def build(case: str, inputs):  # type: ignore[no-untyped-def]
    """A layer, and the arguments it is called with."""
    made, call = (part.strip() for part in case.split(">>"))
    names = layers.namespace(internals) | {"x": inputs}
    internals.manual_seed(2013)
    given: list[object] = []
    layer = eval(made, names).eval()
    eval(
        call,
        names
        | {
            "m": lambda *values, **named: given.extend(
                [*values, *([None, *named.values()] if named else [])]
            )
        },
    )
    return layer, given


@pytest.mark.parametrize(
    "case", [c for c in CASES if not any(name in c for name in NOT_IN_SCRIPTS)]
)
def test_scripted_and_traced_it_is_the_same(case: str) -> None:
    layer, given = build(case, ours())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = layers.tensors(layer(*given))
        if not any(isinstance(g, list) for g in given):
            for e, s in zip(expected, layers.tensors(jit.script(layer)(*given)), strict=True):
                assert_same(s, to_numpy(e))
        if all(isinstance(g, internals.Tensor) for g in given) and "Adaptive" not in case:
            for e, t in zip(
                expected, layers.tensors(jit.trace(layer, tuple(given))(*given)), strict=True
            ):
                assert_same(t, to_numpy(e))


SAME = cases("""
    repr(T.nn.EmbeddingBag(5, 3))
    repr(T.nn.EmbeddingBag(5, 3, 1.5, 1, True, "sum", padding_idx=2))
    repr(T.nn.Sequential(T.nn.Dropout3d(), T.nn.AlphaDropout(0.2),
        T.nn.FeatureAlphaDropout(0.1, True)))
    repr(T.nn.TripletMarginWithDistanceLoss())
    repr(T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5]))
    list(T.nn.MultiMarginLoss(weight=T.ones(3)).state_dict())
    list(T.nn.MultiLabelSoftMarginLoss(T.ones(3)).state_dict())
    list(T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], head_bias=True).state_dict())
    T.nn.EmbeddingBag(3, 2, padding_idx=-1).weight[2]
    T.nn.EmbeddingBag.from_pretrained(T.ones(3, 2)).weight.requires_grad
    T.manual_seed(3) and T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5]).predict(x(9, 8) * 3)
    T.nn.functional.embedding_bag(T.tensor([[0, 1]]), T.ones(2, 3), mode="sum", padding_idx=1)
    T.nn.functional.embedding_bag(T.tensor([], dtype=T.int64), T.ones(2, 3), T.tensor([0, 0]),
        mode="max")
    T.nn.functional.embedding_bag(T.tensor([0, 1], dtype=T.int32), T.ones(2, 3), T.tensor([0]))
    T.embedding_bag(T.ones(2, 3), T.tensor([0, 1]), T.tensor([0, 1]))[0]
    T.embedding_bag(T.eye(5), T.tensor([[0, 1], [2, 3]]), T.tensor([0, 1]))[0]
    T.nn.functional.dropout3d(T.ones(2, 3, 1, 1, 1), training=False)
    T.nn.functional.alpha_dropout(T.ones(2, 3), 1.0, True)
    T.nn.functional.feature_alpha_dropout(T.ones(2, 3), 0.3)
    T.nn.functional.gaussian_nll_loss(T.ones(2), T.zeros(2), T.ones(2), reduction="sum")
    T.nn.functional.pairwise_distance(x(2, 3), x(3), keepdim=True)
    T.nn.functional.ctc_loss(x(4, 1, 3).log_softmax(2), T.tensor([[1]], dtype=T.int32), [4], [1])
    T.nn.functional.ctc_loss(x(4, 1, 3).log_softmax(2), T.zeros(1, 0, dtype=T.int64), T.tensor([4]),
        T.tensor([0]))
    T.nn.functional.soft_margin_loss(T.ones(2), T.ones(2, dtype=T.float64))
""")
REFUSED = cases("""
    T.nn.MultiMarginLoss(3)
    T.nn.MultiMarginLoss(weight=T.ones(2, 2))
    T.nn.functional.multi_margin_loss(x(2, 3), T.tensor([0, 1]), p=3)
    T.nn.functional.multi_margin_loss(x(2, 3), T.tensor([0, 1]), weight=T.ones(1, 3))
    T.nn.functional.multi_margin_loss(x(2, 3), T.tensor([0, 1]), weight=T.ones(2))
    T.nn.functional.multi_margin_loss(x(2, 3), T.tensor([0, 3]))
    T.nn.functional.multi_margin_loss(x(2, 3), T.tensor([0]))
    T.nn.functional.multi_margin_loss(x(2, 3).half(), T.tensor([0, 1]))
    T.nn.functional.multi_margin_loss(x(2, 0), T.tensor([0, 1]))
    T.nn.functional.multilabel_margin_loss(x(2, 3), T.tensor([[0, 1]]))
    T.nn.functional.multilabel_margin_loss(x(3), T.tensor([0, 1, 3]))
    T.nn.functional.multilabel_soft_margin_loss(x(3), T.ones(3), reduction="all")
    T.nn.TripletMarginWithDistanceLoss(margin=0)
    T.nn.functional.triplet_margin_with_distance_loss(x(2), x(2), x(2), margin=-1.0)
    T.nn.functional.triplet_margin_with_distance_loss(x(2), x(2), x(1, 2))
    T.nn.functional.triplet_margin_with_distance_loss(x(2), x(2), x(2), reduction="all")
    T.nn.functional.cosine_embedding_loss(x(2, 3), x(2, 3), T.ones(2, 1))
    T.nn.functional.cosine_embedding_loss(x(3), x(3), T.ones(2))
    T.nn.functional.soft_margin_loss(T.tensor([1]), T.tensor([1]))
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([1, 2, 1]), [4, 4], [2, 2])
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([[1], [2]]), [4, 5], [1, 1])
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([[1], [2]]), [4, -1], [1, 1])
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([[1], [2]]), [4, 4], [1, 2])
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([[1], [2]]), [4], [1, 1])
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([[1], [2]]), [4, 4], [1, 1], blank=3)
    T.nn.functional.ctc_loss(x(4, 2, 3).half(), T.tensor([[1], [2]]), [4, 4], [1, 1])
    T.nn.functional.ctc_loss(x(0, 2, 3), T.tensor([[1], [2]]), [0, 0], [1, 1])
    T.nn.functional.ctc_loss(x(4, 2, 3), T.tensor([[1], [2]]), T.tensor([4.0, 4.0]),
        T.tensor([1, 1]))
    T.nn.EmbeddingBag(5, 3, padding_idx=5)
    T.nn.EmbeddingBag.from_pretrained(T.ones(3))
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(2, 3), T.tensor([0]))
    T.nn.functional.embedding_bag(T.tensor([0]), T.ones(2, 3))
    T.nn.functional.embedding_bag(T.tensor([0]), T.ones(2, 3), T.tensor([[0]]))
    T.nn.functional.embedding_bag(T.tensor(0), T.ones(2, 3))
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(3))
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(2, 3), mode="min")
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(2, 3), mode="max",
        scale_grad_by_freq=True)
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(2, 3), per_sample_weights=T.ones(1, 1))
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(2, 3), mode="sum",
        per_sample_weights=T.ones(1))
    T.nn.functional.embedding_bag(T.tensor([[0]]), T.ones(2, 3), padding_idx=2)
    T.nn.functional.embedding_bag(T.tensor([[2]]), T.ones(2, 3))
    T.nn.functional.embedding_bag(T.tensor([0]), T.ones(2, 3), T.tensor([1]))
    T.nn.functional.embedding_bag(T.tensor([0]), T.ones(2, 3), T.tensor([0, 2]))
    T.nn.functional.alpha_dropout(x(2), 1.5)
    T.nn.FeatureAlphaDropout(-0.1)
    T.nn.FeatureAlphaDropout().train()(x(3))
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [])
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5, 2])
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [10])
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(2, 8), T.tensor([1, 10]))
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(2, 8), T.tensor([1]))
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(8), T.tensor([1]))
    T.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(2, 8), T.tensor(1))
""")


@pytest.mark.parametrize("case", SAME + REFUSED)
def test_as_pytorch_does_it(case: str) -> None:
    check(expression(case))


def test_nllloss2d_is_nllloss_and_says_so() -> None:
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        old = nn.NLLLoss2d(reduction="sum")
    x, target = ours()(2, 3, 2, 2), internals.ones(2, 2, 2, dtype=internals.int64)
    assert_same(old(x, target), to_numpy(nn.NLLLoss(reduction="sum")(x, target)))


def test_ctc_is_the_sum_over_all_paths() -> None:
    """Every path of four steps, merged by hand."""
    steps, blank, target = 4, 0, [1, 2]
    log_probs = ours()(steps, 1, 3, dtype="float64").log_softmax(2)
    p = np.exp(to_numpy(log_probs))[:, 0]
    merged = lambda path: [k for k, _ in itertools.groupby(path) if k != blank]  # noqa: E731
    paths = (path for path in itertools.product(range(3), repeat=steps) if merged(path) == target)
    total = sum(math.prod(p[t, k] for t, k in enumerate(path)) for path in paths)
    loss = F.ctc_loss(log_probs, internals.tensor([target]), [steps], [2], blank, reduction="sum")
    assert loss.item() == pytest.approx(-math.log(total), rel=1e-12)


@pytest.mark.parametrize(
    "targets", [[[1, 2, 2], [3, 1, 0]], [1, 2, 2, 3, 1]], ids=["padded", "in a row"]
)
def test_the_gradient_of_ctc_is_that_of_log_softmax_before_it(targets: list[object]) -> None:
    logits = ours()(6, 2, 4, dtype="float64").requires_grad_()
    loss = lambda x: F.ctc_loss(x.log_softmax(2), internals.tensor(targets), [6, 5], [3, 2])  # noqa: E731
    assert internals.autograd.gradcheck(loss, (logits,))


def test_gradients_that_have_none_say_so() -> None:
    x, target = ours()(2, 3).requires_grad_(), internals.tensor([0, 1])
    for loss in (
        F.multi_margin_loss(x, target),
        F.ctc_loss(x.unsqueeze(1).log_softmax(2), internals.tensor([[1]]), [2], [1]),
        F.embedding_bag(internals.tensor([[0, 1]]), x).square().sum(),
    ):
        (slope,) = internals.autograd.grad(loss, x, create_graph=True)
        with pytest.raises((RuntimeError, NotImplementedError), match="is not implemented"):
            slope.sum().backward()


def test_bags_are_numpys_sums_means_and_maxima() -> None:
    table, rows = to_numpy(ours()(5, 3)), [[0, 1], [], [4, 4, 2]]
    flat, offsets = internals.tensor(sum(rows, [])), internals.tensor([0, 2, 2])
    for mode, reduce in {"sum": np.sum, "mean": np.mean, "max": np.max}.items():
        expected = [reduce(table[r], 0) if r else np.zeros(3, "float32") for r in rows]
        assert_same(
            F.embedding_bag(flat, internals.from_numpy(table), offsets, mode=mode),
            np.stack(expected),
            rtol=1e-6,
        )


def test_scaled_by_frequency_a_row_is_divided_by_its_own() -> None:
    """PyTorch's CPU kernel takes the count of another row here."""
    table = internals.zeros(3, 1, requires_grad=True)
    F.embedding_bag(
        internals.tensor([[0, 0, 0, 1, 2, 2]]), table, mode="sum", scale_grad_by_freq=True
    ).sum().backward()
    assert table.grad.reshape(-1).tolist() == [1, 1, 1]


@pytest.mark.parametrize("scripted", [False, True])
@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_a_sparse_gradient_is_refused(kind: Any, scripted: bool) -> None:
    words = internals.tensor([[0, 1]])
    rows, frozen = kind(3, 2, sparse=True), kind.from_pretrained(internals.ones(3, 2), sparse=True)
    if scripted:
        rows, frozen = internals.jit.script(rows), internals.jit.script(frozen)
    for _ in range(3):  # the second call of a compiled function is specialised
        with pytest.raises(
            NotImplementedError, match="sparse=True.: sparse gradients are not implemented"
        ):
            rows(words).sum().backward()
    assert frozen(words).unique().tolist() == [1]
    with internals.no_grad():
        assert rows(words).shape[-1] == 2


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [2, 3, 4])
def test_the_last_bag_ends_with_the_indices(mode: str, last: int) -> None:
    """PyTorch's own test of this: torch/testing/_internal,
    `test_embeddingbag_include_last_offset`.
    """
    bags = nn.EmbeddingBag(5, 2, mode=mode, include_last_offset=True, padding_idx=4)
    words, offsets = internals.tensor([0, 1, 2, 3]), internals.tensor([0, 2, last])
    reduce = {"sum": internals.sum, "mean": internals.mean, "max": internals.amax}[mode]
    expected = internals.stack([reduce(bags.weight[:2], 0), reduce(bags.weight[2:4], 0)])
    assert internals.allclose(bags(words, offsets), expected)
    gradients = [
        internals.autograd.grad(y.sum(), bags.weight)[0] for y in (bags(words, offsets), expected)
    ]
    assert internals.allclose(*gradients)
    assert bags(words, internals.tensor([0])).shape == (0, 2)


def test_the_last_bag_ends_where_pytorch_ends_it() -> None:
    for mode in ("sum", "mean", "max"):
        for offsets in ([0, 0], [0, 1], [0, 1, 2], [0, 3, 3]):
            options = f"mode='{mode}', include_last_offset=True, padding_idx=3"
            table = "T.arange(8.0, dtype=T.float64).view(4, 2)"
            check(
                expression(
                    f"F.embedding_bag(T.tensor([1, 2, 0]), {table}, T.tensor({offsets}), {options})"
                )
            )


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    internals.manual_seed(0)
    x = internals.randn(200, 200)
    for layer in (nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3)):
        y = layer(x)
        assert abs(y.mean().item()) < 0.02 and abs(y.var().item() - 1) < 0.03


def test_the_adaptive_softmax_is_a_distribution() -> None:
    layer, x = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5]), ours()(6, 8)
    log_probs, target = layer.log_prob(x), internals.tensor([0, 9, 4, 1, 2, 6])
    assert_same(log_probs.exp().sum(1), np.ones(6, "float32"), rtol=1e-5)
    assert_same(
        layer(x, target).output, to_numpy(log_probs.gather(1, target[:, None])[:, 0]), rtol=1e-5
    )
    assert_same(layer.predict(x), to_numpy(log_probs.argmax(1)))
