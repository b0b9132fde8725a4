"""Which kernel runs: keys, fallthrough, redispatch, overriding, and the fast lane, which must not
change the answer.
"""

from __future__ import annotations

import copy
import functools
import pickle
import re
import sys
import threading
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.aten import tensor_iterator
from internals.core import dispatch_key as dk
from internals.core.device import device
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import dispatcher, exclude_keys, include_keys
from internals.core.geometry import default_keys
from internals.core.hot import hot
from internals.core.tensor_impl import TensorImpl, array, from_array
from internals.library import Library
from tests.answers import answer
from tests.aten.op_arguments import arguments
from tests.aten.test_op_fuzz import build
from tests.support import outcome


def ones(*sizes: int) -> torch.Tensor:
    return from_array(np.ones(sizes, np.float32))


def test_key_sets() -> None:
    keys = ones(2)._geometry.keys
    wants = ones(2).requires_grad_()
    assert dk.keys_in(wants._geometry.keys) == dk.keys_in(keys)
    assert wants._geometry.keys != keys, "of which one is recorded"
    assert (
        dk.highest(0) is DispatchKey.Undefined and dk.highest(dk.RECORDS) is DispatchKey.Undefined
    )
    assert dk.key_set(dk.keys_in(keys)) == keys


def shown_keys(T: Any) -> list[str]:
    """The key sets of tensors of all kinds, and what the thread adds and takes."""
    plain, leaf, ghost = T.ones(2, 2), T.ones(2, requires_grad=True), T.ones(2, device="meta")
    tensors = [
        plain,
        leaf,
        leaf * 2,
        leaf.detach(),
        plain[0],
        plain.t(),
        T.arange(3),
        T.zeros(0),
        T.nn.Parameter(plain),
        ghost,
    ]
    with T.inference_mode():
        made, of_normal = T.ones(2), leaf + 1
        tensors += [
            made,
            made[:1],
            made.add_(1),
            of_normal,
            plain.view(4),
            plain.add_(1),
            T.ones(2, device="meta"),
        ]
        with T.inference_mode(False):
            tensors += [T.ones(2), made, leaf * 2]
    with T.no_grad():
        tensors += [T.ones(2), leaf * 2, leaf.view(2, 1)]
    tensors += [made, made.clone(), made.view(2), made + leaf.detach()]
    keys = [T._C._dispatch_keys(t) for t in tensors]
    return [str(k) for k in keys] + [
        f"{k.highestPriorityTypeId()} {k.has(T._C.DispatchKey.AutogradCPU)}" for k in keys
    ]


def test_key_sets_are_pytorchs() -> None:
    assert shown_keys(torch) == answer(shown_keys)


def test_what_threads_include_and_exclude() -> None:
    def shown(T: Any) -> list[Any]:
        include, exclude = (
            T._C._dispatch_tls_local_include_set,
            T._C._dispatch_tls_local_exclude_set,
        )
        found = [str(include()), exclude().has(T._C.DispatchKey.AutocastCPU)]
        for mode in (T.inference_mode(), T.inference_mode(False), T.no_grad()):
            with mode:
                found += [str(include()), exclude().has(T._C.DispatchKey.AutogradCPU)]
        return [*found, str(include())]

    assert shown(torch) == answer(shown)


def test_an_autograd_kernel_steps_aside_where_there_is_nothing_to_record() -> None:
    """On the reference path every call meets it; the fast lane knows without asking."""
    called = 0
    for op in dispatcher.operators.values():
        kernel = op.kernels.get(DispatchKey.Autograd)
        if kernel is None or not kernel.only_records:
            continue
        stream = np.random.default_rng(zlib.crc32(op.name.encode()))
        for _ in range(20):
            values, error = outcome(lambda: arguments(op.schema, stream))  # noqa: B023
            if error is not None:
                break
            built = [build(v, torch) for v in values.values()]
            if any(
                getattr(t, "requires_grad", False)
                for v in built
                for t in (v if isinstance(v, list) else [v])
            ):
                continue
            with hot.paused():
                result, error = outcome(lambda: op(*built))  # noqa: B023
            if error is None:
                called += 1
                for t in result if isinstance(result, (list, tuple)) else [result]:
                    assert getattr(t, "grad_fn", None) is None and not getattr(
                        t, "requires_grad", False
                    ), op.name
                break
    assert called > 300


