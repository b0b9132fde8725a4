// From tokens to trees, by recursive descent: one function for each thing that can be written.
//
// The code in an archive was printed by PyTorch, so it is a small language: calls instead of operators (`torch.add(x, y)`), no
// lambdas, no comprehensions, loops without break. It mirrors torch/csrc/jit/frontend/parser.cpp and import_source.cpp.
//
// How the real one differs: it parses nearly all of Python's expressions, because TorchScript may also be given as a string;
// and types are checked, where here they are read and mostly forgotten.
#pragma once

#include <cerrno>

#include "lexer.h"

namespace torchscript {

class Parser {
 public:
  // `module_name`: what the names in this text are put behind, "__torch__.torch.nn.functional".
  Parser(const std::string& text, std::string module_name, Program& program)
      : tokens_(Lexer(text).run()), module_(std::move(module_name)), program_(program) {}

  void run() {
    while (!at(Token::end)) {
      if (accept("class")) {
        parse_class();
      } else if (accept("def")) {
        const Function* function = parse_function(module_ + ".");
        check(program_.function_names.emplace(function->name, function).second, "two functions are named ",
              function->name);
      } else {  // `import __torch__.x` and `op_version_set = 1` of older archives
        while (!at(Token::newline) && !at(Token::end)) next();
        accept_newline();
      }
    }
  }

 private:
  void parse_class() {
    program_.classes.emplace_back();
    ClassType& type = program_.classes.back();
    type.name = module_ + "." + expect_name();
    check(program_.class_names.emplace(type.name, &type).second, "two classes are named ", type.name);
    if (accept("(")) {
      type.base = expect_name();
      expect(")");
    }
    expect(":");
    open_block();
    while (!accept_kind(Token::dedent)) parse_class_item(type);
  }

  // `def`, `weight : Tensor`, `n : Final[int] = 3`, `__annotations__["0"] = T`, `__parameters__ = [...]`, `pass`
  void parse_class_item(ClassType& type) {
    if (accept("def")) {
      const Function* method = parse_function(type.name + ".");
      type.methods[method->name.substr(type.name.size() + 1)] = method;
      return;
    }
    const std::string name = expect_name();
    if (name == "pass") {
    } else if (accept(":")) {
      parse_expression();  // the type
      if (accept("=")) {
        type.constants[name] = constant_value(parse_expression());
      } else {
        type.add_attribute(name);
      }
    } else if (accept("[")) {
      type.add_attribute(next().text);
      expect("]");
      expect("=");
      parse_expression();
    } else {
      expect("=");
      parse_expression();
    }
    accept_newline();
  }

  static Value constant_value(const Expr& e) {
    if (e.kind == Expr::constant) return e.value;
    if (e.kind == Expr::list || e.kind == Expr::tuple) {
      std::vector<Value> items;
      for (const Expr& child : e.children) items.push_back(constant_value(child));
      return e.kind == Expr::list ? Value::list(items) : Value::tuple(items);
    }
    if (e.kind == Expr::call && !e.children.empty()) return constant_value(e.children.back());  // torch.device("cpu")
    return {};
  }

