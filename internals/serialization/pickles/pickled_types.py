"""The classes and functions that a file may name, and their replacements here
(`torch/_weights_only_unpickler.py`, `torch/_utils.py`).

A pickle refers to classes and functions by their names in PyTorch:
`torch._utils._rebuild_tensor_v2`, `collections.OrderedDict`. Each name in `ALLOWED` stands for a
`Constructor` of ours or for a value; no name leads to an import. The most important one creates a
tensor: a view of a storage with the sizes and strides in the file, after a check that every element
is inside the storage.

How the real one differs: it calls PyTorch's own functions, and users may add names with
`torch.serialization.add_safe_globals`.
"""

from __future__ import annotations

from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from internals.core import dtype as dt
from internals.core.device import META, device
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.formats import layout, strided
from internals.core.geometry import geometry, span_of
from internals.core.scalar import Scalar
from internals.core.size import Size
from internals.core.storage import Storage
from internals.core.tensor_impl import Tensor, TensorImpl, make, newly_made
from internals.storage import TypedStorage

from ..errors import ArchiveError
from .pickle_keys import is_key
from .unpickler import Constructor

MAX_DIMS = 64  # numpy's limit
MAX_BYTES = 1 << 62  # more than any memory, and within int64


def find_allowed(module: str, name: str) -> Any:
    """The constructor or value for a name. Raises ArchiveError if it is not in `ALLOWED`."""
    # Protocol 2 has the names of Python 2: `__builtin__.set` is `builtins.set`.
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    found = ALLOWED.get((module, name))
    if found is None:
        raise ArchiveError(
            f"Unsupported global: GLOBAL {f'{module}.{name}':.200} was not an allowed global by "
            "default. Nothing that a file names is imported or executed here. Files with tensors, "
            "numbers, strings and lists, tuples and dicts of them can be read: for a module or an "
            "optimizer save its state_dict(), in the program that has its class"
        )
    return found


class Function(Constructor):
    """A function of ours. `hashes` tells that it uses items of its arguments as keys."""

    def __init__(self, name: str, function: Callable[..., Any], hashes: bool = False) -> None:
        self.name, self.function, self.hashes = name, function, hashes
        # bytes that an object of it takes at least, for the limit on memory: a tensor takes more
        self.nbytes = 300 if "rebuild" in name else 100

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class StorageClass(Constructor):
    """`torch.FloatStorage` and the like, which occur in persistent ids. `dtype` is None if it does
    not exist here.
    """

    def __init__(self, name: str, kind: dtype | None) -> None:
        self.name, self.dtype = name, kind

    def known_dtype(self) -> dtype:
        """The dtype; ArchiveError if it does not exist here."""
        if self.dtype is None:
            raise ArchiveError(
                f"{self.name}: there are no tensors of this dtype here; save t.float()"
            )
        return self.dtype


class OrderedDictClass(Constructor):
    """`collections.OrderedDict`. Its state are attributes: a state dict has `_metadata`."""

    name = "collections.OrderedDict"

    def __call__(self, pairs: Any = ()) -> Any:
        if not isinstance(pairs, (list, tuple)) or any(
            type(pair) not in (list, tuple) for pair in pairs
        ):
            raise ArchiveError("an OrderedDict is made of a list of pairs")
        if not all(is_key(key) for key, _ in pairs):
            raise ArchiveError("an OrderedDict has numbers and strings for keys")
        return OrderedDict(pairs)

    def set_state(self, obj: Any, state: Any) -> None:
        set_attributes(obj, state)


class TensorClass(Constructor):
    """`torch.Tensor` and `torch.nn.Parameter`, as arguments of `_rebuild_from_type_v2`."""

    def __init__(self, name: str) -> None:
        self.name = name


def set_attributes(obj: Any, state: Any) -> None:
    """Sets attributes as by `obj.__dict__.update(state)`. Raises ArchiveError for names that the
    class has, so that a file cannot replace a method.
    """
    if type(state) is tuple and len(state) == 2 and not state[1]:
        state = state[0]  # (attributes, slots), as Python writes it for an object without slots
    if type(state) is not dict:
        raise ArchiveError(
            f"the attributes of a {type(obj).__name__} are in a dict, not in a "
            f"{type(state).__name__}"
        )
    for name in state:
        if type(name) is not str or hasattr(type(obj), name):
            raise ArchiveError(
                f"a file may not replace the attribute {name!r} of a {type(obj).__name__}"
            )
    obj.__dict__.update(state)


# Tensors


def rebuild_tensor(storage: Any, offset: Any, sizes: Any, strides: Any) -> Any:
    return view_of(storage, offset, sizes, strides)


