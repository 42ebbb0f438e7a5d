#include "engines/torch/torch_engine.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engines/activation.hpp"
#include "engines/torch/blas.hpp"
#include "learn/sampling.hpp"

namespace drl {
namespace {

constexpr int64_t kTile = 1024;  // samples at a time

at::Tensor view(const float* data, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(data), shape, at::TensorOptions().dtype(at::kFloat));
}

// One network and its buffers for a tile.
class Mlp {
 public:
  // `first` is the index of its first slice in the layout.
  Mlp(const MlpSpec& spec, Activation activation, const std::vector<ParamSlice>& layout, size_t first)
      : spec_(spec),
        activation_(activation),
        slices_(layout.begin() + first, layout.begin() + first + 2 * spec.layers()) {
    ones_ = at::ones({kTile});
    for (int64_t width : spec.dims) {
      outputs_.push_back(at::empty({kTile, width}));
      gradients_.push_back(at::empty({kTile, width}));
    }
  }

  float* input() { return outputs_.front().data_ptr<float>(); }              // [rows, inputs]
  const float* output() const { return outputs_.back().data_ptr<float>(); }  // [rows, outputs]
  float* output_gradient() { return gradients_.back().data_ptr<float>(); }   // [rows, outputs]

  // The network's outputs of the first `rows` rows of input().
  void forward(const float* params, int64_t rows) {
    for (int layer = 0; layer < spec_.layers(); ++layer) {
      at::Tensor y = outputs_[layer + 1].narrow(0, 0, rows);
      at::addmm_out(y, bias(params, layer), outputs_[layer].narrow(0, 0, rows), weight(params, layer).t());
      if (layer + 1 < spec_.layers()) activate(activation_, y.data_ptr<float>(), y.numel());
    }
  }

  // Adds the weights' gradients, given output_gradient() for the rows of the last forward.
  void backward(const float* params, float* grad, int64_t rows) {
    for (int layer = spec_.layers() - 1; layer >= 0; --layer) {
      const at::Tensor x = outputs_[layer].narrow(0, 0, rows), dy = gradients_[layer + 1].narrow(0, 0, rows);
      weight(grad, layer).addmm_(dy.t(), x);
      bias(grad, layer).addmv_(dy.t(), ones_.narrow(0, 0, rows));
      if (layer == 0) return;
      at::Tensor dx = gradients_[layer].narrow(0, 0, rows);
      at::mm_out(dx, dy, weight(params, layer));
      activation_backward(activation_, x.data_ptr<float>(), dx.data_ptr<float>(), dx.numel());
    }
  }

 private:
  at::Tensor weight(const float* params, int layer) const {
    const ParamSlice& slice = slices_[2 * layer];
    return view(params + slice.offset, slice.shape);
  }
  at::Tensor bias(const float* params, int layer) const {
    const ParamSlice& slice = slices_[2 * layer + 1];
    return view(params + slice.offset, slice.shape);
  }

  MlpSpec spec_;
  Activation activation_;
  std::vector<ParamSlice> slices_;     // weight, bias of each layer
  std::vector<at::Tensor> outputs_;    // [kTile, width]: the input, then each layer's
  std::vector<at::Tensor> gradients_;  // of the loss with respect to them
  at::Tensor ones_;
};

class TorchEngine final : public Engine {
 public:
  explicit TorchEngine(const NetworkSpec& spec)
      : spec_(spec),
        layout_(network_layout(spec)),
        actor_(spec.actor, spec.activation, layout_, 0),
        critic_(spec.critic, spec.activation, layout_, layout_.size() - 2 * spec.critic.layers()),
        std_offset_(std_offset(layout_)),
        parameters_(parameter_count(layout_)) {}

  const std::vector<ParamSlice>& layout() const override { return layout_; }

  void collect(const float* params, const Normalizers& normalizers, VecEnv& envs, uint64_t seed, int64_t first_step,
               ActionChoice choice, Rollout& rollout) override {
    const c10::InferenceMode guard;
    for (int64_t k = 0; k < static_cast<int64_t>(rollout.std.size()); ++k)
      rollout.std[k] = standard_deviation(params, k);
    for (int64_t t = 0; t < rollout.num_steps; ++t) {
      policy_row(params, normalizers, rollout, t);
      if (choice == ActionChoice::sample) {
        sample_actions(envs.spec().action, seed, first_step + t, t, rollout);
      } else {
        most_probable_actions(envs.spec().action, t, rollout);
      }
      envs.step(first_step + t, rollout.row(t));
    }
  }

