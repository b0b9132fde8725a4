// Operators that pick elements by the numbers in other tensors: x[i], x[mask], gather, scatter, embedding.
//
// `x[i, :, m]` becomes index(x, [i, None, m]). A mask stands for the places where it is true; index tensors are stretched over
// each other, and the result has their dimensions in place of those they index. It mirrors
// aten/src/ATen/native/TensorAdvancedIndexing.cpp.
//
// How the real one differs: it computes offsets on the fly instead of making a table of them.
#pragma once

#include "ops_factories.h"
#include "ops_views.h"

namespace torchscript {

inline Tensor nonzero(const Tensor& t) {
  const Tensor mask = contiguous(to_dtype(t, Dtype::boolean));
  const Boolean* p = mask.data<Boolean>();
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < t.numel(); ++i)
    if (p[i]) found.push_back(i);
  const Tensor out = Tensor::empty({std::int64_t(found.size()), t.dim()}, Dtype::int64);
  for (std::size_t row = 0; row < found.size(); ++row) {
    std::int64_t rest = found[row];
    for (std::int64_t d = t.dim(); d-- > 0; rest /= t.size(d))
      out.data<std::int64_t>()[std::int64_t(row) * t.dim() + d] = rest % t.size(d);
  }
  return out;
}

inline std::int64_t index_in(std::int64_t i, std::int64_t n) {
  check(i >= -n && i < n, "index ", i, " is out of bounds for dimension with size ", n);
  return i < 0 ? i + n : i;
}

// For the operators that do not count from the end.
inline Tensor not_negative(const Tensor& index) {
  const Tensor numbers = contiguous(to_dtype(index, Dtype::int64));
  for (std::int64_t i = 0; i < numbers.numel(); ++i)
    check(numbers.data<std::int64_t>()[i] >= 0, "index out of range in self: ", numbers.data<std::int64_t>()[i]);
  return index;
}

template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(plus(std::int64_t(a), std::int64_t(b)));
  else
    return T(a + b);
}

// Where the elements of x[indices] lie: offsets from the first element, with the sizes of the result.
struct Places {
  Sizes sizes;
  std::vector<std::int64_t> offsets;
};

inline Places places_of(const Tensor& t, const std::vector<Value>& given) {
  std::vector<Tensor> indices;  // one for each dimension of t; undefined: all of it
  for (const Value& v : given) {
    const std::size_t d = indices.size();
    if (v.isNone()) {
      indices.emplace_back();
    } else if (v.toTensor().dtype() == Dtype::boolean || v.toTensor().dtype() == Dtype::uint8) {
      const Tensor& mask = v.toTensor();
      for (std::size_t i = 0; i < mask.sizes().size(); ++i)
        check(d + i < t.sizes().size() && mask.sizes()[i] == t.sizes()[d + i], "The shape of the mask ",
              to_string(mask.sizes()), " at index ", i, " does not match the shape of the indexed tensor ",
              to_string(t.sizes()), " at index ", d + i);
      const Tensor found = nonzero(mask);
      for (std::int64_t i = 0; i < mask.dim(); ++i) indices.push_back(select(found, 1, i));
    } else {
      check(!is_floating(v.toTensor().dtype()), "tensors used as indices must be long, int, byte or bool tensors");
      indices.push_back(to_dtype(v.toTensor(), Dtype::int64));
    }
  }
  check(indices.size() <= t.sizes().size(), "too many indices for tensor of dimension ", t.dim());
  indices.resize(t.sizes().size());

  Sizes common;
  std::size_t first = indices.size(), last = 0, count = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    common = broadcast(common, indices[d].sizes());
    first = std::min(first, d), last = d, ++count;
  }
  const bool together = count == 0 || last - first + 1 == count;  // else the indexed dimensions come first
  Places places;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if ((together ? d == first : d == 0)) places.sizes.insert(places.sizes.end(), common.begin(), common.end());
    if (!indices[d].defined()) places.sizes.push_back(t.sizes()[d]);
  }

  const std::int64_t n = product(places.sizes);
  places.offsets.assign(room_for(n, sizeof(std::int64_t)), 0);
  const auto add_along = [&](const Tensor& numbers) {  // stretched over the whole result
    const Tensor all = contiguous(expand(numbers, places.sizes));
    for (std::int64_t i = 0; i < n; ++i) places.offsets[std::size_t(i)] += all.data<std::int64_t>()[i];
  };
  std::size_t at = together ? 0 : common.size();
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (together && d == first) at += common.size();
    const std::int64_t size = t.sizes()[d], stride = t.strides()[d];
    if (indices[d].defined()) {
      const Tensor scaled = pointwise(indices[d], Rule::same,
                                      [=](auto i) { return decltype(i)(index_in(std::int64_t(i), size) * stride); });
      Sizes sizes = broadcast(common, {});
      Tensor shaped = expand(scaled, sizes);
      for (std::size_t after = (together ? first : 0) + common.size(); after < places.sizes.size(); ++after)
        shaped = unsqueeze(shaped, -1);
      add_along(shaped);
    } else {
      Tensor line = mul(arange(0, size, 1, {}), stride);
      for (std::size_t after = at + 1; after < places.sizes.size(); ++after) line = unsqueeze(line, -1);
      add_along(line);
      ++at;
    }
  }
  return places;
}

