#include "doctor/checks.hpp"

namespace drl {

void add_gpu_facts(const Placement&, RankFacts&) {}

void check_gpus(Rounds& rounds, const Placement&, const std::vector<RankFacts>&, bool) {
  rounds.begin("GPUs");
  rounds.end({Status::skipped, "this build has no CUDA"});
}

}  // namespace drl
