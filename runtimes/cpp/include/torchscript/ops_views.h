// Operators on shapes: views, and those that join or repeat tensors.
//
// It mirrors aten/src/ATen/native/TensorShape.cpp.
//
// How the real one differs: each is also differentiable, and sizes may be symbols while a graph is traced.
#pragma once

#include "pointwise.h"
#include "views.h"

namespace torchscript {

inline Tensor cat(std::vector<Tensor> tensors, std::int64_t d) {
  check(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  if (tensors.size() > 1) {  // empty tensors with one dimension are left out, for old times' sake
    const auto skipped = [](const Tensor& t) { return t.dim() == 1 && t.numel() == 0; };
    const Tensor first = tensors[0];
    tensors.erase(std::remove_if(tensors.begin(), tensors.end(), skipped), tensors.end());
    if (tensors.empty()) return first;
  }
  const std::int64_t at = tensors[0].wrap(d);
  Sizes sizes = tensors[0].sizes();
  check(!sizes.empty(), "zero-dimensional tensor (at position 0) cannot be concatenated");
  Dtype dtype = tensors[0].dtype();
  sizes[std::size_t(at)] = 0;
  for (const Tensor& t : tensors) {
    check(t.dim() == std::int64_t(sizes.size()), "Tensors must have same number of dimensions: got ", sizes.size(),
          " and ", t.dim());
    for (std::size_t i = 0; i < sizes.size(); ++i)
      check(std::int64_t(i) == at || t.sizes()[i] == sizes[i], "Sizes of tensors must match except in dimension ", at,
            ". Expected size ", sizes[i], " but got size ", t.sizes()[i]);
    sizes[std::size_t(at)] += t.size(at);
    dtype = promote(dtype, t.dtype());
  }
  const Tensor out = Tensor::empty(sizes, dtype);
  std::int64_t start = 0;
  for (const Tensor& t : tensors) {
    copy_(narrow(out, at, start, t.size(at)), t);
    start += t.size(at);
  }
  return out;
}

inline Tensor stack(std::vector<Tensor> tensors, std::int64_t d) {
  check(!tensors.empty(), "stack expects a non-empty TensorList");
  const Sizes sizes = tensors[0].sizes();
  for (Tensor& t : tensors) {
    check(t.sizes() == sizes, "stack expects each tensor to be equal size, but got ", to_string(sizes), " and ",
          to_string(t.sizes()));
    t = unsqueeze(t, d);
  }
  return cat(tensors, d);
}

inline Tensor repeat(const Tensor& t, const Sizes& times) {
  check(std::int64_t(times.size()) >= t.dim(),
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  Sizes from(times.size() - t.sizes().size(), 1), interleaved, stretched, out;
  from.insert(from.end(), t.sizes().begin(), t.sizes().end());
  for (std::size_t i = 0; i < times.size(); ++i) {
    interleaved.insert(interleaved.end(), {1, from[i]});
    stretched.insert(stretched.end(), {times[i], from[i]});
    check(times[i] >= 0, "Trying to create tensor with negative dimension ", times[i], ": repeat takes no negative counts");
    out.push_back(product({times[i], from[i]}));
  }
  return reshape(clone(expand(reshape(t, interleaved), stretched)), out);
}

inline Tensor flip(const Tensor& t, const Sizes& dims) {
  Tensor out = t;
  std::vector<bool> seen(std::size_t(std::max<std::int64_t>(t.dim(), 1)), false);
  for (const std::int64_t d : dims) {
    check(!seen[std::size_t(t.wrap(d))], "dim ", t.wrap(d), " appears multiple times in the list of dims");
    seen[std::size_t(t.wrap(d))] = true;
    std::vector<Tensor> parts = unbind(out, d);
    std::reverse(parts.begin(), parts.end());
    out = parts.empty() ? out : stack(parts, t.wrap(d));
  }
  return out.is(t) ? clone(t) : out;
}

inline Tensor roll(const Tensor& t, const Sizes& shifts, const Sizes& dims) {
  check(!shifts.empty(), "`shifts` required");
  check(dims.size() == shifts.size() || (dims.empty() && shifts.size() == 1), "shifts and dimensions must align. shifts: ",
        shifts.size(), ", dims:", dims.size());
  if (dims.empty()) return t.numel() == 0 ? clone(t) : reshape(roll(reshape(t, {-1}), shifts, {0}), t.sizes());
  Tensor out = t;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t n = t.size(dims[i]);
    if (n == 0) continue;
    const std::int64_t shift = remainder(shifts.at(i), n);
    out = cat({slice(out, dims[i], n - shift, n), slice(out, dims[i], 0, n - shift)}, dims[i]);
  }
  return out;
}

inline Value tensors(const std::vector<Tensor>& parts) { return Value::list_of(parts); }

inline std::vector<Definition> view_operators() {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  return {
      {"view(Tensor self, int[] size)",
       [](Arguments& a) -> Value { return view(a[0].toTensor(), a[1].toIntVector()); }},
      {"_unsafe_view(Tensor self, int[] size)",
       [](Arguments& a) -> Value { return view(a[0].toTensor(), a[1].toIntVector()); }},
      {"view_as(Tensor self, Tensor other)",
       [](Arguments& a) -> Value { return view(a[0].toTensor(), a[1].toTensor().sizes()); }},
      {"reshape(Tensor self, int[] shape)",
       [](Arguments& a) -> Value { return reshape(a[0].toTensor(), a[1].toIntVector()); }},
      {"reshape_as(Tensor self, Tensor other)",
       [](Arguments& a) -> Value { return reshape(a[0].toTensor(), a[1].toTensor().sizes()); }},
      {"flatten(Tensor self, int start_dim=0, int end_dim=-1)",
       [](Arguments& a) -> Value { return flatten(a[0].toTensor(), a[1].toInt(), a[2].toInt()); }},
      {"ravel(Tensor self)", [](Arguments& a) -> Value { return reshape(a[0].toTensor(), {-1}); }},
      {"unflatten(Tensor self, int dim, int[] sizes)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         const std::int64_t at = t.wrap(a[1].toInt());
         Sizes sizes = t.sizes();
         const Sizes parts = infer_size(a[2].toIntVector(), t.size(at));
         sizes.erase(sizes.begin() + at);
         sizes.insert(sizes.begin() + at, parts.begin(), parts.end());
         return view(t, sizes);
       }},
      {"permute(Tensor self, int[] dims)",
       [](Arguments& a) -> Value { return permute(a[0].toTensor(), a[1].toIntVector()); }},
      {"transpose(Tensor self, int dim0, int dim1)",
       [](Arguments& a) -> Value { return transpose(a[0].toTensor(), a[1].toInt(), a[2].toInt()); }},
      {"swapaxes(Tensor self, int axis0, int axis1)",
       [](Arguments& a) -> Value { return transpose(a[0].toTensor(), a[1].toInt(), a[2].toInt()); }},
      {"swapdims(Tensor self, int dim0, int dim1)",
       [](Arguments& a) -> Value { return transpose(a[0].toTensor(), a[1].toInt(), a[2].toInt()); }},
      {"movedim(Tensor self, int source, int destination)",
       [](Arguments& a) -> Value { return movedim(a[0].toTensor(), a[1].toInt(), a[2].toInt()); }},
      {"t(Tensor self)",
       [](Arguments& a) -> Value {
         check(a[0].toTensor().dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", a[0].toTensor().dim(), "D");
         return a[0].toTensor().dim() < 2 ? a[0].toTensor() : transpose(a[0].toTensor(), 0, 1);
       }},
      {"mT(Tensor a)", [](Arguments& a) -> Value { return transpose(a[0].toTensor(), -2, -1); }},
      {"numpy_T(Tensor a)",
       [](Arguments& a) -> Value {
         Sizes order;
         for (std::int64_t d = a[0].toTensor().dim(); d-- > 0;) order.push_back(d);
         return permute(a[0].toTensor(), order);
       }},
      {"unsqueeze(Tensor self, int dim)",
       [](Arguments& a) -> Value { return unsqueeze(a[0].toTensor(), a[1].toInt()); }},
      {"squeeze(Tensor self)", [](Arguments& a) -> Value { return squeeze(a[0].toTensor()); }},
      {"squeeze(Tensor self, int dim)", [](Arguments& a) -> Value { return squeeze(a[0].toTensor(), a[1].toInt()); }},
      {"select(Tensor self, int dim, int index)",
       [](Arguments& a) -> Value { return select(a[0].toTensor(), a[1].toInt(), a[2].toInt()); }},
      {"slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)",
       [](Arguments& a) -> Value {
         return slice(a[0].toTensor(), a[1].toInt(), a[2].isNone() ? 0 : a[2].toInt(),
                      a[3].isNone() ? last : a[3].toInt(), a[4].toInt());
       }},
      {"narrow(Tensor self, int dim, int start, int length)",
       [](Arguments& a) -> Value { return narrow(a[0].toTensor(), a[1].toInt(), a[2].toInt(), a[3].toInt()); }},
      {"diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)",
       [](Arguments& a) -> Value { return diagonal(a[0].toTensor(), a[1].toInt(), a[2].toInt(), a[3].toInt()); }},
      {"expand(Tensor self, int[] size, *, bool implicit=False)",
       [](Arguments& a) -> Value { return expand(a[0].toTensor(), a[1].toIntVector()); }},
      {"expand_as(Tensor self, Tensor other)",
       [](Arguments& a) -> Value { return expand(a[0].toTensor(), a[1].toTensor().sizes()); }},
      {"broadcast_to(Tensor self, int[] size)",
       [](Arguments& a) -> Value { return expand(a[0].toTensor(), a[1].toIntVector()); }},
      {"broadcast_tensors(Tensor[] tensors)",
       [](Arguments& a) -> Value {
         std::vector<Tensor> all = a[0].toTensorVector();
         Sizes sizes;
         for (const Tensor& t : all) sizes = broadcast(sizes, t.sizes());
         for (Tensor& t : all) t = expand(t, sizes);
         return tensors(all);
       }},
      {"chunk(Tensor self, int chunks, int dim=0)",
       [](Arguments& a) -> Value {
         const std::int64_t n = a[0].toTensor().size(a[2].toInt()), chunks = a[1].toInt();
         check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
         return tensors(split(a[0].toTensor(), std::max<std::int64_t>(n / chunks + (n % chunks != 0 ? 1 : 0), 1), a[2].toInt()));
       }},
      {"split(Tensor self, int split_size, int dim=0)",
       [](Arguments& a) -> Value { return tensors(split(a[0].toTensor(), a[1].toInt(), a[2].toInt())); }},
      {"split(Tensor self, int[] split_size, int dim=0)",
       [](Arguments& a) -> Value { return tensors(split(a[0].toTensor(), a[1].toIntVector(), a[2].toInt())); }},
      {"split_with_sizes(Tensor self, int[] split_sizes, int dim=0)",
       [](Arguments& a) -> Value { return tensors(split(a[0].toTensor(), a[1].toIntVector(), a[2].toInt())); }},
      {"unbind(Tensor self, int dim=0)",
       [](Arguments& a) -> Value { return tensors(unbind(a[0].toTensor(), a[1].toInt())); }},
      {"cat(Tensor[] tensors, int dim=0)",
       [](Arguments& a) -> Value { return cat(a[0].toTensorVector(), a[1].toInt()); }},
      {"concat(Tensor[] tensors, int dim=0)",
       [](Arguments& a) -> Value { return cat(a[0].toTensorVector(), a[1].toInt()); }},
      {"stack(Tensor[] tensors, int dim=0)",
       [](Arguments& a) -> Value { return stack(a[0].toTensorVector(), a[1].toInt()); }},
      {"hstack(Tensor[] tensors)",
       [](Arguments& a) -> Value {
         const std::vector<Tensor> parts = a[0].toTensorVector();
         check(!parts.empty(), "hstack expects a non-empty TensorList");
         return cat(parts, parts[0].dim() == 1 ? 0 : 1);
       }},
      {"vstack(Tensor[] tensors)",
       [](Arguments& a) -> Value {
         std::vector<Tensor> rows = a[0].toTensorVector();
         for (Tensor& t : rows)
           if (t.dim() == 1) t = unsqueeze(t, 0);
         return cat(rows, 0);
       }},
      {"repeat(Tensor self, int[] repeats)",
       [](Arguments& a) -> Value { return repeat(a[0].toTensor(), a[1].toIntVector()); }},
      {"tile(Tensor self, int[] dims)",
       [](Arguments& a) -> Value {
         Sizes times = a[1].toIntVector();
         while (std::int64_t(times.size()) < a[0].toTensor().dim()) times.insert(times.begin(), 1);
         return repeat(a[0].toTensor(), times);
       }},
      {"repeat_interleave(Tensor self, int repeats, int? dim=None, *, int? output_size=None)",
       [](Arguments& a) -> Value {
         const bool flat = a[2].isNone() || a[0].toTensor().dim() == 0;
         const Tensor t = flat ? flatten(a[0].toTensor(), 0, -1) : a[0].toTensor();
         const std::int64_t d = a[2].isNone() ? 0 : t.wrap(a[2].toInt());
         Sizes sizes = t.sizes();
         check(a[1].toInt() >= 0, "Repeats must be non-negative");
         sizes.insert(sizes.begin() + d + 1, a[1].toInt());
         return flatten(clone(expand(unsqueeze(t, d + 1), sizes)), d, d + 1);
       }},
      {"flip(Tensor self, int[] dims)",
       [](Arguments& a) -> Value { return flip(a[0].toTensor(), a[1].toIntVector()); }},
      {"roll(Tensor self, int[1] shifts, int[1] dims=[])",
       [](Arguments& a) -> Value { return roll(a[0].toTensor(), a[1].toIntVector(), a[2].toIntVector()); }},
      {"contiguous(Tensor self, *, int memory_format=0)",
       [](Arguments& a) -> Value { return contiguous(a[0].toTensor()); }},
      {"clone(Tensor self, *, int? memory_format=None)", [](Arguments& a) -> Value { return clone(a[0].toTensor()); }},
      {"detach(Tensor self)",
       [](Arguments& a) -> Value {
         return a[0].toTensor().view_as(a[0].toTensor().sizes(), a[0].toTensor().strides());
       }},
      {"meshgrid(Tensor[] tensors, *, str indexing=\"ij\")",
       [](Arguments& a) -> Value {
         std::vector<Tensor> lines = a[0].toTensorVector();
         check(a[1].toString() == "ij", "meshgrid with indexing='xy' is not known to this runtime");
         Sizes sizes;
         for (const Tensor& t : lines) sizes.push_back(t.numel());
         for (std::size_t i = 0; i < lines.size(); ++i) {
           Sizes line(sizes.size(), 1);
           line[i] = sizes[i];
           lines[i] = expand(reshape(lines[i], line), sizes);
         }
         return tensors(lines);
       }},
      {"pixel_shuffle(Tensor self, int upscale_factor)",
       [](Arguments& a) -> Value {
         const Tensor& t = a[0].toTensor();
         const std::int64_t r = a[1].toInt();
         check(t.dim() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", t.dim(),
               " dimension(s)");
         check(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
         check(r == std::int32_t(r) && t.size(-3) % (r * r) == 0,
               "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
               "input.size(-3)=", t.size(-3), " is not divisible by ", times(r, r));
         const std::int64_t c = t.size(-3) / (r * r), h = t.size(-2), w = t.size(-1);
         const Tensor parts = reshape(t, {-1, c, r, r, h, w});
         Sizes sizes(t.sizes().begin(), t.sizes().end() - 3);
         sizes.insert(sizes.end(), {c, h * r, w * r});
         return reshape(permute(parts, {0, 1, 4, 2, 5, 3}), sizes);
       }},
  };
}

}  // namespace torchscript
