// What code becomes before it runs: expressions, statements, functions, classes.
//
// The parser fills these trees, the linker answers once what each name in them means (`linker.h`), and from then on nobody
// writes to them: any number of threads may interpret one program at the same time. It mirrors torch/csrc/jit/frontend/tree_views.h
// and aten/src/ATen/core/jit_type.h (ClassType), torch/csrc/jit/api/compilation_unit.h (Program).
//
// How the real one differs: it compiles the trees into an SSA graph, optimizes that, and interprets a list of instructions
// on a stack (torch/csrc/jit/runtime/interpreter.cpp). Here the trees themselves are walked.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "value.h"

namespace torchscript {

struct Function;
struct Statement;
struct OperatorFamily;

struct Expr {
  enum Kind { constant, name, attribute, call, subscript, slice, list, tuple, dict, ternary };
  // What a call calls, or a name names: found by the linker.
  enum Target {
    unknown,
    local,
    op,
    function,
    method,
    construct,
    instantiate,
    cast,
    attribute_by_name,
    uninitialized,
    fork
  };

  Kind kind = constant;
  std::string text;                   // a name or attribute, or the name of an operator: "aten::add"
  Value value;                        // a constant
  std::vector<Expr> children;         // call: the callee, then the arguments; dict: key, value, key, value
  std::vector<std::string> keywords;  // call: the names of the last arguments
  int line = 0;
  int height = 0;  // of the tree below

  Target target = unknown;
  std::size_t slot = 0;                    // of a local variable
  const OperatorFamily* family = nullptr;  // stays null when there is no such operator here
  int changed_since = 0;                   // a version: the operator meant something else in this archive's
  const Function* called = nullptr;
  const ClassType* type = nullptr;
  const Statement* closure = nullptr;  // what `fork` runs
};

struct Statement {
  enum Kind { expression, assign, conditional, while_loop, for_loop, with_block, returns, closure, pass };
  Kind kind = pass;
  std::vector<Expr> targets;
  bool unpacks = false;  // `a, = pair` takes a tuple apart, `a = pair` does not
  std::optional<Expr> value;
  std::vector<Statement> body, orelse;
};

struct Parameter {
  std::string name;
  std::optional<Expr> default_value;
};

struct Function {
  std::string name;  // "__torch__.Net.forward"
  std::vector<Parameter> parameters;
  std::vector<Statement> body;
  std::size_t slots = 0;  // local variables, the parameters first
};

struct ClassType {
  std::string name;
  std::string base;  // "Module", "NamedTuple" or ""
  std::vector<std::string> attributes;
  std::map<std::string, std::size_t> index;
  std::map<std::string, Value> constants;  // Final attributes: they live in the class
  std::map<std::string, const Function*> methods;

  void add_attribute(const std::string& attribute) {
    if (index.emplace(attribute, attributes.size()).second) attributes.push_back(attribute);
  }
  const Function* find_method(const std::string& method) const {
    const auto found = methods.find(method);
    return found == methods.end() ? nullptr : found->second;
  }
};

// Everything the code of an archive defines. Deques, so that what they hold never moves.
struct Program {
  std::deque<Function> functions;
  std::deque<ClassType> classes;
  std::map<std::string, const Function*> function_names;
  std::map<std::string, const ClassType*> class_names;
  std::vector<Value> constants;  // CONSTANTS.c0, CONSTANTS.c1, ...
  bool sets_attributes = false;  // `self.n = ...`: then threads need a module each

  const ClassType* find_class(const std::string& name) const {
    const auto found = class_names.find(name);
    return found == class_names.end() ? nullptr : found->second;
  }
};

}  // namespace torchscript
