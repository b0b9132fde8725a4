/**
 * Decompression of deflated records, RFC 1951 (PyTorch leaves it to miniz, `third_party/miniz`).
 *
 * A deflate stream is a sequence of blocks: stored as they are, or Huffman-coded with a fixed or a transmitted code. Symbols up to
 * 255 are bytes, 256 ends the block, larger ones say "copy LENGTH bytes from DISTANCE back". The output never grows beyond the size
 * that the archive declares, which stops decompression bombs.
 *
 * How the real one differs: table-driven decoding of several bits at a time; here a code is read bit by bit, after Mark Adler's puff.
 */
"use strict";

const { ArchiveError } = require("../errors");

const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289,
  16385, 24577,
];
const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const MOST_EXPANSION = 1032; // deflate cannot do better than 258 bytes from 2 bits

/**
 * @param {Uint8Array} input  the deflated bytes
 * @param {number} size  of the result, as declared
 * @param {string} record  for errors
 * @returns {Uint8Array}
 */
function inflate(input, size, record) {
  if (size > input.length * MOST_EXPANSION + 64)
    throw new ArchiveError(`${input.length} bytes cannot hold ${size} deflated ones`, record);
  const out = new Uint8Array(size);
  const bits = new BitReader(input, record);
  let at = 0;
  for (let last = 0; !last;) {
    last = bits.take(1);
    const kind = bits.take(2);
    if (kind === 0) {
      const bytes = bits.stored();
      if (at + bytes.length > size) throw new ArchiveError("more data than declared", record);
      out.set(bytes, at);
      at += bytes.length;
    } else if (kind === 3) {
      throw new ArchiveError("unknown kind of deflate block", record);
    } else {
      const [symbols, distances] = kind === 1 ? fixedCodes() : transmittedCodes(bits, record);
      at = block(bits, symbols, distances, out, at, record);
    }
  }
  if (at !== size) throw new ArchiveError(`${size} bytes were declared, ${at} came out`, record);
  return out;
}

/** One Huffman-coded block; returns where the output now ends. */
function block(bits, symbols, distances, out, start, record) {
  let at = start;
  for (;;) {
    const symbol = bits.symbol(symbols);
    if (symbol === 256) return at;
    if (symbol < 256) {
      if (at >= out.length) throw new ArchiveError("more data than declared", record);
      out[at++] = symbol;
      continue;
    }
    const l = symbol - 257;
    if (l >= LENGTH_BASE.length) throw new ArchiveError("invalid length in deflated data", record);
    const length = LENGTH_BASE[l] + bits.take(LENGTH_BITS[l]);
    const d = bits.symbol(distances);
    if (d >= DISTANCE_BASE.length) throw new ArchiveError("invalid distance in deflated data", record);
    const distance = DISTANCE_BASE[d] + bits.take(DISTANCE_BITS[d]);
    if (distance > at) throw new ArchiveError("a copy from before the beginning", record);
    if (at + length > out.length) throw new ArchiveError("more data than declared", record);
    for (const end = at + length; at < end; at++) out[at] = out[at - distance]; // may overlap: runs
  }
}

class BitReader {
  constructor(bytes, record) {
    this.bytes = bytes;
    this.record = record;
    this.at = 0;
    this.buffer = 0;
    this.count = 0;
  }

  /** The next `n` bits, least significant first. */
  take(n) {
    while (this.count < n) {
      if (this.at >= this.bytes.length) throw new ArchiveError("deflated data ends too early", this.record);
      this.buffer |= this.bytes[this.at++] << this.count;
      this.count += 8;
    }
    const value = this.buffer & ((1 << n) - 1);
    this.buffer >>>= n;
    this.count -= n;
    return value;
  }

  /** A block of plain bytes: its length, the complement of its length, the bytes. */
  stored() {
    this.buffer = this.count = 0;
    const length = this.take(16);
    if (this.take(16) !== (~length & 0xffff)) throw new ArchiveError("the length of a stored block is damaged", this.record);
    if (this.at + length > this.bytes.length) throw new ArchiveError("deflated data ends too early", this.record);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** The next symbol of a canonical Huffman code. */
  symbol(code) {
    let value = 0;
    let first = 0; // first code of this length
    let index = 0; // of the first symbol of this length
    for (let length = 1; length <= 15; length++) {
      value |= this.take(1);
      const count = code.counts[length];
      if (value - first < count) return code.symbols[index + value - first];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new ArchiveError("invalid code in deflated data", this.record);
  }
}

/** A canonical code: shorter codes first, and among equally long ones smaller symbols first. */
function huffman(lengths, record) {
  const counts = new Uint16Array(16);
  for (const n of lengths) counts[n]++;
  const starts = new Uint16Array(17);
  let room = 1;
  for (let n = 1; n <= 15; n++) {
    room = room * 2 - counts[n];
    if (room < 0) throw new ArchiveError("an impossible Huffman code", record);
    starts[n + 1] = starts[n] + counts[n];
  }
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((n, symbol) => {
    if (n) symbols[starts[n]++] = symbol;
  });
  counts[0] = 0;
  return { counts, symbols };
}

let fixed = null;

function fixedCodes() {
  if (!fixed) {
    const lengths = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
    fixed = [huffman(lengths), huffman(new Array(30).fill(5))];
  }
  return fixed;
}

/** The two codes at the head of a dynamic block, themselves Huffman-coded with runs. */
function transmittedCodes(bits, record) {
  const literals = bits.take(5) + 257;
  const distances = bits.take(5) + 1;
  const lengths = new Array(19).fill(0);
  for (let i = 0, n = bits.take(4) + 4; i < n; i++) lengths[CODE_LENGTH_ORDER[i]] = bits.take(3);
  const code = huffman(lengths, record);
  const all = [];
  while (all.length < literals + distances) {
    const symbol = bits.symbol(code);
    if (symbol < 16) {
      all.push(symbol);
      continue;
    }
    if (symbol === 16 && !all.length) throw new ArchiveError("a repetition of nothing", record);
    const value = symbol === 16 ? all[all.length - 1] : 0;
    let n = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    while (n--) all.push(value);
  }
  if (all.length > literals + distances) throw new ArchiveError("too many code lengths", record);
  return [huffman(all.slice(0, literals), record), huffman(all.slice(literals), record)];
}

module.exports = { inflate };
