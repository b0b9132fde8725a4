// Running functions by walking their trees.
//
// A call makes a frame, one place for each local variable, and executes the statements in it. All that is shared between
// threads, the program, is only read; values that are shared are counted atomically by their `shared_ptr`s. So there is no
// lock here, and nothing like Python's global one. It mirrors torch/csrc/jit/runtime/interpreter.cpp.
//
// How the real one differs: it runs optimized instructions on a stack and can be suspended, so that `fork` is asynchronous;
// here a forked function runs at once and `wait` returns what it returned.
#pragma once

#include "format.h"
#include "schema.h"

namespace torchscript {

class Interpreter {
 public:
  // `keywords` name the last arguments, as in a call.
  static Value call(const Function& function, Arguments arguments, const std::vector<std::string>& keywords = {},
                    int depth = 0) {
    Interpreter frame(function, depth);
    frame.bind(function, std::move(arguments), keywords);
    frame.run(function.body);
    return std::move(frame.result_);
  }

 private:
  Interpreter(const Function& function, int depth) : function_(function), depth_(depth), slots_(function.slots) {}

  void bind(const Function& function, Arguments arguments, const std::vector<std::string>& keywords) {
    const auto& parameters = function.parameters;
    check(arguments.size() <= parameters.size(), function.name, "() expected at most ", parameters.size(),
          " arguments but received ", arguments.size());
    const std::size_t positional = arguments.size() - keywords.size();
    std::size_t used = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto keyword = std::find(keywords.begin(), keywords.end(), parameters[i].name);
      if (i < positional) {
        slots_[i] = std::move(arguments[i]);
      } else if (keyword != keywords.end()) {
        slots_[i] = std::move(arguments[positional + std::size_t(keyword - keywords.begin())]);
        ++used;
      } else {
        check(parameters[i].default_value.has_value(), function.name, "() is missing value for argument '",
              parameters[i].name, "'");
        slots_[i] = evaluate(*parameters[i].default_value);
      }
    }
    check(used == keywords.size(), function.name, "() got an argument by a name it does not have, or twice");
  }

  // True when the function has returned.
  bool run(const std::vector<Statement>& block) {
    for (const Statement& s : block)
      if (run(s)) return true;
    return false;
  }

  bool run(const Statement& s) {
    const Nesting nesting(*this);
    switch (s.kind) {
      case Statement::pass:
      case Statement::closure: return false;
      case Statement::expression: evaluate(*s.value); return false;
      case Statement::assign: assign(s); return false;
      case Statement::conditional: return run(evaluate(*s.value).toBool() ? s.body : s.orelse);
      case Statement::returns: result_ = evaluate(*s.value); return true;
      case Statement::while_loop:
        while (evaluate(*s.value).toBool())
          if (run(s.body)) return true;
        return false;
      case Statement::for_loop: return run_for(s);
      case Statement::with_block: return run_with(s);
    }
    return false;
  }

  // PyTorch prints every loop over something as a loop over its indices.
  bool run_for(const Statement& s) {
    const Expr& call = *s.value;
    if (call.target == Expr::op && call.text == "prim::range" && call.children.size() == 2) {
      const std::int64_t n = evaluate(call.children[1]).toInt();
      for (std::int64_t i = 0; i < n; ++i) {
        store(s.targets[0], Value(i));
        if (run(s.body)) return true;
      }
      return false;
    }
    const Value items = evaluate(call);
    for (std::size_t i = 0; i < items.elements().size(); ++i) {
      store(s.targets[0], Value(items.elements()[i]));
      if (run(s.body)) return true;
    }
    return false;
  }

  bool run_with(const Statement& s) {
    const Value manager = evaluate(*s.value);
    Value entered = call_method(manager, "__enter__", {manager}, {});
    if (!s.targets.empty()) store(s.targets[0], std::move(entered));
    const auto leave = [&] { call_method(manager, "__exit__", {manager, Value(), Value(), Value()}, {}); };
    bool returned = false;
    try {
      returned = run(s.body);
    } catch (...) {
      leave();
      throw;
    }
    leave();
    return returned;
  }

  void assign(const Statement& s) {
    Value value = evaluate(*s.value);
    if (!s.unpacks) return store(s.targets[0], std::move(value));
    const std::vector<Value> items = value.elements();
    check(items.size() == s.targets.size(), "Provided list or tuple has ", items.size(), " elements, but ",
          s.targets.size(), " are taken from it");
    for (std::size_t i = 0; i < items.size(); ++i) store(s.targets[i], Value(items[i]));
  }

  void store(const Expr& target, Value value) {
    if (target.kind == Expr::name) {
      slots_[target.slot] = std::move(value);
      return;
    }
    const Value object = evaluate(target.children[0]);
    attribute_of(object, target.text) = std::move(value);
  }

  Value evaluate(const Expr& e) {
    const Nesting nesting(*this);
    switch (e.kind) {
      case Expr::constant: return e.value;
      case Expr::name: return slots_[e.slot];
      case Expr::attribute: return read_attribute(evaluate(e.children[0]), e.text);
      case Expr::call: return evaluate_call(e);
      case Expr::list: return Value::list(evaluate_all(e, 0));
      case Expr::tuple: return Value::tuple(evaluate_all(e, 0));
      case Expr::subscript: return element(evaluate(e.children[0]), evaluate(e.children[1]));
      case Expr::slice: return tuple_slice(evaluate(e.children[0]), evaluate(e.children[1]), evaluate(e.children[2]));
      case Expr::ternary: return evaluate(e.children[evaluate(e.children[0]).toBool() ? 1 : 2]);
      case Expr::dict: break;
    }
    auto dict = std::make_shared<Dict>();
    for (std::size_t i = 0; i < e.children.size(); i += 2) {
      Value key = evaluate(e.children[i]);
      dict->set(key, evaluate(e.children[i + 1]));
    }
    return dict;
  }

