"""The type of a tensor: dtype, device, sizes, strides and requires_grad, as far as they are known
before it exists (`aten/src/ATen/core/tensor_type.cpp`).

`TensorType()` knows nothing and prints as `Tensor`. A trace knows everything: `Float(2, 3,
strides=[3, 1], requires_grad=0, device=cpu)`. In between, a size that is not known prints as `*`:
the executor specialises its plans to `Float(*, *)`.

How the real one differs: a size may be a symbol (`SS(-1)`), which shape analysis carries through a
graph; and strides say whether the tensor is dense.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from internals.core.dtype import SCALAR_TYPE_NAME, dtype as DType
from internals.core.tensor_impl import TensorImpl

from .types import CONTAINERS, Text, Type

if TYPE_CHECKING:
    from internals.core.device import device as Device

Sizes = tuple["int | None", ...]


class TensorType(Type):
    """`Tensor`, or a subtype of it that knows more. Each part is None while it is not known.

    `sizes` is None if the number of dimensions is not known; an entry of it is None if that size is
    not. `undefined` is true for a gradient that does not exist (`AutogradZero`). `inferred` marks
    the Tensor of a parameter without annotation, for messages; equality ignores it.
    """

    __slots__ = (
        "_dtype",
        "_device",
        "_sizes",
        "_strides",
        "_requires_grad",
        "undefined",
        "inferred",
    )
    name = "Tensor"

    def __init__(
        self,
        dtype: DType | None = None,
        device: Device | None = None,
        sizes: Sequence[int | None] | None = None,
        strides: Sequence[int | None] | None = None,
        requires_grad: bool | None = None,
        undefined: bool | None = None,
        inferred: bool = False,
    ) -> None:
        self._dtype, self._device, self._requires_grad = dtype, device, requires_grad
        self._sizes: Sizes | None = None if sizes is None else tuple(sizes)
        self._strides: Sizes | None = None if strides is None else tuple(strides)
        self.undefined, self.inferred = undefined, inferred

    @classmethod
    def get(cls) -> TensorType:
        """The type of a tensor of which nothing is known."""
        return _ANY_TENSOR

    @classmethod
    def getInferred(cls) -> TensorType:
        return _INFERRED

    @classmethod
    def create_from_tensor(cls, t: TensorImpl) -> TensorType:
        """The complete type of an existing tensor."""
        return cls(t.dtype, t.device, tuple(t.size()), tuple(t.stride()), t.requires_grad)

    def parts(self) -> tuple[Any, ...]:
        """The facts that equality compares: all but `inferred`."""
        return (
            self._dtype,
            self._device,
            self._sizes,
            self._strides,
            self._requires_grad,
            self.undefined,
        )

    def dtype(self) -> DType | None:
        return self._dtype

    def scalarType(self) -> Text | None:
        return None if self._dtype is None else SCALAR_TYPE_NAME[self._dtype]

    def device(self) -> Device | None:
        return self._device

    def requires_grad(self) -> bool | None:
        return self._requires_grad

    def dim(self) -> int | None:
        return None if self._sizes is None else len(self._sizes)

    def varyingSizes(self) -> list[int | None] | None:
        """The sizes, None for each unknown one; None if even their number is unknown."""
        return None if self._sizes is None else list(self._sizes)

    def sizes(self) -> list[int] | None:
        """The sizes if all of them are known, else None."""
        return _complete(self._sizes)

    def strides(self) -> list[int] | None:
        return _complete(self._strides)

    def isComplete(self) -> bool:
        """Whether dtype, device, sizes and strides are all known (`CompleteTensorType` in
        1.0.1).
        """
        known = self._dtype is not None and self._device is not None
        return known and self.sizes() is not None and self.strides() is not None

    def with_(self, **changes: Any) -> TensorType:
        """A copy with some of `dtype device sizes strides requires_grad undefined` replaced."""
        now = {
            name: getattr(self, f"_{name}")
            for name in ("dtype", "device", "sizes", "strides", "requires_grad")
        }
        return TensorType(**{**now, "undefined": self.undefined, **changes})

    def with_sizes(self, sizes: Sequence[int | None]) -> TensorType:
        return self.with_(sizes=sizes, strides=None)

    def with_dtype(self, d: DType) -> TensorType:
        return self.with_(dtype=d)

    def dimensionedOnly(self) -> TensorType:
        """The type without sizes and strides: dtype, device, rank and requires_grad, on which 1.0.1
        specialises.
        """
        return self.with_(
            sizes=None if self._sizes is None else [None] * len(self._sizes), strides=None
        )

    def merge(self, other: TensorType) -> TensorType:
        """The most precise type that covers both: it knows what they agree on."""
        sizes = strides = None
        if (
            self._sizes is not None
            and other._sizes is not None
            and len(self._sizes) == len(other._sizes)
        ):
            sizes = [a if a == b else None for a, b in zip(self._sizes, other._sizes)]
            if self._strides is not None and other._strides is not None:
                strides = [a if a == b else None for a, b in zip(self._strides, other._strides)]
        dtype = self._dtype if self._dtype is other._dtype else None
        device = self._device if self._device == other._device else None
        requires_grad = self._requires_grad if self._requires_grad == other._requires_grad else None
        return TensorType(dtype, device, sizes, strides, requires_grad)

    def isSubtypeOf(self, other: Type) -> bool:
        if isinstance(other, TensorType):
            # `other` must know nothing that this type does not know, too
            return self == other or self.merge(other) == other
        return super().isSubtypeOf(other)

    def repr_str(self) -> Text:
        name = self.scalarType() or "Tensor"
        if self._dtype is not None and self._sizes is None:
            name += "Tensor"
        verbosity = _verbosity  # see `type_verbosity`
        parts = [] if self._sizes is None else ["*" if s is None else str(s) for s in self._sizes]
        if parts and verbosity >= 2 and (strides := self.strides()) is not None:
            parts.append(f"strides=[{', '.join(map(str, strides))}]")
        if verbosity >= 3:
            if self._requires_grad is not None:
                parts.append(f"requires_grad={int(self._requires_grad)}")
            if self._device is not None:
                parts.append(f"device={self._device}")
        shown = name if self._sizes is None and not parts else f"{name}({', '.join(parts)})"
        return shown + ("[AutogradZero]" if self.undefined else "")


_ANY_TENSOR = TensorType()
_INFERRED = TensorType(inferred=True)
_verbosity = 3


@contextmanager
def type_verbosity(level: int) -> Iterator[None]:
    """Set how much graphs print of a tensor's type: 1 `Float(2, 3)`, 2 also strides, 3 (the
    default) also requires_grad and device.

    PyTorch reads it from the environment variable PYTORCH_JIT_TYPE_VERBOSITY.
    """
    global _verbosity
    outer, _verbosity = _verbosity, level
    try:
        yield
    finally:
        _verbosity = outer


def unshaped(type: Type) -> Type:
    """The type with each tensor type in it replaced by `Tensor` (`unshapedType`)."""
    if isinstance(type, TensorType):
        return type if type.inferred else TensorType.get()
    if not isinstance(type, CONTAINERS):
        return type
    return type.withContained([unshaped(t) for t in type.containedTypes()])


def _complete(entries: Sizes | None) -> list[int] | None:
    """The entries as a list if all are known, else None."""
    if entries is None:
        return None
    known = [e for e in entries if e is not None]
    return known if len(known) == len(entries) else None