def rebuild_tensor_v2(
    storage: TypedStorage,
    offset: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    requires_grad: bool,
    hooks: Any,
    metadata: Any = None,
) -> Any:
    """A view of a storage. `hooks` are ignored, as they would be code; `metadata` marks a lazy
    conjugate or negative, which do not exist here.
    """
    if metadata:
        raise ArchiveError(
            f"a tensor with {list(metadata)}: save it after resolve_conj() and resolve_neg()"
        )
    return marked(view_of(storage, offset, sizes, strides), requires_grad)


def rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    sizes: Any,
    strides: Any,
    requires_grad: bool,
    hooks: Any,
    kind: Any,
    metadata: Any = None,
) -> Any:
    """The same for a storage of bytes, whose elements have the dtype `kind`."""
    if not isinstance(kind, dtype) or not isinstance(storage, TypedStorage):
        raise ArchiveError("a tensor is made of a storage and a dtype")
    return rebuild_tensor_v2(
        TypedStorage(storage.untyped(), kind),
        offset,
        sizes,
        strides,
        requires_grad,
        hooks,
        metadata,
    )


def rebuild_meta_tensor(
    kind: dtype, sizes: Sequence[int], strides: Sequence[int], requires_grad: bool
) -> Any:
    """A tensor on the meta device, which has no memory."""
    if not isinstance(kind, dtype):
        raise ArchiveError("a tensor on the meta device has a dtype")
    check_geometry(sizes, strides, kind)
    storage = Storage.allocate(span_of(sizes, strides) * kind.itemsize, META)
    return marked(newly_made(make(storage, geometry(sizes, strides, kind, META))), requires_grad)


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Any:
    from internals.nn.parameter import Parameter

    if not isinstance(data, TensorImpl):
        raise ArchiveError("a parameter is made of a tensor")
    return marked(Parameter(data, requires_grad=False), requires_grad)


def rebuild_parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Any:
    parameter = rebuild_parameter(data, requires_grad, hooks)
    set_attributes(parameter, state)
    return parameter


def rebuild_from_type(function: Function, kind: TensorClass, args: Any, state: Any) -> Any:
    """A tensor or parameter with attributes that the user has set on it."""
    if (
        not isinstance(function, Function)
        or function not in REBUILD
        or not isinstance(kind, TensorClass)
    ):
        raise ArchiveError("only tensors and parameters can be made with attributes")
    t = function(*args)
    set_attributes(t, state)
    return t


def view_of(
    storage: TypedStorage, offset: int, sizes: Sequence[int], strides: Sequence[int]
) -> Any:
    """A tensor that is a view of `storage`. Raises ArchiveError unless each of its elements is
    inside of it: otherwise a file could read and write any memory of the process.
    """
    if not isinstance(storage, TypedStorage):
        raise ArchiveError(f"a tensor is made of a storage, not of a {type(storage).__name__}")
    check_geometry(sizes, strides, storage.dtype)
    if type(offset) is not int or not 0 <= offset < MAX_BYTES:
        raise ArchiveError(f"a tensor cannot begin at element {offset!r} of its storage")
    end = offset + span_of(sizes, strides)  # one more than the largest index in the storage
    if end > storage.size() and end > offset:
        raise ArchiveError(
            f"a tensor of sizes {list(sizes)} and strides {list(strides)} at offset {offset} "
            f"reaches up to element {end} of a storage that has {storage.size()}"
        )
    untyped = storage.untyped()
    return newly_made(
        make(untyped, geometry(sizes, strides, storage.dtype, untyped.device), offset)
    )


def check_geometry(sizes: Sequence[int], strides: Sequence[int], kind: dtype) -> None:
    """Raises ArchiveError unless these can be the sizes and strides of a tensor of dtype `kind`."""
    for name, values in (("sizes", sizes), ("strides", strides)):
        if (
            type(values) not in (tuple, Size)
            or len(values) > MAX_DIMS
            or any(type(n) is not int for n in values)
        ):
            raise ArchiveError(f"the {name} of a tensor are at most {MAX_DIMS} integers in a tuple")
        if any(not 0 <= n < MAX_BYTES for n in values):
            raise ArchiveError(f"the {name} of a tensor are not negative, nor beyond all memory")
    if len(sizes) != len(strides):
        raise ArchiveError(f"a tensor with {len(sizes)} sizes and {len(strides)} strides")
    # Empty dimensions count as 1: (0, 2^61, 2^61) is refused, too.
    if max(prod(max(n, 1) for n in sizes), *strides, 0) * kind.itemsize >= MAX_BYTES:
        raise ArchiveError("a tensor with more elements than can be counted")


