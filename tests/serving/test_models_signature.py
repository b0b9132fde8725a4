"""What a model takes and gives: declared, told by the graph, and found by running it on zeros."""

from __future__ import annotations

import json

import pytest

import internals as torch
from internals import nn
from internals.serialization.errors import ArchiveError
from internals.serving.models.facts import Facts, combined, facts_of
from internals.serving.models.served_model import ServedModel
from internals.serving.models.signature import TensorSpec, parse_input, parse_serving_json
from internals.serving.settings import Settings
from tests.serving import models_support as nets


def scripted(module):
    return torch.jit.script(module.eval())


def traced(module, *inputs):
    return torch.jit.trace(module.eval(), inputs)


def described(model, **settings):
    return str(ServedModel.from_module(model, "m", settings=Settings(**settings)).signature)


# Options and serving.json


def test_an_option_says_name_datatype_and_sizes():
    assert parse_input("x:FP32:-1,784") == TensorSpec("x", torch.float32, (-1, 784))
    assert parse_input("ids:INT64") == TensorSpec("ids", torch.int64, None)
    assert parse_input("t:BOOL:") == TensorSpec("t", torch.bool, ())


@pytest.mark.parametrize(
    "text", ["x", ":FP32:1", "x:FP32:1:2", "x:float:1", "x:FP32:1,b", "x:FP32:-2", "x:FP32:1.5"]
)
def test_an_option_that_is_wrong_is_shown(text):
    with pytest.raises(ValueError, match="--input") as error:
        parse_input(text)
    assert repr(text) in str(error.value)


def test_serving_json():
    said = {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 6]}],
        "outputs": [{"name": "logits"}],
    }
    declared = parse_serving_json(json.dumps(said).encode(), "m.pt")
    assert declared.inputs == (TensorSpec("x", torch.float32, (-1, 6)),)
    assert declared.outputs == (TensorSpec("logits"),)
    assert parse_serving_json(b"", "m.pt").inputs == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{", "JSON"),
        ("[]", "an object"),
        ('{"inputs": {}}', "inputs"),
        ('{"inputs": [{}]}', r"inputs\[0\] has no 'name'"),
        ('{"inputs": [{"name": ""}]}', "empty name"),
        ('{"inputs": [{"name": "x", "datatype": "FLOAT"}]}', "FLOAT"),
        ('{"inputs": [{"name": "x", "shape": [-5]}]}', "no shape"),
        ('{"inputs": [{"name": "x", "shape": [1.5]}]}', r"shape\[0\]"),
        ('{"inputs": [{"name": "x"}, {"name": "x"}]}', "one name twice"),
    ],
)
def test_a_wrong_serving_json_is_named(text, names):
    with pytest.raises(ArchiveError, match=names) as error:
        parse_serving_json(text.encode(), "m.pt")
    assert "serving.json" in str(error.value) and "m.pt" in str(error.value)


# The program tells


@pytest.mark.parametrize(
    "compiled", [lambda m: m, scripted, lambda m: traced(m, torch.zeros(2, 6))]
)
def test_a_perceptron(compiled):
    assert described(compiled(nets.mlp())) == "input: FP32 [-1, 6]  ->  OUTPUT__0: FP32 [-1, 3]"


def test_double_weights_take_doubles():
    assert (
        described(scripted(nets.mlp().double()))
        == "input: FP64 [-1, 6]  ->  OUTPUT__0: FP64 [-1, 3]"
    )


def test_a_network_for_pictures_of_one_size():
    """32 by 32 does not run, 28 by 28 does: the outputs are known, the sizes of the input are
    not.
    """
    assert (
        described(scripted(nets.LeNet())) == "x: FP32 [-1, 1, -1, -1]  ->  OUTPUT__0: FP32 [-1, 10]"
    )
    assert described(traced(nets.LeNet(), torch.zeros(1, 1, 28, 28))).endswith(
        "OUTPUT__0: FP32 [-1, 10]"
    )


