"""Lists and dicts: results, what they are afterwards, and errors, against real TorchScript."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.jit.operators import find_operator
from tests.jit import oracle as jit_oracle

INTS, FLOATS, WORDS = [3, 1, 2, 1], [2.5, -1.0, 0.5], ["b", "a", "c"]
LISTS: list[tuple[str, list[str], list[Any], list[str]]] = [
    ("append.t", ["int[]", "int"], [INTS, 9], ["int[]"]),
    ("insert.t", ["int[]", "int", "int"], [INTS, 1, 9], []),
    ("insert.t", ["int[]", "int", "int"], [INTS, -1, 9], []),
    ("insert.t", ["int[]", "int", "int"], [INTS, 40, 9], []),
    ("insert.t", ["int[]", "int", "int"], [INTS, -40, 9], []),
    ("extend.t", ["str[]", "str[]"], [WORDS, ["z"]], []),
    ("pop.t", ["int[]", "int"], [INTS, 1], ["int"]),
    ("pop.t", ["int[]", "int"], [INTS, -1], ["int"]),
    ("pop.t", ["int[]", "int"], [INTS, 7], ["int"]),
    ("pop.t", ["int[]", "int"], [[], 0], ["int"]),
    ("remove.int", ["int[]", "int"], [INTS, 1], []),
    ("remove.str", ["str[]", "str"], [WORDS, "q"], []),
    ("Delete.t", ["int[]", "int"], [INTS, -2], []),
    ("Delete.t", ["int[]", "int"], [INTS, 9], []),
    ("clear.t", ["int[]"], [INTS], []),
    ("reverse.t", ["int[]"], [INTS], []),
    ("_set_item.t", ["int[]", "int", "int"], [INTS, 2, 9], ["int[]"]),
    ("_set_item.t", ["int[]", "int", "int"], [INTS, -5, 9], ["int[]"]),
    ("__getitem__.t", ["int[]", "int"], [INTS, -4], ["int"]),
    ("__getitem__.t", ["int[]", "int"], [INTS, 4], ["int"]),
    ("select.t", ["int[]", "int"], [INTS, 1], ["int"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, 1, None, 1], ["int[]"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, None, -1, 2], ["int[]"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, -100, 100, 3], ["int[]"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, 3, 1, 1], ["int[]"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, None, None, -2], ["int[]"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, 2, 0, -1], ["int[]"]),
    ("slice.t", ["int[]", "int?", "int?", "int"], [INTS, None, None, 0], ["int[]"]),
    ("add.t", ["int[]", "int[]"], [INTS, [7]], ["int[]"]),
    ("add_.t", ["int[]", "int[]"], [INTS, [7]], ["int[]"]),
    ("mul.left_t", ["int[]", "int"], [INTS, 2], ["int[]"]),
    ("mul.left_t", ["int[]", "int"], [INTS, 0], ["int[]"]),
    ("mul.right_", ["int", "int[]"], [2, INTS], ["int[]"]),
    ("mul_.t", ["int[]", "int"], [INTS, 2], ["int[]"]),
    ("mul_.t", ["int[]", "int"], [INTS, 0], ["int[]"]),
    ("list.t", ["int[]"], [INTS], ["int[]"]),
    ("copy.t", ["int[]"], [INTS], ["int[]"]),
    ("len.t", ["int[]"], [INTS], ["int"]),
    ("index.list_int", ["int[]", "int"], [INTS, 1], ["int"]),
    ("index.list_int", ["int[]", "int"], [INTS, 5], ["int"]),
    ("index.list_str", ["str[]", "str"], [WORDS, "q"], ["int"]),
    ("index.list_float", ["float[]", "float"], [FLOATS, 7.5], ["int"]),
    ("count.int", ["int[]", "int"], [INTS, 1], ["int"]),
    ("count.str", ["str[]", "str"], [WORDS, "q"], ["int"]),
    ("__contains__.int_list", ["int[]", "int"], [INTS, 1], ["bool"]),
    ("__contains__.str_list", ["str[]", "str"], [WORDS, "q"], ["bool"]),
    ("__contains__.float_list", ["float[]", "float"], [FLOATS, 0.5], ["bool"]),
    ("sort.int", ["int[]", "bool"], [INTS, False], []),
    ("sort.int", ["int[]", "bool"], [INTS, True], []),
    ("sort.str", ["str[]", "bool"], [WORDS, False], []),
    ("sort.float", ["float[]", "bool"], [FLOATS, True], []),
    ("sorted.int", ["int[]"], [INTS], ["int[]"]),
    ("sorted.str", ["str[]"], [WORDS], ["str[]"]),
    ("eq.int_list", ["int[]", "int[]"], [INTS, INTS], ["bool"]),
    ("ne.int_list", ["int[]", "int[]"], [INTS, [3]], ["bool"]),
    ("eq.str_list", ["str[]", "str[]"], [WORDS, ["b"]], ["bool"]),
    ("eq.float_list", ["float[]", "float[]"], [[float("nan")], [float("nan")]], ["bool"]),
    ("_infer_size", ["int[]", "int[]"], [[2, 1], [3]], ["int[]"]),
    ("broadcast_shapes", ["int[]", "int[]"], [[2, 1], [3]], ["int[]"]),
    ("_size_if_not_equal", ["int[]", "int[]"], [[2, 1], [2, 1]], ["int[]?"]),
    ("_size_if_not_equal", ["int[]", "int[]"], [[2, 1], [3]], ["int[]?"]),
    ("Size", ["int[]"], [INTS], ["int[]"]),
]  # fmt: skip
D, DT = {"a": 1, "b": 2}, "Dict(str, int)"
DICTS: list[tuple[str, list[str], list[Any], list[str]]] = [
    ("len.Dict_str", [DT], [D], ["int"]),
    ("keys.str", [DT], [D], ["str[]"]),
    ("values.str", [DT], [D], ["int[]"]),
    ("items.str", [DT], [D], ["(str, int)[]"]),
    ("__getitem__.Dict_str", [DT, "str"], [D, "b"], ["int"]),
    ("__getitem__.Dict_str", [DT, "str"], [D, "q"], ["int"]),
    ("get.str", [DT, "str"], [D, "q"], ["int?"]),
    ("get.str", [DT, "str"], [D, "a"], ["int?"]),
    ("get.default_str", [DT, "str", "int"], [D, "q", 7], ["int"]),
    ("setdefault.str", [DT, "str", "int"], [D, "q", 7], ["int"]),
    ("setdefault.str", [DT, "str", "int"], [D, "a", 7], ["int"]),
    ("Delete.Dict_str", [DT, "str"], [D, "a"], []),
    ("Delete.Dict_str", [DT, "str"], [D, "q"], []),
    ("pop.Dict_str", [DT, "str"], [D, "a"], ["int"]),
    ("pop.Dict_str", [DT, "str"], [D, "q"], ["int"]),
    ("pop.Dict_default_str", [DT, "str", "int"], [D, "q", 7], ["int"]),
    ("pop.Dict_default_str", [DT, "str", "int"], [D, "a", 7], ["int"]),
    ("popitem.str", [DT], [D], ["(str, int)"]),
    ("popitem.str", [DT], [{}], ["(str, int)"]),
    ("clear.str", [DT], [D], []),
    ("update.str", [DT, DT], [D, {"b": 5, "c": 6}], []),
    ("copy.Dict_str", [DT], [D], [DT]),
    ("__contains__.str", [DT, "str"], [D, "a"], ["bool"]),
    ("_set_item.str", [DT, "str", "int"], [D, "c", 3], []),
    ("_set_item.str", [DT, "str", "int"], [D, "a", 3], []),
    ("__getitem__.Dict_int", ["Dict(int, str)", "int"], [{1: "x"}, 1], ["str"]),
    ("__getitem__.Dict_int", ["Dict(int, str)", "int"], [{1: "x"}, 4], ["str"]),
    ("__contains__.float", ["Dict(float, str)", "float"], [{1.5: "x"}, 1.5], ["bool"]),
    ("keys.bool", ["Dict(bool, str)"], [{True: "x"}], ["bool[]"]),
    ("dict.str", ["(str, int)[]"], [[("a", 1), ("b", 2), ("a", 3)]], [DT]),
    ("dict.Dict_str", [DT], [D], [DT]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types", "args", "results"), LISTS + DICTS)
def test_agrees_with_pytorch(
    name: str, types: list[str], args: list[Any], results: list[str]
) -> None:
    """The result or the error, and the lists and dicts afterwards."""
    name = f"aten::{name}"
    assert jit_oracle.matched(name.partition(".")[0], types) == name
    jit_oracle.compare(name, types, args, *results)


def call(name: str, *args: Any) -> Any:
    return find_operator(f"aten::{name}").fn(*args)


def test_what_is_appended_is_seen_by_all_who_hold_the_list() -> None:
    held = [1]
    assert call("append.t", held, 2) is held and held == [1, 2]
    assert call("add_.t", held, [3]) is held and held == [1, 2, 3]
    copied = call("copy.t", held)
    call("clear.t", copied)
    assert held == [1, 2, 3]


def test_lists_of_tensors_are_compared_by_value() -> None:
    one, two = internals.tensor(1.0), internals.tensor(2.0)
    assert call("index.list_Tensor", [one, two], internals.tensor(2.0)) == 1
    assert call("count.Tensor", [one, two, two], internals.tensor(2.0)) == 2
    assert call("eq.Tensor_list", [one], [internals.tensor(1.0)]) and call(
        "ne.Tensor_list", [one], [two]
    )
    tensors = [two, one]
    call("sort.Tensor", tensors, False)
    assert tensors[0] is one
    with pytest.raises(
        RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        call("index.list_Tensor", [internals.ones(2)], internals.ones(2))


def test_equal_elements_stay_in_their_order() -> None:
    ones = [internals.tensor(1.0) for _ in range(3)]
    assert [id(t) for t in call("sorted.Tensor", ones)] == [id(t) for t in ones]


def test_ranges() -> None:
    assert (
        call("__range_length", 0, 10, 3) == 4
        and call("__range_length", 5, 0, -2) == 3
        and call("__range_length", 3, 3, 1) == 0
    )
    assert [call("__derive_index", i, 5, -2) for i in range(3)] == [5, 3, 1]
    with pytest.raises(RuntimeError, match="arg 3 must not be zero"):
        call("__range_length", 0, 1, 0)
