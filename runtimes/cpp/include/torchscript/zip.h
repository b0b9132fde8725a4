// The container: a zip file, read from its end.
//
// At the end of a zip file stands a table, the central directory, with one entry per record: its name, its length, how it is
// stored and where. PyTorch's archives have all records in one top folder, and tensors start at multiples of 64 bytes, so
// that a weight can be used where it lies. It mirrors caffe2/serialize/inline_container.cc.
//
// How the real one differs: it leaves the zip format to miniz, and looks a record up in the directory each time it is asked.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "inflate.h"
#include "mapped_file.h"

namespace torchscript {

struct Record {
  std::uint64_t header_offset = 0, compressed_size = 0, size = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0;
};

class Archive {
 public:
  Archive(Bytes file, std::string name) : file_(std::move(file)), name_(std::move(name)) { read_directory(); }
  static Archive open(const std::string& path) { return {map_file(path), path}; }

  const std::string& name() const { return name_; }
  std::size_t size() const { return file_.size; }
  bool has(const std::string& record) const { return records_.count(record) != 0; }
  const std::map<std::string, Record>& records() const {
    return records_;
  }  // without the top folder: "data.pkl", "data/0"

  // The content of a record: a view of the file where it is stored, memory of its own where it is deflated.
  Bytes read(const std::string& record) const {
    const auto found = records_.find(record);
    if (found == records_.end()) fail(name_, ": failed locating file ", record, ": file not found");
    try {
      return read(found->second);
    } catch (const Error& error) {
      fail(name_, ": record ", record, ": ", error.what());
    }
  }

  // The same with its checksum verified, which touches every byte: for code and pickles, not for weights.
  Bytes read_checked(const std::string& record) const {
    Bytes bytes = read(record);
    check(crc32(bytes.data, bytes.size) == records_.at(record).crc32, name_, ": record ", record,
          ": checksum does not match");
    return bytes;
  }

  std::string text(const std::string& record) const {
    const Bytes bytes = read_checked(record);
    return {reinterpret_cast<const char*>(bytes.data), bytes.size};
  }

 private:
  // Little-endian numbers, never outside the file.
  std::uint64_t number(std::uint64_t at, int n) const {
    check(at <= file_.size && file_.size - at >= std::uint64_t(n), "ends too early");
    std::uint64_t value = 0;
    for (int i = n; i-- > 0;) value = value << 8 | file_.data[at + std::uint64_t(i)];
    return value;
  }

  void read_directory() {
    try {
      std::uint64_t entries = 0, at = 0;
      find_directory(entries, at);
      for (std::uint64_t i = 0; i < entries; ++i) at = read_entry(at, i == 0);
      check(!records_.empty(), "no records");
      check_inflation();
    } catch (const Error& error) {
      fail(name_, ": not a readable zip archive: ", error.what());
    }
  }

  // Records that are read into memory may not be much larger than the file; nor may many records be the same bytes of it.
  void check_inflation() const {
    std::uint64_t inflated = 0, stored = 0;
    const std::uint64_t allowed = 8 * file_.size + (1 << 24);
    for (const auto& [name, record] : records_) {
      check(record.compressed_size <= file_.size - stored, "record ", name, " overlaps with another");
      stored += record.compressed_size;
      if (record.method == 0) continue;
      check(record.size <= allowed - inflated, "its records would inflate to more than ", allowed,
            " bytes (8 times the file and 16 MiB): a compression bomb; if it is not, store its records uncompressed");
      inflated += record.size;
    }
  }

  void find_directory(std::uint64_t& entries, std::uint64_t& at) const {
    check(file_.size >= 22, "too short");
    std::uint64_t end = file_.size - 22;
    const std::uint64_t first = end > 0xffff ? end - 0xffff : 0;  // a comment may follow
    while (number(end, 4) != 0x06054b50) check(end-- > first, "no end of central directory");
    entries = number(end + 10, 2);
    at = number(end + 16, 4);
    if ((at == 0xffffffff || entries == 0xffff) && end >= 20 && number(end - 20, 4) == 0x07064b50) {
      const std::uint64_t end64 = number(end - 12, 8);
      check(number(end64, 4) == 0x06064b50, "damaged zip64 directory");
      entries = number(end64 + 32, 8);
      at = number(end64 + 48, 8);
    }
    check(entries <= file_.size / 46, "more entries than there is room for");
  }

  std::uint64_t read_entry(std::uint64_t at, bool is_first) {
    check(number(at, 4) == 0x02014b50, "damaged central directory");
    check((number(at + 8, 2) & 1) == 0, "encrypted records cannot be read");
    Record record;
    record.method = std::uint16_t(number(at + 10, 2));
    record.crc32 = std::uint32_t(number(at + 16, 4));
    record.compressed_size = number(at + 20, 4);
    record.size = number(at + 24, 4);
    const std::uint64_t name_size = number(at + 28, 2), extra_size = number(at + 30, 2),
                        comment_size = number(at + 32, 2);
    record.header_offset = number(at + 42, 4);
    const std::uint64_t name_at = at + 46, extra_at = name_at + name_size, end = extra_at + extra_size + comment_size;
    check(end <= file_.size, "ends too early");
    read_zip64(record, extra_at, extra_at + extra_size);
    const std::string full(reinterpret_cast<const char*>(file_.data + name_at), name_size);
    const auto slash = full.find('/');
    check(slash != std::string::npos, "file in archive is not in a subdirectory: ", full);
    if (is_first) top_ = full.substr(0, slash);
    check(full.compare(0, slash, top_) == 0, "records are not in one folder: ", full);
    check(records_.emplace(full.substr(slash + 1), record).second, "two records are named ", full);
    return end;
  }

  // Fields that do not fit into 32 bits are written as all ones, and in full in an extra field.
  void read_zip64(Record& record, std::uint64_t at, std::uint64_t end) const {
    while (at + 4 <= end) {
      const std::uint64_t id = number(at, 2), next = at + 4 + number(at + 2, 2);
      if (id == 1) {
        at += 4;
        for (std::uint64_t* field : {&record.size, &record.compressed_size, &record.header_offset})
          if (*field == 0xffffffff) *field = number(at, 8), at += 8;
      }
      at = next;
    }
  }

  Bytes read(const Record& record) const {
    const std::uint64_t header = record.header_offset;
    check(number(header, 4) == 0x04034b50, "damaged local header");
    const std::uint64_t at = header + 30 + number(header + 26, 2) + number(header + 28, 2);
    check(at <= file_.size && record.compressed_size <= file_.size - at, "lies outside the file");
    if (record.method == 0) {
      check(record.size == record.compressed_size, "stored with two different sizes");
      return {file_.data + at, std::size_t(record.size), file_.owner};
    }
    check(record.method == 8, "compressed by method ", record.method, ", which is not read here");
    return own_bytes(Inflater(file_.data + at, std::size_t(record.compressed_size)).run(std::size_t(record.size)));
  }

  static std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    static const auto table = [] {
      std::array<std::uint32_t, 256> entries{};
      for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t c = i;
        for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
        entries[i] = c;
      }
      return entries;
    }();
    std::uint32_t c = 0xffffffff;
    for (std::size_t i = 0; i < size; ++i) c = table[(c ^ data[i]) & 0xff] ^ c >> 8;
    return ~c;
  }

  Bytes file_;
  std::string name_, top_;
  std::map<std::string, Record> records_;
};

}  // namespace torchscript
