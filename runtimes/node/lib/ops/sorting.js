/**
 * Sorting and the largest k (`aten/src/ATen/native/Sorting.cpp`, `TopKImpl.h`).
 *
 * Each row's positions are sorted by what stands there; NaN counts as larger than any number. JavaScript's sort is stable.
 *
 * How the real one differs: `topk` only partitions the row; an unstable sort may order equal elements otherwise.
 */
"use strict";

const dt = require("../tensor/dtype");
const { op } = require("../script/operators");
const { Tuple } = require("../script/values");
const { mapRows } = require("./rows");
const { wrapDim } = require("../tensor/geometry");

const isNaN = Number.isNaN;
const ascending = (a, b) => (isNaN(a) || isNaN(b) ? Number(isNaN(a)) - Number(isNaN(b)) : a < b ? -1 : a > b ? 1 : 0);

/** The first `k` of each sorted row, and where they were. */
function sorted(t, dim, descending, k) {
  const kernel = (values, start, length, [out, where], at) => {
    const order = Array.from({ length }, (_, i) => i);
    order.sort((i, j) => (descending ? -1 : 1) * ascending(values[start + i], values[start + j]));
    for (let i = 0; i < k; i++) {
      out[at + i] = values[start + order[i]];
      where[at + i] = BigInt(order[i]);
    }
  };
  return Tuple.from(mapRows(t, dim, t.dtype, [t.dtype, dt.int64], kernel, k));
}

const length = (t, dim) => (t.dim ? t.sizes[wrapDim(dim, t.dim)] : 1);

op("sort(Tensor self, int dim=-1, bool descending=False)", (t, dim, descending) => sorted(t, dim, descending, length(t, dim)));
op("sort(Tensor self, *, bool? stable, int dim=-1, bool descending=False)", (t, stable, dim, descending) =>
  sorted(t, dim, descending, length(t, dim)),
);
op(
  "argsort(Tensor self, int dim=-1, bool descending=False)",
  (t, dim, descending) => sorted(t, dim, descending, length(t, dim))[1],
);
op(
  "argsort(Tensor self, *, bool stable, int dim=-1, bool descending=False)",
  (t, stable, dim, descending) => sorted(t, dim, descending, length(t, dim))[1],
);
op("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)", (t, k, dim, largest) => {
  if (k < 0 || k > length(t, dim)) throw new RangeError("selected index k out of range");
  return sorted(t, dim, largest, k);
});
op("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)", (t, k, dim, keepdim) =>
  Tuple.from(sorted(t, dim, false, k), (x) => (keepdim ? x.slice(dim, k - 1, k) : x.select(dim, k - 1))),
);
op("median(Tensor self)", (t) => {
  const [values] = sorted(t.reshape([-1]), 0, false, t.numel);
  return values.select(0, isNaN(values.select(0, -1).item()) ? -1 : Math.floor((t.numel - 1) / 2)).clone();
});
