/**
 * A tensor: sizes and strides over a typed array that several tensors may share (`c10/core/TensorImpl.h`).
 *
 * Element `[i, j]` is `storage.array[offset + i * strides[0] + j * strides[1]]`. Views (`select`, `slice`, `permute`, ...) are new
 * tensors on the same storage, so writing through one shows in the other. Kernels mostly do not walk strides: they ask for `flat(t)`,
 * the elements in row-major order, which is the memory itself where the tensor is contiguous, and a copy where it is not.
 *
 * How the real one differs: storage is raw memory on any device, a dispatcher chooses kernels, and a TensorIterator walks strided
 * operands directly. There is no autograd here: `requiresGrad` is remembered and does nothing, as at inference.
 */
"use strict";

const dt = require("./dtype");
const geometry = require("./geometry");

const { numel, contiguousStrides, isContiguous, wrapDim, inferSizes, viewStrides, checkReach, text } = geometry;

class Tensor {
  /**
   * @param {{array: any}} storage  a box around a typed array; tensors that share it are views of the same elements
   * @param {dt.DType} dtype
   * @param {number[]} sizes
   * @param {number[]} [strides]  row-major by default
   * @param {number} [offset]  of the first element
   */
  constructor(storage, dtype, sizes, strides = contiguousStrides(sizes), offset = 0) {
    checkReach(sizes, strides, offset, storage.array.length);
    this.storage = storage;
    this.dtype = dtype;
    this.sizes = sizes;
    this.strides = strides;
    this.offset = offset;
    this.requiresGrad = false;
    this.isNumber = false; // a constant that was a number: it gives way in dtype promotion
  }

  /** A tensor that owns `array`, without copying it. */
  static of(array, dtype, sizes) {
    if (array.length !== numel(sizes)) throw new RangeError(`${array.length} elements do not fill sizes ${text(sizes)}`);
    return new Tensor({ array }, dtype, sizes);
  }

  /** Zeros. */
  static zeros(sizes, dtype = dt.float32) {
    if (sizes.some((n) => n < 0)) throw new RangeError(`Trying to create tensor with negative dimension in ${text(sizes)}`);
    return Tensor.of(dtype.make(numel(sizes)), dtype, sizes);
  }

  static full(sizes, value, dtype) {
    const t = Tensor.zeros(sizes, dtype);
    t.storage.array.fill(dt.cast(value, dtype));
    return t;
  }

  get dim() {
    return this.sizes.length;
  }

  get numel() {
    return numel(this.sizes);
  }

  get isContiguous() {
    return isContiguous(this.sizes, this.strides);
  }

  /** As the talk's slide prints it: `Variable[CPUFloatType]`. */
  get type() {
    return `Variable[CPU${this.dtype.legacy}Type]`;
  }

  /** The elements in row-major order: the memory itself where the tensor is contiguous, otherwise a copy. */
  get data() {
    return flat(this);
  }

  /** `Tensor[Type=..., Size=[...]`: the closing bracket is missing in the original too. */
  toString() {
    return `Tensor[Type=${this.type}, Size=${text(this.sizes)}`;
  }

  [Symbol.for("nodejs.util.inspect.custom")]() {
    return this.toString();
  }

  /** The elements as nested lists of numbers (BigInt for int64) and booleans. */
  tolist() {
    const values = Array.from(flat(this), this.dtype === dt.bool ? Boolean : (x) => x);
    if (this.dim === 0) return values[0];
    return this.sizes.slice(1).reduceRight((rows, n) => chunks(rows, n), values);
  }

  /** The only element: a BigInt of any integer dtype, a number or a boolean. */
  item() {
    if (this.numel !== 1) throw new TypeError("a Tensor with " + this.numel + " elements cannot be converted to Scalar");
    const x = this.storage.array[this.offset];
    if (this.dtype === dt.bool) return x !== 0;
    return this.dtype.category === 1 ? BigInt(x) : x;
  }

  // Views: the same elements under other sizes and strides.

  asStrided(sizes, strides, offset) {
    return new Tensor(this.storage, this.dtype, sizes, strides, offset);
  }

  select(dim, index) {
    if (this.dim === 0) throw new RangeError("select() cannot be applied to a 0-dim tensor.");
    const d = wrapDim(dim, this.dim);
    const n = this.sizes[d];
    if (index < -n || index >= n) {
      throw new RangeError(`select(): index ${index} out of range for tensor of size ${text(this.sizes)} at dimension ${d}`);
    }
    const i = index < 0 ? index + n : index;
    return this.asStrided(without(this.sizes, d), without(this.strides, d), this.offset + i * this.strides[d]);
  }

  slice(dim, start, end, step = 1) {
    if (this.dim === 0) throw new RangeError("slice() cannot be applied to a 0-dim tensor.");
    if (step <= 0) throw new RangeError("slice step must be positive");
    const d = wrapDim(dim, this.dim);
    const n = this.sizes[d];
    const clamp = (i) => Math.min(Math.max(i < 0 ? i + n : i, 0), n);
    const from = clamp(start === null || start === undefined ? 0 : start);
    const to = Math.max(from, clamp(end === null || end === undefined ? n : end));
    const sizes = replaced(this.sizes, d, Math.ceil((to - from) / step));
    return this.asStrided(sizes, replaced(this.strides, d, this.strides[d] * step), this.offset + from * this.strides[d]);
  }

