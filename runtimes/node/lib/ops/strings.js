/**
 * Operators on strings (`torch/csrc/jit/runtime/register_string_ops.cpp`).
 *
 * A TorchScript string is bytes of UTF-8: `len("hé")` is 3, and indices count bytes. Strings are kept as JavaScript strings, and
 * turned into bytes where that makes a difference.
 *
 * How the real one differs: `upper()` and its relatives know ASCII only, as here; there are some more of them.
 */
"use strict";

const { ScriptError } = require("../errors");
const { scalarOp } = require("../script/operators");
const { Tuple, str, significant, typeName } = require("../script/values");
const { position, sliced } = require("./containers");

const bytes = (text) => new TextEncoder().encode(text);
const text = (list) => new TextDecoder().decode(Uint8Array.from(list));
const ascii = (test, change) => (s) => s.replace(test, change);

scalarOp("len(str s)", (s) => BigInt(bytes(s).length));
scalarOp("__getitem__(str s, int index)", (s, index) => text([bytes(s)[position(index, bytes(s).length, "string")]]));
scalarOp("slice(str string, int? start=None, int? end=None, int step=1)", (s, start, end, step) => {
  const all = bytes(s);
  return text(sliced(all.length, start, end, step).map((i) => all[i]));
});
scalarOp("add(str a, str b)", (a, b) => a + b);
scalarOp("mul(str self, int n)", (s, n) => s.repeat(Math.max(0, Number(n))));
scalarOp(
  "upper(str self)",
  ascii(/[a-z]/g, (c) => c.toUpperCase()),
);
scalarOp(
  "lower(str self)",
  ascii(/[A-Z]/g, (c) => c.toLowerCase()),
);
scalarOp(
  "swapcase(str self)",
  ascii(/[a-zA-Z]/g, (c) => (c < "a" ? c.toLowerCase() : c.toUpperCase())),
);
scalarOp("capitalize(str self)", (s) => s.slice(0, 1).toUpperCase() + s.slice(1).toLowerCase());
scalarOp("title(str self)", (s) => s.toLowerCase().replace(/[a-z]+/g, (word) => word[0].toUpperCase() + word.slice(1)));
/** The part from `start` to `end`, where -1 is the end of the string, and where it begins; null if that is behind its end. */
function partOf(s, start, end) {
  const [a, b] = [Number(start), Number(end)];
  const from = a < 0 ? Math.max(a + s.length, 0) : a;
  const to = b < 0 ? Math.max(b + s.length + 1, 0) : Math.min(b, s.length);
  return from > to ? null : [s.slice(from, to), from];
}

/** Declares a question about the part of a string between two places; `absent` where there is no such part. */
const within = (name, absent, ask) =>
  scalarOp(`${name}(str self, str substr, int start=0, int end=-1)`, (s, sought, start, end) => {
    const part = partOf(s, start, end);
    return part ? ask(part[0], sought, part[1]) : absent();
  });

const placed = (i, from) => BigInt(i < 0 ? -1 : i + from);
const notFound = () => {
  throw new ScriptError("ValueError: substring not found");
};
const never = () => false;
const nowhere = () => -1n;
within("startswith", never, (s, sought) => s.startsWith(sought));
within("endswith", never, (s, sought) => s.endsWith(sought));
within("find", nowhere, (s, sought, from) => placed(s.indexOf(sought), from));
within("rfind", nowhere, (s, sought, from) => placed(s.lastIndexOf(sought), from));
within("index", notFound, (s, sought, from) => (s.includes(sought) ? placed(s.indexOf(sought), from) : notFound()));
within(
  "count",
  () => 0n,
  (s, sought) => BigInt(sought ? s.split(sought).length - 1 : s.length + 1),
);
scalarOp("replace(str self, str old, str new, int max=-1)", (s, old, fresh, most) => {
  let rest = most < 0n ? Infinity : Number(most);
  const pieces = old ? s.split(old) : ["", ...s, ""]; // nothing is before and behind each character
  return pieces.reduce((done, piece) => done + (rest-- > 0 ? fresh : old) + piece);
});
scalarOp("__contains__(str a, str b)", (s, part) => s.includes(part));
scalarOp("join(str self, str[] values)", (s, values) => values.join(s));
scalarOp("split(str self, str? separator=None, int max=-1)", (s, separator, most) => {
  if (separator === "") throw new ScriptError("ValueError: empty separator");
  const parts = separator === null ? s.split(/\s+/).filter(Boolean) : s.split(separator);
  const n = Number(most);
  return n < 0 || parts.length <= n + 1
    ? parts
    : [...parts.slice(0, n), parts.slice(n).join(separator === null ? " " : separator)];
});
scalarOp("splitlines(str self, bool keepends=False)", (s, keep) =>
  keep ? s.match(/[^\n]*\n|[^\n]+$/g) || [] : s.replace(/\n$/, "").split("\n"),
);

