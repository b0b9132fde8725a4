// The operators of convolution: conv1d, conv2d, transposed, and `_convolution`, which is what traces record.
//
// It mirrors aten/src/ATen/native/Convolution.cpp.
//
// How the real one differs: three dimensions, and a choice among some twenty backends.
#pragma once

#include "convolution.h"
#include "ops_views.h"

namespace torchscript {

struct ConvolutionOptions {
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  std::int64_t groups = 1;
};

// One dimension becomes two; a batch is added where there is none.
inline Tensor convolution(const Tensor& input, const Tensor& weight, const Value& bias, ConvolutionOptions o) {
  const std::int64_t spatial = weight.dim() - 2;
  check(spatial == 1 || spatial == 2, "convolutions over ", spatial, " dimensions are not known to this runtime");
  check(o.groups > 0 && o.groups == std::int32_t(o.groups), "non-positive groups, or too many: ", o.groups);
  check(is_floating(input.dtype()), "a convolution of ", name_of(input.dtype()), " tensors is not known to this runtime");
  if (input.dim() == spatial + 1) return squeeze(convolution(unsqueeze(input, 0), weight, bias, o), 0);
  for (Sizes* option : {&o.stride, &o.padding, &o.dilation, &o.output_padding}) {
    if (option->size() == 1 && spatial == 2) option->push_back(option->front());
    check(std::int64_t(option->size()) == spatial, "expected a single integer value or a list of ", spatial,
          " values to match the convolution dimensions, but got ", to_string(*option));
  }
  if (spatial == 1) {
    for (auto [option, neutral] :
         {std::pair<Sizes*, int>{&o.stride, 1}, {&o.padding, 0}, {&o.dilation, 1}, {&o.output_padding, 0}})
      option->insert(option->begin(), neutral);
  }
  const Tensor x = spatial == 1 ? unsqueeze(input, 2) : input, w = spatial == 1 ? unsqueeze(weight, 2) : weight;
  const Window window{{}, o.stride, o.padding, o.dilation};
  const Tensor out = o.transposed ? conv_transpose2d(x, w, bias, window, o.output_padding, o.groups)
                                  : conv2d(x, w, bias, window, o.groups);
  return spatial == 1 ? squeeze(out, 2) : out;
}

// padding="same": what is missing to one side is added to the end, with zeros.
inline Tensor convolution_padded(const Tensor& input, const Tensor& weight, const Value& bias, ConvolutionOptions o,
                                 const std::string& padding) {
  check(padding == "same" || padding == "valid", "Invalid padding string: '", padding, "'");
  check(weight.dim() > 2 && input.dim() >= weight.dim() - 1, "expected an input with the dimensions of the weight ",
        to_string(weight.sizes()), " or one less, but got ", to_string(input.sizes()));
  const auto spatial = std::size_t(weight.dim() - 2);
  for (const Sizes* option : {&o.stride, &o.dilation})
    check(option->size() == 1 || option->size() == spatial, "expected a single integer value or a list of ", spatial,
          " values to match the convolution dimensions, but got ", to_string(*option));
  o.padding.assign(spatial, 0);
  Tensor x = input;
  for (std::size_t d = 0; d < spatial && padding == "same"; ++d) {
    const std::int64_t total = o.dilation[o.dilation.size() == 1 ? 0 : d] * (weight.sizes()[d + 2] - 1);
    check(o.stride[o.stride.size() == 1 ? 0 : d] == 1, "padding='same' is not supported for strided convolutions");
    o.padding[d] = total / 2;
    if (total % 2 == 0) continue;
    const auto at = x.dim() - std::int64_t(spatial - d);
    Sizes extra = x.sizes();
    extra[std::size_t(at)] = 1;
    x = cat({x, full(extra, 0, x.dtype())}, at);
  }
  return convolution(x, weight, bias, o);
}

inline std::vector<Definition> convolutions() {
  std::vector<Definition> t;
  for (const char* name : {"conv1d", "conv2d"}) {
    t.push_back({std::string(name) + "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] "
                                     "padding=[0], int[] dilation=[1], int groups=1)",
                 [](Arguments& a) -> Value {
                   return convolution(
                       a[0].toTensor(), a[1].toTensor(), a[2],
                       {a[3].toInt32Vector(), a[4].toInt32Vector(), a[5].toInt32Vector(), {0}, false, a[6].toInt()});
                 }});
    t.push_back({std::string(name) + "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], str "
                                     "padding=\"valid\", int[] dilation=[1], int groups=1)",
                 [](Arguments& a) -> Value {
                   return convolution_padded(a[0].toTensor(), a[1].toTensor(), a[2],
                                             {a[3].toInt32Vector(), {}, a[5].toInt32Vector(), {0}, false, a[6].toInt()},
                                             a[4].toString());
                 }});
  }
  for (const char* name : {"conv_transpose1d", "conv_transpose2d"})
    t.push_back({std::string(name) + "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=[1], int[] "
                                     "padding=[0], int[] output_padding=[0], int groups=1, int[] dilation=[1])",
                 [](Arguments& a) -> Value {
                   return convolution(a[0].toTensor(), a[1].toTensor(), a[2],
                                      {a[3].toInt32Vector(), a[4].toInt32Vector(), a[7].toInt32Vector(), a[5].toInt32Vector(),
                                       true, a[6].toInt()});
                 }});
  t.push_back(
      {"_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool "
       "transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool "
       "allow_tf32=True)",
       [](Arguments& a) -> Value {
         return convolution(a[0].toTensor(), a[1].toTensor(), a[2],
                            {a[3].toInt32Vector(), a[4].toInt32Vector(), a[5].toInt32Vector(), a[7].toInt32Vector(),
                             a[6].toBool(), a[8].toInt()});
       }});
  return t;
}

}  // namespace torchscript
