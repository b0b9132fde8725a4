// Reductions and scans, row by row.
//
// The dimensions to be reduced are moved to the end and the tensor made contiguous: then every result comes from one row of
// numbers, and a reduction is a function of a row. `map_rows` is for those that keep the row: softmax, cumsum, sort. It mirrors
// aten/src/ATen/native/ReduceOps.cpp.
//
// How the real one differs: it reduces where the numbers lie, over any dimensions, by vectorized cascades (cpu/Reduce.h).
#pragma once

#include "pointwise.h"
#include "views.h"

namespace torchscript {

// All dimensions when none are given.
inline std::vector<bool> mask_of_dims(const Tensor& t, const Sizes& dims) {
  std::vector<bool> mask(std::size_t(std::max<std::int64_t>(t.dim(), 1)), dims.empty());
  for (const std::int64_t d : dims) {
    check(!mask[std::size_t(t.wrap(d))], "dim ", t.wrap(d), " appears multiple times in the list of dims");
    mask[std::size_t(t.wrap(d))] = true;
  }
  return mask;
}

struct Rows {
  Tensor matrix;      // [number of rows, length of a row], contiguous, of a compute type
  Sizes sizes, kept;  // of the result, without and with the reduced dimensions
};

inline Rows rows_of(const Tensor& t, const Sizes& dims) {
  const std::vector<bool> reduced = mask_of_dims(t, dims);
  Sizes order, sizes, kept;
  std::int64_t length = 1, count = 1;
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    const bool r = reduced[std::size_t(d)];
    (r ? length : count) *= t.sizes()[std::size_t(d)];
    kept.push_back(r ? 1 : t.sizes()[std::size_t(d)]);
    if (!r) order.push_back(d), sizes.push_back(t.sizes()[std::size_t(d)]);
  }
  for (std::int64_t d = 0; d < t.dim(); ++d)
    if (reduced[std::size_t(d)]) order.push_back(d);
  return {for_compute(permute(t, order)).view_as({count, length}, {length, 1}), sizes, kept};
}

// result = f(row, length) for each row, converted to `dtype`.
template <class F>
Tensor reduce(const Tensor& t, const Sizes& dims, bool keepdim, Dtype dtype, F f) {
  const Rows rows = rows_of(t, dims);
  return visit_compute(t.dtype(), [&](auto e) {
    using T = decltype(e);
    using R = decltype(f(static_cast<const T*>(nullptr), std::int64_t{}));
    const std::int64_t n = rows.matrix.size(1);
    const Tensor out = Tensor::empty(keepdim ? rows.kept : rows.sizes, dtype_of<R>);
    const T* from = rows.matrix.data<T>();
    R* to = out.data<R>();
    for (std::int64_t i = 0; i < rows.matrix.size(0); ++i) to[i] = f(from + i * n, n);
    return to_dtype(out, dtype);
  });
}

// f(row, length, result row) for each line along a dimension; the result has the type and sizes of the input, or another length.
template <class R, class F>
Tensor map_rows(const Tensor& t, std::int64_t d, F f, std::int64_t length = -1) {
  const Tensor from = t.dim() == 0 ? reshape(t, {1}) : t;
  const Rows rows = rows_of(from, {d});
  return visit_compute(t.dtype(), [&](auto e) {
    using T = decltype(e);
    using To = std::conditional_t<std::is_void_v<R>, T, R>;
    const std::int64_t n = rows.matrix.size(1), m = length < 0 ? n : length;
    Sizes sizes = rows.sizes;
    sizes.push_back(m);
    const Tensor out = Tensor::empty(sizes, dtype_of<To>);
    const T* p = rows.matrix.data<T>();
    To* q = out.data<To>();
    for (std::int64_t i = 0; i < rows.matrix.size(0); ++i) f(p + i * n, n, q + i * m);
    const Tensor back = contiguous(movedim(out, -1, from.wrap(d)));
    const Tensor typed = std::is_void_v<R> ? to_dtype(back, t.dtype()) : back;
    return t.dim() == 0 ? reshape(typed, {}) : typed;
  });
}

}  // namespace torchscript
