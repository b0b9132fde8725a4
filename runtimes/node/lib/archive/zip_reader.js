/**
 * The container: a zip file whose records all lie in one top folder (`caffe2/serialize/inline_container.cc`).
 *
 * A zip is read from its end: the end record says where the central directory lies, and that lists every record with its size, its
 * checksum and where its local header is. PyTorch aligns payloads to 64 bytes, so a stored tensor is a view on the file's memory.
 *
 * How the real one differs: miniz does this part; several readers can share one archive; records can be read in chunks.
 */
"use strict";

const { ArchiveError } = require("../errors");
const { inflate } = require("./inflate");

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;

class ArchiveReader {
  /** @param {ArrayBuffer|Uint8Array} source  the whole file */
  constructor(source, name = "archive") {
    // A view of our own: in Node, `slice` of a Buffer would not copy.
    this.bytes =
      source instanceof Uint8Array ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    this.name = name;
    /** @type {Map<string, {name: string, size: number, compressed: number, method: number, crc: number, header: number}>} */
    this.records = new Map();
    this.top = "";
    this.readDirectory();
  }

  has(name) {
    return this.records.has(name);
  }

  record(name) {
    const record = this.records.get(name);
    if (!record) throw new ArchiveError(`PytorchStreamReader failed locating file ${name}: file not found`, name);
    return record;
  }

  /** The bytes of a record, inflated; the checksum is checked. */
  read(name) {
    const bytes = this.payload(name);
    if (crc32(bytes) !== this.record(name).crc) throw new ArchiveError("checksum does not match", name);
    return bytes;
  }

  /** The bytes of a record without a look at the checksum: a view on the file where the record is stored uncompressed. */
  payload(name) {
    const record = this.record(name);
    const start = this.payloadOffset(record);
    const bytes = this.bytes.subarray(start, start + record.compressed);
    if (record.method === 8) return inflate(bytes, record.size, name);
    if (record.method !== 0) throw new ArchiveError(`compression method ${record.method} is not known`, name);
    if (record.size !== record.compressed) throw new ArchiveError("a stored record with two different sizes", name);
    return bytes;
  }

  text(name) {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(this.read(name));
    } catch (e) {
      throw e instanceof ArchiveError ? e : new ArchiveError("is not UTF-8 text", name);
    }
  }

  readDirectory() {
    const { entries, offset } = this.end();
    for (let i = 0, at = offset; i < entries; i++) {
      if (at + 46 > this.bytes.length || this.view.getUint32(at, true) !== CENTRAL)
        this.refuse("the central directory is damaged");
      at = this.readEntry(at);
    }
    if (!this.records.size) this.refuse("it has no records");
    this.checkInflation();
  }

  /** Records that are read into memory may not be much larger than the file; nor may many records be the same bytes of it. */
  checkInflation() {
    const allowed = 8 * this.bytes.length + 2 ** 24;
    let [inflated, stored] = [0, 0];
    for (const { name, method, size, compressed } of this.records.values()) {
      stored += compressed;
      if (stored > this.bytes.length) throw new ArchiveError("overlaps with another", name);
      if (method !== 0) inflated += size;
      if (inflated > allowed) {
        throw new ArchiveError(
          `its records would inflate to more than ${allowed} bytes (8 times the file and 16 MiB): a compression bomb; if it is not, store its records uncompressed`,
          name,
        );
      }
    }
  }

  readEntry(at) {
    const { view } = this;
    const nameLength = view.getUint16(at + 28, true);
    const extraLength = view.getUint16(at + 30, true);
    const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
    if (next > this.bytes.length) this.refuse("the central directory is cut off");
    const full = new TextDecoder().decode(this.bytes.subarray(at + 46, at + 46 + nameLength));
    const slash = full.indexOf("/");
    if (slash < 0) this.refuse(`file in archive is not in a subdirectory: ${full}`);
    if (!this.top) this.top = full.slice(0, slash);
    const record = {
      name: full.slice(slash + 1),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      compressed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      header: view.getUint32(at + 42, true),
    };
    if (view.getUint16(at + 8, true) & 1) throw new ArchiveError("is encrypted", record.name);
    this.wide(record, at + 46 + nameLength, extraLength);
    if (full.slice(0, slash) === this.top) this.records.set(record.name, record);
    return next;
  }

  /** Zip64: fields that say 0xffffffff are 64 bits wide in the extra data. */
  wide(record, start, length) {
    const { view } = this;
    for (let at = start; at + 4 <= start + length; at += 4 + view.getUint16(at + 2, true)) {
      if (view.getUint16(at, true) !== 1) continue;
      let field = at + 4;
      for (const key of ["size", "compressed", "header"]) {
        if (record[key] !== 0xffffffff) continue;
        if (field + 8 > start + length) throw new ArchiveError("a zip64 field is cut off", record.name);
        record[key] = Number(view.getBigUint64(field, true));
        field += 8;
      }
    }
  }

  payloadOffset(record) {
    const { view, bytes } = this;
    const at = record.header;
    if (at + 30 > bytes.length || view.getUint32(at, true) !== LOCAL) throw new ArchiveError("has no local header", record.name);
    const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
    if (start + record.compressed > bytes.length) throw new ArchiveError("reaches beyond the end of the file", record.name);
    return start;
  }

  /** Where the central directory is, from the end record, which a comment of up to 65535 bytes may follow. */
  end() {
    const { view, bytes } = this;
    let at = bytes.length - 22;
    for (const stop = Math.max(0, at - 0xffff); at >= stop && view.getUint32(at, true) !== END;) at--;
    if (at < 0 || view.getUint32(at, true) !== END) {
      this.refuse("PytorchStreamReader failed reading zip archive: not a ZIP archive");
    }
    const entries = view.getUint16(at + 10, true);
    const offset = view.getUint32(at + 16, true);
    if (entries !== 0xffff && offset !== 0xffffffff) return { entries, offset };
    if (at < 20 || view.getUint32(at - 20, true) !== LOCATOR64) return { entries, offset };
    const at64 = Number(view.getBigUint64(at - 12, true));
    if (at64 + 56 > bytes.length || view.getUint32(at64, true) !== END64) this.refuse("its zip64 end record is damaged");
    return { entries: Number(view.getBigUint64(at64 + 32, true)), offset: Number(view.getBigUint64(at64 + 48, true)) };
  }

  refuse(why) {
    throw new ArchiveError(`${this.name}: ${why}`);
  }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c >>> 0;
});

/** The checksum of zip files. */
function crc32(bytes) {
  let c = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) c = CRC_TABLE[(c ^ bytes[i]) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

module.exports = { ArchiveReader, crc32 };
