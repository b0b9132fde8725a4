// What `check` and `check_libtorch` share: reading cases, comparing values, counting.
//
// Beside NAME.pt, a TorchScript archive, lies NAME.case.pt, which torch.save wrote: {"calls": [{"method", "inputs", "expected"}
// or {..., "raises": text}]}.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "include/torchscript/format.h"
#include "include/torchscript/pickle.h"

namespace torchscript {

// Nothing, or where two values differ. Floats may differ by rounding: relative to the largest number of the expected tensor.
inline std::string difference(const Value& found, const Value& expected, const std::string& where);

inline double tolerance(Dtype dtype) { return dtype == Dtype::float64 ? 1e-12 : is_floating(dtype) ? 1e-5 : 0; }

inline std::string different_tensors(const Tensor& found, const Tensor& expected, const std::string& where) {
  if (found.dtype() != expected.dtype())
    return where + " is " + name_of(found.dtype()) + " instead of " + name_of(expected.dtype());
  if (found.sizes() != expected.sizes())
    return where + " has sizes " + to_string(found.sizes()) + " instead of " + to_string(expected.sizes());
  const Tensor x = contiguous(to_dtype(found, Dtype::float64)), y = contiguous(to_dtype(expected, Dtype::float64));
  const double *p = x.data<double>(), *q = y.data<double>();
  double largest = 0;
  for (std::int64_t i = 0; i < y.numel(); ++i)
    if (std::isfinite(q[i])) largest = std::max(largest, std::fabs(q[i]));
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const bool same = p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i])) ||
                      std::fabs(p[i] - q[i]) <= tolerance(expected.dtype()) * largest;
    if (!same)
      return where + " has " + std::to_string(p[i]) + " instead of " + std::to_string(q[i]) + " at element " +
             std::to_string(i);
  }
  return "";
}

inline std::string different_items(const std::vector<Value>& found, const std::vector<Value>& expected,
                                   const std::string& where) {
  if (found.size() != expected.size())
    return where + " has " + std::to_string(found.size()) + " items instead of " + std::to_string(expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string d = difference(found[i], expected[i], where + "[" + std::to_string(i) + "]");
    if (!d.empty()) return d;
  }
  return "";
}

inline std::string difference(const Value& found, const Value& expected, const std::string& where) {
  if (!found.same_kind(expected)) return where + " is a " + found.kind() + " instead of a " + expected.kind();
  if (found.isTensor()) return different_tensors(found.toTensor(), expected.toTensor(), where);
  if (found.isList() || found.isTuple()) return different_items(found.elements(), expected.elements(), where);
  if (found.isDict()) {
    std::vector<Value> x, y;
    for (const auto& [key, value] : found.toDict().entries) x.insert(x.end(), {key, value});
    for (const auto& [key, value] : expected.toDict().entries) y.insert(y.end(), {key, value});
    return different_items(x, y, where);
  }
  if (found.isDouble()) {
    const double x = found.toDouble(), y = expected.toDouble();
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= 1e-5 * std::fabs(y);
    return same ? "" : where + " is " + std::to_string(x) + " instead of " + std::to_string(y);
  }
  return equal(found, expected) ? "" : where + " is " + to_string(found) + " instead of " + to_string(expected);
}

// A call may write to its arguments, so each gets its own.
inline Value copied(const Value& v) {
  if (v.isTensor()) return clone(v.toTensor());
  if (v.isList() || v.isTuple()) {
    std::vector<Value> items;
    for (const Value& item : v.elements()) items.push_back(copied(item));
    return v.isList() ? Value::list(items) : Value::tuple(items);
  }
  if (v.isDict()) {
    auto dict = std::make_shared<Dict>();
    for (const auto& [key, value] : v.toDict().entries) dict->set(key, copied(value));
    return dict;
  }
  return v;
}

inline const Value& field(const Value& call, const char* name) {
  const Value* found = call.toDict().find(name);
  check(found != nullptr, "the case has no '", name, "'");
  return *found;
}

// The calls of a case, and what must be the result of one. `run` makes the call.
inline std::vector<Value> calls_of(const std::string& archive) {
  const auto calls = field(load_values(archive.substr(0, archive.size() - 3) + ".case.pt"), "calls").elements();
  check(!calls.empty(), "the case has no calls");
  return calls;
}

template <class Run>
std::string check_call(const Value& call, const std::string& where, Run run) {
  const Value* raises = call.toDict().find("raises");
  try {
    const Value result = run(field(call, "method").toString(), copied(field(call, "inputs")).elements());
    if (raises != nullptr) return where + " raised nothing, instead of: " + raises->toString();
    return difference(result, field(call, "expected"), where);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (raises != nullptr && text.find(raises->toString()) != std::string::npos) return "";
    return where + (raises != nullptr ? " raised the wrong error: " : " raised: ") + text;
  }
}

// foo.pt, but not foo.case.pt
inline bool is_archive(const std::string& path) {
  const auto ends_with = [&](const std::string& tail) {
    return path.size() >= tail.size() && path.compare(path.size() - tail.size(), tail.size(), tail) == 0;
  };
  return ends_with(".pt") && !ends_with(".case.pt");
}

// One line per archive, then "N passed, N failed". `check_archive(path)` says what is wrong, or nothing. The exit status.
template <class F>
int check_all(const std::vector<std::string>& arguments, F check_archive) {
  int passed = 0, failed = 0;
  std::set<std::string> paths;
  for (const std::string& argument : arguments) {
    if (!std::filesystem::is_directory(argument))
      paths.insert(argument);
    else
      for (const auto& entry : std::filesystem::directory_iterator(argument))
        if (is_archive(entry.path().string())) paths.insert(entry.path().string());
  }
  for (const std::string& path : paths) {
    std::string why;
    try {
      why = check_archive(path);
    } catch (const std::exception& error) {
      why = error.what();
    }
    std::replace(why.begin(), why.end(), '\n', ' ');
    const std::string name = std::filesystem::path(path).stem().string();
    std::cout << (why.empty() ? "ok " + name : "FAILED " + name + ": " + why) << std::endl;
    ++(why.empty() ? passed : failed);
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed > 0 || passed == 0 ? 1 : 0;
}

}  // namespace torchscript
