"""`nn.functional`, the functions of `torch` that are Python, and recurrent layers are one text for
Python and the compiler.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import internals
from internals import jit
from internals.functional.scripting import dispatches
from internals.jit.frontend import NotSupportedError
from internals.nn import functional as F
from tests.answers import answer
from tests.jit.modules import namespace
from tests.jit.sources import define, plain

# Keyword-only arguments with defaults are not in the language, in PyTorch neither.
REFUSED = {"triplet_margin_with_distance_loss"}


@pytest.mark.parametrize("name", sorted(set(F.__all__) - REFUSED))
@pytest.mark.filterwarnings("ignore")
def test_it_is_scripted_or_an_operator(name: str) -> None:
    function = getattr(F, name)
    if function in dispatches:  # a flag says which of two functions it is
        with pytest.raises(NotSupportedError, match="variable number of arguments"):
            jit.script(function)
        return
    try:
        scripted = jit.script(function)
    except TypeError as error:
        assert "is built in" in str(error)
    else:
        assert scripted.code.startswith("def ")


def resized(x: internals.Tensor, size: list[int]) -> internals.Tensor:
    return F.interpolate(x, size)


def scaled(x: internals.Tensor, factors: list[float]) -> internals.Tensor:
    return F.interpolate(x, None, factors)


@pytest.mark.parametrize(
    ("function", "numbers"), [(resized, [2, 3]), (scaled, [2.0, 1.5])], ids=["size", "factor"]
)
def test_numbers_for_two_dimensions_are_not_spread_over_three(
    function: Any, numbers: list[Any]
) -> None:
    scripted, image, volume = (
        jit.script(function),
        internals.ones(1, 1, 2, 2),
        internals.ones(1, 1, 2, 2, 2),
    )
    assert scripted(image, numbers).shape == function(image, numbers).shape
    for run in (function, scripted):
        with pytest.raises(Exception, match="number"):
            run(volume, numbers)


CALLS = """
    torch.norm(x)
    torch.norm(x, dim=0)
    torch.norm(x, dim=[0])
    torch.norm(x, 2)
    torch.norm(x, 1, 0)
    torch.norm(x, None, 1, True)
    torch.norm(x, float("inf"), [0, 1], dtype=torch.float64)
    torch.norm(x, "nuc")
    torch.norm(x, "abc")
    torch.norm(x, [1])
    x.norm()
    torch.tensordot(x, x)
    torch.tensordot(x, x, 1)
    torch.tensordot(x, x, -1)
    torch.tensordot(x, x, 3)
    torch.tensordot(x, x, 1.5)
    torch.tensordot(x, x, ([0], [1]))
    torch.tensordot(x, x, [[0, 1], [1, 0]])
    torch.tensordot(x, x, torch.tensor(1))
    torch.tensordot(x, x, torch.tensor([[0], [1]]))
    torch.unique(x)
    torch.unique(x, return_inverse=True)
    torch.unique(x, True, False, True)
    torch.unique(x, True, True, True, dim=0)
    torch.unique_consecutive(x)
    torch.unique_consecutive(x, return_counts=True)
    torch.unique_consecutive(x, True, True, dim=0)
    torch.cdist(x, x)
    torch.cdist(x, x, 1.0, "donot_use_mm_for_euclid_dist")
    torch.cdist(x, x, 1.0, "perhaps")
    torch.lu(x)
    torch.lu(x, get_infos=True)
"""


@pytest.mark.parametrize("name", ["norm", "tensordot"])
def test_an_overloaded_function_is_compiled_where_it_is_called(name: str) -> None:
    def refusal(torch: Any) -> str:
        with pytest.raises(RuntimeError) as caught:
            torch.jit.script(getattr(torch, name))
        return str(caught.value).strip()

    assert refusal(internals) == answer(refusal, about=(name,))


def told(torch: Any, call: str) -> list[Any]:
    """The code of a script that calls a function, and the values; or what is wrong."""
    function = define(f"def f(x):\n    return {call}\n", **namespace(torch))
    try:
        script = torch.jit.script(function)
    except RuntimeError as error:
        return [plain(str(error)).partition("The original call")[0]]
    try:
        given = script(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
    except Exception as error:
        return [str(error).strip().splitlines()[-1].rpartition("Error: ")[2]]
    values = given if isinstance(given, tuple) else (given,)
    return [
        re.sub(r"___torch_mangle_\d+\.", "", script.code),
        *(value.numpy().round(4).tolist() for value in values),
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [line.strip() for line in CALLS.strip().splitlines()])
def test_a_script_calls_the_functions_of_torch(call: str) -> None:
    assert told(internals, call) == answer(lambda torch: told(torch, call), about=(call,))


CELLS = """
    nn.RNNCell(3, 4)
    nn.RNNCell(3, 4, nonlinearity="relu", bias=False)
    nn.GRUCell(3, 4)
    nn.LSTMCell(3, 4)
