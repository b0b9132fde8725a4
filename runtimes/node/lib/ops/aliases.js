/**
 * Other names of the same operators (`aten/src/ATen/native/native_functions.yaml` has an entry for each).
 *
 * How the real one differs: an alias is an operator of its own, with its own derivative formula, that calls the other.
 */
"use strict";

const { alias } = require("../script/operators");

const ALIASES = {
  absolute: "abs",
  negative: "neg",
  clip: "clamp",
  multiply: "mul",
  subtract: "sub",
  divide: "div",
  greater: "gt",
  greater_equal: "ge",
  less: "lt",
  less_equal: "le",
  not_equal: "ne",
  moveaxis: "movedim",
  swapdims: "swapaxes",
  concatenate: "cat",
  arcsin: "asin",
  arccos: "acos",
  arctan: "atan",
  fix: "trunc",
  row_stack: "vstack",
  special_erf: "erf",
  special_expit: "sigmoid",
};

for (const [name, original] of Object.entries(ALIASES)) alias(name, original);
for (const name of ["absolute", "negative", "clip", "multiply", "subtract", "divide"]) alias(`${name}_`, `${ALIASES[name]}_`);
