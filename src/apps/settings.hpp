// Settings from the command line, config files and presets.
#pragma once

#include <string>
#include <vector>

#include "base/options.hpp"
#include "run/train_options.hpp"

namespace drl {

// The options of the program itself. Only the command line can set them.
struct CommandOptions {
  std::string config;
  std::vector<std::string> task_library;
  int ranks = 0;
  int threads = 0;  // 0: taken from the allocation
  bool quiet = false;
  std::string preflight = "quick";
  bool help = false, help_all = false, version = false, list_tasks = false, print_config = false;
  // Isaac Lab's options: accepted, and a log message explains their meaning here.
  bool headless = false, distributed = false;
  int num_gpus = 0;
  void describe(OptionVisitor& v);
};

struct Settings {
  std::string program;  // argv[0]
  CommandOptions command;
  Options options;
  OptionTable table;
  std::vector<NamedValue> command_line;

  // Parses the command line and loads task libraries. `words` are the program's name and its arguments.
  explicit Settings(const std::vector<std::string>& words);
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // Returns the text of the file `path`, or "" if `path` is empty. Warns about options in it that have no effect.
  // Throws UsageError if the file cannot be read.
  std::string read_config(const std::string& path) const;
  // Warns about options in `options_ini` that only the command line can set. `file` is named in the message.
  void warn_of_ignored_options(const std::string& options_ini, const std::string& file) const;
  // Sets all options again, with increasing priority: task preset, `run_ini` (options of the resumed run, or empty),
  // `config_ini`, command line.
  void apply(const std::string& config_ini, const std::string& run_ini = "");
  // Returns the options that the user has set for this run: those of the command line, and those of `config_ini` that
  // change the results and have neither their default nor their preset. A file of --print_config has all options, and a
  // file may be for runs on several machines and with several algorithms.
  std::vector<NamedValue> chosen_options(const std::string& config_ini) const;
  // Throws UsageError if the user has set options of recurrent layers without choosing such layers, or on the command
  // line those of another algorithm.
  void require_chosen(const std::string& config_ini) const;
};

// Returns the help: the common options, or all of them if the user typed --help all.
std::string option_help(const Settings& settings);

// Throws UsageError if `task` is empty.
void require_task(const std::string& task);

// Logs what each given option of Isaac Lab means here.
void explain_isaac_lab_options(const CommandOptions& command);

}  // namespace drl
