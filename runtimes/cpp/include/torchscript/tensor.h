// Tensors: sizes and strides over a storage that may be shared.
//
// A `Storage` is bytes with an owner: memory of its own, or a piece of a mapped file. A `Tensor` is a handle to a `TensorImpl`,
// which says how to look at the bytes: element [i, j] lies at storage_offset + i * strides[0] + j * strides[1]. Views are
// tensors over the same storage, so a write through one is seen by all. It mirrors c10/core/TensorImpl.h and StorageImpl.h.
//
// How the real one differs: the counts of references live in the objects (intrusive_ptr), sizes up to five dimensions lie
// inline, and a tensor carries its dispatch keys, version counter and autograd node.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "dtype.h"
#include "integers.h"
#include "mapped_file.h"

namespace torchscript {

using Sizes = std::vector<std::int64_t>;

// The number of elements. Sizes may come from a damaged file, so neither it nor strides made of them may overflow.
inline std::int64_t product(const Sizes& sizes) {
  std::int64_t n = 1;
  bool empty = false;
  for (const auto size : sizes) {
    check(size >= 0, "a size is negative: ", size);
    check(size == 0 || n <= (std::int64_t(1) << 46) / size, "a tensor of so many elements cannot be");
    n *= std::max<std::int64_t>(size, 1);
    empty = empty || size == 0;
  }
  return empty ? 0 : n;
}

inline Sizes contiguous_strides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(sizes[i], 1);
  return strides;
}

inline std::string to_string(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

struct Storage {
  std::uint8_t* data = nullptr;
  std::int64_t nbytes = 0;
  std::shared_ptr<void> owner;

  explicit Storage(Bytes bytes) : data(bytes.data), nbytes(std::int64_t(bytes.size)), owner(std::move(bytes.owner)) {}
  explicit Storage(std::int64_t n) : nbytes(n) {
    constexpr std::align_val_t alignment{64};
    data = static_cast<std::uint8_t*>(::operator new(room_for(n), alignment, std::nothrow));
    check(data != nullptr, "there is no memory for a tensor of ", n, " bytes");
    owner = std::shared_ptr<void>(data, [](void* p) { ::operator delete(p, alignment); });
  }
};

struct TensorImpl {
  std::shared_ptr<Storage> storage;
  Sizes sizes, strides;
  std::int64_t offset = 0, numel = 0;
  Dtype dtype = Dtype::float32;
  bool requires_grad = false;
  bool wrapped_number = false;  // made from a Python number: counts like one when types are promoted
};

class Tensor {
 public:
  Tensor() = default;

  // A tensor that looks at a storage. Whatever view an operator computes, this is where every element it can reach must lie
  // inside, and whatever the computation overflowed to is found out.
  Tensor(std::shared_ptr<Storage> storage, Sizes sizes, Sizes strides, std::int64_t offset, Dtype dtype) {
    impl_ = std::make_shared<TensorImpl>();
    impl_->numel = product(sizes);
    check(sizes.size() == strides.size(), "sizes and strides of different length");
    check(sizes.size() <= 64, "a tensor of ", sizes.size(), " dimensions; 64 are the most");
    check(offset >= 0, "a negative storage offset");
    const std::int64_t room = storage->nbytes / element_size(dtype);
    std::int64_t last = offset;
    for (std::size_t i = 0; i < sizes.size() && impl_->numel > 0; ++i) {
      if (sizes[i] == 1 || strides[i] == 0) continue;
      check(strides[i] > 0, "a negative stride");
      check(sizes[i] - 1 <= room / strides[i], "a tensor reaches outside its storage");
      last += (sizes[i] - 1) * strides[i];
      check(last < room, "a tensor reaches outside its storage");
    }
    check(impl_->numel == 0 || last < room, "a tensor reaches outside its storage");
    impl_->storage = std::move(storage);
    impl_->sizes = std::move(sizes);
    impl_->strides = std::move(strides);
    impl_->offset = offset;
    impl_->dtype = dtype;
  }

  static Tensor empty(const Sizes& sizes, Dtype dtype = Dtype::float32) {
    auto storage = std::make_shared<Storage>(product(sizes) * element_size(dtype));
    return {std::move(storage), sizes, contiguous_strides(sizes), 0, dtype};
  }

  bool defined() const { return impl_ != nullptr; }
  bool is(const Tensor& other) const { return impl_ == other.impl_; }
  Dtype dtype() const { return impl_->dtype; }
  const Sizes& sizes() const { return impl_->sizes; }
  const Sizes& strides() const { return impl_->strides; }
  std::int64_t storage_offset() const { return impl_->offset; }
  const std::shared_ptr<Storage>& storage() const { return impl_->storage; }
  std::int64_t numel() const { return impl_->numel; }
  std::int64_t dim() const { return std::int64_t(impl_->sizes.size()); }
  bool requires_grad() const { return impl_->requires_grad; }
  void set_requires_grad(bool value) { impl_->requires_grad = value; }
  bool is_wrapped_number() const { return impl_->wrapped_number; }
  void set_wrapped_number(bool value) { impl_->wrapped_number = value; }

  // Dimensions count from the end when negative; a tensor without dimensions takes 0 and -1 too.
  std::int64_t wrap(std::int64_t d, std::int64_t extra = 0) const {
    const std::int64_t n = std::max<std::int64_t>(dim() + extra, 1);
    check(-n <= d && d < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", d,
          ")");
    return d < 0 ? d + n : d;
  }
  std::int64_t size(std::int64_t d) const {
    check(dim() > 0, "Dimension specified as ", d, " but tensor has no dimensions");
    return impl_->sizes[std::size_t(wrap(d))];
  }
  std::int64_t stride(std::int64_t d) const {
    check(dim() > 0, "Dimension specified as ", d, " but tensor has no dimensions");
    return impl_->strides[std::size_t(wrap(d))];
  }

  bool is_contiguous() const {
    std::int64_t expected = 1;
    for (std::size_t i = sizes().size(); i-- > 0;) {
      if (sizes()[i] != 1 && strides()[i] != expected) return numel() == 0;
      expected *= sizes()[i];
    }
    return true;
  }

  // The first element.
  template <class T>
  T* data() const {
    check(dtype() == dtype_of<T>, "expected a tensor of ", name_of(dtype_of<T>), " but found ", name_of(dtype()));
    return reinterpret_cast<T*>(impl_->storage->data) + (numel() == 0 ? 0 : impl_->offset);
  }

  Tensor view_as(Sizes new_sizes, Sizes new_strides, std::int64_t offset) const {
    return {impl_->storage, std::move(new_sizes), std::move(new_strides), offset, impl_->dtype};
  }
  Tensor view_as(Sizes new_sizes, Sizes new_strides) const {
    return view_as(std::move(new_sizes), std::move(new_strides), impl_->offset);
  }

 private:
  std::shared_ptr<TensorImpl> impl_;
};

}  // namespace torchscript
