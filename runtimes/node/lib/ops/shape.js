/**
 * Operators that move no elements, or only arrange them anew (`aten/src/ATen/native/TensorShape.cpp`).
 *
 * `view`, `permute`, `expand`, `select`, ... give views on the same storage; `cat`, `stack`, `repeat`, `flip` copy.
 *
 * How the real one differs: views are tracked for autograd; `reshape` may keep other memory formats.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { resultType } = require("../tensor/compute");
const { wrapDim, numel, inferSizes, broadcast, text } = require("../tensor/geometry");
const { roomFor, VIEW } = require("../limits");
const { sum } = require("./reductions");

op("view(Tensor self, int[] size)", (t, size) => t.view(size));
op("reshape(Tensor self, int[] shape)", (t, shape) => t.reshape(shape));
op("_unsafe_view(Tensor self, int[] size)", (t, size) => t.view(size));
op("view_as(Tensor self, Tensor other)", (t, other) => t.view(other.sizes));
op("reshape_as(Tensor self, Tensor other)", (t, other) => t.reshape(other.sizes));
op("permute(Tensor self, int[] dims)", (t, dims) => t.permute(dims));
op("transpose(Tensor self, int dim0, int dim1)", (t, a, b) => t.transpose(a, b));
op("swapaxes(Tensor self, int axis0, int axis1)", (t, a, b) => t.transpose(a, b));
op("t(Tensor self)", (t) => {
  if (t.dim > 2) throw new RangeError(`t() expects a tensor with <= 2 dimensions, but self is ${t.dim}D`);
  return t.dim < 2 ? t : t.transpose(0, 1);
});
op("numpy_T(Tensor self)", (t) => t.permute(t.sizes.map((_, d) => t.dim - 1 - d)));
op("mT(Tensor self)", (t) => t.transpose(-2, -1));
op("expand(Tensor self, int[] size, *, bool implicit=False)", (t, size) => t.expand(size));
op("expand_as(Tensor self, Tensor other)", (t, other) => t.expand(other.sizes));
op("broadcast_to(Tensor self, int[] size)", (t, size) => t.expand(size));
op("broadcast_tensors(Tensor[] tensors)", (tensors) => {
  const sizes = broadcast(...tensors.map((t) => t.sizes));
  return tensors.map((t) => t.expand(sizes));
});
op("select(Tensor self, int dim, int index)", (t, dim, index) => t.select(dim, index));
op("slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)", (t, dim, start, end, step) =>
  t.slice(dim, start, end, step),
);
op("narrow(Tensor self, int dim, int start, int length)", narrow);
op("detach(Tensor self)", (t) => t.asStrided(t.sizes, t.strides, t.offset));
op("detach_(Tensor self)", (t) => t);
op("alias(Tensor self)", (t) => t.asStrided(t.sizes, t.strides, t.offset));
op("prim.data(Tensor self)", (t) => t.asStrided(t.sizes, t.strides, t.offset));
op("as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None)", (t, size, stride, offset) => {
  const first = offset === null ? t.offset : offset;
  return t.asStrided(size, stride, first);
});

function narrow(t, dim, start, length) {
  const d = wrapDim(dim, t.dim);
  const from = start < 0 ? start + t.sizes[d] : start;
  if (length < 0 || from < 0 || from + length > t.sizes[d]) {
    throw new RangeError(`start (${start}) + length (${length}) exceeds dimension size (${t.sizes[d]}).`);
  }
  return t.slice(d, from, from + length);
}

function squeeze(t, dims) {
  const wrapped = dims.map((d) => wrapDim(d, t.dim));
  const kept = t.sizes.map((_, d) => d).filter((d) => t.sizes[d] !== 1 || !wrapped.includes(d));
  return t.asStrided(
    kept.map((d) => t.sizes[d]),
    kept.map((d) => t.strides[d]),
    t.offset,
  );
}

op("squeeze(Tensor self)", (t) =>
  squeeze(
    t,
    t.sizes.map((_, d) => d),
  ),
);
op("squeeze(Tensor self, int[1] dim)", squeeze);
op("unsqueeze(Tensor self, int dim)", unsqueeze);

function unsqueeze(t, dim) {
  const d = wrapDim(dim, t.dim + 1);
  const stride = d < t.dim ? t.sizes[d] * t.strides[d] : 1;
  const inserted = (list, x) => [...list.slice(0, d), x, ...list.slice(d)];
  return t.asStrided(inserted(t.sizes, 1), inserted(t.strides, stride), t.offset);
}

op("flatten(Tensor self, int start_dim=0, int end_dim=-1)", (t, start, end) => {
  const [a, b] = [wrapDim(start, t.dim), wrapDim(end, t.dim)];
  if (a > b) throw new RangeError("flatten() has invalid args: start_dim cannot come after end_dim");
  if (t.dim === 0) return t.reshape([1]);
  return t.reshape([...t.sizes.slice(0, a), numel(t.sizes.slice(a, b + 1)), ...t.sizes.slice(b + 1)]);
});
op("ravel(Tensor self)", (t) => t.reshape([-1]));
op("unflatten(Tensor self, int dim, int[] sizes)", (t, dim, sizes) => {
  const d = wrapDim(dim, t.dim);
  return t.view([...t.sizes.slice(0, d), ...inferSizes(sizes, t.sizes[d]), ...t.sizes.slice(d + 1)]);
});

/** Pieces along a dimension, of these lengths. */
function pieces(t, lengths, dim) {
  const d = wrapDim(dim, t.dim);
  let start = 0;
  return lengths.map((n) => t.slice(d, start, (start += n)));
}