def marked(t: Tensor, requires_grad: bool) -> Any:
    """`t`, with `requires_grad` set as the file says."""
    if type(requires_grad) is not bool:
        raise ArchiveError("requires_grad is neither True nor False")
    if not requires_grad:
        return t
    try:
        return t.requires_grad_()
    except RuntimeError as error:
        raise ArchiveError(str(error)) from None


# Other values


def encode(text: Any, encoding: str) -> bytes:
    """Bytes, which protocol 2 writes as a str with the same codes."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise ArchiveError("bytes are made of a str in latin1")
    return text.encode("latin1")


def make_bytearray(text: bytes | str = "", encoding: str = "latin-1") -> bytearray:
    return bytearray(text if type(text) is bytes else encode(text, encoding))


def make_bytes() -> bytes:
    return b""


def make_complex(real: float, imag: float) -> complex:
    if type(real) is not float or type(imag) is not float:
        raise ArchiveError("a complex is made of two floats")
    return complex(real, imag)


def make_set(items: Sequence[int | str] = ()) -> set[Any]:
    if type(items) not in (list, tuple):
        raise ArchiveError("a set is made of a list")
    return set(items)


def make_counter(counts: Any = None) -> Any:
    if counts is not None and type(counts) is not dict:
        raise ArchiveError("a Counter is made of a dict")
    return Counter(counts)


def make_size(sizes: Sequence[int] = ()) -> Size:
    if type(sizes) not in (tuple, list) or any(type(n) is not int for n in sizes):
        raise ArchiveError("a Size is made of integers")
    return Size(sizes)


def make_device(kind: str, index: int | None = None) -> device:
    if type(kind) is not str or type(index) not in (int, type(None)):
        raise ArchiveError("a device is a str and perhaps an index")
    try:
        return device(kind, index)
    except RuntimeError as error:
        raise ArchiveError(f"{error} (the file was written where that device exists)") from None


def get_layout(name: str) -> layout:
    if name != "torch.strided":
        raise ArchiveError("the only layout here is torch.strided")
    return strided


def list_itself(items: Sequence[Scalar | Tensor]) -> list[Any]:
    """The list itself: TorchScript marks a list with its type, which Python does not need."""
    if type(items) is not list:
        raise ArchiveError("a typed list is made of a list")
    return items


def value_itself(value: Any, type_name: str) -> Any:
    """The value itself, without the type that TorchScript has marked it with."""
    return value


_FUNCTIONS = [
    Function("torch._utils._rebuild_tensor", rebuild_tensor),
    Function("torch._utils._rebuild_tensor_v2", rebuild_tensor_v2),
    Function("torch._utils._rebuild_tensor_v3", rebuild_tensor_v3),
    Function("torch._utils._rebuild_meta_tensor_no_storage", rebuild_meta_tensor),
    Function("torch._utils._rebuild_parameter", rebuild_parameter),
    Function("torch._utils._rebuild_parameter_with_state", rebuild_parameter_with_state),
    Function("torch._tensor._rebuild_from_type_v2", rebuild_from_type),
    Function("_codecs.encode", encode),
    Function("builtins.bytearray", make_bytearray),
    Function("builtins.bytes", make_bytes),
    Function("builtins.complex", make_complex),
    Function("builtins.set", make_set, hashes=True),
    Function("collections.Counter", make_counter),
    Function("torch.Size", make_size),
    Function("torch.device", make_device),
    Function("torch.serialization._get_layout", get_layout),
    *(
        Function(f"torch.jit._pickle.build_{kind}list", list_itself)
        for kind in ("int", "double", "bool", "tensor")
    ),
    Function("torch.jit._pickle.restore_type_tag", value_itself),
]
REBUILD = tuple(f for f in _FUNCTIONS if f.name.startswith("torch._utils."))
_FOREIGN = ("BFloat16", "QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4", "ComplexHalf")
_CONSTRUCTORS: list[Any] = [
    *_FUNCTIONS,
    OrderedDictClass(),
    TensorClass("torch.Tensor"),
    TensorClass("torch.nn.parameter.Parameter"),
    *(StorageClass(f"torch.{name}Storage", kind) for kind, name in SCALAR_TYPE_NAME.items()),
    *(StorageClass(f"torch.{name}Storage", None) for name in _FOREIGN),
    StorageClass("torch.storage.UntypedStorage", dt.uint8),
]

# (module, name) -> the constructor or value for it
ALLOWED: dict[tuple[str, str], Any] = {tuple(c.name.rsplit(".", 1)): c for c in _CONSTRUCTORS}
ALLOWED |= {("torch", kind.name): kind for kind in dt.ALL}
