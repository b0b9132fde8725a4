/**
 * The values of TorchScript programs (`aten/src/ATen/core/ivalue.h`).
 *
 * | TorchScript | JavaScript |
 * |---|---|
 * | `int` | BigInt, kept to 64 bits: 3 and 3. stay different values, and 2**53 + 1 is exact |
 * | `float`, `bool`, `str`, `None` | number, boolean, string, null |
 * | `List[T]`, `Dict[K, V]` | Array and Map: both are references, and a Map keeps insertion order |
 * | `Tuple`, `NamedTuple` | `Tuple`, an array of its own class |
 * | modules and classes | `ScriptObject` |
 *
 * How the real one differs: an IValue is 16 bytes, a tag and a payload, and objects are counted references.
 */
"use strict";

const { Tensor } = require("../tensor/tensor");

/** An immutable sequence; of a NamedTuple it also knows the type, and so the names of its fields. */
class Tuple extends Array {
  static named(type, values) {
    const tuple = Tuple.from(values);
    Object.defineProperty(tuple, "type", { value: type });
    return tuple;
  }
}

/** An instance of a module type or of a scripted class: attributes by name. */
class ScriptObject {
  constructor(type) {
    this.type = type;
    this.attributes = new Map();
  }

  /** What the pickle says about it. */
  setState(state) {
    if (!(state instanceof Map)) throw new TypeError(`the state of a ${this.type.name} is no dict`);
    for (const [name, value] of state) this.attributes.set(name, value);
    return this;
  }
}

class Device {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** A member of an enum class. */
class EnumValue {
  constructor(type, name, value) {
    Object.assign(this, { type, name, value });
  }
}

/** The name of a value's type, as error messages say it. */
function typeName(value) {
  if (value === null || value === undefined) return "NoneType";
  if (value instanceof Tensor) return "Tensor";
  if (value instanceof Tuple) return `Tuple[${value.map(typeName).join(", ")}]`;
  if (Array.isArray(value)) return value.length ? `List[${typeName(value[0])}]` : "List";
  if (value instanceof Map) return "Dict";
  if (value instanceof Device) return "Device";
  if (value instanceof ScriptObject || value instanceof EnumValue) return value.type.name;
  return { bigint: "int", number: "float", boolean: "bool", string: "str", function: "function" }[typeof value] || typeof value;
}

/** `str(value)` as C++ prints an IValue: floats with 17 significant digits, `2.` for a whole one, strings without quotes. */
function str(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "number") return floatText(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value instanceof Tuple && value.type) {
    return `${value.type.shortName}(${value.map((v, i) => `${value.type.fields[i].name}=${str(v)}`).join(", ")})`;
  }
  if (value instanceof Tuple) return value.length === 1 ? `(${str(value[0])},)` : `(${Array.from(value, str).join(", ")})`;
  if (Array.isArray(value)) return `[${value.map(str).join(", ")}]`;
  if (value instanceof Map) return `{${Array.from(value, ([k, v]) => `${str(k)}: ${str(v)}`).join(", ")}}`;
  if (value instanceof Tensor) return require("../tensor/print").tensorText(value);
  if (value instanceof EnumValue) return `Enum<${value.type.name}.${value.name}>`;
  if (value instanceof ScriptObject) return `<${value.type.name} object>`;
  return String(value);
}

/** A double as `%.17g` prints it, with a dot if it is whole. */
function floatText(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (Object.is(x, -0)) return "-0.";
  const text = significant(x, 17);
  return Number.isInteger(x) && /^-?\d+$/.test(text) ? `${text}.` : text;
}

/** `%.{digits}g` */
function significant(x, digits) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  const [mantissa, e] = x.toExponential(digits - 1).split("e");
  const exponent = Number(e);
  const trim = (s) => (s.includes(".") ? s.replace(/\.?0+$/, "") : s);
  if (exponent >= -4 && exponent < digits) return trim(x.toFixed(Math.max(0, digits - 1 - exponent)));
  return `${trim(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Whether two values are equal in the sense of `==`. */
function equal(a, b) {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => equal(x, b[i]));
  if (a instanceof Map && b instanceof Map) return a.size === b.size && [...a].every(([k, v]) => b.has(k) && equal(v, b.get(k)));
  if (a instanceof Device && b instanceof Device) return a.text === b.text;
  const numeric = (v) => typeof v === "bigint" || typeof v === "number" || typeof v === "boolean";
  return numeric(a) && numeric(b) && a == b; // eslint-disable-line eqeqeq -- 1n == 1, exactly
}

module.exports = { Tuple, ScriptObject, Device, EnumValue, typeName, str, floatText, significant, equal };
