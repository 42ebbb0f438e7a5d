// Environments, networks and algorithm on the device that this rank computes on.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "cluster/placement.hpp"
#include "envs/make_env.hpp"
#include "learn/algorithm.hpp"
#include "learn/ppo.hpp"
#include "run/train_options.hpp"

namespace drl {

class Learner {
 public:
  virtual ~Learner() = default;
  virtual Algorithm& algorithm() = 0;
  virtual void set_learning_rate(double learning_rate) = 0;
  // The networks, in host memory, for evaluation.
  virtual std::span<const float> parameters() const = 0;
  virtual Normalizers normalizers() const = 0;
  virtual std::string engine() const = 0;  // "libtorch 1.13.1 (OpenBLAS)", "cuBLAS"
};

struct LearnerPlan {
  BatchPlan batch;
  EnvConfig envs;
  Placement placement;
};

std::unique_ptr<Learner> make_cpu_learner(const Options& options, const LearnerPlan& plan);
// Only where the placement names a GPU.
std::unique_ptr<Learner> make_gpu_learner(const Options& options, const LearnerPlan& plan);

// What carries all-reduces in device memory; null on the CPU. `host` carries what is in host memory. Collective.
std::unique_ptr<Communicator> make_gpu_communicator(const Options& options, const Placement& placement,
                                                    Communicator& host, const std::vector<std::string>& hosts);

}  // namespace drl