inline Tensor index(const Tensor& t, const std::vector<Value>& indices) {
  const Places places = places_of(t, indices);
  const Tensor out = Tensor::empty(places.sizes, t.dtype());
  visit(t.dtype(), [&](auto e) {
    using T = decltype(e);
    const T* from = t.data<T>();
    for (std::size_t i = 0; i < places.offsets.size(); ++i) out.data<T>()[i] = from[places.offsets[i]];
  });
  return out;
}

inline void index_put_(const Tensor& t, const std::vector<Value>& indices, const Tensor& values, bool accumulate) {
  check_no_overlap(t);
  const Places places = places_of(t, indices);
  const Tensor source =
      contiguous(expand(to_dtype(may_overlap(t, values) ? clone(values) : values, t.dtype()), places.sizes));
  visit(t.dtype(), [&](auto e) {
    using T = decltype(e);
    T* to = t.data<T>();
    const T* from = source.data<T>();
    for (std::size_t i = 0; i < places.offsets.size(); ++i) {
      T& element = to[places.offsets[i]];
      element = accumulate ? sum_of(element, from[i]) : from[i];
    }
  });
}

// For gather and scatter: f(offset in t, place in index) for each element of the index.
template <class F>
void each_along(const Tensor& t, std::int64_t d, const Tensor& index, F f) {
  check(t.dim() == index.dim(), "Index tensor must have the same number of dimensions as input tensor");
  const Tensor numbers = contiguous(to_dtype(not_negative(index), Dtype::int64));
  const auto at = std::size_t(t.wrap(d));
  for (std::size_t i = 0; i < t.sizes().size(); ++i)
    check(i == at || index.sizes()[i] <= t.sizes()[i], "Size does not match at dimension ", i, " expected index ",
          to_string(index.sizes()), " to be no larger than self ", to_string(t.sizes()), " apart from dimension ", at);
  Sizes place(t.sizes().size(), 0);
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < place.size(); ++k)
      offset += (k == at ? index_in(numbers.data<std::int64_t>()[i], t.sizes()[at]) : place[k]) * t.strides()[k];
    f(offset, i, place);
    for (std::size_t k = place.size(); k-- > 0;) {
      if (++place[k] < index.sizes()[k]) break;
      place[k] = 0;
    }
  }
}

inline Tensor gather(const Tensor& t, std::int64_t d, const Tensor& index) {
  if (t.dim() == 0) return expand(t, index.sizes());
  const Tensor out = Tensor::empty(index.sizes(), t.dtype());
  visit(t.dtype(), [&](auto e) {
    using T = decltype(e);
    each_along(t, d, index,
               [&](std::int64_t offset, std::int64_t i, const Sizes&) { out.data<T>()[i] = t.data<T>()[offset]; });
  });
  return out;
}

inline Tensor scatter(const Tensor& self, std::int64_t d, const Tensor& index, const Value& source, bool accumulate) {
  const Tensor out = clone(self),
               from = expand(operand(source, self.dtype()), source.isTensor() ? sizes_of(source) : index.sizes());
  check(!source.isTensor() || source.toTensor().dtype() == self.dtype(),
        "scatter(): Expected self.dtype to be equal to src.dtype");
  check(from.dim() == index.dim(), "Index tensor must have the same number of dimensions as src tensor");
  visit(self.dtype(), [&](auto e) {
    using T = decltype(e);
    each_along(out, d, index, [&](std::int64_t offset, std::int64_t, const Sizes& place) {
      std::int64_t at = 0;
      for (std::size_t k = 0; k < place.size(); ++k) {
        check(place[k] < from.sizes()[k], "Expected index to be no larger than src");
        at += place[k] * from.strides()[k];
      }
      T& element = out.data<T>()[offset];
      element = accumulate ? sum_of(element, from.data<T>()[at]) : from.data<T>()[at];
    });
  });
  return out;
}

inline std::vector<Value> along(const Tensor& t, std::int64_t d, const Value& index) {
  std::vector<Value> indices(std::size_t(t.wrap(d)));
  indices.push_back(index);
  return indices;
}
// What index_add and index_copy take: for each number of the index a slice of the tensor.
inline const Tensor& slices(const Tensor& self, const Value& dim, const Tensor& index, const Tensor& source) {
  Sizes expected = self.sizes();
  if (!expected.empty()) expected[std::size_t(self.wrap(dim.toInt()))] = index.numel();
  check(index.dim() <= 1 && source.sizes() == expected && source.dtype() == self.dtype(),
        "the source of an index has to be of ", name_of(self.dtype()), " and sizes ", to_string(expected), ", not of ",
        name_of(source.dtype()), " and ", to_string(source.sizes()));
  return source;
}
inline Tensor index_select(const Tensor& t, std::int64_t d, const Tensor& index) {
  return t.dim() == 0 ? t : torchscript::index(t, along(t, d, reshape(index, {-1})));
}

