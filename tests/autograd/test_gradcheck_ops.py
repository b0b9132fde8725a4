"""Every derivative is right: what backward computes is what forward does, measured by finite
differences; so are second ones.

For every operator with an entry in `derivatives/`, its in-place twin, and every composite that
autograd sees through. Seeded samples (tests/autograd/gradient_samples.py), a few an operator; many
more with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from internals.autograd.gradcheck import gradcheck, gradgradcheck
from internals.core.dispatcher import dispatcher
from tests.aten.areas import rows, table
from tests.aten.op_tensors import TensorSpec
from tests.autograd.gradient_entries import entries, entry_of, functional_twin, functions
from tests.autograd.gradient_samples import Sample, samples
from tests.support import full

COUNT = 25 if full() else 3
SECOND = 10 if full() else 1  # of those, how many are differentiated twice
TOLERANCE: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-7}

# Tensors that no gradient is defined for: (operators, arguments).
CONSTANT = [
    ("nll_loss.*|cross_entropy_loss", "weight"),
    (".*batch_norm|instance_norm", "running_mean|running_var"),
    *rows("CONSTANT"),
]

# Calls whose backward is not the derivative, in PyTorch neither: which, when, and why.
UNSUITABLE: list[tuple[str, Callable[[dict[str, Any]], bool], str]] = [
    (
        "scatter_?",
        lambda v: "src" in v and repeats(scattered(v)),
        "which of several values for one place wins is open",
    ),
    (
        "index_put_?|_index_put_impl_",
        lambda v: not v["accumulate"] and repeats(indexed(v)),
        "the same",
    ),
    (
        "scatter_?|scatter_add_?",
        lambda v: "src" in v and v["src"].values.shape != v["index"].values.shape,
        "refused",
    ),
    (
        "pow",
        lambda v: (
            isinstance(v["self"], int | float)
            and v["self"] == 0
            and v["exponent"].values.dtype.kind == "c"
        ),
        "PyTorch's derivative of 0**z is NaN",
    ),
    ("gather", lambda v: v["sparse_grad"], "there are no sparse gradients"),
    (
        "embedding",
        lambda v: v["padding_idx"] >= 0 or v["scale_grad_by_freq"],
        "meant to be another gradient",
    ),
    ("std|std_mean", lambda v: spread(v) == 1, "the deviation of one number has a kink there"),
    (
        "cosine_similarity",
        lambda v: v["eps"] > 0.1,
        "vectors shorter than eps count as long as eps: not differentiated",
    ),
    (
        "(mse|smooth_l1|huber)_loss(_backward)?",
        lambda v: v["self"].values.shape != v["target"].values.shape,
        "nn.functional broadcasts first",
    ),
    *rows("UNSUITABLE"),
]

# Operators whose gradient has no gradient, in PyTorch neither.
ONCE = "|".join(rows("ONCE")) or "$"

# Operators that are not called by themselves, and why.
NOT_SAMPLED = {
    r"narrow\.Tensor": "its start is an integer tensor, which no recipe makes; narrow is tested",
    "imag|view_as_(real|complex)|_conj": "of complex tensors only: tests/autograd/test_complex.py",
    "isclose|allclose|isreal|is_nonzero|is_conj|is_neg|item|nonzero_numpy|argwhere|argsort.*|one_hot|"
    r"__(and|or|xor)__.*": "gives no floating tensor",
    "native_.*_norm_backward|_(log_)?softmax_backward_data|log_sigmoid_backward|.*_pool2d(_with_indices)?_backward|"
    "_?upsample_.*_backward|nll_loss2?d?_backward|"
    "(embedding_dense|convolution|select|slice|diagonal|unfold|binary_cross_entropy)_backward": (
        "takes what a forward pass gave: gradgradcheck of that checks it"
    ),
    r"(lstm|gru|rnn_tanh|rnn_relu)(_cell|\..*)?": (
        "many weights that fit together: tests/nn/test_gradcheck.py has the layers"
    ),
    "_native_multi_head_attention|_transformer_encoder_layer_fwd": (
        "the same; and tests/serialization/test_archive_operators.py"
    ),
    "_reshape_alias": "it believes that its strides fit; reshape, which computed them, is tested",
    "resize_as_": "refused where gradients are wanted",
    "_?pin_memory": "it needs a GPU: tests/cuda/test_pinned_memory.py",
    r"normal\..*Tensor.*": "chance has no gradient: zero by convention",
    **table("NOT_SAMPLED"),
}


def is_sampled(name: str) -> bool:
    short = name.removeprefix("aten::")
    functional = (functional_twin(name) or "") if functions()[name].schema.is_inplace else ""
    return not any(
        re.fullmatch(ops, n)
        for ops in NOT_SAMPLED
        for n in (short, functional.removeprefix("aten::"))
        if n
    )


def differentiable(name: str) -> tuple[str, ...]:
    """The arguments of an operator that have a gradient."""
    schema = functions()[name].schema
    entry = entry_of(name)
    if functions()[name].is_composite:
        names = [a.name for a in schema.arguments if a.type.base == "Tensor"]
    elif entry is None or not entry.is_differentiable or not entry.is_implemented:
        names = []
    else:
        names = [
            a.name
            for a in schema.arguments
            if a.type.base == "Tensor" and a.name in entry.arguments
        ]
    bound = (
        "|".join(arguments for ops, arguments in CONSTANT if re.fullmatch(ops, schema.name)) or "$"
    )
    return tuple(n for n in names if not re.fullmatch(bound, n))


NAMES = [
    name
    for name, f in functions().items()
    if not f.schema.is_out and differentiable(name) and is_sampled(name)
]


def suitable(sample: Sample) -> bool:
    return not any(
        re.fullmatch(ops, sample.op.schema.name) and when(sample.values)
        for ops, when, _ in UNSUITABLE
    )


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("name", NAMES, ids=[n.removeprefix("aten::") for n in NAMES])
def test_derivative(name: str) -> None:
    op = dispatcher.operators[name]
    checked, once = 0, re.fullmatch(ONCE, op.schema.name)
    for sample in samples(op, differentiable(name), COUNT, suitable):
        function, inputs = (
            sample.function(op if checked % 2 else None),
            sample.inputs(),
        )  # the dispatcher's long way, too
        try:
            gradcheck(function, inputs, **TOLERANCE)
            if (
                checked < SECOND
                and not once
                and any(o.requires_grad for o in outputs(function, inputs))
            ):
                gradgradcheck(function, inputs, **TOLERANCE)
        except Exception as error:
            raise AssertionError(f"{sample}\n{type(error).__name__}: {error}") from error
        checked += any(x.numel() for x in inputs)
    assert checked >= COUNT, f"{checked} good calls found of {COUNT}"


def test_nothing_is_left_out() -> None:
    """All entries with a formula are among the operators that are checked."""
    left_out = [n for n in entries() if differentiable(n) and n not in NAMES]
    assert [n for n in left_out if is_sampled(n)] == []
    assert len(NAMES) - len(left_out) > 300
    assert all(
        any(re.fullmatch(ops, n.removeprefix("aten::")) for n in functions()) for ops in NOT_SAMPLED
    )
    assert all(
        any(re.fullmatch(ops, f.schema.name) for f in functions().values())
        for ops, _, _ in UNSUITABLE
    )


def outputs(function: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    result = function(*inputs)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def scattered(values: dict[str, Any]) -> Any:
    """Along every line of `dim`, the positions written to."""
    positions = np.indices(values["index"].values.shape)
    positions[values["dim"]] = values["index"].values
    return np.ravel_multi_index(tuple(positions), values["self"].values.shape)


def indexed(values: dict[str, Any]) -> Any:
    places = np.arange(values["self"].values.size).reshape(values["self"].values.shape)
    return places[
        tuple(i.values if isinstance(i, TensorSpec) else slice(None) for i in values["indices"])
    ]


def spread(values: dict[str, Any]) -> int:
    """How many numbers each result is the deviation of."""
    sizes = values["self"].values.shape
    dims = values.get("dim")
    return math.prod(sizes[d] for d in dims) if dims and sizes else math.prod(sizes)


def repeats(places: Any) -> bool:
    return len(np.unique(places)) < places.size
