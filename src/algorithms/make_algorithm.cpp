#include "algorithms/make_algorithm.hpp"

#include "algorithms/distill/distill.hpp"
#include "algorithms/grpo/grpo.hpp"
#include "algorithms/ppo/ppo.hpp"
#include "algorithms/sac/sac.hpp"
#include "algorithms/td3/td3.hpp"

namespace drl {
namespace {

template <class... Learners>
std::vector<std::unique_ptr<AlgorithmKind>> kinds_of() {
  std::vector<std::unique_ptr<AlgorithmKind>> kinds;
  (kinds.push_back(std::make_unique<AlgorithmKindOf<Learners>>()), ...);
  return kinds;
}

}  // namespace

std::vector<std::unique_ptr<AlgorithmKind>> all_algorithms() { return kinds_of<Ppo, Grpo, Sac, Td3, Distill>(); }

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& kind : all_algorithms()) names.emplace_back(kind->name());
  return names;
}

std::string algorithm_with_teacher() {
  for (const auto& kind : all_algorithms())
    if (kind->needs_teacher()) return std::string(kind->name());
  return "";
}

}  // namespace drl
