"""Looking over a kernel's shoulder: what the interpreter tells whoever watches a launch.

The watcher hands out the arrays that the kernel sees, so that each access is a call of its own
code; and it is told which thread runs, so that it knows whose access it is. In a launch the calls
come in this order:

    array                     once for each array among the arguments, before any thread runs
    begin_block               for each block
        begin_thread          for each thread of it, each time it goes on: at its beginning and
                              behind every barrier and shuffle
            shared_array      when the first thread of the block comes to a `cuda.shared.array`

`cuda.atomic` reads and writes through the same arrays, with `in_atomic` set meanwhile.

How the real one differs: compute-sanitizer calls the tool's device functions from inside the
kernel, which it has patched (`sanitizerPatchModule`).
"""

from __future__ import annotations

from typing import Any, Protocol


class Observer(Protocol):
    """What watches a launch. The only one is `recorder.Recorder`."""

    in_atomic: bool  # the running thread is inside of an atomic operation

    def array(self, name: str, data: Any, argument: Any) -> Any:
        """What the kernel gets for its argument `name`: something to index like `data`, a numpy
        array over the argument.
        """

    def shared_array(self, name: str, data: Any) -> Any:
        """What the threads of the running block get for an array in shared memory; `name` numbers
        those of the block.
        """

    def begin_block(self, index: tuple[int, int, int]) -> None:
        """The block `index` begins."""

    def begin_thread(self, thread: Any, phase: int) -> None:
        """The thread at position `thread` goes on; its block has passed `phase` barriers."""
