"""`func.functional_call`: a module with other tensors in the place of its own, for the time of one
call.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from tests.support import assert_same_outcome

PROGRAM = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(T.ones(2))
        self.register_buffer("b", T.zeros(2))
        self.register_buffer("no_b", None)
        self.register_parameter("no_p", None)
        self.a, self.nothing, self.number = full(5), None, 3
        self.sub = nn.Linear(2, 2, bias=False)
        nn.init.ones_(self.sub.weight)

    def forward(self, x=0, y=0):
        self.b = self.b + 1
        return self.sub(self.p * x + self.b + self.a) + y

class InPlace(Model):
    def forward(self, x):
        self.b.add_(1)
        self.a = self.a + 1
        return self.b + x

class Raises(Model):
    def forward(self, x):
        self.b = self.b + 7
        raise ValueError("after it wrote")

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = self.y = self.z = nn.Parameter(T.ones(2))

    def forward(self, v):
        return self.x + 2 * self.y + 4 * self.z + v
"""

CALLS = """
    Model | {} | full(1)
    Model | {"p": full(2)} | full(1)
    Model | {"b": full(2)} | full(1)
    Model | {"a": full(2)} | full(1)
    Model | {"nothing": full(2), "no_p": full(3), "no_b": full(4)} | full(1)
    Model | {"number": full(2)} | full(1)
    Model | {"new": full(2), "newer": nn.Parameter(full(2))} | full(1)
    Model | {"sub.weight": T.zeros(2, 2), "sub.new": full(1)} | full(1)
    Model | {"other.weight": T.zeros(2, 2)} | full(1)
    Model | {"sub.weight.data": T.zeros(2, 2)} | full(1)
    Model | {"sub": full(1)} | full(1)
    Model | {"p": full(2), "b": 3} | full(1)
    Model | {"p": None} | full(1)
    Model | {"": full(1)} | full(1)
    Model | {"p": full(1), "b": full(1), "sub.weight": T.zeros(2, 2)} | full(1), strict=True
    Model | {"p": full(1)} | full(1), strict=True
    Model | {"q": full(1)} | full(1), strict=True
    Model | {"p": full(1), "b": full(1), "sub.weight": T.zeros(2, 2), "a": full(2)} | \
        full(1), strict=True
    Model | {"p": full(2)} |
    Model | {"p": full(2)} | (full(1), 3)
    Model | {"p": full(2)} | [1]
    Model | {"p": full(2)} | None, {"x": full(1), "y": 2}
    Model | ({"p": full(2)}, {"b": full(3)}) | full(1)
    Model | [{"p": full(2)}, {"p": full(3), "b": full(1)}] | full(1)
    Model | ({"p": full(2)}, 3) | full(1)
    Model | 3 | full(1)
    Model | () | full(1)
    InPlace | {"b": full(2)} | full(1)
    InPlace | {"a": full(2), "b": full(0)} | full(1)
    InPlace | {"p": full(2), "a": full(0)} | full(1)
    Raises | {"b": full(2)} | full(1)
    Tied | {"y": full(3)} | full(0)
    Tied | {"y": full(3)} | full(0), tie_weights=False
    Tied | {"x": full(3), "y": full(4), "z": full(5)} | full(0)
    Tied | {"x": full(3), "y": full(4), "z": full(5)} | full(0), tie_weights=False
    Tied | dict.fromkeys("xyz", full(3)) | full(0)
    Tied | {"x": full(3)} | full(0), strict=True
    Tied | {"x": full(3)} | full(0), strict=True, tie_weights=False
    nn.BatchNorm1d(2) | {"running_mean": full(5), "num_batches_tracked": T.tensor(3)} | T.ones(3, 2)
    T.jit.script(nn.Linear(2, 2)) | {"bias": full(2)} | full(1)
"""


def names(T: Any) -> dict[str, Any]:
    given = {"T": T, "nn": T.nn, "full": lambda value: T.full((2,), float(value))}
    exec(PROGRAM, given)
    return given


def tensors(module: Any) -> dict[str, Any]:
    return {**vars(module), **module.state_dict(keep_vars=True)}


@pytest.mark.parametrize("call", [line.strip() for line in CALLS.strip().splitlines()])
def test_like_pytorch(call: str) -> None:
    """What is returned, what is in the dicts afterwards, and that the module is as it was."""
    model, dicts, arguments = call.split("|")

    def run(T: Any) -> Any:
        given = names(T)
        module = eval(model, given)
        module = module() if isinstance(module, type) else module
        swapped = eval(dicts, given)
        before = tensors(module)
        given |= {"call": T.func.functional_call, "module": module, "swapped": swapped}
        try:
            result = eval(f"call(module, swapped, {arguments})", given)
        finally:
            after = tensors(module)
            changed = {
                name
                for name in before.keys() | after.keys()
                if before.get(name) is not after.get(name)
            }
            assert changed <= {"a", "b"} and not (
                isinstance(swapped, dict) and changed & set(swapped)
            )
        one = swapped if isinstance(swapped, (list, tuple)) else [swapped]
        return [result.detach(), *(t for d in one for t in d.values())]

    assert_same_outcome(lambda: run(internals), run, atol=1e-6, family="programs")


def test_attributes_are_swapped_and_assignments_land_in_the_dict() -> None:
    given = names(internals)
    module, full = given["Model"](), given["full"]
    state = {"a": full(0), "b": full(10)}
    assert internals.func.functional_call(module, state, full(1)).tolist() == [24, 24]
    assert state["b"].tolist() == [11, 11] and state["a"].tolist() == [0, 0]
    assert module.b.tolist() == [0, 0] and module.a.tolist() == [5, 5]
    internals.func.functional_call(module, {}, full(1))
    assert module.b.tolist() == [1, 1]


def test_several_values_of_one_tensor_are_refused() -> None:
    given = names(internals)
    module, full = given["Tied"](), given["full"]
    call = internals.func.functional_call
    with pytest.raises(
        ValueError, match=r"multiple values for keys \['x', 'y', 'z'\], which are tied"
    ):
        call(module, {"x": full(3), "y": full(4)}, full(0))
    assert call(module, {"x": full(3), "y": full(4)}, full(0), tie_weights=False).tolist() == [
        15,
        15,
    ]
    assert module.x is module.y is module.z


def test_a_module_under_two_names_gets_its_own_tensors_back() -> None:
    """PyTorch puts them back in the order in which it took them, and leaves the caller's in the
    module.
    """
    model = internals.nn.Sequential(layer := internals.nn.Linear(2, 2), layer)
    own = layer.bias
    given = {"0.bias": internals.ones(2)}
    internals.func.functional_call(model, given, internals.ones(2))
    assert layer.bias is own and given["0.bias"].tolist() == [1, 1]


def test_under_a_trace_it_is_refused() -> None:
    layer = internals.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="The stateless API can't be used with Jitted modules"):
        internals.jit.trace(
            lambda x: internals.func.functional_call(layer, {"bias": x}, x), internals.ones(2)
        )
