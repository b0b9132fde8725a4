/**
 * Reading and writing elements by index (`aten/src/ATen/native/TensorAdvancedIndexing.cpp`).
 *
 * `x[i, mask]` with tensors as indices is `index`: a mask becomes the positions of its true elements, the index tensors broadcast
 * against each other, and their common sizes stand where the indexed dimensions were (in front, if these are not neighbours).
 * `gather` and `scatter` take one index per element instead.
 *
 * How the real one differs: a TensorIterator over restrided operands; accumulation order is defined there too on CPUs.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor, flat } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { wrapDim, broadcast, numel, text, checkNoOverlap } = require("../tensor/geometry");
const { binary, resultType } = require("../tensor/compute");
const { add } = require("./binary");

/** The positions of true elements, one row each. */
function nonzero(t) {
  const truth = flat(t, dt.bool);
  const found = [];
  for (let i = 0; i < truth.length; i++) if (truth[i]) found.push(i);
  const out = new BigInt64Array(found.length * t.dim);
  found.forEach((position, row) => {
    let rest = position;
    for (let d = t.dim - 1; d >= 0; d--) {
      out[row * t.dim + d] = BigInt(rest % t.sizes[d]);
      rest = Math.floor(rest / t.sizes[d]);
    }
  });
  return Tensor.of(out, dt.int64, [found.length, t.dim]);
}

/** The same, one list of positions for each dimension; a tensor without dimensions counts as one with one. */
function places(t) {
  const found = nonzero(t.dim ? t : t.reshape([1]));
  return Array.from({ length: found.sizes[1] }, (_, d) => found.select(1, d));
}

/** A plan: `t` with indexed dimensions in front as positions to visit, and the sizes of the result. */
function plan(t, indices) {
  const expanded = [];
  for (const index of indices) {
    if (index === null) expanded.push(null);
    else if (index.dtype.category === 2) throw new TypeError("tensors used as indices must be long, int, byte or bool tensors");
    else if (index.dtype === dt.bool || index.dtype === dt.uint8) {
      const covered = t.sizes.slice(expanded.length, expanded.length + index.dim);
      if (covered.join() !== index.sizes.join())
        throw new RangeError(
          `The shape of the mask ${text(index.sizes)} at index 0 does not match the shape of the indexed tensor ${text(t.sizes)} at index ${expanded.length}`,
        );
      const positions = nonzero(index);
      for (let d = 0; d < index.dim; d++) expanded.push(positions.select(1, d));
    } else expanded.push(index);
  }
  if (expanded.length > t.dim) throw new RangeError(`too many indices for tensor of dimension ${t.dim}`);
  const dims = expanded.map((index, d) => (index ? d : -1)).filter((d) => d >= 0);
  const kept = t.sizes.map((_, d) => d).filter((d) => !dims.includes(d));
  const common = broadcast(...dims.map((d) => expanded[d].sizes));
  const offsets = new Float64Array(numel(common));
  for (const d of dims) {
    const positions = flat(expanded[d].expand(common), dt.float64);
    for (let i = 0; i < offsets.length; i++) {
      const n = t.sizes[d];
      const p = positions[i];
      if (p < -n || p >= n) throw new RangeError(`index ${p} is out of bounds for dimension ${d} with size ${n}`);
      offsets[i] += (p < 0 ? p + n : p) * t.strides[d];
    }
  }
  const together = dims.every((d, i) => i === 0 || d === dims[i - 1] + 1);
  return { offsets, common, kept, front: together && dims.length ? kept.filter((d) => d < dims[0]).length : 0 };
}

/** The kept dimensions at one of the plan's positions, as a view. */
const at = (t, { kept }, offset) =>
  t.asStrided(
    kept.map((d) => t.sizes[d]),
    kept.map((d) => t.strides[d]),
    t.offset + offset,
  );

/** The order that moves the `count` leading dimensions behind `front` others, and back. */
function moved(rank, count, front) {
  const lead = Array.from({ length: count }, (_, i) => i);
  const rest = Array.from({ length: rank - count }, (_, i) => i + count);
  return [...rest.slice(0, front), ...lead, ...rest.slice(front)];
}

function index(t, indices) {
  const p = plan(t, indices);
  const inner = p.kept.map((d) => t.sizes[d]);
  const out = Tensor.zeros([p.offsets.length, ...inner], t.dtype);
  p.offsets.forEach((offset, i) => out.select(0, i).copy_(at(t, p, offset)));
  const sizes = [...p.common, ...inner];
  return out.view(sizes).permute(moved(sizes.length, p.common.length, p.front));
}

