"""Scripted modules and Python: what is ignored and exported; hooks; copies; modules made of
scripted and traced ones.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import internals
from internals import jit
from tests.answers import answer
from tests.jit.module_support import error_of, module
from tests.jit.modules import namespace
from tests.jit.sources import define, plain
from tests.jit.test_modules import graphs, graphs_of_pytorch

PYTHON = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.w = nn.Parameter(torch.ones(2))
    @torch.jit.ignore
    def typed(self, x: int) -> int:
        return self.k + x
    @torch.jit.ignore
    def untyped(self, x):
        return self.w + x
    @torch.jit.unused
    def unused(self, x):
        yield 1
    @torch.jit.export
    def exported(self, x):
        return self.helper(x) + 1
    def helper(self, x):
        return x * 2
    def python_only(self, x):
        return {x}
    def forward(self, x):
        if x.sum() > 100:
            return self.unused(x)
        return self.untyped(x) + self.typed(4)
"""


def test_ignored_methods_stay_in_python() -> None:
    scripted = jit.script(module(PYTHON))
    assert scripted(internals.zeros(2)).tolist() == [8.0, 8.0]
    assert "^typed" in str(scripted.graph) and "^untyped" in str(scripted.graph)
    scripted.k = 10
    assert scripted.typed(1) == 11 and scripted(internals.zeros(2)).tolist() == [15.0, 15.0]
    scripted(internals.zeros(2)).sum().backward()
    assert scripted.w.grad.tolist() == [1.0, 1.0]


def test_unused_methods_raise() -> None:
    scripted = jit.script(module(PYTHON))
    with pytest.raises(
        jit.Error, match="This Python function is annotated to be ignored and cannot be run"
    ):
        scripted(internals.full((2,), 100.0))


def test_exported_methods_are_compiled_and_others_are_not() -> None:
    scripted = jit.script(module(PYTHON))
    assert scripted.exported(internals.ones(1)).tolist() == [3.0]
    assert sorted(scripted._jit_type.methods) == ["exported", "forward", "helper"]
    assert 'prim::CallMethod[name="helper"]' in str(scripted.exported.graph)
    with pytest.raises(AttributeError, match="python_only"):
        scripted.python_only  # noqa: B018


def test_graphs_of_ignored_and_unused_methods_are_pytorchs() -> None:
    theirs = graphs_of_pytorch(lambda torch: module(PYTHON, torch))
    assert graphs(jit.script(module(PYTHON))) == theirs


def test_a_module_without_forward_is_an_empty_one() -> None:
    scripted = jit.script(module("class M(nn.Module):\n    pass"))
    with pytest.raises((AttributeError, NotImplementedError), match="forward"):
        scripted(1)


def test_classes_and_other_things_are_refused() -> None:
    with pytest.raises(
        RuntimeError,
        match="cannot be compiled since it inherits from nn.Module, pass an instance instead",
    ):
        jit.script(internals.nn.Linear)
    for thing in (3, "text", None):
        with pytest.raises(TypeError, match="cannot be scripted: functions and modules can"):
            jit.script(thing)


def test_attributes_keep_their_types() -> None:
    scripted = jit.script(internals.nn.Linear(2, 2))
    cases = [
        ("weight", 3, r"Could not cast attribute 'weight' to type Tensor"),
        ("training", "yes", r"Could not cast attribute 'training' to type bool"),
        ("in_features", 7, r"Can't set constant 'in_features' which has value:2"),
        (
            "extra",
            internals.nn.Linear(1, 1),
            r"Cannot re-assign modules in a ScriptModule with non-scripted module",
        ),
        (
            "extra",
            internals.nn.Parameter(internals.ones(1)),
            r"Can't add a new parameter after ScriptModule construction",
        ),
    ]
    for name, value, message in cases:
        with pytest.raises(RuntimeError, match=message):
            setattr(scripted, name, value)
    scripted.note = "python's own"
    scripted.weight = internals.nn.Parameter(internals.eye(2))
    scripted.bias = internals.nn.Parameter(internals.zeros(2))
    assert scripted.note == "python's own" and scripted(internals.tensor([1.0, 2.0])).tolist() == [
        1.0,
        2.0,
    ]


def test_lists_and_dicts_of_the_original_are_copied() -> None:
    text = """
        class M(nn.Module):
            v: List[int]
            def __init__(self):
                super().__init__()
                self.v = [1]
            def forward(self, x: int):
                self.v.append(x)
                return self.v
    """
    original = module(text)
    scripted = jit.script(original)
    assert scripted(2) == [1, 2] and scripted(3) == [1, 2, 3] and scripted.v == [1, 2, 3]
    assert original.v == [1]


def test_containers_from_python() -> None:
    nn = internals.nn
    text = """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.s = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
                self.l = nn.ModuleList([nn.Tanh(), nn.ReLU()])
                self.d = nn.ModuleDict({'a': nn.Tanh()})
            def forward(self, x):
                return self.s(x)
    """
    scripted = jit.script(module(text, internals))
    assert (len(scripted.s), len(scripted.l), len(scripted.d)) == (2, 2, 1)
    assert scripted.s[1].original_name == "ReLU" and [m.original_name for m in scripted.l] == [
        "Tanh",
        "ReLU",
    ]
    assert "a" in scripted.d and "b" not in scripted.d and list(scripted.d) == ["a"]
    assert bool(scripted) and [m.original_name for m in scripted.l[:1]] == ["Tanh"]
    for use in (len, iter):
        with pytest.raises(NotImplementedError):
            use(scripted)  # type: ignore[operator]
    assert isinstance(scripted.s, jit.RecursiveScriptModule) and not isinstance(
        scripted.s, nn.Sequential
    )


