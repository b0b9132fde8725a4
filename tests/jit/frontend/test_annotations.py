"""What annotations mean: from source, from objects, from comments, and what is no type at all."""

from __future__ import annotations

# ruff: noqa: UP006, UP035, UP045, UP014  (the spellings are what is tested)
import typing
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest

import internals
from internals.jit.frontend import type_comments
from internals.jit.frontend.annotations import (
    signature_types,
    try_type_of_annotation,
    type_of_annotation,
    type_of_expr,
    type_of_param,
)
from internals.jit.frontend.build_tree import tree_of
from internals.jit.frontend.resolution import closure_resolver, frame_resolver
from internals.jit.ir import Source, SourceRange
from tests.answers import answer
from tests.jit.sources import define, plain

HERE = SourceRange(Source("", None), 0, 1)


class Point(NamedTuple):
    x: int
    y: internals.Tensor


Alias = List[int]

GOOD = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "complex": "complex",
    "None": "NoneType", "Any": "Any", "torch.Tensor": "Tensor", "torch.FloatTensor": "Tensor",
    "torch.device": "Device", "torch.dtype": "int", "torch.Generator": "Generator", "list": "list",
    "tuple": "tuple", "List[int]": "int[]", "list[int]": "int[]", "typing.List[int]": "int[]",
    "Optional[int]": "int?", "int | None": "int?", "None | int": "int?", "Union[int, None]": "int?",
    "Optional[Optional[int]]": "int?", "Tuple[int, str]": "(int, str)",
    "tuple[int, str]": "(int, str)", "Tuple[()]": "()", "Dict[str, int]": "Dict(str, int)",
    "dict[str, List[int]]": "Dict(str, int[])", "List[Tuple[int, Optional[torch.Tensor]]]":
    "(int, Tensor?)[]", "'int'": "int", "'List[int]'": "int[]", "List['int']": "int[]",
    "Alias": "int[]",
    "Optional[Alias]": "int[]?",
    "Union[int, float, complex]": "Scalar", "Point": "__torch__.user.Point",
    "List[Point]": "__torch__.user.Point[]",
    "torch.Tensor | None": "Tensor?",
    "Optional[List[Dict[int, torch.Tensor]]]": "Dict(int, Tensor)[]?",
}  # fmt: skip

# The annotation, and the message; what is underlined is compared with PyTorch.
BAD = {
    "'Foo'": "Unknown type name 'Foo'",
    "torch.float": "Unknown type name 'torch.float'",
    "3": "Expression of type const cannot be used in a type expression",
    "object": "Unknown type name 'object'",
    "dict": "Unknown type name 'dict'",
    "set": "Unknown type name 'set'",
    "torch.layout": "Unknown type name 'torch.layout'",
    "torch.Size": "Unknown type name 'torch.Size'",
    "torch": "Unknown type name 'torch'",
    "typing.Set[int]": "Unknown type constructor typing.Set",
    "typing.Callable[[int], int]": "Unknown type constructor typing.Callable",
    "List": (
        "Attempted to use List without a contained type. Please add a contained type, e.g. "
        "List[int]"
    ),
    "Tuple": (
        "Attempted to use Tuple without a contained type. Please add a contained type, e.g. "
        "Tuple[int]"
    ),
    "Dict": (
        "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, "
        "int]"
    ),
    "Optional": (
        "Attempted to use Optional without a contained type. Please add a contained type, e.g. "
        "Optional[int]"
    ),
    "Dict[Tuple[int, int], int]": (
        "Cannot create dict for key type '(int, int)', only int, float, complex, Tensor, device "
        "and string keys are supported"
    ),
    "tuple[int, ...]": "Expression of type dots cannot be used in a type expression",
    "'Optional[Foo]'": "Unknown type name 'Optional[Foo]'",
    "'int or str'": "Unknown type name 'int or str'",
    "[int]": "Expression of type list-literal cannot be used in a type expression",
    "len(x)": "Expression of type apply cannot be used in a type expression",
}  # fmt: skip


def names(torch: Any) -> dict[str, Any]:
    point = NamedTuple("Point", [("x", int), ("y", torch.Tensor)])  # type: ignore[misc]
    point.__module__ = "user"
    known = {
        "List": List,
        "Dict": Dict,
        "Tuple": Tuple,
        "Optional": Optional,
        "Union": Union,
        "Any": Any,
    }
    return {**known, "torch": torch, "typing": typing, "Alias": Alias, "Point": point}


def taking(annotation: str, torch: Any) -> Any:
    """f(x: annotation); the annotation is not evaluated: some raise."""
    return define(
        f"from __future__ import annotations\ndef f(x: {annotation}):\n    return x", **names(torch)
    )