function split(t, size, dim) {
  const n = t.sizes[wrapDim(dim, t.dim)];
  if (size <= 0 && n) throw new RangeError(`split expects split_size be non-negative, but got split_size=${size}`);
  const count = Math.max(1, roomFor(Math.ceil(n / size) || 0, VIEW));
  return pieces(
    t,
    Array.from({ length: count }, (_, i) => Math.min(size, n - i * size)),
    dim,
  );
}

function splitWithSizes(t, lengths, dim) {
  const n = t.sizes[wrapDim(dim, t.dim)];
  if (lengths.reduce((a, b) => a + b, 0) !== n) {
    throw new RangeError(
      `split_with_sizes expects split_sizes to sum exactly to ${n} (input tensor's size at dimension ${dim}), but got split_sizes=${text(lengths)}`,
    );
  }
  return pieces(t, lengths, dim);
}

op("split(Tensor self, int split_size, int dim=0)", split);
op("split(Tensor self, int[] split_size, int dim=0)", splitWithSizes);
op("split_with_sizes(Tensor self, int[] split_sizes, int dim=0)", splitWithSizes);
op("chunk(Tensor self, int chunks, int dim=0)", (t, chunks, dim) => {
  if (chunks <= 0) throw new RangeError(`chunk expects \`chunks\` to be greater than 0, got: ${chunks}`);
  return split(t, Math.max(1, Math.ceil(t.sizes[wrapDim(dim, t.dim)] / chunks)), dim);
});
op("tensor_split(Tensor self, int sections, int dim=0)", (t, sections, dim) => {
  const n = t.sizes[wrapDim(dim, t.dim)];
  if (sections <= 0) throw new RangeError(`number of sections must be larger than 0, got ${sections}`);
  return pieces(
    t,
    Array.from({ length: roomFor(sections, VIEW) }, (_, i) => Math.floor(n / sections) + (i < n % sections ? 1 : 0)),
    dim,
  );
});
op("unbind(Tensor self, int dim=0)", (t, dim) => {
  if (t.dim === 0) throw new RangeError(`Dimension specified as ${dim} but tensor has no dimensions`);
  return Array.from({ length: roomFor(t.sizes[wrapDim(dim, t.dim)], VIEW) }, (_, i) => t.select(dim, i));
});