  const Function* parse_function(const std::string& prefix) {
    program_.functions.emplace_back();
    Function& function = program_.functions.back();
    function.name = prefix + expect_name();
    expect("(");
    while (!accept(")")) {
      Parameter parameter;
      accept("*");
      parameter.name = expect_name();
      if (accept(":")) parse_expression();
      if (accept("=")) parameter.default_value = parse_expression();
      function.parameters.push_back(std::move(parameter));
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    if (accept("->")) parse_expression();
    expect(":");
    function.body = parse_block();
    return &function;
  }

  void open_block() {
    check(accept_kind(Token::newline) && accept_kind(Token::indent), "line ", peek().line,
          ": expected an indented block");
  }

  std::vector<Statement> parse_block() {
    open_block();
    std::vector<Statement> statements;
    while (!accept_kind(Token::dedent)) statements.push_back(parse_statement());
    return statements;
  }

  Statement parse_statement() {
    const Nesting nesting(*this);
    Statement s;
    if (accept("if")) {
      s.kind = Statement::conditional;
      parse_value_and_body(s);
      if (accept("else")) {
        expect(":");
        s.orelse = parse_block();
      }
    } else if (accept("while")) {
      s.kind = Statement::while_loop;
      parse_value_and_body(s);
    } else if (accept("for")) {
      s.kind = Statement::for_loop;
      s.targets.push_back(parse_expression());
      check(accept("in"), "line ", peek().line, ": expected 'in'");
      parse_value_and_body(s);
    } else if (accept("with")) {
      s.kind = Statement::with_block;
      s.value = parse_expression();
      if (accept("as")) s.targets.push_back(parse_expression());
      expect(":");
      s.body = parse_block();
    } else if (accept("def")) {  // a function inside a function, which `fork` will run
      s.kind = Statement::closure;
      s.targets.push_back(make(Expr::name));
      s.targets[0].text = expect_name();
      for (const char* sign : {"(", ")", ":"}) expect(sign);
      s.body = parse_block();
    } else {
      parse_simple_statement(s);
      accept_newline();
    }
    return s;
  }

  void parse_value_and_body(Statement& s) {
    s.value = parse_expression();
    expect(":");
    s.body = parse_block();
  }

  // A statement of one line.
  void parse_simple_statement(Statement& s) {
    if (accept("pass")) return;
    if (accept("return")) {
      s.kind = Statement::returns;
      s.value = at(Token::newline) ? Expr{} : parse_tuple();
      return;
    }
    Expr first = parse_tuple();
    if (accept(":")) parse_expression();  // z : Optional[int] = 3
    if (!accept("=")) {
      s.kind = Statement::expression;
      s.value = std::move(first);
      return;
    }
    s.kind = Statement::assign;
    s.unpacks = first.kind == Expr::tuple;
    if (s.unpacks) {
      s.targets = std::move(first.children);
    } else {
      s.targets.push_back(std::move(first));
    }
    s.value = parse_tuple();
  }

  // `a` or `a, b` or `a,`
  Expr parse_tuple() {
    Expr first = parse_expression();
    if (!at_sign(",")) return first;
    Expr tuple = make(Expr::tuple);
    adopt(tuple, std::move(first));
    while (accept(",")) {
      if (at(Token::newline) || at_sign("=")) break;
      adopt(tuple, parse_expression());
    }
    return tuple;
  }

  Expr parse_expression() {
    const Nesting nesting(*this);
    Expr e = parse_postfix();
    if (accept("if")) {
      Expr ternary = make(Expr::ternary);
      adopt(ternary, parse_expression());
      check(accept("else"), "line ", peek().line, ": expected 'else'");
      adopt(ternary, std::move(e));
      adopt(ternary, parse_expression());
      return ternary;
    }
    return e;
  }

  // What follows an expression: .name, (arguments), [index]
  Expr parse_postfix() {
    Expr e = parse_atom();
    for (;;) {
      if (accept(".")) {
        Expr attribute = make(Expr::attribute);
        attribute.text = expect_name();
        adopt(attribute, std::move(e));
        e = std::move(attribute);
      } else if (accept("(")) {
        e = parse_call(std::move(e));
      } else if (accept("[")) {
        e = parse_subscript(std::move(e));
      } else {
        return e;
      }
    }
  }

  Expr parse_call(Expr callee) {
    Expr call = make(Expr::call);
    adopt(call, std::move(callee));
    while (!accept(")")) {
      if (at(Token::name) && tokens_[at_ + 1].kind == Token::sign && tokens_[at_ + 1].text == "=") {
        call.keywords.push_back(next().text);
        next();
      } else {
        check(call.keywords.empty(), "line ", peek().line, ": a positional argument follows a keyword argument");
      }
      adopt(call, parse_expression());
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return call;
  }

  Expr parse_subscript(Expr from) {
    Expr subscript = make(Expr::subscript);
    adopt(subscript, std::move(from));
    Expr first = at_sign(":") ? make(Expr::constant) : at_sign("]") ? make(Expr::tuple) : parse_expression();
    if (accept(":")) {
      subscript.kind = Expr::slice;
      adopt(subscript, std::move(first));
      adopt(subscript, at_sign("]") ? make(Expr::constant) : parse_expression());
    } else if (at_sign(",")) {  // only types: Tuple[int, str]
      Expr tuple = make(Expr::tuple);
      adopt(tuple, std::move(first));
      while (accept(",") && !at_sign("]")) adopt(tuple, parse_expression());
      adopt(subscript, std::move(tuple));
    } else {
      adopt(subscript, std::move(first));
    }
    expect("]");
    return subscript;
  }

  Expr parse_atom() {
    const Token& token = next();
    Expr e = make(Expr::constant);
    switch (token.kind) {
      case Token::number: e.value = number(token.text); return e;
      case Token::string: e.value = token.text; return e;
      case Token::name:
        if (token.text == "None") return e;
        if (token.text == "True" || token.text == "False") {
          e.value = token.text == "True";
          return e;
        }
        e.kind = Expr::name;
        e.text = token.text;
        return e;
      case Token::sign:
        if (token.text == "-") return negative(parse_expression());
        if (token.text == "(") return parse_parenthesis();
        if (token.text == "[") return parse_items(Expr::list, "]");
        if (token.text == "{") return parse_items(Expr::dict, "}");
        break;
      default: break;
    }
    fail("line ", token.line, ": expected an expression but found '", token.text, "'");
  }

  // `(x)` is x, `(x,)` and `(x, y)` and `()` are tuples.
  Expr parse_parenthesis() {
    Expr tuple = make(Expr::tuple);
    while (!accept(")")) {
      adopt(tuple, parse_expression());
      if (accept(",")) continue;
      expect(")");
      if (tuple.children.size() == 1) return Expr(tuple.children[0]);
      break;
    }
    return tuple;
  }

  Expr parse_items(Expr::Kind kind, const char* close) {
    Expr items = make(kind);
    while (!accept(close)) {
      adopt(items, parse_expression());
      if (kind == Expr::dict) {
        expect(":");
        adopt(items, parse_expression());
      }
      if (!accept(",")) {
        expect(close);
        break;
      }
    }
    return items;
  }

  Value number(const std::string& text) const {
    if (text.find_first_of(".eE") != std::string::npos) return std::strtod(text.c_str(), nullptr);
    errno = 0;
    const auto value = std::strtoull(text.c_str(), nullptr, 10);
    check(errno == 0 && value <= std::uint64_t(1) << 63, "line ", peek().line, ": the number ", text, " is too large");
    return static_cast<std::int64_t>(value);  // 2**63 appears only behind a minus sign
  }

  Expr negative(Expr e) const {
    if (e.kind == Expr::name && (e.text == "inf" || e.text == "nan")) {
      e.kind = Expr::constant;
      e.value = e.text == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    check(e.kind == Expr::constant && (e.value.isInt() || e.value.isDouble()), "line ", e.line,
          ": '-' stands before something other than a number");
    e.value = e.value.isInt() ? Value(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(e.value.toInt())))
                              : Value(-e.value.toDouble());
    return e;
  }

  // Trees as deep as a damaged file wants would exhaust the stack: of the parser, and of whatever walks down a tree later.
  void adopt(Expr& parent, Expr child) const {
    parent.height = std::max(parent.height, child.height + 1);
    check(parent.height < 400, "line ", peek().line, ": this expression goes on for too long");
    parent.children.push_back(std::move(child));
  }
  struct Nesting {
    Parser& parser;
    explicit Nesting(Parser& p) : parser(p) {
      check(++p.depth_ < 400, "line ", p.peek().line, ": this code is nested too deeply");
    }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
  };

  Expr make(Expr::Kind kind) const {
    Expr e;
    e.kind = kind;
    e.line = peek().line;
    return e;
  }
  const Token& peek() const { return tokens_[at_]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }  // the end token stays
  bool at(Token::Kind kind) const { return peek().kind == kind; }
  bool at_sign(const char* text) const { return at(Token::sign) && peek().text == text; }
  bool accept_kind(Token::Kind kind) { return at(kind) && (next(), true); }
  bool accept(const char* text) {
    if ((!at(Token::sign) && !at(Token::name)) || peek().text != text) return false;
    next();
    return true;
  }
  void accept_newline() {
    check(accept_kind(Token::newline) || at(Token::end), "line ", peek().line, ": unexpected '", peek().text, "'");
  }
  void expect(const char* text) {
    check(accept(text), "line ", peek().line, ": expected '", text, "' but found '", peek().text, "'");
  }
  std::string expect_name() {
    check(at(Token::name), "line ", peek().line, ": expected a name but found '", peek().text, "'");
    return next().text;
  }

  std::vector<Token> tokens_;
  std::string module_;
  Program& program_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace torchscript
