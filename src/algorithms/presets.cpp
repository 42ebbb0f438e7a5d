#include "algorithms/presets.hpp"

#include "algorithms/make_algorithm.hpp"
#include "envs/make_env.hpp"

namespace drl {

std::vector<Preset> presets(const std::string& task, std::string_view algorithm) {
  std::vector<Preset> all = {{"preset of " + task, task_preset(task)}};
  for (const auto& kind : all_algorithms())
    for (const PresetDeviation& deviation : kind->presets())
      if (kind->name() == algorithm && (deviation.task.empty() || deviation.task == task))
        all.push_back({std::string(algorithm) + "'s preset of " + task, deviation.text});
  return all;
}

}  // namespace drl
