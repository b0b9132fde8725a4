"""PyTorch's answers: asked where it is installed, remembered where it is not.

    theirs = answer(lambda torch: torch.mm(x(torch), y(torch)))

calls the function with real PyTorch and gives what it returned, as plain data: tensors as
`RealTensor`, dtypes and devices as text. What it raised is raised. Without PyTorch the answer is
one that `make goldens` has recorded, and the test goes on as if it had asked. With PyTorch each
recorded answer is compared with the one just given, so that the records cannot grow stale unseen.

An answer is known by its test: the name with its parameters, the text of its source, and the
how-manieth question of the test it is. The file that a test stands in does not matter, so tests may
move; one whose source has changed since is skipped without PyTorch, until `make goldens`. What a
question is `about` (drawn arguments, a graph's text, an archive's bytes) is remembered as a
checksum, and a test that asks about anything else fails: something that ought to be the same is
not.
"""

from __future__ import annotations

from tests.answers.asking import HAS_TORCH, answer, begin, forget, oracle, write_recorded
from tests.answers.plain import Plain, Raised, RealTensor, plain

__all__ = [
    "HAS_TORCH",
    "Plain",
    "Raised",
    "RealTensor",
    "answer",
    "begin",
    "forget",
    "oracle",
    "plain",
    "write_recorded",
]
