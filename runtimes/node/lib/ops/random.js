/**
 * Random numbers (`aten/src/ATen/CPUGeneratorImpl.h`).
 *
 * A small generator with a seed, xorshift128+, so that a run can be repeated.
 *
 * How the real one differs: it is the Mersenne Twister, so the same seed gives other numbers there.
 */
"use strict";

const { Tensor } = require("../tensor/tensor");
const dt = require("../tensor/dtype");
const { op, scalarOp } = require("../script/operators");
const { numel } = require("../tensor/geometry");

class Random {
  constructor(seed = 0) {
    this.seed(seed);
  }

  seed(seed) {
    this.a = BigInt.asUintN(64, BigInt(seed) * 0x9e3779b97f4a7c15n + 0x2545f4914f6cdd1dn) || 1n;
    this.b = BigInt.asUintN(64, this.a * 0xbf58476d1ce4e5b9n + 1n);
    for (let i = 0; i < 16; i++) this.next();
  }

  next() {
    let x = this.a;
    const y = this.b;
    this.a = y;
    x ^= BigInt.asUintN(64, x << 23n);
    this.b = x ^ y ^ (x >> 17n) ^ (y >> 26n);
    return BigInt.asUintN(64, this.b + y);
  }

  /** In [0, 1), with 53 random bits. */
  uniform() {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  /** From the normal distribution, by Box and Muller. */
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}

const random = new Random();

/** A tensor whose elements are drawn one by one. */
function drawn(sizes, dtype, draw) {
  const t = Tensor.zeros(sizes, dtype || dt.float32);
  const array = t.storage.array;
  for (let i = 0, n = numel(sizes); i < n; i++) array[i] = draw();
  return t;
}

const OPTIONS = "*, ScalarType? dtype=None, int? layout=None, Device? device=None, bool? pin_memory=None";
op(`rand(int[] size, ${OPTIONS})`, (size, dtype) => drawn(size, dtype, () => random.uniform()));
op(`randn(int[] size, ${OPTIONS})`, (size, dtype) => drawn(size, dtype, () => random.normal()));
op(`rand_like(Tensor self, ${OPTIONS}, int? memory_format=None)`, (t, dtype) =>
  drawn(t.sizes, dtype || t.dtype, () => random.uniform()),
);
op(`randn_like(Tensor self, ${OPTIONS}, int? memory_format=None)`, (t, dtype) =>
  drawn(t.sizes, dtype || t.dtype, () => random.normal()),
);
op(`randint(int high, int[] size, ${OPTIONS})`, (high, size, dtype) => integers(0, high, size, dtype));
op(`randint(int low, int high, int[] size, ${OPTIONS})`, integers);
scalarOp("manual_seed(int seed)", (seed) => random.seed(seed) || null);

function integers(low, high, size, dtype) {
  const type = dtype || dt.int64;
  const draw = () => low + Math.floor(random.uniform() * (high - low));
  return drawn(size, type, type === dt.int64 ? () => BigInt(draw()) : draw);
}

module.exports = { random, drawn };
