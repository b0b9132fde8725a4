// The list of all operators, by name.
//
// Each file ops_*.h has tables of signatures and what they do; here they come together. It mirrors
// torch/csrc/jit/runtime/operator.cpp and aten/src/ATen/native/native_functions.yaml.
//
// How the real one differs: about 2600 signatures, which go through the dispatcher to a kernel for the device, the layout and
// autograd.
#pragma once

#include <map>

#include "schema.h"

// A program that runs one model may define TORCHSCRIPT_FAMILIES as the tables which that needs, and include those files itself,
// before it includes this one. It is then compiled in a fraction of the time.
#ifndef TORCHSCRIPT_FAMILIES
#include "ops_activations.h"
#include "ops_attention.h"
#include "ops_containers.h"
#include "ops_convolution.h"
#include "ops_factories.h"
#include "ops_indexing.h"
#include "ops_linear_algebra.h"
#include "ops_losses.h"
#include "ops_normalization.h"
#include "ops_numbers.h"
#include "ops_pointwise.h"
#include "ops_pooling.h"
#include "ops_recurrent.h"
#include "ops_reductions.h"
#include "ops_sorting.h"
#include "ops_strings.h"
#include "ops_views.h"

#define TORCHSCRIPT_FAMILIES                                                                                           \
  number_arithmetic, number_comparisons, number_functions, pointwise_arithmetic, pointwise_comparisons,                \
      pointwise_functions, activations, string_operators, list_operators, dict_operators, linear_algebra_operators,    \
      view_operators, sums_and_means, extremes_and_counts, factories, conversions, indexing_operators, normalizations, \
      dropouts, convolutions, pooling_operators, sorting_operators, losses, attention_operators, recurrent_operators
#endif

namespace torchscript {

// Made once, when the first model is loaded; afterwards only read.
inline const std::map<std::string, OperatorFamily>& all_operators() {
  static const auto families = [] {
    std::map<std::string, OperatorFamily> found;
    for (const auto& table : {TORCHSCRIPT_FAMILIES}) {
      for (auto& definition : table()) {
        Schema schema(definition.schema);
        const std::string full =
            schema.name().find("::") == std::string::npos ? "aten::" + schema.name() : schema.name();
        found[full].name = full;
        found[full].overloads.push_back({std::move(schema), std::move(definition.kernel)});
      }
    }
    return found;
  }();
  return families;
}

inline const OperatorFamily* find_operator(const std::string& name) {
  const auto found = all_operators().find(name);
  return found == all_operators().end() ? nullptr : &found->second;
}

}  // namespace torchscript
