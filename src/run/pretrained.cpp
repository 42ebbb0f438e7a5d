#include "run/pretrained.hpp"

#include <algorithm>

#include "algorithms/presets.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "envs/make_env.hpp"
#include "run/state.hpp"
#include "run/train_options.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr const char* kCommand = "trained_by";

fs::path pretrained_folder() { return installation() / "share/drl/pretrained"; }

// Returns the options of a run, with the names of its files instead of their paths.
std::string options_of(const Checkpoint& checkpoint, const std::string& file) {
  Options options;
  OptionTable table;
  options.add_to(table);
  options.set_task(table, attribute<std::string>(checkpoint, file, "task"));
  table.apply_run(attribute<std::string>(checkpoint, file, "options"), file);
  for (const Option& option : table.items())
    if (option.is_path) option.assign(fs::path(option.value()).filename().string());
  return table.to_ini();
}

// Returns the option with the name of its file if the checkpoint has an attribute of the option's name, else nothing.
std::vector<std::string> file_option(const Checkpoint& checkpoint, const std::string& option) {
  const auto found = checkpoint.attributes.find(option);
  if (found == checkpoint.attributes.end()) return {};
  const fs::path path = std::get<std::string>(found->second);
  const bool is_installed = path.parent_path() == "pretrained";
  return {"--" + option, is_installed ? path.string() : path.filename().string()};
}

// Returns the command of the checkpoint's run: the options in which it differs from the preset. `recorded`: options_of.
std::string training_command(const Checkpoint& checkpoint, const std::string& file, const std::string& recorded) {
  const auto task = attribute<std::string>(checkpoint, file, "task");
  Options preset;
  OptionTable table;
  preset.add_to(table);
  preset.set_task(table, task);
  if (const auto algorithm = table.value_in(recorded, file, "algorithm")) table.set("algorithm", *algorithm);
  for (const Preset& each : presets(task, preset.train.algorithm)) table.apply_ini(each.text, each.source);
  preset.env->choose_physics();
  std::vector<std::string> words = {"drl_train", "--task", task, "--ranks",
                                    std::to_string(attribute<int64_t>(checkpoint, file, "world_size"))};
  if (preset.train.algorithm != algorithm_names().front())
    words.insert(words.end(), {"--algorithm", preset.train.algorithm});
  for (const char* option : {"task_library", "init_from", "checkpoint"})
    for (const std::string& word : file_option(checkpoint, option)) words.push_back(word);
  for (const OptionDifference& difference : differences(table, recorded, file))
    words.insert(words.end(), {"--" + difference.name, difference.other});
  return shell_line(words);
}

// Returns the names of the installed policies, sorted.
std::vector<std::string> names_in_folder() {
  std::vector<std::string> names;
  for (const fs::path& file : entries_of(pretrained_folder()))
    if (file.extension() == ".h5") names.push_back(file.stem());
  return names;
}

}  // namespace

fs::path pretrained_file(const std::string& name) {
  const std::vector<std::string> names = names_in_folder();
  if (contains(names, name)) return pretrained_folder() / (name + ".h5");
  if (names.empty())
    throw UsageError("there is no pretrained policy " + shown(name) + " (none is in " + pretrained_folder().string() +
                     "): install drl again, or give the file with --checkpoint or --init_from");
  const std::string stem = name.ends_with(".h5") ? name.substr(0, name.size() - 3) : name;
  std::string meant = nearest(stem, names);
  const auto longer = std::ranges::find_if(names, [&](const std::string& other) { return other.starts_with(stem); });
  if (meant.empty() && !stem.empty() && longer != names.end()) meant = *longer;  // "Go1"
  throw UsageError("there is no pretrained policy " + shown(name) + " (there are " + join(names, ", ") +
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
    if (contains({"task", "iteration", "env_steps", "elapsed_seconds", "world_size", "created", "versions", "git_hash"},
                 name))
      policy.attributes[name] = value;
  const std::string options = options_of(checkpoint, file);
  policy.attributes["options"] = options;
  policy.attributes[kCommand] =
      is_policy_alone(checkpoint) ? checkpoint.attributes.at(kCommand) : training_command(checkpoint, file, options);
  return policy;
}

bool is_policy_alone(const Checkpoint& checkpoint) { return checkpoint.attributes.contains(kCommand); }

}  // namespace drl
