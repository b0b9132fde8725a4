// Undoing "deflate", the compression of zip files (RFC 1951), by hand.
//
// A deflated stream is a string of bits, read from the low end of each byte. Each block says how its symbols are coded: not
// at all, by a fixed Huffman code, or by one written in front of it. A symbol below 256 is a byte; 256 ends the block; the
// rest say "copy LENGTH bytes from DISTANCE back". torch.jit.save deflates only the code of a model, so no library is needed.
// It mirrors mz_inflate in third_party/miniz.
//
// How the real one differs: miniz decodes by tables, many bits at a time; here one bit follows the other down the code.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "error.h"

namespace torchscript {

class Inflater {
 public:
  Inflater(const std::uint8_t* data, std::size_t size) : data_(data), bits_(std::uint64_t(size) * 8) {}

  // The original bytes, which must be exactly `size` many: a small record cannot grow without end.
  std::vector<std::uint8_t> run(std::size_t size) {
    limit_ = size;
    bool last = false;
    while (!last) {
      last = take(1) != 0;
      switch (take(2)) {
        case 0: copy_stored_block(); break;
        case 1: decode_block(fixed_literals(), fixed_distances()); break;
        case 2: decode_described_block(); break;
        default: fail("deflated data has a block of unknown kind");
      }
    }
    check(out_.size() == limit_, "deflated data has ", out_.size(), " bytes instead of ", limit_);
    return std::move(out_);
  }

 private:
  // A Huffman code: how many codes there are of each length, and the symbols in the order of their codes.
  struct Code {
    std::array<int, 16> count{};
    std::vector<int> symbols;

    Code(const int* lengths, int n) {
      for (int i = 0; i < n; ++i) ++count[static_cast<std::size_t>(lengths[i])];
      count[0] = 0;
      for (int length = 1; length < 16; ++length)
        for (int i = 0; i < n; ++i)
          if (lengths[i] == length) symbols.push_back(i);
      int room = 1;
      for (std::size_t length = 1; length < 16; ++length) {
        room = room * 2 - count[length];
        check(room >= 0, "deflated data has an impossible code");
      }
    }
  };

  std::uint32_t take(int n) {
    std::uint32_t value = 0;
    for (int i = 0; i < n; ++i) {
      check(at_ < bits_, "deflated data ends too early");
      value |= std::uint32_t(data_[at_ / 8] >> (at_ % 8) & 1) << i;
      ++at_;
    }
    return value;
  }

  // Codes of one length are consecutive numbers: walk down until the number falls among those of its length.
  int symbol(const Code& code) {
    int value = 0, first = 0, index = 0;
    for (std::size_t length = 1; length < 16; ++length) {
      value |= int(take(1));
      const int n = code.count[length];
      if (value - first < n) return code.symbols[static_cast<std::size_t>(index + value - first)];
      index += n;
      first = (first + n) * 2;
      value *= 2;
    }
    fail("deflated data has a code that means nothing");
  }

  void put(std::uint8_t byte) {
    check(out_.size() < limit_, "deflated data is longer than the ", limit_, " bytes it declares");
    out_.push_back(byte);
  }

  void copy_stored_block() {
    at_ = (at_ + 7) / 8 * 8;
    const auto length = take(16), complement = take(16);
    check((length ^ complement) == 0xffff, "deflated data has a damaged stored block");
    for (std::uint32_t i = 0; i < length; ++i) put(std::uint8_t(take(8)));
  }

  void decode_described_block() {
    const int literals = int(take(5)) + 257, distances = int(take(5)) + 1, described = int(take(4)) + 4;
    static constexpr int order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    int meta[19] = {};
    for (int i = 0; i < described; ++i) meta[order[i]] = int(take(3));
    const Code meta_code(meta, 19);
    int lengths[320] = {};
    for (int i = 0; i < literals + distances;) {
      const int s = symbol(meta_code);
      int repeat = 1, length = s;
      if (s == 16)
        check(i > 0, "deflated data repeats a length before the first"), length = lengths[i - 1],
                                                                         repeat = int(take(2)) + 3;
      if (s == 17) length = 0, repeat = int(take(3)) + 3;
      if (s == 18) length = 0, repeat = int(take(7)) + 11;
      check(i + repeat <= literals + distances, "deflated data has too many code lengths");
      while (repeat-- > 0) lengths[i++] = length;
    }
    decode_block(Code(lengths, literals), Code(lengths + literals, distances));
  }

  void decode_block(const Code& literals, const Code& distances) {
    static constexpr int length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                            31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr int length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr int distance_base[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                              33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                              1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (;;) {
      const int s = symbol(literals);
      if (s == 256) return;
      if (s < 256) {
        put(std::uint8_t(s));
        continue;
      }
      check(s < 286, "deflated data has a length that means nothing");
      const int length = length_base[s - 257] + int(take(length_bits[s - 257]));
      const int d = symbol(distances);
      check(d < 30, "deflated data has a distance that means nothing");
      const auto distance = static_cast<std::size_t>(distance_base[d]) + take(d < 2 ? 0 : d / 2 - 1);
      check(distance <= out_.size(), "deflated data points before its beginning");
      for (int i = 0; i < length; ++i) put(out_[out_.size() - distance]);
    }
  }

  static const Code& fixed_literals() {
    static const Code code = [] {
      int lengths[288];
      for (int i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
      return Code(lengths, 288);
    }();
    return code;
  }

  static const Code& fixed_distances() {
    static const Code code = [] {
      int lengths[30];
      for (int& length : lengths) length = 5;
      return Code(lengths, 30);
    }();
    return code;
  }

  const std::uint8_t* data_;
  std::uint64_t bits_, at_ = 0;
  std::size_t limit_ = 0;
  std::vector<std::uint8_t> out_;
};

}  // namespace torchscript
