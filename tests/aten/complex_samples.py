"""Which of the calls in tests/autograd/gradient_samples.py have complex numbers.

Every third one, if the operator takes them; whether it does is found by trying. Numbers are turned
by random angles, so that their size stays what the domain made it. Some tensors of a call may stay
real: the gradient of a real operand of a complex result is a case of its own.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from tests.aten.op_tensors import Dtype, Stream, TensorSpec

COMPLEX_TWIN = {"float32": "complex64", "float64": "complex128"}
TRIES = 8
REAL_TRIES = 20


class Complex:
    """Decides for one operator; a stream of its own leaves the real samples what they are."""

    def __init__(self, name: str) -> None:
        self.stream = np.random.default_rng(zlib.crc32(name.encode()) + 1)
        self.refused = self.real_refused = 0
        self.taken = False

    def is_wanted(self, found: int) -> bool:
        """Whether sample number `found` should be complex; all should, of an operator that refuses
        real ones.
        """
        if not self.taken and self.refused >= TRIES:
            return False
        return found % 3 == 2 or self.real_refused >= REAL_TRIES

    def remember(self, good: bool, is_complex: bool) -> bool:
        """Note what became of a try; returns `good`."""
        if is_complex:
            self.taken |= good
            self.refused += not good
        else:
            self.real_refused = 0 if good else self.real_refused + 1
        return good

    def turned(self, values: dict[str, Any]) -> dict[str, Any]:
        """The arguments with complex numbers: in all floating tensors, or in some; a few numbers
        and dtypes follow.
        """
        share = 1.0 if self.stream.random() < 0.6 else 0.5
        return {name: _turned(v, self.stream, share) for name, v in values.items()}


def _turned(value: Any, stream: Stream, share: float) -> Any:
    if isinstance(value, list):
        return [_turned(v, stream, share) for v in value]
    if isinstance(value, TensorSpec) and value.values.dtype.kind == "f" and stream.random() < share:
        angles = stream.uniform(-np.pi, np.pi, value.values.shape)
        return TensorSpec(np.asarray(value.values * np.exp(1j * angles)), value.layout)
    if isinstance(value, Dtype) and value.name == "float64":
        return Dtype("complex128")
    return value