@pytest.mark.sampled(1 / 8)
def test_resnet():
    from internals.models import resnet18

    signature = described(scripted(resnet18(num_classes=5)))
    assert signature == "x: FP32 [-1, 3, -1, -1]  ->  OUTPUT__0: FP32 [-1, 5]"


def test_pictures_that_are_normalised_first_may_have_any_datatype():
    assert (
        described(scripted(nets.Normalised()))
        == "image: any datatype [-1, 3, -1, -1]  ->  OUTPUT__0: FP32 [-1, 4]"
    )


def test_a_gpt_takes_rows_of_numbers():
    from internals.models import GPT, GPTConfig

    gpt = GPT(GPTConfig(vocab_size=20, block_size=16, n_layer=1, n_head=2, n_embd=8))
    assert described(gpt) == "idx: INT64 [-1, -1]  ->  OUTPUT__0: FP32 [-1, 1, 20]"


def test_embeddings():
    """Only two dimensions run through the first; anything through the second, so its shape stays
    open.
    """
    assert described(scripted(nets.Tokens())) == "ids: INT64 [-1, -1]  ->  OUTPUT__0: FP32 [-1, 7]"
    assert (
        described(scripted(nets.AnyTokens()))
        == "ids: INT64 any shape  ->  OUTPUT__0: FP32 any shape"
    )


def test_two_inputs_a_named_tuple_and_an_argument_with_a_default():
    assert described(scripted(nets.TwoInputs())) == (
        "row: FP32 [-1, 3]; series: FP32 [-1, 5, -1]  ->  total: FP32 [-1, 2]; picture: FP32 [-1, "
        "2, -1]"
    )


def test_calls_of_submodules_and_branches():
    assert (
        described(scripted(nets.Outer()))
        == "x: FP32 [-1, 9]  ->  plain: FP32 [-1, 2]; doubled: FP32 [-1, 2]"
    )
    assert described(scripted(nets.OneOfSeveral())).startswith("x: FP32 [-1, 4]")


def test_numbers_are_tensors_of_one_element():
    assert described(scripted(nets.Steps())).startswith(
        "x: FP32 [-1, 2]; steps: INT64 [1]  ->  OUTPUT__0: FP32"
    )


@pytest.mark.sampled(1 / 4)
def test_other_layers():
    def of(layer):
        return described(scripted(layer)).partition("  ->")[0].partition(": ")[2]

    assert of(nn.LayerNorm((3, 4))) == "FP32 [-1, 3, 4]"
    assert of(nn.BatchNorm1d(4)) == "FP32 [-1, 4]"
    assert of(nn.BatchNorm2d(4)) == "FP32 [-1, 4, -1, -1]"
    assert of(nn.Conv2d(6, 4, 3, groups=2)) == "FP32 [-1, 6, -1, -1]"
    assert of(nn.ConvTranspose2d(6, 4, 3)) == "FP32 [-1, 6, -1, -1]"
    assert of(nn.Sequential(nn.Dropout(), nn.GELU(), nn.Linear(4, 2))) == "FP32 [-1, 4]"
    assert of(nn.Sequential(nn.Flatten(), nn.Linear(4, 2))) == "FP32 any shape"
    assert of(nn.ReLU()) == "any datatype any shape"


def test_what_is_not_known_is_said_to_be_so():
    model = ServedModel.from_module(scripted(nn.ReLU()), "m")
    assert (
        str(model.signature)
        == "input: any datatype any shape  ->  OUTPUT__0: any datatype any shape"
    )
    assert "the shape of 'input' is not known: declare it" in model.notes[0]
    assert torch.equal(
        model.run([torch.tensor([-1.0, 2.0])])["OUTPUT__0"], torch.tensor([0.0, 2.0])
    )


