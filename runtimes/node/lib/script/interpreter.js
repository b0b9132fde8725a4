/**
 * Running archived code (`torch/csrc/jit/runtime/interpreter.cpp`).
 *
 * The interpreter walks the tree: a statement changes the variables of its function, an expression gives a value. Names that begin
 * with `torch` or `ops` are operators of the table, names that begin with `__torch__` are the archive's own classes and functions.
 * There is no Python anywhere; an `if` on a tensor's value is an `if` here.
 *
 * How the real one differs: the code becomes an SSA graph, which passes optimise, and then a list of instructions for a register
 * machine; forked tasks run on other threads, where here they run at once.
 */
"use strict";

const { ScriptError } = require("../errors");
const { Tuple, ScriptObject, EnumValue, typeName } = require("./values");
const operators = require("./operators");
const { upgraded } = require("./upgraders");
const { BUILTINS, toBool } = require("./builtins");

const MOST_CALLS = 300; // nested; JavaScript's own stack is not much deeper

class Interpreter {
  /**
   * @param {import("./compilation_unit").CompilationUnit} unit
   * @param {number} version  of the archive: operators keep the meaning that they had then
   */
  constructor(unit, version) {
    this.unit = unit;
    this.version = version;
    this.constants = []; // what `CONSTANTS.c0` and so on mean
    this.depth = 0;
    this.print = (text) => console.log(text);
  }

  /** Runs a function or method; `args` by position, `self` first; `outer` are the variables around a nested function. */
  run(def, args, keywords = [], outer = null) {
    if (++this.depth > MOST_CALLS) {
      this.depth = 0;
      throw new ScriptError(`more than ${MOST_CALLS} nested calls in ${def.name}`);
    }
    const variables = this.bind(def, args, keywords, outer);
    const result = this.block(def.body, variables);
    this.depth--;
    return result ? result.value : null;
  }

  bind(def, args, keywords, outer) {
    if (args.length > def.params.length)
      throw new ScriptError(`${def.name}() takes ${def.params.length} arguments, ${args.length} were given`);
    const variables = new Map(outer);
    def.params.forEach((p, i) => {
      const named = keywords.find(([name]) => name === p.name);
      if (i < args.length) variables.set(p.name, args[i]);
      else if (named) variables.set(p.name, named[1]);
      else if (p.default) variables.set(p.name, this.evaluate(p.default, variables));
      else throw new ScriptError(`${def.name}() is missing value for argument '${p.name}'`);
    });
    return variables;
  }

  // Statements. What a `return` gives comes back as {value}; undefined means: go on.

  block(statements, variables) {
    for (const statement of statements) {
      const returned = this.execute(statement, variables);
      if (returned) return returned;
    }
    return undefined;
  }

  execute(node, variables) {
    switch (node.kind) {
      case "Assign":
        return this.assign(node.target, this.evaluate(node.value, variables), variables);
      case "Expression":
        this.evaluate(node.value, variables);
        return undefined;
      case "Return":
        return { value: this.evaluate(node.value, variables) };
      case "If":
        return this.block(toBool(this.evaluate(node.test, variables)) ? node.then : node.otherwise, variables);
      case "While":
        while (toBool(this.evaluate(node.test, variables))) {
          const returned = this.block(node.body, variables);
          if (returned) return returned;
        }
        return undefined;
      case "For":
        return this.loop(node, variables);
      case "With":
        return this.with(node, variables);
      case "Def":
        variables.set(node.def.name, { def: node.def, self: null, outer: variables });
        return undefined;
      default:
        return undefined; // Pass
    }
  }

  assign(target, value, variables) {
    if (target.kind === "Name") {
      variables.set(target.name, value);
    } else if (target.kind === "Attribute") {
      const object = this.evaluate(target.object, variables);
      if (!(object instanceof ScriptObject)) throw new ScriptError(`cannot set ${target.name} of a ${typeName(object)}`);
      object.attributes.set(target.name, value);
    } else if (target.kind === "Tuple") {
      if (!Array.isArray(value) || value.length !== target.items.length) {
        throw new ScriptError(
          `Expected ${target.items.length} elements in a list but found ${Array.isArray(value) ? value.length : 1}`,
        );
      }
      target.items.forEach((item, i) => this.assign(item, value[i], variables));
    } else {
      throw new ScriptError(`line ${target.line}: a ${target.kind} cannot be assigned to`);
    }
  }

