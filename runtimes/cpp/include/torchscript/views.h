// Other ways to look at the same storage: no element moves.
//
// Swapping dimensions swaps sizes and strides; selecting moves the offset; slicing multiplies a stride. `view` is possible
// when each new dimension lies within old ones that are contiguous with each other; `reshape` copies when it is not. It mirrors
// aten/src/ATen/native/TensorShape.cpp and TensorUtils.cpp (computeStride).
//
// How the real one differs: a view remembers its base, so that autograd can follow writes to it.
#pragma once

#include <optional>

#include "loops.h"

namespace torchscript {

inline Tensor permute(const Tensor& t, const Sizes& dims) {
  check(std::int64_t(dims.size()) == t.dim(),
        "permute: the number of dimensions in the tensor input does not match the length of the desired ordering of "
        "dimensions");
  Sizes sizes, strides;
  std::vector<bool> seen(dims.size(), false);
  for (const std::int64_t d : dims) {
    const auto at = std::size_t(t.wrap(d));
    check(!seen[at], "permute(): duplicate dims are not allowed.");
    seen[at] = true;
    sizes.push_back(t.sizes()[at]);
    strides.push_back(t.strides()[at]);
  }
  return t.view_as(sizes, strides);
}

inline Tensor transpose(const Tensor& t, std::int64_t a, std::int64_t b) {
  if (t.dim() == 0) return t;
  Sizes sizes = t.sizes(), strides = t.strides();
  const auto x = std::size_t(t.wrap(a)), y = std::size_t(t.wrap(b));
  std::swap(sizes[x], sizes[y]);
  std::swap(strides[x], strides[y]);
  return t.view_as(sizes, strides);
}

// Take a dimension from one place to another.
inline Tensor movedim(const Tensor& t, std::int64_t from, std::int64_t to) {
  if (t.dim() == 0) return t;
  Sizes order;
  for (std::int64_t d = 0; d < t.dim(); ++d)
    if (d != t.wrap(from)) order.push_back(d);
  order.insert(order.begin() + t.wrap(to), t.wrap(from));
  return permute(t, order);
}

inline Tensor unsqueeze(const Tensor& t, std::int64_t d) {
  const std::int64_t at = t.wrap(d, 1);
  Sizes sizes = t.sizes(), strides = t.strides();
  const std::int64_t stride = at < t.dim() ? times(t.sizes()[std::size_t(at)], t.strides()[std::size_t(at)]) : 1;
  sizes.insert(sizes.begin() + at, 1);
  strides.insert(strides.begin() + at, stride);
  return t.view_as(sizes, strides);
}

inline Tensor squeeze(const Tensor& t, std::int64_t d) {
  if (t.dim() == 0) return t;
  const std::int64_t at = t.wrap(d);
  Sizes sizes = t.sizes(), strides = t.strides();
  if (sizes[std::size_t(at)] == 1) {
    sizes.erase(sizes.begin() + at);
    strides.erase(strides.begin() + at);
  }
  return t.view_as(sizes, strides);
}

inline Tensor squeeze(Tensor t) {
  for (std::int64_t d = t.dim(); d-- > 0;) t = squeeze(t, d);
  return t;
}

inline Tensor select(const Tensor& t, std::int64_t d, std::int64_t index) {
  check(t.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const auto at = std::size_t(t.wrap(d));
  const std::int64_t n = t.sizes()[at], i = index < 0 ? index + n : index;
  check(i >= 0 && i < n, "select(): index ", index, " out of range for tensor of size ", to_string(t.sizes()),
        " at dimension ", at);
  Sizes sizes = t.sizes(), strides = t.strides();
  const std::int64_t offset = plus(t.storage_offset(), times(i, strides[at]));
  sizes.erase(sizes.begin() + std::ptrdiff_t(at));
  strides.erase(strides.begin() + std::ptrdiff_t(at));
  return t.view_as(sizes, strides, offset);
}

inline Tensor slice(const Tensor& t, std::int64_t d, std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  check(t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  check(step > 0, "slice step must be positive");
  const auto at = std::size_t(t.wrap(d));
  const std::int64_t n = t.sizes()[at];
  const std::int64_t a = std::clamp<std::int64_t>(start < 0 ? start + n : start, 0, n);
  const std::int64_t b = std::clamp<std::int64_t>(stop < 0 ? stop + n : stop, a, n);
  Sizes sizes = t.sizes(), strides = t.strides();
  const std::int64_t offset = plus(t.storage_offset(), times(a, strides[at]));
  sizes[at] = (b - a) / step + ((b - a) % step != 0 ? 1 : 0);
  strides[at] = times(strides[at], step);
  return t.view_as(sizes, strides, offset);
}

inline Tensor narrow(const Tensor& t, std::int64_t d, std::int64_t start, std::int64_t length) {
  const std::int64_t n = t.size(d), a = start < 0 ? start + n : start;
  check(a >= 0 && a <= n && length >= 0 && length <= n - a, "start (", start, ") + length (", length,
        ") exceeds dimension size (", n, ").");
  return slice(t, d, a, a + length);
}

inline Tensor diagonal(const Tensor& t, std::int64_t offset, std::int64_t d1, std::int64_t d2) {
  const auto x = std::size_t(t.wrap(d1)), y = std::size_t(t.wrap(d2));
  check(x != y, "diagonal dimensions cannot be identical");
  const std::int64_t rows = t.sizes()[x] + std::min<std::int64_t>(offset, 0),
                     columns = t.sizes()[y] - std::max<std::int64_t>(offset, 0);
  const std::int64_t n = std::max<std::int64_t>(std::min(rows, columns), 0);
  const std::int64_t start = plus(t.storage_offset(), n == 0        ? 0
                                                      : offset >= 0 ? offset * t.strides()[y]
                                                                    : -offset * t.strides()[x]);
  Sizes sizes, strides;
  for (std::size_t i = 0; i < t.sizes().size(); ++i)
    if (i != x && i != y) sizes.push_back(t.sizes()[i]), strides.push_back(t.strides()[i]);
  sizes.push_back(n);
  strides.push_back(plus(t.strides()[x], t.strides()[y]));
  return t.view_as(sizes, strides, start);
}

// One size may be -1: whatever is left.
inline Sizes infer_size(Sizes sizes, std::int64_t numel) {
  Sizes given;
  std::size_t unknown = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      check(unknown == sizes.size(), "only one dimension can be inferred");
      unknown = i;
    } else {
      check(sizes[i] >= 0, "invalid shape dimension ", sizes[i]);
      given.push_back(sizes[i]);
    }
  }
  const std::int64_t known = product(given);
  const bool fits = unknown < sizes.size() ? known > 0 && numel % known == 0 : known == numel;
  check(fits, "shape '", to_string(sizes), "' is invalid for input of size ", numel);
  if (unknown < sizes.size()) sizes[unknown] = numel / known;
  return sizes;
}

// The strides with which a tensor has other sizes, if there are such.
inline std::optional<Sizes> view_strides(const Tensor& t, const Sizes& sizes) {
  if (t.is_contiguous()) return contiguous_strides(sizes);
  Sizes strides(sizes.size());
  std::size_t view = sizes.size();
  std::int64_t elements = 1, covered = 1, base = t.strides().empty() ? 1 : t.strides().back();
  for (std::size_t d = t.sizes().size(); d-- > 0;) {
    elements *= t.sizes()[d];
    const bool ends = d == 0 || (t.sizes()[d - 1] != 1 && t.strides()[d - 1] != elements * base);
    if (!ends) continue;
    while (view > 0 && (covered < elements || sizes[view - 1] == 1)) {
      strides[view - 1] = covered * base;
      covered *= sizes[view - 1];
      --view;
    }
    if (covered != elements) return std::nullopt;
    if (d > 0) base = t.strides()[d - 1], elements = covered = 1;
  }
  return view == 0 ? std::optional<Sizes>(strides) : std::nullopt;
}

inline Tensor view(const Tensor& t, const Sizes& wanted) {
  const Sizes sizes = infer_size(wanted, t.numel());
  const auto strides = view_strides(t, sizes);
  check(strides.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead.");
  return t.view_as(sizes, *strides);
}

inline Tensor reshape(const Tensor& t, const Sizes& wanted) {
  const Sizes sizes = infer_size(wanted, t.numel());
  const auto strides = view_strides(t, sizes);
  if (strides) return t.view_as(sizes, *strides);
  return clone(t).view_as(sizes, contiguous_strides(sizes));
}

inline Tensor flatten(const Tensor& t, std::int64_t start, std::int64_t end) {
  if (t.dim() == 0) return reshape(t, {1});
  const std::int64_t a = t.wrap(start), b = t.wrap(end);
  check(a <= b, "flatten() has invalid args: start_dim cannot come after end_dim");
  Sizes sizes(t.sizes().begin(), t.sizes().begin() + a);
  sizes.push_back(product({t.sizes().begin() + a, t.sizes().begin() + b + 1}));
  sizes.insert(sizes.end(), t.sizes().begin() + b + 1, t.sizes().end());
  return reshape(t, sizes);
}

constexpr std::int64_t piece = 256;  // bytes that a tensor takes which shows a part of another: many can show one element

// Pieces of given lengths along a dimension.
inline std::vector<Tensor> split(const Tensor& t, const Sizes& lengths, std::int64_t d) {
  std::vector<Tensor> parts;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    parts.push_back(narrow(t, d, at, length));
    at += length;
  }
  check(at == t.size(d), "split_with_sizes expects split_sizes to sum exactly to ", t.size(d),
        " (input tensor's size at dimension ", d, "), but got split_sizes=", to_string(lengths));
  return parts;
}
inline std::vector<Tensor> split(const Tensor& t, std::int64_t length, std::int64_t d) {
  check(length > 0 || t.size(d) == 0, "split expects split_size be positive, but got split_size=", length);
  Sizes lengths;
  room_for(t.size(d) / std::max<std::int64_t>(length, 1), piece);
  for (std::int64_t left = t.size(d); left > 0; left -= length) lengths.push_back(std::min(length, left));
  if (lengths.empty()) lengths.push_back(0);
  return split(t, lengths, d);
}
inline std::vector<Tensor> unbind(const Tensor& t, std::int64_t d) {
  std::vector<Tensor> parts;
  room_for(t.size(d), piece);
  for (std::int64_t i = 0; i < t.size(d); ++i) parts.push_back(select(t, d, i));
  return parts;
}

}  // namespace torchscript
