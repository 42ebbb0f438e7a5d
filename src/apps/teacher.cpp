#include "apps/teacher.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "run/pretrained.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"

namespace drl {

TeacherRun::TeacherRun(const Options& student, Communicator& comm) : student_(student) {
  const std::string& run = student.train.teacher;
  file_ = on_rank_zero(comm, [&] {
    if (run.empty())
      throw UsageError("--algorithm " + student.train.algorithm +
                       " needs a teacher (the student learns its actions): give --teacher RUN, or --teacher "
                       "pretrained/NAME");
    std::string file = find_checkpoint(run).string();
    checkpoint_ = read_checkpoint(file);
    load_task_of(checkpoint_, file);
    return file;
  });
  task_ = on_rank_zero(comm, [&] { return attribute<std::string>(checkpoint_, file_, "task"); });
  const std::string ini = on_rank_zero(comm, [&] { return attribute<std::string>(checkpoint_, file_, "options"); });
  const std::string library = on_rank_zero(comm, [&] {
    return checkpoint_.attributes.contains("task_library") ? attribute<std::string>(checkpoint_, file_, "task_library")
                                                           : std::string();
  });
  if (!library.empty()) on_all_ranks(comm, [&] { load_recorded_library(task_, library); });
  is_alone_ = !on_rank_zero(comm, [&] { return std::string(is_policy_alone(checkpoint_) ? "alone" : ""); }).empty();
  on_all_ranks(comm, [&] {
    options_.take_recorded(task_, ini, file_);
    spec_ = options_.policy_spec();
    require_fit();
  });
}

ObservationGroup TeacherRun::group() const { return std::get<GroupPlan>(options_.env->setup().wrappers).actor; }

// The teacher sees a whole group of the student's task. Observations of the policy's group must have the same names.
void TeacherRun::require_fit() const {
  const std::string& task = student_.train.task;
  const TaskSpec own = task_spec(task), now = task_spec(task, student_setup());
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("the teacher {} cannot teach {} ({}): give another --teacher or --task", file_, task, why));
  };
  const int inputs = spec_.inputs(), given = now.critic_obs_dim;
  const std::string group_name = group() == ObservationGroup::critic ? "critic" : "policy";
  if (inputs != given)
    refuse(fmt::format("it sees {} of the group {}, and the student's task has {} there",
                       counted(inputs, "observation"), group_name, given));
  if (group() == ObservationGroup::policy && !own.observations.empty())
    for (size_t k = 0; k < own.observations.size() && k < spec_.observations.size(); ++k)
      if (own.observations[k].name != spec_.observations[k].name)
        refuse(fmt::format("it sees {}, where the student's task has {}", spec_.observations[k].name,
                           own.observations[k].name));
  if (spec_.action.discrete) refuse("its actions are discrete, and the student learns continuous ones");
  if (std::visit([](const auto& d) { return are_within_bounds(d.kOutputs); }, spec_.distribution))
    refuse("with its --policy.distribution, actions are not the outputs of its network, which the student learns");
  if (outputs(spec_.distribution) != spec_.action.size)
    refuse("its networks compute standard deviations, and the student learns actions alone");
  if (spec_.action.size != now.action.size)
    refuse(fmt::format("it chooses {}, and the student's task has {}", counted(spec_.action.size, "action"),
                       now.action.size));
}

EnvSetup TeacherRun::student_setup() const {
  EnvSetup setup = student_.env->setup();
  std::get<GroupPlan>(setup.wrappers).critic = group();
  return setup;
}

const Teacher& TeacherRun::load(RunEngine& engine, int64_t rows, Communicator& comm) {
  on_all_ranks(comm, [&] { nets_ = engine.make_nets(spec_.layout, rows); });
  PolicyMemory& memory = memory_.emplace(engine.queue(), spec_);
  StateList state = list_state([&](StateVisitor& visitor) { memory.visit_state(visitor); });
  if (is_alone_) state = actor_state(state);
  on_rank_zero(comm, [&] { require_state(state, checkpoint_, file_); });
  restore_state(state, checkpoint_, comm);
  checkpoint_ = {};
  return teacher_.emplace(Teacher{spec_, *nets_, memory.params.data(), memory.normalizer(), /*sees_critic_obs=*/true});
}

}  // namespace drl
