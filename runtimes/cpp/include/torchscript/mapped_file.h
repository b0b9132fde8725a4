// A file as a run of bytes, without reading it.
//
// `mmap` asks the operating system to let a file appear in memory: pages are fetched when they are first touched, so opening
// a model costs the same whatever its size. The mapping is private: writing to a weight changes a copy of its page and never
// the file. Where there is no mmap the file is read. It mirrors caffe2/serialize/file_adapter.cc with at/MapAllocator.cpp.
//
// How the real one differs: torch.jit.load reads tensors by default; torch.load(mmap=True) maps them as here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "error.h"

#if defined(__unix__) || defined(__APPLE__)
#define TORCHSCRIPT_HAS_MMAP 1
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace torchscript {

// The bytes live as long as `owner` does; tensors in the archive keep a share of it.
struct Bytes {
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<void> owner;
};

inline Bytes own_bytes(std::vector<std::uint8_t> content) {
  auto owner = std::make_shared<std::vector<std::uint8_t>>(std::move(content));
  return {owner->data(), owner->size(), owner};
}

inline Bytes read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(bool(file), "cannot open ", path);
  return own_bytes({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

inline Bytes map_file(const std::string& path) {
#ifdef TORCHSCRIPT_HAS_MMAP
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  check(descriptor >= 0, "cannot open ", path);
  struct stat status{};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  const auto size = regular ? static_cast<std::size_t>(status.st_size) : 0;
  void* memory = regular ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);  // the mapping stays
  if (memory != MAP_FAILED) {
    return {static_cast<std::uint8_t*>(memory), size,
            std::shared_ptr<void>(memory, [size](void* p) { ::munmap(p, size); })};
  }
#endif
  return read_whole_file(path);
}

}  // namespace torchscript
