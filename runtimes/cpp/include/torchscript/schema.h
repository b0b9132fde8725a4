// Signatures of operators: `add(Tensor self, Tensor other, *, Scalar alpha=1)`.
//
// An archive leaves out arguments that have their default value, and an operator's name has several signatures: `bind` picks
// the first that fits the values of a call, and puts the missing ones in. Signatures are written as PyTorch writes them in
// native_functions.yaml, but for `Operand`, which is a Tensor or a Scalar. It mirrors torch/csrc/jit/frontend/function_schema_parser.cpp and schema_matching.cpp.
//
// How the real one differs: it chooses by static types when the code is compiled, and reads from the signature also which
// arguments are written to (`Tensor(a!)`), which its optimizations need.
#pragma once

#include <functional>

#include "value.h"

namespace torchscript {

using Arguments = std::vector<Value>;
using Kernel = std::function<Value(Arguments&)>;

struct Argument {
  std::string type, name;  // the type without its size: "int[]", "Tensor?"
  bool keyword_only = false, has_default = false;
  Value default_value;
};

// Does a value belong to a type of a signature? `loosely`: a tensor with one element also stands for a number, an int for a float.
inline bool fits(const Value& value, const std::string& type, bool loosely) {
  if (type == "t" || type == "any") return true;
  if (type.back() == '?') return value.isNone() || fits(value, type.substr(0, type.size() - 1), loosely);
  if (type.size() > 2 && type.compare(type.size() - 2, 2, "[]") == 0) {
    const std::string element = type.substr(0, type.size() - 2);
    if (!value.isList() && !(loosely && value.isTuple()))
      return loosely && (element == "int" || element == "float") && value.isInt();
    const auto& items = value.elements();
    return items.empty() || fits(items.front(), element, loosely);
  }
  if (type == "Tensor") return value.isTensor();
  if (type == "Operand") return value.isTensor() || value.isScalar();
  if (loosely && value.isTensor() && (type == "int" || type == "float" || type == "Scalar" || type == "bool"))
    return value.toTensor().numel() == 1;
  if (type == "int") return value.isInt() || (loosely && value.isBool());
  if (type == "float") return value.isDouble() || (loosely && value.isInt());
  if (type == "bool") return value.isBool();
  if (type == "Scalar") return value.isScalar();
  if (type == "str") return value.isString();
  if (type == "Device") return value.isDevice() || value.isString();
  if (type == "list") return value.isList();
  if (type == "tuple") return value.isTuple();
  if (type == "Dict") return value.isDict();
  return type == "Generator" && value.isNone();
}

class Schema {
 public:
  explicit Schema(std::string text) : text_(std::move(text)) { parse(); }

  const std::string& text() const { return text_; }
  const std::string& name() const { return name_; }

  // All arguments in the order of the signature, or false when they do not fit.
  bool bind(const Arguments& given, const std::vector<std::string>& keywords, bool loosely, Arguments& bound) const {
    const std::size_t positional = given.size() - keywords.size();
    if (varargs_) {
      bound = given;
      return keywords.empty();
    }
    if (positional > arguments_.size() || given.size() > arguments_.size()) return false;
    bound.clear();
    std::size_t used = 0;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      const Value* value = i < positional ? &given[i] : nullptr;
      if (value != nullptr && argument.keyword_only) return false;
      for (std::size_t k = 0; k < keywords.size() && value == nullptr; ++k)
        if (keywords[k] == argument.name) value = &given[positional + k], ++used;
      if (value == nullptr && !argument.has_default) return false;
      if (value != nullptr && !fits(*value, argument.type, loosely)) return false;
      bound.push_back(value != nullptr ? *value : argument.default_value);
    }
    return used == keywords.size();
  }

 private:
  void parse() {
    const auto open = text_.find('('), close = text_.rfind(')');
    name_ = text_.substr(0, open);
    bool keyword_only = false;
    for (std::size_t at = open + 1; at < close;) {
      std::size_t end = at;
      for (int brackets = 0; end < close && (brackets > 0 || text_[end] != ','); ++end) {
        if (text_[end] == '[') ++brackets;
        if (text_[end] == ']') --brackets;
      }
      const std::string part = text_.substr(at, end - at);
      at = end + (end < close ? 2 : 1);
      if (part == "*") keyword_only = true;
      if (part == "...") varargs_ = true;
      if (part != "*" && part != "...") arguments_.push_back(parse_argument(part, keyword_only));
    }
  }

  static Argument parse_argument(const std::string& part, bool keyword_only) {
    Argument argument;
    argument.keyword_only = keyword_only;
    const auto space = part.find(' '), equals = part.find('=');
    for (const char c : part.substr(0, space))
      if (c < '0' || c > '9') argument.type += c;  // int[2] is int[]
    argument.name = part.substr(space + 1, equals == std::string::npos ? std::string::npos : equals - space - 1);
    if (equals != std::string::npos) {
      argument.has_default = true;
      argument.default_value = parse_default(part.substr(equals + 1), argument.type);
    }
    return argument;
  }

  static Value parse_default(const std::string& text, const std::string& type) {
    if (text == "None") return {};
    if (text == "True" || text == "False") return text == "True";
    if (text[0] == '"') return text.substr(1, text.size() - 2);
    if (text[0] == '[') {
      std::vector<Value> items;
      std::istringstream numbers(text.substr(1, text.size() - 2));
      for (std::string number; std::getline(numbers, number, ',');)
        items.emplace_back(std::int64_t(std::stoll(number)));
      return Value::list(items);
    }
    const bool whole = text.find_first_of(".e") == std::string::npos && type.compare(0, 5, "float") != 0;
    if (whole) return std::int64_t(std::stoll(text));
    return std::stod(text);
  }

  std::string text_, name_;
  std::vector<Argument> arguments_;
  bool varargs_ = false;
};

// A row of the tables in the files ops_*.h.
struct Definition {
  std::string schema;
  Kernel kernel;
};

struct Operator {
  Schema schema;
  Kernel kernel;
};

// All operators of one name.
struct OperatorFamily {
  std::string name;
  std::vector<Operator> overloads;

  Value call(const Arguments& given, const std::vector<std::string>& keywords) const {
    Arguments bound;
    for (const bool loosely : {false, true})
      for (const Operator& op : overloads)
        if (op.schema.bind(given, keywords, loosely, bound)) return guarded(name, [&] { return op.kernel(bound); });
    std::string kinds, known;
    for (const Value& value : given) kinds += std::string(kinds.empty() ? "" : ", ") + value.kind();
    for (const Operator& op : overloads) known += "\n  " + op.schema.text();
    fail("no signature of ", name, " here fits (", kinds, "); there are:", known);
  }
};

}  // namespace torchscript