def test_the_order_of_keys_is_pytorchs() -> None:
    real = answer(
        lambda torch: {name: int(key) for name, key in torch._C.DispatchKey.__members__.items()}
    )
    ours = [k for k in DispatchKey if DispatchKey.BackendSelect <= k < DispatchKey.Autograd]
    ours = [k for k in ours if k is not DispatchKey.PythonDispatcher]
    numbers = [real[k.name] for k in ours if k.name in real and "Autograd" not in k.name]
    assert numbers == sorted(numbers) and len(numbers) >= 4


def test_trace_of_an_inplace_op() -> None:
    a = ones(3)
    with torch._dispatch_trace() as steps:
        a.add_(ones(3))
    assert [(s["key"], s["kind"]) for s in steps] == [
        (DispatchKey.AutogradCPU, "kernel"),
        (DispatchKey.ADInplaceOrView, "kernel"),
        (DispatchKey.BackendSelect, "fallthrough"),
        (DispatchKey.CPU, "kernel"),
    ]
    assert steps[0]["op"] == "aten::add_.Tensor"


def functions_of(a: Any, b: Any) -> list[str]:
    """The functions of ours that `a + b` calls, in order."""
    called: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and "internals" in code.co_filename:
            # of a line of `_generated/ops.py`, when first called
            made = ", generated for " in code.co_filename
            called.append(f"{'ops' if made else Path(code.co_filename).stem}.{code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        _ = a + b
    finally:
        sys.setprofile(before)
    return called


def test_with_the_lanes_closed_an_operator_takes_the_path_that_is_told() -> None:
    text = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
    told = re.findall(
        r"`([^`]+)` →",
        text[text.index("**Three ways through.**") :].partition(". The fast lane")[0],
    )
    assert len(told) == 8
    places = {
        "Tensor.__add__": "fast_lane.__add__", "decide": "decisions.decide",
        "ops.add_Tensor": "ops.add_Tensor",
        "TensorIterator": "tensor_iterator.TensorIterator.__init__",
        "pointwise.add": "pointwise.add",
    }  # fmt: skip
    for n in (7, 7 * 11 * 13, 1 << 19):  # the last one is for machine code, if that is open
        a, b = ones(n), ones(n)
        tensor_iterator._decided.clear()
        with hot.paused():
            called = iter(functions_of(a, b))
            for name in told:
                wanted = places.get(name, "." + name)
                assert any(c.endswith(wanted) for c in called), (
                    f"{name} is not where it is told to be"
                )


def test_the_lanes_are_open_otherwise() -> None:
    a, large = ones(5), ones(1 << 19)
    assert not {"ops.add_Tensor", "pointwise.add", "tensor_iterator.TensorIterator.run"} & set(
        functions_of(a, a + a)
    )
    a, row = large.reshape(1 << 9, 1 << 10), ones(1 << 10)
    assert "elementwise.run_loop" in functions_of(a, row)
    with hot.paused():
        assert "elementwise.run_loop" not in functions_of(a, row)
        assert (a + row).tolist() == (a + 1).tolist()
    with hot.detour():
        assert "elementwise.run_loop" in functions_of(a, row)


def test_trace_of_a_functional_op_shows_the_fallthrough() -> None:
    with torch._dispatch_trace() as steps:
        ones(3) + ones(3)
    assert [(s["key"], s["kind"]) for s in steps] == [
        (DispatchKey.AutogradCPU, "kernel"),
        (DispatchKey.ADInplaceOrView, "fallthrough"),
        (DispatchKey.BackendSelect, "fallthrough"),
        (DispatchKey.CPU, "kernel"),
    ]


def test_include_and_exclude_are_per_thread() -> None:
    lib = Library("t_threads", "DEF")
    lib.define("f(Tensor x) -> str")
    lib.impl("f", lambda x: "cpu", "CPU")
    lib.impl("f", lambda x: "tracer", "Tracer")
    f = torch.ops.t_threads.f
    seen: list[str] = []
    with lib, include_keys(DispatchKey.Tracer):
        assert f(ones(1)) == "tracer"
        with exclude_keys(DispatchKey.Tracer):
            assert f(ones(1)) == "cpu"
        worker = threading.Thread(target=lambda: seen.append(f(ones(1))))
        worker.start()
        worker.join()
        assert f(ones(1)) == "tracer"
    assert seen == ["cpu"]


def test_redispatch_reaches_the_keys_below() -> None:
    with Library("t_redispatch", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x, "CPU")
        order: list[DispatchKey] = []

        def tracer(op: object, keys: int, x: torch.Tensor) -> torch.Tensor:
            order.append(dk.highest(keys))
            return dispatcher.redispatch(op, keys, x)  # type: ignore[arg-type]

        lib.impl("f", tracer, "Tracer", with_keyset=True)
        a = ones(2)
        with include_keys(DispatchKey.Tracer):
            assert torch.ops.t_redispatch.f(a) is a
        assert order == [DispatchKey.AutogradCPU]


def test_a_new_op_with_defaults_lists_and_keywords() -> None:
    with Library("t_new", "DEF") as lib:
        lib.define("scale(Tensor x, float by=2.0, *, int[2] twice=1) -> Tensor")
        lib.impl(
            "scale",
            lambda x, by, twice: from_array(array(x) * np.float32(by * twice[0] * twice[1])),
            "CPU",
        )
        f = torch.ops.t_new.scale
        assert array(f(ones(2))).tolist() == [2, 2]
        assert array(f(ones(2), 3, twice=2)).tolist() == [12, 12]
        assert f.overloads() == ["default"]
        with pytest.raises(TypeError, match="missing 1 required positional arguments"):
            f()
        with pytest.raises(TypeError, match=r"argument 'x' \(position 1\) must be Tensor, not int"):
            f(1)
    with pytest.raises(AttributeError, match="has no attribute 'scale'"):
        _ = torch.ops.t_new.scale


def test_overriding_a_kernel_reaches_operators_methods_and_functions_and_can_be_undone() -> None:
    a = ones(2)
    assert array(a + a).tolist() == [2, 2]
    with Library("aten", "IMPL") as lib:
        with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
            lib.impl(
                "add.Tensor",
                lambda self, other, alpha: from_array(array(self) - array(other)),
                "CPU",
            )
        assert (
            array(a + a).tolist()
            == array(a.add(a)).tolist()
            == array(torch.add(a, a)).tolist()
            == [0, 0]
        )
    assert array(a + a).tolist() == array(a.add(a)).tolist() == [2, 2]


def test_a_kernel_for_another_key_of_an_existing_op() -> None:
    calls = []
    with Library("aten", "IMPL") as lib, warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.impl("mul.Tensor", lambda self, other: calls.append("tracer"), "Tracer")
        ones(2) * ones(2)
        assert not calls
        with include_keys(DispatchKey.Tracer):
            ones(2) * ones(2)
        assert calls == ["tracer"]


def test_composite_kernels_serve_every_backend_until_one_has_its_own() -> None:
    with Library("t_composite", "DEF") as lib:
        lib.define("f(Tensor x) -> str")
        lib.impl("f", lambda x: "composite")
        op = dispatcher.find("t_composite::f")
        assert (
            op.kernel_for(DispatchKey.CPU)[1]
            == op.kernel_for(DispatchKey.AutogradCPU)[1]
            == "math kernel"
        )
        lib.impl("f", lambda x: "cpu", "CPU")
        assert op.kernel_for(DispatchKey.CPU)[1] == "kernel"
        assert op.kernel_for(DispatchKey.AutogradCPU)[1] == "backend fallback"
        assert op.kernel_for(DispatchKey.CUDA)[1] == "math kernel"


def test_errors_say_what_is_missing() -> None:
    with Library("t_missing", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        with pytest.raises(
            NotImplementedError,
            match="Could not run 't_missing::f' with arguments from the 'CPU' backend",
        ):
            torch.ops.t_missing.f(ones(1))
        with pytest.raises(RuntimeError, match="could not parse dispatch key: Cpu"):
            lib.impl("f", lambda x: x, "Cpu")
        with pytest.raises(RuntimeError, match="Could not find schema for t_missing::g"):
            lib.impl("g", lambda x: x, "CPU")
        with pytest.raises(RuntimeError, match="multiple times"):
            lib.define("f(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="unknown type specifier"):
            lib.define("h(Tonsor x) -> Tensor")
    with pytest.raises(ValueError, match="reserved namespace"):
        Library("aten", "DEF")
    with pytest.raises(ValueError, match="Unsupported kind"):
        Library("x", "NEW")


def test_the_table_and_the_walk_agree_for_every_op() -> None:
    """What the hot path looks up is what the reference walk finds, for every op and every plain key
    set.
    """
    on_cpu, on_cuda = ones(1)._geometry.keys, default_keys(device("cuda", 0))
    for op in dispatcher.operators.values():
        # the one operator that the CPU has not
        plain = on_cuda if op.name == "aten::record_stream" else on_cpu
        for records in (0, dk.RECORDS):
            found, keys = op.table[plain | records], plain & ~dk.AUTOCAST_MASK
            while (entry := op.kernel_for(dk.highest(keys)))[0].note == "fallthrough" or (
                entry[0].only_records and not records
            ):
                keys &= dk.below(dk.highest(keys))
            kernel = entry[0].function()
            assert found is kernel or getattr(found, "func", found) is kernel, op.name


def test_a_kernel_that_is_another_with_some_arguments_given_has_a_name() -> None:
    a = ones(2)
    with torch._dispatch_trace() as steps:
        a.gt(1)
    assert [s["kernel"] for s in steps if s["kind"] != "fallthrough"] == ["comparison.gt"]


def test_version_counters_and_bases() -> None:
    a = ones(4)
    v = a.view(2, 2)
    w = v.t()
    assert v._base is a and w._base is a and a._base is None
    v.add_(1)
    w.mul_(2)
    assert (a._version, v._version, w._version) == (2, 2, 2)
    assert array(a).tolist() == [4, 4, 4, 4]
    d = a.detach()
    d.add_(1)
    assert a._version == 3


# Composites count where they write: nothing in a dropout of nothing, once for the size and once for
# the elements elsewhere.
OTHERWISE = {
    **dict.fromkeys(["detach_", "dropout_", "feature_dropout_", "feature_alpha_dropout_"], 0),
    **dict.fromkeys(
        ["hstack.out", "vstack.out", "row_stack.out", "dstack.out", "column_stack.out"], 2
    ),
}


def test_every_write_of_every_operator_is_counted_once() -> None:
    """The version of each argument that is written to, the second and third as well, and of no
    other.
    """
    counted = 0
    for op in dispatcher.operators.values():
        name = op.name.removeprefix("aten::")
        if not (op.name.startswith("aten::") and any(a.is_write for a in op.schema.arguments)):
            continue
        stream = np.random.default_rng(zlib.crc32(op.name.encode()))
        for _ in range(60):
            values, error = outcome(lambda: arguments(op.schema, stream))  # noqa: B023
            if error is not None:
                break
            built = [build(v, torch) for v in values.values()]
            before = [t._version if isinstance(t, TensorImpl) else 0 for t in built]
            if outcome(lambda: op(*built))[1] is None:  # noqa: B023
                changes = [
                    t._version - n if isinstance(t, TensorImpl) else 0
                    for t, n in zip(built, before)
                ]
                written = [
                    OTHERWISE.get(name, 1) * (a.is_write and t is not None)
                    for a, t in zip(op.schema.arguments, built)
                ]
                assert changes == written, op.schema
                counted += 1
                break
    assert counted > 800


@pytest.mark.parametrize(
    "path", ["aten.add", "aten.add.Tensor", "aten.relu.default", "aten.__and__", "aten"]
)
def test_an_operator_is_itself_when_copied(path: str) -> None:
    found = [functools.reduce(getattr, path.split("."), torch.ops) for _ in range(2)]
    assert found[0] is found[1]
    assert (
        copy.copy(found[0])
        is copy.deepcopy([found[0]])[0]
        is pickle.loads(pickle.dumps(found[0]))
        is found[0]
    )


def test_deepcopy_of_an_operator_side_by_side(T: Any) -> None:
    assert copy.deepcopy(T.ops.aten.add) is T.ops.aten.add
    assert copy.deepcopy(T.ops.aten.add.Tensor) is T.ops.aten.add.Tensor


def test_a_packet_knows_overloads_that_come_later() -> None:
    with Library("t_later", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        first = torch.ops.t_later.f
        lib.define("f.two(Tensor x, Tensor y) -> Tensor")
        assert torch.ops.t_later.f.overloads() == ["default", "two"] and first.overloads() == [
            "default"
        ]


def test_an_overload_takes_keywords_and_refuses_what_its_schema_does_not_say(T: Any) -> None:
    assert T.ops.aten.sum.dim_IntList(T.ones(2, 3), [0], keepdim=True).shape == (1, 3)
    out = T.empty(0)
    assert T.ops.aten.add.out(T.ones(2), T.ones(2), alpha=3, out=out) is out and out.tolist() == [
        4,
        4,
    ]
    for call in (
        lambda: T.ops.aten.add.Tensor(T.ones(2), "a"),
        lambda: T.ops.aten.add.Tensor(T.ones(2)),
        lambda: T.ops.aten.add.Tensor(T.ones(2), T.ones(2), 3),
        lambda: T.ops.aten.add.Tensor(T.ones(2), T.ones(2), alfa=3),
    ):
        with pytest.raises((TypeError, RuntimeError)):
            call()
