// An independent implementation of the policies' distributions with libtorch, in double and with autograd.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "algorithms/rollout.hpp"
#include "autograd.hpp"
#include "policy/spec.hpp"

namespace drl::test {

// For each sample: the log-probability of its action, the KL divergence from the distribution that chose it, and the
// entropy.
struct LibtorchTerms {
  at::Tensor log_prob, kl, entropy;
};

// The distributions of a rollout's samples. `params` are flat parameters, and `out` are the actor's outputs.
struct LibtorchPolicy {
  LibtorchTerms evaluate(const at::Tensor& out, const at::Tensor& action, const at::Tensor& params,
                         const at::Tensor& old_params) const {
    if (space.discrete) return categorical(out, action);
    if (std::holds_alternative<Beta>(spec.distribution)) return beta(out, action);
    if (are_squashed()) return squashed(out, action, params, old_params);
    return gaussian(out, action, params, old_params);
  }
  at::Tensor rows(const float* x, int64_t dim) const {
    return as_double({x, static_cast<size_t>(r.samples() * dim)}).reshape({-1, dim});
  }
  at::Tensor actions() const {
    if (!space.discrete) return rows(reinterpret_cast<const float*>(r.action), space.size);
    const int64_t heads = space.head_count();
    return as_index({reinterpret_cast<const int32_t*>(r.action), static_cast<size_t>(r.samples() * heads)})
        .reshape({-1, heads});
  }

  const PolicySpec& spec;
  const ActionSpace& space;
  const RolloutView& r;

 private:
  double bound() const { return space.high[0]; }
  bool are_squashed() const {
    return std::holds_alternative<SquashedGaussian>(spec.distribution) ||
           std::holds_alternative<SquashedStateGaussian>(spec.distribution);
  }
  // The bounds of the network's outputs for standard deviations, if the state determines these.
  std::optional<std::pair<double, double>> state_std() const {
    std::optional<std::pair<double, double>> bounds;
    std::visit(
        [&]<class D>(const D& d) {
          if constexpr (requires { d.std_low; }) bounds = {d.std_low, d.std_high};
        },
        spec.distribution);
    return bounds;
  }
  // Returns the standard deviations of samples with outputs `out`.
  at::Tensor std_with(const at::Tensor& out, const at::Tensor& params) const {
    const auto bounds = state_std();
    if (!bounds) return std_of(params);
    const at::Tensor bounded = out.narrow(1, out.size(1) / 2, out.size(1) / 2).clamp(bounds->first, bounds->second);
    return spec.log_std ? bounded.exp() : bounded;
  }
  at::Tensor std_of(const at::Tensor& params) const {
    const at::Tensor x = param(params, spec.layout.slices()[static_cast<size_t>(spec.std)]);
    return spec.log_std ? x.exp() : x;
  }
  // A distribution of the state has outputs for means and standard deviations.
  LibtorchTerms gaussian(const at::Tensor& out, const at::Tensor& action, const at::Tensor& params,
                         const at::Tensor& old_params) const {
    const at::Tensor old_out = rows(r.policy_out, r.out_size);
    const int64_t size = state_std() ? r.out_size / 2 : r.out_size;
    const at::Tensor mean = out.narrow(1, 0, size), old_mean = old_out.narrow(1, 0, size), std = std_with(out, params),
                     old_std = std_with(old_out, old_params), z = (action - mean) / std;
    const double half_log_two_pi = 0.5 * std::log(2 * std::acos(-1.0));
    return {(-0.5 * z * z - std.log() - half_log_two_pi).sum(1),
            ((std / old_std).log() + (old_std.pow(2) + (old_mean - mean).pow(2)) / (2 * std.pow(2)) - 0.5).sum(1),
            (0.5 + half_log_two_pi + std.log()).expand(mean.sizes()).sum(1)};
  }
  // With alpha = 1 + softplus(raw), and beta likewise.
  LibtorchTerms beta(const at::Tensor& out, const at::Tensor& action) const {
    const auto shapes = [&](const at::Tensor& raw) { return at::softplus(raw, 1, 100) + 1; };
    const auto log_beta = [](const at::Tensor& a, const at::Tensor& b) {
      return at::lgamma(a) + at::lgamma(b) - at::lgamma(a + b);
    };
    const int64_t size = r.out_size / 2;
    const at::Tensor now = shapes(out), old = shapes(rows(r.policy_out, r.out_size)), a = now.narrow(1, 0, size),
                     b = now.narrow(1, size, size), a0 = old.narrow(1, 0, size), b0 = old.narrow(1, size, size),
                     u = (action + bound()) / (2 * bound());
    const double log_range = std::log(2 * bound());
    return {((a - 1) * u.log() + (b - 1) * (1 - u).log() - log_beta(a, b) - log_range).sum(1),
            (log_beta(a, b) - log_beta(a0, b0) + (a0 - a) * at::digamma(a0) + (b0 - b) * at::digamma(b0) +
             (a + b - a0 - b0) * at::digamma(a0 + b0))
                .sum(1),
            (log_beta(a, b) - (a - 1) * at::digamma(a) - (b - 1) * at::digamma(b) + (a + b - 2) * at::digamma(a + b) +
             log_range)
                .sum(1)};
  }
  // The entropy is that of the Gaussian and the mean of the logarithm of the slope, an integral by the trapezoidal
  // rule.
  LibtorchTerms squashed(const at::Tensor& out, const at::Tensor& action, const at::Tensor& params,
                         const at::Tensor& old_params) const {
    const at::Tensor u = action / bound();
    auto [log_prob, kl, entropy] = gaussian(out, 0.5 * ((1 + u) / (1 - u)).log(), params, old_params);
    const at::Tensor z = at::linspace(-8, 8, 161, at::kDouble), weight = (-0.5 * z * z).exp(),
                     std = std_with(out, params), mean = out.narrow(1, 0, space.size),
                     of_z = mean.unsqueeze(2) + std.expand(mean.sizes()).unsqueeze(2) * z,
                     slope = 2 * (std::log(2.0) - of_z - at::softplus(-2 * of_z, 1, 100)) + std::log(bound());
    return {log_prob - (bound() * (1 - u * u)).log().sum(1), kl,
            entropy + (slope * weight / weight.sum()).sum(2).sum(1)};
  }
  LibtorchTerms categorical(const at::Tensor& logits, const at::Tensor& choices) const {
    const at::Tensor old_logits = rows(r.policy_out, r.out_size), zeros = at::zeros({r.samples()}, at::kDouble);
    LibtorchTerms sum{zeros, zeros, zeros};
    for (int64_t head = 0, first = 0; head < space.head_count(); first += space.choices(static_cast<int>(head++))) {
      const int64_t count = space.choices(static_cast<int>(head));
      const at::Tensor log_p = at::log_softmax(logits.narrow(1, first, count), 1),
                       old = at::log_softmax(old_logits.narrow(1, first, count), 1);
      sum.log_prob = sum.log_prob + log_p.gather(1, choices.narrow(1, head, 1)).squeeze(1);
      sum.kl = sum.kl + (old.exp() * (old - log_p)).sum(1);
      sum.entropy = sum.entropy - (log_p.exp() * log_p).sum(1);
    }
    return sum;
  }
};

}  // namespace drl::test
