"""The signature of a model: a name, a datatype and sizes for each of its inputs and outputs.

    x: FP32 [-1, 784]  ->  OUTPUT__0: FP32 [-1, 10]

A client can ask for it (model metadata), requests are checked against it, and a batch is joined
along the first -1. No single source knows all of it: a TorchScript archive has names of arguments,
but no sizes. So it is combined from four sources, of which the first one wins:

1. whoever starts the server, with the option `--input x:FP32:-1,784`
2. the archive's author: a file `serving.json` in it, `jit.save(m, "m.pt",
   _extra_files={"serving.json": ...})`, with `{"inputs": [{"name": "x", "datatype": "FP32",
   "shape": [-1, 784]}], "outputs": [{"name": "logits"}]}`
3. the program itself (`facts.py`)
4. a run on zeros, for the outputs (`trial.py`)

Everything else stays unknown, and is not checked.

Mirrors the `ModelInput` and `ModelOutput` of Triton's `model_config.proto` and the model metadata
of the Open Inference Protocol.

How the real one differs: Triton requires a declaration for TorchScript. It names inputs `INPUT__0`,
`INPUT__1` by position; those names are accepted here, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from internals.core.dtype import dtype
from internals.serialization.errors import ArchiveError
from internals.serialization.json_node import JsonNode

from ..protocol.datatypes import DATATYPES, DTYPES
from ..protocol.policies import MAX_DIMS

SERVING_JSON = "serving.json"


@dataclass(frozen=True)
class TensorSpec:
    """One input or output. A `dtype` or `shape` of None is unknown, and not checked; a size of -1
    is any.
    """

    name: str
    dtype: dtype | None = None
    shape: tuple[int, ...] | None = None

    @property
    def datatype(self) -> str:
        """The protocol's name of the dtype, "" if it is unknown."""
        return "" if self.dtype is None else DATATYPES.get(self.dtype, "")

    def __str__(self) -> str:
        shape = "any shape" if self.shape is None else str(list(self.shape))
        return f"{self.name}: {self.datatype or 'any datatype'} {shape}"


@dataclass(frozen=True)
class Signature:
    """The `inputs` in the order of the arguments, and the `outputs` in the order of the results, ()
    if they are unknown.
    """

    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()

    def __str__(self) -> str:
        inputs, outputs = (
            "; ".join(map(str, specs)) or "not known" for specs in (self.inputs, self.outputs)
        )
        return f"{inputs}  ->  {outputs}"


@dataclass(frozen=True)
class Declared:
    """The declarations about a model by its author: inputs, and names and specs of outputs."""

    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()


def parse_input(text: str) -> TensorSpec:
    """The spec in an option `x:FP32:-1,784`; `x:FP32` leaves the shape open, `x:FP32:` is a tensor
    without dimensions.

    Raises ValueError, which shows the right form.
    """
    name, *rest = text.split(":")
    if not name or not rest or len(rest) > 2:
        raise ValueError(
            f"--input {text!r}: it is written NAME:DATATYPE:SIZES, such as x:FP32:-1,784"
        )
    if rest[0] not in DTYPES:
        raise ValueError(
            f"--input {text!r}: the datatype {rest[0]!r} is none of {', '.join(DTYPES)}"
        )
    shape = None
    if len(rest) == 2:
        try:
            shape = check_shape(int(size) for size in rest[1].split(",") if rest[1])
        except ValueError:
            raise ValueError(
                f"--input {text!r}: sizes are whole numbers with commas between them, -1 for any, "
                "such as -1,784"
            ) from None
    return TensorSpec(name, DTYPES[rest[0]], shape)


def parse_serving_json(data: bytes, archive: str) -> Declared:
    """The declarations in the file `serving.json` of an archive; none if it is empty. Raises
    ArchiveError, with the place in it.
    """
    if not data:
        return Declared()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ArchiveError(
            f"not UTF-8 text: {error.reason}", archive=archive, record=SERVING_JSON
        ) from None
    root = JsonNode.parse(text, archive, SERVING_JSON)
    found = {}
    for side in ("inputs", "outputs"):
        node = root.get(side)
        found[side] = tuple(_spec(each) for each in node) if node is not None else ()
        names = [spec.name for spec in found[side]]
        if len(set(names)) != len(names) and node is not None:
            raise node.error("has one name twice")
    return Declared(found["inputs"], found["outputs"])


def check_shape(sizes: Iterable[int]) -> tuple[int, ...]:
    """The sizes as a shape. Raises ValueError for a size below -1, and for too many of them."""
    shape = tuple(sizes)
    if len(shape) > MAX_DIMS or any(not -1 <= size < 1 << 63 for size in shape):
        raise ValueError(
            f"a shape has at most {MAX_DIMS} sizes, 0 or more, or -1 for any; got {list(shape)}"
        )
    return shape


def _spec(node: JsonNode) -> TensorSpec:
    """The spec in one object of `serving.json`. Raises ArchiveError for a wrong one."""
    name, datatype, shape = node["name"].text(), node.get("datatype"), node.get("shape")
    if not name:
        raise node.error("has an empty name")
    if datatype is not None and datatype.text() not in DTYPES:
        raise datatype.error(f"is {datatype.text()!r}, which is none of {', '.join(DTYPES)}")
    sizes = None
    if shape is not None:
        try:
            sizes = check_shape(each.integer() for each in shape)
        except ValueError as error:
            raise shape.error(f"is no shape: {error}") from None
    return TensorSpec(name, None if datatype is None else DTYPES[datatype.text()], sizes)
