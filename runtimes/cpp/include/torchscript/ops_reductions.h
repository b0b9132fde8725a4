// Operators that make one number of many: sums, means, extremes, counts; and running sums.
//
// Sums of floats are kept in double. It mirrors aten/src/ATen/native/ReduceOps.cpp and TensorCompare.cpp.
//
// How the real one differs: float sums are kept in float, in a cascade of partial sums.
#pragma once

#include <numeric>

#include "rows.h"

namespace torchscript {

template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <class T>
Accumulator<T> sum_row(const T* row, std::int64_t n) {
  Accumulator<T> total = 0;
  for (std::int64_t i = 0; i < n; ++i) total = plus(total, Accumulator<T>(row[i]));
  return total;
}
template <class T>
double mean_row(const T* row, std::int64_t n) {
  return double(sum_row(row, n)) / double(n);
}
template <class T>
double variance_row(const T* row, std::int64_t n, double correction) {
  const double mean = mean_row(row, n);
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += (double(row[i]) - mean) * (double(row[i]) - mean);
  return total / std::max(0.0, double(n) - correction);
}
// The place of the largest number, or of the smallest; the first among equals, and a NaN before all.
template <class T>
std::int64_t arg_row(const T* row, std::int64_t n, bool largest) {
  check(n > 0,
        "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
        "argument.");
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n && row[best] == row[best]; ++i)
    if (row[i] != row[i] || (largest ? row[i] > row[best] : row[i] < row[best])) best = i;
  return best;
}
template <class T>
double norm_row(const T* row, std::int64_t n, double p) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = std::fabs(double(row[i]));
    if (std::isinf(p))
      total = i == 0 || (p > 0 ? x > total : x < total) ? x : total;
    else
      total += p == 2 ? x * x : p == 1 ? x : p == 0 ? double(x != 0) : std::pow(x, p);
  }
  return std::isinf(p) || p == 0 || p == 1 ? total : p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

inline Sizes dims_of(const Value& v) { return v.isNone() ? Sizes{} : v.toIntVector(); }
inline Dtype dtype_or(const Value& v, Dtype otherwise) { return v.isNone() ? otherwise : dtype_from_number(v.toInt()); }
inline Dtype at_least_int64(Dtype d) { return is_floating(d) ? d : Dtype::int64; }
inline Dtype at_least_float(Dtype d) { return is_floating(d) ? d : Dtype::float32; }

inline Tensor sum(const Tensor& t, const Value& dims = {}, bool keepdim = false, const Value& dtype = {}) {
  const Dtype to = dtype_or(dtype, at_least_int64(t.dtype()));
  return reduce(is_floating(to) ? to_dtype(t, to) : t, dims_of(dims), keepdim, to,
                [](auto* row, std::int64_t n) { return sum_row(row, n); });
}
inline Tensor mean(const Tensor& t, const Value& dims = {}, bool keepdim = false, const Value& dtype = {}) {
  const Dtype to = dtype_or(dtype, t.dtype());
  check(is_floating(to),
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ",
        name_of(to));
  return reduce(t, dims_of(dims), keepdim, to, [](auto* row, std::int64_t n) { return mean_row(row, n); });
}
inline Tensor variance(const Tensor& t, const Value& dims, double correction, bool keepdim) {
  check_floating(t.dtype(), "var");
  return reduce(t, dims_of(dims), keepdim, t.dtype(),
                [=](auto* row, std::int64_t n) { return variance_row(row, n, correction); });
}
inline Tensor standard_deviation(const Tensor& t, const Value& dims, double correction, bool keepdim) {
  check_floating(t.dtype(), "std");
  return reduce(t, dims_of(dims), keepdim, t.dtype(),
                [=](auto* row, std::int64_t n) { return std::sqrt(variance_row(row, n, correction)); });
}
inline Tensor argument(const Tensor& t, const Value& dim, bool keepdim, bool largest) {
  return reduce(t, dims_of(dim), keepdim, Dtype::int64,
                [=](auto* row, std::int64_t n) { return arg_row(row, n, largest); });
}
inline Tensor extreme(const Tensor& t, const Value& dims, bool keepdim, bool largest) {
  return reduce(t, dims_of(dims), keepdim, t.dtype(),
                [=](auto* row, std::int64_t n) { return row[arg_row(row, n, largest)]; });
}
inline Value extreme_with_index(const Tensor& t, const Value& dim, bool keepdim, bool largest) {
  return Value::tuple({extreme(t, dim, keepdim, largest), argument(t, dim, keepdim, largest)});
}
inline Tensor any_or_all(const Tensor& t, const Value& dims, bool keepdim, bool any) {
  const Dtype dtype = t.dtype() == Dtype::uint8 ? Dtype::uint8 : Dtype::boolean;
  if (dims.isList() && dims.toList().empty())  // over no dimension: each element by itself
    return to_dtype(pointwise(t, Rule::truth, [](auto x) { return x != 0; }), dtype);
  return reduce(t, dims_of(dims), keepdim, dtype, [=](auto* row, std::int64_t n) {
    const auto truth = [](auto x) { return x != 0; };
    return std::int64_t(any ? std::any_of(row, row + n, truth) : std::all_of(row, row + n, truth));
  });
}
inline Tensor norm(const Tensor& t, const Value& p, const Value& dims, bool keepdim) {
  const double exponent = p.isNone() ? 2 : p.toDouble();
  check_floating(t.dtype(), "norm");
  return reduce(t, dims_of(dims), keepdim, at_least_float(t.dtype()),
                [=](auto* row, std::int64_t n) { return norm_row(row, n, exponent); });
}
template <class F>
Tensor scan(const Tensor& t, std::int64_t d, const Value& dtype, F f) {
  return map_rows<void>(to_dtype(t, dtype_or(dtype, at_least_int64(t.dtype()))), d,
                        [=](auto* row, std::int64_t n, auto* to) {
                          for (std::int64_t i = 0; i < n; ++i) to[i] = i == 0 ? row[0] : f(to[i - 1], row[i]);
                        });
}

