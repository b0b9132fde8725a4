// Recurrent networks: LSTM and GRU, step by step.
//
// The parameters of each layer and direction are four tensors: weights for the input and for the hidden state, and their biases;
// the gates lie behind one another in them. It mirrors aten/src/ATen/native/RNN.cpp.
//
// How the real one differs: packed sequences, projections, dropout between layers, cuDNN.
#pragma once

#include "ops_linear_algebra.h"
#include "ops_views.h"

namespace torchscript {

inline Tensor sigmoid_of(const Tensor& t) {
  return pointwise(t, Rule::same, [](auto x) { return decltype(x)(1 / (1 + std::exp(-double(x)))); });
}
inline Tensor tanh_of(const Tensor& t) {
  return pointwise(t, Rule::same, [](auto x) { return decltype(x)(std::tanh(double(x))); });
}

struct RecurrentWeights {
  Tensor input, hidden;
  Value input_bias, hidden_bias;
};
using State = std::vector<Tensor>;  // {h} of a GRU, {h, c} of an LSTM

inline State pair_of_states(const Value& v) {
  const State state = v.toTensorVector();
  check(state.size() == 2, "lstm expects two hidden states, but got ", state.size());
  return state;
}

inline State lstm_step(const Tensor& x, const State& state, const RecurrentWeights& w) {
  const auto gates =
      split(add(linear(x, w.input, w.input_bias), linear(state[0], w.hidden, w.hidden_bias)), state[0].size(-1), -1);
  const Tensor c = add(mul(sigmoid_of(gates.at(1)), state[1]), mul(sigmoid_of(gates.at(0)), tanh_of(gates.at(2))));
  return {mul(sigmoid_of(gates.at(3)), tanh_of(c)), c};
}

inline State gru_step(const Tensor& x, const State& state, const RecurrentWeights& w) {
  const auto from_x = split(linear(x, w.input, w.input_bias), state[0].size(-1), -1),
             from_h = split(linear(state[0], w.hidden, w.hidden_bias), state[0].size(-1), -1);
  const Tensor reset = sigmoid_of(add(from_x.at(0), from_h.at(0))),
               update = sigmoid_of(add(from_x.at(1), from_h.at(1)));
  const Tensor fresh = tanh_of(add(from_x.at(2), mul(reset, from_h.at(2))));
  return {add(fresh, mul(sub(state[0], fresh), update))};
}

// input [T, N, features]; each state [layers * directions, N, hidden]. Returns the outputs and the last states.
template <class Step>
Value recurrent(Tensor x, const State& initial, const std::vector<Tensor>& params, bool has_biases, std::int64_t layers,
                bool bidirectional, bool batch_first, Step step) {
  if (batch_first) x = transpose(x, 0, 1);
  const std::size_t per_layer = has_biases ? 4 : 2, directions = bidirectional ? 2 : 1;
  check(layers > 0 && layers <= std::int64_t(params.size()) && params.size() == per_layer * directions * std::size_t(layers), "a recurrent network with ", params.size(),
        " parameters is not known to this runtime");
  std::vector<std::vector<Tensor>> last(initial.size());
  for (std::size_t layer = 0; layer < std::size_t(layers); ++layer) {
    std::vector<Tensor> outputs;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t at = layer * directions + direction;
      const Tensor* p = &params[at * per_layer];
      const RecurrentWeights w{p[0], p[1], has_biases ? Value(p[2]) : Value(), has_biases ? Value(p[3]) : Value()};
      State state;
      for (const Tensor& s : initial) state.push_back(select(s, 0, std::int64_t(at)));
      std::vector<Tensor> steps(room_for(x.size(0), piece));
      for (std::size_t t = 0; t < steps.size(); ++t) {
        const std::size_t time = direction == 0 ? t : steps.size() - 1 - t;
        state = step(select(x, 0, std::int64_t(time)), state, w);
        steps[time] = state[0];
      }
      outputs.push_back(stack(steps, 0));
      for (std::size_t i = 0; i < state.size(); ++i) last[i].push_back(state[i]);
    }
    x = cat(outputs, 2);
  }
  std::vector<Value> result = {batch_first ? transpose(x, 0, 1) : x};
  for (const auto& states : last) result.emplace_back(stack(states, 0));
  return Value::tuple(result);
}

inline RecurrentWeights cell_weights(const Arguments& a, std::size_t at) {
  return {a[at].toTensor(), a[at + 1].toTensor(), a[at + 2], a[at + 3]};
}

inline std::vector<Definition> recurrent_operators() {
  return {
      {"lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
       "bool bidirectional, bool batch_first)",
       [](Arguments& a) -> Value {
         return recurrent(a[0].toTensor(), pair_of_states(a[1]), a[2].toTensorVector(), a[3].toBool(), a[4].toInt(),
                          a[7].toBool(), a[8].toBool(), lstm_step);
       }},
      {"gru(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
       "bidirectional, bool batch_first)",
       [](Arguments& a) -> Value {
         return recurrent(a[0].toTensor(), {a[1].toTensor()}, a[2].toTensorVector(), a[3].toBool(), a[4].toInt(),
                          a[7].toBool(), a[8].toBool(), gru_step);
       }},
      {"lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
       [](Arguments& a) -> Value {
         const State state = lstm_step(a[0].toTensor(), pair_of_states(a[1]), cell_weights(a, 2));
         return Value::tuple({state[0], state[1]});
       }},
      {"gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
       [](Arguments& a) -> Value { return gru_step(a[0].toTensor(), {a[1].toTensor()}, cell_weights(a, 2))[0]; }},
  };
}

}  // namespace torchscript
