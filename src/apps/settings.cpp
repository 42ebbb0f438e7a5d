#include "apps/settings.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"

namespace drl {

void CommandOptions::describe(OptionVisitor& v) {
  constexpr Where here = Where::command_line;
  v("config", config, "file of options, as --print_config prints it", Effect::none, here);
  v("task_library", task_library, "load tasks from this library too; give it again for another", Effect::none, here);
  v("ranks", ranks, "start this many ranks in all: on this machine, or on a Slurm job's nodes; 1 = one a task",
    at_least(0), Effect::none, here);
  v("threads", threads, "threads of each rank, 0 = as the allocation says (-c), else 1", at_least(0), Effect::none,
    here);
  v("quiet", quiet, "print warnings and errors only", Effect::none, here);
  v("preflight", preflight, "look before training whether all nodes have this build, and the run directory",
    one_of({"quick", "off"}), Effect::none, here);
  v("help", help, "this text, with the preset of --task", Effect::none, here, letter('h'));
  v("version", version, "version, git hash and MPI library", Effect::none, here);
  v("list_tasks", list_tasks, "names of all tasks", Effect::none, here);
  v("print_config", print_config, "all options as a file for --config", Effect::none, here);
  v("headless", headless, "Isaac Lab's; nothing is ever drawn here", Effect::none, here, hidden);
  v("distributed", distributed, "Isaac Lab's; the launcher or --ranks decides here", Effect::none, here, hidden);
  v("num_gpus", num_gpus, "Isaac Lab's; one rank drives one device here", at_least(0), Effect::none, here, hidden);
}

Settings::Settings(const std::vector<std::string>& words) : program(words.front()) {
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  table.section("", "Program", command);
  options.add_to(table);
  command_line = table.parse_command_line(arguments);
  table.apply(command_line);
  load_task_libraries(command.task_library);
}

void Settings::apply(const std::string& config_ini, const std::string& run_ini) {
  const auto apply_given = [&] {
    table.apply_run(run_ini, "options.ini");
    const std::string task_of_run = options.train.task;
    table.apply_ini(config_ini, command.config);
    table.apply(command_line);
    if (!run_ini.empty() && options.train.task != task_of_run)  // whose options another task would not know
      throw UsageError("cannot resume the run (task: " + task_of_run + " -> " + printable(options.train.task) +
                       "): task, algorithm and seed cannot change; begin another run");
  };
  options.apply(table, apply_given);
  const std::string task = options.train.task;
  if (task.empty()) return;
  table.apply_ini(task_preset(task), "preset of " + task);
  const AlgorithmKind& algorithm = options.algorithm();
  table.apply_ini(algorithm.preset(task), std::string(algorithm.title()) + "'s preset of " + task);
  apply_given();
}

std::string Settings::read_config(const std::string& path) const {
  if (path.empty()) return "";
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path))
    throw UsageError("cannot read the config file " + printable(path) + " (no such readable file): check --config");
  warn_of_commands(text.str(), path);
  return text.str();
}

void Settings::warn_of_commands(const std::string& options_ini, const std::string& file) const {
  for (const std::string& line : table.without_effect(options_ini, file))
    log::warn("{} has no effect (a file shall not make a run execute commands): give it on the command line", line);
}

void require_task(const std::string& task) {
  if (task.empty()) throw UsageError("--task is missing (what shall be learned?): one of " + join(task_names(), ", "));
}

void explain_foreign_options(const CommandOptions& command) {
  if (command.headless) log::info("--headless: nothing is ever drawn here");
  if (command.distributed) log::info("--distributed: every run is; its ranks come from srun, mpirun or --ranks N");
  if (command.num_gpus > 0)
    log::info("--num_gpus: start one rank per GPU by srun, mpirun or --ranks {}", command.num_gpus);
}

}  // namespace drl