function indexPut(t, indices, values, accumulate) {
  checkNoOverlap(t.sizes, t.strides);
  const p = plan(t, indices);
  const order = moved(p.common.length + p.kept.length, p.common.length, p.front);
  const sizes = [...p.common, ...p.kept.map((d) => t.sizes[d])];
  const shown = values.expand(order.map((d) => sizes[d]));
  const inverse = order.map((_, d) => order.indexOf(d));
  const rows = shown.permute(inverse).reshape([p.offsets.length, ...p.kept.map((d) => t.sizes[d])]);
  p.offsets.forEach((offset, i) => {
    const target = at(t, p, offset);
    target.copy_(accumulate ? add(target, rows.select(0, i)) : rows.select(0, i));
  });
  return t;
}

op("index(Tensor self, Tensor?[] indices)", index);
const PUT = "Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False";
op(`index_put_(${PUT})`, indexPut);
op(`index_put(${PUT})`, (t, ...args) => indexPut(t.clone(), ...args));
op("nonzero(Tensor self)", nonzero);
op("nonzero_numpy(Tensor self)", places);
op("argwhere(Tensor self)", nonzero);
op("masked_select(Tensor self, Tensor mask)", (t, mask) => {
  const sizes = broadcast(t.sizes, mask.sizes);
  return index(t.expand(sizes).reshape([-1]), [mask.expand(sizes).reshape([-1])]);
});
op("take(Tensor self, Tensor index)", (t, positions) => index(t.reshape([-1]), [positions]));

function indexSelect(t, dim, positions) {
  const d = wrapDim(dim, t.dim);
  return index(t, [...new Array(d).fill(null), positions.reshape([-1])]);
}

op("index_select(Tensor self, int dim, Tensor index)", indexSelect);
op(
  "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)",
  (weight, indices) => {
    const rows = indexSelect(weight, 0, indices);
    return rows.reshape([...indices.sizes, ...weight.sizes.slice(1)]);
  },
);

/** Calls `visit(i, offset)`: the i-th element of `positions`, and where in `t` it points along `dim`. */
function eachPosition(t, dim, positions, visit) {
  const d = wrapDim(dim, t.dim);
  if (positions.dim !== t.dim) throw new RangeError("Index tensor must have the same number of dimensions as self tensor");
  const larger = positions.sizes.some((n, k) => k !== d && n > t.sizes[k]);
  if (larger)
    throw new RangeError(
      `Expected index ${text(positions.sizes)} to be no larger than self ${text(t.sizes)} apart from dimension ${d}`,
    );
  const values = flat(positions, dt.float64);
  const counter = positions.sizes.map(() => 0);
  for (let i = 0; i < values.length; i++) {
    if (values[i] < 0 || values[i] >= t.sizes[d])
      throw new RangeError(`index ${values[i]} is out of bounds for dimension ${d} with size ${t.sizes[d]}`);
    visit(
      i,
      counter.reduce((sum, c, k) => sum + (k === d ? values[i] : c) * t.strides[k], t.offset),
    );
    for (let k = counter.length - 1; k >= 0 && ++counter[k] === positions.sizes[k]; k--) counter[k] = 0;
  }
}

op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)", (t, dim, positions) => {
  const source = t.dim === 0 ? t.reshape([1]) : t;
  const where = positions.dim === 0 ? positions.reshape([1]) : positions;
  const out = t.dtype.make(where.numel);
  eachPosition(source, dim, where, (i, offset) => (out[i] = source.storage.array[offset]));
  return Tensor.of(out, t.dtype, positions.sizes);
});

const REDUCTIONS = {
  add: (a, b) => a + b,
  sum: (a, b) => a + b,
  multiply: (a, b) => a * b,
  prod: (a, b) => a * b,
  amax: (a, b) => (a > b ? a : b),
  amin: (a, b) => (a < b ? a : b),
};

function scatter(t, dim, positions, source, combine = (a, b) => b) {
  if (typeof combine !== "function") throw new RangeError("scatter with this reduction is not known to this runtime");
  checkNoOverlap(t.sizes, t.strides);
  const array = t.storage.array;
  if (!(source instanceof Tensor)) {
    const value = dt.cast(source, t.dtype);
    eachPosition(t, dim, positions, (i, offset) => (array[offset] = dt.cast(combine(array[offset], value), t.dtype)));
    return t;
  }
  if (source.dtype !== t.dtype) throw new TypeError("scatter(): Expected self.dtype to be equal to src.dtype");
  if (source.dim !== positions.dim || positions.sizes.some((n, d) => n > source.sizes[d]))
    throw new RangeError(`Expected index ${text(positions.sizes)} to be no larger than src ${text(source.sizes)}`);
  const covered = positions.sizes.reduce((part, n, d) => part.slice(d, 0, n), source);
  const values = flat(covered);
  eachPosition(t, dim, positions, (i, offset) => (array[offset] = dt.cast(combine(array[offset], values[i]), t.dtype)));
  return t;
}

