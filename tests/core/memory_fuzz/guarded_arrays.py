"""The memory of numpy's arrays between guard pages, too: machine code gets addresses of such.

numpy asks a handler for memory (NEP 49). This one is machine code itself, because no Python may run
where an array goes while an error is on its way. A block ends where a page ends; in front of the
first forbidden page is one that says how long all of it is.
"""

from __future__ import annotations

import ctypes

import numpy as np

from internals.machine_code.llvm import functions_from_ir
from tests.core.memory_fuzz.guarded import PAGE, guarded

SET_HANDLER = 304  # where numpy's table of functions has `PyDataMem_SetHandler`

IR = f"""
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare ptr @memcpy(ptr, ptr, i64)

define ptr @fresh(i64 %asked, i32 %pattern) {{
  %n = call i64 @llvm.umax.i64(i64 %asked, i64 1)
  %more = add i64 %n, {PAGE - 1}
  %inside = and i64 %more, {-PAGE}
  %whole = add i64 %inside, {3 * PAGE}
  %large = icmp ugt i64 %n, {1 << 40}
  br i1 %large, label %none, label %take
take:
  %pages = call ptr @mmap(ptr null, i64 %whole, i32 0, i32 34, i32 -1, i64 0)
  %failed = icmp eq ptr %pages, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %none, label %open
open:
  %a = call i32 @mprotect(ptr %pages, i64 {PAGE}, i32 3)
  store i64 %whole, ptr %pages
  %first = getelementptr i8, ptr %pages, i64 {2 * PAGE}
  %b = call i32 @mprotect(ptr %first, i64 %inside, i32 3)
  %c = call ptr @memset(ptr %first, i32 %pattern, i64 %inside)
  %slack = sub i64 %inside, %n
  %block = getelementptr i8, ptr %first, i64 %slack
  ret ptr %block
none:
  ret ptr null
}}

define ptr @pages_of(ptr %block) {{
  %address = ptrtoint ptr %block to i64
  %page = and i64 %address, {-PAGE}
  %begin = sub i64 %page, {2 * PAGE}
  %pages = inttoptr i64 %begin to ptr
  ret ptr %pages
}}

define ptr @take(ptr %ctx, i64 %n) {{
  %pattern = load i32, ptr %ctx
  %block = call ptr @fresh(i64 %n, i32 %pattern)
  ret ptr %block
}}

define ptr @take_zeros(ptr %ctx, i64 %n, i64 %size) {{
  %bytes = mul i64 %n, %size
  %block = call ptr @fresh(i64 %bytes, i32 0)
  ret ptr %block
}}

define void @release(ptr %ctx, ptr %block, i64 %n) {{
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %give
give:
  %pages = call ptr @pages_of(ptr %block)
  %whole = load i64, ptr %pages
  %a = call i32 @munmap(ptr %pages, i64 %whole)
  br label %done
done:
  ret void
}}

define ptr @take_more(ptr %ctx, ptr %old, i64 %n) {{
  %pages = call ptr @pages_of(ptr %old)
  %whole = load i64, ptr %pages
  %end = getelementptr i8, ptr %pages, i64 %whole
  %to = ptrtoint ptr %end to i64
  %from = ptrtoint ptr %old to i64
  %behind = sub i64 %to, %from
  %had = sub i64 %behind, {PAGE}
  %kept = call i64 @llvm.umin.i64(i64 %had, i64 %n)
  %block = call ptr @take(ptr %ctx, i64 %n)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %done, label %move
move:
  %a = call ptr @memcpy(ptr %block, ptr %old, i64 %kept)
  call void @release(ptr null, ptr %old, i64 0)
  br label %done
done:
  ret ptr %block
}}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
"""


class Handler(ctypes.Structure):
    """`PyDataMem_Handler`: malloc, calloc, realloc and free, each of which is given the context."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * 4),
    ]


def under_numpy() -> None:
    """From now on numpy's arrays are guarded, in this thread."""
    global handler
    functions = functions_from_ir(IR, ("take", "take_zeros", "take_more", "release"), IR)
    pattern = ctypes.addressof(guarded.pattern)
    handler = Handler(b"guarded", 1, pattern, (ctypes.c_void_p * 4)(*functions))
    address, text, thing = ctypes.c_void_p, ctypes.c_char_p, ctypes.py_object
    python = ctypes.pythonapi
    inside = ctypes.PYFUNCTYPE(address, thing, text)(("PyCapsule_GetPointer", python))
    wrapped = ctypes.PYFUNCTYPE(thing, address, text, address)(("PyCapsule_New", python))
    numpy_functions = inside(np._core._multiarray_umath._ARRAY_API, None)
    set_handler = address.from_address(numpy_functions + SET_HANDLER * ctypes.sizeof(address)).value
    ctypes.PYFUNCTYPE(thing, thing)(set_handler)(
        wrapped(ctypes.addressof(handler), b"mem_handler", None)
    )
