/**
 * Operators on lists, dicts and tuples (`torch/csrc/jit/runtime/register_prim_ops.cpp`, `register_special_ops.cpp`).
 *
 * Lists and dicts are references: `append` changes the list for everyone who holds it, and `a + b` makes a new one. A dict keeps the
 * order in which its keys came.
 *
 * How the real one differs: lists are typed, and each element type has kernels of its own.
 */
"use strict";

const { ScriptError } = require("../errors");
const { scalarOp, call } = require("../script/operators");
const { Tensor } = require("../tensor/tensor");
const { Tuple, equal, str } = require("../script/values");
const { toBool } = require("../script/builtins");
const { roomFor, ITEM } = require("../limits");

const sameLists = (list, items) => list.splice(0, list.length, ...items) && null;

/** The index into a list of this length. */
function position(index, length, what = "list") {
  const i = Number(index) < 0 ? Number(index) + length : Number(index);
  if (i < 0 || i >= length) throw new ScriptError(`${what} index out of range`);
  return i;
}

/** Start, end and step of a slice, as Python has them: null means from the beginning or to the end. */
function sliced(length, start, end, step) {
  const by = Number(step === null ? 1n : step);
  if (by === 0) throw new ScriptError("List slice should have non-zero step");
  const clamp = (i) => Math.min(Math.max(i < 0 ? i + length : i, by < 0 ? -1 : 0), by < 0 ? length - 1 : length);
  const from = start === null ? (by < 0 ? length - 1 : 0) : clamp(Number(start));
  const to = end === null ? (by < 0 ? -1 : length) : clamp(Number(end));
  const indices = [];
  for (let i = from; by < 0 ? i > to : i < to; i += by) indices.push(i);
  return indices;
}

scalarOp("__getitem__(Dict self, any key)", (dict, key) => {
  if (!dict.has(key)) throw new ScriptError(`KeyError: ${str(key)}`);
  return dict.get(key);
});
scalarOp(
  "__getitem__(any[] self, int index)",
  (list, index) => list[position(index, list.length, list instanceof Tuple ? "tuple" : "list")],
);
scalarOp("select(t[] self, int index)", (list, index) => list[position(index, list.length)]);

// Lists

scalarOp("len(Tensor self)", (t) => {
  if (t.dim === 0) throw new ScriptError("len() of a 0-d tensor");
  return BigInt(t.sizes[0]);
});
scalarOp("len(any[] self)", (list) => BigInt(list.length));
scalarOp("add(t[] a, t[] b)", (a, b) => [...a, ...b]);
scalarOp("add_(t[] a, t[] b)", (a, b) => a.push(...b) && a);
scalarOp("mul(t[] a, int n)", repeated);
scalarOp("mul(int n, t[] a)", (n, list) => repeated(list, n));

function repeated(list, n) {
  const times = list.length ? Math.max(0, Number(n)) : 0;
  roomFor(times * list.length, ITEM);
  return Array.from({ length: times * list.length }, (_, i) => list[i % list.length]);
}

scalarOp("append(t[] self, any el)", (list, item) => list.push(item) && list);
scalarOp("extend(t[] self, t[] other)", (list, other) => sameLists(list, [...list, ...other]));
scalarOp("insert(t[] self, int idx, any el)", (list, i, item) => list.splice(Number(i), 0, item) && null);
scalarOp("pop(t[] self, int idx=-1)", (list, i) => {
  if (!list.length) throw new ScriptError("pop from empty list");
  return list.splice(position(i, list.length, "pop"), 1)[0];
});
scalarOp("remove(t[] self, any el)", (list, item) => {
  const i = list.findIndex((x) => equal(x, item));
  if (i < 0) throw new ScriptError("list.remove(x): x not in list");
  list.splice(i, 1);
  return null;
});
scalarOp("index(t[] self, any el)", (list, item) => {
  const i = list.findIndex((x) => equal(x, item));
  if (i < 0) throw new ScriptError(`'${str(item)}' is not in list`);
  return BigInt(i);
});
scalarOp("count(t[] self, any el)", (list, item) => BigInt(list.filter((x) => equal(x, item)).length));
scalarOp("reverse(t[] self)", (list) => list.reverse() && null);
scalarOp("clear(t[] self)", (list) => sameLists(list, []));
scalarOp("copy(t[] self)", (list) => [...list]);
scalarOp("list(t[] l)", (list) => [...list]);
scalarOp("list(str t)", (text) => Array.from(text));
scalarOp("_set_item(t[] l, int idx, any el)", (list, i, item) => {
  list[position(i, list.length)] = item;
  return list;
});
scalarOp("Delete(t[] self, int idx)", (list, i) => list.splice(position(i, list.length), 1) && null);
scalarOp("slice(t[] l, int? start=None, int? end=None, int step=1)", (list, start, end, step) =>
  sliced(list.length, start, end, step).map((i) => list[i]),
);
scalarOp("__contains__(t[] l, any item)", (list, item) => list.some((x) => equal(x, item)));