inline double correction_of(const Value& v) { return v.isNone() ? 1.0 : v.toDouble(); }

inline std::vector<Definition> sums_and_means() {
  return {
      {"sum(Tensor self, *, int? dtype=None)",
       [](Arguments& a) -> Value { return sum(a[0].toTensor(), {}, false, a[1]); }},
      {"sum(Tensor self, int[1]? dim, bool keepdim=False, *, int? dtype=None)",
       [](Arguments& a) -> Value { return sum(a[0].toTensor(), a[1], a[2].toBool(), a[3]); }},
      {"mean(Tensor self, *, int? dtype=None)",
       [](Arguments& a) -> Value { return mean(a[0].toTensor(), {}, false, a[1]); }},
      {"mean(Tensor self, int[1]? dim, bool keepdim=False, *, int? dtype=None)",
       [](Arguments& a) -> Value { return mean(a[0].toTensor(), a[1], a[2].toBool(), a[3]); }},
      {"prod(Tensor self, *, int? dtype=None)",
       [](Arguments& a) -> Value {
         const Tensor t = to_dtype(a[0].toTensor(), dtype_or(a[1], at_least_int64(a[0].toTensor().dtype())));
         return reduce(t, {}, false, t.dtype(), [](auto* row, std::int64_t n) {
           return std::accumulate(row, row + n, Accumulator<std::decay_t<decltype(*row)>>(1),
                                  [](auto x, auto y) { return times(x, decltype(x)(y)); });
         });
       }},
      {"prod(Tensor self, int dim, bool keepdim=False, *, int? dtype=None)",
       [](Arguments& a) -> Value {
         const Tensor t = to_dtype(a[0].toTensor(), dtype_or(a[3], at_least_int64(a[0].toTensor().dtype())));
         return reduce(t, {a[1].toInt()}, a[2].toBool(), t.dtype(), [](auto* row, std::int64_t n) {
           return std::accumulate(row, row + n, Accumulator<std::decay_t<decltype(*row)>>(1),
                                  [](auto x, auto y) { return times(x, decltype(x)(y)); });
         });
       }},
      {"var(Tensor self, bool unbiased=True)",
       [](Arguments& a) -> Value { return variance(a[0].toTensor(), {}, a[1].toBool(), false); }},
      {"var(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
       [](Arguments& a) -> Value { return variance(a[0].toTensor(), a[1], a[2].toBool(), a[3].toBool()); }},
      {"var(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
       [](Arguments& a) -> Value { return variance(a[0].toTensor(), a[1], correction_of(a[2]), a[3].toBool()); }},
      {"std(Tensor self, bool unbiased=True)",
       [](Arguments& a) -> Value { return standard_deviation(a[0].toTensor(), {}, a[1].toBool(), false); }},
      {"std(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
       [](Arguments& a) -> Value { return standard_deviation(a[0].toTensor(), a[1], a[2].toBool(), a[3].toBool()); }},
      {"std(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
       [](Arguments& a) -> Value {
         return standard_deviation(a[0].toTensor(), a[1], correction_of(a[2]), a[3].toBool());
       }},
      {"var_mean(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
       [](Arguments& a) -> Value {
         return Value::tuple({variance(a[0].toTensor(), a[1], a[2].toBool(), a[3].toBool()),
                              mean(a[0].toTensor(), a[1], a[3].toBool())});
       }},
      {"logsumexp(Tensor self, int[1] dim, bool keepdim=False)",
       [](Arguments& a) -> Value {
         const Tensor t = to_dtype(a[0].toTensor(), at_least_float(a[0].toTensor().dtype()));
         return reduce(t, dims_of(a[1]), a[2].toBool(), t.dtype(), [](auto* row, std::int64_t n) {
           const double top = n > 0 ? double(*std::max_element(row, row + n)) : 0, base = std::isinf(top) ? 0 : top;
           double total = 0;
           for (std::int64_t i = 0; i < n; ++i) total += std::exp(double(row[i]) - base);
           return std::log(total) + base;
         });
       }},
      {"norm(Tensor self, Scalar p=2)", [](Arguments& a) -> Value { return norm(a[0].toTensor(), a[1], {}, false); }},
      {"norm(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)",
       [](Arguments& a) -> Value { return norm(a[0].toTensor(), a[1], a[2], a[3].toBool()); }},
      {"norm(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, int dtype)",
       [](Arguments& a) -> Value {
         return norm(to_dtype(a[0].toTensor(), dtype_from_number(a[4].toInt())), a[1], a[2], a[3].toBool());
       }},
      {"linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, int? dtype=None)",
       [](Arguments& a) -> Value { return norm(a[0].toTensor(), a[1], a[2], a[3].toBool()); }},
      {"cumsum(Tensor self, int dim, *, int? dtype=None)",
       [](Arguments& a) -> Value {
         return scan(a[0].toTensor(), a[1].toInt(), a[2], [](auto x, auto y) { return plus(x, y); });
       }},
      {"cumprod(Tensor self, int dim, *, int? dtype=None)",
       [](Arguments& a) -> Value {
         return scan(a[0].toTensor(), a[1].toInt(), a[2], [](auto x, auto y) { return times(x, y); });
       }},
  };
}

