// An independent implementation of the networks with libtorch, in double and with autograd.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "nets/nets.hpp"
#include "nets/recurrent.hpp"

namespace drl::test {

inline at::Tensor as_double(std::span<const float> x) {
  return at::from_blob(const_cast<float*>(x.data()), {static_cast<int64_t>(x.size())}, at::kFloat).to(at::kDouble);
}
inline at::Tensor as_index(std::span<const int32_t> x) {
  return at::from_blob(const_cast<int32_t*>(x.data()), {static_cast<int64_t>(x.size())}, at::kInt).to(at::kLong);
}
inline at::Tensor normalized(const at::Tensor& x, const NormalizerView& view) {
  const auto dim = static_cast<size_t>(x.size(1));
  if (!view.mean) return x;
  const double clip = view.clip;
  return ((x - as_double({view.mean, dim})) * as_double({view.inv_std, dim})).clamp(-clip, clip);
}

// Returns a slice of the flat parameters.
inline at::Tensor param(const at::Tensor& flat, const ParamSlice& s) {
  return flat.narrow(0, s.offset, s.count()).reshape(s.shape);
}
inline at::Tensor mlp(const ParamLayout& layout, NetId net, const at::Tensor& flat, at::Tensor x) {
  const NetSpec& spec = layout.net(net);
  std::vector<at::Tensor> sums;
  for (int layer = 0; layer < spec.num_layers(); ++layer) {
    x = at::matmul(x, param(flat, layout.weight(net, layer)).t()) + param(flat, layout.bias(net, layer));
    const LayerSpec& l = spec.layers[static_cast<size_t>(layer)];
    if (l.residual) x = x + sums[sums.size() - 2];
    sums.push_back(x);
    if (l.norm)
      x = at::layer_norm(x, {x.size(1)}, param(flat, layout.norm_weight(net, layer)),
                         param(flat, layout.norm_bias(net, layer)));
    switch (l.activation) {
      case Activation::elu:
        x = at::elu(x);
        break;
      case Activation::tanh:
        x = at::tanh(x);
        break;
      case Activation::relu:
        x = at::relu(x);
        break;
      case Activation::silu:
        x = at::silu(x);
        break;
      case Activation::gelu:
        x = at::gelu(x);
        break;
      case Activation::linear:
        break;
    }
  }
  return x;
}

// Returns the outputs [T * N, width] of recurrent layers for inputs x [T * N, inputs] of N sequences, from the states
// start [N, state_size]. `ended` [T, N] is 1 for steps after which the state becomes zero. Adds the states after
// each step to `states`, if given, and then the state with which the next sequence would start.
inline at::Tensor rnn_outputs(const ParamLayout& layout, const RnnSpec& rnn, const at::Tensor& flat,
                              const at::Tensor& x, const at::Tensor& start, const at::Tensor& ended,
                              std::vector<at::Tensor>* states = nullptr) {
  const int64_t envs = start.size(0), steps = x.size(0) / envs, width = rnn.width;
  at::Tensor state = start;
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < steps; ++t) {
    at::Tensor input = x.narrow(0, t * envs, envs);
    std::vector<at::Tensor> next;
    for (size_t k = 0; k < rnn.layers.size(); ++k) {
      const auto& [of_input, of_hidden] = rnn.layers[k];
      const at::Tensor w_x = param(flat, layout.weight(of_input, 0)), w_h = param(flat, layout.weight(of_hidden, 0)),
                       b_x = param(flat, layout.bias(of_input, 0)), b_h = param(flat, layout.bias(of_hidden, 0)),
                       before = state.narrow(1, static_cast<int64_t>(k) * rnn.layer_state(), rnn.layer_state());
      const at::Tensor h = before.narrow(1, 0, width);
      if (rnn.type == RnnType::gru) {
        input = at::gru_cell(input, h, w_x, w_h, b_x, b_h);
        next.push_back(input);
      } else {
        const auto [h_after, c_after] = at::lstm_cell(input, {h, before.narrow(1, width, width)}, w_x, w_h, b_x, b_h);
        input = h_after;
        next.push_back(h_after), next.push_back(c_after);
      }
    }
    outputs.push_back(input);
    state = at::cat(next, 1);
    if (states) states->push_back(state.detach());
    state = state * (1 - ended[t]).unsqueeze(1);
  }
  if (states) states->push_back(state.detach());
  return at::cat(outputs, 0);
}

// Expects that all differences are below `relative` times the largest expected number.
inline void expect_close(std::span<const float> ours, const at::Tensor& theirs, double relative,
                         const std::string& what) {
  const at::Tensor expected = theirs.contiguous().reshape({-1});
  ASSERT_EQ(static_cast<int64_t>(ours.size()), expected.numel()) << what;
  double largest = 0, worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double x = expected.data_ptr<double>()[i];
    largest = std::max(largest, std::abs(x));
    worst = std::max(worst, std::abs(ours[i] - x));
    ASSERT_TRUE(std::isfinite(ours[i])) << what;
  }
  EXPECT_LE(worst, relative * largest) << what;
  EXPECT_GT(largest, 0) << what;
}
// Expects this for each slice of the parameters separately.
inline void expect_close_in_each_slice(const ParamLayout& layout, std::span<const float> ours, const at::Tensor& theirs,
                                       double relative = 2e-5) {
  for (const ParamSlice& s : layout.slices())
    expect_close(ours.subspan(static_cast<size_t>(s.offset), static_cast<size_t>(s.count())),
                 theirs.narrow(0, s.offset, s.count()), relative, s.name);
}

}  // namespace drl::test
