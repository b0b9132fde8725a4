/**
 * Operators whose meaning changed: archives of older versions keep the old one (`torch/csrc/jit/operator_upgraders/`).
 *
 * The archive says its version. Before 4, dividing integer tensors gave integers, rounded towards zero; before 5, `full` without a
 * dtype gave floats; before 8, `linspace` could leave out how many steps.
 *
 * How the real one differs: upgraders are TorchScript functions, inlined when the code is compiled.
 */
"use strict";

const { Tensor } = require("../tensor/tensor");
const { resultType } = require("../tensor/compute");

const DEFAULT_STEPS = 100n;

/** Integer division of tensors rounded towards zero. */
function oldDivision(args, keywords) {
  const [a, b] = args;
  const onTensors = a instanceof Tensor && b !== undefined && !keywords.length;
  return onTensors && resultType(a, b).category < 2 ? [args, [["rounding_mode", "trunc"]]] : [args, keywords];
}

/** `full` filled with a float unless a dtype is given. */
function oldFull([size, value, ...rest], keywords) {
  const given = keywords.some(([name, dtype]) => name === "dtype" && dtype !== null);
  return [[size, given ? value : Number(value), ...rest], keywords];
}

const oldLinspace = ([start, end, steps = null, ...rest], keywords) => [
  [start, end, steps === null ? DEFAULT_STEPS : steps, ...rest],
  keywords,
];

/** name -> the first version with today's meaning, and what today's operator must be called with to have the old one */
const CHANGED = {
  div: [4, oldDivision],
  div_: [4, oldDivision],
  full: [5, oldFull],
  linspace: [8, oldLinspace],
};

/** The arguments with which `name` does what it did when the archive was written. @returns {[any[], [string, any][]]} */
function upgraded(name, args, keywords, version) {
  if (!Object.hasOwn(CHANGED, name) || version >= CHANGED[name][0]) return [args, keywords];
  return CHANGED[name][1](args, keywords);
}

module.exports = { upgraded };
