"""Traced modules: one method for each submodule, attributes fetched where they are used, parameters
shared with the original.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals import nn
from tests.jit.traces import agree, graphs, normalised, trace

MODULES: dict[str, tuple[str, Any]] = {
    "one layer": ("f = nn.Linear(2, 3)", (1, 2)),
    "without bias": ("f = nn.Linear(2, 3, bias=False)", (1, 2)),
    "nested": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.seq = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
                self.bn = nn.BatchNorm1d(3)
                self.scale = nn.Parameter(torch.ones(1))
            def forward(self, x): return self.bn(self.seq(x)) * self.scale
        """, (2, 4),
    ),
    "evaluating": (
        "f = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)).eval()",
        (2, 4),
    ),
    "convolutions": (
        "f = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), "
        "nn.Flatten(), nn.Linear(2, 2))",
        (1, 1, 4, 4),
    ),
    "the same module twice": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
                self.b = self.a
            def forward(self, x): return self.a(self.b(x))
        """, (2, 2),
    ),
    "a parameter that two layers share": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
                self.b.weight = self.a.weight
            def forward(self, x): return self.a(self.b(x))
        """, (2, 2),
    ),
    "called three times": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
            def forward(self, x): return self.a(self.a(x)), self.a.weight + self.a(x).sum()
        """, (2, 2),
    ),
    "several results": (
        """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(2))
                self.register_buffer("b", torch.zeros(2))
                self.k = 3
            def forward(self, x, y): return x * self.w + self.b, y * self.k
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.i, self.un, self.none = Inner(), nn.Linear(2, 2), None
            def forward(self, x):
                a, b = self.i(x, x + 1)
                return a + b + self.i.w, self.un(a).view(x.size(0), -1)
        """, (2, 2),
    ),
    "module list": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
                self.d = nn.Dropout(0.5)
            def forward(self, x):
                for m in self.l:
                    x = torch.relu(m(x))
                return self.d(x)
        """, (2, 2),
    ),
    "parameters among the results": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(2, 2)
            def forward(self, x): return self.l(x), (x, self.l.bias)
        """, (2, 2),
    ),
    "hooks": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(2, 2)
                self.l.register_forward_hook(lambda m, i, o: o + 1)
                self.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
            def forward(self, x): return self.l(x)
        """, (2, 2),
    ),
    "a submodule that is not called": (
        """
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)
            def forward(self, x): return self.used(x)
        """, (2, 2),
    ),
    "embedding and norm": (
        "f = nn.Sequential(nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 4), nn.Softmax(-1))",
        (2, 4),
    ),
    "tuple between modules": (
        """
        class Split(nn.Module):
            def forward(self, x): return x.chunk(2, 1)
        class f(nn.Module):
            def __init__(self):
                super().__init__()
                self.split = Split()
            def forward(self, x):
                a, b = self.split(x)
                return a * b
        """, (2, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_graphs_are_those_of_real_pytorch(name: str) -> None:
    source, shapes = MODULES[name]

    def described(lib: Any) -> Any:
        traced = trace(lib, source, shapes)
        return graphs(traced), normalised(repr(traced)), list(traced.state_dict())

    agree(described)


def test_scopes_of_the_inlined_graph() -> None:
    traced = internals.jit.trace(
        nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU()),
        internals.ones(1, 2),
        check_trace=False,
    )
    scopes = {
        n.kind(): n.scopeName() for n in traced.inlined_graph.nodes() if n.kind().startswith("aten")
    }
    assert scopes == {"aten::linear": "__module.0/__module.0.0", "aten::relu": "__module.1"}


def test_tensors_are_those_of_the_original() -> None:
    original = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    traced = internals.jit.trace(original, internals.ones(2, 2), check_trace=False)
    assert [id(p) for p in traced.parameters()] == [id(p) for p in original.parameters()]
    assert [id(b) for b in traced.buffers()] == [id(b) for b in original.buffers()]
    assert type(traced).__name__ == "TopLevelTracedModule"
    assert traced.original_name == "Sequential"


def test_several_methods() -> None:
    class Two(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def other(self, x: Any, y: Any) -> Any:
            return x - y

    x = internals.ones(2)
    traced = internals.jit.trace_module(Two(), {"forward": x, "other": (x, x)}, check_trace=False)
    assert [n.kind() for n in traced.other.graph.nodes()][-1] == "aten::sub"
    assert traced(x).tolist() == [2.0, 2.0]
    assert traced.other(x, 3 * x).tolist() == [-2.0, -2.0]


def test_training_mode_is_frozen_and_kept_as_an_attribute() -> None:
    traced = internals.jit.trace(nn.Dropout(0.5).eval(), internals.ones(4), check_trace=False)
    assert traced.training is False
    assert traced.train().training is True
    assert traced(internals.ones(4)).tolist() == [1.0, 1.0, 1.0, 1.0]


def test_trace_of_forward_is_trace_of_the_module() -> None:
    m = nn.Linear(2, 2)
    texts = [
        normalised(internals.jit.trace(f, internals.ones(1, 2), check_trace=False).graph)
        for f in (m, m.forward)
    ]
    assert texts[0] == texts[1]


def test_refusals() -> None:
    hooked = nn.Linear(2, 2)
    hooked.register_full_backward_hook(lambda m, a, b: None)
    with pytest.raises(
        ValueError,
        match="Modules that have backward hooks assigned can't be compiled: Linear\\(in_features=2",
    ):
        internals.jit.trace(hooked, internals.ones(1, 2))
    with pytest.raises(
        AttributeError, match="trace doesn't support compiling individual module's functions"
    ):
        internals.jit.trace(nn.Linear(2, 2).extra_repr, internals.ones(1, 2))


def test_module_that_is_not_registered() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [nn.Linear(2, 2)]

        def forward(self, x: Any) -> Any:
            return self.parts[0](x)

    with pytest.raises(
        RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"
    ):
        internals.jit.trace(Hidden(), internals.ones(1, 2))
    assert not internals.jit.is_tracing()


def test_trace_module_wants_a_module_and_a_dict() -> None:
    with pytest.raises(AttributeError, match="expected internals.nn.Module as the first argument"):
        internals.jit.trace_module(len, {})
    with pytest.raises(AttributeError, match="expected a dictionary of .method_name, input. pairs"):
        internals.jit.trace_module(nn.Linear(2, 2), [])
    with pytest.raises(NameError, match="'y' is not in forward.. method's arguments"):
        internals.jit.trace(nn.Linear(2, 2), example_kwarg_inputs={"y": internals.ones(1, 2)})


def test_a_traced_sequential_is_no_container() -> None:
    def refusals(lib: Any) -> list[str]:
        texts = []
        traced = lib.jit.trace(
            lib.nn.Sequential(lib.nn.Linear(2, 2)), lib.ones(1, 2), check_trace=False
        )
        for use in (lambda m: m[0], len, iter):
            with pytest.raises(TypeError) as error:
                use(traced)
            texts.append(str(error.value))
        return texts

    agree(refusals)


def test_writes_to_buffers_are_part_of_the_trace() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("n", internals.zeros(2))

        def forward(self, x: Any) -> Any:
            self.n += 1
            return x + self.n

    counter = Counter()
    traced = internals.jit.trace(counter, internals.ones(2), check_trace=False)
    assert traced(internals.zeros(2)).tolist() == [2.0, 2.0]
    assert traced(internals.zeros(2)).tolist() == [3.0, 3.0]
    assert counter.n.tolist() == [3.0, 3.0]


def test_tracing_a_traced_module_gives_it_back() -> None:
    traced = internals.jit.trace(nn.Linear(2, 2), internals.ones(1, 2), check_trace=False)
    with pytest.warns(UserWarning, match="already a ScriptModule, tracing it is a no-op"):
        assert internals.jit.trace(traced, internals.ones(1, 2)) is traced