  void values(const float* params, const Normalizers& normalizers, const float* obs, int64_t rows,
              float* out) override {
    const c10::InferenceMode guard;
    const int64_t dim = spec_.critic.inputs();
    const NormalizerView& normalizer = critic_normalizer(normalizers);
    for (int64_t first = 0; first < rows; first += kTile) {
      const int64_t n = std::min(kTile, rows - first);
      normalize_rows(normalizer, obs + first * dim, n, dim, critic_.input());
      critic_.forward(params, n);
      std::memcpy(out + first, critic_.output(), n * sizeof(float));
    }
  }

  void gradient(const float* params, const Normalizers& normalizers, const Rollout& rollout, const MiniBatch& batch,
                float* grad_and_tail) override {
    const c10::InferenceMode guard;
    std::fill_n(grad_and_tail, parameters_, 0.0f);
    LossSums sums;
    std::vector<double> std_gradient(rollout.std.size());
    for (size_t first = 0; first < batch.rows.size(); first += kTile) {
      const auto rows = batch.rows.subspan(first, std::min<size_t>(kTile, batch.rows.size() - first));
      tile_gradient(params, normalizers, rollout, rows, batch.loss, grad_and_tail, std_gradient.data(), sums);
    }
    for (size_t k = 0; k < std_gradient.size(); ++k)
      grad_and_tail[std_offset_ + k] = static_cast<float>(std_gradient[k]);
    write_tail(sums, grad_and_tail + parameters_);
  }

  std::string description() const override {
    return std::string("libtorch ") + TORCH_VERSION + " (" + blas_library().name + ")";
  }

 private:
  // A critic without observations of its own sees, and is normalised as, the actor.
  const NormalizerView& critic_normalizer(const Normalizers& n) const {
    return n.critic_obs.mean ? n.critic_obs : n.obs;
  }

  float standard_deviation(const float* params, int64_t k) const {
    const float param = params[std_offset_ + k];
    return spec_.log_std ? std::exp(param) : param;
  }

  void policy_row(const float* params, const Normalizers& normalizers, Rollout& rollout, int64_t t) {
    const int64_t dim = rollout.obs_dim, size = rollout.action_size;
    for (int64_t first = 0; first < rollout.num_envs; first += kTile) {
      const int64_t n = std::min(kTile, rollout.num_envs - first), row = t * rollout.num_envs + first;
      normalize_rows(normalizers.obs, rollout.obs.data() + row * dim, n, dim, actor_.input());
      actor_.forward(params, n);
      std::memcpy(rollout.policy_out.data() + row * size, actor_.output(), n * size * sizeof(float));
    }
  }

  void tile_gradient(const float* params, const Normalizers& normalizers, const Rollout& rollout,
                     std::span<const int32_t> rows, const LossSettings& loss, float* grad, double* std_gradient,
                     LossSums& sums) {
    const int64_t n = static_cast<int64_t>(rows.size());
    gather_normalized(normalizers.obs, rollout.obs.data(), rows, rollout.obs_dim, actor_.input());
    gather_normalized(critic_normalizer(normalizers), rollout.critic_input(), rows, rollout.critic_input_dim(),
                      critic_.input());
    actor_.forward(params, n);
    critic_.forward(params, n);
    ppo_loss(rollout, rows, loss,
             {actor_.output(), critic_.output(), params + std::max<int64_t>(std_offset_, 0), spec_.log_std},
             {actor_.output_gradient(), critic_.output_gradient(), std_gradient}, sums);
    actor_.backward(params, grad, n);
    critic_.backward(params, grad, n);
  }

  NetworkSpec spec_;
  std::vector<ParamSlice> layout_;
  Mlp actor_, critic_;
  int64_t std_offset_, parameters_;
};

}  // namespace

std::unique_ptr<Engine> make_torch_engine(const NetworkSpec& spec, int threads) {
  require_address_space(threads);
  set_math_threads(threads);
  return std::make_unique<TorchEngine>(spec);
}

}  // namespace drl