def type_of(annotation: str) -> str:
    fn = taking(annotation, internals)
    (param,) = tree_of(fn, "f").decl.params
    return type_of_param(param, closure_resolver(fn))[0].str()


@pytest.mark.parametrize("annotation", GOOD)
def test_from_source(annotation: str) -> None:
    assert type_of(annotation) == GOOD[annotation]


@pytest.mark.parametrize("annotation", BAD)
def test_no_type(annotation: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        type_of(annotation)
    assert BAD[annotation] in str(caught.value)


@pytest.mark.parametrize("annotation", [*GOOD, *BAD])
def test_as_pytorch_reads_it(annotation: str) -> None:
    def read(torch: Any) -> tuple[str, str]:
        try:
            return "type", str(torch.jit.script(taking(annotation, torch)).schema.arguments[0].type)
        except RuntimeError as refused:
            return "refused", plain(str(refused))

    kind, expected = answer(read, family="jit")
    if kind == "refused":
        with pytest.raises(RuntimeError) as ours:
            type_of(annotation)
        assert plain(str(ours.value)) == expected
        return
    found = type_of(annotation)
    spelled = {"Scalar": "number", "__torch__.user.Point": "__torch__.user.Point"}.get(found)
    fn = taking(annotation, internals)
    ours_type = type_of_param(tree_of(fn, "f").decl.params[0], closure_resolver(fn))[0]
    assert expected in (spelled or ours_type.annotation_str, ours_type.str())


OBJECTS = [
    (int, "int"), (None, "NoneType"), (type(None), "NoneType"), (Any, "Any"),
    (internals.Tensor, "Tensor"), (int | None, "int?"),
    (internals.FloatTensor, "Tensor"), (List[int], "int[]"), (list[int], "int[]"),
    (Dict[str, internals.Tensor], "Dict(str, Tensor)"),
    (tuple[int, list[str]], "(int, str[])"), (tuple[()], "()"),
    (Optional[internals.Tensor], "Tensor?"), ("List[int]", "int[]"),
    (internals.device, "Device"), (internals.dtype, "int"), (Point, f"__torch__.{__name__}.Point"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "expected"), OBJECTS, ids=str)
def test_from_objects(annotation: Any, expected: str) -> None:
    assert type_of_annotation(annotation, HERE).str() == expected


@pytest.mark.parametrize(
    "annotation",
    [object, dict, set, 3, [int], typing.Callable, "Foo", tuple[int, ...], List[object], len],
)
def test_objects_that_are_no_types(annotation: Any) -> None:
    assert try_type_of_annotation(annotation, HERE) is None
    with pytest.raises(ValueError, match="Unknown type annotation: "):
        type_of_annotation(annotation, HERE)


def test_unions_are_refused_in_clear_words() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"Union\[int, str\] is not supported here: use Optional\[T\], or one type",
    ):
        type_of("Union[int, str]")
    with pytest.raises(RuntimeError, match=r"Union\[int, str, NoneType\] is not supported"):
        type_of("int | str | None")
    with pytest.raises(
        AssertionError, match="could not be resolved because <class 'object'> could not be resolved"
    ):
        type_of_annotation(Optional[object], HERE)


def test_named_tuples_know_their_names() -> None:
    t = type_of_annotation(Point, HERE)
    assert t.names == ("x", "y") and [e.str() for e in t.elements] == ["int", ("Tensor")]  # type: ignore[attr-defined]


def test_parameters_without_annotation_are_tensors() -> None:
    fn = define("def f(x):\n    return x")
    found, broadcast = type_of_param(tree_of(fn, "f").decl.params[0], closure_resolver(fn))
    assert found.str() == "Tensor" and found.inferred and broadcast is None  # type: ignore[attr-defined]


def test_broadcasting_lists() -> None:
    fn = define(
        "def f(x: 'Any', y):\n    # type: (BroadcastingList2[int], "
        "Optional[BroadcastingList3[float]]) -> int\n    return x"
    )
    found = [type_of_param(p, closure_resolver(fn)) for p in tree_of(fn, "f").decl.params]
    assert [(t.str(), n) for t, n in found] == [("int[]", 2), ("float[]?", 3)]


COMMENTS = {
    "def f(x, y):\n    # type: (int, List[Tuple[int, str]]) -> Optional[int]\n    return x": (
        "int, (int, str)[]",
        "int?",
    ),
    "def f(x,  # type: int\n      y,  # type: List[int]\n      ):\n"
    "    # type: (...) -> int\n    return x": (
        "int, int[]",
        "int",
    ),
    "def f(x):\n    # type: (int)\n    return x": ("int", "None"),
    "def f():\n    # type: () -> int\n    return 3": ("", "int"),
    "def f(x: str):\n    # type: (int) -> int\n    y = x  # type: ignore\n    return y": (
        "int",
        "int",
    ),
    "def f(self, x):\n    # type: (torch.Tensor) -> torch.Tensor\n    return x": (
        "Tensor",
        "Tensor",
    ),
}


