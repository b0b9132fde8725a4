// Values as text: what `str(x)`, `print(x)` and "{}".format(x) write.
//
// TorchScript prints floats with up to 17 significant digits, 0.10000000000000001, and whole ones with a point, 3. ; strings in
// lists have no quotes. It mirrors
// IValue's operator<< in aten/src/ATen/core/ivalue.cpp and aten/src/ATen/core/Formatting.cpp (tensors).
//
// How the real one differs: tensors are printed with columns aligned and long ones in pieces, as in a terminal.
#pragma once

#include "program.h"

namespace torchscript {

inline std::string to_string(const Value& value, int depth = 0);

// Behind a text. One that is made of many parts can be much longer than all there is in memory: the same part many times.
inline void append(std::string& text, const std::string& more) {
  room_for(std::int64_t(text.size() + more.size()));
  text += more;
}

inline std::string join(const std::vector<Value>& items, const char* open, const char* close, int depth) {
  std::string text = open;
  for (std::size_t i = 0; i < items.size(); ++i) append(text, (i ? ", " : "") + to_string(items[i], depth + 1));
  return text + close;
}

inline std::string to_string(double value) {
  std::ostringstream text;
  const bool whole = value >= -9.2233720368547758e18 && value < 9.2233720368547758e18 && value == std::trunc(value);
  if (whole) {
    text << std::int64_t(value) << '.';
  } else {
    text.precision(17);
    text << value;
  }
  return text.str();
}

inline std::string to_string(const Tensor& t) {
  std::ostringstream text;
  text << name_of(t.dtype()) << to_string(t.sizes()) << " [";
  visit(t.dtype(), [&](auto e) {
    using E = decltype(e);
    std::int64_t shown = 0;
    const E* data = t.data<E>();
    walk<1>(t.sizes(), {&t.strides()}, [&](const auto& at, const auto& step, std::int64_t n) {
      for (std::int64_t i = 0; i < n && shown < 10; ++i, ++shown)
        text << (shown ? ", " : "") << cast<double>(data[at[0] + i * step[0]]);
    });
  });
  text << (t.numel() > 10 ? ", ...]" : "]");
  return text.str();
}

inline std::string to_string(const Value& value, int depth) {
  check_depth(depth);
  if (value.isNone()) return "None";
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return to_string(value.toDouble());
  if (value.isString()) return value.toString();
  if (value.isDevice()) return value.toDevice().name;
  if (value.isTensor()) return to_string(value.toTensor());
  if (value.isList()) return join(value.toList(), "[", "]", depth);
  if (value.isTuple()) return join(value.toTupleElements(), "(", value.toTupleElements().size() == 1 ? ",)" : ")", depth);
  if (value.isDict()) {
    std::string text = "{";
    for (const auto& [key, item] : value.toDict().entries)
      append(text, (text.size() > 1 ? ", " : "") + to_string(key) + ": " + to_string(item, depth + 1));
    return text + "}";
  }
  return value.toObject()->type == nullptr ? "<object>" : "<" + value.toObject()->type->name + " object>";
}

}  // namespace torchscript
