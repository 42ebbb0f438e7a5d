#include "apps/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "algorithms/presets.hpp"
#include "apps/habits.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "launch/launch_info.hpp"
#include "placement/device.hpp"

namespace drl {
namespace {

constexpr size_t kMostConfigBytes = 1 << 20;

// Returns how many steps of environments, of all ranks, an iteration has with these arguments without a number of
// steps; 0 if it is not known.
int64_t steps_of_iteration(std::vector<std::string> words) {
  for (size_t k = 1; k < words.size(); ++k) {
    std::string name = words[k].substr(0, words[k].find('='));
    std::ranges::replace(name, '-', '_');
    if (!name.ends_with("timesteps")) continue;
    const bool has_value = name.size() < words[k].size();
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(k);
    words.erase(at, has_value || at + 1 == words.end() ? at + 1 : at + 2);
    --k;
  }
  try {
    const Settings typed(words);
    const auto plan = resolve(typed, {.config = typed.read_config(typed.command.config)});
    const TrainOptions& train = plan->options.train;
    const int ranks = std::max({1, typed.command.ranks, launch_info().world_size});
    const int64_t envs = train.num_envs_total > 0 ? train.num_envs_total : int64_t{train.num_envs} * ranks;
    return train.task.empty() ? 0 : envs * train.num_steps_per_env;
  } catch (const UsageError&) {
    return 0;
  }
}

}  // namespace

bool is_of_another_algorithm(const Option& option, const Options& options) {
  return contains(algorithm_names(), option.section) && option.section != options.train.algorithm;
}

void CommandOptions::describe(OptionVisitor& v) {
  constexpr Where here = Where::command_line;
  v("config", config, "read options from this file; --print_config prints such a file", as_path, Effect::none, here,
    common, always);
  v("task_library", task_library, "also load tasks from this library; may be repeated", as_path, Effect::none, here,
    per_rank(), common, always);
  v("ranks", ranks,
    "start this number of ranks on this machine, or on the nodes of a Slurm job; 0 = in a Slurm step one rank per GPU, "
    "or per core without GPUs, and elsewhere one rank; 1 = start no ranks in addition to the launcher's",
    at_least(0), Effect::none, here, common, always);
  v("max_restarts", max_restarts,
    "with --ranks: when a rank or its node dies, start the ranks again from the last checkpoint, on the nodes that "
    "still answer, at most this often",
    at_least(0), Effect::none, here, always);
  v("spare_nodes", spare_nodes, "nodes of a Slurm job that stay idle until another one dies", at_least(0), Effect::none,
    here, not_with("max_restarts", "0"), always);
  v("on_straggler", on_straggler,
    "whether a restart keeps or leaves out the nodes of a Slurm job whose ranks made others wait (slow_ranks in "
    "run.json)",
    one_of({"keep", "drop"}), Effect::none, here, not_with("max_restarts", "0"), always);
  v("threads", threads, "threads per rank; 0 = as many as the allocation gives (-c), else 1", at_least(0), Effect::none,
    here, per_rank(), always);
  v("quiet", quiet, "print warnings and errors only", Effect::none, here, always);
  v("preflight", preflight,
    "check before training that all nodes have the same build and see the run directory; off skips this",
    one_of({"quick", "off"}), Effect::none, here, always);
  v("check", check,
    "find what is wrong with the run without devices and without writing files; 0 is the exit code if drl_train would "
    "start, else 2",
    Effect::none, here, common, always);
  v("help", help,
    "print the common options, with the values of --task's preset; --help all prints all, --help policy those of "
    "policy",
    Effect::none, here, letter('h'), common, always);
  v("help_on", help_on, "what --help WORD means", Effect::none, here, hidden, always);
  v("version", version, "print version, git hash and MPI library", Effect::none, here, common, always);
  v("list_tasks", list_tasks, "print all tasks, with their sizes, a description and their library", Effect::none, here,
    common, always);
  v("print_config", print_config, "print all options as a file for --config", Effect::none, here, common, always);
  v("headless", headless, "for Isaac Lab's command lines; drl_train never opens a window", Effect::none, here, hidden,
    always);
  v("distributed", distributed, "for Isaac Lab's command lines; here the launcher or --ranks decides", Effect::none,
    here, hidden, always);
  v("num_gpus", num_gpus, "for Isaac Lab's command lines; here each rank uses one device", at_least(0), Effect::none,
    here, hidden, always);
}

Settings::Settings(const std::string& name, const std::vector<NamedValue>& typed) : program(name), command_line(typed) {
  table.section("", "Program", command);
  options.add_to(table);
  table.apply(command_line);
}

Settings::Settings(const std::vector<std::string>& words) : Settings(words.front(), {}) {
  std::vector<std::string> arguments = with_gpu_ids_joined({words.begin() + 1, words.end()});
  for (size_t k = 0; k < arguments.size(); ++k) {
    const bool is_help = arguments[k] == "--help" || arguments[k] == "-h";
    if (is_help && k + 1 < arguments.size() && !arguments[k + 1].starts_with("-")) {
      arguments[k] = "--help=" + arguments[k + 1];
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(k + 1));
    }
    constexpr std::string_view kHelp = "--help=";
    if (arguments[k].starts_with(kHelp)) arguments[k] = "--help_on=" + arguments[k].substr(kHelp.size());
  }
  // The first option of this name is the program's own, or that of the default algorithm.
  answer_habits(
      arguments,
      [&](const std::string& name) {
        const auto found = std::ranges::find_if(table.items(), [&](const Option& option) {
          return option.name == name || option.name.ends_with("." + name);
        });
        return found == table.items().end() ? "" : found->name;
      },
      [&] { return steps_of_iteration(words); });
  command_line = table.parse_command_line(arguments);
  table.apply(command_line);
  if (!command.help_on.empty()) command.help = true;
  load_task_libraries(command.task_library);
}

