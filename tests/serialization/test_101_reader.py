"""Archives in the layout of PyTorch 1.0.1, made by the real one or built by hand, load and run;
damaged ones are refused.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

import internals as torch
from internals import jit
from internals.serialization import ArchiveError, load_101, load_script
from tests.serialization.archives_101 import (
    EXPECTED,
    FOLDER,
    archive,
    assert_equal,
    floats,
    one_function,
    tensor_def,
    value,
)


def load(parts: dict[str, Any], **how: Any) -> Any:
    return load_101(io.BytesIO(archive(parts, **how)))


@pytest.mark.parametrize("name", EXPECTED)
def test_the_real_ones_run_as_they_did(name: str) -> None:
    m = jit.load(FOLDER / f"{name}.pt")
    for call in EXPECTED[name]:
        assert_equal(m(*map(value, call["inputs"])), value(call["expected"]))


@pytest.mark.parametrize("name", EXPECTED)
def test_they_do_everything_modules_do(name: str) -> None:
    m = load_script(FOLDER / f"{name}.pt")
    call = EXPECTED[name][0]
    # they lie in the file
    assert {p.untyped_storage().resizable() for p in m.parameters()} <= {False}
    for change in (
        lambda: m.eval(),
        lambda: m.to(torch.float32) if name != "shared101" else m,
        lambda: m.train(False),
    ):
        assert change() is m
    assert m.code.startswith("def forward(self") and "graph(" in str(m.graph)
    state = {k: v.clone() for k, v in m.state_dict().items()}
    m.load_state_dict(state)
    if name != "shared101":  # which has been written to
        assert_equal(m(*map(value, call["inputs"])), value(call["expected"]))


def test_what_is_in_a_module() -> None:
    m = load_script(FOLDER / "trace101.pt")
    assert [n for n, _ in m.named_parameters()] == ["fc.weight", "fc.bias", "bn.weight", "bn.bias"]
    assert [n for n, _ in m.named_buffers()] == [
        "k",
        "bn.running_mean",
        "bn.running_var",
        "bn.num_batches_tracked",
    ]
    assert (
        m.k.stride() == (4, 1)
        and m.k.storage_offset() == 1
        and m.bn.num_batches_tracked.dtype is torch.int64
    )
    assert all(p.requires_grad for p in m.parameters()) and not m.k.requires_grad
    m(torch.ones(2, 2)).sum().backward()
    assert m.fc.bias.grad is not None
    assert m.original_name == "trace101" and m.fc.original_name == "fc"


def test_submodules_have_their_own_methods() -> None:
    m = load_script(FOLDER / "nested101.pt")
    x = torch.ones(2)
    assert_equal(getattr(m.blocks, "1").inner(x), torch.tensor([1.0, -2.0]))
    assert_equal(getattr(m.blocks, "0")(x, 1), torch.tensor([1.0, -2.0]))
    assert_equal(load_script(FOLDER / "script101.pt").helper(x, 1), torch.tensor([6.25, 6.25]))


def test_a_relu_of_that_time_is_a_relu() -> None:
    """It was recorded as a threshold, which decides nothing when it runs."""
    kinds = [n.kind() for n in load_script(FOLDER / "layers101.pt").graph.nodes()]
    assert {"aten::relu", "aten::argmax"} < set(kinds) and not {"aten::where", "aten::eq"} & set(
        kinds
    )


MINIMAL = {
    "version": "1\n",
    "model.json": {
        "mainModule": {
            "torchscriptArena": {"key": "code/net.py"},
            "submodules": [{"name": "fc", "parameters": [{"tensorId": "0", "name": "weight"}]}],
        },
        "tensors": [tensor_def("tensors/0", 2, 2)],
    },
    "code/net.py": (
        "op_version_set = 0\ndef forward(self, x: Tensor) -> Tensor:\n  return torch.mm(x, "
        "self.fc.weight)\n"
    ),
    "tensors/0": floats(1, 2, 3, 4),
}


@pytest.mark.parametrize("how", [{}, {"top": "other"}, {"compression": 8}])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_least_that_1_0_1_loaded(how: dict[str, Any], reverse: bool) -> None:
    """Four records in any order, stored or deflated, aligned or not."""
    parts = dict(reversed(MINIMAL.items())) if reverse else MINIMAL
    m = load(parts, **how)
    assert_equal(m(torch.eye(2)), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert not m.fc.weight.requires_grad and [n for n, _ in m.named_parameters()] == ["fc.weight"]


def test_snake_case_and_numbers() -> None:
    model = {
        "main_module": {
            "torchscript_arena": {"key": "code/net.py"},
            "submodules": [
                {
                    "name": "fc",
                    "parameters": [{"tensor_id": 1, "name": "weight", "is_buffer": True}],
                }
            ],
        },
        "tensors": [
            {"data_type": "FLOAT", "device": "cpu", "data": {"key": "tensors/0"}, "offset": 3},
            {
                "data": {"key": "tensors/0"},
                "device": "cpu",
                "dims": [2, 2],
                "strides": [1, 2],
                "requires_grad": False,
                "data_type": 1,
            },
        ],
    }
    m = load({**MINIMAL, "model.json": model})
    assert_equal(m(torch.eye(2)), torch.tensor([[1.0, 3.0], [2.0, 4.0]]))
    assert [n for n, _ in m.named_buffers()] == ["fc.weight"]


CODE = {
    "names that are no identifiers, constants": (
        """def forward(self,
    x_1: Tensor) -> Tensor:
  _0 = torch.mul(getattr(self.layers, "0").weight, CONSTANTS.c1)
  x = torch.add(x_1, _0, alpha=1)
  return torch.add(x, getattr(getattr(self.layers, "1"), "a-b").weight, alpha=2)