function cat(tensors, dim) {
  if (!tensors.length) throw new RangeError("expected a non-empty list of Tensors");
  const type = resultType(...tensors);
  const parts = tensors.filter((t) => !(t.dim === 1 && t.numel === 0)); // old habit: empty vectors fit anything
  if (!parts.length) return tensors[0].to(type);
  const d = wrapDim(dim, parts[0].dim);
  for (const t of parts) {
    const fits = t.dim === parts[0].dim && t.sizes.every((n, i) => i === d || n === parts[0].sizes[i]);
    if (!fits) {
      throw new RangeError(
        `Sizes of tensors must match except in dimension ${d}. Expected ${text(parts[0].sizes)} but got ${text(t.sizes)}`,
      );
    }
  }
  const sizes = parts[0].sizes.slice();
  sizes[d] = parts.reduce((n, t) => n + t.sizes[d], 0);
  const out = Tensor.zeros(sizes, type);
  let at = 0;
  for (const t of parts) out.slice(d, at, (at += t.sizes[d])).copy_(t);
  return out;
}

function stack(tensors, dim) {
  const odd = tensors.find((t) => t.sizes.join() !== tensors[0].sizes.join());
  if (odd)
    throw new RangeError(
      `stack expects each tensor to be equal size, but got ${text(tensors[0].sizes)} at entry 0 and ${text(odd.sizes)} at entry ${tensors.indexOf(odd)}`,
    );
  return cat(
    tensors.map((t) => unsqueeze(t, dim)),
    dim < 0 ? wrapDim(dim, tensors[0].dim + 1) : dim,
  );
}

op("cat(Tensor[] tensors, int dim=0)", cat);
op("concat(Tensor[] tensors, int dim=0)", cat);
op("stack(Tensor[] tensors, int dim=0)", stack);
op("hstack(Tensor[] tensors)", (tensors) => {
  if (!tensors.length) throw new RangeError("hstack expects a non-empty TensorList");
  return cat(tensors, tensors[0].dim < 2 ? 0 : 1);
});
op("vstack(Tensor[] tensors)", (tensors) =>
  cat(
    tensors.map((t) => (t.dim < 2 ? t.reshape([1, -1]) : t)),
    0,
  ),
);

function repeat(t, repeats) {
  if (repeats.length < t.dim)
    throw new RangeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  const negative = repeats.find((n) => n < 0);
  if (negative !== undefined) throw new RangeError(`Trying to create tensor with negative dimension ${negative}`);
  const sizes = [...new Array(repeats.length - t.dim).fill(1), ...t.sizes];
  const pairs = sizes.flatMap((n, d) => [repeats[d], n]);
  return t
    .reshape(sizes.flatMap((n) => [1, n]))
    .expand(pairs)
    .reshape(sizes.map((n, d) => n * repeats[d]))
    .clone();
}

op("repeat(Tensor self, int[] repeats)", repeat);
op("tile(Tensor self, int[] dims)", (t, dims) => repeat(t, [...new Array(Math.max(0, t.dim - dims.length)).fill(1), ...dims]));
op("repeat_interleave(Tensor self, int repeats, int? dim=None)", (t, n, dim) => {
  const source = dim === null ? t.reshape([-1]) : t;
  const d = dim === null ? 0 : wrapDim(dim, t.dim);
  const sizes = source.sizes;
  return unsqueeze(source, d + 1)
    .expand([...sizes.slice(0, d + 1), n, ...sizes.slice(d + 1)])
    .reshape(sizes.map((s, i) => (i === d ? s * n : s)));
});
op("flip(Tensor self, int[] dims)", (t, dims) =>
  dims.reduce((x, d) => (x.dim ? rearranged(x, d, (i, n) => n - 1 - i) : x), t).clone(),
);
op("roll(Tensor self, int[1] shifts, int[1] dims=[])", (t, shifts, dims) => {
  if (!shifts.length) throw new RangeError("`shifts` required");
  if (dims.length !== shifts.length && (dims.length || shifts.length !== 1))
    throw new RangeError(`shifts and dimensions must align. shifts: ${shifts.length}, dims:${dims.length}`);
  if (!dims.length) return rearranged(t.reshape([-1]), 0, (i, n) => (((i - shifts[0]) % n) + n) % n).reshape(t.sizes);
  return dims.reduce((x, d, k) => rearranged(x, d, (i, n) => (((i - shifts[k]) % n) + n) % n), t);
});

