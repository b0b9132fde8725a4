"""`assert_fail`: the call behind `CUDA_KERNEL_ASSERT`, for numba (`__assertfail`, as `assert.h` of
CUDA declares it).

numba compiles `assert` to a return from the kernel that nobody hears of, unless everything is
compiled for debugging. So this intrinsic puts in the call that nvcc makes of `assert`: the driver
prints its arguments and stops the launch.

How the real one differs: nvcc does it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-not-found, import-untyped, unused-ignore]
from numba.core import cgutils, types
from numba.core.extending import intrinsic

MESSAGE, FILE, FUNCTION = (
    b"condition of check() is false\0",
    b"kernel of internals.cuda\0",
    b"check\0",
)


@intrinsic
def assert_fail(typing_context: Any) -> Any:
    """End the launch with cudaErrorAssert."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        char, i32, i64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [char, char, i32, char, i64])
        function = cgutils.get_or_insert_function(builder.module, kind, "__assertfail")
        texts = [_text(builder, text, char) for text in (MESSAGE, FILE, FUNCTION)]
        builder.call(
            function, [texts[0], texts[1], ir.Constant(i32, 0), texts[2], ir.Constant(i64, 1)]
        )
        return context.get_dummy_value()

    return types.void(), codegen


def _text(builder: Any, text: bytes, char: Any) -> Any:
    """A pointer to `text` in global memory, of the generic address space."""
    data = cgutils.make_bytearray(text)
    variable = ir.GlobalVariable(
        builder.module, data.type, builder.module.get_unique_name("assert_text"), addrspace=1
    )
    variable.linkage, variable.global_constant, variable.initializer = "internal", True, data
    generic = builder.addrspacecast(variable, data.type.as_pointer())
    return builder.bitcast(generic, char)