""",
        lambda x: x + torch.tensor([10.0, 20.0]) * 4 + 2 * torch.tensor([1.0, 2.0]),
    ),
    "a while loop as it was printed": (
        """def forward(self, x: Tensor) -> Tuple[int, Tensor]:
  k, y_4 = 0, x
  _0 = torch.lt(0, 3)
  while _0:
    k_2 = torch.add(k, 1)
    y_2 = torch.mul(y_4, 2.5)
    _0, k, y_4 = torch.lt(k_2, 3), k_2, y_2
  return (k, y_4)
""",
        lambda x: (3, x * 2.5**3),
    ),
    "unpacking, tuples, lists, annotations": (
        """\
def forward(self, x: Tensor) -> Tuple[List[int], Tensor, Tuple[Tensor], Optional[Tensor], number]:
  a, b, = torch.chunk(x, 2, 0)
  t = (a, b, (x,))
  l = annotate(List[int], [])
  _0 = torch.append(l, torch.size(a, 0))
  _1 = torch._set_item(l, 0, torch.__round_to_zero_floordiv(7, 2))
  if torch.__isnot__(annotate(Optional[Tensor], None), None):
    pass
  else:
    pass
  return (l, (t)[1], (t)[2], annotate(Optional[Tensor], None), \
annotate(number, torch.sum(ops.prim.NumToTensor(3))))
""",
        lambda x: ([3], x[1:], (x,), None, 3),
    ),
    "numbers": (
        """def forward(self, x: Tensor) -> Tuple[Tensor, float, int, bool, Tensor, Tensor]:
  _0 = torch.to(x, torch.device("cpu"), 7, False, False)
  return (_0, inf, int(torch.sum(x)), bool(torch.gt(torch.sum(x), 0.)), \
torch.div(torch.to(x, 4, False, False), 2), \
torch.arange(3, dtype=4, layout=0, device=torch.device("cpu")))
""",
        lambda x: (x.double(), float("inf"), 3, True, (x.long() // 2), torch.arange(3)),
    ),
    "raising": (
        """def forward(self, x: Tensor) -> Tensor:
  if torch.gt(torch.dim(x), 5):
    ops.prim.RaiseException("Exception")
  else:
    pass
  print("x is", torch.dim(x))
  return x
