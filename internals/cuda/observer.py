"""The interface for watching a launch: the calls that the interpreter makes to an observer.

The observer supplies the arrays that the kernel sees, so that each access calls the observer's own
code; and it is told which thread runs, so that it knows which one made the access. The calls of a
launch come in this order:

    array                     once for each array among the arguments, before any thread runs
    begin_block               for each block
        begin_thread          for each thread of it, each time it goes on: at its beginning and
                              after every barrier and shuffle
            shared_array      when the first thread of the block comes to a `cuda.shared.array`

An observer that prints who runs, and leaves the arrays as they are:

    class Printer:
        in_atomic = False
        def array(self, name, data, argument): return data
        def shared_array(self, name, data): return data
        def begin_block(self, index): print("block", index)
        def begin_thread(self, thread, phase): print("    thread", thread.x, "phase", phase)

Given to `interpreter.run` for a block of two threads with one `cuda.syncthreads()`, it prints

    block (0, 0, 0)
        thread 0 phase 0
        thread 1 phase 0
        thread 0 phase 1
        thread 1 phase 1

`cuda.atomic` reads and writes through the same arrays; while it does, `in_atomic` is True.

How the real one differs: compute-sanitizer patches the kernel, so that it calls device functions of
the tool (`sanitizerPatchModule`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .registers import Dim3


class Observer(Protocol):
    """The methods of an object that watches a launch. `recorder.Recorder` is the only one."""

    in_atomic: bool  # the running thread is inside of an atomic operation

    def array(self, name: str, data: Any, argument: Any) -> Any:
        """The array that the kernel gets for its argument `name`. It is indexed like `data`, a
        numpy array over the memory of `argument`, a `DeviceArray`.
        """

    def shared_array(self, name: str, data: Any) -> Any:
        """The array that the threads of the running block get for one in shared memory. `data` is a
        numpy array; `name` is "shared0", "shared1", ... in the order of first use.
        """

    def begin_block(self, index: tuple[int, int, int]) -> None:
        """The block at the position `index` of the grid, (x, y, z), begins."""

    def begin_thread(self, thread: Dim3, phase: int) -> None:
        """The thread at the position `thread` of its block, its `cuda.threadIdx`, goes on; the
        block has passed `phase` barriers.
        """
