/**
 * The element types of tensors and how two of them combine (`c10/core/ScalarType.h`, `c10/core/ScalarType.cpp`).
 *
 * A dtype knows its number in archives (`ScalarType`), the typed array that holds such elements, and its category: bool < integer <
 * floating point. `int64` lives in a `BigInt64Array`, so that its arithmetic is exact over all 64 bits.
 *
 * How the real one differs: it also knows half, bfloat16, complex and quantised types.
 */
"use strict";

const { roomFor } = require("../limits");

/**
 * @typedef {Object} DType
 * @property {string} name   as in `torch.float32`
 * @property {number} code   its number in the enum ScalarType
 * @property {number} bytes  per element
 * @property {Function} array  the typed array that holds it
 * @property {(n: number) => any} make  such an array of n zeros, if there may be so many
 * @property {number} category  0 bool, 1 integer, 2 floating point
 * @property {string} legacy  as in FloatStorage and CPUFloatType
 */

/** @returns {Readonly<DType>} */
function dtype(name, code, array, category, legacy) {
  const bytes = array.BYTES_PER_ELEMENT;
  return Object.freeze({ name, code, bytes, array, category, legacy, make: (n) => new array(roomFor(n, bytes)) });
}

const bool = dtype("bool", 11, Uint8Array, 0, "Bool");
const uint8 = dtype("uint8", 0, Uint8Array, 1, "Byte");
const int8 = dtype("int8", 1, Int8Array, 1, "Char");
const int16 = dtype("int16", 2, Int16Array, 1, "Short");
const int32 = dtype("int32", 3, Int32Array, 1, "Int");
const int64 = dtype("int64", 4, BigInt64Array, 1, "Long");
const float32 = dtype("float32", 6, Float32Array, 2, "Float");
const float64 = dtype("float64", 7, Float64Array, 2, "Double");

const ALL = [bool, uint8, int8, int16, int32, int64, float32, float64];
const BY_CODE = new Map(ALL.map((t) => [t.code, t]));
const UNSUPPORTED = { 5: "float16", 8: "complex32", 9: "complex64", 10: "complex128", 15: "bfloat16" };

/** The dtype with this ScalarType number, which is how archived code writes dtypes. */
function byCode(code) {
  const found = BY_CODE.get(Number(code));
  if (!found) throw new TypeError(`the dtype ${UNSUPPORTED[code] || `number ${code}`} is not known to this runtime`);
  return found;
}

/** The smallest dtype that holds both (`c10::promoteTypes`). */
function promote(a, b) {
  if (a === b) return a;
  if (a.category !== b.category) return a.category > b.category ? a : b;
  if (a === uint8 || b === uint8) {
    const other = a === uint8 ? b : a;
    return other === int8 ? int16 : other; // no 8-bit type holds both
  }
  return a.bytes > b.bytes ? a : b;
}

/** Number, BigInt or boolean as an element of `type`, rounded or wrapped as storing it would. */
function cast(value, type) {
  if (type === bool) return Number(value) !== 0 ? 1 : 0; // NaN is true
  if (type === int64) return typeof value === "bigint" ? BigInt.asIntN(64, value) : toInt64(Number(value));
  if (type === float32) return Math.fround(Number(value));
  if (type === float64) return Number(value);
  const integer = typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : Math.trunc(Number(value));
  const one = new type.array(1);
  one[0] = integer;
  return one[0];
}

/** A double truncated to a 64-bit integer; what has none gives INT64_MIN, as on x86. */
function toInt64(x) {
  return Math.abs(x) < 2 ** 63 ? BigInt(Math.trunc(x)) : -(2n ** 63n);
}

module.exports = { bool, uint8, int8, int16, int32, int64, float32, float64, ALL, byCode, promote, cast, toInt64 };
