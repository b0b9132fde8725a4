"""Random lives of a module, in both libraries: after every step the same members, names and
errors.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import internals
from tests.answers import answer
from tests.nn.support import normalized
from tests.support import examples

NAMES = st.sampled_from(["a", "b", "c", "a.b", "", "training", "forward", "0", None])
KINDS = st.sampled_from(
    [
        "parameter",
        "module",
        "tensor",
        "buffer",
        "unsaved buffer",
        "None",
        "number",
        "first",
        "itself",
    ]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["assign"] * 6
            + [
                "delete",
                "get",
                "register_parameter",
                "register_buffer",
                "register_unsaved",
                "add_module",
                "double",
                "load",
            ]
        ),
        NAMES,
        KINDS,
    ),
    max_size=25,
)


class Life:
    """A module of one library, and what is done to it."""

    def __init__(self, T: Any) -> None:
        self.T, self.m = T, T.nn.Module()
        self.m.first = T.nn.Module()
        self.m.first.weight = T.nn.Parameter(T.ones(2))

    def value(self, kind: str) -> Any:
        T = self.T
        return {
            "parameter": lambda: T.nn.Parameter(T.zeros(2)), "module": T.nn.Module,
            "tensor": lambda: T.zeros(1), "buffer": lambda: T.nn.Buffer(T.zeros(3)),
            "unsaved buffer": lambda: T.nn.Buffer(T.zeros(3), persistent=False),
            "None": lambda: None, "number": lambda: 3, "first": lambda: self.m.first,
            "itself": T.nn.Module,
        }[kind]()  # fmt: skip

    def step(self, what: str, name: Any, kind: str) -> None:
        m = self.m
        if what == "assign":
            setattr(m, name, self.value(kind))
        elif what == "delete":
            delattr(m, name)
        elif what == "get":
            getattr(m, name)
        elif what == "register_unsaved":
            m.register_buffer(name, self.value(kind), persistent=False)
        elif what == "double":
            m.double()
        elif what == "load":
            m.load_state_dict({str(name): self.T.zeros(2)}, strict=kind == "None")
        else:
            getattr(m, what)(name, self.value(kind))

    def told(self, what: str, name: Any, kind: str) -> str:
        """The error of a step, or nothing."""
        try:
            self.step(what, name, kind)
        except Exception as error:
            return normalized(f"{type(error).__name__}: {error}").replace(
                "nn.modules.module.Module", "nn.module.Module"
            )
        return ""

    def names(self) -> list[str]:
        """The attributes; none if there is one without a name, at which PyTorch's `dir` fails."""
        return (
            []
            if "" in {**self.m._parameters, **self.m._buffers, **self.m._modules, **self.m.__dict__}
            else dir(self.m)
        )

    def state(self) -> Any:
        m = self.m
        everything = [n for n in m.__dict__ if not n.startswith("_")]
        shapes = [
            (n, tuple(t.shape), str(t.dtype).split(".")[-1]) for n, t in m.state_dict().items()
        ]
        return (
            everything, list(m._parameters), list(m._buffers), list(m._modules),
            m._non_persistent_buffers_set, shapes,
            [n for n, _ in m.named_modules(remove_duplicate=False)],
            [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()],
            [n for n in self.names() if len(n) == 1], repr(m), getattr(m, "training", None) is True,
        )  # fmt: skip


@pytest.mark.sampled(1 / 4)
@given(STEPS)
@examples(150)
def test_random_lives(steps: list[tuple[str, Any, str]]) -> None:
    def lived(T: Any) -> list[Any]:
        life = Life(T)
        return [(step, life.told(*step), life.state()) for step in steps]

    for ours, theirs in zip(
        lived(internals), answer(lived, about=steps, family="layers"), strict=True
    ):
        assert ours == theirs
