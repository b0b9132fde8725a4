// Attention and einsum: products of tensors with more than one way to line up their dimensions.
//
// It mirrors aten/src/ATen/native/transformers/attention.cpp and Linear.cpp (einsum).
//
// How the real one differs: attention is fused, so that the matrix of weights is never in memory as a whole; einsum looks for a
// good order of its products.
#pragma once

#include "ops_factories.h"
#include "ops_linear_algebra.h"
#include "ops_normalization.h"

namespace torchscript {

inline Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Value& mask, bool causal,
                        const Value& scale) {
  const double factor = scale.isNone() ? 1 / std::sqrt(double(q.size(-1))) : scale.toDouble();
  Tensor scores = mul(matmul(q, transpose(k, -2, -1)), factor);
  const double never = -std::numeric_limits<double>::infinity();
  if (causal)
    scores = where(triangle(ones({q.size(-2), k.size(-2)}, Dtype::boolean), [](auto i, auto j) { return j <= i; }),
                   scores, full({}, never, scores.dtype()));
  if (!mask.isNone() && mask.toTensor().dtype() == Dtype::boolean)
    scores = where(mask.toTensor(), scores, full({}, never, scores.dtype()));
  else if (!mask.isNone())
    scores = add(scores, mask);
  return matmul(softmax(scores, -1, {}, false), v);
}

// Every letter becomes a dimension of every operand; then everything is multiplied, and the letters missing in the result are
// summed over.
inline Tensor einsum(const std::string& given, const std::vector<Tensor>& operands) {
  std::string equation;
  for (const char c : given)
    if (c != ' ') equation += c;
  const auto arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  check(terms.size() == operands.size(),
        "einsum(): more operands were provided than specified in the equation, or fewer");
  // "..." stands for as many dimensions as are left; they get letters nobody writes
  std::size_t dots = 0;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i].find("...") != std::string::npos) {
      check(operands[i].sizes().size() + 3 >= terms[i].size(), "einsum(): too few dimensions for ", terms[i]);
      dots = std::max(dots, operands[i].sizes().size() + 3 - terms[i].size());
    }
  const std::string all_dots = std::string("0123456789").substr(0, dots);
  const auto spell_out = [&](std::string term, std::size_t n) {
    const auto at = term.find("...");
    return at == std::string::npos ? term : term.replace(at, 3, all_dots.substr(dots - n));
  };
  std::map<char, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i] =
        spell_out(terms[i], operands[i].sizes().size() + 3 - std::min(terms[i].size(), operands[i].sizes().size() + 3));
    check(terms[i].size() == operands[i].sizes().size(), "einsum(): the number of subscripts in '", terms[i],
          "' does not match the number of dimensions ", operands[i].dim());
    for (const char c : terms[i]) ++uses[c];
  }
  std::string result = arrow == std::string::npos ? all_dots : spell_out(equation.substr(arrow + 2), dots);
  if (arrow == std::string::npos)
    for (const auto& [letter, n] : uses)
      if (n == 1 && all_dots.find(letter) == std::string::npos) result += letter;
  std::string letters = result;
  for (const auto& [letter, n] : uses)
    if (letters.find(letter) == std::string::npos) letters += letter;

  Tensor total;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Tensor t = operands[i];
    std::string term = terms[i];
    for (std::size_t k = 0; k < term.size(); ++k)  // a letter twice: the diagonal
      for (std::size_t other = term.find(term[k], k + 1); other != std::string::npos;
           other = term.find(term[k], k + 1)) {
        t = movedim(diagonal(t, 0, std::int64_t(k), std::int64_t(other)), -1, std::int64_t(k));
        term.erase(other, 1);
      }
    Sizes order;
    std::string missing;
    for (const char c : letters) {
      const auto at = term.find(c);
      if (at == std::string::npos)
        missing += c;
      else
        order.push_back(std::int64_t(at));
    }
    t = permute(t, order);
    for (std::size_t at = 0; at < letters.size(); ++at)
      if (missing.find(letters[at]) != std::string::npos) t = unsqueeze(t, std::int64_t(at));
    total = i == 0 ? t : mul(total, t);
  }
  Sizes summed;
  for (std::size_t d = result.size(); d < letters.size(); ++d) summed.push_back(std::int64_t(d));
  return summed.empty() ? total : sum(total, Value::list_of(summed), false, std::int64_t(total.dtype()));
}

inline std::vector<Definition> attention_operators() {
  return {
      {"scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
       "dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
       [](Arguments& a) -> Value {
         check(a[4].toDouble() == 0 && !a[7].toBool(),
               "attention with dropout or grouped queries is not known to this runtime");
         return attention(a[0].toTensor(), a[1].toTensor(), a[2].toTensor(), a[3], a[5].toBool(), a[6]);
       }},
      {"einsum(str equation, Tensor[] tensors, *, int[]? path=None)",
       [](Arguments& a) -> Value { return einsum(a[0].toString(), a[1].toTensorVector()); }},
      {"tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)",
       [](Arguments& a) -> Value {
         std::string x, y, out;
         check(a[0].toTensor().dim() <= 26 && a[1].toTensor().dim() <= 26, "tensordot of more dimensions than letters");
         for (std::int64_t d = 0; d < a[0].toTensor().dim(); ++d) x += char('a' + d);
         for (std::int64_t d = 0; d < a[1].toTensor().dim(); ++d) y += char('A' + d);
         const Sizes p = a[2].toIntVector(), q = a[3].toIntVector();
         check(p.size() == q.size(), "both dimension lists should have same length");
         for (std::size_t i = 0; i < p.size(); ++i)
           y.at(std::size_t(a[1].toTensor().wrap(q[i]))) = x.at(std::size_t(a[0].toTensor().wrap(p[i])));
         for (const char c : x + y)
           if ((x + y).find(c) == (x + y).rfind(c)) out += c;
         return einsum(x + "," + y + "->" + out, {a[0].toTensor(), a[1].toTensor()});
       }},
      {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)",
       [](Arguments& a) -> Value {
         const Value d = a[2];
         check(a[3].toDouble() >= 0, "eps must be non-negative, got: ", a[3].toDouble());
         const Sizes sizes = broadcast(a[0].toTensor().sizes(), a[1].toTensor().sizes());
         for (std::size_t i = 0; i < 2; ++i) a[i] = expand(a[i].toTensor(), sizes);
         const auto unit = [&](const Value& x) { return div(x, maximum(norm(x.toTensor(), 2, d, true), a[3])); };
         return sum(mul(unit(a[0]), unit(a[1])), d);
       }},
  };
}

}  // namespace torchscript
