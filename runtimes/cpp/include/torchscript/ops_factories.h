// Operators that make tensors, convert them, and ask about them.
//
// There is one device, the CPU, and one layout; what an archive says about them is read and passed over. It mirrors
// aten/src/ATen/native/TensorFactories.cpp and TensorConversions.cpp.
//
// How the real one differs: random numbers, other devices and layouts, pinned memory.
#pragma once

#include "format.h"
#include "ops_reductions.h"

namespace torchscript {

// The end of every factory's signature.
inline std::string factory(const std::string& begin) {
  return begin +
         ", *, int? dtype=None, int? layout=None, Device? device=None, bool? pin_memory=None, int? memory_format=None)";
}

inline Tensor full_of(const Sizes& sizes, const Value& v, Dtype dtype) {
  return v.isDouble() ? full(sizes, v.toDouble(), dtype) : full(sizes, v.toInt(), dtype);
}

inline Tensor arange(const Value& start, const Value& end, const Value& step, const Value& dtype) {
  const bool whole = !start.isDouble() && !end.isDouble() && !step.isDouble();
  check(step.toDouble() != 0, "step must be nonzero");
  const double distance = (end.toDouble() - start.toDouble()) / step.toDouble(), steps = std::ceil(distance);
  check(distance >= 0, "upper bound and lower bound inconsistent with step sign");
  const auto n = cast<std::int64_t>(steps);
  const Tensor out = Tensor::empty({n}, whole ? Dtype::int64 : Dtype::float64);
  for (std::int64_t i = 0; i < n; ++i) {
    if (whole)
      out.data<std::int64_t>()[i] = plus(start.toInt(), times(i, step.toInt()));
    else
      out.data<double>()[i] = start.toDouble() + double(i) * step.toDouble();
  }
  return to_dtype(out, dtype_or(dtype, whole ? Dtype::int64 : Dtype::float32));
}

inline Tensor linspace(double start, double end, std::int64_t n, Dtype dtype) {
  check(n >= 0, "number of steps must be non-negative");
  const Tensor out = Tensor::empty({n}, Dtype::float64);
  const double step = n > 1 ? (end - start) / double(n - 1) : 0;
  for (std::int64_t i = 0; i < n; ++i)
    out.data<double>()[i] = i < n / 2 ? start + step * double(i) : end - step * double(n - 1 - i);
  if (n == 1) out.data<double>()[0] = start;
  return to_dtype(out, dtype);
}

inline void collect(const Value& v, std::size_t depth, Sizes& sizes, std::vector<Value>& numbers) {
  check(depth <= 64, "too many dimensions");
  if (!v.isList()) {
    numbers.push_back(v.isTensor() ? (is_floating(v.toTensor().dtype()) ? Value(v.toDouble()) : Value(v.toInt())) : v);
    return;
  }
  const auto n = std::int64_t(v.toList().size());
  if (sizes.size() == depth) sizes.push_back(n);
  check(sizes[depth] == n, "expected sequence of length ", sizes[depth], " at dim ", depth, " (got ", n, ")");
  for (const Value& item : v.toList()) collect(item, depth + 1, sizes, numbers);
}

// torch.tensor: of a number or of lists of them.
inline Tensor tensor_of(const Value& data, const Value& dtype) {
  Sizes sizes;
  std::vector<Value> numbers;
  collect(data, 0, sizes, numbers);
  Dtype type = numbers.empty() ? Dtype::float32 : dtype_of_value(numbers[0]);
  for (const Value& v : numbers) type = promote(type, dtype_of_value(v));
  const Tensor out = Tensor::empty(sizes, is_floating(type) ? Dtype::float64 : Dtype::int64);
  check(out.numel() == std::int64_t(numbers.size()), "lists of different depth do not make a tensor");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_floating(type))
      out.data<double>()[i] = numbers[i].toDouble();
    else
      out.data<std::int64_t>()[i] = numbers[i].toInt();
  }
  return to_dtype(out, dtype_or(dtype, type));
}

// 1 where keep(row, column), 0 elsewhere.
template <class F>
Tensor triangle(const Tensor& t, F keep) {
  check(t.dim() >= 2, "tril and triu need at least 2 dimensions");
  const Tensor mask = Tensor::empty({t.size(-2), t.size(-1)}, Dtype::boolean);
  for (std::int64_t i = 0; i < t.size(-2); ++i)
    for (std::int64_t j = 0; j < t.size(-1); ++j) mask.data<Boolean>()[i * t.size(-1) + j] = keep(i, j);
  return where(mask, t, full({}, 0, t.dtype()));
}