/** Along `dim`, position i shows what was at `from(i, n)`. */
function rearranged(t, dim, from) {
  const d = wrapDim(dim, t.dim);
  const out = Tensor.zeros(t.sizes, t.dtype);
  for (let i = 0, n = t.sizes[d]; i < n; i++) out.select(d, i).copy_(t.select(d, from(i, n)));
  return out;
}

op("movedim(Tensor self, int[1] source, int[1] destination)", (t, source, destination) => {
  if (source.length !== destination.length)
    throw new RangeError(
      `movedim: Invalid source or destination dims: source (${text(source)} dims) should contain the same number of dims as destination (${text(destination)} dims)`,
    );
  const from = source.map((d) => wrapDim(d, t.dim));
  const to = destination.map((d) => wrapDim(d, t.dim));
  const rest = t.sizes.map((_, d) => d).filter((d) => !from.includes(d));
  return t.permute(t.sizes.map((_, d) => (to.includes(d) ? from[to.indexOf(d)] : rest.shift())));
});
op("diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)", diagonal);

function diagonal(t, offset, dim1, dim2) {
  const [a, b] = [wrapDim(dim1, t.dim), wrapDim(dim2, t.dim)];
  if (a === b) throw new RangeError(`diagonal dimensions cannot be identical ${dim1}, ${dim2}`);
  const n = Math.max(0, offset >= 0 ? Math.min(t.sizes[a], t.sizes[b] - offset) : Math.min(t.sizes[a] + offset, t.sizes[b]));
  const kept = t.sizes.map((_, d) => d).filter((d) => d !== a && d !== b);
  const start = n ? t.offset + (offset >= 0 ? offset * t.strides[b] : -offset * t.strides[a]) : t.offset;
  return t.asStrided([...kept.map((d) => t.sizes[d]), n], [...kept.map((d) => t.strides[d]), t.strides[a] + t.strides[b]], start);
}

op("diag(Tensor self, int diagonal=0)", (t, offset) => {
  if (t.dim === 2) return diagonal(t, offset, 0, 1).clone();
  const n = t.numel + Math.abs(offset);
  const out = Tensor.zeros([n, n], t.dtype);
  diagonal(out, offset, 0, 1).copy_(t);
  return out;
});
op("trace(Tensor self)", (t) => sum(diagonal(t, 0, 0, 1), null));

for (const [name, keeps] of [
  ["tril", (column, row, k) => column - row <= k],
  ["triu", (column, row, k) => column - row >= k],
]) {
  const run = (t, k) => {
    if (t.dim < 2) throw new RangeError(`${name}: input tensor must have at least 2 dimensions`);
    const [rows, columns] = t.sizes.slice(-2);
    const values = t.data.slice();
    const zero = t.dtype === dt.int64 ? 0n : 0;
    for (let i = 0; i < values.length; i++) if (!keeps(i % columns, Math.floor(i / columns) % rows, k)) values[i] = zero;
    return Tensor.of(values, t.dtype, t.sizes);
  };
  op(`${name}(Tensor self, int diagonal=0)`, run);
  op(`${name}_(Tensor self, int diagonal=0)`, (t, k) => t.copy_(run(t, k)));
}

op("pixel_shuffle(Tensor self, int upscale_factor)", (t, r) => {
  if (t.dim < 3) throw new RangeError(`pixel_shuffle expects input to have at least 3 dimensions, but got ${t.dim}`);
  if (r <= 0) throw new RangeError(`pixel_shuffle expects a positive upscale_factor, but got ${r}`);
  if (t.sizes[t.dim - 3] % (r * r))
    throw new RangeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor");
  const [c, h, w] = t.sizes.slice(-3);
  const lead = t.sizes.slice(0, -3);
  const n = lead.length;
  const order = [...lead.keys(), n, n + 3, n + 1, n + 4, n + 2];
  return t
    .reshape([...lead, c / (r * r), r, r, h, w])
    .permute(order)
    .reshape([...lead, c / (r * r), h * r, w * r]);
});

module.exports = { cat, stack, repeat, unsqueeze, squeeze, split };
