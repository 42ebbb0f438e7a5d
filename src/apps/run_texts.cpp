#include "apps/run_texts.hpp"

#include <filesystem>

#include "base/check.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
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
    const std::string file = find_checkpoint(origin).string();
    const Checkpoint checkpoint = read_checkpoint(file);
    if (attribute<std::string>(checkpoint, file, "task") == task) require_known_task(checkpoint, file);
  });
}

// Returns the absolute path of the checkpoint that --teacher means, which the run records. A run that goes on keeps the
// teacher that it has `recorded`: a path such as runs/TASK/latest leads to the student after the first start.
std::string checkpoint_of_teacher(const std::string& teacher, const std::string& recorded) {
  if (teacher.empty()) return "";
  if (recorded.empty() && std::filesystem::path(teacher).parent_path() == "pretrained") return teacher;
  const std::string file = std::filesystem::canonical(find_checkpoint(teacher)).string();
  if (recorded.empty() || recorded == file) return file;
  if (recorded != teacher && !started_through_srun())  // which has warned
    log::warn("the run keeps its teacher {} (--teacher {} is another one)", recorded, teacher);
  return recorded;
}

RecordedTask task_of(const std::filesystem::path& run) {
  RecordedTask recorded = recorded_task(run);
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
  RecordedTask recorded;  // on rank 0; of a resumed run without --task
  texts.run_ini = on_rank_zero(comm, [&]() -> std::string {
    auto run = run_to_resume(typed.options.run, context);
    if (!run) return "";
    if (context.task.empty()) {
      recorded = task_of(*run);
      context.task = recorded.task;
      run = run_to_resume(typed.options.run, context);
    }
    if (!started_through_srun()) typed.warn_of_ignored_options(recorded_options(*run), (*run / kOptionsIni).string());
    return recorded_options(*run);
  });
  const std::string task = on_rank_zero(comm, [&] { return recorded.task; });
  const std::string library = on_rank_zero(comm, [&] { return recorded.library; });
  if (!task.empty()) on_all_ranks(comm, [&] { load_recorded_library(task, library); });
  texts.teacher = on_rank_zero(comm, [&] {
    const std::string of_run = typed.table.value_in(texts.run_ini, kOptionsIni, "teacher").value_or("");
    return checkpoint_of_teacher(given(typed, texts, "teacher"), of_run);
  });
  return texts;
}

}  // namespace drl