  Arguments evaluate_all(const Expr& e, std::size_t from) {
    Arguments values;
    values.reserve(e.children.size());
    for (std::size_t i = from; i < e.children.size(); ++i) values.push_back(evaluate(e.children[i]));
    return values;
  }

  Value evaluate_call(const Expr& e) {
    switch (e.target) {
      case Expr::op: {
        if (e.family == nullptr)
          fail("operator ", e.text, " is not known to this runtime (", function_.name, ", line ", e.line, ")");
        const Arguments arguments = evaluate_all(e, 1);
        check(e.changed_since == 0 || arguments.empty() || !(arguments[0].isTensor() || e.text == "aten::full"), e.text,
              " means something else since version ", e.changed_since,
              " of the format, and this archive is older; saving it again with a newer PyTorch helps");
        return e.family->call(arguments, e.keywords);
      }
      case Expr::function: return call(*e.called, evaluate_all(e, 1), e.keywords, depth_);
      case Expr::fork: {
        run(e.closure->body);
        return std::move(result_);
      }
      case Expr::method: {
        Arguments arguments = evaluate_all(e, 0);
        const Value object = arguments[0];
        return call_method(object, e.text, std::move(arguments), e.keywords);
      }
      case Expr::construct: return Value::tuple(evaluate_all(e, 1), e.type);
      case Expr::instantiate: {
        auto object = std::make_shared<Object>();
        object->type = e.type;
        object->attributes.resize(e.type->attributes.size());
        return object;
      }
      case Expr::attribute_by_name: return read_attribute(evaluate(e.children[1]), e.text);
      case Expr::cast: return cast(e.text, evaluate(e.children[2]));
      default: return {};  // uninitialized(T): a value nobody will read
    }
  }

  // annotate(int, x) of a tensor is how an implicit conversion is printed.
  static Value cast(const std::string& type, Value value) {
    if (!value.isTensor() || type == "Tensor" || type.empty()) return value;
    if (type == "int") return value.toInt();
    if (type == "float") return value.toDouble();
    if (type == "bool") return value.toBool();
    if (type == "number") return is_floating(value.toTensor().dtype()) ? Value(value.toDouble()) : Value(value.toInt());
    return value;
  }

  Value call_method(const Value& object, const std::string& name, Arguments arguments,
                    const std::vector<std::string>& keywords) const {
    check(object.isObject() && object.toObject()->type != nullptr, "a ", object.kind(), " has no method ", name);
    const ClassType& type = *object.toObject()->type;
    const Function* method = type.find_method(name);
    check(method != nullptr, type.name, " has no method ", name);
    return call(*method, std::move(arguments), keywords, depth_);
  }

  static Value read_attribute(const Value& object, const std::string& name) {
    if (object.isObject() && object.toObject()->type != nullptr) {
      const auto& constants = object.toObject()->type->constants;
      const auto found = constants.find(name);
      if (found != constants.end()) return found->second;
    }
    if (object.isTuple() && object.toTuple()->type != nullptr) {
      const auto& index = object.toTuple()->type->index;
      const auto found = index.find(name);
      if (found != index.end() && found->second < object.toTupleElements().size())
        return object.toTupleElements()[found->second];
    }
    if (object.isDevice() && name == "type") return object.toDevice().name.substr(0, object.toDevice().name.find(':'));
    return attribute_of(object, name);
  }

  static Value& attribute_of(const Value& object, const std::string& name) {
    check(object.isObject() && object.toObject()->type != nullptr, "a ", object.kind(), " has no attribute '", name,
          "'");
    Object& instance = *object.toObject();
    const auto found = instance.type->index.find(name);
    check(found != instance.type->index.end(), instance.type->name, " has no attribute '", name, "'");
    return instance.attributes[found->second];
  }

  static Value element(const Value& from, const Value& index) {
    if (from.isDict()) {
      const Value* found = from.toDict().find(index);
      if (found == nullptr) fail("KeyError: ", to_string(index));
      return *found;
    }
    if (from.isString()) {
      const auto& text = from.toString();
      const std::int64_t i = index.toInt() < 0 ? index.toInt() + std::int64_t(text.size()) : index.toInt();
      check(i >= 0 && i < std::int64_t(text.size()), "string index out of range");
      return std::string(1, text[std::size_t(i)]);
    }
    const auto& items = from.elements();
    const std::int64_t n = std::int64_t(items.size()), i = index.toInt() < 0 ? index.toInt() + n : index.toInt();
    check(i >= 0 && i < n, from.isTuple() ? "Tuple index out of range" : "list index out of range");
    return items[std::size_t(i)];
  }

  static Value tuple_slice(const Value& from, const Value& start, const Value& stop) {
    const auto& items = from.elements();
    const auto n = std::int64_t(items.size());
    const auto place = [n](const Value& v, std::int64_t otherwise) {
      if (v.isNone()) return otherwise;
      return std::clamp<std::int64_t>(v.toInt() < 0 ? v.toInt() + n : v.toInt(), 0, n);
    };
    const std::int64_t a = place(start, 0), b = std::max(a, place(stop, n));
    return Value::tuple({items.begin() + a, items.begin() + b});
  }

  // Calls, statements and expressions in one another use up the stack, however they are mixed.
  struct Nesting {
    int& depth;
    explicit Nesting(Interpreter& frame) : depth(frame.depth_) {
      check(depth < 1000, frame.function_.name, ": the program is nested too deeply, or functions call one another without end");
      ++depth;
    }
    ~Nesting() { --depth; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
  };

  const Function& function_;
  int depth_;
  std::vector<Value> slots_;
  Value result_;
};

}  // namespace torchscript
