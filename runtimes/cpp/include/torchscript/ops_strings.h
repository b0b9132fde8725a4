// Operators on strings. A string is its bytes in UTF-8: `len("é")` is 2.
//
// It mirrors torch/csrc/jit/runtime/register_prim_ops.cpp and register_string_ops.cpp.
//
// How the real one differs: it has a few more of Python's methods (partition, translate, zfill, ...).
#pragma once

#include <iostream>
#include <optional>

#include "format.h"
#include "ops_numbers.h"

namespace torchscript {

inline std::pair<std::int64_t, std::int64_t> slice_range(std::int64_t n, const Value& start, const Value& stop) {
  const auto place = [n](const Value& v, std::int64_t otherwise) {
    if (v.isNone()) return otherwise;
    return std::clamp<std::int64_t>(v.toInt() < 0 ? v.toInt() + n : v.toInt(), 0, n);
  };
  const std::int64_t a = place(start, 0);
  return {a, std::max(a, place(stop, n))};
}

// The places that `[start:stop:step]` means, in a list or a text of n.
inline std::vector<std::size_t> slice_places(std::int64_t n, const Value& start, const Value& stop, std::int64_t step) {
  check(step != 0, "List slice should have non-zero step");
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? n : n - 1;
  const auto place = [&](const Value& v, std::int64_t otherwise) {
    return v.isNone() ? otherwise : std::clamp(v.toInt() < 0 ? v.toInt() + n : v.toInt(), lowest, highest);
  };
  const std::int64_t from = place(start, step > 0 ? lowest : highest), to = place(stop, step > 0 ? highest : lowest);
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < range_length(from, to, step); ++i) places.push_back(std::size_t(from + i * step));
  return places;
}

// The part of a text from `start` to `end`, where -1 is its end, and where that part begins. Nothing, if it lies outside.
inline std::optional<std::string> part_of(const std::string& text, std::int64_t start, std::int64_t end, std::size_t& at) {
  const std::int64_t n = std::int64_t(text.size());
  start = start < 0 ? std::max<std::int64_t>(start + n, 0) : start;
  end = end < 0 ? std::max<std::int64_t>(end + n + 1, 0) : std::min(end, n);
  if (start > end) return std::nullopt;
  at = std::size_t(start);
  return text.substr(at, std::size_t(end - start));
}

// "{} and {}" with the arguments in place of the braces.
inline std::string format(const Arguments& a) {
  std::string text;
  const std::string& pattern = a.at(0).toString();
  std::size_t used = 1;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern.compare(at, 2, "{}") == 0) {
      check(used < a.size(), "Too few arguments for format string: ", pattern);
      append(text, to_string(a[used++]));
      ++at;
    } else {
      text += pattern[at];
    }
  }
  check(used == a.size(), "Too many arguments for format string: ", pattern);
  return text;
}

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline Value split(const std::string& text, const Value& separator, std::int64_t max) {
  std::vector<Value> parts;
  std::size_t at = 0;
  if (separator.isNone()) {
    for (;;) {
      while (at < text.size() && is_space(text[at])) ++at;
      if (at == text.size()) break;
      std::size_t end = at;
      while (end < text.size() && !is_space(text[end])) ++end;
      if (max >= 0 && std::int64_t(parts.size()) == max) end = text.size();
      parts.emplace_back(text.substr(at, end - at));
      at = end;
    }
    return Value::list(parts);
  }
  const std::string& by = separator.toString();
  check(!by.empty(), "ValueError: empty separator");
  for (std::size_t found = text.find(by); found != std::string::npos && std::int64_t(parts.size()) != max;
       found = text.find(by, at)) {
    parts.emplace_back(text.substr(at, found - at));
    at = found + by.size();
  }
  parts.emplace_back(text.substr(at));
  return Value::list(parts);
}

inline std::string strip(const std::string& text, const std::string& chars, bool left, bool right) {
  std::size_t a = 0, b = text.size();
  while (left && a < b && chars.find(text[a]) != std::string::npos) ++a;
  while (right && b > a && chars.find(text[b - 1]) != std::string::npos) --b;
  return text.substr(a, b - a);
}

inline std::string replace(const std::string& text, const std::string& old, const std::string& by, std::int64_t max) {
  std::string replaced;
  std::size_t from = 0;
  for (std::int64_t n = 0; n != max; ++n) {
    const std::size_t at = text.find(old, from + (old.empty() && n > 0 ? 1 : 0));
    if (at == std::string::npos) break;
    append(replaced, text.substr(from, at - from) + by);
    from = at + old.size();
  }
  append(replaced, text.substr(from));
  return replaced;
}