  loop({ variable, iterable, body }, variables) {
    const values = this.evaluate(iterable, variables);
    if (!Array.isArray(values) && !(values && values.isRange)) throw new ScriptError(`cannot loop over a ${typeName(values)}`);
    for (const value of values) {
      variables.set(variable, value);
      const returned = this.block(body, variables);
      if (returned) return returned;
    }
    return undefined;
  }

  with({ context, variable, body }, variables) {
    const manager = this.evaluate(context, variables);
    const entered = this.callMethod(manager, "__enter__", []);
    if (variable) variables.set(variable, entered);
    try {
      return this.block(body, variables);
    } finally {
      this.callMethod(manager, "__exit__", [null, null, null]);
    }
  }

  // Expressions

  evaluate(node, variables) {
    switch (node.kind) {
      case "Constant":
        return node.value;
      case "Name":
        if (variables.has(node.name)) return variables.get(node.name);
        throw new ScriptError(`line ${node.line}: the name ${node.name} is not defined`);
      case "Call":
        return this.call(node, variables);
      case "Attribute":
        return this.attribute(node, variables);
      case "Subscript":
        return operators.call(
          "__getitem__",
          [this.evaluate(node.object, variables), this.evaluate(node.indices[0], variables)],
          [],
        );
      case "Slice":
        return this.slice(node, variables);
      case "List":
        return node.items.map((item) => this.evaluate(item, variables));
      case "Tuple":
        return Tuple.from(node.items, (item) => this.evaluate(item, variables));
      case "Dict":
        return new Map(node.pairs.map(([key, value]) => [this.evaluate(key, variables), this.evaluate(value, variables)]));
      default:
        throw new ScriptError(`line ${node.line}: unknown expression ${node.kind}`);
    }
  }

  slice({ object, start, end, step }, variables) {
    const part = (node) => (node ? this.evaluate(node, variables) : null);
    const value = this.evaluate(object, variables);
    if (value instanceof Tuple)
      return Tuple.from(Array.from(value).slice(...[start, end].map((n) => (n ? Number(part(n)) : undefined))));
    return operators.call("slice", [value, part(start), part(end), step ? part(step) : 1n], []);
  }

  attribute(node, variables) {
    const path = dotted(node);
    if (path && !variables.has(path.split(".")[0])) return this.global(path, node.line);
    const object = this.evaluate(node.object, variables);
    return this.getAttribute(object, node.name);
  }

  getAttribute(object, name) {
    if (object instanceof ScriptObject) {
      if (object.attributes.has(name)) return object.attributes.get(name);
      const constant = object.type.fields.find((f) => f.name === name && f.value);
      if (constant) return this.evaluate(constant.value, new Map());
      if (object.type.methods.has(name)) return { def: object.type.methods.get(name), self: object };
    }
    if (object instanceof Tuple && object.type) {
      const i = object.type.fields.findIndex((f) => f.name === name);
      if (i >= 0) return object[i];
    }
    if (object instanceof EnumValue && (name === "value" || name === "name")) return object[name];
    throw new ScriptError(`a ${typeName(object)} has no attribute ${name}`);
  }

  /** What a name outside the function's variables means: a constant, a class, a function or a member of an enum. */
  global(path, line) {
    if (path.startsWith("CONSTANTS.c")) {
      const i = Number(path.slice("CONSTANTS.c".length));
      if (i < this.constants.length) return this.constants[i];
    }
    const type = this.unit.findType(path);
    if (type) return type;
    const def = this.unit.findFunction(path);
    if (def) return { def, self: null };
    const dot = path.lastIndexOf(".");
    const owner = this.unit.findType(path.slice(0, dot));
    if (owner && owner.base === "Enum") return this.member(owner, path.slice(dot + 1));
    throw new ScriptError(`line ${line}: the archive has no code for ${path}`);
  }

