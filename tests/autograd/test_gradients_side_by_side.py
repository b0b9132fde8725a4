"""Gradients of every operator beside PyTorch's, also where gradcheck cannot go: at kinks, at ties,
in single precision.

What the derivative is where there is none is a convention (0 for relu at 0, equal shares for equal
maxima), and this project's is PyTorch's. The node that is recorded has to have PyTorch's name, too.
Seeded; many more calls with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.tensor_impl import TensorImpl
from tests.answers import answer
from tests.aten.areas import rows, table
from tests.aten.op_tensors import TensorSpec
from tests.aten.test_op_fuzz import RENAMED, some, ties
from tests.autograd.gradient_samples import Sample, samples
from tests.autograd.test_gradcheck_ops import NAMES, differentiable, suitable
from tests.support import first_line, full, is_of_type, outcome, to_numpy

COUNT = 30 if full() else 4
SINGLE, DOUBLE = (2e-4, 2e-5), (1e-8, 1e-9)  # relative and absolute tolerances

# Calls that are not compared: which operators, when, and why.
KNOWN: list[tuple[str, Callable[[dict[str, Any]], bool], str]] = [
    (
        "_?conv.*|binary_cross_entropy_with_logits|.*_loss_backward",
        lambda v: mixed(v),
        "PyTorch's dtypes of mixtures are those of its kernels",
    ),
    (
        "_upsample_.*_aa",
        lambda v: not v["output_size"] or v["output_size"][-1] == 1,
        "PyTorch fills an image of one column with its first row",
    ),
    (
        "pow",
        lambda v: isinstance(v["self"], (int, float)) and v["self"] == 0,
        "PyTorch's second derivative of 0**x is NaN",
    ),
    (
        "prelu",
        lambda v: not v["self"].values.all(),
        "second derivatives at the kink: PyTorch has a formula of its own",
    ),
    (
        "topk",
        lambda v: not v["sorted"] or ties(v["self"]),
        "the order, and which of equal elements, is open",
    ),
    ("embedding", lambda v: v["sparse"], "there are no sparse gradients"),
    (
        "(var|std)(_mean)?",
        lambda v: v.get("dim") == [],
        "PyTorch's formula counts elements wrongly without dimensions",
    ),
    (
        "elu_",
        lambda v: min(v["scale"], v["input_scale"]) < 0,
        "PyTorch's formula from the result takes the wrong branch",
    ),
    (
        "native_group_norm",
        some(lambda t: t.layout != "plain"),
        "PyTorch's kernel takes the layout for granted",
    ),
    (
        "mm|bmm",
        lambda v: mixed(v),
        "PyTorch does not look at the dtype when there is nothing to compute",
    ),
    (
        "(smooth_l1|huber)_loss_backward",
        lambda v: min(v.get("beta", 1), v.get("delta", 1)) <= 0,
        "refused by forward",
    ),
    (
        "native_dropout",
        lambda v: not v["input"].values.size,
        "PyTorch's mask of nothing has the dtype of the input",
    ),
    *rows("GRADIENTS_KNOWN"),
]

# What PyTorch says where it has no derivative, or one that fails for some dtypes and layouts, and
# there is one here.
NO_CODE = (
    "does not support automatic differentiation|erivative (for|of) .* is not implemented|"
    "expected scalar type (Double|Float) but found|Found dtype|Expected isFloatingType\\(grad|"
    "returned an invalid gradient|In-place leakyReLu|output with shape|contiguous"
)
OTHER_WORDS = "ormqr: Expected input and tau|All tensors must have the same dtype"

# Operators whose nodes have other names than PyTorch's, and why.
OTHER_NODES = {
    "(as_strided|transpose|t|squeeze|unsqueeze|swapaxes|swapdims|leaky_relu|elu|celu|selu|"
    "threshold)_": (
        "they have entries of their own in PyTorch, which count in the numbers of nodes"
    ),
    r"(add|sub|mul|div|true_divide)_?\.Scalar(_mode)?": (
        "recorded as x + 2 is: by the node of add.Tensor"
    ),
    "_convolution": "called by itself it has the node of the implementation that PyTorch chose",
    "prelu|unsafe_chunk|pairwise_distance|(pixel|channel)_(un)?shuffle": "of their own in "
    "PyTorch, made of other operators here",
    "lift_fresh": "it gives its argument back; PyTorch puts a node on it first",
    "reshape|reshape_as|flatten|unflatten|view_as|ravel|matmul|linear|einsum|pad|conj_physical": (
        "made of other operators there"
    ),
    **table("OTHER_NODES"),
}


@pytest.mark.sampled(1 / 6)
@pytest.mark.parametrize("name", NAMES, ids=[n.removeprefix("aten::") for n in NAMES])
def test_gradients_like_pytorch(name: str) -> None:
    op = dispatcher.operators[name]
    stream = np.random.default_rng(len(name))
    for sample in samples(
        op, differentiable(name), COUNT, comparable, domains=("ties", "signed", "positive", "unit")
    ):
        roll = stream.random()
        if roll < 0.5:  # single precision, or two precisions in one call
            sample = sample.as_type(
                "float32", only=None if roll < 0.35 else str(stream.choice(sample.names))
            )
        if not comparable(sample):
            continue
        theirs, their_error = asked(op, sample)
        ours, our_error = outcome(lambda: gradients(internals, sample, None))  # noqa: B023
        if their_error is not None:
            complaint = other_error(our_error, their_error.error())
            assert not complaint, f"{sample}\n{complaint}"
            continue
        complaint = difference(
            op, ours, our_error, theirs, *(SINGLE if "float32" in dtypes(sample.values) else DOUBLE)
        )
        assert not complaint, f"{sample}\n{complaint}"


def other_error(ours: Any, theirs: Exception) -> str:
    """What is not the same, or nothing. There are calls whose gradients PyTorch has no code for; no
    more than those.
    """
    if re.search(NO_CODE, str(theirs)):
        return ""
    same = is_of_type(ours, theirs) and (
        first_line(ours) == first_line(theirs) or re.search(OTHER_WORDS, str(theirs))
    )
    return "" if same else f"we: {ours!r}, torch: {theirs!r}"


def asked(op: OperatorHandle, sample: Sample) -> Any:
    return answer(
        lambda torch: outcome(lambda: gradients(torch, sample, torch_call(op, torch))),
        about=sample,
        family="gradients",
    )


def comparable(sample: Sample) -> bool:
    known = any(
        re.fullmatch(ops, sample.op.schema.name) and when(sample.values) for ops, when, _ in KNOWN
    )
    return suitable(sample) and not known


def gradients(lib: Any, sample: Sample, call: Callable[..., Any] | None) -> dict[str, Any]:
    """The outputs and their nodes, their gradients in a random direction, and the gradients of
    those.
    """
    stream = np.random.default_rng(7)
    inputs = sample.inputs(lib)
    result = sample.function(call, lib)(*inputs)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    found: dict[str, Any] = {}
    for i, o in enumerate(outputs):
        found[f"output {i}"], found[f"requires_grad of output {i}"] = o, o.requires_grad
        found[f"node of output {i}"] = (
            None if o.grad_fn is None else o.grad_fn.name().rpartition("::")[2]
        )
    wanted = [o for o in outputs if o.requires_grad]
    if not wanted:
        return found
    v = [like(lib, stream, o) for o in wanted]
    first = lib.autograd.grad(wanted, inputs, v, create_graph=True, allow_unused=True)
    found.update({f"gradient {i}": g for i, g in enumerate(first)})
    again = [g for g in first if g is not None and g.requires_grad]
    if again:
        second = lib.autograd.grad(
            again, [*inputs, *v], [like(lib, stream, g) for g in again], allow_unused=True
        )
        found.update({f"second gradient {i}": g for i, g in enumerate(second)})
    return found


def like(lib: Any, stream: np.random.Generator, t: Any) -> Any:
    values: Any = stream.uniform(-1, 1, tuple(t.shape))
    if t.is_complex():
        values = values + 1j * stream.uniform(-1, 1, tuple(t.shape))
    values = values.tolist()
    return lib.tensor(values, dtype=t.dtype).reshape(tuple(t.shape)).requires_grad_()


def torch_call(op: OperatorHandle, torch: Any) -> Callable[..., Any]:
    """The same operator of PyTorch, taking its arguments in schema order."""
    target = getattr(
        getattr(torch.ops.aten, op.schema.name),
        RENAMED.get(op.name, op.schema.overload) or "default",
    )

    def call(*values: Any) -> Any:
        pairs = list(zip(op.schema.arguments, values))
        return target(
            *[v for a, v in pairs if not a.kwarg_only],
            **{a.name: v for a, v in pairs if a.kwarg_only},
        )

    return call


def difference(
    op: OperatorHandle,
    ours: Any,
    our_error: Exception | None,
    theirs: Any,
    rtol: float,
    atol: float,
) -> str:
    """What is not the same, or nothing."""
    if our_error is not None:
        return "" if theirs is None else f"we: {our_error!r}"
    for name, expected in theirs.items():
        got = ours.get(name)
        if name.startswith("node of"):
            same = got == expected or any(
                re.fullmatch(ops, s) for ops in OTHER_NODES for s in (op.schema.name, short(op))
            )
        elif name.startswith("second") and (got is None or expected is None):
            # no way, or a way of zeros
            same = all(t is None or not np.any(numbers(t)) for t in (got, expected))
        elif isinstance(got, TensorImpl) and expected is not None:
            a, b = numbers(got), numbers(expected)
            same = (
                a.shape == b.shape
                and a.dtype == b.dtype
                and np.allclose(a, b, rtol, atol, equal_nan=True)
            )
        else:
            same = got == expected
        if not same:
            return f"{name} is {got}, for torch {expected}"
    return ""


def numbers(t: Any) -> np.ndarray:
    return to_numpy(t) if isinstance(t, TensorImpl) else t.numpy()


def dtypes(values: dict[str, Any]) -> set[str]:
    """Those of the floating tensors; that of the parts of complex numbers."""
    listed = [
        v for value in values.values() for v in (value if isinstance(value, list) else [value])
    ]
    return {
        v.values.real.dtype.name
        for v in listed
        if isinstance(v, TensorSpec) and v.values.dtype.kind in "fc"
    }


def mixed(values: dict[str, Any]) -> bool:
    return len(dtypes(values)) > 1


def short(op: OperatorHandle) -> str:
    return op.name.removeprefix("aten::")
