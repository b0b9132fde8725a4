"""The checker of traces: what it finds, in the words of real PyTorch."""

from __future__ import annotations

import re
from typing import Any

import pytest

import internals
from internals.jit.tracing.comparison import assert_close, default_tolerances
from tests.answers import answer
from tests.jit.traces import agree, caught, load, normalised, tensors

CHECKED: dict[str, tuple[str, Any, Any]] = {
    "passes": ("def f(x): return x + 1", (2,), None),
    "a branch, checked on its own input": (
        "def f(x):\n if x.mean() > 1.0: return x * 2\n return x + 1",
        (2, 2),
        None,
    ),
    "a branch, checked on others": (
        "def f(x):\n if x.mean() > 1.0: return x * 2\n return x + 1",
        (2, 2),
        [1.0, 3.0],
    ),
    "a loop, checked on another size": (
        "def f(x):\n for i in range(x.size(0)): x = x + i\n return x",
        (3,),
        "size",
    ),
    "a constant that changes": (
        "cnt = [0.0]\ndef f(x):\n cnt[0] += 1\n return x + torch.tensor([cnt[0], 1.0])",
        (2,),
        None,
    ),
    "an integer constant that changes": (
        "cnt = [0]\ndef f(x):\n cnt[0] += 1\n return x * cnt[0]",
        (2,),
        None,
    ),
    "the graph grows": (
        "cnt = [0]\ndef f(x):\n cnt[0] += 1\n for _ in range(cnt[0]): x = x.tanh()\n return x",
        (2,),
        None,
    ),
    "an error on other inputs": (
        "def f(x): return x.view(2, -1) if x.numel() == 4 else x.missing",
        (4,),
        "size",
    ),
}


def outcome(lib: Any, source: str, shapes: Any, check: Any) -> tuple[Any, str]:
    f = load(source, lib)["f"]
    inputs = tensors(lib, shapes)
    if isinstance(check, list):
        check = [(inputs * factor,) for factor in check]
    elif check == "size":
        check = [lib.ones(inputs.numel() + 1)]
    given, result = caught(lambda: lib.jit.trace(f, inputs, check_inputs=check))
    text = (
        f"{type(result).__name__}: {result}"
        if isinstance(result, Exception)
        else normalised(result.graph)
    )
    # below the program's own frames the stacks are not the same
    ours_only = r"^\s*[^<\s]\S*\(\d+\): \S+$\n?"
    return given, re.sub(
        ours_only, "", text.replace("internals", "torch"), flags=re.MULTILINE
    ).rstrip()


DTYPES = ("float16", "float32", "float64", "complex64", "complex128", "int64", "bool")


def test_tolerances_are_those_of_real_pytorch() -> None:
    theirs = answer(
        lambda torch: [
            torch.testing._comparison.default_tolerances(getattr(torch, d)) for d in DTYPES
        ]
    )
    tensors = [internals.zeros(1, dtype=getattr(internals, d)) for d in DTYPES]
    assert [default_tolerances(t) for t in tensors] == theirs
    assert default_tolerances(tensors[2], tensors[1]) == theirs[1]  # the greater ones


@pytest.mark.parametrize("name", CHECKED)
def test_findings_are_those_of_real_pytorch(name: str) -> None:
    agree(lambda lib: outcome(lib, *CHECKED[name]))


def test_graph_diff_in_full() -> None:
    """The layout of `tracecheck.txt`, in today's form of the graph."""

    def f(x: Any) -> Any:
        return x * 2 if x.mean() > 1.0 else x + 1

    x = internals.ones(2, 2)
    _, error = caught(lambda: internals.jit.trace(f, x, check_inputs=[x * 3]))
    lines = str(error).splitlines()
    assert isinstance(error, internals.jit.TracingCheckError)
    assert lines[:4] == [
        "Tracing failed sanity checks!",
        "ERROR: Graphs differed across invocations!",
        "\tGraph diff:",
        "\t\t  graph(%x : Tensor):",
    ]
    for line in (
        "\tFirst diverging operator:",
        "\tNode diff:",
        "\tTrace source location:",
        "\tCheck source location:",
    ):
        assert line in lines
    assert any(line.endswith(": f") for line in lines)
    assert lines[-1] == "\t\tRelative difference: 0.5"


