// What the command line, config files and presets say.
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"
#include "run/train_options.hpp"

namespace drl {

// Options of the command line alone.
struct CommandOptions {
  std::string config;
  std::vector<std::string> task_library;
  int ranks = 0;
  int threads = 0;  // 0 as the allocation says
  bool quiet = false;
  std::string preflight = "quick";
  bool help = false, version = false, list_tasks = false, print_config = false;
  // Isaac Lab's, accepted with a word on what they mean here.
  bool headless = false, distributed = false;
  int num_gpus = 0;
  void describe(OptionVisitor& v);
};

struct Settings {
  std::string program;  // as the user called it
  CommandOptions command;
  Options options;
  OptionTable table;
  std::vector<NamedValue> command_line;

  // `words`: the program's name and its arguments.
  explicit Settings(const std::vector<std::string>& words);
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // The text of the file `path`, "" without one. Throws UsageError. Warns of what it holds to no effect.
  std::string read_config(const std::string& path) const;
  // The same warning, of the options that the checkpoint `file` holds.
  void warn_of_commands(const std::string& options_ini, const std::string& file) const;
  // Sets all options anew: task preset, `run_ini` (of the run that is resumed, or empty), `config_ini`, command line.
  void apply(const std::string& config_ini, const std::string& run_ini = "");
};

// Throws UsageError if no task is named.
void require_task(const std::string& task);

// A word on each option of Isaac Lab's that was given.
void explain_foreign_options(const CommandOptions& command);

}  // namespace drl
