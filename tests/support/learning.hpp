// Shared by the tests of learning: small tasks, random numbers, and the distributions' formulas in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "drl/task/spec.hpp"
#include "nets/layout.hpp"

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
void fill_uniform(Numbers&& numbers, Random& random, double low, double high) {
  for (float& x : numbers) x = uniform(random, low, high);
}
inline std::vector<float> uniforms(Random& random, int64_t count, double low, double high) {
  std::vector<float> numbers(static_cast<size_t>(count));
  fill_uniform(numbers, random, low, high);
  return numbers;
}

// Returns 0, 1, ..., count - 1 in random order.
inline std::vector<int32_t> shuffled(Random& random, int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int32_t>(i);
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

inline double gaussian_log_prob(double action, double mean, double std) {
  const double z = (action - mean) / std;
  return -0.5 * z * z - std::log(std) - 0.5 * std::log(2 * std::acos(-1.0));
}

template <class Number>
std::vector<double> softmax(const Number* logits, int64_t size) {
  std::vector<double> p(logits, logits + size);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x);
  for (double& x : p) x /= sum;
  return p;
}

// Log-probability, KL and entropy of the current distribution, for an action that was sampled from an old one.
struct Formula {
  double log_prob = 0, kl = 0, entropy = 0;

  static Formula gaussian(int size, const double* mean, const double* std, const float* old_mean, const float* old_std,
                          const float* action) {
    Formula f;
    for (int k = 0; k < size; ++k) {
      const double before = old_std[k], shift = old_mean[k] - mean[k];
      f.log_prob += gaussian_log_prob(action[k], mean[k], std[k]);
      f.kl += std::log(std[k] / before) + (before * before + shift * shift) / (2 * std[k] * std[k]) - 0.5;
      f.entropy += 0.5 * std::log(2 * std::acos(-1.0) * std::exp(1.0) * std[k] * std[k]);
    }
    return f;
  }
  static Formula categorical(int size, const double* logits, const float* old_logits, int choice) {
    Formula f;
    const std::vector<double> p = softmax(logits, size), before = softmax(old_logits, size);
    for (int k = 0; k < size; ++k) {
      f.kl += before[k] * std::log(before[k] / p[k]);
      f.entropy -= p[k] * std::log(p[k]);
    }
    f.log_prob = std::log(p[choice]);
    return f;
  }
  // Returns the sums over independent heads.
  static Formula of_heads(const std::vector<int32_t>& heads, const double* logits, const float* old_logits,
                          const int32_t* choice) {
    Formula sum;
    for (int32_t size : heads) {
      const Formula f = categorical(size, logits, old_logits, *choice++);
      sum.log_prob += f.log_prob, sum.kl += f.kl, sum.entropy += f.entropy;
      logits += size, old_logits += size;
    }
    return sum;
  }
};

// Returns the derivative of loss() with respect to x, by central differences.
template <class Loss>
double slope(Loss&& loss, double& x) {
  const double h = 1e-6, at = x;
  x = at + h;
  const double above = loss();
  x = at - h;
  const double below = loss();
  x = at;
  return (above - below) / (2 * h);
}

// Returns the slice with this name.
inline const ParamSlice& slice(const ParamLayout& layout, const std::string& name) {
  const auto& all = layout.slices();
  return *std::find_if(all.begin(), all.end(), [&](const ParamSlice& s) { return s.name == name; });
}

}  // namespace drl::test
