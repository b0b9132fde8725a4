/**
 * The globals a pickle may name, and the tensors they build (`torch/csrc/jit/serialization/unpickler.cpp`, `torch/_utils.py`).
 *
 * A tensor is pickled as a call: `_rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)`. The storage is a
 * "persistent id", `("storage", FloatStorage, key, device, numel)`, which names a record of raw bytes. Storages become typed arrays
 * on the file's own memory where their alignment allows; tensors of the same key share them. Every size is checked against the file.
 *
 * How the real one differs: classes outside the list can be allowed by the caller; storages can live on other devices.
 */
"use strict";

const { ArchiveError } = require("../errors");
const dt = require("../tensor/dtype");
const { Tensor } = require("../tensor/tensor");
const { numel } = require("../tensor/geometry");
const { Device } = require("../script/values");

const STORAGES = new Map(dt.ALL.map((type) => [`${type.legacy}Storage`, type]));

const identity = (args) => args[0];

/** name -> what REDUCE with it does. */
const FUNCTIONS = {
  "collections.OrderedDict": () => new Map(),
  "builtins.list": (args) => [...(args[0] || [])],
  "torch.Size": (args) => args[0],
  "torch.device": (args) => new Device(String(args[0])),
  "torch.jit._pickle.build_intlist": identity,
  "torch.jit._pickle.build_doublelist": identity,
  "torch.jit._pickle.build_boollist": identity,
  "torch.jit._pickle.build_tensorlist": identity,
  "torch.jit._pickle.restore_type_tag": identity,
  "torch._utils._rebuild_tensor_v2": rebuildTensor,
  "torch._utils._rebuild_parameter": identity,
};

/** The allowed globals; null for any other. */
function findGlobal(module, name) {
  const full = `${module}.${name}`;
  if (Object.hasOwn(FUNCTIONS, full)) return { name: full, call: FUNCTIONS[full] };
  if (module === "torch" && STORAGES.has(name)) return { name: full, dtype: STORAGES.get(name) };
  if (module === "torch") {
    const type = dt.ALL.find((t) => t.name === name);
    if (type) return BigInt(type.code); // TorchScript's dtypes are numbers
    if (/^(Half|BFloat16|Complex\w+|Q\w+)Storage$/.test(name))
      throw new ArchiveError(`tensors with ${name} are not known to this runtime`);
  }
  return null;
}

/** Persistent ids to storages: one typed array per record, however many tensors use it. */
function storageLoader(reader, prefix) {
  const buffers = new Map(); // key -> the record's bytes
  const boxes = new Map(); // key and dtype -> storage
  return (id) => {
    const [tag, type, key, , count] = Array.isArray(id) ? id : [];
    if (tag !== "storage" || !type || !type.dtype || typeof key !== "string" || typeof count !== "bigint") {
      throw new ArchiveError("damaged pickle: not a storage", `${prefix}.pkl`);
    }
    const record = `${prefix}/${key}`;
    if (!buffers.has(key)) buffers.set(key, aligned(reader.payload(record)));
    const bytes = buffers.get(key);
    const { dtype } = type;
    if (count < 0n || Number(count) * dtype.bytes > bytes.length) {
      throw new ArchiveError(`${count} elements of ${dtype.name} do not fit its ${bytes.length} bytes`, record);
    }
    const name = `${key} ${dtype.name}`;
    if (!boxes.has(name)) {
      const array = new dtype.array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / dtype.bytes));
      boxes.set(name, { array, dtype });
    }
    return boxes.get(name);
  };
}

/** The bytes themselves where any typed array can begin there, otherwise a copy. */
const aligned = (bytes) => (bytes.byteOffset % 8 === 0 ? bytes : bytes.slice());

function rebuildTensor([storage, offset, sizes, strides, requiresGrad]) {
  const fail = (why) => {
    throw new ArchiveError(`damaged pickle: a tensor ${why}`);
  };
  const lists = [sizes, strides].every((list) => Array.isArray(list) && list.every((n) => typeof n === "bigint" && n >= 0n));
  if (!storage || !storage.array || typeof offset !== "bigint" || offset < 0n || !lists || sizes.length !== strides.length)
    fail("is described wrongly");
  const [n, s, first] = [Array.from(sizes, Number), Array.from(strides, Number), Number(offset)];
  const last = numel(n) === 0 ? -1 : n.reduce((at, size, d) => at + (size - 1) * s[d], first);
  if (last >= storage.array.length || numel(n) > Number.MAX_SAFE_INTEGER)
    fail(`of sizes [${n}] reaches beyond its storage`);
  const t = new Tensor(storage, storage.dtype, n, s, first);
  t.requiresGrad = requiresGrad === true;
  return t;
}

module.exports = { findGlobal, storageLoader };
