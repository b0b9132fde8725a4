"""The files that the working models of before_codegen.py read, as they were in 2016 and 2017,
shortened.

How the real ones differ: they have hundreds of functions and declarations where these have one or
two, and C++ around them.
"""

TH_H = """\
#include <stdint.h>
#define TH_CONCAT_EXPAND(a, b, c, d) a##b##c##d
#define TH_CONCAT(a, b, c, d) TH_CONCAT_EXPAND(a, b, c, d)
#define THTensor TH_CONCAT(TH, Real, Tensor, )
#define THTensor_(NAME) TH_CONCAT(TH, Real, Tensor_, NAME)
"""

GENERIC_C = """\
typedef struct THTensor { int64_t nDimension, size[2], stride[2]; real *data; } THTensor;

/* r = beta * t + alpha * (mat @ vec); returns 0, or 1 when the sizes do not match */
int THTensor_(addmv)(THTensor *r, real beta, THTensor *t, real alpha, THTensor *mat, THTensor *vec)
{
  if (mat->nDimension != 2 || vec->nDimension != 1 || t->nDimension != 1) return 1;
  if (mat->size[1] != vec->size[0] || mat->size[0] != t->size[0]) return 1;
  for (int64_t i = 0; i < mat->size[0]; i++) {
    accreal sum = 0;
    for (int64_t j = 0; j < mat->size[1]; j++)
      sum += mat->data[i * mat->stride[0] + j * mat->stride[1]] * vec->data[j * vec->stride[0]];
    r->data[i * r->stride[0]] = beta * t->data[i * t->stride[0]] + alpha * sum;
  }
  return 0;
}
"""

GENERIC_PY = """\
def THTensor_(addmv)(r, beta, t, alpha, mat, vec):
    if mat.nDimension != 2 or vec.nDimension != 1 or t.nDimension != 1: return 1
    if mat.size[1] != vec.size[0] or mat.size[0] != t.size[0]: return 1
    for i in range(mat.size[0]):
        sum = 0
        for j in range(mat.size[1]):
            sum += mat.data[i * mat.stride[0] + j * mat.stride[1]] * vec.data[j * vec.stride[0]]
        r.data[i * r.stride[0]] = beta * t.data[i * t.stride[0]] + alpha * sum
    return 0
"""

SOURCE_C = """\
#include "TH.h"
//generic_include TH generic/THTensorMath.c
"""

CWRAP = """\
[[
  name: addmv_
  cname: addmv
  return: self
  arguments:
    - THTensor* self
    - arg: real beta
      default: AS_REAL(1)
    - THTensor* self
    - arg: real alpha
      default: AS_REAL(1)
    - THTensor* mat
    - THTensor* vec
]]
"""

EXTENSION_HEAD = """\
from pathlib import Path

from before_codegen import load_library, runtime

globals().update(load_library(Path(__file__).parent / "lib"))


def AS_REAL(x):
    return x


"""

INIT_PY = """\
from toytorch import _C

TYPE_OF = {"float32": "Float", "float64": "Double", "int32": "Int", "int64": "Long"}


def addmv_(self, *args, **kwargs):
    name = TYPE_OF[str(self.dtype).rpartition(".")[2]]
    return getattr(_C, f"THP{name}Tensor_addmv_")(self, args, kwargs)
"""
