#include "apps/run_texts.hpp"

#include <filesystem>

#include "apps/teacher.hpp"
#include "base/check.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "launch/allocation.hpp"
#include "placement/relaunch.hpp"
#include "run/run_manifest.hpp"
#include "store/checkpoint.hpp"

namespace drl {
namespace {

// If --task is unknown and is that of --init_from or --checkpoint, throws an error that names its task library.
void require_task_of_origin(const Settings& typed, Communicator& comm) {
  const std::string origin = origin_of(typed.options.run), task = typed.options.train.task;
  if (origin.empty() || task.empty() || caught_usage_error([&] { task_record(task); }).empty()) return;
  on_rank_zero(comm, [&] {
    const std::string file = find_checkpoint(origin, typed.options.run.runs_dir).string();
    const Checkpoint checkpoint = read_checkpoint(file);
    if (attribute<std::string>(checkpoint, file, "task") == task) require_known_task(checkpoint, file);
  });
}

// Returns the run that a start without --resume and --load_run continues if it exists.
std::filesystem::path run_of_same_name(const RunOptions& options, const RunContext& context) {
  const std::string name = !options.run_name.empty() ? options.run_name : "slurm-" + context.job_id;
  return runs_folder(options.runs_dir) / context.task / name;
}

// Returns the options of the run of --init_from or --checkpoint, or "". They may be gone when a job is requeued: its
// run has recorded the same.
std::string options_of_origin(const RunOptions& options, const std::filesystem::path& run) {
  const std::string origin = origin_of(options);
  if (origin.empty()) return "";
  try {
    const std::filesystem::path file = find_checkpoint(origin, options.runs_dir);
    return attribute<std::string>(read_checkpoint(file), file.string(), "options");
  } catch (const UsageError&) {
    return file_text(run / kOptionsIni);
  }
}

RecordedRun task_of(const std::filesystem::path& run) {
  RecordedRun recorded = recorded_run(run);
  if (recorded.task.empty())
    throw UsageError((run / "run.json").string() + " does not name the run's task (it is missing or damaged): give " +
                     "--task");
  return recorded;
}

}  // namespace

RunContext run_context(const std::string& task, const LaunchInfo& launch) {
  return {task, launch.job_id, utc_time_for_names(), is_continuation(allocation(process_environment()), launch.job_id)};
}

RunTexts read_texts(const Settings& typed, const LaunchInfo& launch, Communicator& comm) {
  RunTexts texts;
  texts.config = on_rank_zero(comm, [&] { return typed.read_config(typed.command.config); });
  require_task_of_origin(typed, comm);
  RunContext context = run_context("", launch);
  on_all_ranks(comm, [&] { context.task = own_task_name(given(typed, texts, "task")); });
  RecordedRun recorded;                          // on rank 0; of a resumed run without --task
  std::optional<std::filesystem::path> resumed;  // on rank 0
  texts.run_ini = on_rank_zero(comm, [&]() -> std::string {
    auto run = run_to_resume(typed.options.run, context);
    if (!run) return "";
    if (context.task.empty()) {
      recorded = task_of(*run);
      context.task = recorded.task;
      run = run_to_resume(typed.options.run, context);
    }
    resumed = run;
    if (!started_through_srun()) typed.warn_of_ignored_options(recorded_options(*run), (*run / kOptionsIni).string());
    return recorded_options(*run);
  });
  const std::string task = on_rank_zero(comm, [&] { return recorded.task; });
  const std::string library = on_rank_zero(comm, [&] { return recorded.library; });
  if (!task.empty()) on_all_ranks(comm, [&] { load_recorded_library(task, library); });
  const std::filesystem::path run = resumed.value_or(run_of_same_name(typed.options.run, context));
  texts.origin = on_rank_zero(comm, [&] { return options_of_origin(typed.options.run, run); });
  texts.teacher = on_rank_zero(comm, [&] {
    const std::string ini = file_text(run / kOptionsIni);
    return meaning_of_teacher(given(typed, texts, "teacher"), run,
                              typed.table.value_in(ini, kOptionsIni, "teacher").value_or(""),
                              typed.options.run.runs_dir);
  });
  return texts;
}

}  // namespace drl
