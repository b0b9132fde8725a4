"""`model.json` of the archives of PyTorch 1.0.1: byte for byte what it wrote; anything else is a
message or refused.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from internals.serialization.errors import ArchiveError
from internals.serialization.layout_101.model_json import (
    DATA_TYPES,
    ModelDef,
    ModuleDef,
    ParameterDef,
    RecordRef,
    TensorDef,
    read_model,
    write_model,
)
from tests.serialization.archives_101 import FOLDER, records
from tests.support import examples

ARCHIVES = sorted(FOLDER.glob("*.pt"))


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda p: p.stem)
def test_what_1_0_1_wrote_is_read_and_written_the_same(path: Any) -> None:
    text = records(path)["model.json"].decode()
    assert write_model(read_model(text)) == text


def test_fields_in_order_integers_as_strings_and_nothing_that_was_not_set() -> None:
    module = ModuleDef(parameters=[ParameterDef(False, 1, "weight")], name="conv1", optimize=True)
    tensor = TensorDef([2, 3], 0, [3, 1], True, "FLOAT", RecordRef("tensors/0"), "cpu")
    assert write_model(ModelDef(1, module, tensors=[tensor])) == (
        '{"protoVersion":"1","mainModule":{"parameters":[{"isBuffer":false,"tensorId":"1","name":"weight"}],"name":"conv1",'
        '"optimize":true},"tensors":[{"dims":["2","3"],"offset":"0","strides":["3","1"],"requiresGrad":true,"dataType":"FLOAT",'
        '"data":{"key":"tensors/0"},"device":"cpu"}]}'
    )


def test_what_proto3_json_allows_besides() -> None:
    text = """{"main_module": {"parameters": [{"is_buffer": true, "tensor_id": 3, "name": "w"},
                                              {"tensorId": 2.0}], "name": null},
               "tensors": [{"data_type": 10, "dims": [4], "requires_grad": false}],
               "protoVersion": 1e0, "unknown": [1, {}]}"""
    assert read_model(text) == ModelDef(
        1,
        ModuleDef(parameters=[ParameterDef(True, 3, "w"), ParameterDef(None, 2, None)]),
        tensors=[TensorDef([4], requires_grad=False, data_type="INT64")],
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "the text must be an object, not a list"),
        ('{"protoVersion": NaN}', "NaN is not a JSON number"),
        ('{"protoVersion": 1e400}', "protoVersion must be an integer, not Infinity"),
        ('{"protoVersion": 1.5}', "protoVersion must be an integer, not 1.5"),
        ('{"protoVersion": true}', "protoVersion must be an integer, not true"),
        ('{"protoVersion": "0x10"}', 'protoVersion must be an integer, not "0x10"'),
        ('{"protoVersion": "9223372036854775808"}', "protoVersion must fit in 64 bits"),
        (
            '{"protoVersion": 99999999999999999999999}',
            "protoVersion must fit in 64 bits, not a number of more than 64 bits",
        ),
        ('{"protoVersion": ' + "9" * 6000 + "}", "is no JSON: Exceeds the limit"),
        ('{"protoVersion": 1, "proto_version": 1}', "proto_version is there twice"),
        ('{"mainModule": []}', "mainModule must be an object, not a list"),
        (
            '{"mainModule": {"submodules": {}}}',
            "mainModule.submodules must be a list, not an object",
        ),
        (
            '{"mainModule": {"submodules": [{}, {"name": 1}]}}',
            "mainModule.submodules[1].name must be a string, not 1",
        ),
        (
            '{"mainModule": {"submodules": [{"parameters": [{}, {"tensorId": "x"}]}]}}',
            'mainModule.submodules[0].parameters[1].tensorId must be an integer, not "x"',
        ),
        ('{"mainModule": {"optimize": 1}}', "mainModule.optimize must be true or false, not 1"),
        ('{"tensors": [{"dataType": "FLOAT8"}]}', "tensors[0].dataType must be one of"),
        ('{"tensors": [{"dataType": 99}]}', "tensors[0].dataType must be one of"),
        ('{"tensors": [{"dims": ["1", null]}]}', "tensors[0].dims[1] must be an integer, not null"),
        (
            '{"mainModule":' + '{"submodules":[' * 200 + "]}" * 200 + "}",
            "is nested more than 100 deep",
        ),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ArchiveError) as refused:
        read_model(text, archive="net.pt")
    assert message in str(refused.value)
    assert str(refused.value).startswith("net.pt: record 'model.json': ")


names = st.text(max_size=5) | st.none()
int64 = st.integers(-(2**63), 2**63 - 1)
tensors = st.builds(
    TensorDef,
    dims=st.lists(int64, max_size=3),
    offset=int64 | st.none(),
    strides=st.lists(int64, max_size=3),
    requires_grad=st.none() | st.booleans(),
    data_type=st.none() | st.sampled_from(sorted(DATA_TYPES)),
    data=st.none() | st.builds(RecordRef, names),
    device=names,
)
parameters = st.lists(
    st.builds(ParameterDef, st.none() | st.booleans(), int64 | st.none(), names), max_size=2
)
modules = st.recursive(
    st.builds(ModuleDef, parameters=parameters, name=names),
    lambda inner: st.builds(
        ModuleDef, submodules=st.lists(inner, max_size=2), parameters=parameters, name=names
    ),
    max_leaves=4,
)
models = st.builds(
    ModelDef,
    proto_version=int64 | st.none(),
    main_module=modules | st.none(),
    tensors=st.lists(tensors, max_size=2),
)


@examples(100)
@given(models)
def test_any_message_comes_back(model: ModelDef) -> None:
    assert read_model(write_model(model)) == model


keys = st.sampled_from(
    (
        "mainModule main_module submodules parameters tensors tensorId name dims dataType data key "
        "x"
    ).split()
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@examples(200)
@given(json_values)
def test_any_json_is_a_message_or_refused(tree: Any) -> None:
    try:
        assert isinstance(read_model(json.dumps(tree)), ModelDef)
    except ArchiveError as refused:
        assert refused.record == "model.json"


@examples(200)
@given(st.text(alphabet='{}[]",:0123456789eE+-.tfnaml\\u', max_size=40))
def test_any_text_is_a_message_or_refused(text: str) -> None:
    try:
        read_model(text)
    except ArchiveError as refused:
        assert refused.record == "model.json"
