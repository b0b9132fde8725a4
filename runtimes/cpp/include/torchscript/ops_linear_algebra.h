// Operators that multiply matrices, einsum and attention among them.
//
// It mirrors aten/src/ATen/native/LinearAlgebra.cpp and transformers/attention.cpp.
//
// How the real one differs: attention there is fused, so that the matrix of weights is never in memory as a whole.
#pragma once

#include "linear_algebra.h"

namespace torchscript {

inline std::vector<Definition> linear_algebra_operators() {
  return {
      {"mm(Tensor self, Tensor mat2)", [](Arguments& a) -> Value { return mm(a[0].toTensor(), a[1].toTensor()); }},
      {"bmm(Tensor self, Tensor mat2)", [](Arguments& a) -> Value { return bmm(a[0].toTensor(), a[1].toTensor()); }},
      {"matmul(Tensor self, Tensor other)",
       [](Arguments& a) -> Value { return matmul(a[0].toTensor(), a[1].toTensor()); }},
      {"mv(Tensor self, Tensor vec)", [](Arguments& a) -> Value { return matmul(a[0].toTensor(), a[1].toTensor()); }},
      {"dot(Tensor self, Tensor tensor)",
       [](Arguments& a) -> Value {
         check(a[0].toTensor().dim() == 1 && a[1].toTensor().dim() == 1, "1D tensors expected, but got ",
               a[0].toTensor().dim(), "D and ", a[1].toTensor().dim(), "D tensors");
         return matmul(a[0].toTensor(), a[1].toTensor());
       }},
      {"outer(Tensor self, Tensor vec2)",
       [](Arguments& a) -> Value { return mul(unsqueeze(a[0].toTensor(), 1), a[1]); }},
      {"linear(Tensor input, Tensor weight, Tensor? bias=None)",
       [](Arguments& a) -> Value { return linear(a[0].toTensor(), a[1].toTensor(), a[2]); }},
      {"addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
       [](Arguments& a) -> Value {
         return add_product(a[0].toTensor(), mm(a[1].toTensor(), a[2].toTensor()), a[3], a[4]);
       }},
      {"baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
       [](Arguments& a) -> Value {
         return add_product(a[0].toTensor(), bmm(a[1].toTensor(), a[2].toTensor()), a[3], a[4]);
       }},
      {"addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
       [](Arguments& a) -> Value {
         return add_product(a[0].toTensor(), matmul(a[1].toTensor(), a[2].toTensor()), a[3], a[4]);
       }},
  };
}

}  // namespace torchscript
