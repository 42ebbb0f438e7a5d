#include "apps/check_run.hpp"

#include <cstdio>

#include "apps/banner.hpp"
#include "apps/learner.hpp"
#include "apps/loading.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "placement/device.hpp"
#include "run/checkpoint_hook.hpp"

namespace drl {
namespace {

constexpr int kManyGpus = 1 << 10;  // the machine of the run may have any number

// Throws UsageError if no machine on which this build runs has the device, or if that device cannot compute the
// networks as the options say.
void require_possible_device(const TrainOptions& train) {
  choose_device(train.device, train.gpu_ids, {}, {cuda_support().built, kManyGpus, ""});
  const bool is_cpu = train.device == "cpu" || no_gpus(train.gpu_ids);
  const bool may_be_cpu = is_cpu || train.device == "auto";
  if (!may_be_cpu || !caught_usage_error([&] { require_engine(train, false); }).empty()) require_engine(train, !is_cpu);
}

// Returns the run's settings as the cores of this machine can compute them.
std::unique_ptr<const RunPlan> on_cores(const RunPlan& plan, const RunTexts& texts) {
  if (plan.options.train.device == "cpu") return resolve(plan, texts);
  return resolve(plan, texts, {{"device", "cpu"}, {"gpu_ids", ""}, {"nets", "auto"}, {"precision", "fp32"}});
}

// Returns warnings about options that have no effect, whatever device this run has.
std::vector<std::string> warnings(const RunPlan& plan, Workplace place, const RunStart& start, int64_t done) {
  place.job.emplace();
  const auto on_device = [&](int gpu) {
    return place.placement.gpu = gpu, warnings_of_effects(plan, place, start, done);
  };
  const std::vector<std::string> on_cpu = on_device(-1), on_gpu = on_device(0);
  std::vector<std::string> both;
  for (const std::string& warning : on_cpu)
    if (plan.options.train.device == "cpu" || contains(on_gpu, warning)) both.push_back(warning);
  return both;
}

// "the run runs/Cartpole/a would continue from iteration 20"
std::string beginning(const RunStart& start, const RunOptions& options, const Trainer& trainer) {
  const std::string run = start.directory.string();
  if (start.from == StartFrom::resume)
    return trainer.finished() ? trainer.nothing_to_do()
                              : fmt::format("the run {} would continue from iteration {}", run, trainer.iteration());
  const std::string place =
      options.run_name.empty() ? "a new run in " + start.directory.parent_path().string() : "the new run " + run;
  return place + (start.loaded.empty() ? " would start" : " would start with " + start.loaded);
}

}  // namespace

void check_run(const RunPlan& plan, const RunTexts& texts, const LaunchInfo& launch, Communicator& comm) {
  const Options& options = plan.options;
  std::unique_ptr<const RunPlan> tried;
  on_all_ranks(comm, [&] {
    require_possible_device(options.train);
    tried = on_cores(plan, texts);
    for (const RunPlan* each : {&plan, tried.get()}) each->options.env->choose_physics();
  });
  const Workplace place = find_workplace({"cpu", "", plan.command.threads}, options.train.isa, launch, comm);
  const RunRequest request{options.run, plan.table, run_context(options.train.task, launch)};
  RunStart start;
  std::filesystem::path resumed;
  on_rank_zero(comm, [&] {
    start = plan_run(request);
    require_writable(start.directory);
    if (start.from == StartFrom::resume) resumed = start.directory;
  });
  Learner learner(tried->options, place, comm, resumed);
  Trainer trainer(tried->options.train, tried->options.run, learner.algorithm(), learner.task(), learner.comm(),
                  [] { return 0.0; });
  RunFacts facts = facts_of(plan, place, learner.describe_engine(), learner.files(), start);
  facts.files = learner.contents();
  load_start(start, {*tried, facts, trainer, learner.algorithm(), learner.policy()}, comm);
  on_rank_zero(comm, [&] {
    require_films(options.run, options.train.task, start.from == StartFrom::resume);
    for (const std::string& warning : warnings(plan, place, start, trainer.iteration())) log::warn("{}", warning);
    if (plan.command.quiet) return;
    std::printf("%s\n", fmt::format("{} with {}: no error found; {}", options.train.task, options.algorithm().title(),
                                    beginning(start, options.run, trainer))
                            .c_str());
  });
}

}  // namespace drl
