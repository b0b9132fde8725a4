"""`state_dict` and `load_state_dict`: keys, what is shared, every complaint. The same code runs in
PyTorch.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

import internals
from internals import nn
from tests.answers import answer
from tests.nn.support import error_of, make_leaf, make_net, text
from tests.support import assert_same

# Out


def test_keys_and_metadata(T: Any) -> None:
    net = make_net(T)
    state = net.state_dict()
    assert list(state) == [
        "scale", "first.weight", "first.bias", "first.count", "second.weight", "second.bias",
        "second.count", "block.inner.weight", "block.inner.bias", "block.inner.count",
    ]  # fmt: skip
    assert list(state._metadata) == ["", "first", "second", "block", "block.inner"]
    assert state._metadata["first"] == {"version": 1} and type(state) is OrderedDict
    assert list(net.first.state_dict(prefix="a.")) == ["a.weight", "a.bias", "a.count"]


def test_tensors_are_detached_and_shared(T: Any) -> None:
    leaf = make_leaf(T)()
    state = leaf.state_dict()
    assert type(state["weight"]) is T.Tensor and not state["weight"].requires_grad
    assert state["weight"].data_ptr() == leaf.weight.data_ptr()
    assert leaf.state_dict(keep_vars=True)["weight"] is leaf.weight


def test_destination(T: Any) -> None:
    leaf = make_leaf(T)()
    mine: dict[str, Any] = {"other": 1}
    assert leaf.state_dict(destination=mine, prefix="p.") is mine and list(mine) == [
        "other",
        "p.weight",
        "p.bias",
        "p.count",
    ]


def test_nones_are_left_out(T: Any) -> None:
    m = T.nn.Module()
    m.register_parameter("p", None)
    m.register_buffer("b", None)
    m.child = T.nn.Module()
    m.child = None
    assert list(m.state_dict()) == []
    assert error_of(lambda: m.load_state_dict({"p": T.zeros(1)})).splitlines()[1] == (
        '\tUnexpected key(s) in state_dict: "p". '
    )


# In


def test_loading_copies_in_place(T: Any) -> None:
    a, b = make_net(T), make_net(T)
    for p in b.parameters():
        p.data.fill_(9)
    weight = a.first.weight
    result = a.load_state_dict(b.state_dict())
    assert a.first.weight is weight and weight.requires_grad and weight.tolist() == [[9] * 3] * 2
    assert repr(result) == str(result) == "<All keys matched successfully>" and result == ([], [])
    assert weight.data_ptr() != b.first.weight.data_ptr()


def test_loading_casts_to_the_module(T: Any) -> None:
    leaf = make_leaf(T)()
    state = {
        k: v.double() if v.is_floating_point() else v.int() for k, v in leaf.state_dict().items()
    }
    leaf.load_state_dict(state)
    assert leaf.weight.dtype is T.float32 and leaf.count.dtype is T.int64


def test_assign_puts_the_tensors_in_place(T: Any) -> None:
    leaf = make_leaf(T)()
    leaf.bias.requires_grad_(False)
    old = leaf.weight
    state = {
        "weight": T.ones(2, 3, dtype=T.float64),
        "bias": T.nn.Parameter(T.ones(2)),
        "count": T.tensor(1),
    }
    leaf.load_state_dict(state, assign=True)
    assert (
        leaf.weight is not old
        and type(leaf.weight) is T.nn.Parameter
        and leaf.weight.dtype is T.float64
    )
    assert leaf.weight.data_ptr() == state["weight"].data_ptr() and leaf.weight.requires_grad
    assert (
        leaf.bias is state["bias"] and not leaf.bias.requires_grad and leaf.count is state["count"]
    )


def test_a_single_number_may_have_a_dimension(T: Any) -> None:
    m = T.nn.Module()
    m.p = T.nn.Parameter(T.tensor(1.0))
    m.load_state_dict({"p": T.tensor([5.0])})
    assert m.p.item() == 5


def test_every_complaint_at_once(T: Any) -> None:
    net = make_net(T)
    state = net.state_dict()
    del state["first.bias"], state["scale"]
    state["first.weight"] = T.zeros(3, 2)
    state["second.bias"] = 3
    state["odd"] = state["first.odd"] = state["nowhere.odd"] = state["first.bias.odd"] = T.zeros(1)
    assert error_of(lambda: net.load_state_dict(state)).splitlines() == [
        "RuntimeError: Error(s) in loading state_dict for Net:",
        '\tMissing key(s) in state_dict: "scale", "first.bias". ',
        '\tUnexpected key(s) in state_dict: "odd", "nowhere.odd", "first.odd", "first.bias.odd". ',
        "\tsize mismatch for first.weight: copying a param with shape internals.Size([3, 2]) from "
        "checkpoint, the shape in current model is internals.Size([2, 3]).",
        '\tWhile copying the parameter named "second.bias", expected internals.Tensor or '
        "Tensor-like object from checkpoint but received <class 'int'>",
    ]
    assert net.second.weight.tolist() == [[0, 1, 2]]  # what fits was loaded nevertheless


def test_not_strict(T: Any) -> None:
    net = make_net(T)
    state = net.first.state_dict()
    del state["bias"]
    state["odd"] = T.zeros(1)
    result = net.first.load_state_dict(state, strict=False)
    assert repr(result) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['odd'])"
    assert result.missing_keys == ["bias"] and result.unexpected_keys == ["odd"]
    state["weight"] = T.zeros(1)
    assert "size mismatch for weight" in error_of(
        lambda: net.first.load_state_dict(state, strict=False)
    )
    wrong = error_of(lambda: net.load_state_dict([1]))
    assert wrong == "TypeError: Expected state_dict to be dict-like, got <class 'list'>."


def test_an_exception_while_copying_is_reported(T: Any) -> None:
    m = T.nn.Module()
    m.p = T.nn.Parameter(T.zeros(1, 3).expand(2, 3), requires_grad=False)
    message = error_of(lambda: m.load_state_dict({"p": T.zeros(2, 3)}))
    assert (
        'While copying the parameter named "p", whose dimensions in the model are '
        "internals.Size([2, 3])" in message
    )
    assert "an exception occurred : ('unsupported operation: more than one element" in message


def test_loading_into_meta_warns(T: Any, recwarn: Any) -> None:
    leaf = make_leaf(T)().to("meta")
    leaf.load_state_dict(make_leaf(T)().state_dict())
    assert leaf.weight.is_meta
    assert "copying from a non-meta parameter in the checkpoint to a meta parameter" in str(
        recwarn[0].message
    )
    leaf.load_state_dict(make_leaf(T)().state_dict(), assign=True)
    assert not leaf.weight.is_meta


# Extra state, subclasses, hooks


def test_extra_state(T: Any) -> None:
    class Extra(T.nn.Module):
        saved: Any = "begin"

        def get_extra_state(self) -> Any:
            return self.saved

        def set_extra_state(self, state: Any) -> None:
            self.saved = state

    m = T.nn.Module()
    m.e = Extra()
    assert dict(m.state_dict()) == {"e._extra_state": "begin"}
    m.load_state_dict({"e._extra_state": "end"})
    assert m.e.saved == "end"
    assert 'Missing key(s) in state_dict: "e._extra_state"' in error_of(
        lambda: m.load_state_dict({})
    )
    assert 'Unexpected key(s) in state_dict: "_extra_state"' in error_of(
        lambda: T.nn.Module().load_state_dict({"_extra_state": 1})
    )
    assert error_of(lambda: T.nn.Module().get_extra_state()).startswith(
        "RuntimeError: Reached a code path in Module.get_"
    )
    assert error_of(lambda: T.nn.Module().set_extra_state(1)).startswith(
        "RuntimeError: Reached a code path in Module.set_"
    )


def test_a_version_reads_what_an_earlier_one_wrote(T: Any) -> None:
    class Versioned(T.nn.Module):
        _version = 2

        def __init__(self) -> None:
            super().__init__()
            self.p = T.nn.Parameter(T.zeros(1))

        def _load_from_state_dict(
            self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
        ) -> None:
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "p"] = state_dict.pop(prefix + "old")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    m = T.nn.Module()
    m.v = Versioned()
    assert m.state_dict()._metadata["v"] == {"version": 2}
    m.load_state_dict({"v.old": T.ones(1)})
    assert m.v.p.item() == 1
    m.load_state_dict(m.state_dict())


def test_hooks_around_saving(T: Any) -> None:
    net = make_net(T)
    seen: list[Any] = []
    pre = net.first.register_state_dict_pre_hook(
        lambda m, prefix, keep: seen.append((prefix, keep))
    )
    post = net.first.register_state_dict_post_hook(
        lambda m, state, prefix, meta: state.__delitem__(prefix + "bias")
    )
    with net._register_state_dict_hook(lambda m, state, prefix, meta: {"only": len(state)}):
        assert net.state_dict() == {"only": 9}
    assert seen == [("first.", False)]
    pre.remove()
    post.remove()
    assert len(net.state_dict()) == 10 and len(seen) == 1
    with net.register_state_dict_post_hook(lambda m, state, prefix, meta: state):
        assert (
            error_of(lambda: net.state_dict())
            == "RuntimeError: state_dict post-hook must return None"
        )

    def hook(*args: Any) -> None: ...

    net.register_state_dict_post_hook(hook)
    assert error_of(lambda: net._register_state_dict_hook(hook)).startswith(
        "RuntimeError: Cannot register the same function"
    )


def test_hooks_around_loading(T: Any) -> None:
    net = make_net(T)
    seen: list[Any] = []

    def rename(module: Any, state: Any, prefix: str, *rest: Any) -> None:
        seen.append((module is net.first, prefix))
        state[prefix + "bias"] = state.pop(prefix + "beta")

    def forgive(module: Any, keys: Any) -> None:
        keys.missing_keys.clear()

    state = net.state_dict()
    state["first.beta"] = state.pop("first.bias")
    del state["scale"]
    with (
        net.first.register_load_state_dict_pre_hook(rename),
        net.register_load_state_dict_post_hook(forgive),
    ):
        assert net.load_state_dict(state) == ([], [])
    assert seen == [(True, "first.")]
    with net.register_load_state_dict_post_hook(lambda m, keys: keys):
        assert error_of(lambda: net.load_state_dict(net.state_dict())).startswith(
            "AssertionError: Hooks registered with ``register_load_state_dict_post_hook``"
        )


def test_positional_arguments_are_deprecated(T: Any, recwarn: Any) -> None:
    leaf = make_leaf(T)()
    mine: dict[str, Any] = {}
    assert leaf.state_dict(mine, "a.") is mine and list(mine) == ["a.weight", "a.bias", "a.count"]
    assert recwarn[0].category is FutureWarning and "Positional args are being deprecated" in str(
        recwarn[0].message
    )


def test_a_state_dict_can_be_pickled(T: Any) -> None:
    state = make_net(T).state_dict()
    back = pickle.loads(pickle.dumps(state))
    assert text(back) == text(state) and back._metadata == state._metadata
    assert make_net(T).load_state_dict(back) == ([], [])


def test_real_weights_fit() -> None:
    def weights_and_result(torch: Any) -> Any:
        torch.manual_seed(0)
        theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        return theirs.state_dict(), theirs(torch.arange(6.0).reshape(2, 3))

    weights, result = answer(weights_and_result)
    ours = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    ours.load_state_dict({k: internals.tensor(v.numpy()) for k, v in weights.items()})
    assert_same(ours(internals.arange(6.0).reshape(2, 3)), result)
