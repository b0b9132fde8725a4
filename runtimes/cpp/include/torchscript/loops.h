// Going through tensors of any strides, element by element.
//
// `broadcast` finds the sizes that several tensors have together. `walk` then visits all elements of them at once: dimensions
// that lie behind one another in every tensor are merged, and the last one becomes a plain loop, which for contiguous tensors
// is the whole work. `map1` and `map2` are what element-wise operators are made of. It mirrors aten/src/ATen/TensorIterator.h.
//
// How the real one differs: TensorIterator also sorts dimensions by stride, computes result types, splits the work among
// threads and hands its inner loops to vectorized code (aten/src/ATen/native/cpu/Loops.h).
#pragma once

#include <array>

#include "tensor.h"

namespace torchscript {

inline Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    check(x == y || x == 1 || y == 1, "The size of tensor a (", x, ") must match the size of tensor b (", y,
          ") at non-singleton dimension ", out.size() - 1 - i);
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// A view with the sizes of a broadcast: new and stretched dimensions have stride 0.
inline Tensor expand(const Tensor& t, const Sizes& sizes) {
  if (t.sizes() == sizes) return t;
  check(sizes.size() >= t.sizes().size(), "expand: the number of sizes provided (", sizes.size(),
        ") must be greater or equal to the number of dimensions in the tensor (", t.dim(), ")");
  Sizes wanted = sizes, strides(sizes.size(), 0);
  const std::size_t shift = sizes.size() - t.sizes().size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i < shift) {
      check(sizes[i] >= 0, "expand: a new dimension needs a size, not ", sizes[i]);
      continue;
    }
    const std::int64_t size = t.sizes()[i - shift];
    if (wanted[i] == -1) wanted[i] = size;
    check(size == wanted[i] || size == 1, "The expanded size of the tensor (", wanted[i],
          ") must match the existing size (", size, ") at non-singleton dimension ", i,
          ".  Target sizes: ", to_string(sizes), ".  Tensor sizes: ", to_string(t.sizes()));
    strides[i] = size == wanted[i] ? t.strides()[i - shift] : 0;
  }
  return t.view_as(std::move(wanted), std::move(strides));
}

// `call(context, at, step, n)` handles n elements; `at` and `step` say where they lie in each of the N tensors.
template <std::size_t N>
struct Row {
  using Places = std::array<std::int64_t, N>;
  void (*call)(void* context, const Places& at, const Places& step, std::int64_t n);
  void* context;
};

template <std::size_t N>
void walk_rows(const Sizes& sizes, const std::array<const Sizes*, N>& strides, Row<N> row) {
  struct Dimension {
    std::int64_t size = 0;
    std::array<std::int64_t, N> step{};
  };
  std::vector<Dimension> dims;  // the innermost first
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return;
    if (sizes[i] == 1) continue;
    Dimension d{sizes[i], {}};
    for (std::size_t k = 0; k < N; ++k) d.step[k] = (*strides[k])[i];
    bool merges = !dims.empty();
    for (std::size_t k = 0; k < N && merges; ++k) merges = d.step[k] == dims.back().step[k] * dims.back().size;
    if (merges) {
      dims.back().size *= d.size;
    } else {
      dims.push_back(d);
    }
  }
  if (dims.empty()) dims.push_back({1, {}});
  std::array<std::int64_t, N> at{};
  std::vector<std::int64_t> index(dims.size(), 0);
  for (;;) {
    row.call(row.context, at, dims[0].step, dims[0].size);
    std::size_t d = 1;
    for (; d < dims.size(); ++d) {
      for (std::size_t k = 0; k < N; ++k) at[k] += dims[d].step[k];
      if (++index[d] < dims[d].size) break;
      for (std::size_t k = 0; k < N; ++k) at[k] -= dims[d].step[k] * dims[d].size;
      index[d] = 0;
    }
    if (d == dims.size()) return;
  }
}

// The same with a function: only the call of the row is compiled anew for each.
template <std::size_t N, class F>
void walk(const Sizes& sizes, const std::array<const Sizes*, N>& strides, F f) {
  walk_rows<N>(sizes, strides,
               {[](void* context, const auto& at, const auto& step, std::int64_t n) {
                  (*static_cast<F*>(context))(at, step, n);
                },
                &f});
}

