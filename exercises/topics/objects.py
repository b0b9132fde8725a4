"""Exercises of notebook 02: counting references, asking a struct who looks, and one Python object
for each C++ object.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise

LINES = [
    "thing = object()",
    "pair = [thing, thing]",
    "also = pair",
    "copied = list(pair)",
    "del pair",
    "del also",
    "table = {'key': thing, thing: 'value'}",
    "copied.clear()",
]


def counts(*numbers: int) -> str:
    return f"answer = [{', '.join(map(str, numbers))}]"


@exercise(
    level=1,
    title="Count the references",
    ask=f"""
        How many references has the object `thing` after each of these lines? The answer is a list
        of eight numbers, the first for the first line. The checker runs the lines and reads the
        count from the object's struct.

        ```python
        {(chr(10) + " " * 8).join(LINES)}
        ```""",
    start="answer = [..., ..., ..., ..., ..., ..., ..., ...]",
    hints=(
        "Who holds the address of `thing` itself? A name that stands for a list holds the address "
        "of the list.",
        "`list(pair)` makes a new list with the same two entries. `del` takes away a name, and "
        "what goes with it only if that was the last reference.",
    ),
    solution=counts(1, 3, 3, 5, 5, 3, 5, 3),
    why=(
        "The same arithmetic decides when a tensor's memory goes: a view in a forgotten list is a "
        "reference like any other."
    ),
    mistakes=[
        Mistake("A list holds an object once.", counts(1, 2, 2, 3, 3, 2, 4, 3), "each entry"),
        Mistake(
            "Another name for the list holds its entries again.",
            counts(1, 3, 5, 7, 5, 3, 5, 3),
            "same list",
        ),
        Mistake(
            "A copy of a list copies its entries.", counts(1, 3, 3, 3, 3, 1, 3, 3), "same objects"
        ),
        Mistake(
            "`del` frees what the name stands for.",
            counts(1, 3, 3, 5, 3, 3, 5, 3),
            "takes away a name",
        ),
        Mistake(
            "Only values are held, keys are looked up.",
            counts(1, 3, 3, 5, 5, 3, 4, 2),
            "also the key",
        ),
        Mistake("A name alone is no reference.", counts(0, 2, 2, 4, 4, 2, 4, 2), "the name"),
    ],
)
def objects_1(answer: list[int]) -> str:
    truth = counted()
    if not isinstance(answer, (list, tuple)) or len(answer) != len(truth):
        raise Wrong(f"the answer is a list of {len(truth)} numbers")
    because = {
        "thing = object()": "the name `thing` is a reference, and the only one",
        "pair = [thing, thing]": (
            "each entry of a list is a reference, also if it is the same object twice"
        ),
        "also = pair": (
            "another name for the same list: its count went up, not that of what is in it"
        ),
        "copied = list(pair)": "a new list with the same objects in it: two more references",
        "del pair": "del takes away a name; the list lives on, since `also` still stands for it",
        "del also": (
            "that was the last name of the first list: it was freed, and its two references with it"
        ),
        "table = {'key': thing, thing: 'value'}": "a dictionary holds its values and also the keys",
        "copied.clear()": "the second list let go of its two entries",
    }
    for (line, reason), told, number in zip(because.items(), answer, truth):
        if told != number or isinstance(told, bool):
            raise Wrong(f"not {told!r} references after `{line}`: {reason}")
    return f"{truth}: names, entries, keys and values all count the same"


def counted() -> list[int]:
    """The count of `thing` after each line, read from the lower half of the field `ob_refcnt`."""
    names: dict[str, Any] = {}
    numbers = []
    for line in LINES:
        exec(line, names)
        numbers.append(ctypes.c_uint32.from_address(id(names["thing"])).value)
    return numbers


@exercise(
    level=2,
    title="Who looks at this storage?",
    ask="""
        Write `lookers(t)`: how many tensors look at the storage of `t`, itself included. Each of
        them holds one reference to the `Storage` object. Read its count, from the struct or with
        `sys.getrefcount`, and mind the references that you hold yourself while you look.""",
    given="import ctypes\nimport sys",
    start="""
        def lookers(t):
            ...""",
    passes=("lookers",),
    hints=(
        "`t.untyped_storage()` is one Python object for all tensors on it. Its count is the first "
        "field of its struct.",
        "`ctypes.c_uint32.from_address(id(storage)).value` is the count. A variable of yours is "
        "one reference, an argument of `sys.getrefcount` another.",
    ),
    solution="""
        def lookers(t):
            storage = t.untyped_storage()
            return ctypes.c_uint32.from_address(id(storage)).value - 1""",
    why="In C++ it is `t.storage().use_count()`: the storage's own count, in an `intrusive_ptr`.",
    mistakes=[
        Mistake(
            "To look leaves no trace.",
            """
            def lookers(t):
                storage = t.untyped_storage()
                return ctypes.c_uint32.from_address(id(storage)).value""",
            "is your own",
        ),
        Mistake(
            "`sys.getrefcount` says who looks.",
            """
            def lookers(t):
                storage = t.untyped_storage()
                return sys.getrefcount(storage)""",
            "Two references",
        ),
        Mistake(
            "The tensor's count says who looks.",
            """
            def lookers(t):
                return ctypes.c_uint32.from_address(id(t)).value - 1""",
            "count of the tensor",
        ),
        Mistake(
            "A tensor has one looker, a view has two.",
            """
            def lookers(t):
                return 1 if t._base is None else 2""",
            "4 tensors look",
        ),
    ],
)
def objects_2(lookers: Callable[[Any], int]) -> str:
    t = torch.zeros(6)
    names = [t, t, t]  # more references to the tensor, none to its storage
    ask(lookers, t, 1, "one tensor with four names")
    views = [t[1:], t.view(2, 3), t.detach()]
    ask(lookers, t, 4, "a tensor and three views of it")
    ask(lookers, views[1], 4, "asked through one of the views")
    del views[0]
    ask(lookers, t, 3, "one view fewer")
    copied = t.clone()
    ask(lookers, copied, 1, "a clone, which has a storage of its own")
    both = [torch.arange(6).view(2, 3)]
    ask(lookers, both[0], 2, "a view, and the tensor without a name that is its base")
    del names
    return "one field in one struct knows it, and the bytes go when it says 0"


def ask(lookers: Callable[[Any], int], t: Any, truth: int, what: str) -> None:
    told = lookers(t)
    if isinstance(told, int) and told == truth:
        return
    if what.startswith("one tensor") and told == 2:
        raise Wrong(
            f"{what}: 1 looks at the storage, not 2. The other reference is your own, a variable "
            "or an argument"
        )
    if what.startswith("one tensor") and told == 3:
        raise Wrong(
            f"{what}: 1 looks at the storage, not 3. Two references are yours: a variable, and "
            "getrefcount's argument"
        )
    if what.startswith("one tensor") and isinstance(told, int) and told > 3:
        raise Wrong(
            f"{what}: 1, not {told}: that is the count of the tensor, and its names are no lookers"
        )
    number = "1 tensor looks" if truth == 1 else f"{truth} tensors look"
    raise Wrong(f"{what}: {number} at the storage, not {told!r}")


WRAP = """
handles = weakref.WeakValueDictionary()

