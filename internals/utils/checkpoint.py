"""Trading time for memory: tensors for backward are computed twice instead of saved
(`torch/utils/checkpoint.py`).

`checkpoint(block, x)` runs `block(x)`, but its nodes save only a number for each tensor. When
backward needs the first of them, the block runs again, and this time the tensors are kept until
each has been used. This is done by `saved_tensors_hooks`.

How the real one differs: it stops recomputing as soon as all tensors are there, compares the
recomputed shapes with those of the first run, restores autocast, and also has the older form with a
`Function` (`use_reentrant=True`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import internals
from internals import enable_grad, get_rng_state, set_rng_state
from internals.autograd.graph import saved_tensors_hooks
from internals.core.tensor_impl import Tensor, TensorImpl

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, for whose backward only the arguments are kept; it runs again
    during backward.

    With `preserve_rng_state`, dropout draws the same numbers again: the generators of the CPU and
    of the GPUs of the arguments are reset for the second run. `use_reentrant` has no effect here.
    Backward raises RuntimeError if the function saves fewer tensors the second time.
    """
    run = _Run(function, args, kwargs, _RandomState(args) if preserve_rng_state else None)
    with saved_tensors_hooks(run.pack, run.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **kwargs: Any) -> Any:
    """Run a sequence of modules in `segments`, each checkpointed but the last.

    The last one is needed first in backward, so checkpointing it would save nothing.
    """
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments
    for i in range(segments - 1):
        input = checkpoint(_Chain(functions[i * size : (i + 1) * size]), input, **kwargs)
    return _Chain(functions[(segments - 1) * size :])(input)


class _Run:
    """One checkpointed call: how many tensors it saved and, during backward, the tensors of the
    second run, by number.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: dict[str, Any],
        random: _RandomState | None,
    ) -> None:
        self.function, self.args, self.kwargs, self.random = function, args, kwargs, random
        self.saved = 0
        self.again: dict[int, Any] = {}

    def pack(self, t: Tensor) -> int:
        """In the first run, save a number instead of the tensor."""
        self.saved += 1
        return self.saved - 1

    def unpack(self, number: int) -> Any:
        """In backward, the tensor with this number; the first one makes the function run again."""
        if number not in self.again:
            self._recompute()
        if number not in self.again:
            raise RuntimeError(
                "checkpoint: A different number of tensors was saved during the original forward "
                "and recomputation.\n"
                f"Number of tensors saved during forward: {self.saved}\n"
                f"Number of tensors saved during recomputation: {len(self.again)}."
            )
        return self.again.pop(number)  # frees the tensor after its last use

    def _recompute(self) -> None:
        """Run the function again, and keep the tensors that its nodes save."""
        self.again = {}

        # the second run saves its tensors in the same order, so they get the same numbers
        def keep(t: Tensor) -> None:
            self.again[len(self.again)] = t.detach()

        with self.random or nullcontext(), enable_grad(), saved_tensors_hooks(keep, _no_backward):
            self.function(*self.args, **self.kwargs)


class _RandomState:
    """The states of the random generators at construction. As a context manager, it restores them,
    and afterwards the states from before the block.

    The generators are those of the CPU and of the GPUs of the tensors in `args`
    (`get_device_states`).
    """

    def __init__(self, args: Sequence[Any]) -> None:
        self.gpus = sorted(
            {
                t.device.index or 0
                for t in args
                if isinstance(t, TensorImpl) and t.device.type == "cuda"
            }
        )
        self.first = self._now()

    def __enter__(self) -> None:
        self.before = self._now()
        self._put(self.first)

    def __exit__(self, *error: object) -> None:
        self._put(self.before)

    def _now(self) -> list[Any]:
        return [get_rng_state(), *[internals.cuda.get_rng_state(gpu) for gpu in self.gpus]]

    def _put(self, states: list[Any]) -> None:
        set_rng_state(states[0])
        for gpu, state in zip(self.gpus, states[1:]):
            internals.cuda.set_rng_state(state, gpu)


class _Chain:
    """Functions as one: each is called with the result of the one before."""

    def __init__(self, functions: list[Any]) -> None:
        self.functions = functions

    def __call__(self, x: Any) -> Any:
        for f in self.functions:
            x = f(x)
        return x


def _no_backward(packed: Any) -> Any:
    """The unpack hook of the second run, whose graph is never used."""
    raise RuntimeError("checkpoint: the recomputed graph is not run backward")
