/**
 * Tensors from nothing or from numbers (`aten/src/ATen/native/TensorFactories.cpp`).
 *
 * `arange(5)` of ints is int64 and `arange(5.)` float32; `full` takes its dtype from the value; `*_like` from the tensor.
 *
 * How the real one differs: `empty` leaves memory as it is; here it is zeros.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor } = require("../tensor/tensor");
const { op, scalarOp } = require("../script/operators");
const { Device } = require("../script/values");
const { scalarType } = require("../tensor/compute");

const OPTIONS = "*, ScalarType? dtype=None, int? layout=None, Device? device=None, bool? pin_memory=None";
const LIKE = `${OPTIONS}, int? memory_format=None`;

for (const [name, value] of [
  ["zeros", 0],
  ["ones", 1],
  ["empty", 0],
]) {
  op(`${name}(int[] size, ${LIKE})`, (size, dtype) => Tensor.full(size, value, dtype || dt.float32));
  op(`${name}_like(Tensor self, ${LIKE})`, (t, dtype) => Tensor.full(t.sizes, value, dtype || t.dtype));
  op(`new_${name}(Tensor self, int[] size, ${OPTIONS})`, (t, size, dtype) => Tensor.full(size, value, dtype || t.dtype));
}

const fill = (size, value, dtype) => Tensor.full(size, value, dtype || scalarType(value));
op(`full(int[] size, Scalar fill_value, ${OPTIONS})`, fill);
op(`full_like(Tensor self, Scalar fill_value, ${LIKE})`, (t, value, dtype) => Tensor.full(t.sizes, value, dtype || t.dtype));
op(`new_full(Tensor self, int[] size, Scalar fill_value, ${OPTIONS})`, (t, size, value, dtype) =>
  Tensor.full(size, value, dtype || t.dtype),
);
op(`scalar_tensor(Scalar s, ${OPTIONS})`, (value, dtype) => Tensor.full([], value, dtype || dt.float32));
op("prim.NumToTensor(Scalar a)", (value) => Tensor.full([], value, typeof value === "number" ? dt.float64 : scalarType(value)));

function arange(start, end, step, dtype) {
  const type = dtype || ([start, end, step].some((x) => typeof x === "number") ? dt.float32 : dt.int64);
  const [a, b, s] = [start, end, step].map(Number);
  if (s === 0) throw new RangeError("step must be nonzero");
  if ((b - a) * s < 0) throw new RangeError("upper bound and lower bound inconsistent with step sign");
  const t = Tensor.zeros([Math.ceil((b - a) / s)], type);
  const array = t.storage.array;
  for (let i = 0; i < array.length; i++) array[i] = dt.cast(a + i * s, type);
  return t;
}

op(`arange(Scalar end, ${OPTIONS})`, (end, dtype) => arange(0n, end, 1n, dtype));
op(`arange(Scalar start, Scalar end, ${OPTIONS})`, (start, end, dtype) => arange(start, end, 1n, dtype));
op(`arange(Scalar start, Scalar end, Scalar step=1, ${OPTIONS})`, arange);
op(`linspace(Scalar start, Scalar end, int steps, ${OPTIONS})`, (start, end, steps, dtype) => {
  const [a, b] = [Number(start), Number(end)];
  const t = Tensor.zeros([steps], dtype || dt.float32);
  const step = (b - a) / Math.max(1, steps - 1);
  for (let i = 0; i < steps; i++)
    t.storage.array[i] = dt.cast(i < steps / 2 ? a + i * step : b - (steps - 1 - i) * step, t.dtype);
  return t;
});
const eye = (n, m, dtype) => {
  const t = Tensor.zeros([n, m], dtype || dt.float32);
  for (let i = 0; i < Math.min(n, m); i++) t.storage.array[i * m + i] = dt.cast(1, t.dtype);
  return t;
};
op(`eye(int n, ${OPTIONS})`, (n, dtype) => eye(n, n, dtype));
op(`eye(int n, int m, ${OPTIONS})`, eye);

op("one_hot(Tensor self, int num_classes=-1)", (t, classes) => {
  const positions = Array.from(t.data, Number);
  const n = classes === -1 ? Math.max(0, ...positions) + 1 : classes;
  if (positions.some((p) => p < 0 || p >= n)) throw new RangeError("Class values must be smaller than num_classes.");
  const out = Tensor.zeros([t.numel, n], dt.int64);
  positions.forEach((p, row) => (out.storage.array[row * n + p] = 1n));
  return out.view([...t.sizes, n]);
});

/** `torch.tensor`: nested lists of numbers; the dtype is that of the numbers unless it is given. */
function tensorFrom(data, dtype = null) {
  const sizes = [];
  for (let level = data; Array.isArray(level); level = level[0]) {
    sizes.push(level.length);
    if (!level.length) break;
  }
  const flat = [];
  const collect = (value, depth) => {
    if (depth === sizes.length) {
      if (Array.isArray(value)) throw new RangeError("the nested lists of a tensor must have equal lengths");
      flat.push(value instanceof Tensor ? value.item() : value);
    } else if (!Array.isArray(value) || value.length !== sizes[depth]) {
      throw new RangeError(
        `Expected sequence of length ${sizes[depth]} at dim ${depth} (got ${Array.isArray(value) ? value.length : "a number"})`,
      );
    } else value.forEach((item) => collect(item, depth + 1));
  };
  collect(data, 0);
  const type = dtype || flat.map(scalarType).reduce((a, b) => dt.promote(a, b), flat.length ? dt.bool : dt.float32);
  return Tensor.of(
    type.array.from(flat, (x) => dt.cast(x, type)),
    type,
    sizes,
  );
}

const TENSOR = "*, ScalarType? dtype=None, Device? device=None, bool requires_grad=False";
op(`tensor(Scalar t, ${TENSOR})`, tensorFrom);
op(`tensor(any data, ${TENSOR})`, tensorFrom);
op("as_tensor(Tensor data, *, ScalarType? dtype=None, Device? device=None)", (t, dtype) => t.to(dtype || t.dtype));
op("as_tensor(any data, *, ScalarType? dtype=None, Device? device=None)", tensorFrom);
scalarOp("device(str a)", (text) => new Device(text));
op('meshgrid(Tensor[] tensors, *, str indexing="ij")', (tensors, indexing) => {
  if (indexing !== "ij") throw new RangeError(`meshgrid with indexing='${indexing}' is not known to this runtime`);
  const sizes = tensors.map((t) => t.numel);
  return tensors.map((t, d) => t.reshape(sizes.map((n, i) => (i === d ? n : 1))).expand(sizes));
});

module.exports = { tensorFrom };
