#include "algorithms/options.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {

std::vector<Circumstance> UpdateOptions::circumstances() const {
  return {{"annealing", anneals() ? "yes" : "no", "neither entropy_coef nor desired_kl changes"}};
}

std::string UpdateOptions::describe_update(const BatchPlan& plan) const {
  return fmt::format("{} epochs of {} mini-batches of {} samples", num_learning_epochs, num_mini_batches,
                     with_commas(plan.samples_per_step()));
}

std::vector<std::string> UpdateOptions::warnings(std::string_view section, int64_t done, int64_t max_iterations) const {
  const int64_t end = schedule_iterations, first = std::max(done, end) + 1;
  if (schedule != "linear" || first > max_iterations) return {};
  return {fmt::format(
      "iterations {} to {} do not train the policy (the linear schedule of the learning rate ends at iteration {}): "
      "give --{}.schedule_iterations {} too, or a smaller --max_iterations",
      first, max_iterations, end, section, max_iterations)};
}

}  // namespace drl