std::string given(const Settings& typed, const RunTexts& texts, const std::string& name) {
  const std::string value = typed.table.find(name).value();
  const bool is_typed = std::ranges::find(typed.command_line, name, &NamedValue::name) != typed.command_line.end();
  if (is_typed && !value.empty()) return value;
  const std::pair<const std::string*, std::string> files[] = {{&texts.config, printable(typed.command.config, 200)},
                                                              {&texts.run_ini, kOptionsIni}};
  for (const auto& [text, file] : files)
    if (const auto found = typed.table.value_in(*text, file, name); found && !found->empty()) return *found;
  return value;
}

RunPlan::RunPlan(const Settings& typed, const RunTexts& texts, const std::vector<NamedValue>& more)
    : Settings(typed.program, typed.command_line) {
  command_line.insert(command_line.end(), more.begin(), more.end());
  const std::string task = own_task_name(given(typed, texts, "task"));
  const std::string task_of_run = table.value_in(texts.run_ini, kOptionsIni, "task").value_or(task);
  if (task != task_of_run)  // the other task may not have these options
    throw UsageError("cannot resume the run (task: " + task_of_run + " -> " + printable(task) +
                     "; a run keeps its task): start another run with --run_name, or give the run's own task");
  options.set_task(table, task);
  if (!task.empty()) {
    answer_task_habits(command_line, table.items());
    for (const Preset& preset : presets(task, given(typed, texts, "algorithm")))
      table.apply_ini(preset.text, preset.source);
  }
  take_networks(texts.origin);
  table.apply_run(texts.run_ini, kOptionsIni);
  table.apply_ini(texts.config, printable(command.config, 200));
  table.apply(command_line);
  command.help = false;  // so that the table does not show it as switched on
  options.train.task = task;
  if (!texts.teacher.empty()) options.train.teacher = texts.teacher;
  chosen = chosen_in(texts);
}

void RunPlan::take_networks(const std::string& origin) {
  const auto recorded = [&](const std::string& name) { return table.value_in(origin, kOptionsIni, name); };
  const std::string &now = options.train.algorithm, then = recorded("algorithm").value_or(now);
  if (recorded("task") != options.train.task) return;  // load_start refuses it
  for (const Option& option : table.items()) {
    if (!option.shapes || is_of_another_algorithm(option, options)) continue;
    if (!option.shapes->part.empty() && then != now) continue;  // the other algorithm may have no such part
    const std::string name = option.section == now ? then + option.name.substr(now.size()) : option.name;
    const auto there = std::ranges::find(table.items(), name, &Option::name);
    if (there != table.items().end()) option.assign(recorded(name).value_or(there->value_if_absent()));
  }
}

