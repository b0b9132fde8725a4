"""`assert_fail`, the call behind `CUDA_KERNEL_ASSERT`, for kernels that numba compiles
(`__assertfail`, declared in CUDA's `assert.h`).

Unless everything is compiled for debugging, numba compiles `assert` to a return from the kernel,
and the error is lost. This intrinsic inserts the call that nvcc makes of `assert`: the driver
prints its arguments and stops the launch.

How the real one differs: nvcc itself inserts the call, with the file and line of the `assert`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-not-found, import-untyped, unused-ignore]
from numba.core import cgutils, types
from numba.core.extending import intrinsic

MESSAGE, FILE, FUNCTION = (  # C strings: they end with a zero byte
    b"condition of check() is false\0",
    b"kernel of internals.cuda\0",
    b"check\0",
)


@intrinsic
def assert_fail(typing_context: Any) -> Any:
    """Stop the launch; the host then gets cudaErrorAssert. For use in a kernel."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        char, i32, i64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        # void __assertfail(message, file, line, function, bytes of a character)
        kind = ir.FunctionType(ir.VoidType(), [char, char, i32, char, i64])
        function = cgutils.get_or_insert_function(builder.module, kind, "__assertfail")
        texts = [_text(builder, text, char) for text in (MESSAGE, FILE, FUNCTION)]
        builder.call(
            function, [texts[0], texts[1], ir.Constant(i32, 0), texts[2], ir.Constant(i64, 1)]
        )
        return context.get_dummy_value()

    return types.void(), codegen


def _text(builder: Any, text: bytes, char: Any) -> Any:
    """A generic pointer to `text`, which is stored in global memory (`addrspace=1` of NVVM)."""
    data = cgutils.make_bytearray(text)
    variable = ir.GlobalVariable(
        builder.module, data.type, builder.module.get_unique_name("assert_text"), addrspace=1
    )
    variable.linkage, variable.global_constant, variable.initializer = "internal", True, data
    generic = builder.addrspacecast(variable, data.type.as_pointer())
    return builder.bitcast(generic, char)
