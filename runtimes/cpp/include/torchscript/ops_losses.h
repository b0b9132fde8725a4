// Losses: how far a prediction is from what was expected.
//
// It mirrors aten/src/ATen/native/Loss.cpp and LossNLL.cpp.
//
// How the real one differs: there are more of them, and each knows its derivative.
#pragma once

#include "ops_indexing.h"
#include "ops_normalization.h"

namespace torchscript {

// reduction: 0 none, 1 mean, 2 sum
inline Tensor reduced(const Tensor& losses, std::int64_t reduction) {
  check(reduction >= 0 && reduction <= 2, reduction, " is not a valid value for reduction");
  return reduction == 0 ? losses : reduction == 1 ? mean(losses) : sum(losses);
}

template <class F>
Definition pairwise_loss(const std::string& signature, F f) {
  return {signature, [=](Arguments& a) -> Value {
            const double parameter = a.size() > 3 ? a[3].toDouble() : 0;
            return reduced(pointwise(a[0], a[1], Rule::same,
                                     [=](auto x, auto y) { return cast<decltype(x)>(f(double(x), double(y), parameter)); }),
                           a[2].toInt());
          }};
}

// Classes along dimension 1 (or 0 without a batch): minus the log probability of the right one.
inline Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const Value& weight,
                       std::int64_t reduction, std::int64_t ignore) {
  check(reduction >= 0 && reduction <= 2, reduction, " is not a valid value for reduction");
  const std::int64_t d = log_probabilities.dim() == 1 ? 0 : 1;
  Sizes expected = log_probabilities.sizes();
  if (!expected.empty()) expected.erase(expected.begin() + std::min<std::int64_t>(d, std::int64_t(expected.size()) - 1));
  check(log_probabilities.dim() > 0 && target.sizes() == expected, "Expected a target of size ", to_string(expected),
        " for an input of size ", to_string(log_probabilities.sizes()), ", got ", to_string(target.sizes()));
  check(weight.isNone() || weight.toTensor().sizes() == Sizes{log_probabilities.size(d)},
        "weight tensor should be defined either for all ", log_probabilities.size(d), " classes or no classes");
  const Tensor counted = pointwise(target, ignore, Rule::truth, [](auto x, auto y) { return x != y; });
  const Tensor safe = where(counted, target, 0);
  const Dtype dtype = log_probabilities.dtype();
  Tensor losses = squeeze(gather(log_probabilities, d, unsqueeze(safe, d)), d);
  losses = pointwise(losses, Rule::same, [](auto x) { return -x; });
  const Tensor weights =
      mul(weight.isNone() ? full(safe.sizes(), 1, dtype) : index(weight.toTensor(), {safe}), to_dtype(counted, dtype));
  losses = where(counted, mul(losses, weights), full({}, 0, dtype));
  return reduction == 0 ? losses : reduction == 2 ? sum(losses) : div(sum(losses), sum(weights));
}

inline Tensor cross_entropy(const Tensor& t, const Tensor& target, const Value& weight, std::int64_t reduction,
                            std::int64_t ignore, double smoothing) {
  const std::int64_t d = t.dim() == 1 ? 0 : 1;
  const Tensor log_probabilities = softmax(t, d, {}, true);
  check(target.sizes() != t.sizes() || t.dim() == 0,
        "cross_entropy with probabilities as target is not known to this runtime");
  const Tensor hit = nll_loss(log_probabilities, target, weight, reduction, ignore);
  if (smoothing == 0) return hit;
  check(weight.isNone(), "cross_entropy with weights and label smoothing is not known to this runtime");
  const Dtype dtype = log_probabilities.dtype();
  const Tensor counted = pointwise(target, ignore, Rule::truth, [](auto x, auto y) { return x != y; });
  const Tensor each = pointwise(mean(log_probabilities, d), Rule::same, [](auto x) { return -x; });
  const Tensor kept = where(counted, each, full({}, 0, dtype));
  const Tensor all = reduction == 0   ? kept
                     : reduction == 2 ? sum(kept)
                                      : div(sum(kept), sum(to_dtype(counted, dtype)));
  return add(mul(hit, 1 - smoothing), mul(all, smoothing));
}

inline std::vector<Definition> losses() {
  return {
      pairwise_loss("mse_loss(Tensor self, Tensor target, int reduction=1)",
                    [](double x, double y, double) { return (x - y) * (x - y); }),
      pairwise_loss("l1_loss(Tensor self, Tensor target, int reduction=1)",
                    [](double x, double y, double) { return std::fabs(x - y); }),
      pairwise_loss("smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.)",
                    [](double x, double y, double beta) {
                      const double z = std::fabs(x - y);
                      return z < beta ? 0.5 * z * z / beta : z - 0.5 * beta;
                    }),
      pairwise_loss("huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.)",
                    [](double x, double y, double delta) {
                      const double z = std::fabs(x - y);
                      return z <= delta ? 0.5 * z * z : delta * (z - 0.5 * delta);
                    }),
      {"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
       [](Arguments& a) -> Value {
         const Tensor each = pointwise(a[0], a[1], Rule::same, [](auto x, auto y) {
           using T = decltype(x);
           return cast<T>(-(double(y) * std::max(std::log(double(x)), -100.0) +
                      (1 - double(y)) * std::max(std::log1p(-double(x)), -100.0)));
         });
         return reduced(a[2].isNone() ? each : mul(each, a[2]), a[3].toInt());
       }},
      {"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
       "reduction=1)",
       [](Arguments& a) -> Value {
         check(a[3].isNone(), "binary_cross_entropy_with_logits with pos_weight is not known to this runtime");
         const Tensor each = pointwise(a[0], a[1], Rule::same, [](auto x, auto y) {
           const double z = double(x), truth = double(y);
           return cast<decltype(x)>((1 - truth) * z + std::log1p(std::exp(-std::fabs(z))) + std::max(-z, 0.0));
         });
         return reduced(a[2].isNone() ? each : mul(each, a[2]), a[4].toInt());
       }},
      {"kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False)",
       [](Arguments& a) -> Value {
         const bool log_target = a[3].toBool();
         return reduced(pointwise(a[0], a[1], Rule::same,
                                  [=](auto x, auto y) {
                                    const double p = double(y);
                                    return cast<decltype(x)>(log_target ? std::exp(p) * (p - double(x))
                                                                  : (p == 0 ? 0 : p * std::log(p)) - p * double(x));
                                  }),
                        a[2].toInt());
       }},
      {"nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
       [](Arguments& a) -> Value {
         return nll_loss(a[0].toTensor(), a[1].toTensor(), a[2], a[3].toInt(), a[4].toInt());
       }},
      {"nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
       [](Arguments& a) -> Value {
         return nll_loss(a[0].toTensor(), a[1].toTensor(), a[2], a[3].toInt(), a[4].toInt());
       }},
      {"cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
       "float label_smoothing=0.)",
       [](Arguments& a) -> Value {
         return cross_entropy(a[0].toTensor(), a[1].toTensor(), a[2], a[3].toInt(), a[4].toInt(), a[5].toDouble());
       }},
  };
}

}  // namespace torchscript