@pytest.mark.parametrize("text", COMMENTS)
def test_type_comments(text: str) -> None:
    fn = define(
        text,
        torch=internals,
        **{k: v for k, v in names(internals).items() if k in ("List", "Tuple", "Optional")},
    )
    is_method = "(self" in text
    decl = tree_of(fn, "f", "M" if is_method else None).decl
    found = [
        type_of_expr(p.type, closure_resolver(fn)).str()
        for p in decl.params[is_method:]
        if p.type is not None
    ]
    returned = decl.return_type and type_of_expr(decl.return_type, closure_resolver(fn)).str()
    assert (", ".join(found), str(returned)) == COMMENTS[text]


BAD_COMMENTS = [
    "def f(x):\n    # type: (int, int) -> int\n    return x",
    "def f(x):  # type: (int) -> int\n    return x",
    "def f(x):\n    # type: (int -> int\n    return x",
    "def f(x):\n    #type : (int) -> int\n    return x",
    "def f(x,  # type: int\n      y,  # type: int\n      ):\n    return x",
    "def f(x):\n    # type: int\n    return x",
    "def f(x):\n    # type: (Foo) -> int\n    return x",
    "def f(x):\n    # type: (List[Foo]) -> int\n    return x",
    "def f(x):\n    # type: (3) -> int\n    return x",
    "def f(x):\n    # type: (Optional[int, int]) -> int\n    return x",
    "def f(x):\n    # type: (Dict[int]) -> int\n    return x",
    "def f(self, x):\n    # type: (int, int) -> int\n    return x",
]


@pytest.mark.parametrize("text", BAD_COMMENTS)
def test_bad_type_comments(text: str) -> None:
    fn = define(text)

    def refused(torch: Any) -> str:
        with pytest.raises(RuntimeError) as real:
            torch.jit.script(fn) if "self" not in text else torch.jit.frontend.get_jit_def(
                fn, "f", "M"
            )
        return plain(str(real.value))

    real = answer(refused, family="jit")
    with pytest.raises(RuntimeError) as ours:
        for param in tree_of(fn, "f", "M" if "self" in text else None).decl.params:
            type_of_param(param, closure_resolver(fn))
    assert plain(str(ours.value)) == real


def test_signatures_of_functions_that_are_not_compiled() -> None:
    def annotated(x: internals.Tensor, n: int = 3) -> List[int]:
        return [n]

    def silent(x, y):  # type: ignore[no-untyped-def]
        return x

    found = signature_types(annotated, HERE, closure_resolver(annotated))
    assert (
        found is not None
        and [t.str() for t in found[0]] == ["Tensor", "int"]
        and found[1].str() == "int[]"
    )
    assert (
        signature_types(annotated, HERE, closure_resolver(annotated), is_method=True)[0][0].str()
        == "int"
    )  # type: ignore[index]
    assert signature_types(silent, HERE) is None
    commented = define("def f(x, n):\n    # type: (Tensor, int) -> int\n    return n")
    found = signature_types(commented, HERE)
    assert (
        found is not None
        and [t.str() for t in found[0]] == ["Tensor", "int"]
        and found[1].str() == "int"
    )


def test_type_comments_are_found_past_ignores() -> None:
    assert (
        type_comments.find("x = 1  # type: ignore\ny = 2  # type: ignore[attr-defined]\n") is None
    )
    assert type_comments.find("    # type: (int) -> int\n") == "# type: (int) -> int"


def test_names_come_from_the_closure_the_module_typing_and_the_builtins() -> None:
    make = define(
        "K = 1\ndef make():\n    a = 2\n    def f():\n        return a, later\n    yield f\n    "
        "later = 3\n    yield f"
    )
    steps = make()
    fn = next(steps)
    resolve = closure_resolver(fn)
    assert (resolve("K"), resolve("a"), resolve("len"), resolve("List")) == (1, 2, len, List)
    for name in ("later", "nothing"):
        with pytest.raises(NameError, match=f"name '{name}' is not defined"):
            resolve(name)
    next(steps)
    assert closure_resolver(fn)("later") == 3


def test_names_of_a_frame() -> None:
    local = 5

    def ask() -> Any:
        return frame_resolver()

    resolve = ask()
    assert resolve("local") == local and resolve("HERE") is HERE and resolve("len") is len
