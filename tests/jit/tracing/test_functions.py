"""Traced functions: the graphs are those of real PyTorch, to the letter and to the number of every
value.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from tests.jit.traces import agree, assert_traced_alike, normalised, trace

FUNCTIONS: dict[str, tuple[str, Any]] = {
    "number becomes a constant tensor": ("def f(x): return x + 1", (2, 3)),
    "alpha": ("def f(x): return 2 * x - 1.5", (2, 3)),
    "number on the left": (
        "def f(x): return 2 - x, 2 / x, x / 2, x**2, 2**x, x // 2, x % 2, 5 % x",
        (2, 3),
    ),
    "power": ("def f(x): return x**2.5 + x**x", (2,)),
    "comparisons": ("def f(x): return x > 1.0, x == 2, x != x, -x, abs(x), ~(x > 1)", (2, 3)),
    "bits": (
        "def f(x): return (x > 0) & (x < 3) | (x == 1), torch.bitwise_and(x > 0, x < 3)",
        (2,),
    ),
    "matrix products": ("def f(x): return x.matmul(x.transpose(0, 1)) @ x", (2, 2)),
    "reductions": (
        "def f(x): return x.sum(), x.sum(1), x.mean(), x.mean(0, True), x.max(), x.std()",
        (2, 2),
    ),
    "variances": (
        "def f(x): return x.var(), x.var(0), x.var(0, unbiased=False), torch.var_mean(x, 0)",
        (2,),
    ),
    "norms": ("def f(x): return x.norm(), torch.norm(x * 2), (x * 3).norm(dim=0)", (2, 2)),
    "softmax": (
        "def f(x): return x.softmax(1), F.log_softmax(x, dim=0, dtype=torch.float64)",
        (2, 2),
    ),
    "several results": (
        "def f(x):\n d, e = torch.max(x, 1)\n return d, x.sort()[0], x.topk(1)[0]",
        (2, 4),
    ),
    "list results": (
        "def f(x):\n a, b = x.chunk(2, 0)\n"
        " return torch.cat([a, b], 1), x.split(1), x.split([1, 1])",
        (2, 4),
    ),
    "list arguments": (
        "def f(x): return torch.stack([x, x]), torch.cat((x, x * 2)).unbind(0)",
        (2, 4),
    ),
    "where": ("def f(x): return torch.where(x > 0, x, 0.0), x.masked_fill(x > 0, 1.5)", (2,)),
    "second names": (
        "def f(x): return x.clamp(0, 1).clip(min=0.0), torch.absolute(x), x.negative()",
        (2,),
    ),
    "conversions": (
        "def f(x): return x.to(torch.float64), x.double(), x.type(torch.int64), x.detach(), "
        "x.clone(), x.half().float()",
        (2, 2),
    ),
    "to nowhere else": (
        "def f(x): return x.float(), x.cpu(), x.to('cpu'), x.to(x), x.contiguous()",
        (2, 2),
    ),
    "transposes": (
        "def f(x): return x.t(), x.T, x.mT, x.permute(1, 0), x.view(1, 2, 2).flatten()",
        (2, 2),
    ),
    "complex numbers": (
        "def f(x):\n z = torch.complex(x, x)\n"
        " return z.conj(), x.conj(), z.mH, z.H, z[0].vdot(z[1])",
        (2, 2),
    ),
    "spectra": (
        "def f(x): return torch.stft(x, 4, 2, window=torch.ones(4), return_complex=True), "
        "torch.fft.rfft(x)",
        (8,),
    ),
    "factories": (
        "def f(x): return torch.ones(2, 3, dtype=torch.float64), torch.zeros_like(x), "
        "torch.arange(3), torch.full((2,), 1.5)",
        (2,),
    ),
    "random": (
        "def f(x): return x + torch.rand(2, 2), torch.randn_like(x), torch.bernoulli(x)",
        (2, 2),
    ),
    "einsum": (
        "def f(x): return torch.einsum('i,i->', x, x), torch.einsum('i,j->ij', x * 2, x)",
        (2,),
    ),
    "in place": (
        "def f(x):\n x = x.clone()\n x += 1\n x.mul_(2)\n x.sub_(x).div_(3)\n"
        " return x.fill_(3).zero_()",
        (3,),
    ),
    "copy": (
        "T = torch.zeros(2)\ndef f(x): return x.clone().copy_(T), torch.empty(2).copy_(x)",
        (2,),
    ),
    "out": ("def f(x): return torch.add(x, x, out=torch.empty(2))", (2,)),
    "detach in place": ("def f(x): return (x * 2).detach_()", (2,)),
    "names follow Python's": ("def f(x):\n y = x * 2\n z = y\n return z * y", (2,)),
    "a name used again": ("def f(x):\n x = x * 2\n x = x + x\n x = x / x\n return x", (2,)),
    "a loop unrolls": (
        "def f(x):\n h = x\n for i in range(2):\n  h = torch.tanh(h @ x)\n return h.sum(dim=-1, "
        "keepdim=True)",
        (2, 2),
    ),
    "a constant from outside": ("W = torch.ones(3, 2)\ndef f(x): return F.linear(x, W)", (2, 2)),
    "torch.tensor": ("def f(x): return x + torch.tensor([1.0, 2.0])", (2,)),
    "torch.tensor of a tensor": ("def f(x): return torch.tensor(x)", (2,)),
    "torch.as_tensor": (
        "def f(x): return x + torch.as_tensor([1.0, 2.0]), torch.as_tensor(x)",
        (2,),
    ),
    "arrays": (
        "import numpy\nA = numpy.ones(2, 'float32')\n"
        "def f(x): return x + torch.from_numpy(A), torch.tensor(A)",
        (2,),
    ),
    "new": (
        "def f(x): return x + x.new_tensor([1, 2]), x.new_zeros(2), x.new([1, 2]), "
        "torch.Tensor([1, 2])",
        (2,),
    ),
    "the branch taken": (
        "def f(x):\n if x.mean() > 1.0:\n  r = torch.tensor(1.0)\n else:\n  r = "
        "torch.tensor(2.0)\n return r",
        (2, 2),
    ),
    "convolution": (
        "def f(x, w, b): return F.conv2d(x, w, b, padding=1)",
        [(1, 1, 4, 4), (1, 1, 3, 3), (1,)],
    ),
    "convolution of sequences": ("def f(x): return F.conv1d(x, x)", (2, 2, 2)),
    "pooling": (
        "def f(x): return F.max_pool2d(torch.relu(x), 2), F.avg_pool2d(x, 2), F.max_pool2d(x, 2, "
        "stride=1)",
        (1, 1, 4, 4),
    ),
    "padding": (
        "def f(x): return F.pad(x, (1, 1)), F.unfold(x, 2), F.interpolate(x, size=(4, 4), "
        "mode='bilinear')",
        (1, 2, 2, 2),
    ),
    "dropout": ("def f(x): return F.dropout(x, 0.5, True), F.dropout(x, 0.5, False)", (2, 2)),
    "activations": (
        "def f(x): return F.gelu(x), F.leaky_relu(x), F.elu(x), F.silu(x), F.softplus(x), "
        "F.hardtanh(x)",
        (2, 2),
    ),
    "normalizations": (
        "def f(x): return F.layer_norm(x, (2,)), F.normalize(x), F.softmax(x, -1)",
        (2, 2),
    ),
    "cross entropy": ("def f(x): return F.cross_entropy(x.view(1, 2), torch.tensor([1]))", (2,)),
    "attention": ("def f(x): return F.scaled_dot_product_attention(x, x, x)", (1, 1, 2)),
    "embedding": ("def f(x): return F.embedding(torch.tensor([0]), x.view(2, 1))", (2,)),
    "causal mask": (
        "def f(x): return x.masked_fill(torch.tril(torch.ones(2, 2)) == 0, float('-inf'))",
        (2, 2),
    ),
    "same tensor returned twice": ("def f(x):\n y = x + 1\n return y, y", (2,)),
    "is_tracing": ("def f(x): return torch.jit.is_tracing() * x", (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_graph_is_that_of_real_pytorch(name: str) -> None:
    assert_traced_alike(*FUNCTIONS[name])


INPUTS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "two": ("def f(x, y): return x + y", [(2,), (2,)], {}),
    "nested tuples": (
        "def f(x, yz): return yz[0] + x, (yz[1], x)",
        [(3,), ("tuple", (3,), (3,))],
        {},
    ),
    "a list": ("def f(x): return x[0] + x[1]", [("list", (3,), (3,))], {}),
    "a dict": ("def f(x): return x['a'] + x['b']", {"a": (3,), "b": (3,)}, {}),
    "starred": ("def f(*xs): return xs[0] + xs[1]", [(2,), (2,)], {}),
    "default": ("def f(x, y=None): return x * 2", (2,), {}),
    "lambda": ("f = lambda x: x * 2", (2,), {}),
    "list out": ("def f(x): return [x, x + 1]", (2,), {"strict": False}),
    "list in tuple out": ("def f(x): return x, (x + 1, [x, x * 2])", (2,), {"strict": False}),
    "dict out": ("def f(x): return {'a': x, 'b': x + 1}", (2,), {"strict": False}),
    "named tuple out": (
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\n"
        "def f(x): return P(x, x + 1)",
        (2,),
        {},
    ),
    "empty tuple out": ("def f(x): return ()", (2,), {}),
    "nothing to do with the input": ("def f(x): return torch.ones(3)", (2,), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_and_outputs(name: str) -> None:
    source, shapes, options = INPUTS[name]
    agree(lambda lib: normalised(trace(lib, source, shapes, **options).graph))


def test_same_tensor_twice_is_two_inputs() -> None:
    def traced(lib: Any) -> str:
        x = lib.ones(2)
        return normalised(lib.jit.trace(lambda a, b: a + b, (x, x), check_trace=False).graph)

    assert "aten::add(%a, %b" in agree(traced)


def test_a_generator_cannot_be_traced() -> None:
    """In PyTorch it becomes a constant of the graph."""
    x, generator = internals.ones(2), internals.Generator()
    with pytest.raises(
        RuntimeError, match="Found an unsupported argument type in the JIT tracer: Generator"
    ):
        internals.jit.trace(lambda x: x.bernoulli(generator=generator), x, check_trace=False)


def test_keyword_inputs() -> None:
    def traced(lib: Any) -> str:
        inputs = {"y": lib.ones(2), "x": lib.ones(2)}
        return normalised(
            lib.jit.trace(lambda x, y: x - y, example_kwarg_inputs=inputs, check_trace=False).graph
        )

    agree(traced)


OUT_OF_PLACE = {
    "renamed": ("def f(x):\n x = x.clone()\n x.add_(1)\n return x.zero_()", (2,)),
    "fill": ("def f(x):\n x = x.clone()\n x.fill_(3)\n return x.mul_(2)", (2, 2)),
    "out": ("def f(x): return torch.add(x, x, out=torch.empty(2))", (2,)),
}


@pytest.mark.parametrize("name", OUT_OF_PLACE)
def test_force_outplace(name: str) -> None:
    source, shapes = OUT_OF_PLACE[name]
    agree(lambda lib: normalised(trace(lib, source, shapes, _force_outplace=True).graph))


def test_places_are_the_users_lines() -> None:
    source = "def g(x):\n    return x * 2\n\ndef f(x):\n    y = g(x)\n    return y + 1\n"
    assert "<program>:2:0" in agree(lambda lib: str(trace(lib, source, (2,)).graph))


def test_stack_of_a_node() -> None:
    traced = trace(internals, "def g(x):\n    return x * 2\n\ndef f(x):\n    return g(x)\n", (2,))
    stack = traced.graph.findNode("aten::mul").sourceRange().highlight()
    assert stack.startswith("<program>(2): g\n<program>(5): f\n")
