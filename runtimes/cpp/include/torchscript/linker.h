// Finding out, once, what each name in the code means.
//
// Local variables get a number, their place in the frame of a call. `torch.add` becomes a pointer to an operator,
// `__torch__.f(...)` one to a function, `__torch__.Pair(...)` a NamedTuple to make. An operator that does not exist here is
// no error yet, since the code of `torch.nn.functional` mentions many that never run; calling it is. It mirrors the
// environment of torch/csrc/jit/frontend/ir_emitter.cpp and the SourceImporter of import_source.cpp.
//
// How the real one differs: it emits the graph in the same go, and reads classes and functions only when they are needed.
#pragma once

#include "program.h"
#include "schema.h"

namespace torchscript {

using FindOperator = std::function<const OperatorFamily*(const std::string&)>;

class Linker {
 public:
  Linker(Program& program, std::int64_t version, FindOperator find_operator)
      : program_(program), version_(version), find_operator_(std::move(find_operator)) {}

  void run() {
    for (Function& function : program_.functions) {
      locals_.clear();
      aliases_.clear();
      closures_.clear();
      for (const Parameter& parameter : function.parameters) declare(parameter.name);
      for (Parameter& parameter : function.parameters)
        if (parameter.default_value) link(*parameter.default_value);
      link_block(function.body);
      function.slots = locals_.size();
    }
  }

 private:
  std::size_t declare(const std::string& name) { return locals_.emplace(name, locals_.size()).first->second; }

  void link_block(std::vector<Statement>& block) {
    for (Statement& s : block) {
      if (is_alias(s)) {
        s = Statement{};
        continue;
      }
      if (s.kind == Statement::closure) {
        closures_[s.targets[0].text] = &s;
        link_block(s.body);
        continue;
      }
      if (s.value) link(*s.value);
      for (Expr& target : s.targets) link_target(target);
      link_block(s.body);
      link_block(s.orelse);
    }
  }

  // `_0 = __torch__.torch.nn.functional.relu`: a short name for a function, which is no value.
  bool is_alias(const Statement& s) {
    if (s.kind != Statement::assign || s.targets.size() != 1 || s.targets[0].kind != Expr::name) return false;
    const std::string path = dotted(*s.value);
    if (find_function(path) == nullptr && program_.find_class(path) == nullptr) return false;
    aliases_[s.targets[0].text] = path;
    return true;
  }

  void link_target(Expr& target) {
    if (target.kind == Expr::name) {
      target.target = Expr::local;
      target.slot = declare(target.text);
    } else {
      check(target.kind == Expr::attribute, "line ", target.line, ": this cannot be assigned to");
      link(target.children[0]);
      program_.sets_attributes = true;
    }
  }

  void link(Expr& e) {
    if (e.kind == Expr::call) return link_call(e);
    if (e.kind == Expr::name) return link_name(e);
    if (e.kind == Expr::attribute) {
      const std::string path = dotted(e);
      if (path.compare(0, 10, "CONSTANTS.") == 0) return link_constant(e, path.substr(10));
    }
    for (Expr& child : e.children) link(child);
  }

