/**
 * TorchScript in plain JavaScript: load an archive, make tensors, run it. The talk's "Using the model in NodeJS":
 *
 *     var torchjs = require("torchjs-internals");
 *     var script_module = new torchjs.ScriptModule("resnet18_trace.pt");
 *     var data = torchjs.ones([1, 3, 224, 224], false);
 *     var output = script_module.forward(data);
 *
 * How the real one differs: torchjs was an add-on in C++ around libtorch; here there is no native code and no dependency.
 */
"use strict";

const dtypes = require("./lib/tensor/dtype");
const { Tensor } = require("./lib/tensor/tensor");
const { ScriptModule } = require("./lib/script_module");
const { tensorFrom } = require("./lib/ops/factories");
const { random, drawn } = require("./lib/ops/random");
const { Tuple } = require("./lib/script/values");
const { ArchiveError, ScriptError } = require("./lib/errors");

/** A dtype by name, `"float32"`. */
function dtype(name) {
  const found = dtypes.ALL.find((t) => t.name === name);
  if (!found) throw new TypeError(`no dtype ${name}; there is ${dtypes.ALL.map((t) => t.name).join(", ")}`);
  return found;
}

function sizesFrom(sizes) {
  if (!Array.isArray(sizes) || !sizes.every((n) => Number.isSafeInteger(n) && n >= 0))
    throw new TypeError("Wrong argument types: sizes are an array of integers");
  return sizes.slice();
}

const marked = (t, requiresGrad) => Object.assign(t, { requiresGrad });

/** @param {number[]} sizes @param {boolean} [requiresGrad] @param {string} [type] the name of a dtype */
const ones = (sizes, requiresGrad = false, type = "float32") =>
  marked(Tensor.full(sizesFrom(sizes), 1, dtype(type)), requiresGrad);

const zeros = (sizes, requiresGrad = false, type = "float32") =>
  marked(Tensor.zeros(sizesFrom(sizes), dtype(type)), requiresGrad);

/** From the normal distribution; `seed` makes it repeatable. */
function randn(sizes, seed) {
  if (seed !== undefined) random.seed(seed);
  return drawn(sizesFrom(sizes), dtypes.float32, () => random.normal());
}

/** Between 0 and 1. */
function rand(sizes, seed) {
  if (seed !== undefined) random.seed(seed);
  return drawn(sizesFrom(sizes), dtypes.float32, () => random.uniform());
}

/**
 * From nested arrays, or from a typed array and its sizes (which is not copied). Plain numbers give float32; BigInts int64;
 * booleans bool; `type` any dtype.
 */
function tensor(data, type, sizes) {
  if (ArrayBuffer.isView(data)) {
    const found = type ? dtype(type) : dtypes.ALL.find((t) => t !== dtypes.bool && data instanceof t.array);
    if (!found || !(data instanceof found.array))
      throw new TypeError(`a ${data.constructor.name} does not hold elements of a ${type || "known dtype"}`);
    return Tensor.of(data, found, sizes ? sizesFrom(sizes) : [data.length]);
  }
  return tensorFrom(data, type ? dtype(type) : null);
}

module.exports = { ScriptModule, Tensor, Tuple, ones, zeros, rand, randn, tensor, dtype, ArchiveError, ScriptError };
