"""Modules that cannot be scripted, and attributes that have no type: refused in PyTorch's words."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import internals
from internals import jit
from tests.answers import answer
from tests.jit.module_support import error_of, module
from tests.jit.sources import place_free

ATTRIBUTES = [
    "[]", "{}", "[1, 'a']", "{1: 'a', 2: 3}", "object()", "len", "(1, [])", "{'a': []}",
    "nn.Linear", "{1, 2}", "range(3)", "slice(3)", "[[], [1]]", "{(1, 2): 3}", "{None: 2}", "print",
    "[nn.Linear(1, 1)]", "lambda x: {x}", "bad_function",
]  # fmt: skip
ATTRIBUTE = """
def bad_function(x):
    return {x}
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = %s
    def forward(self, x):
        return self.v%s
"""


def refusal_of_pytorch(text: str) -> str:
    def ask(torch: Any) -> str:
        return error_of(lambda: torch.jit.script(module(text, torch)))

    return answer(ask, about=text, family="jit")


@pytest.mark.parametrize("value", ATTRIBUTES)
def test_attributes_without_a_type(value: str) -> None:
    text = ATTRIBUTE % (value, "(x)" if "function" in value or "lambda" in value else "")
    assert error_of(lambda: jit.script(module(text))) == refusal_of_pytorch(text)


GOOD = ["1", "1.5", "True", "'a'", "None", "1j", "[1]", "(1, 'a')", "()", "{'a': 1}", "[[1], [2]]",
        "[None, 1]", "{1.5: 2}", "torch.float32", "torch.device('cpu')", "torch.ones(2)",
        "[torch.ones(1)]", "torch.Size([1, 2])"]  # fmt: skip


@pytest.mark.parametrize("value", GOOD)
def test_attributes_with_a_type(value: str) -> None:
    text = ATTRIBUTE % (value, "")
    scripted = jit.script(module(text))

    def described(torch: Any, scripted: Any) -> tuple[str, str]:
        schema = place_free(str(scripted.forward.schema)).replace("((", "(").replace("))", ")")
        return schema, repr(scripted(torch.ones(1))).replace("torch.", "internals.")

    def ask(torch: Any) -> tuple[str, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return described(torch, torch.jit.script(module(text, torch)))

    assert described(internals, scripted) == answer(ask, family="jit")


REFUSED = [
    """
    class M(nn.Module):
        def forward(self, x):
            return self.nothing(x)
    """,
    """
    class M(nn.Module):
        def forward(self, x):
            return self.forward(x)
    """,
    """
    class M(nn.Module):
        def a(self, x: int) -> int:
            return self.b(x)
        def b(self, x: int) -> int:
            return self.a(x)
        def forward(self, x: int) -> int:
            return self.a(x)
    """,
    """
    class M(nn.Module):
        __constants__ = ['k']
        def __init__(self):
            super().__init__()
            self.k = 3
        def forward(self, x):
            self.k = 4
            return x
    """,
    """
    class M(nn.Module):
        def forward(self, x):
            self.new = x
            return x
    """,
    """
    class M(nn.Module):
        def forward(self, x):
            return self.helper(x)
        def helper(self, x):
            return lambda: x
    """,
    """
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(1, 1)])
        def forward(self, x, i: int):
            return self.layers[i](x)
    """,
    """
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.md = nn.ModuleDict({'a': nn.Linear(1, 1)})
        def forward(self, x, k: str):
            return self.md[k](x)
    """,
    """
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(1, 1)
        def forward(self, x):
            for m in self.fc:
                x = m(x)
            return x
    """,
    """
    class M(nn.Module):
        def __init__(self):
            pass
        def forward(self, x):
            return x
    """,
    """
    class M(nn.Module):
        x: List[object]
        def __init__(self):
            super().__init__()
            self.x = []
        def forward(self):
            return self.x
    """,
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_in_pytorchs_words(text: str) -> None:
    expected = refusal_of_pytorch(text)
    for _ in range(2):  # and again: what failed once leaves nothing behind
        assert error_of(lambda: jit.script(module(text))) == expected


def test_bad_constants() -> None:
    text = """
        class M(nn.Module):
            __constants__ = ['k']
            def __init__(self):
                super().__init__()
                self.k = {1: 2}
            def forward(self, x):
                return x
    """
    with pytest.raises(
        TypeError,
        match=(
            r"'dict' object in attribute 'M.k' is not a valid constant.\nValid constants are:\n1. "
            r"a nn"
        ),
    ):
        jit.script(module(text))


def test_constants_that_are_none_are_told() -> None:
    text = """
        class M(nn.Module):
            __constants__ = ['gone', 'fc']
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(1, 1)
            def forward(self, x):
                return x
    """
    with pytest.warns(UserWarning) as told:
        jit.script(module(text))
    assert [str(w.message) for w in told] == [
        "'gone' was found in ScriptModule constants, but was not actually set in __init__. "
        "Consider removing it.",
        "'fc' was found in ScriptModule constants,  but it is a non-constant submodule. Consider "
        "removing it.",
    ]
