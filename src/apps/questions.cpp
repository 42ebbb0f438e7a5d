#include "apps/questions.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/descriptor.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/mpi_library.hpp"
#include "comm/session.hpp"
#include "envs/make_env.hpp"
#include "launch/child.hpp"

namespace drl {
namespace {

constexpr const char* kUsage =
    "drl_train: trains a policy by data-parallel reinforcement learning, on one rank\n"
    "or many.\n"
    "\n"
    "  drl_train --task Cartpole                       one rank\n"
    "  drl_train --task Cartpole --ranks 4             four ranks on this machine\n"
    "  mpirun -n 4 drl_train --task Cartpole           the same, started by mpirun\n"
    "  srun -N2 --gpus-per-node=4 drl_train --task Cartpole\n"
    "                                                  on a Slurm cluster: one rank\n"
    "                                                  per GPU, or per core\n"
    "  sbatch train_2node.sbatch --task Cartpole       a job that requeues itself\n"
    "                                                  until it is done\n"
    "  drl_train --task_library libmy.so --task Mine   your own task (see\n"
    "                                                  drl_new_task)\n"
    "  drl_train --load_run R                          resume run R\n"
    "  drl_train --task Cartpole --print_config > my.ini; drl_train --config my.ini\n"
    "\n"
    "A value comes from the command line, else from the --config file, else from the\n"
    "task's preset, else from the default. In option names, - and _ are\n"
    "interchangeable.\n"
    "Exit codes: 0 done; 1 failure; 2 wrong usage; 75 saved, can be resumed; 130\n"
    "SIGINT; 143 SIGTERM, SIGHUP.\n";

// Prints the tasks, those of a library below its name.
void list_tasks() {
  const std::vector<std::string> names = task_names();
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string origin;
  for (const std::string& name : names) {
    const TaskRecord& record = task_record(name);
    if (const std::string library = task_origin(name); library != origin)
      std::printf("\n# %s\n", (origin = library).c_str());
    const std::string actions = counted(record.action_size, record.discrete ? "choice" : "action");
    std::printf("%-*s %3d observations, %-10s  %s\n", static_cast<int>(width), name.c_str(),
                record.obs_dim * record.history, actions.c_str(), record.description ? record.description : "");
  }
}

void print_help(const RunPlan& plan) {
  const std::string& task = plan.options.train.task;
  std::printf(
      "%s\nOptions, with %s:\n\n%s", kUsage,
      task.empty() ? "their default values (--task T --help shows T's preset)" : ("the preset of " + task).c_str(),
      option_help(plan).c_str());
}

}  // namespace

bool answer_question(const Settings& typed, const LaunchInfo& launch) {
  const CommandOptions& command = typed.command;
  const bool is_asked = command.list_tasks || command.version || command.help || command.print_config;
  if (launch.rank != 0 || !is_asked) return is_asked;
  const auto plan = [&] { return resolve(typed, {.config = typed.read_config(command.config)}); };
  if (command.list_tasks) {
    list_tasks();
  } else if (command.version) {
    std::printf("drl %s (%s), %s\n", kVersion, kGitHash, mpi_version().c_str());
  } else if (command.help) {
    print_help(*plan());
  } else {
    std::printf("%s", plan()->table.to_ini().c_str());
  }
  std::fflush(stdout);  // before this rank waits for others
  return true;
}

std::vector<NamedValue> questions_in(const std::vector<NamedValue>& given) {
  std::vector<NamedValue> questions;
  for (const NamedValue& option : given)
    if (contains({"help", "help_on", "version", "list_tasks", "print_config"}, option.name))
      questions.push_back(option);
  return questions;
}

int compare_after_answer(const LaunchInfo& launch, const std::function<void(Communicator&)>& compare) {
  if (launch.world_size == 1 || !speaks_to_mpi(launch)) return kDone;
  const int code = run_in_copy([&] {
    const Descriptor console(dup(STDERR_FILENO)), nowhere(open("/dev/null", O_WRONLY));
    dup2(nowhere, STDERR_FILENO);
    bool has_started = false;
    const int result = run_session(launch, [&](Communicator& comm) {
      has_started = true;
      dup2(console, STDERR_FILENO);
      compare(comm);
      return int{kDone};
    });
    return has_started ? result : int{kDone};
  });
  return code == ExitCode::kUsage ? ExitCode::kUsage : kDone;
}

}  // namespace drl
