#include "apps/sweep_plan.hpp"

#include <algorithm>

#include "apps/settings.hpp"
#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "placement/relaunch.hpp"
#include "placement/topology.hpp"
#include "store/file.hpp"

namespace drl {
namespace {

std::vector<Values> points_of(const SweepOptions& options, const Space& space) {
  if (options.method == "grid") return grid(space, options.grid_points);
  if (options.method == "pbt" && options.trials < 4)
    throw UsageError(
        fmt::format("--trials {} is too few for pbt (its worst quarter goes on from its best quarter): "
                    "use 4 or more",
                    options.trials));
  std::vector<Values> all;
  for (int k = 0; k < options.trials; ++k) all.push_back(sample(space, static_cast<uint64_t>(options.seed), k));
  return all;
}

}  // namespace

void require_absent(const std::vector<std::string>& words, const std::vector<std::string>& names,
                    const std::string& why) {
  for (std::string word : words) {
    if (word == "-h") word = "--help";
    word = word.substr(0, word.find('='));
    std::ranges::replace(word, '-', '_');
    for (const std::string& name : names)
      if (word == "__" + name) throw UsageError(fmt::format("--{} stands after -- ({}): leave it out", name, why));
  }
}

SweepPlan make_sweep_plan(const SweepOptions& options, const std::vector<std::string>& training) {
  if (options.space.empty())
    throw UsageError("--space is missing (it names the file with the options to vary): see drl_sweep --help");
  require_absent(
      training, {"ranks", "run_name", "runs_dir", "resume", "load_run", "checkpoint", "fresh", "check", "max_restarts"},
      "drl_sweep sets it for each trial");
  require_absent(training, {"help", "version", "list_tasks", "print_config"}, "it is a question to drl_train");
  SweepPlan plan{.space = {}, .space_text = read_text(options.space), .task = {}, .points = {}};
  const std::string file = printable(options.space, 200);
  plan.space = parse_space(plan.space_text, file);
  std::vector<std::string> words = {"drl_train"};
  words.insert(words.end(), training.begin(), training.end());
  const Settings typed(words);
  const RunTexts texts{.config = typed.read_config(typed.command.config)};
  const auto base = resolve(typed, texts);
  base->require_usable();
  plan.task = base->options.train.task;
  plan.max_iterations = base->options.train.max_iterations;
  if (plan.max_iterations < 1)
    throw UsageError("--max_iterations 0 trains nothing: give the iterations of a whole training");
  if (base->options.train.target_reward || base->options.train.gate)
    throw UsageError(
        "a sweep does not go with --target_reward and --gate (it compares trials after the same iterations): leave "
        "them out");
  for (Dimension& d : plan.space) try {
      const Option& option = base->table.find(d.name);
      d.name = option.name;
      if (const auto same = std::ranges::find(plan.space, d.name, &Dimension::name); &*same != &d)
        throw UsageError(fmt::format("{} is on line {} already: leave one out", d.name, same->line));
      if (option.where != Where::anywhere || contains({"task", "max_iterations", "algorithm"}, d.name))
        throw UsageError(d.name + " cannot vary (it is the same in all trials): leave it out");
      for (const std::string& value : extremes(d)) resolve(typed, texts, {{d.name, value}})->require_usable();
      require_absent(training, {d.name}, "the space sets it");
      if (options.method != "pbt") continue;
      if (option.shapes || option.changes_env_state || d.name == "seed" || d.name.starts_with("num_"))
        throw UsageError(d.name + " cannot change during a run, as pbt does it: leave it out, or use another method");
      const std::string algorithm = base->options.train.algorithm;
      if (d.name == algorithm + ".learning_rate")
        if (const auto schedule = std::ranges::find(base->table.items(), algorithm + ".schedule", &Option::name);
            schedule != base->table.items().end() && schedule->value() == "adaptive")
          throw UsageError(
              fmt::format("{0}.learning_rate is only the first rate (--{0}.schedule is adaptive), so pbt "
                          "cannot change it: add --{0}.schedule fixed",
                          algorithm));
    } catch (const UsageError& error) {
      const std::string what = error.what(), place = fmt::format("{}:{}: ", file, d.line);
      throw UsageError(place + what);
    }
  plan.points = points_of(options, plan.space);
  return plan;
}

std::vector<TrialPlace> trial_places(const SweepOptions& options, int trials) {
  std::vector<TrialPlace> places;
  std::vector<TrialPlace> nodes = {{"", std::max(this_machine().allowed_cores / options.ranks_per_trial, 1)}};
  int wanted = options.parallel;
  if (can_run_under_srun()) {
    nodes.clear();
    const std::vector<NodeShare> shares = shares_of_nodes();
    for (const std::string& node : job_nodes()) {
      const NodeShare share = nodes.size() < shares.size() ? shares[nodes.size()] : NodeShare();
      nodes.push_back({node, (share.gpus > 0 ? share.gpus : share.cores) / options.ranks_per_trial});
    }
  } else {
    nodes.front().steps = std::max(nodes.front().steps, wanted);
  }
  int all = 0;
  for (const TrialPlace& node : nodes) all += node.steps;
  if (all == 0)
    throw UsageError(
        fmt::format("--ranks_per_trial {} is more than any node of the job has: use fewer", options.ranks_per_trial));
  wanted = std::min({all, trials, wanted > 0 ? wanted : all});
  for (int round = 0; std::ssize(places) < wanted; ++round)
    for (const TrialPlace& node : nodes)
      if (round < node.steps && std::ssize(places) < wanted) places.push_back(node);
  for (TrialPlace& place : places)
    place.steps = static_cast<int>(std::ranges::count(places, place.node, &TrialPlace::node));
  return places;
}

}  // namespace drl