inline std::vector<Definition> factories() {
  const auto like = [](const Tensor& t, const Value& v, const Value& dtype) {
    return full_of(t.sizes(), v, dtype_or(dtype, t.dtype()));
  };
  return {
      {factory("zeros(int[] size"),
       [](Arguments& a) -> Value { return full_of(a[0].toIntVector(), 0, dtype_or(a[1], Dtype::float32)); }},
      {factory("ones(int[] size"),
       [](Arguments& a) -> Value { return full_of(a[0].toIntVector(), 1, dtype_or(a[1], Dtype::float32)); }},
      {factory("empty(int[] size"),
       [](Arguments& a) -> Value { return full_of(a[0].toIntVector(), 0, dtype_or(a[1], Dtype::float32)); }},
      {factory("full(int[] size, Scalar fill_value"),
       [](Arguments& a) -> Value { return full_of(a[0].toIntVector(), a[1], dtype_or(a[2], dtype_of_value(a[1]))); }},
      {factory("zeros_like(Tensor self"), [=](Arguments& a) -> Value { return like(a[0].toTensor(), 0, a[1]); }},
      {factory("ones_like(Tensor self"), [=](Arguments& a) -> Value { return like(a[0].toTensor(), 1, a[1]); }},
      {factory("empty_like(Tensor self"), [=](Arguments& a) -> Value { return like(a[0].toTensor(), 0, a[1]); }},
      {factory("full_like(Tensor self, Scalar fill_value"),
       [=](Arguments& a) -> Value { return like(a[0].toTensor(), a[1], a[2]); }},
      {factory("new_zeros(Tensor self, int[] size"),
       [](Arguments& a) -> Value { return full_of(a[1].toIntVector(), 0, dtype_or(a[2], a[0].toTensor().dtype())); }},
      {factory("new_ones(Tensor self, int[] size"),
       [](Arguments& a) -> Value { return full_of(a[1].toIntVector(), 1, dtype_or(a[2], a[0].toTensor().dtype())); }},
      {factory("new_empty(Tensor self, int[] size"),
       [](Arguments& a) -> Value { return full_of(a[1].toIntVector(), 0, dtype_or(a[2], a[0].toTensor().dtype())); }},
      {factory("new_full(Tensor self, int[] size, Scalar fill_value"),
       [](Arguments& a) -> Value {
         return full_of(a[1].toIntVector(), a[2], dtype_or(a[3], a[0].toTensor().dtype()));
       }},
      {factory("arange(Scalar end"), [](Arguments& a) -> Value { return arange(0, a[0], 1, a[1]); }},
      {factory("arange(Scalar start, Scalar end, Scalar step=1"),
       [](Arguments& a) -> Value { return arange(a[0], a[1], a[2], a[3]); }},
      {factory("linspace(Scalar start, Scalar end, int steps"),
       [](Arguments& a) -> Value {
         return linspace(a[0].toDouble(), a[1].toDouble(), a[2].toInt(), dtype_or(a[3], Dtype::float32));
       }},
      {factory("eye(int n"),
       [](Arguments& a) -> Value {
         return triangle(full({a[0].toInt(), a[0].toInt()}, 1, dtype_or(a[1], Dtype::float32)),
                         [](auto i, auto j) { return i == j; });
       }},
      {factory("eye(int n, int m"),
       [](Arguments& a) -> Value {
         return triangle(full({a[0].toInt(), a[1].toInt()}, 1, dtype_or(a[2], Dtype::float32)),
                         [](auto i, auto j) { return i == j; });
       }},
      {factory("scalar_tensor(Scalar s"),
       [](Arguments& a) -> Value { return full_of({}, a[0], dtype_or(a[1], Dtype::float32)); }},
      {"tensor(any data, *, int? dtype=None, Device? device=None, bool requires_grad=False)",
       [](Arguments& a) -> Value { return tensor_of(a[0], a[1]); }},
      {"as_tensor(any data, *, int? dtype=None, Device? device=None)",
       [](Arguments& a) -> Value {
         return a[0].isTensor() ? to_dtype(a[0].toTensor(), dtype_or(a[1], a[0].toTensor().dtype()))
                                : tensor_of(a[0], a[1]);
       }},
      {"prim::NumToTensor(Scalar a)",
       [](Arguments& a) -> Value {
         return a[0].isDouble() ? full({}, a[0].toDouble(), Dtype::float32) : full_of({}, a[0], dtype_of_value(a[0]));
       }},
      {"tril(Tensor self, int diagonal=0)",
       [](Arguments& a) -> Value {
         return triangle(a[0].toTensor(), [d = a[1].toInt()](auto i, auto j) { return j - i <= d; });
       }},
      {"triu(Tensor self, int diagonal=0)",
       [](Arguments& a) -> Value {
         return triangle(a[0].toTensor(), [d = a[1].toInt()](auto i, auto j) { return j - i >= d; });
       }},
      {"diag(Tensor self, int diagonal=0)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         if (t.dim() == 2) return clone(diagonal(t, a[1].toInt(), 0, 1));
         check(t.dim() == 1, "diag(): Supports 1D or 2D tensors. Got ", t.dim(), "D");
         const std::int64_t d = a[1].toInt(), n = plus(t.numel(), d < 0 ? minus(0, d) : d);
         const Tensor out = full({n, n}, 0, t.dtype());
         copy_(diagonal(out, a[1].toInt(), 0, 1), t);
         return out;
       }},
  };
}

inline Tensor converted(const Tensor& t, const Value& dtype, const Value& copy) {
  const Dtype to = dtype_or(dtype, t.dtype());
  return to == t.dtype() && copy.toBool() ? clone(t) : to_dtype(t, to);
}

