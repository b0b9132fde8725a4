"""Compiled functions and modules as users handle them: what a review found."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
import warnings
from typing import Any, Optional, Tuple  # noqa: UP035

import pytest

import internals as torch
from internals import Tensor, jit, nn


def with_defaults(x: Tensor, size: Tuple[int, int] = (1, 2), one: Tuple[int] = (3,)) -> Tensor:  # noqa: UP006
    return x + size[0] + one[0]


def test_defaults_that_are_tuples_are_shown_as_tuples() -> None:
    schema = "with_defaults(Tensor x, (int, int) size=(1, 2), (int) one=(3,)) -> Tensor"
    assert str(jit.script(with_defaults).schema) == schema


def test_the_value_that_does_not_fit_is_quoted() -> None:
    with pytest.raises(RuntimeError, match="Position: 0\nValue: 'three'\nDeclaration"):
        jit.script(with_defaults)("three")


def unwrapped(x: Optional[Tensor]) -> Tensor:  # noqa: UP045
    return jit._unwrap_optional(x) + 1


def test_unwrap_optional() -> None:
    f = jit.script(unwrapped)
    assert f(torch.ones(1)).item() == unwrapped(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="Unwrapping null optional"):
        f(None)
    with pytest.raises(AssertionError, match="Unwrapping null optional"):
        unwrapped(None)


def plus_one(x: Tensor) -> Tensor:
    return x + 1


@pytest.mark.parametrize("f", [jit.script(plus_one), jit.trace(plus_one, torch.ones(1))])
@pytest.mark.parametrize("copier", [pickle.dumps, copy.deepcopy])
def test_functions_are_not_pickled(f: Any, copier: Any) -> None:
    with pytest.raises(pickle.PickleError, match="ScriptFunction cannot be pickled"):
        copier(f)


class TwoInputs(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


def test_example_keyword_inputs_of_modules_in_any_order() -> None:
    one, two = torch.ones(1), torch.ones(1) * 2
    traced = jit.trace(TwoInputs(), example_kwarg_inputs={"y": one, "x": two})
    assert [v.debugName() for v in traced.graph.inputs()] == ["self", "x", "y"]
    assert traced(two, one).item() == traced(y=one, x=two).item() == 1


class Callable:
    def __call__(self, x: Tensor) -> Tensor:
        return x


@pytest.mark.parametrize(
    "thing",
    [3, "a", None, len, torch.add, torch.ones(1), Callable(), functools.partial(plus_one)],
    ids=type,
)
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="cannot be scripted: functions|is built in"):
        jit.script(thing)


def test_deprecated_arguments() -> None:
    with pytest.warns(FutureWarning, match="`optimize` is deprecated"):
        assert jit.script(plus_one, True)(torch.ones(1)).item() == 2
    with pytest.warns(UserWarning, match="annotate the arguments"):
        jit.script(plus_one, example_inputs=[(torch.ones(1),)])


HELPERS = "".join(
    f"def f{i}(x):\n    return {f'f{i - 1}(x)' if i else 'x'} + 1\n\n\n" for i in range(30)
)


def test_threads_compile_what_they_share(tmp_path: Any) -> None:
    """While one compiled a function, another that met it was told that it calls itself."""
    path = tmp_path / "helpers.py"
    path.write_text(HELPERS)
    names: dict[str, Any] = {"__name__": "helpers"}
    exec(compile(HELPERS, str(path), "exec"), names)
    results: list[Any] = [None] * 4
    barrier = threading.Barrier(4)

    def work(i: int) -> None:
        barrier.wait()
        try:
            results[i] = jit.script(names[f"f{29 - i}"])(torch.zeros(1)).item()
        except RuntimeError as error:
            results[i] = str(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [30, 29, 28, 27]


class Replaced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.k = 3

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x) * self.k


def test_a_submodule_is_replaced_by_a_compiled_one_only() -> None:
    scripted, other = jit.script(Replaced()), jit.script(Replaced())
    with pytest.raises(
        RuntimeError,
        match="Cannot re-assign modules in a ScriptModule with non-scripted module, tried",
    ):
        scripted.fc = nn.Linear(2, 2)
    scripted.fc = other.fc
    x = torch.ones(1, 2)
    assert torch.equal(scripted(x), other(x))


def test_attributes_stay() -> None:
    scripted = jit.script(Replaced())
    with pytest.raises(AttributeError, match="'RecursiveScriptModule' object has no attribute 'k'"):
        del scripted.k
    with pytest.raises(
        RuntimeError, match="cannot delete methods or parameters of a script module"
    ):
        del scripted.fc
    assert scripted(torch.ones(1, 2)).shape == (1, 2)


@pytest.mark.parametrize(
    "name",
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "requires_grad_",
        "get_parameter",
    ],
)
def test_methods_that_scripted_modules_do_not_have(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name} is not supported on ScriptModules"):
        getattr(jit.script(Replaced()), name)(lambda *a: None)


def test_nothing_is_warned_without_reason() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.script(plus_one)


@jit.ignore
def python_int(x: Tensor, wrong: bool) -> int:
    return "a" if wrong else 3  # type: ignore[return-value]


@jit.ignore
def python_float() -> float:
    return 3


@jit.ignore
def python_pair() -> Tuple[int, int]:  # noqa: UP006
    return [1, 2]  # type: ignore[return-value]


def calls_python(x: Tensor, wrong: bool) -> Tuple[int, float, Tuple[int, int]]:  # noqa: UP006
    return python_int(x, wrong), python_float(), python_pair()


def test_what_python_code_returns_is_of_its_type() -> None:
    f = jit.script(calls_python)
    number, real, pair = f(torch.ones(1), False)
    assert (number, real, pair) == (3, 3.0, (1, 2))
    assert [type(number), type(real), type(pair)] == [int, float, tuple]
    message = (
        " expected value of type int for return value but instead got value of type str.\nValue: "
        "'a'"
    )
    with pytest.raises(RuntimeError, match=message):
        f(torch.ones(1), True)


def test_nothing_is_traced_when_the_jit_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("internals.jit._script.enabled", False)
    module = Replaced()
    assert jit.trace(plus_one, torch.ones(1)) is plus_one
    assert jit.trace(module, torch.ones(1, 2)) is module
    assert jit.trace_module(module, {"forward": torch.ones(1, 2)}) is module
    assert jit.script(plus_one) is plus_one


def test_no_buffers_are_added_to_a_scripted_module() -> None:
    scripted = jit.script(nn.BatchNorm1d(2))
    with pytest.raises(
        RuntimeError,
        match="Can't add a new parameter after ScriptModule construction. Tried to add 'more",
    ):
        scripted.register_buffer("more", torch.ones(1))
    scripted.register_buffer("running_mean", torch.ones(2))
    assert scripted.running_mean.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"Save its state_dict\(\) instead"):
        pickle.dumps(scripted)
