// Single calls of operators, which tests/runtime_calls.py made from signatures: `check --operators FILE FROM`.
//
// FILE, which torch.save wrote, holds {"calls": [{"operator", "inputs", "keywords"}, ...]}, some with what they must give,
// "expected". A line says what became of each, from number FROM on: "same", "differs: ...", "answered" where nothing is expected,
// "refused: ...". Anything but the runtime's own Error ends the program, and the line that is missing says at which call.
#pragma once

#include "cases.h"
#include "include/torchscript.h"

namespace torchscript {

inline std::string in_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

inline std::string outcome_of(const Value& call) {
  const OperatorFamily* family = find_operator(field(call, "operator").toString());
  if (family == nullptr) return "refused: there is no such operator";
  std::vector<std::string> keywords;
  for (const Value& keyword : field(call, "keywords").elements()) keywords.push_back(keyword.toString());
  Value result;
  try {
    result = family->call(field(call, "inputs").elements(), keywords);
    to_string(result);
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
  const Value* expected = call.toDict().find("expected");
  if (expected == nullptr) return "answered";
  const std::string why = difference(result, *expected, "the result");
  return why.empty() ? "same" : "differs: " + why;
}

inline int make_calls(const std::string& path, std::size_t from) {
  const auto calls = field(load_values(path), "calls").elements();
  most_bytes = 1 << 26;  // of one value: what a hostile call may take
  std::cout << "loaded" << std::endl;
  for (std::size_t i = from; i < calls.size(); ++i)
    std::cout << i << ' ' << in_one_line(outcome_of(calls[i])) << std::endl;
  return 0;
}

inline int print_signatures() {
  for (const auto& [name, family] : all_operators())
    for (const Operator& op : family.overloads) std::cout << name << ' ' << in_one_line(op.schema.text()) << std::endl;
  return 0;
}

}  // namespace torchscript
