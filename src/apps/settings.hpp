// Settings from the command line, config files and presets.
#pragma once

#include <memory>
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
  int max_restarts = 0, spare_nodes = 0;  // see RestartRule
  std::string on_straggler = "keep";
  int threads = 0;  // 0: taken from the allocation
  bool quiet = false;
  std::string preflight = "quick";
  bool check = false;
  bool help = false, version = false, list_tasks = false, print_config = false;
  std::string help_on;  // the word after --help: all, or a section of options
  // Isaac Lab's options: accepted, and a log message explains their meaning here.
  bool headless = false, distributed = false;
  int num_gpus = 0;
  void describe(OptionVisitor& v);
};

// The options that the user has typed.
struct Settings {
  std::string program;  // argv[0]
  CommandOptions command;
  Options options;
  OptionTable table;
  std::vector<NamedValue> command_line;

  // Parses the command line and loads task libraries. `words` are the program's name and its arguments. The options are
  // those of the command line alone, without those of a task.
  explicit Settings(const std::vector<std::string>& words);
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // Returns the text of the file `path`, or "" if `path` is empty. Warns about options in it that have no effect.
  // Throws UsageError if the file cannot be read.
  std::string read_config(const std::string& path) const;
  // Warns about options in `options_ini` that only the command line can set. `file` is named in the message.
  void warn_of_ignored_options(const std::string& options_ini, const std::string& file) const;

 protected:
  Settings(const std::string& program, const std::vector<NamedValue>& command_line);
};

inline constexpr const char* kOptionsIni = "options.ini";  // a run's file of options

// The texts that give a run its settings, in addition to the command line.
struct RunTexts {
  std::string config{};   // of the --config file
  std::string run_ini{};  // options.ini of the resumed run
  std::string origin{};   // options of the run of --init_from or --checkpoint
  std::string teacher{};  // the run or file that --teacher means
};

// Returns whether the option belongs to an algorithm that is not the run's.
bool is_of_another_algorithm(const Option& option, const Options& options);

// Returns the value of an option that the command line, else `texts.config`, else `texts.run_ini` gives, or its
// default. Empty values do not count: --print_config without --task prints an empty task.
std::string given(const Settings& typed, const RunTexts& texts, const std::string& name);

// All settings of a run, with decreasing priority: command line, config file, the resumed run, the networks of
// the origin, presets of the task.
struct RunPlan : Settings {
  // See resolve().
  RunPlan(const Settings& typed, const RunTexts& texts, const std::vector<NamedValue>& more);

  // The options that the user has set for this run: those of the command line, and those of the config file that change
  // the results and have neither their default nor their preset. A file of --print_config has all options, and a file
  // may be for runs on several machines and with several algorithms.
  std::vector<NamedValue> chosen;

  // Throws UsageError if there is no task, or if the user has set options of recurrent layers without choosing such
  // layers, or on the command line those of another algorithm, or a number beyond the limit that another option sets.
  void require_usable() const;

 private:
  // Sets the options that decide what the networks compute to those of the origin.
  void take_networks(const std::string& origin);
  std::vector<NamedValue> chosen_in(const RunTexts& texts) const;
};

// Returns the settings of the run. `more` comes after the options of the command line. Throws UsageError if they are
// wrong, or if the resumed run has another task. Pure: the result depends on the arguments and the known tasks.
inline std::unique_ptr<const RunPlan> resolve(const Settings& typed, const RunTexts& texts,
                                              const std::vector<NamedValue>& more = {}) {
  return std::make_unique<const RunPlan>(typed, texts, more);
}

// Returns the help: the common options, or those that the user asked for with --help all or --help SECTION.
std::string option_help(const RunPlan& plan);

// Logs what each given option of Isaac Lab means here.
void explain_isaac_lab_options(const CommandOptions& command);

}  // namespace drl