  member(type, name) {
    if (!type.members.has(name)) {
      const field = type.fields.find((f) => f.name === name);
      if (!field) throw new ScriptError(`the enum ${type.name} has no member ${name}`);
      type.members.set(name, new EnumValue(type, name, this.evaluate(field.value, new Map())));
    }
    return type.members.get(name);
  }

  // Calls

  call(node, variables) {
    const { callee } = node;
    if (node.operator === undefined) node.operator = operatorName(callee);
    if (callee.kind === "Name" && !variables.has(callee.name)) return this.builtin(node, variables);
    const args = node.args.map((arg) => this.evaluate(arg, variables));
    const keywords = node.keywords.map(([name, value]) => [name, this.evaluate(value, variables)]);
    if (node.operator !== null) return this.operator(node, args, keywords);
    if (callee.kind === "Attribute") {
      const path = dotted(callee.object);
      const isLocal = !path || variables.has(path.split(".")[0]);
      if (callee.name === "__new__" && !isLocal) return this.unit.type(path).create();
      if (isLocal) return this.callMethod(this.evaluate(callee.object, variables), callee.name, args, keywords);
    }
    return this.callValue(this.evaluate(callee, variables), args, keywords);
  }

  /** An operator; what it refuses is reported with the place in the code. */
  operator(node, args, keywords) {
    try {
      return operators.call(node.operator, ...upgraded(node.operator, args, keywords, this.version));
    } catch (error) {
      if (!error.line) Object.assign(error, { line: node.line, operator: node.operator });
      throw error;
    }
  }

  callMethod(object, name, args, keywords = []) {
    if (object instanceof ScriptObject && object.type.methods.has(name)) {
      return this.run(object.type.methods.get(name), [object, ...args], keywords);
    }
    if (object instanceof ScriptObject && name === "__init__" && !args.length) return null;
    return this.callValue(this.getAttribute(object, name), args, keywords);
  }

  callValue(callee, args, keywords) {
    if (callee && callee.def) return this.run(callee.def, callee.self ? [callee.self, ...args] : args, keywords, callee.outer);
    if (callee && callee.base === "NamedTuple") return this.namedTuple(callee, args, keywords);
    if (callee && callee.create) {
      const object = callee.create();
      this.callMethod(object, "__init__", args, keywords);
      return object;
    }
    throw new ScriptError(`a ${typeName(callee)} cannot be called`);
  }

  namedTuple(type, args, keywords) {
    const values = type.fields.map((field, i) => {
      if (i < args.length) return args[i];
      const named = keywords.find(([name]) => name === field.name);
      if (named) return named[1];
      if (field.value) return this.evaluate(field.value, new Map());
      throw new ScriptError(`${type.name} needs a value for ${field.name}`);
    });
    return Tuple.named(type, values);
  }

  builtin(node, variables) {
    const { name } = node.callee;
    if (!Object.hasOwn(BUILTINS, name)) throw new ScriptError(`Unknown builtin: this runtime has no ${name}()`);
    return BUILTINS[name](this, node.args, variables);
  }
}

/** `a.b.c` of nested attributes, or null. */
function dotted(node) {
  if (node.path === undefined) {
    if (node.kind === "Name") node.path = node.name;
    else if (node.kind === "Attribute" && dotted(node.object)) node.path = `${dotted(node.object)}.${node.name}`;
    else node.path = null;
  }
  return node.path;
}

/** `add` for torch.add, `prim.max` for ops.prim.max, null for what is no operator. */
function operatorName(callee) {
  const path = dotted(callee) || "";
  if (path.startsWith("torch.")) return path.slice("torch.".length);
  if (path.startsWith("ops.aten.")) return path.slice("ops.aten.".length);
  return path.startsWith("ops.") ? path.slice("ops.".length) : null;
}

module.exports = { Interpreter, dotted, operatorName };
