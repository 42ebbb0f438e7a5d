// What the tests of the learning algorithm share: small tasks, random rollouts, and an engine of plain loops in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "learn/engine.hpp"
#include "algorithms/actor_critic.hpp"
#include "learn/ppo_loss.hpp"
#include "algorithms/rollout.hpp"
#include "learn/sampling.hpp"

namespace drl::test {

inline TaskSpec gaussian_task(int obs_dim, int actions, float bound = 1e9f) {
  TaskSpec task;
  task.name = "Gaussian";
  task.obs_dim = obs_dim;
  task.action = {false, actions, std::vector<float>(actions, -bound), std::vector<float>(actions, bound)};
  task.step_limit = 100;
  task.dt = 1;
  return task;
}

inline TaskSpec categorical_task(int obs_dim, int actions) {
  TaskSpec task = gaussian_task(obs_dim, actions);
  task.name = "Categorical";
  task.action = {true, actions, {}, {}};
  return task;
}

using Random = std::mt19937_64;

inline float uniform(Random& random, double low, double high) {
  return static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
}

template <class Numbers>
void fill_uniform(Numbers& numbers, Random& random, double low, double high) {
  for (float& x : numbers) x = uniform(random, low, high);
}

inline double gaussian_log_prob(double action, double mean, double std) {
  const double z = (action - mean) / std;
  return -0.5 * z * z - std::log(std) - 0.5 * std::log(2 * std::acos(-1.0));
}

inline std::vector<double> softmax(const float* logits, int64_t size) {
  std::vector<double> p(logits, logits + size);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x);
  for (double& x : p) x /= sum;
  return p;
}

// Fills all that the loss reads as a policy near the one that is updated would have: ratios on both sides of the clips.
inline void fill_random(Rollout& r, Random& random) {
  fill_uniform(r.obs, random, -1, 1);
  fill_uniform(r.policy_out, random, -1, 1);
  fill_uniform(r.std, random, 0.5, 1.5);
  fill_uniform(r.action, random, -2, 2);
  fill_uniform(r.value, random, -1, 1);
  fill_uniform(r.advantage, random, -2, 2);
  fill_uniform(r.return_target, random, -1, 1);
  for (int32_t& choice : r.choice) choice = static_cast<int32_t>(random() % r.action_size);
  for (int64_t i = 0; i < r.samples(); ++i) {
    double log_prob = 0;
    if (r.discrete) {
      log_prob = std::log(softmax(&r.policy_out[i * r.action_size], r.action_size)[r.choice[i]]);
    } else {
      for (int64_t k = 0; k < r.action_size; ++k)
        log_prob += gaussian_log_prob(r.action[i * r.action_size + k], r.policy_out[i * r.action_size + k], r.std[k]);
    }
    r.log_prob[i] = static_cast<float>(log_prob);
  }
}

inline std::vector<int32_t> first_rows(int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
  return rows;
}

// The slice of that name.
inline const ParamSlice& slice(const std::vector<ParamSlice>& layout, const std::string& name) {
  return *std::find_if(layout.begin(), layout.end(), [&](const ParamSlice& s) { return s.name == name; });
}

// One network in double, sample by sample, with layers found by name.
class LoopMlp {
 public:
  LoopMlp(const NetworkSpec& spec, const std::string& name)
      : spec_(name == "actor" ? spec.actor : spec.critic),
        activation_(spec.activation),
        layout_(network_layout(spec)),
        name_(name) {}

  // Outputs of each layer for one input; front() is the input itself.
  std::vector<std::vector<double>> forward(const float* params, const float* input) const {
    std::vector<std::vector<double>> y = {{input, input + spec_.inputs()}};
    for (int layer = 0; layer < spec_.layers(); ++layer) {
      std::vector<double> next(spec_.dims[layer + 1]);
      for (size_t j = 0; j < next.size(); ++j) {
        next[j] = params[bias(layer) + j];
        for (size_t i = 0; i < y.back().size(); ++i) next[j] += weight(params, layer, j, i) * y.back()[i];
        if (layer + 1 < spec_.layers()) next[j] = activate(next[j]);
      }
      y.push_back(std::move(next));
    }
    return y;
  }

  // Adds to `grad` (double, as the parameters lie) the gradient of sum d[k] * output[k].
  void backward(const float* params, const std::vector<std::vector<double>>& y, std::vector<double> d,
                std::vector<double>& grad) const {
    for (int layer = spec_.layers() - 1; layer >= 0; --layer) {
      std::vector<double> below(y[layer].size());
      for (size_t j = 0; j < d.size(); ++j) {
        grad[bias(layer) + j] += d[j];
        for (size_t i = 0; i < below.size(); ++i) {
          grad[weight_offset(layer) + j * below.size() + i] += d[j] * y[layer][i];
          below[i] += d[j] * weight(params, layer, j, i);
        }
      }
      if (layer > 0)
        for (size_t i = 0; i < below.size(); ++i) below[i] *= slope(y[layer][i]);
      d = std::move(below);
    }
  }

