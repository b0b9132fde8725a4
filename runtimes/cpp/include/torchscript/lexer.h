// From text to tokens: names, numbers, strings, signs, and the ends and depths of lines.
//
// As in Python, the depth of a line matters: a deeper line is preceded by an `indent` token, a shallower one by `dedent`s; and
// inside brackets line ends mean nothing. It mirrors torch/csrc/jit/frontend/lexer.h.
//
// How the real one differs: it also lexes what people write: comments with types, f-strings, operators, complex numbers.
#pragma once

#include <cctype>
#include <cstdlib>

#include "program.h"

namespace torchscript {

struct Token {
  enum Kind { name, number, string, sign, newline, indent, dedent, end };
  Kind kind = end;
  std::string text;  // of a string: its content
  int line = 0;
};

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<std::size_t> depths = {0};
    while (at_ < text_.size()) {
      const std::size_t depth = indentation();
      if (at_ >= text_.size()) break;
      if (text_[at_] == '\n' || text_[at_] == '#') {
        skip_line();
        continue;
      }
      if (depth > depths.back()) depths.push_back(depth), add(Token::indent, "");
      while (depth < depths.back()) depths.pop_back(), add(Token::dedent, "");
      check(depth == depths.back(), "line ", line_, ": this line is less deep than those around it");
      lex_line();
      add(Token::newline, "");
    }
    while (depths.size() > 1) depths.pop_back(), add(Token::dedent, "");
    add(Token::end, "");
    return std::move(tokens_);
  }

 private:
  void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  std::size_t indentation() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ - start;
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    ++at_;
    ++line_;
  }

  void lex_line() {
    int brackets = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        if (brackets == 0) {
          ++at_;
          return;
        }
      } else if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c == ' ') {
        continue;
      } else if (c == '"' || c == '\'') {
        lex_string(c);
      } else if (is_digit(at_) || (c == '.' && is_digit(at_ + 1))) {
        lex_number();
      } else if (is_letter(c)) {
        const std::size_t start = at_;
        while (at_ + 1 < text_.size() && (is_letter(text_[at_ + 1]) || is_digit(at_ + 1))) ++at_;
        add(Token::name, text_.substr(start, at_ + 1 - start));
      } else if (c == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '>') {
        ++at_;
        add(Token::sign, "->");
      } else {
        check(std::string("()[]{},.:=-*").find(c) != std::string::npos, "line ", line_, ": '", c,
              "' is not part of this language");
        if (c == '(' || c == '[' || c == '{') ++brackets;
        if (c == ')' || c == ']' || c == '}') --brackets;
        add(Token::sign, std::string(1, c));
      }
    }
  }

  bool is_digit(std::size_t at) const { return at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

  void lex_number() {
    const std::size_t start = at_;
    while (is_digit(at_)) ++at_;
    if (at_ < text_.size() && text_[at_] == '.') ++at_;
    while (is_digit(at_)) ++at_;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const bool with_sign = at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+');
      if (is_digit(at_ + (with_sign ? 2 : 1))) {
        at_ += with_sign ? 2 : 1;
        while (is_digit(at_)) ++at_;
      }
    }
    --at_;  // the loop goes on from the last character
    add(Token::number, text_.substr(start, at_ + 1 - start));
  }

  // The bytes of a string; those that are not printable ASCII are written with three octal digits.
  void lex_string(char quote) {
    std::string content;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      check(text_[at_] != '\n', "line ", line_, ": a string does not end");
      if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
        content += text_[at_];
        continue;
      }
      const char c = text_[++at_];
      if (c >= '0' && c <= '7') {
        int byte = c - '0';
        for (int i = 0; i < 2 && at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '7'; ++i)
          byte = byte * 8 + text_[++at_] - '0';
        content += static_cast<char>(byte & 0xff);
      } else {
        static const std::string letters = "ntrabfv", meanings = "\n\t\r\a\b\f\v";
        const auto found = letters.find(c);
        content += found == std::string::npos ? c : meanings[found];
      }
    }
    check(at_ < text_.size(), "line ", line_, ": a string does not end");
    add(Token::string, content);
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace torchscript
