"""From one line of YAML to the code a call runs through (`torchgen/`, `tools/autograd/`).

`python -m codegen` reads the YAML files of `internals/aten/native_functions` and
`internals/autograd/derivatives` and writes `internals/_generated/`:

- `ops.py`        a line per overload: schema and kernels. Of it `internals/aten/registration.py`
                  makes the operator, and the function that calls it, when they are first asked for
- `variants.py`   the in-place and out= kernels derived from a functional one (`autogen`)
- `functions.py`  a line per function: the overloads that `internals.add(...)` stands for;
  `nn_functions.py` the same for nn, `linalg_functions.py`, `fft_functions.py` and
  `special_functions.py` for those
- `second_names.py`   which operators are others by a second name, as `arccos` is `acos`
- `op_facts.py`   what else is true of operators: their tags, second names, derivatives as text
- `methods.py`    the same for `tensor.add(...)`; and what `tensor + tensor` is
- `*.pyi`         the type stubs of these
- `autograd_nodes.py`    each derivative as a node of the graph, with the record that
                         `internals/autograd/kernel.py` reads
- `autograd_kernels.py`  what that does, written out for the operators of `codegen/hot.py`
- `fast_lane.py`, `fast_lane_recorded.py`   elementwise operators on small tensors, without detours

The files are committed, and a test proves that they are fresh.

How the real one differs: torchgen writes C++ (some 200,000 lines of it) at build time and commits
nothing.
"""

import sys
import types
from pathlib import Path

if "internals" not in sys.modules:
    # read the schema parser without importing the package that is being generated
    package = types.ModuleType("internals")
    package.__path__ = [str(Path(__file__).parent.parent / "internals")]
    sys.modules["internals"] = package
