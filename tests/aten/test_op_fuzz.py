"""Every operator with random arguments, in `internals` (the short way and the long one) and in real
PyTorch.

Compared are values, shapes, dtypes, strides, which argument's memory a result lies in, what was
written in place, and type and words of the error when there is one. Seeded, a few calls an
operator; many more with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import internals
from internals._generated import ops
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.tensor_impl import TensorImpl, array, from_array
from tests.answers import answer
from tests.aten.areas import rows, table
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import FLOATS, Dtype, TensorSpec
from tests.support import first_line, full, is_of_type, outcome

CALLS = 60 if full() else 5
OPS = [op for name, op in dispatcher.operators.items() if name.startswith("aten::")]
NAMES = [op.name.removeprefix("aten::") for op in OPS]
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}

WRITTEN = {"out", "values", "indices", "out0", "out1", "out2", "total_weight", "output", "buffer"}
Condition = Callable[[dict[str, Any]], bool]

RENAMED = {"aten::max.dim_out": "dim_max", "aten::min.dim_out": "dim_min"}

# Operators that take what no recipe makes.
NOT_CALLED = {
    "_reshape_alias": (
        "it believes that its strides fit, because reshape computed them: "
        "tests/autograd/test_views.py"
    ),
    "set_": "its argument is a storage: tests/core/test_storage_semantics.py",
    "record_stream": "its argument is a stream: tests/cuda/test_pinned_memory.py",
    **dict.fromkeys(
        ["pin_memory", "_pin_memory"],
        "it needs a GPU, or a simulated one: tests/cuda/test_pinned_memory.py",
    ),
    "binary_cross_entropy.out": "PyTorch computes into an `out` that it has not resized",
    **{
        op.schema.name: (
            "its arguments come from a forward pass: test_backward_kernels.py, test_convolution.py"
        )
        for op in OPS
        if op.schema.name.endswith(("_backward", "_backward_data"))
    },
    **table("NOT_CALLED"),
}


def some(test: Callable[[TensorSpec], bool]) -> Condition:
    return lambda values: any(test(v) for v in values.values() if isinstance(v, TensorSpec))


def unfinite(values: dict[str, Any]) -> bool:
    return some(lambda t: t.values.dtype.kind in "fc" and not np.isfinite(t.values).all())(values)


def one_column(values: dict[str, Any]) -> bool:
    sizes = values["output_size"]
    return not sizes or sizes[-1] == 1


def other_out(values: dict[str, Any]) -> bool:
    """An `out` of another dtype than the first tensor."""
    specs = [v for v in values.values() if isinstance(v, TensorSpec)]
    outs = {
        name: v.values.dtype
        for name, v in values.items()
        if name in WRITTEN and isinstance(v, TensorSpec)
    }
    positions = {name for name in ("indices", "out1") if outs.get(name) == np.int64}
    return any(
        dtype != specs[0].values.dtype for name, dtype in outs.items() if name not in positions
    )


def not_floating(values: dict[str, Any]) -> bool:
    named = [v.name for v in values.values() if isinstance(v, Dtype)]
    return some(lambda t: t.values.dtype.kind != "f")(values) or any(n not in FLOATS for n in named)


expanded = some(lambda t: t.layout == "expanded")
empty = some(lambda t: not t.values.size)
half = some(lambda t: t.values.dtype == np.float16)
large = some(lambda t: t.values.size != 1)

# Calls whose outcome is known to differ: which operators, which arguments, and why. They are not
# compared.
KNOWN: list[tuple[str, Condition, str]] = [
    (
        "_upsample_.*_aa", lambda v: one_column(v),
        "PyTorch fills an image of one column with its first row",
    ),
    ("upsample_bicubic2d|upsample_trilinear3d|_upsample_.*_aa", unfinite,
     "infinities minus infinities in another order; which weights are 0 in single precision"),
    (
        "_?conv(olution|[123]d|_transpose[123]d)", unfinite,
        "infinities times padding's zeros: PyTorch may leave them out",
    ),
    (
        "(native_)?(group|layer)_norm|instance_norm|(var|std)_mean|upsample_bilinear2d|scaled_dot_product_attention",
        unfinite, "infinities minus infinities in another order",
    ),
    (
        "conj|adjoint|m?H", some(lambda t: t.values.dtype.kind == "c"),
        "PyTorch conjugates lazily, in a view; we copy",
    ),
    ("convolution", lambda v: v["transposed"] and without_pixels(v),
     "no pixels: PyTorch's own kernel refuses, oneDNN's does not; which runs depends on groups and "
     "batch"),
    ((
        ".*_"
    ), expanded, "not all of PyTorch's operators refuse to write to elements that share memory"),
    ("remainder|absolute|hardtanh|log_sigmoid|addmm|addmv|norm|native_batch_norm|var|std|"
     "max_pool2d_with_indices|adaptive_avg_pool2d|nll_loss.*", other_out,
     "an out= of another dtype: which are refused, and by which error, varies from op to op in "
     "PyTorch"),
    ("max|min", empty, "max(out=) of nothing is -inf in PyTorch, and an error without out="),
    ("_local_scalar_dense", large, "PyTorch takes the first element; item() checks before"),
    (
        "topk", lambda v: not v["sorted"] or ties(v["self"]),
        "the order, and which of equal elements, is open",
    ),
    (
        "norm", lambda v: "dtype" in v and "complex" in v["dtype"].name,
        "PyTorch's norm refuses a complex dtype= it asks for",
    ),
    ("any|all", lambda v: "out" in v and v["out"].values.dtype != bool, "which error comes first"),
    ("addmm_?|addmv_?|addbmm_?|baddbmm_?", lambda v: isinstance(v["beta"], float) or isinstance(
        v["alpha"], float,
    ),
     "PyTorch's check of fractional factors for integers is missing from some variants"),
    (
        "native_group_norm", some(lambda t: t.layout != "plain"),
        "PyTorch's kernel takes the layout for granted",
    ),
    (
        "repeat_interleave", lambda v: "self" not in v and some(not_counts)(v),
        "which error comes first",
    ),
    ("_?softmax|_?log_softmax|randn|randn_like|normal|bernoulli_|b?mm|mv|addmv_?|addmm_?|baddbmm_?|addbmm_?",
     lambda v: empty(v) or 0 in v.get("size", [1]),
     "PyTorch does not look at the dtype when there is nothing to compute"),
    ("_softmax|_log_softmax", lambda v: v["half_to_float"], "which error comes first"),
    (
        "linspace|bernoulli", not_floating,
        "dtypes that PyTorch takes in corner cases only: one step, out=",
    ),
    ("native_dropout", empty, "PyTorch's mask of nothing has the dtype of the input"),
    ("full", lambda v: v["fill_value"] == -1.5, "PyTorch refuses negative fractions for uint8"),
    (
        "view", lambda v: "dtype" in v and empty(v),
        "PyTorch's strides of some tensors without elements are 0",
    ),
    (
        "logsumexp", lambda v: v["dim"] == [],
        "an empty `dim` means all dimensions here; in PyTorch it fails",
    ),
    (
        ".*", lambda v: half(v) and some(lambda t: t.values.dtype.kind == "c")(v),
        "complex32 does not exist here",
    ),
    ("view_as_complex", half, "complex32 does not exist here"),
    *rows("KNOWN"),
]  # fmt: skip


# Errors in other words than PyTorch's, though of the same type: whose, and why.
OTHER_WORDS = {
    "(linalg|matrix|nuclear)?_?norm|linalg_multi_dot|chain_matmul|float_power|multinomial|kthvalue|cum(min|max)|diag|median|"
    "max_unpool[23]d|multi_margin_loss|multilabel_margin_loss|im2col|col2im|reflection_pad2d|adaptive_avg_pool3d|narrow_copy|"
    "tensordot|linalg_vecdot|nansum|linalg_solve_triangular|linalg_matrix_norm|max|mean|amin|histogram|soft_margin_loss|"
    "remainder|ldexp_?|mvlgamma_?|special_multigammaln|lerp": (
        "an out= of another dtype: PyTorch has many wordings"
    ),
    "linspace|logspace|(log_)?softmax|gelu|leaky_relu|elu|softplus|hardsigmoid|mish|cosine_similarity|_conj_physical|"
    "linalg_(inv|lu|lu_factor|matmul)|ormqr|mv|addr_|addbmm|linear|vdot|index_reduce|randint(_like)?|normal|fft_.*|masked_fill|"
    "nanmean": "which error comes first",
    ".*_window": "options that were given, and those that are defaults, are told apart",
    "frobenius_norm|_fft_r2c|linalg_(pinv|cond|tensorinv|_powsum)|_linalg_check_errors|nanmedian|clamp_(min|max)_?|isin|histc|"
    "special_hermite_polynomial_h|t_": "the function that it is made of speaks",
}
# Results whose strides are others than PyTorch's: LAPACK's columns, the order in which an FFT went
# over the dimensions, and that of mixed operands. The row-major results of the first are in
# docs/architecture.md.
OTHER_STRIDES = (
    "_?linalg_(solve_ex|solve|qr|ldl_.*|inv|inv_ex|lu_.*|cholesky|cholesky_ex|slogdet|det|solve_triangular|lstsq|"
    "householder_product)|qr|ormqr|orgqr|inverse|geqrf|cholesky_inverse|triangular_solve|lu_solve|_?fft_.*|_conj_physical|glu|"
    "(smooth_l1|huber|mse|soft_margin)_loss|_pad_enum|pad|prelu|sort|argsort|inner|threshold|square|(special_)?m.*gamma.*|"
    "nan_to_num|_transformer_encoder_layer_fwd|pow|float_power|ldexp|index|absolute"
)


def other_words(op: OperatorHandle, theirs: Exception) -> bool:
    # the first thing PyTorch looks at
    pinned = "no pinned memory allocator is available" in str(theirs)
    return pinned or any(re.fullmatch(names, op.schema.name) for names in OTHER_WORDS)


def without_pixels(v: dict[str, Any]) -> bool:
    """Whether a transposed convolution has an output of no height or no width."""
    sizes = zip(
        v["input"].values.shape[2:],
        v["weight"].values.shape[2:],
        v["stride"],
        v["padding"],
        v["dilation"],
        v["output_padding"],
    )
    return any((i - 1) * s - 2 * p + d * (k - 1) + o + 1 < 1 for i, k, s, p, d, o in sizes)


def ties(t: TensorSpec) -> bool:
    return len(np.unique(t.values)) < t.values.size


def not_counts(t: TensorSpec) -> bool:
    return t.values.ndim != 1 or t.values.dtype not in (np.int32, np.int64)


def known_difference(op: OperatorHandle, values: dict[str, Any]) -> bool:
    return any(
        re.fullmatch(names, op.schema.name) and condition(values) for names, condition, _ in KNOWN
    )


def is_called(op: OperatorHandle) -> bool:
    return not {op.name.removeprefix("aten::"), op.schema.name} & NOT_CALLED.keys()


@pytest.mark.sampled(1 / 6)
@pytest.mark.parametrize(
    "op", filter(is_called, OPS), ids=lambda op: op.name.removeprefix("aten::")
)
def test_like_pytorch(op: OperatorHandle) -> None:
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    agreed = 0
    compared = tried = 0
    while compared < CALLS and tried < 30 * CALLS:
        tried += 1
        values = arguments(op.schema, stream)
        if known_difference(op, values):
            continue
        compared += 1
        expected = asked(op, values)
        for way in (by_function, by_dispatcher):
            complaint = difference(op, run(op, values, internals, way), expected)
            assert not complaint, f"{op.schema}\n{values}\n{complaint}"
        agreed += expected[2] is None
        if compared == CALLS and not agreed:
            compared -= 1  # one at least has to succeed
    assert agreed, f"no call of {tried} succeeded"


def asked(op: OperatorHandle, values: dict[str, Any]) -> Any:
    def ask(torch: Any) -> Any:
        return tuple(vars(run(op, values, torch, by_torch)).values())

    return answer(ask, about=values, family="operators")


def test_nearly_every_operator_is_called() -> None:
    assert sum(map(is_called, OPS)) > 1700
    assert set(NOT_CALLED) <= {*NAMES, *(name.partition(".")[0] for name in NAMES)}
    assert all(any(re.fullmatch(names, op.schema.name) for op in OPS) for names, _, _ in KNOWN)


@dataclass
class Outcome:
    """What a call returned and wrote to, with which argument each of these shares memory, or the
    error it raised.
    """

    tensors: Any
    shared: list[int | None]
    error: Any


def run(op: OperatorHandle, values: dict[str, Any], lib: Any, way: Any) -> Outcome:
    built = {name: build(v, lib) for name, v in values.items()}
    lib.manual_seed(1)
    result, error = outcome(lambda: way(op, built))
    written = [built[a.name] for a in op.schema.arguments if a.is_write]
    found = () if error else (flat(result), *written)
    if op.schema.name in UNINITIALISED and error is None:
        for t in found:
            t.zero_()
    places = [place(built.values(), t) for t in found if hasattr(t, "untyped_storage")]
    return Outcome(found, places, error)


def place(arguments: Iterable[Any], t: Any) -> int | None:
    """The number of the argument whose memory a result lies in; of several, the first."""
    given = [
        t.untyped_storage().data_ptr() if hasattr(t, "untyped_storage") else None for t in arguments
    ]
    own = t.untyped_storage().data_ptr()
    return given.index(own) if t.numel() and own in given else None


def by_function(op: OperatorHandle, built: dict[str, Any]) -> Any:
    return getattr(ops, op.name.removeprefix("aten::").replace(".", "_"))(*built.values())


def by_dispatcher(op: OperatorHandle, built: dict[str, Any]) -> Any:
    return op(*built.values())


def by_torch(op: OperatorHandle, built: dict[str, Any]) -> Any:
    import torch

    overload = RENAMED.get(op.name, op.schema.overload) or "default"
    target = getattr(getattr(torch.ops.aten, op.schema.name), overload)
    # named otherwise for some
    outs = [a.name for a in target._schema.arguments if a.kwarg_only and a.alias_info]
    # out= twins of factories have fewer options there
    known = {a.name for a in target._schema.arguments}
    keyword = {
        a.name: built[a.name]
        for a in op.schema.arguments
        if a.kwarg_only and not a.is_write and a.name in known
    }
    keyword.update(
        zip(outs, [built[a.name] for a in op.schema.arguments if a.kwarg_only and a.is_write])
    )
    return target(*[built[a.name] for a in op.schema.arguments if not a.kwarg_only], **keyword)


def build(value: Any, lib: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value.build(
            lib, from_array if lib is internals else lambda a: lib.from_numpy(np.array(a)).clone()
        )
    if isinstance(value, Dtype):  # or a memory format
        return getattr(lib, value.name)
    return [build(v, lib) for v in value] if isinstance(value, list) else value


def flat(x: Any) -> Any:
    return tuple(flat(v) for v in x) if isinstance(x, (list, tuple)) else x


def difference(
    op: OperatorHandle, ours: Outcome, expected: tuple[Any, list[int | None], Any]
) -> str:
    """What is not the same, or nothing."""
    b, shared, error_b = expected
    a, error_a = ours.tensors, ours.error
    if (error_a is None) != (error_b is None):
        return f"we: {error_a!r} {a!r}, torch: {error_b!r} {b!r}"
    if error_b is not None:
        error = error_b.error()
        same = is_of_type(error_a, error) and (
            first_line(error_a) == first_line(error) or other_words(op, error)
        )
        return "" if same else f"we: {error_a!r}, torch: {error!r}"
    if ours.shared != shared and not re.fullmatch("matrix_H", op.schema.name):
        # lazily conjugated in PyTorch
        return f"memory of the arguments {ours.shared}, torch: {shared}"
    return unlike(op, a, b)


def unlike(op: OperatorHandle, a: Any, b: Any) -> str:
    if isinstance(b, tuple):
        if len(a) != len(b):
            return f"{len(a)} results against {len(b)}"
        return next(filter(None, (unlike(op, x, y) for x, y in zip(a, b))), "")
    if not isinstance(a, TensorImpl):
        return "" if a == b or a != a else f"{a!r} against {b!r}"
    if tuple(a.shape) != tuple(b.shape) or a.dtype.name != str(b.dtype).removeprefix("torch."):
        return f"{a.dtype} {list(a.shape)} against {b.dtype} {list(b.shape)}"
    if a.stride() != b.stride() and a.numel() and not re.fullmatch(OTHER_STRIDES, op.schema.name):
        return f"strides {a.stride()} against {b.stride()}"
    x, y = array(a), b.numpy()
    rtol, atol = {"float16": (5e-3, 5e-3), "complex64": (1e-4, 1e-4), "float32": (1e-4, 1e-5)}.get(
        a.dtype.name, (1e-7, 1e-8)
    )
    exact = x.dtype.kind in "biu"
    with np.errstate(all="ignore"):
        same = np.array_equal(x, y) if exact else np.allclose(x, y, rtol, atol, equal_nan=True)
    return "" if same else f"{a} against {b}"