const order = (a, b) => {
  if (Array.isArray(a) && Array.isArray(b)) {
    const i = a.findIndex((x, k) => k >= b.length || !equal(x, b[k]));
    return i < 0 ? a.length - b.length : i >= b.length ? 1 : order(a[i], b[i]);
  }
  const [x, y] = [a, b].map((v) => (v instanceof Tensor ? v.item() : v));
  return x < y ? -1 : x > y ? 1 : 0;
};
const sortedCopy = (list, reverse) => [...list].sort((a, b) => (reverse ? order(b, a) : order(a, b)));
scalarOp("sort(t[] self, bool reverse=False)", (list, reverse) => sameLists(list, sortedCopy(list, reverse)));
scalarOp("sorted(t[] self)", (list) => sortedCopy(list, false));

const best = (name, wins) =>
  scalarOp(`prim.${name}(t[] self)`, (list) => {
    if (!list.length) throw new ScriptError(`${name}() arg is an empty sequence`);
    return list.reduce((a, b) => (wins(order(b, a)) ? b : a));
  });
best("max", (sign) => sign > 0);
best("min", (sign) => sign < 0);
for (const [name, wins] of [
  ["max", (s) => s > 0],
  ["min", (s) => s < 0],
]) {
  scalarOp(`prim.${name}(t[] l, t[] r)`, (a, b) => (wins(order(b, a)) ? b : a));
  scalarOp(`prim.${name}(Tensor self)`, (t) => call(name, [t], []));
}
scalarOp("sum(t[] self)", (list) => {
  const numbers = list.map((x) => (typeof x === "boolean" ? BigInt(x) : x));
  return numbers.slice(1).reduce((a, b) => a + b, numbers.length ? numbers[0] : 0n);
});
scalarOp("any(t[] self)", (list) => list.some(toBool));
scalarOp("all(t[] self)", (list) => list.every(toBool));
for (const [name, sign] of [
  ["lt", (s) => s < 0],
  ["le", (s) => s <= 0],
  ["gt", (s) => s > 0],
  ["ge", (s) => s >= 0],
]) {
  scalarOp(`${name}(any[] a, any[] b)`, (a, b) => sign(order(a, b)));
}

// Dicts

scalarOp("dict()", () => new Map());
scalarOp("dict(Dict self)", (dict) => new Map(dict));
scalarOp("dict(t[] inputs)", (pairs) => new Map(pairs));
scalarOp("len(Dict self)", (dict) => BigInt(dict.size));
scalarOp("keys(Dict self)", (dict) => [...dict.keys()]);
scalarOp("values(Dict self)", (dict) => [...dict.values()]);
scalarOp("items(Dict self)", (dict) => Array.from(dict, ([key, value]) => Tuple.of(key, value)));
scalarOp("get(Dict self, any key, any default_value=None)", (dict, key, otherwise) =>
  dict.has(key) ? dict.get(key) : otherwise,
);
scalarOp("setdefault(Dict self, any key, any default_value)", (dict, key, otherwise) => {
  if (!dict.has(key)) dict.set(key, otherwise);
  return dict.get(key);
});
scalarOp("_set_item(Dict l, any idx, any v)", (dict, key, value) => dict.set(key, value) && null);
scalarOp("Delete(Dict self, any key)", (dict, key) => {
  if (!dict.delete(key)) throw new ScriptError(`KeyError: ${str(key)}`);
  return null;
});
scalarOp("pop(Dict self, any key)", (dict, key) => {
  if (!dict.has(key)) throw new ScriptError(`KeyError: ${str(key)}`);
  const value = dict.get(key);
  dict.delete(key);
  return value;
});
scalarOp("pop(Dict self, any key, any default_value)", (dict, key, otherwise) => {
  const value = dict.has(key) ? dict.get(key) : otherwise;
  dict.delete(key);
  return value;
});
scalarOp("popitem(Dict self)", (dict) => {
  if (!dict.size) throw new ScriptError("popitem(): dictionary is empty");
  const [[key, value]] = dict;
  dict.delete(key);
  return Tuple.of(key, value);
});
scalarOp("update(Dict self, Dict to_add)", (dict, other) => other.forEach((value, key) => dict.set(key, value)) || null);
scalarOp("clear(Dict self)", (dict) => dict.clear() || null);
scalarOp("copy(Dict self)", (dict) => new Map(dict));
scalarOp("__contains__(Dict dict, any key)", (dict, key) => dict.has(key));

// The rest of the language

scalarOp("prim.RaiseException(str msg, str? cls=None)", (message, type) => {
  throw Object.assign(new ScriptError(message), { exception: type });
});
scalarOp("prim.unchecked_unwrap_optional(any value)", (value) => value);
scalarOp("_unwrap_optional(any value)", (value) => {
  if (value === null) throw new ScriptError("Unwrapping null optional");
  return value;
});
scalarOp("wait(any self)", (value) => value); // `fork` has run it already
scalarOp("prim.tolist(any self, ...)", (value) => (value instanceof Tensor ? value.tolist() : value));
scalarOp("warn(str message, int stacklevel=2)", () => null);

module.exports = { position, sliced };
