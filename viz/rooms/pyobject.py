"""`viz.pyobject`: the C struct of a live Python object, read from its memory while you look.

Every Python object is a C struct that begins with a reference count and a pointer to its type. What
follows depends on the type: a float has a double, a list a pointer to an array of pointers, our
tensor one pointer per slot. The values in the picture come from memory at `id(obj)`, not from
asking the object.

How the real one differs: a `torch.Tensor` is the struct `THPVariable`, a header and a pointer to a
C++ `TensorImpl`; ours holds its parts in slots of the Python object itself.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any

from viz.canvas import Canvas
from viz.layouts import (
    DECLARATIONS,
    MINORS,
    Member,
    declaration,
    end_of,
    members,
    portable_declaration,
)
from viz.peek import HAS_GC, HEAP_TYPE, brief, check_interpreter, object_at, read, slots
from viz.refs import is_immortal
from viz.scene import Picture
from viz.text import plural

ITEMS_AT_MOST = 8


@dataclass
class Field:
    """One row: where it is (None where that depends on Python's version), what C calls it, what it
    holds.
    """

    offset: int | None
    nbytes: int
    ctype: str
    name: str
    value: str
    pointer: bool = False


@dataclass
class PyObject(Picture):
    type_name: str
    struct: str
    size: int | None  # in bytes; None where that depends on Python's version
    fields: list[Field]
    declaration: str
    notes: list[str]
    array: list[Field]  # what a list's ob_item points to
    array_note: str = ""

    def text(self) -> str:
        from viz.rooms.pyobject_writers import pyobject_text

        return pyobject_text(self)

    def canvas(self) -> Canvas:
        from viz.rooms.pyobject_writers import pyobject_canvas

        return pyobject_canvas(self)


def pyobject(obj: Any, *, portable: bool = False, real_addresses: bool = False) -> PyObject:
    """The struct behind `obj`: every field with its offset, C type and live value.

    The reference count is what others hold: this call's own reference is not counted. Pointers to
    objects are shown as `&` and what they point to, other pointers as &M0, &M1, ...;
    `real_addresses=True` shows the numbers. Structs differ a little between Python 3.11, 3.12 and
    3.13: `portable=True` shows only what they have in common, and says what is hidden.

    Raises RuntimeError on other versions, on free-threaded builds and on interpreters other than
    CPython.
    """
    check_interpreter()
    references = read(id(obj), "Py_ssize_t") - _held_by_a_call(object())
    return _Reader(obj, references, portable, real_addresses).scene()


def _held_by_a_call(obj: object) -> int:
    """How many references to its argument a call holds by itself."""
    return read(id(obj), "Py_ssize_t")


class _Reader:
    """Reads one object. Its methods are the types that need more than one field after the other."""

    def __init__(self, obj: Any, references: int, portable: bool, real_addresses: bool) -> None:
        self.obj, self.references, self.portable, self.real = (
            obj,
            references,
            portable,
            real_addresses,
        )
        self.address, self.cls = id(obj), type(obj)
        self.pointers: list[int] = []
        self.notes: list[str] = []
        self.kind = self._kind()

    def _kind(self) -> str:
        if issubclass(self.cls, str) and not str.isascii(self.obj):
            return "str (not ASCII)"
        return next(
            (b.__name__ for b in self.cls.__mro__ if b.__name__ in DECLARATIONS and _known(b)),
            "object",
        )

    def scene(self) -> PyObject:
        layout = self._fixed()
        fields = [self._field(m) for m in layout if m.count is None]
        fields += self._tail(layout)
        covered = max((m.offset + m.nbytes for m in members(self.kind)), default=16)
        fields += self._more(covered)
        array, array_note = self._items() if self.kind == "list" else ([], "")
        size = None if self.portable and self._size_varies() else self._size(fields)
        self._say_more()
        shown = portable_declaration(self.kind) if self.portable else declaration(self.kind)
        struct = shown.rsplit("}", 1)[1].strip(" ;")
        if self.kind == "object" and len(fields) > 2:
            struct = self.cls.__name__
            shown = _own_declaration(struct, fields)
        return PyObject(
            self.cls.__name__, struct, size, fields, shown, self.notes, array, array_note
        )

    def _fixed(self) -> list[Member]:
        """The fields to show; in portable mode those of all versions."""
        mine = members(self.kind)
        if not self.portable:
            return mine
        every = [{m.name: m for m in members(self.kind, minor)} for minor in MINORS]
        hidden = [n for names in every for n in names if not all(n in other for other in every)]
        if hidden:
            names = ", ".join(dict.fromkeys(hidden))
            self.notes.append(f"hidden, because it depends on the version of Python: {names}")
        return [m for m in mine if m.name not in hidden]

    def _offset(self, member: Member) -> int | None:
        if not self.portable or member not in members(self.kind):
            return member.offset
        every = {
            m.offset for minor in MINORS for m in members(self.kind, minor) if m.name == member.name
        }
        return member.offset if len(every) == 1 else None

    def _size_varies(self) -> bool:
        if self.kind == "type" or self._moved_weakrefs():
            return True
        return len({end_of(members(self.kind, minor)) for minor in MINORS}) > 1

    def _moved_weakrefs(self) -> bool:
        """Whether this is a class of a user whose weak references moved in 3.12 from the struct to
        before its header.
        """
        return bool(self.cls.__flags__ & HEAP_TYPE and self.cls.__weakrefoffset__)

    def _size(self, fields: list[Field]) -> int:
        """Of the struct alone, without the tables and arrays that it points to."""
        if self.cls is str:
            return end_of(members(self.kind)) + fields[-1].nbytes
        # getsizeof counts it, but it lies before the struct
        gc_head = 16 if self.cls.__flags__ & HAS_GC else 0
        elsewhere = ("object", "list", "dict", "set", "frozenset", "bytearray", "ndarray", "type")
        return (
            self.cls.__basicsize__
            if self.kind in elsewhere
            else int(sys.getsizeof(self.obj)) - gc_head
        )

    def _field(self, m: Member) -> Field:
        raw = read(self.address + m.offset, m.ctype)
        return Field(
            self._offset(m), m.nbytes, m.ctype, m.name, self._value(m, raw), m.ctype.endswith("*")
        )

    def _value(self, m: Member, raw: Any) -> str:
        special = getattr(self, f"_show_{m.name}", None)
        if special is not None:
            return special(raw)
        if m.ctype in ("PyObject *", "PyTypeObject *"):
            return self._object(raw)
        if m.ctype.endswith("*"):
            return self._pointer(raw)
        return repr(raw)

    def _object(self, raw: int) -> str:
        """A pointer to a Python object: what it points to."""
        if raw == 0:
            return "NULL"
        target = object_at(raw)
        name = target.__name__ if isinstance(target, type) else brief(target)
        return f"{raw:#x} (&{name})" if self.real else f"&{name}"

    def _pointer(self, raw: int) -> str:
        """A pointer to other memory: NULL, or a name by first appearance."""
        if raw == 0:
            return "NULL"
        if raw not in self.pointers:
            self.pointers.append(raw)
        return f"{raw:#x}" if self.real else f"&M{self.pointers.index(raw)}"

    def _show_ob_refcnt(self, raw: int) -> str:
        if self.portable and _interpreter_wide(self.obj):
            return "shared by the whole interpreter"
        if self.portable and self.cls is str and read(self.address + 32, "uint32_t") & 3:
            return "shared: the string is interned"
        if is_immortal(raw):
            return "immortal"
        return str(self.references) if self.references else "0: only this call holds it"

    def _show_ob_size(self, raw: int) -> str:
        return (
            f"{raw} ({_sign(self.obj)}, {plural(abs(raw), 'digit')})"
            if self.kind == "int"
            else str(raw)
        )

    def _show_lv_tag(self, raw: int) -> str:
        return f"{raw:#b} ({_sign(self.obj)}, {plural(raw >> 3, 'digit')})"

    def _show_hash(self, raw: int) -> str:
        if self.kind in ("set", "frozenset"):
            return "-1" if raw == -1 else "computed"
        return (
            str(raw)
            if self.real
            else "-1 (not computed yet)"
            if raw == -1 and not self.portable
            else "cached hash"
        )

    _show_ob_shash = _show_hash

    def _show_state(self, raw: int) -> str:
        kind, interned = raw >> 2 & 7, bool(raw & 3)
        parts = [f"kind={kind}", f"compact={raw >> 5 & 1}", f"ascii={raw >> 6 & 1}"]
        return ", ".join(parts if self.portable else [f"interned={int(interned)}", *parts])

    def _show_tp_name(self, raw: int) -> str:
        return f"{self._pointer(raw)}: {ctypes.string_at(raw).decode()!r}"

    def _show_ma_version_tag(self, raw: int) -> str:
        return str(raw) if self.real else "(a counter of the interpreter)"

    _show__ma_watcher_tag = _show_func_version = _show_ma_version_tag

    def _show_func_globals(self, raw: int) -> str:
        return f"{raw:#x} (&dict)" if self.real else "&dict"

    _show_func_builtins = _show_func_globals

    def _show_flags(self, raw: int) -> str:
        names = {
            1: "C_CONTIGUOUS",
            2: "F_CONTIGUOUS",
            4: "OWNDATA",
            0x100: "ALIGNED",
            0x400: "WRITEABLE",
        }
        return f"{raw:#x} ({' | '.join(name for bit, name in names.items() if raw & bit)})"

    def _show_dimensions(self, raw: int) -> str:
        return self._numbers(raw)

    def _show_strides(self, raw: int) -> str:
        return self._numbers(raw)

    def _numbers(self, raw: int) -> str:
        nd = read(self.address + 24, "int")
        values = [read(raw + 8 * i, "Py_ssize_t") for i in range(nd)]
        return (
            f"{self._pointer(raw)}: {', '.join(map(str, values))}"
            if raw and nd
            else self._pointer(raw)
        )

    def _tail(self, layout: list[Member]) -> list[Field]:
        """The array at the end of the struct: digits, characters, items."""
        if self.kind.startswith("str"):
            return [self._characters()]
        last = layout[-1]
        if last.count != 0:
            return []
        if self.kind == "int":
            count = max(1, -(-abs(int(self.obj)).bit_length() // 30))
        else:
            count = read(self.address + 16, "Py_ssize_t")
        if self.kind == "bytes":
            text = brief(bytes(self.obj)).removeprefix("bytes b")[:-1] + "\\0'"
            return [Field(self._offset(last), count + 1, "char", f"ob_sval[{count + 1}]", text)]
        rows = []
        for i in range(min(count, ITEMS_AT_MOST)):
            item = Member(last.ctype, f"{last.name}[{i}]", last.offset + i * last.itemsize)
            value = self._value(item, read(self.address + item.offset, item.ctype))
            if self.kind == "int" and count > 1:
                value += f"  (× 2^{30 * i})" if i else ""
            base = self._offset(last)
            offset = None if base is None else base + i * last.itemsize
            rows.append(
                Field(offset, last.itemsize, last.ctype, item.name, value, last.ctype.endswith("*"))
            )
        if count > ITEMS_AT_MOST:
            self.notes.append(f"{count - ITEMS_AT_MOST:,} more elements of {last.name} are hidden")
        return rows

    def _characters(self) -> Field:
        """A compact string's characters follow its struct."""
        state = read(self.address + 32, "uint32_t")
        width, length = state >> 2 & 7, read(self.address + 16, "Py_ssize_t")
        if not state >> 5 & 1:
            return Field(None, 0, "void *", "data", "elsewhere: the string is not compact", True)
        ctype = {1: "Py_UCS1", 2: "Py_UCS2", 4: "Py_UCS4"}[width]
        start = end_of(members(self.kind))
        raw = ctypes.string_at(self.address + start, min(length, 40) * width)
        text = raw.decode(
            {1: "latin-1", 2: f"utf-16-{sys.byteorder[0]}e", 4: f"utf-32-{sys.byteorder[0]}e"}[
                width
            ]
        )
        shown = repr(text) + ("…" if length > 40 else "")
        offset = None if self.portable and self._size_varies() else start
        return Field(
            offset,
            (length + 1) * width,
            ctype,
            f"data[{length + 1}]",
            shown[:-1] + "\\0'" if length <= 40 else shown,
        )

    def _more(self, covered: int) -> list[Field]:
        """What the type describes beyond the layout: slots, and the pointers to the dict and the
        weak references.
        """
        if self.kind == "type":
            return []
        rows = []
        described = [s for s in slots(self.cls) if s[0] >= covered]
        extras = [(self.cls.__weakrefoffset__, "weakreflist"), (self.cls.__dictoffset__, "dict")]
        if self.portable and self._moved_weakrefs():
            extras = []
            self.notes.append("hidden, because it depends on the version of Python: weakreflist")
        for offset, name in extras:
            if offset >= covered and offset not in [s[0] for s in described]:
                described.append((offset, "PyObject *", name))
        for offset, ctype, name in sorted(described):
            rows.append(self._field(Member(ctype, name, offset)))
        end = max([covered, *(o + (8 if c.endswith("*") else 4) for o, c, _ in described)])
        if (
            self.kind == "object"
            and (rest := self.cls.__basicsize__ - end) >= 8
            and not self.cls.__flags__ & HEAP_TYPE
        ):
            self.notes.append(f"{rest:,} more bytes are described by no header this picture knows")
        return rows

    def _items(self) -> tuple[list[Field], str]:
        """A list's array of pointers, which lies elsewhere."""
        start, count = read(self.address + 24, "void *"), len(self.obj)
        rows = [
            Field(
                8 * i,
                8,
                "PyObject *",
                f"ob_item[{i}]",
                self._object(read(start + 8 * i, "void *")),
                True,
            )
            for i in range(min(count, ITEMS_AT_MOST))
        ]
        hidden = f", {count - ITEMS_AT_MOST:,} more are hidden" if count > ITEMS_AT_MOST else ""
        return rows, f"ob_item = {self._pointer(start)}: {plural(count, 'pointer')}{hidden}"

    def _say_more(self) -> None:
        if not self.cls.__basicsize__ or not self.cls.__flags__ & HAS_GC:
            return
        self.notes.append("before the struct: 16 bytes for the garbage collector (PyGC_Head)")
        if self.cls.__dictoffset__ < 0 and self.cls.__flags__ & HEAP_TYPE:
            self.notes.append("before that: a pointer to the attributes (a managed dict)")


def _known(base: type) -> bool:
    """Whether this really is the type of that name, not a user's class that happens to be called
    `list`.
    """
    return base.__module__ in ("builtins", "numpy") and not base.__flags__ & HEAP_TYPE


def _sign(number: int) -> str:
    return "zero" if number == 0 else "positive" if number > 0 else "negative"


def _interpreter_wide(obj: Any) -> bool:
    """Whether this is one of the objects that exist once and are used everywhere, so that their
    count is noise.
    """
    if obj is None or obj is Ellipsis or obj is NotImplemented or type(obj) is bool:
        return True
    if type(obj) is int:
        return -5 <= obj <= 256
    if type(obj) in (str, bytes):
        return len(obj) <= 1
    if type(obj) is tuple:
        return not obj
    return isinstance(obj, type) and not obj.__flags__ & HEAP_TYPE


def _own_declaration(name: str, fields: list[Field]) -> str:
    """The C struct that a class with slots amounts to."""
    lines = []
    for f in fields[2:]:
        star = " *" if f.ctype.endswith(" *") else " "
        lines.append(f"    {f.ctype.removesuffix(' *')}{star}{f.name};")
    return "\n".join(["typedef struct {", "    PyObject_HEAD", *lines, f"}} {name};"])
