#include "doctor/gpu_checks.hpp"

namespace drl {

void add_gpu_facts(const Placement&, RankFacts&) {}

void check_gpus(Rounds& rounds, const Placement&, const Ranks&, bool) {
  rounds.begin("GPUs");
  rounds.end({"GPUs", Status::skipped, "this build has no CUDA"});
}

}  // namespace drl
