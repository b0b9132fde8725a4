// Matrix products of tensors: `matmul` and what it is made of.
//
// Every product ends in `bmm`, a batch of plain matrix products. `matmul` makes matrices of vectors, stretches the batch
// dimensions of both sides over each other, and takes away what it added. It mirrors aten/src/ATen/native/LinearAlgebra.cpp.
//
// How the real one differs: it folds batches into one large product where strides allow.
#pragma once

#include "gemm.h"
#include "pointwise.h"
#include "views.h"

namespace torchscript {

// [b, m, k] x [b, k, n] -> [b, m, n]
inline Tensor bmm(const Tensor& a, const Tensor& b) {
  check(a.dim() == 3 && b.dim() == 3, "batch1 and batch2 must be 3D tensors");
  check(a.size(0) == b.size(0) && a.size(2) == b.size(1), "mat1 and mat2 shapes cannot be multiplied (", a.size(1), "x",
        a.size(2), " and ", b.size(1), "x", b.size(2), ")");
  check(a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, but got: ", name_of(a.dtype()),
        " != ", name_of(b.dtype()));
  const Sizes sizes = {a.size(0), a.size(1), b.size(2)};
  return visit_compute(a.dtype(), [&](auto e) {
    using T = decltype(e);
    const Tensor x = to_dtype(a, dtype_of<T>), y = to_dtype(b, dtype_of<T>), out = zeros(sizes, dtype_of<T>);
    for (std::int64_t i = 0; i < sizes[0]; ++i)
      Gemm<T>::add(sizes[1], sizes[2], a.size(2), {x.data<T>() + i * x.stride(0), x.stride(1), x.stride(2)},
                   {y.data<T>() + i * y.stride(0), y.stride(1), y.stride(2)}, out.data<T>() + i * sizes[1] * sizes[2],
                   sizes[2]);
    return to_dtype(out, a.dtype());
  });
}
inline Tensor mm(const Tensor& a, const Tensor& b) {
  check(a.dim() == 2 && b.dim() == 2, "mm expects matrices");
  return squeeze(bmm(unsqueeze(a, 0), unsqueeze(b, 0)), 0);
}

inline Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a.dim() > 0 && b.dim() > 0, "both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ",
        b.dim(), "D");
  Tensor x = a.dim() == 1 ? unsqueeze(a, 0) : a, y = b.dim() == 1 ? unsqueeze(b, 1) : b;
  if (x.dim() == 2 && y.dim() == 2) {
    x = mm(x, y);
  } else if (y.dim() == 2) {  // one large product
    Sizes sizes = x.sizes();
    sizes.back() = y.size(1);
    x = reshape(mm(reshape(x, {-1, x.size(-1)}), y), sizes);
  } else {
    const Sizes batch = broadcast({x.sizes().begin(), x.sizes().end() - 2}, {y.sizes().begin(), y.sizes().end() - 2});
    const auto stretched = [&](const Tensor& t) {
      Sizes sizes = batch;
      sizes.insert(sizes.end(), {t.size(-2), t.size(-1)});
      return reshape(expand(t, sizes), {product(batch), t.size(-2), t.size(-1)});
    };
    Sizes sizes = batch;
    sizes.insert(sizes.end(), {x.size(-2), y.size(-1)});
    x = reshape(bmm(stretched(x), stretched(y)), sizes);
  }
  if (b.dim() == 1) x = squeeze(x, -1);
  return a.dim() == 1 ? squeeze(x, b.dim() == 1 ? -1 : -2) : x;
}

inline Tensor linear(const Tensor& x, const Tensor& weight, const Value& bias) {
  const Tensor out = matmul(x, weight.dim() == 2 ? transpose(weight, 0, 1) : weight);
  return bias.isNone() ? out : add(out, bias);
}

// beta * self + alpha * (a @ b)
inline Tensor add_product(const Tensor& self, const Tensor& product, const Value& beta, const Value& alpha) {
  // what a factor of 0 leaves out may be NaN
  const Tensor scaled = equal(alpha, 0)   ? full(product.sizes(), 0, product.dtype())
                        : equal(alpha, 1) ? product
                                          : mul(product, alpha);
  const Tensor kept = equal(beta, 0) ? full(self.sizes(), 0, self.dtype()) : equal(beta, 1) ? self : mul(self, beta);
  check(is_floating(product.dtype()) || !(is_floating(scaled.dtype()) || is_floating(kept.dtype())) ||
            (alpha.toDouble() == double(cast<std::int64_t>(alpha.toDouble())) &&
             beta.toDouble() == double(cast<std::int64_t>(beta.toDouble()))),
        "For integral input tensors, alpha and beta must not be floating point numbers.");
  return to_dtype(add(kept, scaled), product.dtype());
}

}  // namespace torchscript
