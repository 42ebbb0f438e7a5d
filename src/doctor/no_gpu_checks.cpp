#include "doctor/checks.hpp"
#include "doctor/findings.hpp"

namespace drl {

void add_gpu_facts(const Placement&, RankFacts&, bool) {}

void check_gpus(MessageRounds& rounds, const Placement&, const std::vector<RankFacts>& ranks, bool wants_cpu) {
  rounds.begin("GPUs");
  const std::string others = wants_cpu ? "" : other_gpus_text(ranks);
  rounds.end({Status::skipped, "this build has no CUDA" + (others.empty() ? "" : "; " + others)});
}

}  // namespace drl