def test_random_nodes_are_listed() -> None:
    """About Dropout: the trace is right, the two runs throw different coins."""
    internals.manual_seed(0)
    given, traced = caught(
        lambda: internals.jit.trace(
            lambda x: internals.nn.functional.dropout(x, 0.5, True), internals.ones(20)
        )
    )
    messages = [m for _, m in given]
    assert messages[0].startswith(
        "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n\t%3 "
        ": Float(20"
    )
    assert messages[0].endswith(
        "\nThis may cause errors in trace checking. To disable trace checking, pass "
        "check_trace=False to torch.jit.trace()"
    )
    assert messages[1].startswith(
        "Output nr 1. of the traced function does not match the corresponding output of the Python "
        "function."
    )
    assert traced.graph.findNode("aten::dropout") is not None


def test_dropout_in_evaluation_passes() -> None:
    given, _ = caught(
        lambda: internals.jit.trace(internals.nn.Dropout(0.5).eval(), internals.ones(20))
    )
    assert given == []


def test_tolerance() -> None:
    calls = [0]

    def drifting(x: Any) -> Any:
        calls[0] += 1
        return x * internals.ones(2).mul_(1 + 1e-3 * calls[0])

    strict, _ = caught(lambda: internals.jit.trace(drifting, internals.ones(2)))
    calls[0] = 0
    loose, _ = caught(lambda: internals.jit.trace(drifting, internals.ones(2), check_tolerance=0.1))
    assert any("Output nr 1." in m for _, m in strict)
    assert not any("Output nr 1." in m for _, m in loose)


def test_module_is_checked_and_its_buffers_move_as_in_real_pytorch() -> None:
    """The checker runs the module itself: running statistics are updated, as there."""

    def count(lib: Any) -> int:
        m = lib.nn.BatchNorm1d(2)
        caught(lambda: lib.jit.trace(m, lib.ones(2, 2)))
        return int(m.num_batches_tracked)

    agree(count)


@pytest.mark.parametrize(
    ("a", "b", "tolerances"),
    [
        ("ones(2, 2)", "tensor([[1.0, 2.0], [5.0, 5.0]])", {}),
        ("ones(2, 2)", "tensor([[1.0, 2.0], [5.0, 5.0]])", {"rtol": 1e-5, "atol": 1e-5}),
        ("ones(2)", "tensor([1.0, float('nan')])", {}),
        ("tensor([1.0, 0.0])", "tensor([0.0, float('inf')])", {}),
        ("tensor([float('nan'), 1.0])", "tensor([float('nan'), 1.0])", {}),
        ("ones(2)", "ones(3)", {}),
        ("ones(2)", "ones(2).double()", {}),
        ("tensor(1)", "tensor(2)", {}),
        ("tensor(1.0)", "tensor(2.0)", {}),
        ("tensor(1.0)", "tensor(0.0)", {}),
        ("tensor([1, 2])", "tensor([1, 3])", {}),
        ("tensor([True, False])", "tensor([True, True])", {}),
        ("ones(2) * 1.0000001", "ones(2)", {}),
    ],
)  # fmt: skip
def test_comparison_speaks_as_real_pytorch(a: str, b: str, tolerances: dict[str, float]) -> None:
    def said(lib: Any) -> str:
        names = {n: getattr(lib, n) for n in ("ones", "tensor")}
        compare = assert_close if lib is internals else lib.testing.assert_close
        options = tolerances if lib is internals else {**tolerances, "equal_nan": True}
        error = caught(lambda: compare(eval(a, dict(names)), eval(b, dict(names)), **options))[1]
        return str(error).replace("internals.", "torch.")

    agree(said)


def test_a_difference_from_zero_has_no_end_in_proportion() -> None:
    with pytest.raises(AssertionError, match="Relative difference: inf"):
        assert_close(internals.tensor(1.0), internals.tensor(0.0))
