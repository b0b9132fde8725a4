/**
 * The table of operators: schemas, overloads, and how a call finds its kernel (`aten/src/ATen/native/native_functions.yaml`,
 * `torch/csrc/jit/frontend/schema_matching.cpp`).
 *
 * An operator is declared by a line in the language of native_functions.yaml, which says the types and defaults of its arguments
 * (archives leave out arguments that equal their default), and a JavaScript function that takes them by position:
 *
 *     op("softmax(Tensor self, int dim, ScalarType? dtype=None)", (self, dim, dtype) => ...)
 *
 * Several declarations of one name are overloads; the first that fits the arguments is taken. In `op` ints arrive as numbers, which
 * is what sizes and dimensions are computed with; in `scalarOp`, where they are the data, they stay BigInts, exact to 64 bits.
 *
 * How the real one differs: overloads are chosen once, by static types, when the code is compiled; then a dispatcher picks a kernel.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor } = require("../tensor/tensor");
const { Tuple, Device, typeName } = require("./values");
const { ScriptError, guarded } = require("../errors");
const { parse } = require("./parser");

/**
 * @typedef {{name: string, type: string, keyword: boolean, required: boolean, value: any}} Param
 * @typedef {{text: string, params: Param[], variadic: boolean, exact: boolean, run: Function}} Overload
 */

/** @type {Map<string, Overload[]>} */
const TABLE = new Map();

/** Declares an operator on tensors: its ints are numbers. */
const op = (schema, run) => declare(schema, run, false);

/** Declares an operator on TorchScript's own values: its ints are BigInts. */
const scalarOp = (schema, run) => declare(schema, run, true);

/** Another name for an operator. */
const alias = (name, original) => TABLE.set(name, TABLE.get(original));

function declare(schema, run, exact) {
  const [, name, inside] = /^([\w:.]+)\((.*)\)$/s.exec(schema);
  const params = [];
  let keyword = false;
  let variadic = false;
  for (const piece of inside ? split(inside) : []) {
    if (piece === "*") keyword = true;
    else if (piece === "...") variadic = true;
    else params.push(param(piece, keyword));
  }
  if (!TABLE.has(name)) TABLE.set(name, []);
  TABLE.get(name).push({ text: schema, params, variadic, exact, run });
}

/** At commas outside brackets. */
const split = (text) => text.split(/,\s*(?![^[]*\])/).map((s) => s.trim());

/** `int[2] stride=1` */
function param(text, keyword) {
  const [declaration, initial] = text.split("=");
  const [type, name] = declaration.split(" ");
  const value = initial === undefined ? undefined : literal(initial);
  return { name, type, keyword, required: initial === undefined, value };
}

/** The value of a default as archived code would write it; it is converted like an argument that was given. */
function literal(text) {
  const { value, kind, items } = parse(`def f():\n  return ${text}\n`, "schema").functions[0].body[0].value;
  return kind === "List" ? items.map((n) => n.value) : value;
}

/**
 * Calls the operator `name` (`add`, `prim.max`).
 * @param {any[]} args by position
 * @param {[string, any][]} keywords
 */
function call(name, args, keywords) {
  const overloads = TABLE.get(name);
  if (!overloads) throw new ScriptError(`Unknown operator: this runtime has no ${qualified(name)}`);
  return guarded(ScriptError, "", () => run(name, overloads, args, keywords));
}

function run(name, overloads, args, keywords) {
  for (const overload of overloads) {
    const bound = bind(overload, args, keywords);
    if (bound) return overload.run(...bound);
  }
  const given = [...args.map(typeName), ...keywords.map(([k, v]) => `${k}=${typeName(v)}`)].join(", ");
  throw new ScriptError(`${qualified(name)} has no overload for (${given}); there is ${overloads.map((o) => o.text).join("; ")}`);
}

const qualified = (name) => (name.includes(".") ? name.replace(".", "::") : `aten::${name}`);

/** The arguments in the order of the schema, converted; null if they do not fit it. */
function bind(overload, args, keywords) {
  const { params, variadic, exact } = overload;
  const bound = new Array(params.length);
  if (args.length > params.length && !variadic) return null;
  for (let i = 0; i < params.length; i++) {
    const p = params[i];
    let value = i < args.length && !p.keyword ? args[i] : undefined;
    if (i < args.length && p.keyword) return null;
    if (value === undefined) {
      const named = keywords.find(([name]) => name === p.name);
      if (named) value = named[1];
      else if (p.required) return null;
      else value = p.value;
    }
    const converted = convert(value, p.type, exact);
    if (converted === undefined) return null;
    bound[i] = converted;
  }
  for (const [name] of keywords) {
    const at = params.findIndex((p) => p.name === name);
    if (at < 0 || (at < args.length && !params[at].keyword)) return null;
  }
  return variadic ? bound.concat(args.slice(params.length)) : bound;
}

/** `value` as a parameter of this type takes it; undefined if it does not fit. */
function convert(value, type, exact) {
  if (type.endsWith("?")) return value === null ? null : convert(value, type.slice(0, -1), exact);
  const list = /^(.*)\[(\d*)\]$/.exec(type);
  if (list) {
    if (!Array.isArray(value)) {
      if (!list[2]) return undefined;
      const one = convert(value, list[1], exact); // a number where `int[2]` is expected means all of them
      return one === undefined ? undefined : new Array(Number(list[2])).fill(one);
    }
    if (list[1] === "t") return value instanceof Tuple ? undefined : value;
    if (exact && list[1] !== "any") return value.every((v) => convert(v, list[1], true) !== undefined) ? value : undefined; // the same list
    const items = Array.from(value, (v) => convert(v, list[1], exact));
    return items.includes(undefined) ? undefined : items;
  }
  const fits = MATCHES[type];
  if (!fits) throw new Error(`a schema names the unknown type ${type}`);
  return fits(value, exact);
}

const when = (condition, value) => (condition ? value : undefined);

const MATCHES = {
  Tensor: (v) => when(v instanceof Tensor, v),
  /** A tensor, or a number that takes part as one: it promotes only across categories, as in `x + 1`. */
  "Tensor|Scalar": (v) => when(v instanceof Tensor || isScalar(v), v),
  Scalar: (v) => when(isScalar(v), v),
  int: (v, exact) => when(typeof v === "bigint", exact ? v : Number(v)),
  float: (v) => when(typeof v === "number" || typeof v === "bigint", Number(v)),
  number: (v) => when(typeof v === "number", v),
  bool: (v) => when(typeof v === "boolean", v),
  str: (v) => when(typeof v === "string", v),
  ScalarType: (v) => when(typeof v === "bigint", typeof v === "bigint" ? dt.byCode(v) : v),
  Dict: (v) => when(v instanceof Map, v),
  Device: (v) => when(v instanceof Device, v),
  any: (v) => v,
};

const isScalar = (v) => typeof v === "number" || typeof v === "bigint" || typeof v === "boolean";

module.exports = { op, scalarOp, alias, call, TABLE };