  void link_name(Expr& e) {
    const auto found = locals_.find(e.text);
    if (found != locals_.end()) {
      e.target = Expr::local;
      e.slot = found->second;
    } else if (e.text == "inf" || e.text == "nan") {
      e.kind = Expr::constant;
      e.value = e.text == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else {
      fail("line ", e.line, ": undefined value ", e.text);
    }
  }

  void link_constant(Expr& e, const std::string& which) const {
    const auto number =
        which.size() > 1 && which[0] == 'c' ? std::strtoull(which.c_str() + 1, nullptr, 10) : program_.constants.size();
    check(number < program_.constants.size(), "invalid constant specifier: ", which);
    e.kind = Expr::constant;
    e.value = program_.constants[number];
    if (!e.value.isTensor() || e.value.toTensor().dim() > 0) return;
    Tensor scalar = e.value.toTensor().view_as({}, {});  // a trace wrote down `x + 1.5` as a constant tensor
    scalar.set_wrapped_number(true);
    e.value = scalar;
  }

  void link_call(Expr& call) {
    const Expr& callee = call.children[0];
    const std::string path = dotted(callee);
    std::size_t first_value = 1;  // some arguments are types or names, not values
    if (!path.empty() && locals_.count(path.substr(0, path.find('.'))) == 0) {
      first_value = link_global_call(call, path);
    } else {
      check(callee.kind == Expr::attribute, "line ", call.line, ": this cannot be called");
      call.target = Expr::method;
      call.text = callee.text;
      first_value = 0;
    }
    if (call.target == Expr::method) {
      Expr object = std::move(call.children[0].children[0]);
      call.children[0] = std::move(object);
    }
    for (std::size_t i = first_value; i < call.children.size(); ++i) link(call.children[i]);
  }

  std::size_t link_global_call(Expr& call, const std::string& path) {
    const auto needs = [&](std::size_t n) {
      check(call.children.size() == n + 1, "line ", call.line, ": ", path, " takes ", n, " arguments");
    };
    if (path == "annotate" || path == "unchecked_cast") {
      needs(2);
      call.target = Expr::cast;
      call.text = call.children[1].text;
      return 2;
    }
    if (path == "uninitialized") {
      call.target = Expr::uninitialized;
      return call.children.size();
    }
    if (path == "getattr") {
      needs(2);
      check(call.children[2].value.isString(), "line ", call.line, ": getattr needs the name of an attribute");
      call.target = Expr::attribute_by_name;
      call.text = call.children[2].value.toString();
      return 1;
    }
    if (path == "fork") {
      check(call.children.size() > 1, "line ", call.line, ": fork needs a function");
      call.target = Expr::fork;
      const auto closure = closures_.find(call.children[1].text);
      check(closure != closures_.end(), "line ", call.line, ": fork of an unknown function");
      call.closure = closure->second;
      return call.children.size();
    }
    if (const Function* function = find_function(path)) {
      call.target = Expr::function;
      call.called = function;
      return 1;
    }
    if (const ClassType* type = program_.find_class(path)) {
      call.target = Expr::construct;
      call.type = type;
      return 1;
    }
    if (path.size() > 8 && path.compare(path.size() - 8, 8, ".__new__") == 0) {
      call.target = Expr::instantiate;
      call.type = program_.find_class(path.substr(0, path.size() - 8));
      check(call.type != nullptr, "line ", call.line, ": unknown class ", path);
      return call.children.size();
    }
    call.target = Expr::op;
    call.text = operator_name(path, call.line);
    call.family = find_operator_(call.text);
    call.changed_since = changed_since(call.text);
    return 1;
  }

  // The version since which an operator on tensors means what it means today, if this archive is older.
  int changed_since(const std::string& name) const {
    static const std::map<std::string, int> since = {{"aten::div", 4}, {"aten::div_", 4}, {"aten::full", 5}};
    const auto found = since.find(name);
    return found == since.end() || version_ >= found->second ? 0 : found->second;
  }

  const Function* find_function(const std::string& path) const {
    const auto found = program_.function_names.find(path);
    return found == program_.function_names.end() ? nullptr : found->second;
  }

  // torch.add is aten::add, ops.prim.min is prim::min, and int(x) is aten::Int.
  static std::string operator_name(const std::string& path, int line) {
    static const std::map<std::string, std::string> builtins = {
        {"int", "aten::Int"},     {"float", "aten::Float"}, {"bool", "aten::Bool"},     {"str", "aten::str"},
        {"print", "prim::Print"}, {"range", "prim::range"}, {"sorted", "aten::sorted"}, {"len", "aten::len"}};
    const auto found = builtins.find(path);
    if (found != builtins.end()) return found->second;
    if (path.compare(0, 6, "torch.") == 0) return "aten::" + path.substr(6);
    if (path.compare(0, 4, "ops.") == 0) {
      const auto dot = path.find('.', 4);
      if (dot != std::string::npos) return path.substr(4, dot - 4) + "::" + path.substr(dot + 1);
    }
    fail("line ", line, ": unknown function ", path);
  }

  // "a.b.c", or nothing when the expression is something else.
  std::string dotted(const Expr& e) const {
    if (e.kind == Expr::name) return aliases_.count(e.text) != 0 ? aliases_.at(e.text) : e.text;
    if (e.kind != Expr::attribute) return "";
    const std::string before = dotted(e.children[0]);
    return before.empty() ? "" : before + "." + e.text;
  }

  Program& program_;
  std::int64_t version_;
  FindOperator find_operator_;
  std::map<std::string, std::size_t> locals_;
  std::map<std::string, std::string> aliases_;
  std::map<std::string, const Statement*> closures_;
};

}  // namespace torchscript
