// Of builds with CUDA; no_gpu_learner.cpp of the others.
#include "apps/learner.hpp"
#include "cluster/cuda_support.hpp"
#include "cluster/nccl_communicator.hpp"
#include "engines/gpu/gpu_engine.hpp"
#include "envs/gpu_vec_env.hpp"
#include "learn/gpu_ppo.hpp"

namespace drl {
namespace {

class GpuLearner final : public Learner {
 public:
  GpuLearner(const Options& options, const LearnerPlan& plan)
      : stream_(on_device(plan.placement.gpu)),
        envs_(make_gpu_env(options.train.task, plan.envs, *stream_)),
        engine_(make_gpu_engine(network_spec(envs_->spec(), options.policy), *stream_)),
        algorithm_(options.ppo, options.policy, plan.batch, plan.envs.seed, options.gpu.cuda_graphs, *envs_, *engine_,
                   *stream_) {}
  Algorithm& algorithm() override { return algorithm_; }
  void set_learning_rate(double learning_rate) override { algorithm_.set_learning_rate(learning_rate); }
  std::span<const float> parameters() const override { return algorithm_.parameters(); }
  Normalizers normalizers() const override { return algorithm_.normalizers(); }
  std::string engine() const override { return engine_->description() + ", " + gpu_versions(); }

 private:
  static std::unique_ptr<gpu::Stream> on_device(int device) {
    use_gpu(device);
    return std::make_unique<gpu::Stream>();
  }

  std::unique_ptr<gpu::Stream> stream_;
  std::unique_ptr<GpuVecEnv> envs_;
  std::unique_ptr<GpuEngine> engine_;
  GpuPpo algorithm_;
};

}  // namespace

std::unique_ptr<Learner> make_gpu_learner(const Options& options, const LearnerPlan& plan) {
  return std::make_unique<GpuLearner>(options, plan);
}

std::unique_ptr<Communicator> make_gpu_communicator(const Options& options, const Placement& placement,
                                                    Communicator& host, const std::vector<std::string>& hosts) {
  if (placement.gpu < 0) return nullptr;
  if (host.size() == 1) return make_serial_communicator();
  use_gpu(placement.gpu);
  NcclOptions nccl;
  nccl.init_timeout = options.gpu.init_timeout;
  nccl.comm_timeout = options.gpu.comm_timeout;
  nccl.deterministic = options.gpu.deterministic;
  nccl.device = placement.gpu;
  nccl.hosts = hosts;
  return make_nccl_communicator(host, nccl);
}

}  // namespace drl