// out[...] = f(a[...]): `out` exists and has the sizes.
template <class To, class From, class F>
void map1(const Tensor& out, const Tensor& a, F f) {
  const Tensor from = expand(a, out.sizes());
  To* const r = out.data<To>();
  const From* const x = from.data<From>();
  walk<2>(out.sizes(), {&out.strides(), &from.strides()}, [&](const auto& at, const auto& step, std::int64_t n) {
    To* const to = r + at[0];
    const From* const p = x + at[1];
    if (step[0] == 1 && step[1] == 1) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = f(p[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i * step[0]] = f(p[i * step[1]]);
    }
  });
}

// out[...] = f(a[...], b[...])
template <class To, class From, class F>
void map2(const Tensor& out, const Tensor& a, const Tensor& b, F f) {
  const Tensor left = expand(a, out.sizes()), right = expand(b, out.sizes());
  To* const r = out.data<To>();
  const From* const x = left.data<From>();
  const From* const y = right.data<From>();
  walk<3>(out.sizes(), {&out.strides(), &left.strides(), &right.strides()},
          [&](const auto& at, const auto& step, std::int64_t n) {
            To* const to = r + at[0];
            const From *const p = x + at[1], *const q = y + at[2];
            if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
              for (std::int64_t i = 0; i < n; ++i) to[i] = f(p[i], q[i]);
            } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
              for (std::int64_t i = 0; i < n; ++i) to[i] = f(p[i], *q);
            } else {
              for (std::int64_t i = 0; i < n; ++i) to[i * step[0]] = f(p[i * step[1]], q[i * step[2]]);
            }
          });
}

// An expanded tensor has several elements in one place: which of them would a write to it leave there?
inline void check_no_overlap(const Tensor& out) {
  for (std::size_t d = 0; d < out.sizes().size(); ++d)
    check(out.sizes()[d] < 2 || out.strides()[d] != 0,
          "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please clone() the tensor before performing the operation.");
}

// Write the elements of `source`, converted and stretched as needed.
inline void copy_(const Tensor& out, const Tensor& source) {
  check_no_overlap(out);
  visit(out.dtype(), [&](auto to) {
    visit(source.dtype(), [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      map1<To, From>(out, source, [](From v) { return cast<To>(v); });
    });
  });
}

// Does writing to one change the other? If so, a source must be copied before it is read.
inline bool may_overlap(const Tensor& a, const Tensor& b) {
  return a.storage()->data == b.storage()->data || a.storage()->owner == b.storage()->owner;
}

inline Tensor clone(const Tensor& t) {
  Tensor out = Tensor::empty(t.sizes(), t.dtype());
  copy_(out, t);
  return out;
}
inline Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : clone(t); }
inline Tensor to_dtype(const Tensor& t, Dtype dtype) {
  if (t.dtype() == dtype) return t;
  Tensor out = Tensor::empty(t.sizes(), dtype);
  copy_(out, t);
  return out;
}

// A contiguous tensor of the type that arithmetic is done in.
inline Tensor for_compute(const Tensor& t) { return contiguous(to_dtype(t, compute_dtype(t.dtype()))); }

template <class T>
Tensor full(const Sizes& sizes, T value, Dtype dtype) {
  Tensor out = Tensor::empty(sizes, dtype);
  visit(dtype, [&](auto e) {
    using E = decltype(e);
    std::fill_n(out.data<E>(), out.numel(), cast<E>(value));
  });
  return out;
}
inline Tensor ones(const Sizes& sizes, Dtype dtype = Dtype::float32) { return full(sizes, 1.0, dtype); }
inline Tensor zeros(const Sizes& sizes, Dtype dtype = Dtype::float32) { return full(sizes, 0.0, dtype); }

// Element [0], as a double or an int64.
template <class T>
T item(const Tensor& t) {
  check(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  return visit(t.dtype(), [&](auto e) { return cast<T>(*t.data<decltype(e)>()); });
}

}  // namespace torchscript