// What makes a text as wide as asked for.
inline std::string filling(const Arguments& a) {
  check(a[2].toString().size() == 1, "The fill character must be exactly one character long");
  const std::int64_t n = std::int64_t(a[0].toString().size()), width = std::max(a[1].toInt(), n);
  return std::string(room_for(width) - std::size_t(n), a[2].toString()[0]);
}

template <class F>
Definition each_character(const char* name, F f) {
  return {std::string(name) + "(str self)", [=](Arguments& a) -> Value {
            std::string text = a[0].toString();
            char before = ' ';
            for (char& c : text) {
              const char old = c;
              c = f(c, before);
              before = old;
            }
            return text;
          }};
}

template <class F>
Definition all_characters(const char* name, F f) {
  return {std::string(name) + "(str self)", [=](Arguments& a) -> Value {
            const std::string& text = a[0].toString();
            return !text.empty() && std::all_of(text.begin(), text.end(), f);
          }};
}

template <class F>
Definition string_comparison(const char* name, F f) {
  return {std::string(name) + "(str a, str b)",
          [=](Arguments& a) -> Value { return f(a[0].toString(), a[1].toString()); }};
}

inline std::vector<Definition> string_operators() {
  const auto upper = [](char c) { return char(c >= 'a' && c <= 'z' ? c - 32 : c); };
  const auto lower = [](char c) { return char(c >= 'A' && c <= 'Z' ? c + 32 : c); };
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return {
      {"add(str a, str b)", [](Arguments& a) -> Value { return a[0].toString() + a[1].toString(); }},
      string_comparison("eq", [](const auto& a, const auto& b) { return a == b; }),
      string_comparison("ne", [](const auto& a, const auto& b) { return a != b; }),
      string_comparison("lt", [](const auto& a, const auto& b) { return a < b; }),
      string_comparison("le", [](const auto& a, const auto& b) { return a <= b; }),
      string_comparison("gt", [](const auto& a, const auto& b) { return a > b; }),
      string_comparison("ge", [](const auto& a, const auto& b) { return a >= b; }),
      each_character("upper", [=](char c, char) { return upper(c); }),
      each_character("lower", [=](char c, char) { return lower(c); }),
      each_character("title", [=](char c, char before) { return letter(before) ? lower(c) : upper(c); }),
      each_character("swapcase", [=](char c, char) { return upper(c) == c ? lower(c) : upper(c); }),
      {"capitalize(str self)",
       [=](Arguments& a) -> Value {
         std::string text = a[0].toString();
         for (std::size_t i = 0; i < text.size(); ++i) text[i] = i == 0 ? upper(text[i]) : lower(text[i]);
         return text;
       }},
      all_characters("isdigit", digit),
      all_characters("isalpha", letter),
      all_characters("isalnum", [=](char c) { return letter(c) || digit(c); }),
      all_characters("isspace", is_space),
      {"len(str s)", [](Arguments& a) -> Value { return std::int64_t(a[0].toString().size()); }},
      {"str(any elem)", [](Arguments& a) -> Value { return to_string(a[0]); }},
      {"list(str t)",
       [](Arguments& a) -> Value {
         std::vector<Value> letters;
         for (const char c : a[0].toString()) letters.emplace_back(std::string(1, c));
         return Value::list(letters);
       }},
      {"format(...)", [](Arguments& a) -> Value { return format(a); }},
      {"join(str self, str[] values)",
       [](Arguments& a) -> Value {
         std::string text;
         for (std::size_t i = 0; i < a[1].toList().size(); ++i)
           append(text, (i ? a[0].toString() : "") + a[1].toList()[i].toString());
         return text;
       }},
      {"split(str self, str? separator=None, int max=-1)",
       [](Arguments& a) -> Value { return split(a[0].toString(), a[1], a[2].toInt()); }},
      {"splitlines(str self, bool keepends=False)",
       [](Arguments& a) -> Value {
         std::vector<Value> lines;
         std::istringstream text(a[0].toString());
         for (std::string line; std::getline(text, line);)
           lines.emplace_back(line + (a[1].toBool() && !text.eof() ? "\n" : ""));
         return Value::list(lines);
       }},
      {"strip(str self, str chars=\" \t\n\r\f\v\")",
       [](Arguments& a) -> Value { return strip(a[0].toString(), a[1].toString(), true, true); }},
      {"lstrip(str self, str chars=\" \t\n\r\f\v\")",
       [](Arguments& a) -> Value { return strip(a[0].toString(), a[1].toString(), true, false); }},
      {"rstrip(str self, str chars=\" \t\n\r\f\v\")",
       [](Arguments& a) -> Value { return strip(a[0].toString(), a[1].toString(), false, true); }},
      {"replace(str self, str old, str new, int max=-1)",
       [](Arguments& a) -> Value { return replace(a[0].toString(), a[1].toString(), a[2].toString(), a[3].toInt()); }},
      {"find(str self, str substr, int start=0, int end=-1)",
       [](Arguments& a) -> Value {
         std::size_t at = 0;
         const auto part = part_of(a[0].toString(), a[2].toInt(), a[3].toInt(), at);
         const auto found = part ? part->find(a[1].toString()) : std::string::npos;
         return found == std::string::npos ? std::int64_t(-1) : std::int64_t(at + found);
       }},
      {"count(str self, str substr, int start=0, int end=-1)",
       [](Arguments& a) -> Value {
         std::size_t at = 0;
         const auto text = part_of(a[0].toString(), a[2].toInt(), a[3].toInt(), at);
         const std::string& part = a[1].toString();
         if (!text || part.empty()) return text ? std::int64_t(text->size()) + 1 : std::int64_t(0);
         std::int64_t n = 0;
         for (at = 0; (at = text->find(part, at)) != std::string::npos; at += part.size()) ++n;
         return n;
       }},
      {"startswith(str self, str substr, int start=0, int end=-1)",
       [](Arguments& a) -> Value {
         std::size_t at = 0;
         const auto text = part_of(a[0].toString(), a[2].toInt(), a[3].toInt(), at);
         return text && text->compare(0, a[1].toString().size(), a[1].toString()) == 0;
       }},
      {"endswith(str self, str substr, int start=0, int end=-1)",
       [](Arguments& a) -> Value {
         std::size_t at = 0;
         const auto text = part_of(a[0].toString(), a[2].toInt(), a[3].toInt(), at);
         const std::string& tail = a[1].toString();
         return text && text->size() >= tail.size() &&
                text->compare(text->size() - tail.size(), tail.size(), tail) == 0;
       }},
      {"ljust(str self, int width, str fillchar=\" \")",
       [](Arguments& a) -> Value {
         return a[0].toString() + filling(a);
       }},
      {"rjust(str self, int width, str fillchar=\" \")",
       [](Arguments& a) -> Value {
         return filling(a) + a[0].toString();
       }},
      {"__contains__(str l, str item)",
       [](Arguments& a) -> Value { return a[0].toString().find(a[1].toString()) != std::string::npos; }},
      {"__getitem__(str s, int index)",
       [](Arguments& a) -> Value {
         const std::string& text = a[0].toString();
         const std::int64_t n = std::int64_t(text.size()), i = a[1].toInt() < 0 ? a[1].toInt() + n : a[1].toInt();
         check(i >= 0 && i < n, "string index out of range");
         return std::string(1, text[std::size_t(i)]);
       }},
      {"slice(str string, int? start=None, int? end=None, int step=1)",
       [](Arguments& a) -> Value {
         std::string text;
         for (const std::size_t i : slice_places(std::int64_t(a[0].toString().size()), a[1], a[2], a[3].toInt()))
           text += a[0].toString()[i];
         return text;
       }},
      {"prim::Print(...)",
       [](Arguments& a) -> Value {
         std::string text;
         for (std::size_t i = 0; i < a.size(); ++i) text += (i ? " " : "") + to_string(a[i]);
         std::cout << text + "\n";
         return {};
       }},
      {"warn(...)",
       [](Arguments& a) -> Value {
         std::cerr << "warning: " + to_string(a.at(0)) + "\n";
         return {};
       }},
      {"prim::RaiseException(str msg, str? cls=None)", [](Arguments& a) -> Value { fail(a[0].toString()); }},
      {"device(str a)", [](Arguments& a) -> Value { return Device{a[0].toString()}; }},
      {"device(str type, int index)",
       [](Arguments& a) -> Value { return Device{a[0].toString() + ":" + std::to_string(a[1].toInt())}; }},
      {"eq(Device a, Device b)", [](Arguments& a) -> Value { return to_string(a[0]) == to_string(a[1]); }},
      {"ne(Device a, Device b)", [](Arguments& a) -> Value { return to_string(a[0]) != to_string(a[1]); }},
      {"prim::type(Device a)",
       [](Arguments& a) -> Value { return a[0].toDevice().name.substr(0, a[0].toDevice().name.find(':')); }},
  };
}

}  // namespace torchscript