def test_findings_that_contradict_each_other_are_dropped():
    found = combined(
        [
            Facts(torch.float32, 4, None, {1: 3}),
            Facts(torch.float32, 3, None, {1: 5, 2: 7}),
            Facts(None, None, 2, {}),
        ]
    )
    assert found == Facts(torch.float32, None, 2, {2: 7})


def test_the_same_dimension_from_both_ends():
    assert Facts(None, None, 2, {1: 4, -1: 4}).shape(2) == (-1, 4)
    assert Facts(None, None, 2, {1: 4, -1: 5}).shape(2) is None
    assert Facts(None, None, 2, {1: 4, -1: 5}).shape(3) == (-1, 4, 5)
    assert Facts(None, 4, None, {1: 4}).shape(3) is None


def test_products_with_matrices():
    def forward(x, w, b):
        return torch.addmm(b, x, w.t())

    class Old(nn.Module):
        """As `F.linear` was traced by PyTorch 1.0: a transposed weight, then addmm."""

        def __init__(self):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.ones(3, 8)), nn.Parameter(torch.ones(3))

        def forward(self, x):
            return forward(x, self.w, self.b)

    class Product(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(8, 3))

        def forward(self, x):
            return x @ self.w

    old = torch.jit.freeze(traced(Old(), torch.ones(2, 8))).graph
    assert facts_of(old, 1) == Facts(torch.float32, 2, 2, {-1: 8})
    product = torch.jit.freeze(scripted(Product())).graph
    assert facts_of(product, 1) == Facts(torch.float32, None, 2, {-1: 8})


# Who knows better


def test_the_operator_knows_better_than_the_archive_and_that_better_than_the_program(tmp_path):
    said = {
        "inputs": [{"name": "input", "datatype": "FP32", "shape": [-1, 5, 6]}],
        "outputs": [{"name": "logits"}],
    }
    (tmp_path / "m.pt").write_bytes(nets.archive(nets.mlp(), {"serving.json": json.dumps(said)}))
    model = ServedModel(tmp_path / "m.pt", "m")
    assert str(model.signature) == "input: FP32 [-1, 5, 6]  ->  logits: FP32 [-1, 5, 3]"
    assert list(model.run([torch.zeros(1, 5, 6)])) == ["logits"]
    model = ServedModel(
        tmp_path / "m.pt", "m", settings=Settings(inputs=("input:FP32:-1,-1,-1,6",))
    )
    assert str(model.signature) == "input: FP32 [-1, -1, -1, 6]  ->  logits: FP32 [-1, -1, -1, 3]"


def test_a_declaration_makes_outputs_known():
    assert (
        described(scripted(nn.ReLU()), inputs=("input:INT32:-1,4",))
        == "input: INT32 [-1, 4]  ->  OUTPUT__0: INT32 [-1, 4]"
    )


def test_a_declaration_of_terabytes_is_not_tried():
    model = ServedModel.from_module(
        nn.ReLU(), "m", settings=Settings(inputs=("input:FP32:-1,1000000,1000000",))
    )
    assert str(model.signature.inputs[0]) == "input: FP32 [-1, 1000000, 1000000]"
    assert "larger than what is tried" in model.notes[0]


def test_a_declaration_of_no_input_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no input 'y', which was declared; it has input"):
        described(nets.mlp(), inputs=("y:FP32:-1,6",))
    # with many models it may be meant for another
    assert described(nets.mlp(), inputs=("y:FP32:-1,6",), model_dir=tmp_path).startswith(
        "input: FP32 [-1, 6]"
    )


def test_starred_arguments_have_to_be_declared():
    def total(*tensors):
        return sum(tensors)

    with pytest.raises(TypeError, match=r"\*args"):
        described(total)
    assert described(total, inputs=("a:FP32:-1,2", "b:FP32:-1,2")) == (
        "a: FP32 [-1, 2]; b: FP32 [-1, 2]  ->  OUTPUT__0: FP32 [-1, 2]"
    )