void RunPlan::require_usable() const {
  if (options.train.task.empty())
    throw UsageError("--task is missing (it names the task to learn): give one of " + join(task_names(), ", "));
  for (const NamedValue& option : command_line)  // files may have sections of several algorithms
    if (const Option& found = table.find(option.name); is_of_another_algorithm(found, options))
      throw UsageError("--" + option.name + " needs another algorithm (--algorithm is " + options.train.algorithm +
                       "): give --algorithm " + found.section + " too, or leave it out");
  table.require_limits(chosen);
  if (options.policy.is_recurrent()) return;
  for (const NamedValue& option : chosen)
    if (option.name == "policy.rnn_hidden_dim" || option.name == "policy.rnn_num_layers")
      throw UsageError("--" + option.name +
                       " needs recurrent layers (--policy.rnn_type is none): give --policy.rnn_type gru or lstm too");
}

std::vector<NamedValue> RunPlan::chosen_in(const RunTexts& texts) const {
  std::vector<NamedValue> found = command_line;
  if (options.train.task.empty()) return found;
  std::map<std::string, std::string> of_presets;
  for (const Preset& preset : presets(options.train.task, options.train.algorithm))
    for (const NamedValue& option : table.options_in(preset.text, preset.source))
      of_presets[option.name] = option.value;
  for (const NamedValue& entry : table.options_in(texts.config, command.config)) {
    const Option& option = table.find(entry.name);
    const auto preset = of_presets.find(entry.name);
    const bool is_preset = preset != of_presets.end() && entry.value == preset->second;
    if (option.effect == Effect::numbers && !is_of_another_algorithm(option, options) && !is_preset &&
        entry.value != option.default_text)
      found.push_back(entry);
  }
  return found;
}

std::string Settings::read_config(const std::string& path) const {
  if (path.empty()) return "";
  std::ifstream file(path);
  std::string text(kMostConfigBytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if ((!file && !file.eof()) || std::filesystem::is_directory(path))
    throw UsageError("cannot read the config file " + printable(path) + " (no such readable file): check --config");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMostConfigBytes)
    throw UsageError(fmt::format("the file {} is larger than {} (config files are short): check --config",
                                 printable(path), human_bytes(kMostConfigBytes)));
  warn_of_ignored_options(text, path);
  return text;
}

void Settings::warn_of_ignored_options(const std::string& options_ini, const std::string& file) const {
  for (const std::string& line : table.ignored_options(options_ini, file))
    log::warn("{} has no effect (for safety, files cannot set this option): give it on the command line", line);
}

std::string option_help(const RunPlan& plan) {
  const auto is_common = [&](const Option& option) {
    if (option.section == "env" || option.section.starts_with("env.")) return true;
    return option.is_common && !is_of_another_algorithm(option, plan.options);
  };
  const std::string& on = plan.command.help_on;
  if (on == "all") return plan.table.help();
  if (!on.empty()) {
    std::vector<std::string> sections;
    for (const Option& option : plan.table.items())
      if (const std::string name = option.section.substr(0, option.section.find('.'));
          !name.empty() && !contains(sections, name))
        sections.push_back(name);
    if (!contains(sections, on))
      throw UsageError("--help " + printable(on) + " (there are no such options): give --help all, or one of " +
                       join(sections, ", "));
    return plan.table.help(
        0, [&](const Option& option) { return option.section == on || option.section.starts_with(on + "."); });
  }
  return plan.table.help(0, is_common) + "\ndrl_train --help all prints all options.\n";
}

void explain_isaac_lab_options(const CommandOptions& command) {
  if (command.headless) log::info("--headless has no effect: drl_train never opens a window");
  if (command.distributed)
    log::info("--distributed has no effect: every run is distributed over the ranks of srun, mpirun or --ranks N");
  if (command.num_gpus > 0) log::info("--num_gpus has no effect: the launcher, or --ranks N, starts one rank per GPU");
}

}  // namespace drl
