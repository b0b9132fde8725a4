"""Questions about tensors, conversions, tensors out of lists, and what is left: optionals,
printing, gradients, settings.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import internals
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Graph, OptionalType, TensorType, Value
from internals.jit.ir.type_parser import parse_type
from internals.jit.operators import all_operators, find_operator
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.runtime.errors import Error
from tests.jit import oracle as jit_oracle


def call(name: str, *args: Any) -> Any:
    return find_operator(name if "::" in name else f"aten::{name}").fn(*args)


def t(value: Any, dtype: str | None = None, requires_grad: bool = False) -> Any:
    return internals.tensor(
        value, dtype=getattr(internals, dtype) if dtype else None, requires_grad=requires_grad
    )


X = internals.arange(6.0).view(2, 3)
TENSORS = [
    t(1.5),
    t(2),
    t(True),
    t([1.0]),
    t([1.0, 2.0]),
    t(2, "int8"),
    t(1.5, "float64"),
    t(float("nan")),
    t([1.5, -2.0], "float64"),
]
QUESTIONS = {
    "aten::size": "int[]", "aten::stride": "int[]", "aten::dim": "int", "aten::numel": "int",
    "aten::element_size": "int",
    "aten::storage_offset": "int", "aten::is_contiguous": "bool", "aten::is_floating_point": "bool",
    "aten::is_complex": "bool",
    "aten::is_signed": "bool", "aten::get_device": "int", "aten::len.Tensor": "int",
    "prim::dtype": "int",
    "prim::device": "Device", "prim::layout": "int", "prim::requires_grad": "bool",
    "prim::itemsize": "int",
    "prim::nbytes": "int", "prim::is_cpu": "bool", "prim::is_cuda": "bool", "prim::is_meta": "bool",
    "prim::is_sparse": "bool",
    "prim::is_quantized": "bool", "prim::name": "str?",
    "aten::Int.Tensor": "int", "aten::Float.Tensor": "float", "aten::Bool.Tensor": "bool",
    "aten::IntImplicit": "int",
    "aten::FloatImplicit": "float", "aten::ScalarImplicit": "Scalar",
    "aten::ComplexImplicit": "complex", "aten::item": "Scalar",
    "aten::str": "str", "prim::data": "Tensor",
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_agree_with_pytorch(name: str) -> None:
    assert jit_oracle.matched(name.partition(".")[0], ["Tensor"]) == name
    for x in [*TENSORS, X, internals.zeros(0, 2), t(1.5, requires_grad=True)]:
        if x.numel() or name != "aten::stride":
            # numpy, on the way to PyTorch, has its own strides of nothing
            jit_oracle.compare(name, ["Tensor"], [x], QUESTIONS[name])


def test_implicit_conversions_say_why_not() -> None:
    for value, message in (
        (
            t(1.5, requires_grad=True),
            "Cannot input a tensor that requires grad as a scalar argument",
        ),
        (t([1]), "Cannot input a tensor of dimension other than 0 as a scalar argument"),
        (t(1.5), "Cannot input a tensor of type Float as an integral argument"),
        (t(True), "Cannot input a tensor of type Bool as an integral argument"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call("IntImplicit", value)


@pytest.mark.parametrize(
    ("type", "data"),
    [("int[]", [1, 2]), ("float[]", [1.0, 2.5]), ("bool[]", [True]), ("int[][]", [[1, 2], [3, 4]]),
     ("int", 3), ("float", 1.5), ("bool", True)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [None, 6, 7, 4])
def test_tensor_and_as_tensor(type: str, data: Any, dtype: int | None) -> None:
    overload = "" if type.endswith("]") else f".{type}"
    dtype_type = "NoneType" if dtype is None else "int"
    types = [type, dtype_type, "NoneType", "bool"]
    for name, n in ((f"aten::tensor{overload}", 4), (f"aten::as_tensor{overload or '.list'}", 3)):
        jit_oracle.compare(name, types[:n], [data, dtype, None, False][:n], "Tensor")


@pytest.mark.parametrize("value", [3, 2.5, True])
def test_num_to_tensor(value: Any) -> None:
    name = "prim::NumToTensor.bool" if value is True else "prim::NumToTensor.Scalar"
    kind = {int: "int", float: "float", bool: "bool"}[type(value)]
    jit_oracle.compare(name, [kind], [value], "Tensor")


def test_moving() -> None:
    assert call("to.prim_dtype", X, 7, False, False).dtype is internals.float64
    assert call("to.prim_dtype", X, None, False, False) is X
    assert call("to.prim_other", X, False, True) is not X
    assert (
        call("to.prim_Device", X, internals.device("meta"), 4, False, False).dtype
        is internals.int64
    )
    assert call("cpu", X) is X
    assert [p.tolist() for p in call("split", X, [1, 1], 0)] == [
        [[0.0, 1.0, 2.0]],
        [[3.0, 4.0, 5.0]],
    ]
    assert call("index.Tensor_hacked_twin", X, [t([1])]).tolist() == [[3.0, 4.0, 5.0]]
    assert call("copy_.float", internals.zeros(2), 1.5).tolist() == [1.5, 1.5]


def test_identity() -> None:
    assert (
        call("__is__", X, X)
        and call("__isnot__", X, X.clone())
        and call("__is__", None, None)
        and not call("__is__", X, None)
    )
    assert call("__is__", 1000, int("1000")) and not call("__is__", 1, True)
    assert call("_unwrap_optional", 3) == 3
    with pytest.raises(RuntimeError, match="Unwrapping null optional"):
        call("_unwrap_optional", None)


def test_print_is_cpps(capsys: pytest.CaptureFixture[str]) -> None:
    call("prim::Print", 1, 0.1, "a", [1.0], (1,), None, internals.tensor([1.0, 2.5]))
    assert (
        capsys.readouterr().out
        == "1 0.10000000000000001 a [1.] (1,) None  1.0000\n 2.5000\n[ CPUFloatType{2} ]\n"
    )


def test_raise_and_warn() -> None:
    with pytest.raises(Error, match="^boom$") as info:
        call("prim::RaiseException", "boom", "builtins.ValueError")
    assert info.value.python_class_name == "builtins.ValueError"
    with pytest.warns(UserWarning, match="careful"):
        call("warn", "careful", 2)


def test_gradients_that_are_not_there() -> None:
    assert call("prim::AutogradAdd", None, X) is X and call("prim::AutogradAdd", X, None) is X
    assert (
        call("prim::AutogradAdd", X, X).tolist() == (X + X).tolist()
        and call("prim::AutogradZero") is None
    )
    assert call("prim::AutogradAnyNonZero", None, X) and not call("prim::AutogradAnyNonZero", None)
    assert call("prim::AutogradAllNonZero", X) and call("prim::AutogradAllZero", None, None)
    assert call("_grad_sum_to_size", X, None) is X and call(
        "_grad_sum_to_size", X, [1, 3]
    ).tolist() == [[3.0, 5.0, 7.0]]
    assert call("prim::ReductionSizes", [2, 3, 4], [-1, 0], False) == [3]
    assert call("prim::ReductionSizes", [2, 3, 4], [1], True) == [2, 1, 4]


def test_settings() -> None:
    assert call("is_grad_enabled")
    try:
        call("set_grad_enabled", False)
        assert not call("is_grad_enabled") and not internals.is_grad_enabled()
    finally:
        call("set_grad_enabled", True)
    call("manual_seed", 3)
    first = internals.rand(2).tolist()
    call("manual_seed", 3)
    assert internals.rand(2).tolist() == first
    w = internals.zeros(3, requires_grad=True)
    assert call("_no_grad_fill_", w, 2.0) is w and w.is_leaf and w.tolist() == [2.0] * 3
    assert call("is_scripting") is True


def test_backward_and_grad() -> None:
    x = internals.ones(2, requires_grad=True)
    call("backward", (x * 3).sum(), None, None, False)
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]
    (found,) = call("grad", [(x * x).sum()], [x], None, None, False, False)
    assert found.tolist() == [2.0, 2.0]


def test_what_shares_memory_says_so() -> None:
    """Every operator of one tensor and defaults: if the result is the argument's memory, alias
    analysis knows.
    """
    checked = 0
    for operator in all_operators():
        formals = operator.schema.arguments
        if not formals or formals[0].type != TensorType.get() or operator.schema.is_vararg:
            continue
        if (
            not all(a.has_default or isinstance(a.type, OptionalType) for a in formals[1:])
            or operator.schema.is_mutable
        ):
            continue
        for x in (
            internals.ones(2, 2),
            internals.ones(1),
            internals.ones(2, 2, dtype=internals.int64),
        ):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = operator.fn(x, *(a.default_value for a in formals[1:]))
            except (
                RuntimeError,
                TypeError,
                IndexError,
                NotImplementedError,
                ValueError,
                AttributeError,
            ):
                continue
            except AssertionError as error:
                assert "CUDA" in str(error)
                continue
            if isinstance(result, TensorImpl):
                checked += 1
                if result.untyped_storage() is x.untyped_storage():
                    graph, node = call_in_a_graph(
                        operator.schema.name, [a.default_value for a in formals[1:]], operator
                    )
                    assert AliasDb(graph).may_alias(node.outputsAt(0), node.inputsAt(0)), operator
    assert checked > 100


def call_in_a_graph(kind: str, rest: list[Any], operator: Any) -> Any:
    graph = Graph()
    fresh = graph.insert("aten::neg", [graph.addInput("x")])
    values: list[Value] = [fresh]
    for argument, value in zip(operator.schema.arguments[1:], rest):
        constant = graph.insertConstant(
            value, None if value is not None else parse_type("NoneType")
        )
        values.append(constant.setType(argument.type) if isinstance(value, list) else constant)
    node = graph.insertNode(graph.create(kind, values))
    assert node.operator() is not None
    return graph, node