inline Tensor one_hot(const Tensor& t, std::int64_t classes) {
  if (classes == -1) classes = t.numel() == 0 ? 0 : plus(item<std::int64_t>(extreme(t, {}, false, true)), 1);
  for (const bool largest : {true, false}) {
    if (t.numel() == 0) break;
    const auto value = item<std::int64_t>(extreme(t, {}, false, largest));
    check(value >= 0 && value < classes, "Class values must be non-negative and smaller than num_classes.");
  }
  Sizes sizes = t.sizes();
  sizes.push_back(classes);
  return scatter(full(sizes, 0, Dtype::int64), -1, unsqueeze(t, -1), 1, false);
}

inline std::vector<Definition> indexing_operators() {
  std::vector<Definition> t = {
      {"index(Tensor self, any indices)",
       [](Arguments& a) -> Value { return index(a[0].toTensor(), a[1].elements()); }},
      {"index_put_(Tensor self, any indices, Tensor values, bool accumulate=False)",
       [](Arguments& a) -> Value {
         return index_put_(a[0].toTensor(), a[1].elements(), a[2].toTensor(), a[3].toBool()), a[0];
       }},
      {"index_put(Tensor self, any indices, Tensor values, bool accumulate=False)",
       [](Arguments& a) -> Value {
         const Tensor out = clone(a[0].toTensor());
         index_put_(out, a[1].elements(), a[2].toTensor(), a[3].toBool());
         return out;
       }},
      {"index_select(Tensor self, int dim, Tensor index)",
       [](Arguments& a) -> Value { return index_select(a[0].toTensor(), a[1].toInt(), a[2].toTensor()); }},
      {"gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
       [](Arguments& a) -> Value { return gather(a[0].toTensor(), a[1].toInt(), a[2].toTensor()); }},
      {"take(Tensor self, Tensor index)",
       [](Arguments& a) -> Value { return index(reshape(a[0].toTensor(), {-1}), {a[1]}); }},
      {"masked_select(Tensor self, Tensor mask)",
       [](Arguments& a) -> Value {
         const Sizes sizes = broadcast(a[0].toTensor().sizes(), a[1].toTensor().sizes());
         return index(reshape(expand(a[0].toTensor(), sizes), {-1}), {reshape(expand(a[1].toTensor(), sizes), {-1})});
       }},
      {"nonzero(Tensor self)", [](Arguments& a) -> Value { return nonzero(a[0].toTensor()); }},
      {"where(Tensor condition)", [](Arguments& a) -> Value { return tensors(unbind(nonzero(a[0].toTensor()), 1)); }},
      {"argwhere(Tensor self)", [](Arguments& a) -> Value { return nonzero(a[0].toTensor()); }},
      {"one_hot(Tensor self, int num_classes=-1)",
       [](Arguments& a) -> Value { return one_hot(a[0].toTensor(), a[1].toInt()); }},
      {"embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)",
       [](Arguments& a) -> Value { return index(a[0].toTensor(), {not_negative(a[1].toTensor())}); }},
  };
  both(t, "scatter", "(Tensor self, int dim, Tensor index, Operand src)",
       [](Arguments& a) -> Value { return scatter(a[0].toTensor(), a[1].toInt(), a[2].toTensor(), a[3], false); });
  both(t, "scatter_add", "(Tensor self, int dim, Tensor index, Tensor src)",
       [](Arguments& a) -> Value { return scatter(a[0].toTensor(), a[1].toInt(), a[2].toTensor(), a[3], true); });
  both(t, "index_add", "(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
       [](Arguments& a) -> Value {
         const Tensor out = clone(a[0].toTensor());
         index_put_(out, along(out, a[1].toInt(), a[2]),
                    scaled(slices(out, a[1], a[2].toTensor(), a[3].toTensor()), a[4]).toTensor(), true);
         return out;
       });
  both(t, "index_fill", "(Tensor self, int dim, Tensor index, Operand value)", [](Arguments& a) -> Value {
    const Tensor out = clone(a[0].toTensor());
    index_put_(out, along(out, a[1].toInt(), a[2]), operand(a[3], out.dtype()), false);
    return out;
  });
  both(t, "index_copy", "(Tensor self, int dim, Tensor index, Tensor source)", [](Arguments& a) -> Value {
    const Tensor out = clone(a[0].toTensor());
    index_put_(out, along(out, a[1].toInt(), a[2]), slices(out, a[1], a[2].toTensor(), a[3].toTensor()), false);
    return out;
  });
  return t;
}

}  // namespace torchscript
