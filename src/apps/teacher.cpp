#include "apps/teacher.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/typed_path.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "export/exported_policy.hpp"
#include "run/policy_match.hpp"
#include "run/pretrained.hpp"
#include "run/run_directory.hpp"
#include "run/run_manifest.hpp"

namespace fs = std::filesystem;

namespace drl {
namespace {

constexpr const char* kTeacher = "teacher";  // attribute of the copy: the value of --teacher

const char* name_of(ObservationGroup group) { return group == ObservationGroup::critic ? "critic" : "policy"; }

}  // namespace

std::string meaning_of_teacher(const std::string& teacher, const fs::path& run, const std::string& recorded,
                               const std::string& runs_dir) {
  if (teacher.empty() || teacher == recorded || fs::path(teacher).parent_path() == "pretrained") return teacher;
  const fs::path file = fs::canonical(find_checkpoint(teacher, runs_dir));
  if (std::error_code none; fs::is_regular_file(in_runs_folder(teacher, runs_dir), none)) return file.string();
  const fs::path found = file.parent_path().parent_path();  // RUN/checkpoints/iter_000100.h5
  std::error_code missing;
  return !recorded.empty() && found == fs::canonical(run, missing) ? recorded : found.string();
}

TeacherRun::TeacherRun(const Options& student, const fs::path& resumed, Communicator& comm) : student_(student) {
  const std::string& run = student.train.teacher;
  file_ = on_rank_zero(comm, [&] {
    if (run.empty())
      throw UsageError("--algorithm " + student.train.algorithm +
                       " needs a teacher (the student learns its actions): give --teacher RUN, or --teacher "
                       "pretrained/NAME");
    std::string file = (resumed / kTeacherFile).string();
    if (!resumed.empty() && path_exists(file)) checkpoint_ = read_checkpoint(file);
    is_kept_ = text_or_empty(checkpoint_, kTeacher) == run;
    if (!is_kept_) file = find_checkpoint(run, student.run.runs_dir).string(), checkpoint_ = read_checkpoint(file);
    load_task_of(checkpoint_, file);
    return file;
  });
  task_ = on_rank_zero(comm, [&] { return attribute<std::string>(checkpoint_, file_, "task"); });
  const std::string ini = on_rank_zero(comm, [&] { return attribute<std::string>(checkpoint_, file_, "options"); });
  const std::string library = on_rank_zero(comm, [&] { return text_or_empty(checkpoint_, "task_library"); });
  if (!library.empty()) on_all_ranks(comm, [&] { load_recorded_library(task_, library); });
  is_alone_ = !on_rank_zero(comm, [&] { return std::string(is_policy_alone(checkpoint_) ? "alone" : ""); }).empty();
  on_all_ranks(comm, [&] {
    options_.take_recorded(task_, ini, file_);
    spec_ = options_.policy_spec();
    require_fit();
  });
  on_rank_zero(comm, [&] {
    require_policy_of_task(checkpoint_, file_, spec_);
    copy_ = policy_alone(checkpoint_, file_);
    copy_.attributes["options"] = ini;  // with its paths
    copy_.attributes[kTeacher] = run;
    if (!library.empty()) copy_.attributes["task_library"] = library;
    describe_policy(copy_, spec_);
  });
}

ObservationGroup TeacherRun::group() const { return std::get<GroupPlan>(options_.env->setup().wrappers).actor; }

// The teacher sees a group of the student's task, without what was hidden from it. Numbers of the policy's group must
// be the same, in the same order; those of the critic's have no names.
void TeacherRun::require_fit() const {
  const std::string& task = student_.train.task;
  const TaskSpec now = task_spec(task, student_setup());
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("the teacher {} cannot teach {} ({}): give another --teacher or --task", file_, task, why));
  };
  const int inputs = spec_.inputs(), given = now.critic_obs_dim;
  if (inputs != given)
    refuse(fmt::format("it sees {} of the group {}, and the student's task has {} there",
                       counted(inputs, "observation"), name_of(group()), given));
  if (spec_.action.discrete) refuse("its actions are discrete, and the student learns continuous ones");
  if (std::visit([](const auto& d) { return are_within_bounds(d.kOutputs); }, spec_.distribution))
    refuse("with its --policy.distribution, actions are not the outputs of its network, which the student learns");
  if (outputs(spec_.distribution) != spec_.action.size)
    refuse("its networks compute standard deviations, and the student learns actions alone");
  if (spec_.action.size != now.action.size)
    refuse(fmt::format("it chooses {}, and the student's task has {}", counted(spec_.action.size, "action"),
                       now.action.size));
  EnvSetup same_group = student_.env->setup();
  std::get<GroupPlan>(same_group.wrappers) = std::get<GroupPlan>(options_.env->setup().wrappers);
  const PolicySpec wanted = options_.algorithm().policy(task_spec(task, same_group), options_.policy);
  if (const std::string differences = policy_differences(spec_.observations, spec_.actions, wanted);
      !differences.empty())
    refuse(differences);
}

EnvSetup TeacherRun::student_setup() const {
  EnvSetup setup = student_.env->setup();
  auto& plan = std::get<GroupPlan>(setup.wrappers);
  plan.critic = group();
  plan.hidden_from_critic = std::get<GroupPlan>(options_.env->setup().wrappers).hidden;
  return setup;
}

std::string TeacherRun::text() const {
  return described_policy(copy_, student_.train.teacher) + ", which observes the group " + name_of(group());
}

void TeacherRun::keep(const fs::path& run, const OptionTable& table) const {
  warn_if_physics_changed(copy_, file_, *student_.env);
  warn_of_task_options(copy_, file_, table, student_.train, *student_.env);
  if (!is_kept_) write_checkpoint(run / kTeacherFile, copy_);
}

const Teacher& TeacherRun::load(RunEngine& engine, int64_t rows, Communicator& comm) {
  std::unique_ptr<Nets> nets;
  on_all_ranks(comm, [&] { nets = engine.make_nets(spec_.layout, rows); });
  Nets& of_teacher = *nets;
  Loaded& loaded = loaded_.emplace_back(std::move(nets), PolicyMemory(engine.queue(), spec_),
                                        Teacher{spec_, of_teacher, nullptr, {}, /*sees_critic_obs=*/true});
  PolicyMemory& memory = loaded.memory;
  StateList state = list_state([&](StateVisitor& visitor) { memory.visit_state(visitor); });
  if (is_alone_) state = actor_state(state);
  on_rank_zero(comm, [&] { require_state(state, checkpoint_, file_); });
  restore_state(state, checkpoint_, comm);
  loaded.teacher.params = memory.params.data(), loaded.teacher.normalizer = memory.normalizer();
  return loaded.teacher;
}

}  // namespace drl
