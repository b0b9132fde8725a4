"""Forward hooks of modules, and the handles that remove hooks. The same code runs in PyTorch."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest

import internals
from internals.utils.hooks import RemovableHandle
from tests.nn.support import error_of, make_leaf, make_net


def for_all(T: Any) -> Any:
    """Where the hooks for all modules are registered."""
    return T.nn.modules.module


@pytest.fixture
def handles() -> Iterator[list[Any]]:
    """Handles to be removed after the test."""
    found: list[Any] = []
    yield found
    for handle in found:
        handle.remove()


def test_order_of_forward_hooks(T: Any, handles: list[Any]) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []

    def pre(name: str) -> Any:
        return lambda module, args: seen.append((name, module is leaf, len(args)))

    def post(name: str) -> Any:
        return lambda module, args, output: seen.append((name, module is leaf, tuple(output.shape)))

    leaf.register_forward_pre_hook(pre("pre"))
    leaf.register_forward_pre_hook(pre("pre first"), prepend=True)
    handles.append(for_all(T).register_module_forward_pre_hook(pre("pre all")))
    leaf.register_forward_hook(post("post"))
    leaf.register_forward_hook(post("post first"), prepend=True)
    handles.append(for_all(T).register_module_forward_hook(post("post all")))
    leaf(T.ones(5, 3), scale=2.0)
    assert seen == [(name, True, 1) for name in ("pre all", "pre first", "pre")] + [
        (name, True, (5, 2)) for name in ("post all", "post first", "post")
    ]


def test_hooks_replace_arguments_and_output(T: Any) -> None:
    leaf, x = make_leaf(T)(), T.ones(1, 3)
    with leaf.register_forward_pre_hook(lambda m, args: args[0] * 10):
        assert leaf(x).tolist() == [[30, 120]]
    with leaf.register_forward_pre_hook(lambda m, args: (args[0], 3.0)):
        assert leaf(x).tolist() == [[9, 36]]
    with leaf.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"scale": 2.0}), with_kwargs=True
    ):
        assert leaf(x, scale=7.0).tolist() == [[6, 24]]
    with leaf.register_forward_hook(lambda m, args, output: output + 1):
        assert leaf(x).tolist() == [[4, 13]]
    with leaf.register_forward_hook(
        lambda m, args, kwargs, output: output * kwargs["scale"], with_kwargs=True
    ):
        assert leaf(x, scale=2.0).tolist() == [[12, 48]]
    assert leaf(x).tolist() == [[3, 12]] and leaf.forward(x).tolist() == [[3, 12]]
    with leaf.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True):
        assert error_of(lambda: leaf(x)) == (
            "RuntimeError: forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
            "but got 3."
        )


def test_hooks_of_children_run_inside(T: Any) -> None:
    net = make_net(T)
    seen: list[Any] = []
    net.register_forward_pre_hook(lambda m, args: seen.append("net pre"))
    net.first.register_forward_hook(lambda m, args, output: seen.append("first"))
    net.register_forward_hook(lambda m, args, output: seen.append("net"))
    net(T.ones(3))
    assert seen == ["net pre", "first", "net"]


def test_hooks_that_are_always_called(T: Any, handles: list[Any]) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []

    def fails(module: Any, args: Any, output: Any) -> None:
        raise ValueError("of the hook")

    leaf.register_forward_hook(lambda m, args, output: seen.append("not called"))
    leaf.register_forward_hook(lambda m, args, output: seen.append(output), always_call=True)
    leaf.register_forward_hook(
        lambda m, args, kw, output: seen.append(kw), with_kwargs=True, always_call=True
    )
    handles.append(
        for_all(T).register_module_forward_hook(
            lambda m, args, output: seen.append("all"), always_call=True
        )
    )
    with pytest.raises(TypeError):
        leaf(T.ones(3), oops=1)
    assert seen == ["all", None, {"oops": 1}]
    leaf._forward_hooks.clear()
    leaf.register_forward_hook(fails, always_call=True)
    with pytest.raises(ValueError, match="of the hook"):
        leaf(T.ones(3))
    with pytest.warns(
        UserWarning, match="was silenced as another error was raised in forward: of the hook"
    ):
        with pytest.raises(TypeError):
            leaf(T.ones(3), oops=1)


def test_always_called_hooks_run_once(T: Any) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []
    leaf.register_forward_hook(lambda m, args, output: seen.append(1), always_call=True)
    leaf.register_forward_hook(lambda m, args, output: 1 / 0)
    leaf.register_forward_hook(lambda m, args, output: seen.append(2), always_call=True)
    with pytest.raises(ZeroDivisionError):
        leaf(T.ones(3))
    assert seen == [1, 2]


def test_removing(T: Any) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []
    handles = [leaf.register_forward_hook(lambda m, a, o, i=i: seen.append(i)) for i in range(3)]
    handles[1].remove()
    handles[1].remove()
    leaf(T.ones(3))
    assert seen == [0, 2] and [h.id for h in handles] == sorted({h.id for h in handles})
    flagged = leaf.register_forward_hook(lambda *a: None, with_kwargs=True, always_call=True)
    flagged.remove()
    assert not leaf._forward_hooks_with_kwargs and not leaf._forward_hooks_always_called
    del leaf
    handles[0].remove()


def test_a_hook_may_remove_itself(T: Any) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []

    def once(module: Any, args: Any, output: Any) -> None:
        seen.append(1)
        handle.remove()

    handle = leaf.register_forward_hook(once)
    leaf.register_forward_hook(lambda m, args, output: seen.append(2))
    leaf(T.ones(3)), leaf(T.ones(3))
    assert seen == [1, 2, 2]


def test_hooks_are_copied_with_the_module(T: Any) -> None:
    leaf = make_leaf(T)()
    seen: list[Any] = []
    leaf.register_forward_hook(lambda m, args, output: seen.append(m))
    other = copy.deepcopy(leaf)
    other(T.ones(3))
    assert seen == [other]


def test_forward_of_the_instance_is_called(T: Any) -> None:
    leaf = make_leaf(T)()
    leaf.forward = lambda x: "replaced"
    assert leaf(1) == "replaced"


def test_handles_can_be_pickled() -> None:
    hooks: OrderedDict[int, str] = OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=hooks)
    hooks[handle.id] = "x"
    other, both = pickle.loads(pickle.dumps((handle, hooks)))
    other.remove()
    assert not both and hooks and RemovableHandle(hooks).id > handle.id
    alone = pickle.loads(pickle.dumps(RemovableHandle(OrderedDict())))
    alone.remove()


def test_no_hooks_no_detour(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = make_leaf(internals)()
    monkeypatch.setattr(type(leaf), "_call_with_hooks", None)
    assert leaf(internals.ones(1, 3)).tolist() == [[3, 12]]
    leaf.register_forward_hook(lambda m, args, output: None)
    with pytest.raises(TypeError):
        leaf(internals.ones(1, 3))
