#include "apps/learner.hpp"

#include "engines/torch/torch_engine.hpp"

namespace drl {
namespace {

class CpuLearner final : public Learner {
 public:
  CpuLearner(const Options& options, const LearnerPlan& plan)
      : envs_(make_env(options.train.task, plan.envs)),
        engine_(make_torch_engine(network_spec(envs_->spec(), options.policy), plan.placement.threads)),
        algorithm_(options.ppo, options.policy, plan.batch, plan.envs.seed, *envs_, *engine_) {}
  Algorithm& algorithm() override { return algorithm_; }
  void set_learning_rate(double learning_rate) override { algorithm_.set_learning_rate(learning_rate); }
  std::span<const float> parameters() const override { return algorithm_.parameters(); }
  Normalizers normalizers() const override { return algorithm_.normalizers(); }
  std::string engine() const override { return engine_->description(); }

 private:
  std::unique_ptr<VecEnv> envs_;
  std::unique_ptr<Engine> engine_;
  Ppo algorithm_;
};

}  // namespace

std::unique_ptr<Learner> make_cpu_learner(const Options& options, const LearnerPlan& plan) {
  return std::make_unique<CpuLearner>(options, plan);
}

}  // namespace drl
