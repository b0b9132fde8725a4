// Operators that put rows in order: sort, topk, median, and what follows from an order.
//
// It mirrors aten/src/ATen/native/Sorting.cpp.
//
// How the real one differs: which of equal elements comes first is left open there unless `stable` is asked for.
#pragma once

#include "ops_indexing.h"

namespace torchscript {

// Places of the elements of each row in order; NaN counts as the largest. Equal elements stay in their order.
inline Tensor order_of(const Tensor& t, std::int64_t d, bool descending) {
  return map_rows<std::int64_t>(t, d, [=](auto* row, std::int64_t n, std::int64_t* to) {
    std::iota(to, to + n, std::int64_t(0));
    const auto less = [&](std::int64_t a, std::int64_t b) {
      return row[a] < row[b] || (row[a] == row[a] && row[b] != row[b]);
    };
    std::stable_sort(to, to + n, [&](std::int64_t a, std::int64_t b) { return descending ? less(b, a) : less(a, b); });
  });
}
inline Value sort(const Tensor& t, std::int64_t d, bool descending) {
  const Tensor order = order_of(t, d, descending);
  return Value::tuple({gather(t, d, order), order});
}
// The k-th place in order, and its value, without the dimension.
inline Value nth(const Tensor& t, std::int64_t d, std::int64_t k, bool keepdim) {
  check(k >= 0 && k < (t.dim() == 0 ? 1 : t.size(d)), "selected index k out of range");
  const Tensor order = narrow(order_of(t, d, false), d, k, 1), values = gather(t, d, order);
  return keepdim ? Value::tuple({values, order}) : Value::tuple({squeeze(values, d), squeeze(order, d)});
}

inline Tensor unique(const Tensor& t) {
  const Tensor sorted = sort(reshape(t, {-1}), 0, false).toTupleElements()[0].toTensor();
  if (sorted.numel() < 2) return sorted;
  const Tensor differs = pointwise(slice(sorted, 0, 1, sorted.numel()), slice(sorted, 0, 0, sorted.numel() - 1),
                                   Rule::truth, [](auto x, auto y) { return x != y; });
  return index(sorted, {cat({full({1}, 1, Dtype::boolean), differs}, 0)});
}

inline std::vector<Definition> sorting_operators() {
  return {
      {"sort(Tensor self, int dim=-1, bool descending=False)",
       [](Arguments& a) -> Value { return sort(a[0].toTensor(), a[1].toInt(), a[2].toBool()); }},
      {"sort(Tensor self, *, bool? stable, int dim=-1, bool descending=False)",
       [](Arguments& a) -> Value { return sort(a[0].toTensor(), a[2].toInt(), a[3].toBool()); }},
      {"argsort(Tensor self, int dim=-1, bool descending=False)",
       [](Arguments& a) -> Value { return order_of(a[0].toTensor(), a[1].toInt(), a[2].toBool()); }},
      {"argsort(Tensor self, *, bool stable, int dim=-1, bool descending=False)",
       [](Arguments& a) -> Value { return order_of(a[0].toTensor(), a[2].toInt(), a[3].toBool()); }},
      {"topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         check(a[1].toInt() >= 0 && a[1].toInt() <= (t.dim() == 0 ? 1 : t.size(a[2].toInt())),
               "selected index k out of range");
         if (t.dim() == 0) return Value::tuple({t, full({}, 0, Dtype::int64)});
         const Tensor order = narrow(order_of(t, a[2].toInt(), a[3].toBool()), a[2].toInt(), 0, a[1].toInt());
         return Value::tuple({gather(t, a[2].toInt(), order), order});
       }},
      {"kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)",
       [](Arguments& a) -> Value { return nth(a[0].toTensor(), a[2].toInt(), minus(a[1].toInt(), 1), a[3].toBool()); }},
      {"median(Tensor self, int dim, bool keepdim=False)",
       [](Arguments& a) -> Value {
         return nth(a[0].toTensor(), a[1].toInt(), (a[0].toTensor().size(a[1].toInt()) - 1) / 2, a[2].toBool());
       }},
      {"median(Tensor self)",
       [](Arguments& a) -> Value {
         return nth(reshape(a[0].toTensor(), {-1}), 0, (a[0].toTensor().numel() - 1) / 2, false).toTupleElements()[0];
       }},
      {"_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)",
       [](Arguments& a) -> Value {
         check(!a[2].toBool() && !a[3].toBool(), "unique with inverse or counts is not known to this runtime");
         const Tensor none = full({0}, 0, Dtype::int64);
         return Value::tuple({unique(a[0].toTensor()), none, none});
       }},
      {"bincount(Tensor self, Tensor? weights=None, int minlength=0)",
       [](Arguments& a) -> Value {
         check(a[0].toTensor().dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
         check(a[2].toInt() >= 0, "minlength should be >= 0");
         check(a[1].isNone(), "bincount with weights is not known to this runtime");
         const Tensor& t = a[0].toTensor();
         const std::int64_t n = t.numel() == 0 ? 0 : plus(item<std::int64_t>(extreme(t, {}, false, true)), 1);
         const Tensor out = full({std::max(n, a[2].toInt())}, 0, Dtype::int64);
         index_put_(out, {not_negative(t)}, full({}, 1, Dtype::int64), true);
         return out;
       }},
  };
}

}  // namespace torchscript