inline std::vector<Definition> conversions() {
  return {
      {"to(Tensor self, int dtype, bool non_blocking=False, bool copy=False, int? memory_format=None)",
       [](Arguments& a) -> Value { return converted(a[0].toTensor(), a[1], a[3]); }},
      {"to(Tensor self, bool non_blocking, bool copy=False)",
       [](Arguments& a) -> Value { return converted(a[0].toTensor(), {}, a[2]); }},
      {"to(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False, int? "
       "memory_format=None)",
       [](Arguments& a) -> Value { return converted(a[0].toTensor(), a[2], a[4]); }},
      {"to(Tensor self, *, int? dtype=None, int? layout=None, Device? device=None, bool? pin_memory=None, bool "
       "non_blocking=False, bool copy=False, int? memory_format=None)",
       [](Arguments& a) -> Value { return converted(a[0].toTensor(), a[1], a[6]); }},
      {"to(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, int? memory_format=None)",
       [](Arguments& a) -> Value { return converted(a[0].toTensor(), std::int64_t(a[1].toTensor().dtype()), a[3]); }},
      {"type_as(Tensor self, Tensor other)",
       [](Arguments& a) -> Value { return to_dtype(a[0].toTensor(), a[1].toTensor().dtype()); }},
      {"cpu(Tensor self)", [](Arguments& a) -> Value { return a[0]; }},
      {"item(Tensor self)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         return t.dtype() == Dtype::boolean ? Value(a[0].toBool())
                : is_floating(t.dtype())    ? Value(a[0].toDouble())
                                            : Value(a[0].toInt());
       }},
      {"copy_(Tensor self, Operand src, bool non_blocking=False)",
       [](Arguments& a) -> Value {
         const Tensor& self = a[0].toTensor();
         const Tensor source = operand(a[1], dtype_of_value(a[1]));
         copy_(self, may_overlap(self, source) ? clone(source) : source);
         return self;
       }},
      {"fill_(Tensor self, Operand value)",
       [](Arguments& a) -> Value {
         return copy_(a[0].toTensor(), a[1].isDouble() ? full({}, a[1].toDouble(), Dtype::float64)
                                                       : operand(a[1], dtype_of_value(a[1]))),
                a[0];
       }},
      {"zero_(Tensor self)", [](Arguments& a) -> Value { return copy_(a[0].toTensor(), zeros({})), a[0]; }},
      {"size(Tensor self)", [](Arguments& a) -> Value { return Value::list_of(a[0].toTensor().sizes()); }},
      {"size(Tensor self, int dim)", [](Arguments& a) -> Value { return a[0].toTensor().size(a[1].toInt()); }},
      {"stride(Tensor self)", [](Arguments& a) -> Value { return Value::list_of(a[0].toTensor().strides()); }},
      {"stride(Tensor self, int dim)", [](Arguments& a) -> Value { return a[0].toTensor().stride(a[1].toInt()); }},
      {"storage_offset(Tensor self)", [](Arguments& a) -> Value { return a[0].toTensor().storage_offset(); }},
      {"dim(Tensor self)", [](Arguments& a) -> Value { return a[0].toTensor().dim(); }},
      {"numel(Tensor self)", [](Arguments& a) -> Value { return a[0].toTensor().numel(); }},
      {"len(Tensor t)", [](Arguments& a) -> Value { return a[0].toTensor().size(0); }},
      {"is_contiguous(Tensor self, *, int memory_format=0)",
       [](Arguments& a) -> Value { return a[0].toTensor().is_contiguous(); }},
      {"is_floating_point(Tensor self)", [](Arguments& a) -> Value { return is_floating(a[0].toTensor().dtype()); }},
      {"is_complex(Tensor self)", [](Arguments&) -> Value { return false; }},
      {"result_type(Operand tensor, Operand other)",
       [](Arguments& a) -> Value { return std::int64_t(result_dtype(a[0], a[1])); }},
      {"prim::dtype(Tensor a)", [](Arguments& a) -> Value { return std::int64_t(a[0].toTensor().dtype()); }},
      {"prim::device(Tensor a)", [](Arguments&) -> Value { return Device{"cpu"}; }},
      {"prim::layout(Tensor a)", [](Arguments&) -> Value { return 0; }},
      {"prim::is_cuda(Tensor a)", [](Arguments&) -> Value { return false; }},
      {"prim::is_nested(Tensor a)", [](Arguments&) -> Value { return false; }},
      {"prim::requires_grad(Tensor a)", [](Arguments& a) -> Value { return a[0].toTensor().requires_grad(); }},
      {"requires_grad_(Tensor self, bool requires_grad=True)", [](Arguments& a) -> Value { return a[0]; }},
      {"is_grad_enabled()", [](Arguments&) -> Value { return false; }},
      {"is_autocast_enabled()", [](Arguments&) -> Value { return false; }},
      {"set_grad_enabled(bool val)", [](Arguments&) -> Value { return {}; }},
      {"is_scripting()", [](Arguments&) -> Value { return true; }},
      {"str(Tensor elem)", [](Arguments& a) -> Value { return to_string(a[0]); }},
  };
}

}  // namespace torchscript