 private:
  size_t weight_offset(int layer) const { return slice(layout_, path(layer) + "/weight").offset; }
  size_t bias(int layer) const { return slice(layout_, path(layer) + "/bias").offset; }
  double weight(const float* params, int layer, size_t j, size_t i) const {
    return params[weight_offset(layer) + j * spec_.dims[layer] + i];
  }
  std::string path(int layer) const { return "policy/" + name_ + "/" + std::to_string(layer); }
  double activate(double x) const {
    if (activation_ == Activation::tanh) return std::tanh(x);
    if (activation_ == Activation::relu) return std::max(x, 0.0);
    return x > 0 ? x : std::expm1(x);
  }
  // The activation's derivative, where its value is y.
  double slope(double y) const {
    if (activation_ == Activation::tanh) return 1 - y * y;
    if (activation_ == Activation::relu) return y > 0 ? 1 : 0;
    return y > 0 ? 1 : y + 1;
  }

  MlpSpec spec_;
  Activation activation_;
  std::vector<ParamSlice> layout_;
  std::string name_;
};

// Actor and critic in plain loops: another implementation for engines to agree with, and an engine for tests that want
// each sample's numbers to be independent of the batch it is in.
class LoopEngine : public Engine {
 public:
  explicit LoopEngine(const NetworkSpec& spec)
      : spec_(spec), layout_(network_layout(spec)), actor_(spec, "actor"), critic_(spec, "critic") {}

  const std::vector<ParamSlice>& layout() const override { return layout_; }
  std::string description() const override { return "plain loops"; }

  void collect(const float* params, const Normalizers& normalizers, VecEnv& envs, uint64_t seed, int64_t first_step,
               ActionChoice choice, Rollout& r) override {
    for (size_t k = 0; k < r.std.size(); ++k) r.std[k] = standard_deviation(params, k);
    for (int64_t t = 0; t < r.num_steps; ++t) {
      for (int64_t i = t * r.num_envs; i < (t + 1) * r.num_envs; ++i) {
        const std::vector<double> out = run(actor_, params, normalizers.obs, &r.obs[i * r.obs_dim], r.obs_dim).back();
        std::copy(out.begin(), out.end(), &r.policy_out[i * r.action_size]);
      }
      if (choice == ActionChoice::sample) sample_actions(envs.spec().action, seed, first_step + t, t, r);
      if (choice == ActionChoice::most_probable) most_probable_actions(envs.spec().action, t, r);
      envs.step(first_step + t, r.row(t));
    }
  }

  void values(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows,
              float* out) override {
    const int64_t dim = spec_.critic.inputs();
    for (int64_t i = 0; i < rows; ++i)
      out[i] = static_cast<float>(run(critic_, params, critic_view(normalizers), obs + i * dim, dim).back()[0]);
  }

  void gradient(const float* params, const Normalizers& normalizers, const Rollout& r, const MiniBatch& batch,
                float* grad_and_tail) override {
    const int64_t size = r.action_size, parameters = parameter_count(layout_), std_at = std_offset(layout_);
    std::vector<double> grad(parameters), d_std(size);
    LossSums sums;
    std::vector<float> policy(size), d_policy(size);
    for (int32_t row : batch.rows) {
      const auto actor = run(actor_, params, normalizers.obs, &r.obs[row * r.obs_dim], r.obs_dim);
      const int64_t dim = r.critic_input_dim();
      const auto critic = run(critic_, params, critic_view(normalizers), r.critic_input() + row * dim, dim);
      std::copy(actor.back().begin(), actor.back().end(), policy.begin());
      const float value = static_cast<float>(critic.back()[0]);
      float d_value = 0;
      ppo_loss(r, std::span(&row, 1), batch.loss,
               {policy.data(), &value, params + std::max<int64_t>(std_at, 0), spec_.log_std},
               {d_policy.data(), &d_value, d_std.data()}, sums);
      actor_.backward(params, actor, {d_policy.begin(), d_policy.end()}, grad);
      critic_.backward(params, critic, {d_value}, grad);
    }
    if (std_at >= 0) std::copy(d_std.begin(), d_std.end(), grad.begin() + std_at);
    std::copy(grad.begin(), grad.end(), grad_and_tail);
    write_tail(sums, grad_and_tail + parameters);
  }

 private:
  static const NormalizerView& critic_view(const Normalizers& n) { return n.critic_obs.mean ? n.critic_obs : n.obs; }

  float standard_deviation(const float* params, size_t k) const {
    const float param = params[std_offset(layout_) + k];
    return spec_.log_std ? std::exp(param) : param;
  }

  static std::vector<std::vector<double>> run(const LoopMlp& net, const float* params, const NormalizerView& view,
                                              const float* obs, int64_t dim) {
    std::vector<float> input(dim);
    normalize_rows(view, obs, 1, dim, input.data());
    return net.forward(params, input.data());
  }

  NetworkSpec spec_;
  std::vector<ParamSlice> layout_;
  LoopMlp actor_, critic_;
};

}  // namespace drl::test