/** Declares the functional and the in-place form. */
function writing(name, rest, run) {
  op(`${name}_(Tensor self${rest})`, run);
  op(`${name}(Tensor self${rest})`, (t, ...args) => run(t.clone(), ...args));
}

writing("scatter", ", int dim, Tensor index, Tensor|Scalar src", scatter);
writing("scatter", ", int dim, Tensor index, Scalar value", scatter);
writing("scatter", ", int dim, Tensor index, Tensor|Scalar src, *, str reduce", (t, dim, positions, source, how) =>
  scatter(t, dim, positions, source, REDUCTIONS[how]),
);
writing("scatter_add", ", int dim, Tensor index, Tensor src", (t, dim, positions, source) =>
  scatter(t, dim, positions, source, REDUCTIONS.add),
);
writing(
  "scatter_reduce",
  ", int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True",
  (t, dim, positions, source, how, includeSelf) => {
    if (!includeSelf) throw new RangeError("scatter_reduce with include_self=False is not known to this runtime");
    if (!REDUCTIONS[how]) throw new RangeError(`scatter_reduce with ${how} is not known to this runtime`);
    return scatter(t, dim, positions, source, REDUCTIONS[how]);
  },
);
writing("masked_fill", ", Tensor mask, Tensor|Scalar value", (t, mask, value) =>
  t.copy_(where(mask, Tensor.full([], value instanceof Tensor ? value.item() : value, t.dtype), t)),
);
writing("masked_scatter", ", Tensor mask, Tensor source", (t, mask, source) => {
  const where = mask.expand(t.sizes);
  return indexPut(t, [where], source.reshape([-1]).slice(0, 0, nonzero(where).sizes[0]), false);
});
writing("index_fill", ", int dim, Tensor index, Tensor|Scalar value", (t, dim, positions, value) => {
  const one = value instanceof Tensor ? value.item() : value;
  return indexPut(t, [...new Array(wrapDim(dim, t.dim)).fill(null), positions], Tensor.full([], one, t.dtype), false);
});
writing("index_copy", ", int dim, Tensor index, Tensor source", (t, dim, positions, source) =>
  indexPut(t, [...new Array(wrapDim(dim, t.dim)).fill(null), positions], slices(t, dim, positions, source), false),
);
/** What index_add and index_copy take: for each number of the index a slice of the tensor. */
function slices(t, dim, positions, source) {
  const d = wrapDim(dim, t.dim);
  const expected = t.sizes.map((n, k) => (k === d ? positions.numel : n));
  if (positions.dim > 1 || source.sizes.join() !== expected.join() || source.dtype !== t.dtype)
    throw new RangeError(`the source of an index has to be of ${t.dtype.name} and sizes ${text(expected)}, not of ${source.dtype.name} and ${text(source.sizes)}`);
  return source;
}

writing("index_add", ", int dim, Tensor index, Tensor source, *, Scalar alpha=1", (t, dim, positions, source, alpha) =>
  indexPut(
    t,
    [...new Array(wrapDim(dim, t.dim)).fill(null), positions],
    add(Tensor.zeros([], t.dtype), slices(t, dim, positions, source), alpha),
    true,
  ),
);

function where(condition, a, b) {
  const type = resultType(a, b);
  const sizes = broadcast(condition.sizes, a.sizes || [], b.sizes || []);
  const full = (x) => (x instanceof Tensor ? flat(x.expand(sizes), type) : flat(Tensor.full(sizes, x, type)));
  const [truth, x, y] = [flat(condition.expand(sizes), dt.bool), full(a), full(b)];
  const out = type.make(truth.length);
  for (let i = 0; i < out.length; i++) out[i] = truth[i] ? x[i] : y[i];
  return Tensor.of(out, type, sizes);
}

op("where(Tensor condition, Tensor|Scalar self, Tensor|Scalar other)", where);
op("where(Tensor condition)", places);
op("copy_(Tensor self, Tensor src, bool non_blocking=False)", (t, source) => t.copy_(source));
op("fill_(Tensor self, Tensor|Scalar value)", (t, value) =>
  t.copy_(value instanceof Tensor ? value : Tensor.full([], value, t.dtype)),
);
op("zero_(Tensor self)", (t) => t.copy_(Tensor.full([], 0, t.dtype)));

module.exports = { index, indexSelect, where };