"""
LAYERS = """
    nn.RNN(3, 4, 2, nonlinearity="relu")
    nn.GRU(3, 4, bidirectional=True)
    nn.LSTM(3, 4, proj_size=2, batch_first=True)
"""


def operators(torch: Any, layer: str) -> list[str]:
    """Which operators the graph of a layer in a script has, of those that compute."""
    made = eval(layer, {"nn": torch.nn})
    holder = define("class Holder(nn.Module):\n    def __init__(self, layer):\n"
                    "        super().__init__()\n        self.layer = layer\n"
                    "    def forward(self, x):\n        return self.layer(x)\n",
                    **namespace(torch))  # fmt: skip
    graph = torch.jit.script(holder(made)).inlined_graph
    kinds = [
        line.split(" = ")[1].split("(")[0]
        for line in str(graph).splitlines()
        if " = aten::" in line
    ]
    return sorted(
        {kind for kind in kinds if re.search("rnn|gru|lstm|sigmoid|tanh|linear|mm", kind)}
    )


@pytest.mark.parametrize(
    "layer", [line.strip() for line in (CELLS + LAYERS).split("\n") if line.strip()]
)
def test_a_recurrent_layer_is_an_operator(layer: str) -> None:
    found = operators(internals, layer)
    assert len(found) in (1, 2)
    assert found == answer(lambda torch: operators(torch, layer), about=(layer,))


MISUSES = """
    nn.RNNCell(3, 4) >> m(torch.ones(1, 2, 3))
    nn.RNNCell(3, 4) >> m(torch.ones(2, 3), torch.ones(2, 4, 1))
    nn.RNNCell(3, 4, nonlinearity="gelu") >> m(torch.ones(2, 3))
    nn.GRUCell(3, 4) >> m(torch.ones(2, 5))
    nn.LSTMCell(3, 4) >> m(torch.ones(2, 3), (torch.ones(2, 4), torch.ones(1, 2, 4)))
"""


def complaint(torch: Any, case: str) -> str:
    build, call = case.split(" >> ")
    with pytest.raises(Exception) as caught:
        eval(call, {"m": torch.jit.script(eval(build, {"nn": torch.nn})), "torch": torch})
    return str(caught.value).strip().splitlines()[-1].rpartition("Error: ")[2]


@pytest.mark.parametrize("case", [line.strip() for line in MISUSES.strip().splitlines()])
def test_a_scripted_cell_says_what_is_wrong_with_its_arguments(case: str) -> None:
    assert complaint(internals, case) == answer(lambda torch: complaint(torch, case), about=(case,))


@pytest.mark.parametrize(("layer", "shape", "said"), [
    ("nn.LSTM(3, 4)", (1,), "LSTM: Expected input to be 2D or 3D, got 1D instead"),
    ("nn.RNN(3, 4)", (1,), "RNN: Expected input to be 2D or 3D, got 1D tensor instead"),
    ("nn.GRU(3, 4)", (2, 5), "input.size(-1) must be equal to input_size. Expected 3, got 5"),
])  # fmt: skip
def test_a_scripted_layer_says_what_is_wrong_with_its_input(
    layer: str, shape: tuple[int, ...], said: str
) -> None:
    m = jit.script(eval(layer, {"nn": internals.nn}))
    with pytest.raises(Exception, match="Error: ") as caught:
        m(internals.ones(*shape))
    assert str(caught.value).strip().endswith(said)
