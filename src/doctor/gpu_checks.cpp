#include "doctor/gpu_checks.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cluster/cuda_support.hpp"

namespace drl {

void add_gpu_facts(const Placement& placement, RankFacts& facts) {
  if (placement.gpu < 0) return;
  facts.gpu = gpu_name(placement.gpu);
  facts.cuda = gpu_versions();
}

void check_gpus(Rounds& rounds, const std::vector<RankFacts>& ranks) {
  rounds.begin("GPUs");
  const CudaSupport& cuda = cuda_support();
  if (!cuda.built) return rounds.end({"GPUs", Status::skipped, "this build has no CUDA"});
  if (cuda.devices == 0) return rounds.end({"GPUs", Status::skipped, "there is none (" + cuda.trouble + ")"});
  const auto users = std::ranges::count_if(ranks, [](const RankFacts& rank) { return rank.device != "cpu"; });
  rounds.end({"GPUs", Status::ok, counted(users, "rank") + " of " + std::to_string(ranks.size()) + " on GPUs"});
}

}  // namespace drl
