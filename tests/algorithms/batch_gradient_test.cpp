// Tests Nets::gradient with a backend that computes the gradient of whole mini-batches.
#include <gtest/gtest.h>

#include "../support/autograd.hpp"
#include "../support/host_loops.hpp"
#include "../support/learning.hpp"
#include "../support/random_env.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "nets/torch/torch_nets.hpp"

namespace drl {
namespace {

using namespace test;

constexpr int kInputs = 5, kActions = 3;

struct Sums {
  std::vector<double> columns = std::vector<double>(kLossColumns + kActions);
  void add(int column, float x) { columns[static_cast<size_t>(column)] += static_cast<double>(x); }
};

// Networks of one layer. With `whole`, gradient() adds up the gradients of the mini-batch's samples in double.
class SampleBySample final : public Nets {
 public:
  SampleBySample(Queue& queue, const PolicySpec& spec, bool whole)
      : Nets(spec.layout), whole_(whole), spec_(spec), nets_(make_torch_nets(queue, spec.layout, 1)) {}
  int64_t tile() const override { return nets_->tile(); }
  std::unique_ptr<Tape> make_tape(NetId net) override { return nets_->make_tape(net); }
  void forward(NetId net, const Weights& weights, const Rows& rows, float* out, Tape* tape) override {
    nets_->forward(net, weights, rows, out, tape);
  }
  void backward(NetId net, const Weights& weights, Tape& tape, const float* d_out, float* grad, float* d_in) override {
    backward_passes += 1;
    nets_->backward(net, weights, tape, d_out, grad, d_in);
  }
  bool gradient(const Batch& batch, LossId loss, DistributionId distribution, float* grad_and_tail) override {
    if (!whole_) return false;
    EXPECT_EQ(loss, "ppo");
    EXPECT_EQ(distribution, kDistributionId<Gaussian>);
    EXPECT_EQ(batch.inputs.size(), 2u);
    whole_batches += 1;
    auto sample_loss = *static_cast<const PpoLoss<Gaussian>*>(batch.loss);
    std::vector<double> sums(static_cast<size_t>(layout().size()));
    Sums columns;
    for (int64_t i = 0; i < batch.inputs[0].rows.count; ++i) {
      float out[2][kActions], d_out[2][kActions];
      for (int k : {0, 1}) forward(batch, k, i, out[k]);
      sample_loss.tile = {batch.inputs[0].rows.index + i, out[0], out[1], d_out[0], d_out[1]};
      sample_loss.lanes<float>(0, columns);
      for (int k : {0, 1}) backward(batch, k, i, d_out[k], sums);
    }
    std::copy_n(columns.columns.begin() + kLossColumns, kActions, sums.begin() + spec_.std_offset());
    std::ranges::transform(sums, grad_and_tail, [](double x) { return static_cast<float>(x); });
    std::transform(columns.columns.begin(), columns.columns.begin() + kLossColumns, grad_and_tail + sums.size(),
                   [](double x) { return static_cast<float>(x); });
    return true;
  }
  std::string description() const override { return "sample by sample"; }
  int whole_batches = 0, backward_passes = 0;

 private:
  static float input(const Rows& rows, int64_t i, int k) {
    return rows.normalizer(rows.data[rows.index[i] * kInputs + k], k);
  }
  void forward(const Batch& batch, int which, int64_t i, float* out) const {
    const auto& [net, rows] = batch.inputs[static_cast<size_t>(which)];
    for (int o = 0; o < layout().net(net).outputs(); ++o) {
      double y = batch.weights.params()[layout().bias(net, 0).offset + o];
      for (int k = 0; k < kInputs; ++k)
        y += double{batch.weights.params()[layout().weight(net, 0).offset + o * kInputs + k]} * input(rows, i, k);
      out[o] = static_cast<float>(y);
    }
  }
  void backward(const Batch& batch, int which, int64_t i, const float* d_out, std::vector<double>& sums) const {
    const auto& [net, rows] = batch.inputs[static_cast<size_t>(which)];
    for (int o = 0; o < layout().net(net).outputs(); ++o) {
      sums[static_cast<size_t>(layout().bias(net, 0).offset + o)] += d_out[o];
      for (int k = 0; k < kInputs; ++k)
        sums[static_cast<size_t>(layout().weight(net, 0).offset + o * kInputs + k)] +=
            double{d_out[o]} * input(rows, i, k);
    }
  }

  bool whole_;
  const PolicySpec& spec_;
  std::unique_ptr<Nets> nets_;
};

// A learner, and the gradients of its mini-batches.
struct Learner {
  explicit Learner(bool whole)
      : env(gaussian_task(kInputs, kActions), kEnvs),
        spec(policy_spec(env.spec(), policy, options.normalizer())),
        nets(*queue, spec, whole),
        ppo({*queue, policy, {kEnvs, kSteps, 0, 1, 2, kMiniBatches}, 1, spec, nets, env}, options) {
    Listener comm([&](std::span<const float> sums) { gradients.emplace_back(sums.begin(), sums.end()); });
    for (int iteration : {0, 1}) ppo.iterate(iteration, comm);
  }
  static constexpr int64_t kEnvs = 600, kSteps = 8;
  static constexpr int kMiniBatches = 3, kEpochs = 2;
  PolicyOptions policy = [] {
    PolicyOptions policy;
    policy.actor_hidden_dims = policy.critic_hidden_dims = {};
    return policy;
  }();
  PpoOptions options = [] {
    PpoOptions options;
    options.num_learning_epochs = kEpochs, options.num_mini_batches = kMiniBatches;
    options.schedule = "fixed", options.obs_normalization = true;
    return options;
  }();
  std::unique_ptr<Queue> queue = host_queue();
  RandomEnv env;
  PolicySpec spec;
  SampleBySample nets;
  Ppo ppo;
  std::vector<std::vector<float>> gradients;
};

TEST(BatchGradient, GetsTheWholeMiniBatchAndGivesTheSameGradient) {
  const Learner whole(true), tiles(false);
  constexpr int mini_batches = 2 * Learner::kEpochs * Learner::kMiniBatches;
  EXPECT_EQ(whole.nets.whole_batches, mini_batches);
  EXPECT_EQ(whole.nets.backward_passes, 0);
  EXPECT_EQ(tiles.nets.whole_batches, 0);
  EXPECT_EQ(tiles.nets.backward_passes, mini_batches * 2 * 2) << "two networks, two tiles";
  ASSERT_EQ(whole.gradients.size(), static_cast<size_t>(mini_batches));
  const auto size = static_cast<size_t>(whole.spec.layout.size());
  // Compares the first iteration only. Later, rounding differences have led to other actions.
  for (size_t k = 0; k < mini_batches / 2; ++k) {
    const std::span<const float> ours(whole.gradients[k]), theirs(tiles.gradients[k]);
    expect_close_in_each_slice(whole.spec.layout, ours.first(size), as_double(theirs.first(size)), 1e-4);
    EXPECT_EQ(ours[size + kSamples], theirs[size + kSamples]);
    for (size_t column = size + kKl; column < ours.size(); ++column)
      EXPECT_NEAR(ours[column], theirs[column], 1e-4 * theirs[size + kSamples]) << column - size;
  }
}

}  // namespace
}  // namespace drl
