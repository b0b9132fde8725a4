"""Every operator with random arguments, in `internals` (the short way and the long one) and in real PyTorch.

Compared are values, shapes, dtypes, the strides of views, what was written in place, and the type of the error when there is one.
Seeded, a few calls an operator; many more with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals._generated import ops
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.tensor_impl import TensorImpl, array, from_array
from tests.areas import rows, table
from tests.op_arguments import arguments
from tests.op_tensors import FLOATS, Dtype, TensorSpec
from tests.support import full, is_of_type, oracle, outcome

CALLS = 60 if full() else 5
OPS = [op for name, op in dispatcher.operators.items() if name.startswith("aten::")]
NAMES = [op.name.removeprefix("aten::") for op in OPS]
UNINITIALISED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}

WRITTEN = {"out", "values", "indices", "out0", "out1", "out2", "total_weight", "output", "buffer"}
Condition = Callable[[dict[str, Any]], bool]

RENAMED = {"aten::max.dim_out": "dim_max", "aten::min.dim_out": "dim_min"}

# Operators that take what no recipe makes.
NOT_CALLED = {
    "_reshape_alias": "it believes that its strides fit, because reshape computed them: tests/test_autograd_views.py",
    "set_": "its argument is a storage: tests/test_storage_semantics.py",
    "record_stream": "its argument is a stream: tests/cuda/test_pinned_memory.py",
    **dict.fromkeys(["pin_memory", "_pin_memory"], "it needs a GPU, or a simulated one: tests/cuda/test_pinned_memory.py"),
    "binary_cross_entropy.out": "PyTorch computes into an `out` that it has not resized",
    **{
        op.schema.name: "its arguments come from a forward pass: tests/test_backward_kernels.py, tests/test_nn_convolution.py"
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
    outs = {name: v.values.dtype for name, v in values.items() if name in WRITTEN and isinstance(v, TensorSpec)}
    positions = {name for name in ("indices", "out1") if outs.get(name) == np.int64}
    return any(dtype != specs[0].values.dtype for name, dtype in outs.items() if name not in positions)


def not_floating(values: dict[str, Any]) -> bool:
    named = [v.name for v in values.values() if isinstance(v, Dtype)]
    return some(lambda t: t.values.dtype.kind != "f")(values) or any(n not in FLOATS for n in named)


expanded = some(lambda t: t.layout == "expanded")
empty = some(lambda t: not t.values.size)
half = some(lambda t: t.values.dtype == np.float16)
large = some(lambda t: t.values.size != 1)

# Calls whose outcome is known to differ: which operators, which arguments, and why. They are not compared.
KNOWN: list[tuple[str, Condition, str]] = [
    ("_upsample_.*_aa", lambda v: one_column(v), "PyTorch fills an image of one column with its first row"),
    ("upsample_bicubic2d|upsample_trilinear3d|_upsample_.*_aa", unfinite,
     "infinities minus infinities in another order; which weights are 0 in single precision"),
    ("_?conv(olution|[123]d|_transpose[123]d)", unfinite, "infinities times padding's zeros: PyTorch may leave them out"),
    ("(native_)?(group|layer)_norm|instance_norm|(var|std)_mean|upsample_bilinear2d|scaled_dot_product_attention", unfinite,
     "infinities minus infinities in another order"),
    ("conj|adjoint|m?H", some(lambda t: t.values.dtype.kind == "c"), "PyTorch conjugates lazily, in a view; we copy"),
    ("convolution", lambda v: v["transposed"] and without_pixels(v),
     "no pixels: PyTorch's own kernel refuses, oneDNN's does not; which runs depends on groups and batch"),
    (".*_", expanded, "not all of PyTorch's operators refuse to write to elements that share memory"),
    ("remainder|absolute|hardtanh|log_sigmoid|addmm|addmv|norm|native_batch_norm|var|std|"
     "max_pool2d_with_indices|adaptive_avg_pool2d|nll_loss.*", other_out,
     "an out= of another dtype: which are refused, and by which error, varies from op to op in PyTorch"),
    ("max|min", empty, "max(out=) of nothing is -inf in PyTorch, and an error without out="),
    ("_local_scalar_dense", large, "PyTorch takes the first element; item() checks before"),
    ("topk", lambda v: not v["sorted"] or ties(v["self"]), "the order, and which of equal elements, is open"),
    ("norm", lambda v: "dtype" in v and "complex" in v["dtype"].name, "PyTorch's norm refuses a complex dtype= it asks for"),
    ("any|all", lambda v: "out" in v and v["out"].values.dtype != bool, "which error comes first"),
    ("addmm_?|addmv_?|addbmm_?|baddbmm_?", lambda v: isinstance(v["beta"], float) or isinstance(v["alpha"], float),
     "PyTorch's check of fractional factors for integers is missing from some variants"),
    ("native_group_norm", some(lambda t: t.layout != "plain"), "PyTorch's kernel takes the layout for granted"),
    ("repeat_interleave", lambda v: "self" not in v and some(not_counts)(v), "which error comes first"),
    ("_?softmax|_?log_softmax|randn|randn_like|normal|bernoulli_|b?mm|mv|addmv_?|addmm_?|baddbmm_?|addbmm_?",
     lambda v: empty(v) or 0 in v.get("size", [1]), "PyTorch does not look at the dtype when there is nothing to compute"),
    ("_softmax|_log_softmax", lambda v: v["half_to_float"], "which error comes first"),
    ("linspace|bernoulli", not_floating, "dtypes that PyTorch takes in corner cases only: one step, out="),
    ("native_dropout", empty, "PyTorch's mask of nothing has the dtype of the input"),
    ("full", lambda v: v["fill_value"] == -1.5, "PyTorch refuses negative fractions for uint8"),
    ("view", lambda v: "dtype" in v and empty(v), "PyTorch's strides of some tensors without elements are 0"),
    ("logsumexp", lambda v: v["dim"] == [], "an empty `dim` means all dimensions here; in PyTorch it fails"),
    (".*", lambda v: half(v) and some(lambda t: t.values.dtype.kind == "c")(v), "complex32 does not exist here"),
    ("view_as_complex", half, "complex32 does not exist here"),
    *rows("KNOWN"),
]  # fmt: skip


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
    return any(re.fullmatch(names, op.schema.name) and condition(values) for names, condition, _ in KNOWN)


@pytest.mark.parametrize("op", OPS, ids=NAMES)
def test_like_pytorch(op: OperatorHandle) -> None:
    torch = oracle()
    name = op.name.removeprefix("aten::")
    reason = NOT_CALLED.get(name, NOT_CALLED.get(op.schema.name))
    if reason:
        pytest.skip(f"not fuzzed: {reason}")
    stream = np.random.default_rng(zlib.crc32(op.name.encode()))
    agreed = 0
    compared = tried = 0
    while compared < CALLS and tried < 30 * CALLS:
        tried += 1
        values = arguments(op.schema, stream)
        if known_difference(op, values):
            continue
        compared += 1
        expected = run(op, values, torch)
        for way in (call_function, op):
            got = run(op, values, internals, way)
            complaint = difference(op, got, expected)
            assert not complaint, f"{op.schema}\n{values}\n{complaint}"
        agreed += expected[1] is None
        if compared == CALLS and not agreed:
            compared -= 1  # one at least has to succeed
    assert agreed, f"no call of {tried} succeeded"


def test_nearly_every_operator_is_called() -> None:
    skipped = [name for name in NAMES if name in NOT_CALLED or name.partition(".")[0] in NOT_CALLED]
    assert len(NAMES) - len(skipped) > 650
    assert set(NOT_CALLED) <= {*NAMES, *(name.partition(".")[0] for name in NAMES)}
    assert all(any(re.fullmatch(names, op.schema.name) for op in OPS) for names, _, _ in KNOWN)


def run(op: OperatorHandle, values: dict[str, Any], lib: Any, way: Any = None) -> tuple[Any, Exception | None]:
    """The result and all tensors that were written to, or the error."""
    ours = lib is internals
    built = {name: build(v, lib) for name, v in values.items()}
    lib.manual_seed(1)
    if ours:
        result = outcome(lambda: way(op, *built.values()) if way is call_function else way(*built.values()))
    else:
        overload = RENAMED.get(op.name, op.schema.overload) or "default"
        target = getattr(getattr(lib.ops.aten, op.schema.name), overload)
        outs = [a.name for a in target._schema.arguments if a.kwarg_only and a.alias_info]  # named otherwise for some
        known = {a.name for a in target._schema.arguments}  # out= twins of factories have fewer options there
        keyword = {
            a.name: built[a.name] for a in op.schema.arguments if a.kwarg_only and not a.is_write and a.name in known
        }
        keyword.update(zip(outs, [built[a.name] for a in op.schema.arguments if a.kwarg_only and a.is_write]))
        positional = [built[a.name] for a in op.schema.arguments if not a.kwarg_only]
        result = outcome(lambda: target(*positional, **keyword))
    written = [built[a.name] for a in op.schema.arguments if a.is_write]
    return (plain(result[0]), *written), result[1]


def call_function(op: OperatorHandle, *values: Any) -> Any:
    name = op.name.removeprefix("aten::").replace(".", "_")
    return getattr(ops, name)(*values)


def build(value: Any, lib: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value.build(lib, from_array if lib is internals else lambda a: lib.from_numpy(np.array(a)).clone())
    if isinstance(value, Dtype):  # or a memory format
        return getattr(lib, value.name)
    return [build(v, lib) for v in value] if isinstance(value, list) else value


def plain(x: Any) -> Any:
    return tuple(plain(v) for v in x) if isinstance(x, (list, tuple)) else x


def difference(op: OperatorHandle, got: tuple[Any, Exception | None], expected: tuple[Any, Exception | None]) -> str:
    """What is not the same, or nothing."""
    (a, error_a), (b, error_b) = got, expected
    if (error_a is None) != (error_b is None):
        return f"we: {error_a!r} {a[0]!r}, torch: {str(error_b)[:300]!r} {b[0]!r}"
    if error_b is not None:
        return "" if is_of_type(error_a, error_b) else f"we: {error_a!r}, torch: {error_b!r}"
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
    if op.schema.is_view and a.stride() != b.stride() and a.numel():
        return f"strides {a.stride()} against {b.stride()}"
    if op.schema.name in UNINITIALISED:
        return ""
    x, y = array(a), b.detach().resolve_conj().resolve_neg().numpy()
    rtol, atol = {"float16": (5e-3, 5e-3), "complex64": (1e-4, 1e-4), "float32": (1e-4, 1e-5)}.get(
        a.dtype.name, (1e-7, 1e-8)
    )
    exact = x.dtype.kind in "biu"
    with np.errstate(all="ignore"):
        same = np.array_equal(x, y) if exact else np.allclose(x, y, rtol, atol, equal_nan=True)
    return "" if same else f"{a} against {b}"
