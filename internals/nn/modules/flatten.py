"""`Flatten` joins dimensions, `Unflatten` splits one (`torch/nn/modules/flatten.py`).

How the real one differs: in old versions `Unflatten` also takes named dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals import Tensor
from internals.nn.modules._options import _Options


class Flatten(_Options):
    """Joins the dimensions from `start_dim` to `end_dim`: by default all but the first."""

    __constants__ = _shown = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__(start_dim=start_dim, end_dim=end_dim)

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(_Options):
    """Splits dimension `dim` into dimensions of sizes `unflattened_size`.

    Raises TypeError unless that is a tuple or list of ints.
    """

    __constants__ = _shown = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for at, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {at}"
                )
        super().__init__(dim=dim, unflattened_size=unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