""",
        lambda x: x,
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_what_1_0_1_printed(name: str) -> None:
    code, expected = CODE[name]
    inner = [{"name": "0", "parameters": [{"tensorId": "0", "name": "weight"}]}]
    inner += [
        {
            "name": "1",
            "submodules": [{"name": "a-b", "parameters": [{"tensorId": "2", "name": "weight"}]}],
        }
    ]
    model = {
        "mainModule": {
            "torchscriptArena": {"key": "code/x.py"},
            "submodules": [{"name": "layers", "submodules": inner}],
        },
        "tensors": [tensor_def("t/a", 2), tensor_def("t/b"), tensor_def("t/c", 2)],
    }
    data = {"t/a": floats(10, 20), "t/b": floats(4), "t/c": floats(1, 2)}
    m = load(
        {"version": "1", "model.json": model, "code/x.py": f"op_version_set = 0\n{code}", **data}
    )
    x = torch.tensor([1.0, 2.0])
    assert_equal(m(x), expected(x))


# Operators that are gone: a call, and what it is.
X = [[1.0, -2.0], [0.5, 3.0]]
GONE = {
    "torch.threshold(x, 0., 0.)": lambda x: x.relu(),
    "torch.threshold(x, 0.7, 9.)": lambda x: torch.tensor([[1.0, 9.0], [9.0, 3.0]]),
    "torch.threshold_(x, 0.7, 9.)": lambda x: torch.tensor([[1.0, 9.0], [9.0, 3.0]]),
    "torch._argmax(x, 1, True)": lambda x: torch.tensor([[0], [1]]),
    "torch._argmin(x, 1, False)": lambda x: torch.tensor([1, 0]),
    "torch.ger(torch.select(x, 0, 0), torch.select(x, 0, 1))": lambda x: torch.tensor(
        [[0.5, 3.0], [-1.0, -6.0]]
    ),
    "torch.glu(x, 1)": lambda x: x[:, :1] * x[:, 1:].sigmoid(),
    "torch.prelu(x, torch.full([1], 0.25, "
    'dtype=6, layout=0, device=torch.device("cpu")))': lambda x: torch.tensor(
        [[1.0, -0.5], [0.5, 3.0]]
    ),
    "torch.selu(x)": lambda x: torch.nn.functional.selu(x),
    "torch.celu(x, 2)": lambda x: torch.where(x > 0, x, 2 * ((x / 2).exp() - 1)),
    "torch.erfc(x)": lambda x: 1 - x.erf(),
    "torch.log10(torch.abs(x))": lambda x: x.abs().log() / torch.tensor(10.0).log(),
    "torch._cast_Int(x, False)": lambda x: x.int(),
    "torch._convolution(torch.view(x, [1, 1, 2, 2]), "
    "torch.view(x, [1, 1, 2, 2]), None, [1, 1], [0, "
    "0], [1, 1], False, [0, 0], 1, False, False, "
    "True)": lambda x: (x * x).sum().reshape(1, 1, 1, 1),
}


@pytest.mark.parametrize("call", GONE)
def test_operators_that_are_gone(call: str) -> None:
    m = load(one_function(f"def forward(self, x: Tensor) -> Tensor:\n  return {call}\n"))
    assert_equal(m(torch.tensor(X)), GONE[call](torch.tensor(X)))


def test_attributes_of_1_1_and_1_2() -> None:
    """They have a record `attributes.pkl`; a tensor in it is a number in the table."""
    state = (
        b"\x80\x02](K\x07X\x02\x00\x00\x00hictorch.jit._pickle\nbuild_tensor_from_id\nK\x00\x85Re."
    )
    assert pickle.loads(
        state.replace(b"ctorch.jit._pickle\nbuild_tensor_from_id\n", b"cbuiltins\nabs\n")
    ) == [
        7,
        "hi",
        0,
    ]
    model = {
        "protoVersion": "2",
        "mainModule": {
            "name": "net",
            "torchscriptArena": {"key": "code/net.py"},
            "torchscriptDebugArena": {"key": "debug/net.pkl"},
            "attributes": [
                {"type": "int", "name": "n", "id": "0"},
                {"type": "str", "name": "s", "id": "1"},
                {"type": "Tensor", "name": "t", "id": "2"},
            ],
        },
        "tensors": [tensor_def("tensors/0", 2)],
    }
    code = """op_version_set = 1
