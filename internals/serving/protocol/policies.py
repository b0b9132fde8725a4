"""Checks the tensors of a request, and creates them from bytes, for every transport.

A tensor in a request has a datatype, a shape, and bytes. `tensor_from_memory` checks that they fit:
the datatype has to exist here, the sizes must not be negative, and their product times the size of
an element must be the number of bytes. Then the tensor is a view of the bytes, which live as long
as it does. Only if the address is not a multiple of the element's size, the bytes are copied, as
compiled code may not load from there.

`arrange` compares a request with the model's signature. NaN and infinity are accepted unless the
operator decides otherwise: `--nan reject`.

Mirrors Triton's `InferenceRequest::Normalize` (`core/src/infer_request.cc`).

How the real one differs: Triton checks shapes and datatypes, too, but not the elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from internals import Tensor
from internals.construction.tensor_numpy import borrow_array
from internals.core.dtype import dtype

from ..errors import InvalidRequest
from ..settings import Settings
from .datatypes import DTYPES, datatype_of

if TYPE_CHECKING:
    from ..models.signature import Signature, TensorSpec

MAX_DIMS = 64  # as many as PyTorch's TensorIterator takes


def tensor_from_memory(
    memory: memoryview | bytes, datatype: str, shape: Sequence[int], name: str, settings: Settings
) -> tuple[Tensor, bool]:
    """Returns a tensor that is a view of the memory, and True; or that is a copy, and False, if the
    address is not aligned.

    `memory` has the elements in row-major order and little-endian. Raises InvalidRequest, with the
    input's name, for an unknown datatype, sizes that are negative or do not fit the bytes, BOOL
    bytes other than 0 and 1, and elements that the NaN policy rejects.
    """
    found = check_header(datatype, shape, name)
    memory = memoryview(memory)
    wanted = prod(shape) * found.itemsize
    if wanted != memory.nbytes:
        held = f"{memory.nbytes} bytes"
        raise InvalidRequest(
            f"input '{name}': {datatype} {list(shape)} takes {wanted} bytes, the request has "
            f"{held} for it"
        )
    array = np.frombuffer(memory, found.np).reshape(shape) if wanted else np.empty(shape, found.np)
    zero_copy = array.flags.aligned
    if not zero_copy:
        array = array.copy()
    check_elements(array, datatype, name, settings)
    return borrow_array(array), zero_copy


def tensor_from_elements(
    elements: object, datatype: str, shape: Sequence[int], name: str, settings: Settings
) -> Tensor:
    """A tensor with a copy of numbers that are Python objects, such as a JSON list or a repeated
    field. Raises InvalidRequest.
    """
    found = check_header(datatype, shape, name)
    try:
        array = np.asarray(elements)
    except ValueError:
        raise InvalidRequest(f"input '{name}': its rows are not equally long") from None
    if array.size == 0:
        array = array.astype(found.np)
    # Only a conversion without loss of meaning: bool from bool, float from any number, int from
    # int.
    if array.dtype.kind not in {"b": "b", "f": "fiu"}.get(np.dtype(found.np).kind, "iu"):
        raise InvalidRequest(f"input '{name}': its elements are not all of the datatype {datatype}")
    if array.size != prod(shape):
        raise InvalidRequest(
            f"input '{name}': {list(shape)} has {prod(shape)} elements, the request has "
            f"{array.size} for it"
        )
    with np.errstate(over="ignore"):
        converted = array.astype(found.np).reshape(shape)
    if converted.dtype.kind in "iu" and not np.array_equal(
        converted.reshape(-1), array.reshape(-1)
    ):
        raise InvalidRequest(f"input '{name}': an element does not fit the datatype {datatype}")
    check_elements(converted, datatype, name, settings)
    return borrow_array(converted)


def check_header(datatype: str, shape: Sequence[int], name: str) -> dtype:
    """The dtype for a datatype. Raises InvalidRequest for an unknown one and for wrong sizes."""
    known = DTYPES.get(datatype)
    if known is None:
        raise InvalidRequest(
            f"input '{name}': datatype '{datatype}' is not served; these are: {', '.join(DTYPES)}"
        )
    if len(shape) > MAX_DIMS or any(size < 0 for size in shape):
        raise InvalidRequest(
            f"input '{name}': shape {list(shape)[:MAX_DIMS]}: sizes are 0 or more, and at most "
            f"{MAX_DIMS}"
        )
    if prod(size for size in shape if size) * known.itemsize >= 1 << 63:
        # sizes of 0 do not count here: such a shape is refused even if the tensor is empty
        raise InvalidRequest(f"input '{name}': shape {list(shape)} is larger than any memory")
    return known


def check_elements(array: np.ndarray, datatype: str, name: str, settings: Settings) -> None:
    """Raises InvalidRequest for a BOOL other than 0 and 1, and for what the NaN policy rejects."""
    if datatype == "BOOL" and array.size and array.view(np.uint8).max() > 1:
        raise InvalidRequest(f"input '{name}': a byte of a BOOL is 0 or 1")
    if settings.nan_policy == "reject" and array.dtype.kind == "f" and not np.isfinite(array).all():
        place = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
        where = f"[{', '.join(str(int(i)) for i in place)}]"
        raise InvalidRequest(
            f"input '{name}' is not finite at {where}, and this server rejects NaN and infinity"
        )


def arrange(inputs: Mapping[str, Tensor], signature: Signature) -> dict[str, Tensor]:
    """Returns the inputs by their declared names and in declared order; Triton's `INPUT__0` is the
    first of them.

    Raises InvalidRequest for an input that is missing, unknown, given twice, or of another datatype
    or shape than declared.
    """
    declared = signature.inputs
    names = [spec.name for spec in declared]
    if inputs.keys() == set(names):
        arranged = {name: inputs[name] for name in names}
    else:
        aliases = {f"INPUT__{i}": name for i, name in enumerate(names)}
        arranged = {aliases.get(name, name): tensor for name, tensor in inputs.items()}
        if len(arranged) < len(inputs):
            raise InvalidRequest(
                f"an input is there twice, by its name and by its number: {', '.join(inputs)}"
            )
        for name in arranged:
            if name not in names:
                raise InvalidRequest(
                    f"the model has no input '{name}'; it has {', '.join(names) or 'none'}"
                )
        for name in names:
            if name not in arranged:
                raise InvalidRequest(
                    f"input '{name}' is missing; the model takes {', '.join(names)}"
                )
        arranged = {name: arranged[name] for name in names}
    for spec in declared:
        check_spec(arranged[spec.name], spec)
    return arranged


def check_spec(tensor: Tensor, spec: TensorSpec) -> None:
    """Raises InvalidRequest unless a tensor has the dtype and shape of its spec, if known."""
    if spec.dtype is not None and tensor.dtype is not spec.dtype:
        wanted, got = datatype_of(spec.dtype), datatype_of(tensor.dtype)
        raise InvalidRequest(
            f"input '{spec.name}' is {got}, the model takes {wanted}: convert it before sending"
        )
    sizes = tensor.shape
    if spec.shape is not None and (
        len(sizes) != len(spec.shape)
        or any(want not in (-1, got) for want, got in zip(spec.shape, sizes))
    ):
        raise InvalidRequest(
            f"input '{spec.name}' has the shape {list(sizes)}, the model takes {list(spec.shape)} "
            "(-1: any)"
        )
