/**
 * Scaled dot-product attention (`aten/src/ATen/native/transformers/attention.cpp`).
 *
 * softmax(q k^T / sqrt(d) + mask) v. A boolean mask says which positions may be seen; a causal one lets each see only the earlier.
 *
 * How the real one differs: fused kernels (FlashAttention) never store the matrix of weights.
 */
"use strict";

const dt = require("../tensor/dtype");
const { Tensor } = require("../tensor/tensor");
const { op } = require("../script/operators");
const { matmul } = require("./matmul");
const { add, multiply } = require("./binary");
const { softmax } = require("./activations");
const { where } = require("./indexing");

op(
  "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
  (query, key, value, mask, dropout, causal, scale, grouped) => {
    if (dropout > 0) throw new RangeError("attention with dropout is not known to this runtime");
    if (grouped) throw new RangeError("grouped-query attention is not known to this runtime");
    const factor = scale === null ? 1 / Math.sqrt(query.sizes[query.dim - 1]) : scale;
    let scores = matmul(multiply(query, factor), key.transpose(-2, -1));
    const visible = causal ? lowerTriangle(...scores.sizes.slice(-2)) : mask;
    if (visible) scores = visible.dtype === dt.bool ? where(visible, scores, -Infinity) : add(scores, visible);
    return matmul(softmax(scores, -1), value);
  },
);

function lowerTriangle(rows, columns) {
  const t = Tensor.zeros([rows, columns], dt.bool);
  for (let i = 0; i < rows; i++) t.storage.array.fill(1, i * columns, i * columns + Math.min(i + 1, columns));
  return t;
}