  permute(dims) {
    const order = dims.map((d) => wrapDim(d, this.dim));
    if (order.length !== this.dim) {
      throw new RangeError(
        `permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = ${this.dim} is not equal to len(dims) = ${dims.length}`,
      );
    }
    if (new Set(order).size !== order.length) throw new RangeError("permute(): duplicate dims are not allowed.");
    return this.asStrided(
      order.map((d) => this.sizes[d]),
      order.map((d) => this.strides[d]),
      this.offset,
    );
  }

  transpose(dim0, dim1) {
    const order = this.sizes.map((_, d) => d);
    const a = wrapDim(dim0, this.dim);
    const b = wrapDim(dim1, this.dim);
    if (this.dim === 0) return this;
    [order[a], order[b]] = [order[b], order[a]];
    return this.permute(order);
  }

  expand(sizes) {
    const extra = sizes.length - this.dim;
    const refuse = () => {
      throw new RangeError(`The expanded size of the tensor (${text(sizes)}) must match the existing size (${text(this.sizes)})`);
    };
    if (extra < 0) refuse();
    const strides = sizes.map((n, d) => {
      const own = d < extra ? 1 : this.sizes[d - extra];
      if (d >= extra && (n === -1 || n === own)) return this.strides[d - extra];
      if (own !== 1 || n < 0) refuse();
      return 0;
    });
    return this.asStrided(
      sizes.map((n, d) => (n === -1 ? this.sizes[d - extra] : n)),
      strides,
      this.offset,
    );
  }

  /** The same elements under new sizes; `null` where strides cannot express it. */
  tryView(sizes) {
    const wanted = inferSizes(sizes, this.numel);
    const strides = viewStrides(this.sizes, this.strides, wanted);
    return strides && this.asStrided(wanted, strides, this.offset);
  }

  view(sizes) {
    const view = this.tryView(sizes);
    if (view) return view;
    throw new RangeError(
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
    );
  }

  reshape(sizes) {
    return this.tryView(sizes) || this.contiguous().view(sizes);
  }

  // Copies.

  contiguous() {
    return this.isContiguous ? this : this.clone();
  }

  clone() {
    return Tensor.of(flat(this).slice(), this.dtype, this.sizes);
  }

  to(dtype) {
    return dtype === this.dtype ? this : Tensor.of(flat(this, dtype), dtype, this.sizes);
  }

  /** Writes `source`, broadcast and converted, into this tensor's elements. */
  copy_(source) {
    geometry.checkNoOverlap(this.sizes, this.strides);
    const values = flat(source.expand(this.sizes), this.dtype);
    const sameMemory = values.buffer === this.storage.array.buffer; // reading what is being written
    scatter(this, sameMemory ? values.slice() : values);
    return this;
  }
}

/** The elements of `t` in row-major order as elements of `dtype`. The result may be the tensor's own memory: do not write to it. */
function flat(t, dtype = t.dtype) {
  const values = t.isContiguous ? t.storage.array.subarray(t.offset, t.offset + t.numel) : gather(t);
  return dtype === t.dtype ? values : converted(values, t.dtype, dtype);
}

function gather(t) {
  const out = t.dtype.make(t.numel);
  const array = t.storage.array;
  walk(t, (at, n, from, stride) => {
    for (let i = 0; i < n; i++, from += stride) out[at + i] = array[from];
  });
  return out;
}

function scatter(t, values) {
  const array = t.storage.array;
  if (t.isContiguous) return array.set(values, t.offset);
  walk(t, (at, n, from, stride) => {
    for (let i = 0; i < n; i++, from += stride) array[from] = values[at + i];
  });
}

/** Calls `row(at, n, from, stride)` for every run along the last dimension, in row-major order. */
function walk(t, row) {
  const last = t.dim - 1;
  if (last < 0) return row(0, 1, t.offset, 1);
  if (t.numel === 0) return undefined;
  const n = t.sizes[last];
  let at = 0;
  const visit = (d, from) => {
    if (d === last) {
      row(at, n, from, t.strides[last]);
      at += n;
    } else {
      for (let i = 0; i < t.sizes[d]; i++) visit(d + 1, from + i * t.strides[d]);
    }
  };
  return visit(0, t.offset);
}

function converted(values, from, to) {
  const out = to.make(values.length);
  const n = values.length;
  if (to === dt.bool) {
    const zero = from === dt.int64 ? 0n : 0;
    for (let i = 0; i < n; i++) out[i] = values[i] !== zero ? 1 : 0;
  } else if (to === dt.int64) {
    for (let i = 0; i < n; i++) out[i] = dt.toInt64(values[i]);
  } else if (from === dt.int64) {
    const wrap = to.category === 1;
    for (let i = 0; i < n; i++) out[i] = Number(wrap ? BigInt.asIntN(32, values[i]) : values[i]);
  } else {
    for (let i = 0; i < n; i++) out[i] = values[i]; // the typed array rounds or wraps
  }
  return out;
}

function chunks(rows, n) {
  const result = [];
  for (let i = 0; i < rows.length; i += n) result.push(rows.slice(i, i + n));
  return result;
}

const without = (list, at) => list.filter((_, i) => i !== at);
const replaced = (list, at, value) => list.map((x, i) => (i === at ? value : x));

module.exports = { Tensor, flat };