function stripped(s, chars, left, right) {
  let [a, b] = [0, s.length];
  while (left && a < b && chars.includes(s[a])) a++;
  while (right && b > a && chars.includes(s[b - 1])) b--;
  return s.slice(a, b);
}

const CHARS = 'str self, str chars=" \\n\\t\\f\\v"';
scalarOp(`strip(${CHARS})`, (s, chars) => stripped(s, chars, true, true));
scalarOp(`lstrip(${CHARS})`, (s, chars) => stripped(s, chars, true, false));
scalarOp(`rstrip(${CHARS})`, (s, chars) => stripped(s, chars, false, true));
for (const [name, width] of [
  ["ljust", "end"],
  ["rjust", "start"],
]) {
  scalarOp(`${name}(str self, int width, str fillchar=" ")`, (s, n, fill) => {
    if (fill.length !== 1) throw new ScriptError("The fill character must be exactly one character long");
    return width === "end" ? s.padEnd(Number(n), fill) : s.padStart(Number(n), fill);
  });
}
scalarOp("zfill(str self, int width)", (s, n) =>
  /^[-+]/.test(s) ? s[0] + s.slice(1).padStart(Number(n) - 1, "0") : s.padStart(Number(n), "0"),
);

const TESTS = {
  isdigit: /^\d+$/,
  isdecimal: /^\d+$/,
  isnumeric: /^\d+$/,
  isalpha: /^[A-Za-z]+$/,
  isalnum: /^[A-Za-z\d]+$/,
  isspace: /^\s+$/,
  islower: /^[^A-Z]*[a-z][^A-Z]*$/,
  isupper: /^[^a-z]*[A-Z][^a-z]*$/,
};
for (const [name, pattern] of Object.entries(TESTS)) scalarOp(`${name}(str self)`, (s) => pattern.test(s));

scalarOp("ord(str string)", (s) => {
  if (bytes(s).length !== 1) throw new ScriptError(`String for ord() must be 1 character, found ${bytes(s).length}`);
  return BigInt(bytes(s)[0]);
});
scalarOp("chr(int i)", (i) => String.fromCodePoint(Number(i)));
scalarOp("str(any elem)", str);
scalarOp("hex(int i)", (i) => (i < 0n ? `-0x${(-i).toString(16)}` : `0x${i.toString(16)}`));
scalarOp("oct(int i)", (i) => (i < 0n ? `-0o${(-i).toString(8)}` : `0o${i.toString(8)}`));
scalarOp("bin(int i)", (i) => (i < 0n ? `-0b${(-i).toString(2)}` : `0b${i.toString(2)}`));

scalarOp("format(str self, ...)", (pattern, ...values) => {
  const pieces = pattern.split("{}");
  if (pieces.length - 1 > values.length) throw new ScriptError("Too few arguments for format string: " + pattern);
  return pieces.reduce((done, piece, i) => done + str(values[i - 1]) + piece);
});

scalarOp("percentFormat(str self, ...)", (pattern, ...given) => {
  const values = given.length === 1 && given[0] instanceof Tuple ? [...given[0]] : given;
  let next = 0;
  const result = pattern.replace(/%([%disfgexXc])/g, (whole, kind) => {
    if (kind === "%") return "%";
    if (next >= values.length) throw new ScriptError("Too few arguments for format string");
    return percent(values[next++], kind);
  });
  if (next < values.length) throw new ScriptError("Too many arguments for format string");
  return result;
});

function percent(value, kind) {
  if (kind === "s") return str(value);
  if (kind === "c") return typeof value === "bigint" ? String.fromCodePoint(Number(value)) : value;
  if (typeof value !== "bigint" && typeof value !== "number")
    throw new ScriptError(`%${kind} requires a number for formatting, but got ${typeName(value)}`);
  if (kind === "d" || kind === "i") return String(typeof value === "bigint" ? value : Math.trunc(value));
  if (kind === "x" || kind === "X") return kind === "x" ? value.toString(16) : value.toString(16).toUpperCase();
  if (kind === "f") return Number(value).toFixed(6);
  if (kind === "e")
    return Number(value)
      .toExponential(6)
      .replace(/e([-+])(\d)$/, "e$10$2");
  return significant(Number(value), 6);
}
