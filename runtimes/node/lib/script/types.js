/**
 * The types that archived code names, and whether a value has one (`torch/csrc/jit/frontend/script_type_parser.cpp`).
 *
 * A type is kept as the expression it is written as: `Optional[int]` is a subscript of the name Optional. Programs run without
 * looking at types, with three exceptions that need them: arguments that come from JavaScript (where 3 may be an int or a float),
 * `annotate`, and `isinstance`.
 *
 * How the real one differs: types are objects with subtyping and unification, and checked when the code is compiled.
 */
"use strict";

const { Tensor } = require("../tensor/tensor");
const { Tuple, ScriptObject, EnumValue, Device, typeName } = require("./values");

/** `Dict[str, __torch__.P]`, as written. */
function typeText(node) {
  if (!node) return "Tensor";
  if (node.kind === "Name") return node.name;
  if (node.kind === "Attribute") return `${typeText(node.object)}.${node.name}`;
  if (node.kind === "Subscript") return `${typeText(node.object)}[${node.indices.map(typeText).join(", ")}]`;
  if (node.kind === "Constant") return node.value === null ? "None" : String(node.value);
  if (node.kind === "Tuple") return `(${node.items.map(typeText).join(", ")})`;
  return "?";
}

const inner = (node, i = 0) => node.indices[i];

/** Whether `value` has the type. */
function matches(value, node) {
  if (node.kind === "Tuple") return node.items.some((item) => matches(value, item));
  const generic = node.kind === "Subscript" ? node.object.name : null;
  switch (generic || typeText(node)) {
    case "Any":
      return true;
    case "Tensor":
      return value instanceof Tensor;
    case "int":
      return typeof value === "bigint";
    case "float":
      return typeof value === "number";
    case "number":
    case "Scalar":
      return typeof value === "bigint" || typeof value === "number" || typeof value === "boolean";
    case "bool":
      return typeof value === "boolean";
    case "str":
      return typeof value === "string";
    case "Device":
      return value instanceof Device;
    case "None":
    case "NoneType":
      return value === null;
    case "Optional":
      return value === null || matches(value, inner(node));
    case "Union":
      return node.indices.some((option) => matches(value, option));
    case "Final":
    case "Future":
    case "Await":
      return matches(value, inner(node));
    case "List":
      return Array.isArray(value) && !(value instanceof Tuple) && value.every((v) => matches(v, inner(node)));
    case "Dict":
      return value instanceof Map && [...value].every(([k, v]) => matches(k, inner(node)) && matches(v, inner(node, 1)));
    case "Tuple":
      return (
        value instanceof Tuple &&
        (emptyTuple(node)
          ? !value.length
          : value.length === node.indices.length && value.every((v, i) => matches(v, inner(node, i))))
      );
    case "list":
      return Array.isArray(value) && !(value instanceof Tuple);
    case "tuple":
      return value instanceof Tuple;
    default:
      return isObject(value) && (value.type.name === typeText(node) || value.type.base === "Module"); // which may have an interface
  }
}

const isObject = (value) =>
  value instanceof ScriptObject || value instanceof EnumValue || (value instanceof Tuple && value.type !== undefined);

/** `Tuple[()]` */
const emptyTuple = (node) => node.indices.length === 1 && node.indices[0].kind === "Tuple";

/**
 * A JavaScript value as a TorchScript value of this type: numbers become ints where an int is expected, arrays tuples where a tuple
 * is, plain objects dicts. A value that does not fit is a TypeError that names `what`.
 */
function fromJavaScript(value, node, what) {
  const converted = coerce(value === undefined ? null : value, node);
  if (!matches(converted, node)) throw new TypeError(`${what} must be ${typeText(node)}, not ${typeName(converted)}`);
  return converted;
}

function coerce(value, node) {
  const generic = node.kind === "Subscript" ? node.object.name : typeText(node);
  if (generic === "int" && Number.isSafeInteger(value)) return BigInt(value);
  if (generic === "float" && typeof value === "bigint") return Number(value);
  if (value === null || node.kind !== "Subscript") return value;
  if (generic === "Optional" || generic === "Final") return coerce(value, inner(node));
  if (generic === "Union") {
    const options = node.indices.map((option) => [coerce(value, option), option]);
    return (options.find(([v, option]) => matches(v, option)) || [value])[0];
  }
  if (generic === "List" && Array.isArray(value)) {
    value.forEach((v, i) => (value[i] = coerce(v, inner(node)))); // in place: a list is a reference
    return value;
  }
  if (generic === "Tuple" && Array.isArray(value) && !value.type && !emptyTuple(node)) {
    return Tuple.from(value, (v, i) => (inner(node, i) ? coerce(v, inner(node, i)) : v));
  }
  if (generic === "Dict" && isPlainObject(value)) value = new Map(Object.entries(value));
  if (generic === "Dict" && value instanceof Map) {
    const entries = Array.from(value, ([k, v]) => [coerce(k, inner(node)), coerce(v, inner(node, 1))]);
    value.clear();
    for (const [k, v] of entries) value.set(k, v);
  }
  return value;
}

const isPlainObject = (value) => Object.getPrototypeOf(value) === Object.prototype;

module.exports = { typeText, matches, fromJavaScript };
