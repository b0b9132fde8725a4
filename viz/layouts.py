"""The C structs behind Python's own types, as CPython's headers declare them, and where their
fields lie.

The declarations below are the only source: what a picture shows beside the bytes is this text, and
the offsets are computed from it by the rules of the C ABI (a field is aligned to its own size). A
comment says which versions of CPython a field belongs to; no comment means all of them.

How the real one differs: the headers in `Include/cpython/` spread each struct over macros and
anonymous unions; here they are written out.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

MINORS = (11, 12, 13)

DECLARATIONS = {
    "object": """
typedef struct {
    PyObject_HEAD
} PyObject;""",
    "float": """
typedef struct {
    PyObject_HEAD
    double ob_fval;
} PyFloatObject;""",
    "complex": """
typedef struct {
    PyObject_HEAD
    double cval_real;
    double cval_imag;
} PyComplexObject;""",
    "int": """
typedef struct {
    PyObject_HEAD
    Py_ssize_t ob_size;            // 3.11
    uintptr_t lv_tag;              // 3.12+
    digit ob_digit[];
} PyLongObject;""",
    "str": """
typedef struct {
    PyObject_HEAD
    Py_ssize_t length;
    Py_hash_t hash;
    uint32_t state;
    wchar_t *wstr;                 // 3.11
} PyASCIIObject;""",
    "str (not ASCII)": """
typedef struct {
    PyObject_HEAD
    Py_ssize_t length;
    Py_hash_t hash;
    uint32_t state;
    wchar_t *wstr;                 // 3.11
    Py_ssize_t utf8_length;
    char *utf8;
    Py_ssize_t wstr_length;        // 3.11
} PyCompactUnicodeObject;""",
    "bytes": """
typedef struct {
    PyObject_VAR_HEAD
    Py_hash_t ob_shash;
    char ob_sval[];
} PyBytesObject;""",
    "bytearray": """
typedef struct {
    PyObject_VAR_HEAD
    Py_ssize_t ob_alloc;
    char *ob_bytes;
    char *ob_start;
    Py_ssize_t ob_exports;
} PyByteArrayObject;""",
    "list": """
typedef struct {
    PyObject_VAR_HEAD
    PyObject **ob_item;
    Py_ssize_t allocated;
} PyListObject;""",
    "tuple": """
typedef struct {
    PyObject_VAR_HEAD
    PyObject *ob_item[];
} PyTupleObject;""",
    "dict": """
typedef struct {
    PyObject_HEAD
    Py_ssize_t ma_used;
    uint64_t ma_version_tag;       // 3.11-3.12
    uint64_t _ma_watcher_tag;      // 3.13+
    PyDictKeysObject *ma_keys;
    PyDictValues *ma_values;
} PyDictObject;""",
    "set": """
typedef struct {
    PyObject_HEAD
    Py_ssize_t fill;
    Py_ssize_t used;
    Py_ssize_t mask;
    setentry *table;
    Py_hash_t hash;
    Py_ssize_t finger;
    setentry smalltable[8];
    PyObject *weakreflist;
} PySetObject;""",
    "function": """
typedef struct {
    PyObject_HEAD
    PyObject *func_globals;
    PyObject *func_builtins;
    PyObject *func_name;
    PyObject *func_qualname;
    PyObject *func_code;
    PyObject *func_defaults;
    PyObject *func_kwdefaults;
    PyObject *func_closure;
    PyObject *func_doc;
    PyObject *func_dict;
    PyObject *func_weakreflist;
    PyObject *func_module;
    PyObject *func_annotations;
    PyObject *func_typeparams;     // 3.12+
    vectorcallfunc *vectorcall;
    uint32_t func_version;
} PyFunctionObject;""",
    "ndarray": """
typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    npy_intp *dimensions;
    npy_intp *strides;
    PyObject *base;
    PyObject *descr;
    int flags;
    PyObject *weakreflist;
} PyArrayObject_fields;""",
}
DECLARATIONS["type"] = """
typedef struct {
    PyObject_VAR_HEAD
    char *tp_name;
    Py_ssize_t tp_basicsize;
    Py_ssize_t tp_itemsize;
    /* ... and about a hundred slots and fields more */
} PyTypeObject;"""
DECLARATIONS["frozenset"] = DECLARATIONS["set"]

HEADS = {
    "PyObject_HEAD": ["Py_ssize_t ob_refcnt", "PyTypeObject *ob_type"],
    "PyObject_VAR_HEAD": ["Py_ssize_t ob_refcnt", "PyTypeObject *ob_type", "Py_ssize_t ob_size"],
}

SIZES = {
    "double": 8,
    "Py_ssize_t": 8,
    "Py_hash_t": 8,
    "uintptr_t": 8,
    "uint64_t": 8,
    "uint32_t": 4,
    "digit": 4,
    "int": 4,
    "char": 1,
    "setentry": 16,
}


@dataclass(frozen=True)
class Member:
    """A field of a struct. `count` is None for one value, 0 for the open array that ends a
    struct.
    """

    ctype: str
    name: str
    offset: int
    count: int | None = None

    @property
    def itemsize(self) -> int:
        return 8 if self.ctype.endswith("*") else SIZES[self.ctype]

    @property
    def nbytes(self) -> int:
        return self.itemsize * (1 if self.count is None else self.count)


def in_version(comment: str, minor: int) -> bool:
    """Whether a field with this comment ("3.11", "3.11-3.12", "3.12+" or "") exists in Python
    3.`minor`.
    """
    numbers = [int(n) for n in re.findall(r"3\.(\d+)", comment)]
    if not numbers:
        return True
    return numbers[0] <= minor and (comment.endswith("+") or minor <= numbers[-1])


def declaration(kind: str, minor: int = sys.version_info.minor) -> str:
    """The C declaration of `kind` in Python 3.`minor`."""
    lines = [line.split("//") for line in DECLARATIONS[kind].strip().splitlines()]
    return "\n".join(
        line[0].rstrip() for line in lines if in_version("".join(line[1:]).strip(), minor)
    )


def portable_declaration(kind: str) -> str:
    """The C declaration of `kind` with the fields of every version, each saying when it was."""
    return re.sub(r" +// (.*)", r"  /* \1 */", DECLARATIONS[kind].strip())


def members(kind: str, minor: int = sys.version_info.minor) -> list[Member]:
    """The fields of `kind` in Python 3.`minor`, in order, with their offsets."""
    fields: list[Member] = []
    end = 0
    for line in declaration(kind, minor).splitlines()[1:-1]:
        if line.strip().startswith("/*"):
            continue
        for text in HEADS.get(line.strip(), [line.strip().rstrip(";")]):
            ctype, stars, name, array = re.fullmatch(r"(\w+) (\**)(\w+)(\[\d*\])?", text).groups()  # type: ignore[union-attr]
            member = Member(
                f"{ctype} {stars}".strip(),
                name,
                0,
                None if array is None else int(array[1:-1] or 0),
            )
            align = min(member.itemsize, 8)
            member = Member(member.ctype, name, (end + align - 1) // align * align, member.count)
            end = member.offset + member.nbytes
            fields.append(member)
    return fields


def end_of(fields: list[Member]) -> int:
    """The size of the struct: past its last field, rounded up so that an array of them stays
    aligned.
    """
    return (fields[-1].offset + fields[-1].nbytes + 7) // 8 * 8
