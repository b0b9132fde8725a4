"""Which operators the code of an archive may call: the public ones, and those private ones that
exporters write.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import pytest

from internals import export, jit
from internals.jit.operators.registry import all_operators
from internals.serialization import ArchiveError
from internals.serialization.script.private_operators import is_written
from tests.serialization.hostile_archives import in_a_process, pt2, script, script_101
from tests.support import oracle

SYMBOLS = sorted({operator.name.partition(".")[0] for operator in all_operators()})
REFUSED = [symbol for symbol in SYMBOLS if not is_written(symbol)]


def test_what_is_refused() -> None:
    """The inside of `reshape`, gradients that no trace has, forms of a graph; never what is
    public.
    """
    assert {"aten::_reshape_alias", "aten::_softmax_backward_data", "prim::TupleIndex"} <= set(
        REFUSED
    )
    assert not {"aten::reshape", "aten::__getitem__", "aten::_convolution", "prim::device"} & set(
        REFUSED
    )
    assert all(re.match("aten::_[^_]|prim::[A-Z]", symbol) for symbol in REFUSED)


@pytest.mark.parametrize("symbol", REFUSED)
def test_a_private_operator_is_refused_by_all_readers(symbol: str) -> None:
    namespace, _, name = symbol.partition("::")
    called = f"torch.{name}" if namespace == "aten" else f"ops.prim.{name}"
    for data in (script(f"return {called}(x)"), script_101(f"return {called}(x)")):
        with pytest.raises(
            ArchiveError, match=f"{symbol} is a private operator that no exporter writes.*\n.*code/"
        ):
            print(jit.load(io.BytesIO(data)).graph)

    def call_it(model: dict[str, Any]) -> None:
        model["graph_module"]["graph"]["nodes"][1]["target"] = (
            f"torch.ops.{namespace}.{name}.default"
        )

    if any(operator.name == symbol for operator in all_operators()):
        with pytest.raises(
            ArchiveError, match=rf"graph.nodes\[1\].target is .*{symbol} is a private operator"
        ):
            export.load(io.BytesIO(pt2(call_it)))


def test_a_method_of_a_tensor_is_no_other_way() -> None:
    m = jit.load(io.BytesIO(script("return x._reshape_alias([100000000], [1])")))
    with pytest.raises(ArchiveError, match="aten::_reshape_alias is a private operator"):
        print(m.graph)


@pytest.mark.parametrize("make", [script, script_101])
def test_a_view_of_memory_that_is_not_there(make: Any) -> None:
    """It ended the process."""
    told = in_a_process(
        "try: print(jit.load(data)(torch.ones(4)))\nexcept RuntimeError as error: print(error)",
        make("return torch.sum(torch.neg(torch._reshape_alias(x, [100000000], [1])))"),
    )
    assert "aten::_reshape_alias is a private operator that no exporter writes" in told


TRACED = {
    "F.conv2d(x, x)": (1, 1, 4, 4),
    "F.conv1d(x, x, padding='same')": (1, 1, 5),
    "torch.conj(torch.complex(x, x))": (3,),
    "torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2]))[0]": (3, 2, 1),
    "F.interpolate(x, size=3, mode='nearest-exact')": (1, 1, 4),
    "F.interpolate(x, size=(3, 3), mode='bicubic', antialias=True)": (1, 1, 4, 4),
    "F.adaptive_avg_pool2d(x, 3)": (1, 1, 7, 7),
    "F.embedding_bag(torch.tensor([[0, 1]]), x)": (3, 3),
    "x[torch.tensor([0, 1])]": (3, 3),
    "torch.fft.irfft(torch.fft.rfft(x))": (4,),
}
DECOMPOSED = {
    **TRACED,
    "torch.linalg.det(x)": (3, 3),
    "torch.linalg.svd(x)[1]": (3, 3),
    "torch.linalg.solve(x, x)": (3, 3),
    "torch.linalg.eigh(x)[0]": (3, 3),
    "torch.linalg.slogdet(x)[1]": (3, 3),
    "F.scaled_dot_product_attention(x, x, x)": (1, 2, 3, 4),
    "x.log_softmax(0)": (3,),
    "torch.cdist(x, x)": (30, 3),
    "torch.pdist(x)": (3, 3),
    "torch.histogramdd(x, bins=[2, 2])[0]": (5, 2),
    "torch.unique(x)": (4,),
    "x + x[0].item()": (4,),
    "x.double()": (4,),
}
ELSEWHERE = {
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_assert_async",
    "_native_batch_norm_legit_no_training",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", DECOMPOSED)
def test_what_pytorch_exports_is_called(text: str) -> None:
    """By tracing, of the gradient too, and by torch.export with its decompositions."""
    torch = oracle()
    shape = DECOMPOSED[text]

    class Net(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return eval(text, {"torch": torch, "F": torch.nn.functional, "x": x})

    def gradient(x: Any) -> Any:
        return torch.autograd.grad(Net()(x).real.sum(), x)[0]

    x = torch.rand(shape, requires_grad=True)
    names: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if text in TRACED:
            for function, given in ((Net(), x.detach()), (gradient, x)):
                try:
                    nodes = torch.jit.trace(
                        function, (given,), check_trace=False
                    ).inlined_graph.nodes()
                    names |= {node.kind() for node in nodes}
                except RuntimeError as error:  # a formula that needs the result
                    assert "requires grad" in str(error) or "unsupported argument type" in str(
                        error
                    ), error
        with torch.no_grad():
            program = torch.export.export(Net(), (x.detach(),), strict=False)
        for graph in (program.graph, program.run_decompositions().graph):
            targets = [
                str(node.target).split(".") for node in graph.nodes if node.op == "call_function"
            ]
            names |= {f"aten::{target[1]}" for target in targets if target[0] == "aten"}
    private = [name for name in names if name.startswith("aten::_") and name[6:] not in ELSEWHERE]
    assert [name for name in private if not is_written(name)] == []
