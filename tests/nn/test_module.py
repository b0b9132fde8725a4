"""`nn.Module`: what assignment does, walking and converting the tree, printing, copying. The same
code runs in PyTorch.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import internals
from internals import nn
from tests.nn.support import error_of, make_leaf, make_net

# Attributes


def test_assignment_registers(T: Any) -> None:
    net = make_net(T)
    assert list(net._modules) == ["first", "second", "block"]
    assert list(net._parameters) == ["scale"]
    assert list(net.first._buffers) == ["count", "scratch"]
    assert "scale" not in net.__dict__ and "first" not in net.__dict__
    assert net.scale is net._parameters["scale"] and net.first is net._modules["first"]
    net.plain = T.zeros(2)
    assert "plain" in net.__dict__ and "plain" not in dict(net.named_buffers())


def test_assignment_moves_a_name_between_kinds(T: Any) -> None:
    m = T.nn.Module()
    m.x = 3
    m.x = T.nn.Parameter(T.zeros(1))
    assert "x" not in m.__dict__ and list(m._parameters) == ["x"]
    m.x = None
    assert m._parameters == {"x": None} and m.x is None and list(m.parameters()) == []
    del m.x
    m.x = T.nn.Module()
    assert list(m._modules) == ["x"]
    m.x = T.nn.Parameter(T.ones(1))
    assert list(m._parameters) == ["x"] and not m._modules
    del m.x
    m.register_buffer("x", T.zeros(1), persistent=False)
    m.x = T.ones(1)
    assert list(m._buffers) == ["x"] and m._non_persistent_buffers_set == {"x"}
    m.x = T.nn.Buffer(T.ones(2))
    assert m._non_persistent_buffers_set == set() and list(m.state_dict()) == ["x"]
    m.x = T.nn.Parameter(T.ones(1))
    assert not m._buffers and list(m._parameters) == ["x"]


def test_a_module_takes_the_place_of_a_parameter_only_by_deleting_it(T: Any) -> None:
    m = T.nn.Module()
    m.p = T.nn.Parameter(T.zeros(1))
    wanted = (
        "TypeError: cannot assign '{}' as parameter 'p' (internals.nn.Parameter or None expected)"
    )
    assert error_of(lambda: setattr(m, "p", T.zeros(1))) == wanted.format("internals.FloatTensor")
    assert error_of(lambda: setattr(m, "p", "text")) == wanted.format("str")


def test_what_may_be_assigned(T: Any) -> None:
    m = T.nn.Module()
    m.child, m.p = T.nn.Module(), T.nn.Parameter(T.zeros(2))
    m.register_buffer("b", T.zeros(1))
    Parameter = T.nn.Parameter
    assert {name: error_of(lambda call=call: call()) for name, call in {  # type: ignore[misc]
        "child": lambda: setattr(m, "child", 3),
        "buffer": lambda: setattr(m, "b", 3),
        "missing": lambda: m.nothing,
        "deleted": lambda: delattr(m, "nothing"),
        "not a parameter": lambda: m.register_parameter("q", T.zeros(1)),
        "not a name": lambda: m.register_parameter(3, Parameter(T.zeros(1))),
        "dot": lambda: m.register_parameter("a.b", None),
        "empty": lambda: m.register_parameter("", None),
        "taken": lambda: m.register_parameter("child", None),
        "buffer dot": lambda: m.register_buffer("a.b", None),
        "buffer empty": lambda: m.register_buffer("", None),
        "buffer taken": lambda: m.register_buffer("p", T.zeros(1)),
        "buffer kind": lambda: m.register_buffer("c", [1]),
        "buffer name": lambda: m.register_buffer(None, T.zeros(1)),
        "module kind": lambda: m.add_module("x", 3),
        "module name": lambda: m.add_module(3, T.nn.Module()),
        "module taken": lambda: m.add_module("p", T.nn.Module()),
        "module dot": lambda: m.register_module("a.b", T.nn.Module()),
        "module empty": lambda: m.register_module("", T.nn.Module()),
    }.items()} == {
        "child": (
            "TypeError: cannot assign 'int' as child module 'child' (internals.nn.Module or None "
            "expected)"
        ),
        "buffer": (
            "TypeError: cannot assign 'int' as buffer 'b' (internals.nn.Buffer, internals.Tensor "
            "or None expected)"
        ),
        "missing": "AttributeError: 'Module' object has no attribute 'nothing'",
        "deleted": "AttributeError: 'Module' object has no attribute 'nothing'",
        "not a parameter": (
            "TypeError: cannot assign 'internals.FloatTensor' object to parameter 'q' "
            "(internals.nn.Parameter or None required)"
        ),
        "not a name": "TypeError: parameter name should be a string. Got int",
        "dot": 'KeyError: parameter name can\'t contain "."',
        "empty": 'KeyError: parameter name can\'t be empty string ""',
        "taken": "KeyError: attribute 'child' already exists",
        "buffer dot": 'KeyError: buffer name can\'t contain "."',
        "buffer empty": 'KeyError: buffer name can\'t be empty string ""',
        "buffer taken": "KeyError: attribute 'p' already exists",
        "buffer kind": (
            "TypeError: cannot assign 'list' object to buffer 'c' (internals Tensor or None "
            "required)"
        ),
        "buffer name": "TypeError: buffer name should be a string. Got NoneType",
        "module kind": "TypeError: int is not a Module subclass",
        "module name": "TypeError: module name should be a string. Got int",
        "module taken": "KeyError: attribute 'p' already exists",
        "module dot": 'KeyError: module name can\'t contain ".", got: a.b',
        "module empty": 'KeyError: module name can\'t be empty string ""',
    }  # fmt: skip


def test_nothing_may_be_assigned_before_init(T: Any) -> None:
    class Hasty(T.nn.Module):
        def __init__(self, value: Any) -> None:
            self.x = value

    class Called(T.nn.Module):
        def __init__(self) -> None:
            pass

    before = "before Module.__init__() call"
    assert (
        error_of(lambda: Hasty(T.nn.Parameter(T.zeros(1))))
        == f"AttributeError: cannot assign parameters {before}"
    )
    assert (
        error_of(lambda: Hasty(T.nn.Module())) == f"AttributeError: cannot assign module {before}"
    )
    assert (
        error_of(lambda: Hasty(T.nn.Buffer(T.zeros(1))))
        == f"AttributeError: cannot assign buffer {before}"
    )
    assert (
        error_of(lambda: Called().register_buffer("b", None))
        == f"AttributeError: cannot assign buffer {before}"
    )
    assert (
        error_of(lambda: Called()(1))
        == "AttributeError: 'Called' object has no attribute '_backward_hooks'"
    )
    assert Hasty(3).x == 3
    assert error_of(lambda: T.nn.Module(3)) == (
        "TypeError: Module.__init__() takes 1 positional argument but 2 were given"
    )
    assert error_of(lambda: T.nn.Module(a=3)) == (
        "TypeError: Module.__init__() got an unexpected keyword argument 'a'"
    )


def test_a_module_without_forward(T: Any) -> None:
    assert error_of(lambda: make_net(T).block(1)) == (
        'NotImplementedError: Module [Block] is missing the required "forward" function'
    )


def test_other_base_classes_are_initialized_on_request(T: Any) -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

    class Both(T.nn.Module, Named):
        call_super_init = True

    assert Both("x").name == "x"


def test_registration_hooks_may_replace_what_is_registered(T: Any) -> None:
    hooks = T.nn.modules.module
    seen = []

    def hook(module: Any, name: str, value: Any) -> Any:
        seen.append(name)
        return T.nn.Parameter(value * 0) if isinstance(value, T.nn.Parameter) else None

    handles = [
        hooks.register_module_parameter_registration_hook(hook),
        hooks.register_module_buffer_registration_hook(hook),
        hooks.register_module_module_registration_hook(hook),
    ]
    try:
        m = T.nn.Module()
        m.p, m.c = T.nn.Parameter(T.ones(1)), T.nn.Module()
        m.register_buffer("b", T.ones(1))
    finally:
        for handle in handles:
            handle.remove()
    m.late = T.nn.Parameter(T.ones(1))
    assert seen == ["p", "c", "b"] and m.p.item() == 0 and m.b.item() == 1 and m.late.item() == 1


def test_dir_names_members_that_can_be_written(T: Any) -> None:
    m = make_net(T)
    m.add_module("0", T.nn.Module())
    names = dir(m)
    assert (
        {"first", "scale", "forward", "training"} <= set(names)
        and "0" not in names
        and names == sorted(names)
    )


# Walking


def test_names_of_everything(T: Any) -> None:
    net = make_net(T)
    assert [name for name, _ in net.named_modules()] == ["", "first", "second", "block"]
    everything = [name for name, _ in net.named_modules(prefix="net", remove_duplicate=False)]
    assert everything == ["net", "net.first", "net.second", "net.block", "net.block.inner"]
    assert len(list(net.modules())) == 4 and len(list(net.modules(remove_duplicate=False))) == 5
    assert [name for name, _ in net.named_children()] == ["first", "second", "block"]
    assert list(net.children()) == [net.first, net.second, net.block]
    own = ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]
    assert [name for name, _ in net.named_parameters()] == own
    again = ["x.block.inner.weight", "x.block.inner.bias"]
    assert [n for n, _ in net.named_parameters("x", remove_duplicate=False)] == [
        f"x.{n}" for n in own
    ] + again
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in net.named_buffers("n")] == [
        "n.first.count", "n.first.scratch", "n.second.count", "n.second.scratch"
    ]  # fmt: skip
    assert list(net.buffers(recurse=False)) == [] and len(list(net.parameters())) == 5


def test_a_shared_parameter_is_named_once(T: Any) -> None:
    m = T.nn.Module()
    m.a = m.b = T.nn.Parameter(T.ones(1))
    assert [name for name, _ in m.named_parameters()] == ["a"]
    assert [name for name, _ in m.named_parameters(remove_duplicate=False)] == ["a", "b"]


def test_finding_by_path(T: Any) -> None:
    net = make_net(T)
    assert net.get_submodule("") is net and net.get_submodule("block.inner") is net.second
    assert net.get_parameter("block.inner.bias") is net.second.bias
    assert net.get_buffer("first.count") is net.first.count
    assert [error_of(call) for call in (
        lambda: net.get_submodule("block.outer"), lambda: net.get_submodule("scale"),
        lambda: net.get_parameter("first.count"), lambda: net.get_parameter("first.nothing"),
        lambda: net.get_buffer("first.weight"), lambda: net.get_buffer("nowhere.weight"),
        lambda: net.set_submodule("", net), lambda: net.set_submodule("first", 3),
        lambda: net.set_submodule("scale", net.first),
        lambda: net.set_submodule("new", net.first, strict=True),
        lambda: net.set_submodule("nowhere.new", net.first),
    )] == [
        "AttributeError: Block has no attribute `outer`",
        "AttributeError: `scale` is not an nn.Module",
        "AttributeError: `count` is not an nn.Parameter",
        "AttributeError: Leaf has no attribute `nothing`",
        "AttributeError: `weight` is not a buffer",
        "AttributeError: Net has no attribute `nowhere`",
        "ValueError: Cannot set the submodule without a target name!",
        "ValueError: `module` is not an nn.Module, found <class 'int'>",
        "AttributeError: `scale` is not an nn.Module", "AttributeError: Net has no attribute `new`",
        "AttributeError: Net has no attribute `nowhere`",
    ]  # fmt: skip
    net.set_submodule("block.inner", net.first)
    net.set_submodule("block.new", net.second)
    assert net.block.inner is net.first and net.block.new is net.second


def test_apply_visits_children_first(T: Any) -> None:
    seen: list[str] = []
    net = make_net(T)
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Leaf", "Leaf", "Leaf", "Block", "Net"]


def test_modes_and_flags(T: Any) -> None:
    net = make_net(T)
    assert net.training and net.eval() is net and not any(m.training for m in net.modules())
    assert net.train().block.inner.training
    assert error_of(lambda: net.train(1)) == "ValueError: training mode is expected to be boolean"
    net.first.requires_grad_(False)
    assert [p.requires_grad for p in net.parameters()] == [True, False, False, True, True]


def test_zero_grad(T: Any) -> None:
    net = make_net(T)
    net.scale.grad = grad = T.tensor(3.0)
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is grad and grad.item() == 0
    net.zero_grad()
    assert net.scale.grad is None


# Converting


def test_conversion_keeps_parameters_and_replaces_buffers(T: Any) -> None:
    leaf = make_leaf(T)()
    weight, scratch = leaf.weight, leaf.scratch
    weight.grad = T.ones(2, 3)
    assert leaf.double() is leaf
    assert leaf.weight is weight and weight.dtype is T.float64 and weight.grad.dtype is T.float64
    assert weight.requires_grad and weight.is_leaf and isinstance(weight, T.nn.Parameter)
    assert (
        leaf.scratch is not scratch
        and leaf.scratch.dtype is T.float64
        and leaf.count.dtype is T.int64
    )
    assert leaf.half().bias.dtype is T.float16 and leaf.float().bias.dtype is T.float32
    assert (
        leaf.to(T.float64).weight.dtype is T.float64
        and leaf.to(T.zeros(1)).weight.dtype is T.float32
    )
    assert leaf.cpu().weight is weight
    leaf.weight.grad = None
    assert leaf.type(T.float64).count.dtype is T.float64
    assert leaf.weight.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_device_meta(T: Any) -> None:
    leaf = make_leaf(T)()
    weight = leaf.weight
    assert leaf.to("meta") is leaf
    assert (
        leaf.weight is not weight
        and leaf.weight.is_meta
        and isinstance(leaf.weight, T.nn.Parameter)
    )
    assert leaf.count.is_meta and leaf.weight.requires_grad
    assert error_of(lambda: leaf.to("cpu")).startswith(
        "NotImplementedError: Cannot copy out of meta tensor; no data! Please use "
        "internals.nn.Module.to_empty()"
    )
    leaf.to_empty(device="cpu")
    assert not leaf.weight.is_meta and leaf.weight.shape == (2, 3) and leaf.count.dtype is T.int64


def test_conversion_errors(T: Any) -> None:
    leaf = make_leaf(T)()
    assert error_of(lambda: leaf.to(T.int64)) == (
        "TypeError: nn.Module.to only accepts floating point or complex dtypes, but got desired "
        "dtype=internals.int64"
    )
    assert (
        error_of(lambda: leaf.to("cpu", copy=True))
        == "RuntimeError: .to() does not accept copy argument"
    )
    assert error_of(lambda: leaf.to(1, 2, 3)).startswith(
        "TypeError: to() received an invalid combination of arguments"
    )


def test_memory_format_is_for_images(T: Any) -> None:
    m = T.nn.Module()
    m.image, m.matrix = T.nn.Parameter(T.zeros(2, 3, 4, 5)), T.nn.Parameter(T.zeros(2, 3))
    m.to(memory_format=T.channels_last)
    assert m.image.stride() == (60, 1, 15, 3) and m.matrix.stride() == (3, 1)


# Printing, copying


def test_repr(T: Any) -> None:
    net = make_net(T)
    net.nothing = net.block
    net.nothing = None
    assert repr(net) == (
        "Net(\n  (first): Leaf(rows=2)\n  (second): Leaf(rows=1)\n  (block): Block(\n    (inner): "
        "Leaf(rows=1)\n  )\n"
        "  (nothing): None\n)"
    )
    assert repr(T.nn.Module()) == "Module()"
    net.first.extra_repr = lambda: "one\n\ntwo"
    assert repr(net.first) == "Leaf(\n  one\n  \n  two\n)"
    assert "(first): Leaf(\n    one\n\n    two\n  )" in repr(net)


def test_deepcopy_is_independent_and_keeps_sharing(T: Any) -> None:
    net = make_net(T)
    net.scale.grad = T.ones(())
    other = copy.deepcopy(net)
    assert other.block.inner is other.second and other.second is not net.second
    assert isinstance(other.scale, T.nn.Parameter) and other.scale.requires_grad
    with T.no_grad():
        other.first.weight.zero_()
    assert net.first.weight.sum().item() == 15 and list(other.state_dict()) == list(
        net.state_dict()
    )
    shallow = copy.copy(net)
    assert shallow.scale is net.scale


class Pickled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(internals.arange(3.0))
        self.tied = self.weight
        self.register_buffer("view", self.weight.data[1:])


def test_pickle_round_trip() -> None:
    m = Pickled().eval()
    m.register_forward_hook(_hook)
    back = pickle.loads(pickle.dumps(m))
    assert (
        type(back.weight) is nn.Parameter
        and back.tied is back.weight
        and back.weight.tolist() == [0, 1, 2]
    )
    assert back.view.untyped_storage() is back.weight.untyped_storage() and not back.training
    assert list(back._forward_hooks.values()) == [_hook]


def _hook(module: Any, args: Any, output: Any) -> None: ...


@pytest.mark.parametrize(
    "method", ["float", "double", "half", "cpu", "eval", "train", "requires_grad_"]
)
def test_methods_return_the_module(T: Any, method: str) -> None:
    m = make_net(T)
    assert getattr(m, method)() is m
