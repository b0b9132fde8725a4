/**
 * Questions about tensors, and conversions of dtype (`aten/src/ATen/native/TensorProperties.cpp`, `TensorConversions.cpp`).
 *
 * `x.to(dtype)` gives the tensor itself where nothing changes. Devices other than the CPU are refused.
 *
 * How the real one differs: a conversion may also move to another device or memory format.
 */
"use strict";

const dt = require("../tensor/dtype");
const { op, scalarOp } = require("../script/operators");
const { Device } = require("../script/values");
const { toInt, toFloat, toBool } = require("../script/builtins");
const { resultType } = require("../tensor/compute");
const { wrapDim } = require("../tensor/geometry");

op("size(Tensor self)", (t) => t.sizes.map(BigInt));
op("size(Tensor self, int dim)", (t, dim) => {
  if (t.dim === 0) throw new RangeError("Dimension specified as " + dim + " but tensor has no dimensions");
  return BigInt(t.sizes[wrapDim(dim, t.dim)]);
});
op("stride(Tensor self)", (t) => t.strides.map(BigInt));
op("stride(Tensor self, int dim)", (t, dim) => BigInt(t.strides[wrapDim(dim, t.dim)]));
op("storage_offset(Tensor self)", (t) => BigInt(t.offset));
op("dim(Tensor self)", (t) => BigInt(t.dim));
op("numel(Tensor self)", (t) => BigInt(t.numel));
op("element_size(Tensor self)", (t) => BigInt(t.dtype.bytes));
op("is_contiguous(Tensor self)", (t) => t.isContiguous);
op("is_floating_point(Tensor self)", (t) => t.dtype.category === 2);
op("is_complex(Tensor self)", () => false);
op("item(Tensor self)", (t) => t.item());
op("prim.dtype(Tensor self)", (t) => BigInt(t.dtype.code));
op("prim.device(Tensor self)", () => new Device("cpu"));
op("prim.layout(Tensor self)", () => 0n);
op("prim.type(Device self)", (device) => device.text.split(":")[0]);
op("prim.index(Device self)", () => null);
for (const kind of ["is_cuda", "is_quantized", "is_sparse", "is_nested", "is_mkldnn", "is_mps", "is_meta"])
  op(`prim.${kind}(Tensor self)`, () => false);
op("is_autocast_enabled()", () => false);
op("is_autocast_cpu_enabled()", () => false);
op("prim.requires_grad(Tensor self)", (t) => t.requiresGrad);
op("requires_grad_(Tensor self, bool requires_grad=True)", (t, value) => Object.assign(t, { requiresGrad: value }));
op("result_type(Tensor|Scalar tensor, Tensor|Scalar other)", (a, b) => BigInt(resultType(a, b).code));
scalarOp("is_grad_enabled()", () => false);
scalarOp("set_grad_enabled(bool val)", () => null);
scalarOp("is_scripting()", () => true);

op("Int(Tensor a)", toInt);
op("Float(Tensor a)", toFloat);
op("Bool(Tensor a)", toBool);
op("IntImplicit(Tensor a)", toInt);
op("FloatImplicit(Tensor a)", toFloat);
op("ScalarImplicit(Tensor a)", (t) => t.item());

op("contiguous(Tensor self, *, int memory_format=0)", (t) => t.contiguous());
op("clone(Tensor self, *, int? memory_format=None)", (t) => t.clone());
op("type_as(Tensor self, Tensor other)", (t, other) => t.to(other.dtype));
op("_cast_Float(Tensor self, bool non_blocking=False)", (t) => t.to(dt.float32));
op("cpu(Tensor self)", (t) => t);
op(
  "_to_copy(Tensor self, *, ScalarType? dtype=None, int? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, int? memory_format=None)",
  (t, dtype) => to(t, dtype, true),
);

function to(t, dtype, copy, device = null) {
  if (device && device.text.split(":")[0] !== "cpu") throw new TypeError(`this runtime has no device ${device.text}`);
  const same = (dtype || t.dtype) === t.dtype;
  return same && copy ? t.clone() : t.to(dtype || t.dtype);
}

op(
  "to(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, int? memory_format=None)",
  (t, dtype, blocking, copy) => to(t, dtype, copy),
);
op(
  "to(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, int? memory_format=None)",
  (t, device, dtype, blocking, copy) => to(t, dtype, copy, device),
);
op(
  "to(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, int? memory_format=None)",
  (t, other, blocking, copy) => to(t, other.dtype, copy),
);
op(
  "to(Tensor self, *, ScalarType? dtype=None, int? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, int? memory_format=None)",
  (t, dtype, layout, device, pin, blocking, copy) => to(t, dtype, copy, device),
);
op(
  "to(Tensor self, Device? device, ScalarType? dtype=None, bool non_blocking=False, bool copy=False)",
  (t, device, dtype, blocking, copy) => to(t, dtype, copy, device),
);
op("to(Tensor self, ScalarType? dtype=None, bool non_blocking=False, bool copy=False)", (t, dtype, blocking, copy) =>
  to(t, dtype, copy),
);
op("_assert_async(Tensor self)", (t) => {
  if (!toBool(t)) throw new Error("Expected Tensor with single nonzero value, but got zero");
  return null;
});
