/**
 * The functions that archived code calls by a bare name (`torch/csrc/jit/serialization/python_print.cpp` writes them).
 *
 * Conversions (`int(x)`), `print`, and forms whose first argument is a type, not a value: `annotate(List[int], [])`,
 * `unchecked_cast(int, x)` after a test for None, `uninitialized(Tensor)` for a variable that a path leaves without a value.
 *
 * How the real one differs: these are nodes of the graph (`prim::Print`, `prim::unchecked_cast`, ...), not functions.
 */
"use strict";

const { ScriptError } = require("../errors");
const { Tensor } = require("../tensor/tensor");
const { toInt64 } = require("../tensor/dtype");
const operators = require("./operators");
const { str, typeName } = require("./values");
const { typeText, matches } = require("./types");

/** Each takes the interpreter, the arguments' trees and the variables. */
const BUILTINS = {
  int: (vm, [x], v) => toInt(vm.evaluate(x, v)),
  float: (vm, [x], v) => toFloat(vm.evaluate(x, v)),
  bool: (vm, [x], v) => toBool(vm.evaluate(x, v)),
  str: (vm, [x], v) => str(vm.evaluate(x, v)),
  print: (vm, args, v) => vm.print(args.map((arg) => str(vm.evaluate(arg, v))).join(" ")) || null,
  getattr: (vm, [object, name], v) => vm.getAttribute(vm.evaluate(object, v), vm.evaluate(name, v)),
  annotate: (vm, [type, x], v) => annotated(vm.evaluate(x, v), typeText(type)),
  unchecked_cast: (vm, [, x], v) => vm.evaluate(x, v),
  uninitialized: () => null,
  isinstance: (vm, [x, type], v) => matches(vm.evaluate(x, v), type),
  range: (vm, args, v) => range(...args.map((arg) => vm.evaluate(arg, v))),
  sorted: (vm, args, v) =>
    operators.call(
      "sorted",
      args.map((arg) => vm.evaluate(arg, v)),
      [],
    ),
  fork: (vm, [callee, ...args], v) =>
    vm.callValue(
      vm.evaluate(callee, v),
      args.map((arg) => vm.evaluate(arg, v)),
      [],
    ),
};

/** A tensor annotated as a number is converted: traced code does so. */
function annotated(value, type) {
  if (!(value instanceof Tensor)) return value;
  if (type === "int") return toInt(value);
  if (type === "float") return toFloat(value);
  if (type === "bool") return toBool(value);
  return type === "number" || type === "Scalar" ? value.item() : value;
}

function toInt(value) {
  const x = value instanceof Tensor ? value.item() : value;
  if (typeof x === "bigint") return x;
  if (typeof x === "boolean") return x ? 1n : 0n;
  if (typeof x === "number") return toInt64(x);
  if (typeof x === "string" && /^\s*[-+]?\d+\s*$/.test(x)) return BigInt(x.trim().replace(/^\+/, ""));
  throw new ScriptError(`invalid literal for int(): ${typeName(x)} ${str(x)}`);
}

function toFloat(value) {
  const x = value instanceof Tensor ? value.item() : value;
  if (typeof x === "number") return x;
  if (typeof x === "bigint" || typeof x === "boolean") return Number(x);
  const words = { inf: Infinity, "+inf": Infinity, "-inf": -Infinity, infinity: Infinity, nan: NaN };
  if (typeof x === "string") {
    const text = x.trim().toLowerCase();
    if (Object.hasOwn(words, text)) return words[text];
    if (text !== "" && !Number.isNaN(Number(text))) return Number(text);
  }
  throw new ScriptError(`could not convert to float: ${typeName(x)} ${str(x)}`);
}

function toBool(value) {
  if (typeof value === "boolean") return value;
  const x = value instanceof Tensor ? value.item() : value;
  if (typeof x === "bigint") return x !== 0n;
  if (typeof x === "number") return x !== 0;
  if (typeof x === "boolean") return x;
  if (typeof x === "string") return x !== "";
  throw new ScriptError(`a ${typeName(value)} is no condition`);
}

/** The ints of `range(...)`, made one by one. */
function range(...bounds) {
  const [start, stop, step] =
    bounds.length === 1 ? [0n, bounds[0], 1n] : [bounds[0], bounds[1], bounds[2] === undefined ? 1n : bounds[2]];
  if (step === 0n) throw new ScriptError("range() arg 3 must not be zero");
  return {
    isRange: true,
    *[Symbol.iterator]() {
      for (let i = start; step > 0n ? i < stop : i > stop; i += step) yield i;
    },
  };
}

module.exports = { BUILTINS, toInt, toFloat, toBool };
