"""Containers: lists and dictionaries of modules and of parameters. The same code runs in
PyTorch.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from tests.nn.support import error_of, make_leaf, text

# Sequential


def names(container: Any) -> list[str]:
    return list(container._modules)


def test_sequential_calls_one_after_the_other(T: Any) -> None:
    model = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.ReLU(), T.nn.Linear(4, 2))
    x = T.ones(5, 3)
    assert model(x).shape == (5, 2)
    assert T.equal(model(x), model[2](model[1](model[0](x))))
    assert T.nn.Sequential()(x) is x
    assert repr(model) == (
        "Sequential(\n  (0): Linear(in_features=3, out_features=4, bias=True)\n  (1): ReLU()\n"
        "  (2): Linear(in_features=4, out_features=2, bias=True)\n)"
    )
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_sequential_is_a_list(T: Any) -> None:
    a, b, c, d = (T.nn.Identity() for _ in range(4))
    s = T.nn.Sequential(a, b, c)
    assert len(s) == 3 and list(s) == [a, b, c] and s[-1] is c and s[T.tensor(1)] is b
    assert type(s[1:]) is T.nn.Sequential and list(s[1:]) == [b, c] and names(s[1:]) == ["1", "2"]
    s[-1] = d
    assert list(s) == [a, b, d]
    del s[0]
    assert list(s) == [b, d] and names(s) == ["0", "1"]
    assert (
        s.append(a) is s
        and s.insert(1, c) is s
        and list(s) == [b, c, d, a]
        and names(s) == ["0", "1", "2", "3"]
    )
    assert s.insert(-1, b) is s and list(s) == [b, c, d, b, a]
    assert s.pop(0) is b and list(s) == [c, d, b, a]
    del s[1:3]
    assert list(s) == [c, a] and names(s) == ["0", "1"]
    assert s.extend([b]) is s and list(s + s) == [c, a, b] * 2 and len(s) == 3
    both = s
    both += T.nn.Sequential(d)
    assert both is s and list(s) == [c, a, b, d] and names(s) == ["0", "1", "2", "3"]


def test_sequential_times_a_number(T: Any) -> None:
    a, b = T.nn.Identity(), T.nn.Identity()
    s = T.nn.Sequential(a, b)
    assert list(s * 2) == list(2 * s) == [a, b, a, b] and len(s) == 2
    s *= 3
    assert list(s) == [a, b] * 3 and names(s) == ["0", "1", "2", "3", "4", "5"]


def test_sequential_with_names(T: Any) -> None:
    a, b = T.nn.Identity(), T.nn.Identity()
    s = T.nn.Sequential(OrderedDict(first=a, second=b))
    assert (
        s.first is a
        and s[1] is b
        and names(s) == ["first", "second"]
        and names(s[1:]) == ["second"]
    )
    s[0] = b
    assert s.first is b
    s.append(a)
    assert names(s) == ["first", "second", "2"]
    del s[0]
    assert names(s) == ["0", "1"]


def test_sequential_errors(T: Any) -> None:
    s = T.nn.Sequential(T.nn.Identity(), T.nn.Identity())
    assert [error_of(call) for call in (
        lambda: T.nn.Sequential(3), lambda: s[2], lambda: s[-3], lambda: s["0"],
        lambda: s.__setitem__(2, s), lambda: s.__setitem__(0, 3), lambda: s.insert(3, s),
        lambda: s.append(3), lambda: s * 0, lambda: s * "x", lambda: s.__imul__(-1),
        lambda: s.__delitem__(5),
    )] == [
        "TypeError: int is not a Module subclass", "IndexError: index 2 is out of range",
        "IndexError: index -3 is out of range",
        "TypeError: 'str' object cannot be interpreted as an integer",
        "IndexError: index 2 is out of range",
        "TypeError: cannot assign 'int' as child module '0' (internals.nn.Module or None expected)",
        "IndexError: Index out of range: 3", "TypeError: int is not a Module subclass",
        f"ValueError: Non-positive multiplication factor 0 for {text(type(s))}",
        f"TypeError: unsupported operand type(s) for *: {text(type(s))} and <class 'str'>",
        f"ValueError: Non-positive multiplication factor -1 for {text(type(s))}",
        "IndexError: index 5 is out of range",
    ]  # fmt: skip
    wrong = (
        "ValueError: add operator supports only objects of Sequential class, but <class 'list'> is "
        "given."
    )
    assert error_of(lambda: s + []) == error_of(lambda: s.__iadd__([])) == wrong
    assert error_of(lambda: s.insert(0, 3)).startswith(
        "AssertionError: module should be of type: <class 'internals.nn"
    )


# ModuleList, ModuleDict


def test_module_list(T: Any) -> None:
    a, b, c, d = (T.nn.Identity() for _ in range(4))
    m = T.nn.ModuleList([a, b])
    assert m.append(c) is m and m.extend([d]) is m and list(m) == [a, b, c, d] and len(m) == 4
    assert m[-1] is d and type(m[1:3]) is T.nn.ModuleList and names(m[1:3]) == ["0", "1"]
    m.insert(1, d)
    assert list(m) == [a, d, b, c, d] and m.pop(1) is d
    m[0] = d
    del m[1:3]
    assert list(m) == [d, d] and names(m) == ["0", "1"]
    m += (a,)
    assert list(m + [b]) == [d, d, a, b] and type(m + [b]) is T.nn.ModuleList and len(m) == 3
    del m[-1]
    assert list(m) == [d, d] and list(T.nn.ModuleList()) == []
    assert "0" not in dir(m) and "append" in dir(m)


def test_module_list_repr_counts_repetitions(T: Any) -> None:
    Leaf = make_leaf(T)
    m = T.nn.ModuleList(
        [Leaf(1), Leaf(1), Leaf(2), T.nn.Sequential(Leaf(3)), T.nn.Sequential(Leaf(3))]
    )
    assert repr(m) == (
        "ModuleList(\n  (0-1): 2 x Leaf(rows=1)\n  (2): Leaf(rows=2)\n  (3-4): 2 x Sequential(\n   "
        " (0): Leaf(rows=3)\n  )\n)"
    )
    assert repr(T.nn.ModuleList()) == "ModuleList()" and repr(
        T.nn.ModuleList([T.nn.Identity()])
    ) == ("ModuleList(\n  (0): Identity()\n)")


def test_module_list_errors(T: Any) -> None:
    m = T.nn.ModuleList([T.nn.Identity()])
    assert [error_of(call) for call in (
        lambda: T.nn.ModuleList(3), lambda: m.extend([3]), lambda: m[1], lambda: m["x"],
        lambda: m(1),
    )] == [
        "TypeError: ModuleList.extend should be called with an iterable, but got int",
        "TypeError: int is not a Module subclass", "IndexError: index 1 is out of range",
        "TypeError: 'str' object cannot be interpreted as an integer",
        'NotImplementedError: Module [ModuleList] is missing the required "forward" function',
    ]  # fmt: skip


def test_module_dict(T: Any) -> None:
    a, b, c = (T.nn.Identity() for _ in range(3))
    m = T.nn.ModuleDict({"b": b, "a": a})
    assert (
        list(m) == list(m.keys()) == ["b", "a"]
        and list(m.values()) == [b, a]
        and dict(m.items()) == {"a": a, "b": b}
    )
    assert m["a"] is a and m.a is a and "a" in m and "c" not in m and len(m) == 2
    m["c"] = c
    m.update([("a", b), ["d", c]])
    assert list(m.items()) == [("b", b), ("a", b), ("c", c), ("d", c)]
    m.update(T.nn.ModuleDict({"b": a}))
    assert m.pop("b") is a and "b" not in m
    del m["c"]
    assert repr(m) == "ModuleDict(\n  (a): Identity()\n  (d): Identity()\n)"
    m.clear()
    assert len(m) == 0 and repr(m) == "ModuleDict()"
    assert [error_of(call) for call in (
        lambda: m["x"], lambda: m.update(3), lambda: m.update([3]), lambda: m.update([("a",)]),
        lambda: m.update({"a": 3}), lambda: m.__setitem__("update", a), lambda: m.pop("x"),
    )] == [
        "KeyError: x",
        "TypeError: ModuleDict.update should be called with an iterable of key/value pairs, but "
        "got int",
        "TypeError: ModuleDict update sequence element #0 should be Iterable; isint",
        "ValueError: ModuleDict update sequence element #0 has length 1; 2 is required",
        "TypeError: int is not a Module subclass", "KeyError: attribute 'update' already exists",
        "KeyError: x",
    ]  # fmt: skip


# ParameterList, ParameterDict


def test_parameter_list(T: Any) -> None:
    p = T.nn.Parameter(T.zeros(2, 3))
    m = T.nn.ParameterList([p, T.ones(1)])
    assert len(m) == 2 and m[0] is p and isinstance(m[1], T.nn.Parameter) and m[-1] is m[1]
    assert m.append(T.ones(2, dtype=T.float64)) is m and m.extend([3]) is m and m[3] == 3
    assert [name for name, _ in m.named_parameters()] == ["0", "1", "2"]
    m[0] = T.ones(4)
    assert isinstance(m[0], T.nn.Parameter) and [tuple(q.shape) for q in m.parameters()] == [
        (4,),
        (1,),
        (2,),
    ]
    assert type(m[1:3]) is T.nn.ParameterList and len(m[1:3]) == 2 and list(m)[3] == 3
    assert text(m) == (
        "ParameterList(\n    (0): Parameter containing: [internals.float32 of size 4]\n"
        "    (1): Parameter containing: [internals.float32 of size 1]\n"
        "    (2): Parameter containing: [internals.float64 of size 2]\n    (3): Object of type: "
        "int\n)"
    )
    m += [p]
    assert m[-1] is p and "0" not in dir(m)
    assert [error_of(call) for call in (
        lambda: T.nn.ParameterList(3), lambda: m.extend(T.ones(2)), lambda: m[9], lambda: m(1),
        lambda: m["0"],
    )] == [
        "TypeError: ParameterList.extend should be called with an iterable, but got int",
        "TypeError: ParameterList.extend should be called with an iterable, but got Tensor",
        "IndexError: index 9 is out of range", "RuntimeError: ParameterList should not be called.",
        "TypeError: 'str' object cannot be interpreted as an integer",
    ]  # fmt: skip


def test_parameter_dict(T: Any) -> None:
    p = T.nn.Parameter(T.zeros(2, 3))
    m = T.nn.ParameterDict({"b": p, "a": T.ones(1)})
    assert list(m) == ["a", "b"] and m["b"] is p and m.b is p and isinstance(m["a"], T.nn.Parameter)
    assert list(T.nn.ParameterDict(OrderedDict(b=p, a=p))) == ["b", "a"]
    m["c"] = 3
    m.update([("d", T.ones(1))])
    assert (
        list(m.keys()) == ["a", "b", "c", "d"]
        and len(m) == 4
        and list(reversed(m))[0] == "d"
        and "c" in m
    )
    assert [k for k, _ in m.items()] == list(m) and list(m.values())[2] == 3
    assert text(m) == (
        "ParameterDict(\n    (a): Parameter containing: [internals.FloatTensor of size 1]\n"
        "    (b): Parameter containing: [internals.FloatTensor of size 2x3]\n    (c): Object of "
        "type: int\n"
        "    (d): Parameter containing: [internals.FloatTensor of size 1]\n)"
    )
    assert (
        m.get("c") == 3 and m.get("x") is None and m.get("x", 1) == 1 and m.setdefault("e", 5) == 5
    )
    assert m.pop("c") == 3 and m.popitem() == ("e", 5) and list(m) == ["a", "b", "d"]
    other = m.copy()
    del other["a"]
    assert "a" in m and list(other) == ["b", "d"] and other["b"] is p
    assert list(other | T.nn.ParameterDict({"z": p})) == ["b", "d", "z"]
    other |= m
    assert list(other) == ["b", "d", "a"] and list(m.fromkeys(["x", "y"], 1).items()) == [
        ("x", 1),
        ("y", 1),
    ]
    m.clear()
    assert len(m) == 0 and list(m.parameters()) == []
    assert [error_of(call) for call in (
        lambda: m.update(3), lambda: m.update([3]), lambda: m.update([(1, 2, 3)]), lambda: m(1),
        lambda: m["x"], lambda: m.popitem(), lambda: m.__delitem__("x"),
    )] == [
        "TypeError: ParametersDict.update should be called with an iterable of key/value pairs, "
        "but got int",
        "TypeError: ParameterDict update sequence element #0 should be Iterable; isint",
        "ValueError: ParameterDict update sequence element #0 has length 3; 2 is required",
        "RuntimeError: ParameterDict should not be called.",
        "AttributeError: 'ParameterDict' object has no attribute 'x'",
        "KeyError: popitem(): dictionary is empty",
        "KeyError: x",
    ]  # fmt: skip
    assert error_of(lambda: m.__setitem__(3, p)).startswith(
        "TypeError: Index given to ParameterDict cannot be used as a key as it is not a string "
        "(type is 'int')."
    )


def test_containers_are_found_and_copied(T: Any) -> None:
    m = T.nn.Module()
    m.layers = T.nn.ModuleList([T.nn.Linear(1, 1, bias=False)])
    m.table = T.nn.ModuleDict({"x": m.layers[0]})
    m.numbers, m.named = T.nn.ParameterList([T.zeros(1)]), T.nn.ParameterDict({"k": T.zeros(1)})
    assert list(m.state_dict()) == ["layers.0.weight", "table.x.weight", "numbers.0", "named.k"]
    other = copy.deepcopy(m)
    assert other.table["x"] is other.layers[0] is not m.layers[0] and list(other.named) == ["k"]