inline std::vector<Definition> extremes_and_counts() {
  return {
      {"max(Tensor self)", [](Arguments& a) -> Value { return extreme(a[0].toTensor(), {}, false, true); }},
      {"min(Tensor self)", [](Arguments& a) -> Value { return extreme(a[0].toTensor(), {}, false, false); }},
      {"max(Tensor self, int dim, bool keepdim=False)",
       [](Arguments& a) -> Value { return extreme_with_index(a[0].toTensor(), a[1], a[2].toBool(), true); }},
      {"min(Tensor self, int dim, bool keepdim=False)",
       [](Arguments& a) -> Value { return extreme_with_index(a[0].toTensor(), a[1], a[2].toBool(), false); }},
      {"amax(Tensor self, int[1] dim=[], bool keepdim=False)",
       [](Arguments& a) -> Value { return extreme(a[0].toTensor(), a[1], a[2].toBool(), true); }},
      {"amin(Tensor self, int[1] dim=[], bool keepdim=False)",
       [](Arguments& a) -> Value { return extreme(a[0].toTensor(), a[1], a[2].toBool(), false); }},
      {"argmax(Tensor self, int? dim=None, bool keepdim=False)",
       [](Arguments& a) -> Value { return argument(a[0].toTensor(), a[1], a[2].toBool(), true); }},
      {"argmin(Tensor self, int? dim=None, bool keepdim=False)",
       [](Arguments& a) -> Value { return argument(a[0].toTensor(), a[1], a[2].toBool(), false); }},
      {"any(Tensor self)", [](Arguments& a) -> Value { return any_or_all(a[0].toTensor(), {}, false, true); }},
      {"all(Tensor self)", [](Arguments& a) -> Value { return any_or_all(a[0].toTensor(), {}, false, false); }},
      {"any(Tensor self, int[]? dim, bool keepdim=False)",
       [](Arguments& a) -> Value { return any_or_all(a[0].toTensor(), a[1], a[2].toBool(), true); }},
      {"all(Tensor self, int[]? dim, bool keepdim=False)",
       [](Arguments& a) -> Value { return any_or_all(a[0].toTensor(), a[1], a[2].toBool(), false); }},
      {"count_nonzero(Tensor self, int[]? dim=None)",
       [](Arguments& a) -> Value {
         return reduce(a[0].toTensor(), dims_of(a[1]), false, Dtype::int64, [](auto* row, std::int64_t n) {
           return std::int64_t(std::count_if(row, row + n, [](auto x) { return x != 0; }));
         });
       }},
      {"equal(Tensor self, Tensor other)",
       [](Arguments& a) -> Value {
         if (a[0].toTensor().sizes() != a[1].toTensor().sizes()) return false;
         const Tensor same = pointwise(a[0], a[1], Rule::truth, [](auto x, auto y) { return x == y; });
         return Value(any_or_all(same, {}, false, false)).toBool();
       }},
      {"cummax(Tensor self, int dim)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         const Tensor where = map_rows<std::int64_t>(t, a[1].toInt(), [](auto* row, std::int64_t n, std::int64_t* to) {
           for (std::int64_t i = 0; i < n; ++i) to[i] = i > 0 && row[to[i - 1]] > row[i] ? to[i - 1] : i;
         });
         const Tensor values = map_rows<void>(t, a[1].toInt(), [](auto* row, std::int64_t n, auto* to) {
           for (std::int64_t i = 0; i < n; ++i) to[i] = i > 0 && to[i - 1] > row[i] ? to[i - 1] : row[i];
         });
         return Value::tuple({values, where});
       }},
  };
}

}  // namespace torchscript