HOOKED = """
def changes_input(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (input[0] * 2,)
def gives_one(self, input: Tuple[torch.Tensor]) -> torch.Tensor:
    return input[0] + 1
def looks(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> None:
    assert output.size(0) == input[0].size(0)
def changes_output(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output + self.weight.sum()
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.fc.register_forward_pre_hook(changes_input)
        self.fc.register_forward_pre_hook(gives_one)
        self.fc.register_forward_hook(changes_output)
        self.fc.register_forward_hook(looks)
    def forward(self, x):
        return self.fc(x)
"""


def test_hooks_are_compiled() -> None:
    eager = module(HOOKED)
    scripted, x = jit.script(eager), internals.ones(3, 2)
    np.testing.assert_allclose(scripted(x).detach().numpy(), eager(x).detach().numpy())
    np.testing.assert_allclose(scripted.fc(x).detach().numpy(), eager.fc(x).detach().numpy())
    theirs = graphs_of_pytorch(lambda torch: module(HOOKED, torch))
    assert graphs(scripted)[".forward"] == theirs[".forward"]


HOOK = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.{kind}(hook)
    def forward(self, x):
        return x
"""


@pytest.mark.parametrize(
    "hook",
    [
        "def hook(self, input: Tuple[torch.Tensor]{more}):\n    return input",
        "def hook(self, input{more}) -> None:\n    return None",
    ],
)
@pytest.mark.parametrize("kind", ["register_forward_pre_hook", "register_forward_hook"])
def test_hooks_that_do_not_fit(hook: str, kind: str) -> None:
    text = hook.format(more=", output" if kind == "register_forward_hook" else "") + HOOK.format(
        kind=kind
    )

    def refused(torch: Any) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.jit.script(module(text, torch))
        except RuntimeError as error:
            return plain(str(error))
        return None

    real = answer(refused, family="jit")
    if real is None:
        jit.script(module(text))
    else:
        assert error_of(lambda: jit.script(module(text))) == real


OLD = """
class M(torch.jit.ScriptModule):
    __constants__ = ["k"]
    def __init__(self):
        super().__init__()
        self.k = 3
        self.w = nn.Parameter(torch.ones(2))
        self.fc = nn.Linear(2, 2)
        self.names = torch.jit.Attribute([], List[str])
    @torch.jit.script_method
    def forward(self, x):
        return self.twice(self.fc(x)) + self.w * self.k
    @torch.jit.script_method
    def twice(self, x):
        return x * 2
    def python(self, x):
        return [self.twice(x)]
"""


def test_subclasses_of_script_module_compile_themselves() -> None:
    m = module(OLD)
    assert (
        isinstance(m, jit.ScriptModule)
        and isinstance(m.fc, jit.RecursiveScriptModule)
        and m.original_name == "M"
    )
    x = internals.ones(1, 2)
    np.testing.assert_allclose(m(x).detach().numpy(), ((m.fc(x) * 2) + 3).detach().numpy())
    assert m.python(x)[0].tolist() == [[2.0, 2.0]] and m.names == [] and m.k == 3
    assert [n for n, _ in m.named_parameters()] == ["w", "fc.weight", "fc.bias"]
    assert graphs(m)[".forward"] == graphs_of_pytorch(lambda torch: module(OLD, torch))[".forward"]
    assert repr(m) == answer(lambda torch: repr(module(OLD, torch)), family="jit")


def test_scripted_with_traced_parts() -> None:
    text = """
        class M(nn.Module):
            def __init__(self, traced, f, scripted):
                super().__init__()
                self.t, self.f, self.s = traced, f, scripted
            def forward(self, x):
                return self.f(self.t(x)) + self.t.weight + self.s(x)
    """
    x = internals.ones(1, 2)
    linear = internals.nn.Linear(2, 2)
    traced, f = jit.trace(linear, x), jit.trace(lambda y: y + 1, x)
    scripted = jit.script(module(text, internals, traced, f, jit.script(internals.nn.ReLU())))
    np.testing.assert_allclose(
        scripted(x).detach().numpy(), (linear(x) + 1 + linear.weight + 1).detach().numpy()
    )
    assert scripted.t is traced and 'prim::CallMethod[name="forward"]' in str(scripted.graph)


def test_methods_given_as_text() -> None:
    class OfItsOwn(internals.nn.Linear):
        """As in PyTorch, all modules of one type have the method from now on."""

    scripted = jit.script(OfItsOwn(2, 2))
    scripted.define("def twice(self, x: Tensor) -> Tensor:\n    return self.forward(x) * 2\n")
    x = internals.ones(1, 2)
    assert scripted.twice(x).tolist() == (scripted(x) * 2).tolist()


def test_copies_and_pickles() -> None:
    scripted = jit.script(module(PYTHON))
    shallow, deep = copy.copy(scripted), copy.deepcopy(scripted)
    assert shallow.w is scripted.w and deep.w is not scripted.w
    deep.k = 50
    assert scripted.k == 3 and deep.exported(internals.ones(1)).tolist() == [3.0]
    with pytest.raises(RuntimeError, match="which does not have a __getstate__ method defined!"):
        pickle.dumps(scripted)


def test_annotations_as_text_are_understood() -> None:
    text = """
        from __future__ import annotations
        from typing import *

        class Base(nn.Module):
            v: List[int]

        class M(Base):
            w: Optional[torch.Tensor]
            k: Final[int]
            def __init__(self):
                super().__init__()
                self.v, self.w, self.k = [], None, 3
            def forward(self, x: torch.Tensor) -> List[int]:
                self.v.append(self.k)
                self.w = x
                return self.v
    """
    scripted = jit.script(define(text, **namespace(internals))())
    assert scripted(internals.ones(1)) == [3] and scripted.w.tolist() == [1.0]
    assert scripted._jit_type.constants == {"k": 3}
