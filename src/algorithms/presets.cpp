#include "algorithms/presets.hpp"

#include "algorithms/make_algorithm.hpp"
#include "envs/make_env.hpp"

namespace drl {

namespace {

bool is_for(const PresetDeviation& deviation, const std::string& task) {
  const bool is_part = deviation.task.empty() || deviation.task.starts_with('-');
  return is_part ? task.find(deviation.task) != std::string::npos : deviation.task == task;
}

}  // namespace

std::vector<Preset> presets(const std::string& task, std::string_view algorithm) {
  std::vector<Preset> all = {{"preset of " + task, task_preset(task)}};
  for (const auto& kind : all_algorithms())
    for (const PresetDeviation& deviation : kind->presets())
      if (kind->name() == algorithm && is_for(deviation, task))
        all.push_back({std::string(algorithm) + "'s preset of " + task, deviation.text});
  return all;
}

}  // namespace drl