def wrap(storage):
    handle = handles.get(id(storage))
    if handle is None:
        handle = handles[id(storage)] = Handle(storage)
    return handle"""


@exercise(
    level=3,
    title="One Python object for each C++ object",
    ask="""
        In PyTorch, the Python object is a thin handle on a C++ object, and whoever asks again for
        the handle must get *the same* one, with the attributes that were set on it. Let a `Storage`
        play the C++ object. Write `wrap(storage)`, which returns its `Handle`: always the same
        as long as it is held, and nothing is kept once it is not, so that the storage's bytes
        go at once.""",
    given="""
        import weakref

        class Handle:
            def __init__(self, cdata):
                self.cdata = cdata""",
    start="""
        def wrap(storage):
            ...""",
    passes=("wrap",),
    hints=(
        "A table from storage to handle, which finds handles without keeping them alive. Which "
        "references do not count?",
        "`weakref.WeakValueDictionary()` forgets an entry when its value goes. Take `id(storage)` "
        "as the key: as long as the handle lives, it holds the storage, so no other object can get "
        "that id.",
    ),
    solution=WRAP,
    why=(
        "PyTorch keeps the pointer to the Python object in the `TensorImpl` itself, and couples "
        "the two counts (`c10/util/intrusive_ptr.h`), so that a handle survives as long as C++ "
        "needs the tensor."
    ),
    mistakes=[
        Mistake(
            "A handle is made when it is needed.",
            """
            def wrap(storage):
                return Handle(storage)""",
            "another handle",
        ),
        Mistake(
            "A table of all handles will do.",
            WRAP.replace("weakref.WeakValueDictionary()", "{}"),
            "still in use",
        ),
        Mistake(
            "A weak reference keeps a new object until the function returns.",
            WRAP.replace(
                "WeakValueDictionary()", "WeakValueDictionary()\nalive = weakref.ref"
            ).replace(
                "handle = handles[id(storage)] = Handle(storage)",
                "handle = alive(Handle(storage))()",
            ),
            "NoneType",
        ),
        Mistake(
            "The last handle is remembered.",
            """
            last = [None]

            def wrap(storage):
                if last[0] is None or last[0]() is None or last[0]().cdata is not storage:
                    handle = Handle(storage)
                    last[0] = weakref.ref(handle)
                    return handle
                return last[0]()""",
            "another one in between",
        ),
        Mistake(
            "Storages of the same size are the same.",
            WRAP.replace("id(storage)", "storage.nbytes()"),
            "of another storage",
        ),
    ],
)
def objects_3(wrap: Callable[[Any], Any]) -> str:
    allocator = torch.cpu.CachingAllocator()
    with torch.cpu.use_cpu_allocator(allocator):
        tensors = [torch.zeros(100), torch.zeros(100), torch.zeros(7)]
        first = wrap(tensors[0].untyped_storage())
        if getattr(first, "cdata", None) is not tensors[0].untyped_storage():
            raise Wrong(
                f"wrap returned {type(first).__name__}, whose cdata is not the storage: wanted is "
                "its Handle"
            )
        first.hook = "mine"
        if wrap(tensors[0].untyped_storage()) is not first:
            raise Wrong(
                "asked twice for the same storage, wrap gave another handle: attributes set on the "
                "first one are lost"
            )
        others = [wrap(t.untyped_storage()) for t in tensors[1:]]
        if any(handle.cdata is not t.untyped_storage() for handle, t in zip(others, tensors[1:])):
            raise Wrong(
                "for a storage that had not been asked for before, wrap gave the handle of another "
                "storage"
            )
        if wrap(tensors[0][3:].untyped_storage()) is not first or first.hook != "mine":
            raise Wrong(
                "asked again for the first storage after another one in between, wrap gave another "
                "handle"
            )
        in_use = allocator.stats.bytes
        del tensors[0]
        if allocator.stats.bytes != in_use:
            raise Wrong(
                "the tensor went, and its bytes went with it although a handle is held: a handle "
                "holds its storage"
            )
        del first
        if allocator.stats.bytes == in_use:
            raise Wrong(
                "tensor and handle are gone, and the storage's bytes are still in use: something "
                "keeps the handle alive"
            )
        del tensors, others
    if allocator.stats.bytes:
        raise Wrong("all tensors and handles are gone, and bytes are still in use")
    for size in (5, 5, 5):  # a new storage may get the address, and so the id, of one that is gone
        t = torch.zeros(size)
        if wrap(t.untyped_storage()).cdata is not t.untyped_storage():
            raise Wrong(
                "a new storage got the handle of one that is gone: ids are used again once their "
                "object is freed"
            )
    return "the same handle as long as it is held, and not a byte kept once it is not"