def forward(self,
    x: Tensor) -> Tensor:
  self.n = torch.add(self.n, 1)
  return torch.add(torch.mul(x, self.n), self.t, alpha=torch.len(self.s))
"""
    parts = {
        "version": "1",
        "code/net.py": code,
        "model.json": model,
        "tensors/0": floats(1, 2),
        "attributes.pkl": state,
    }
    m = load(parts)
    assert_equal(m(torch.ones(2)), torch.tensor([10.0, 12.0]))
    assert m.n == 8 and m.s == "hi"
    bad = [{"type": "int", "name": "n", "id": "1"}]
    with pytest.raises(ArchiveError, match="the attribute 'n'"):
        load(
            {
                **parts,
                "model.json": {**model, "mainModule": {**model["mainModule"], "attributes": bad}},
            }
        )  # type: ignore[dict-item]


def changed(**model: Any) -> dict[str, Any]:
    return {**MINIMAL, "model.json": {**MINIMAL["model.json"], **model}}  # type: ignore[dict-item]


def with_tensor(**fields: Any) -> dict[str, Any]:
    return changed(tensors=[{**tensor_def("tensors/0", 2, 2), **fields}])


def with_code(code: str) -> dict[str, Any]:
    return {**MINIMAL, "code/net.py": code}


FC = {"name": "fc", "parameters": [{"tensorId": "0", "name": "weight"}]}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"model.json": {}}, "version"),
    ({**MINIMAL, "version": "99"}, "Attempted to read a PyTorch file with version 99"),
    ({**MINIMAL, "model.json": "{"}, "record 'model.json': is no JSON"),
    ({**MINIMAL, "model.json": b"\xff\xfe"}, "model.json"),
    (changed(mainModule=None), "mainModule is missing"),
    (changed(mainModule={"submodules": [{}]}), "mainModule.submodules[0].name is missing"),
    (
        changed(mainModule={"submodules": [{"name": "a.b"}]}),
        "mainModule.submodules[0].name 'a.b' has a dot in it",
    ),
    (
        changed(mainModule={"submodules": [FC, FC]}),
        "mainModule.submodules[1].name is 'fc', as something else in this module",
    ),
    (
        changed(mainModule={"parameters": [{"name": "w"}]}),
        "mainModule.parameters[0].tensorId is missing",
    ),
    (
        changed(mainModule={"parameters": [{"tensorId": "0"}]}),
        "mainModule.parameters[0].name must be the name of a parameter",
    ),
    (
        changed(
            mainModule={
                "submodules": [{"name": "fc", "parameters": [{"tensorId": "7", "name": "w"}]}]
            }
        ),
        "mainModule.submodules[0].parameters[0].tensorId is 7, and there are 1 tensors",
    ),
    (
        changed(mainModule={"parameters": [{"tensorId": "-1", "name": "w"}]}),
        "mainModule.parameters[0].tensorId is -1",
    ),
    (
        changed(mainModule={"torchscriptArena": {"key": "code/a.py"}}),
        "torchscriptArena.key names the record 'code/a.py'",
    ),
    (changed(mainModule={"torchscriptArena": {}}), "mainModule.torchscriptArena.key is missing"),
    (
        changed(mainModule={"getStateAttributeId": "0"}),
        "mainModule.getStateAttributeId says that the module makes its state",
    ),
    (
        changed(mainModule={"attributes": [{"type": "int", "name": "n", "id": "0"}]}),
        "mainModule.attributes[0].id is 0",
    ),
    (with_tensor(dims=["2", "3"], strides=["3", "1"]), "tensors[0] "),
    (with_tensor(dims=["2"], strides=["2", "1"]), "tensors[0] "),
    (with_tensor(dims=["-2", "2"]), "tensors[0] "),
    (with_tensor(strides=["-2", "1"]), "tensors[0] "),
    (with_tensor(offset="-1"), "tensors[0] "),
    (with_tensor(offset="1"), "tensors[0] "),
    (with_tensor(dims=[str(2**62), str(2**62)], strides=["0", "0"]), "tensors[0] "),
    (with_tensor(strides=[str(2**62), str(2**62)]), "tensors[0] "),
    (
        with_tensor(dataType="STRING"),
        "tensors[0].dataType is STRING, of which there are no tensors",
    ),
    (with_tensor(dataType=None), "tensors[0].dataType is missing"),
    (with_tensor(device=None), "tensors[0].device is missing"),
    (with_tensor(device="cuda:0"), "tensors[0].device is 'cuda:0'"),
    (with_tensor(device="../cpu"), "tensors[0].device is '../cpu'"),
    (with_tensor(data=None), "tensors[0].data.key is missing"),
    (
        with_tensor(data={"key": "../../etc/passwd"}),
        "names the record '../../etc/passwd', which is not there",
    ),
    (
        changed(
            tensors=[
                tensor_def("tensors/0", 2),
                {**tensor_def("tensors/0", 1), "dataType": "DOUBLE"},
            ]
        ),
        "tensors[1].dataType is not that of another tensor of the record 'tensors/0'",
    ),
    (with_code(""), "code/net.py': expected an assignment to op_version_set"),
    (with_code("import os\n"), "expected an assignment to op_version_set"),
    (with_code("op_version_set = 'x'\n"), "expected an integral version but found 'x'"),
    (with_code("op_version_set = 0\nx = 1\n"), "line 2: there are only methods in a code record"),
    (
        with_code("op_version_set = 0\ndef f(self):\n  return 1\n"),
        "'f' does not say what it returns",
    ),
    (
        with_code("op_version_set = 0\ndef fc(self) -> int:\n  return 1\n"),
        "line 2: 'fc' is there twice",
    ),
    (with_code("op_version_set = 0\ndef f(self -> int:\n"), "code/net.py"),
    (with_code("op_version_set = 0\n" + "(" * 10_000), "code/net.py"),
]


@pytest.mark.parametrize(("parts", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_damaged_ones_are_refused_with_the_place(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchiveError) as refused:
        load(parts)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("return torch.nothing(x)", "Unknown builtin op: aten::nothing"),
        ("return CONSTANTS.c5", "constant index 5 is out of bounds (constant table has 0 entries)"),
        ("return CONSTANTS.x", "invalid constant specifier: x"),
        ("return self.zz", "zz"),
        ("return open('/etc/passwd')", "open"),
        ("return __import__('os').system('true')", "__import__"),
    ],
)
def test_wrong_bodies_are_refused_when_they_are_first_run(line: str, message: str) -> None:
    m = load(one_function(f"def forward(self, x: Tensor) -> Tensor:\n  {line}\n"))
    with pytest.raises(ArchiveError) as refused:
        m(torch.ones(1))
    assert message in str(refused.value) and refused.value.record == "code/net.py"


def test_map_location_and_missing_files() -> None:
    m = load_101(FOLDER / "trace101.pt", "meta")
    assert m.fc.weight.device.type == "meta" and m.fc.weight.shape == (3, 2)
    with pytest.raises(ValueError, match="does not exist"):
        load_101(FOLDER / "nothing.pt")
    with pytest.raises(ValueError, match="map_location"):
        load_101(FOLDER / "trace101.pt", 3)
