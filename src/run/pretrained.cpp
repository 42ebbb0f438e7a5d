#include "run/pretrained.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/installation.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "run/state.hpp"
#include "run/train_options.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr const char* kCommand = "trained_by";

fs::path pretrained_folder() { return installation() / "share/drl/pretrained"; }

// Returns the command that trains such a policy: the options in which the checkpoint's run differs from the preset.
std::string training_command(const Checkpoint& checkpoint, const std::string& file) {
  const auto task = attribute<std::string>(checkpoint, file, "task");
  const auto recorded = attribute<std::string>(checkpoint, file, "options");
  Options preset;
  OptionTable table;
  preset.add_to(table);
  std::vector<NamedValue> chosen = table.options_in(recorded, file);
  std::erase_if(chosen, [](const NamedValue& option) { return option.name != "task" && option.name != "algorithm"; });
  preset.apply(table, [&] { table.apply(chosen); });
  table.apply_ini(task_preset(task), task);
  table.apply_ini(preset.algorithm().preset(task), task);
  preset.env->choose_physics();
  std::vector<std::string> words = {"drl_train", "--task", task, "--ranks",
                                    std::to_string(attribute<int64_t>(checkpoint, file, "world_size"))};
  if (preset.train.algorithm != algorithm_names().front())
    words.insert(words.end(), {"--algorithm", preset.train.algorithm});
  for (const OptionDifference& difference : differences(table, recorded, file))
    words.insert(words.end(), {"--" + difference.name, difference.other});
  return shell_line(words);
}

// Returns the names of the installed policies, sorted.
std::vector<std::string> names_in_folder() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(pretrained_folder(), ignored))
    if (entry.path().extension() == ".h5") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

}  // namespace

fs::path pretrained_file(const std::string& name) {
  const std::vector<std::string> names = names_in_folder();
  if (contains(names, name)) return pretrained_folder() / (name + ".h5");
  std::string meant = nearest(name, names);
  const auto longer = std::ranges::find_if(names, [&](const std::string& other) { return other.starts_with(name); });
  if (meant.empty() && !name.empty() && longer != names.end()) meant = *longer;  // "Go1"
  throw UsageError("there is no pretrained policy " + shown(name) + " (" +
                   (names.empty() ? "none is in " + pretrained_folder().string() : "there are " + join(names, ", ")) +
                   "): " + (meant.empty() ? "give another name" : "did you mean " + meant + "?"));
}

std::string policy_source(const fs::path& file) {
  return file.parent_path() == pretrained_folder() ? "pretrained/" + file.stem().string() : file.string();
}

Checkpoint policy_alone(const Checkpoint& checkpoint, const std::string& file) {
  Checkpoint policy;
  for (const Tensor& tensor : checkpoint.tensors)
    if (is_of_actor(tensor.name)) policy.tensors.push_back(tensor);
  for (const auto& [name, value] : checkpoint.attributes)
    if (contains({"task", "options", "iteration", "env_steps", "elapsed_seconds", "world_size", "created", "versions",
                  "git_hash"},
                 name))
      policy.attributes[name] = value;
  policy.attributes[kCommand] =
      is_policy_alone(checkpoint) ? checkpoint.attributes.at(kCommand) : training_command(checkpoint, file);
  return policy;
}

bool is_policy_alone(const Checkpoint& checkpoint) { return checkpoint.attributes.contains(kCommand); }

}  // namespace drl
