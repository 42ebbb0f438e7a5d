#include "apps/loading.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "run/option_files.hpp"
#include "run/policy_match.hpp"
#include "run/pretrained.hpp"
#include "run/replay_files.hpp"

namespace drl {
namespace {

// The part of a checkpoint that is loaded; up to `weights` by --init_from.
enum class Loaded : uint8_t { nothing, means, actor, weights, all_but_learning_rate, all };

// The checkpoint that rank 0 has read.
struct Source {
  Checkpoint checkpoint;
  std::string file;
};

// Reads the newest checkpoint that is intact, and lists the damaged ones before it in start.damaged.
Source read_newest_intact(RunStart& start) {
  Source source;
  for (const std::filesystem::path& file : start.checkpoints) {
    source.file = file.string();
    try {
      source.checkpoint = read_checkpoint(file);
      break;
    } catch (const UsageError& error) {
      if (&file == &start.checkpoints.back()) throw;
      log::warn("{}; using {} instead", error.what(), (&file + 1)->string());
      start.damaged.push_back(file);
    }
  }
  return source;
}

// Returns the value of `option` in the checkpoint's run if the current value differs, else nullopt.
std::optional<std::string> value_before_change(std::string_view option, const OptionTable& table,
                                               const Source& source) {
  for (const OptionDifference& difference :
       differences(table, attribute<std::string>(source.checkpoint, source.file, "options"), source.file))
    if (difference.name == option) return difference.other;
  return std::nullopt;
}

void require_same(const char* what, const std::string& then, const std::string& now, const std::string& file) {
  if (then != now)
    throw UsageError(
        fmt::format("checkpoint {0} was made with another {1} ({2}, not {3}): give --{1} {2}, or another file", file,
                    what, then, now));
}

// Returns the items of a comma-separated list that are not in `other`, or "(none)".
std::string only_in(const std::string& list, const std::string& other) {
  std::vector<std::string> parts;
  const std::vector<std::string> others = split(other, ',');
  for (const std::string& part : split(list, ','))
    if (std::ranges::find(others, part) == others.end()) parts.emplace_back(trim(part));
  return parts.empty() ? "(none)" : join(parts, ", ");
}

bool has_fields(const StateList& state, std::string_view part) {
  return std::ranges::any_of(state,
                             [&](const StateField& field) { return field.name.find(part) != std::string::npos; });
}
bool has_critic(const StateList& state) { return has_fields(state, "policy/critic/"); }

// Returns whether the arrays are those of other values of the option too, which then have another meaning.
bool is_silent(const OptionDifference& difference) {
  const std::vector<std::string>& same = difference.shapes->synonyms;
  return difference.shapes->keeps_arrays && !(contains(same, difference.value) && contains(same, difference.other));
}

std::string algorithm_of(const Source& source, const Settings& settings) {
  return value_before_change("algorithm", settings.table, source).value_or(settings.options.train.algorithm);
}

// Throws UsageError unless the networks and the fields in `loaded` fit the source.
void require_fit(const Source& source, const Settings& settings, const StateList& loaded, const PolicySpec& policy) {
  require_policy_of_task(source.checkpoint, source.file, policy);
  std::vector<std::string> advice, silent;
  for (const OptionDifference& difference :
       differences(settings.table, attribute<std::string>(source.checkpoint, source.file, "options"), source.file)) {
    if (!difference.shapes || !has_fields(loaded, difference.shapes->part)) continue;
    if (is_of_another_algorithm(settings.table.find(difference.name), settings.options)) continue;
    advice.insert(advice.end(), {"--" + difference.name, difference.other});
    if (is_silent(difference))
      silent.push_back(
          fmt::format("{} is {} in the checkpoint and {} here", difference.name, difference.other, difference.value));
  }
  if (!silent.empty()) refuse_state(source.file, join(silent, "; "), "give " + shell_line(advice));
  require_state(loaded, source.checkpoint, source.file, advice.empty() ? "" : "give " + shell_line(advice));
}

// Returns why the environments of the source do not continue here, or "".
std::string why_new_episodes(const Source& source, const NewRun& run, const StateList& state) {
  const std::string& file = source.file;
  std::vector<std::string> why = changes_of_env_state(
      run.settings.table, run.facts.files,
      {attribute<std::string>(source.checkpoint, file, "options"), recorded_files(source.checkpoint, file), file});
  const std::string of_arrays = difference_of_environments(state, source.checkpoint, run.facts.world_size);
  if (why.empty() && !of_arrays.empty()) why.push_back(of_arrays);
  return join(why, "; ");
}

// Returns a warning if the run goes on with another number of environments because it has another number of ranks, ""
// otherwise.
std::string changed_number_of_envs(const Source& source, const NewRun& run) {
  const auto found = source.checkpoint.attributes.find("world_size");
  const auto* recorded = found == source.checkpoint.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  const int64_t ranks = run.facts.world_size, ranks_before = recorded ? *recorded : ranks;
  if (ranks == ranks_before || run.settings.options.train.num_envs_total > 0) return "";
  const int64_t per_rank = run.settings.options.train.num_envs;
  const auto then = run.settings.table.value_in(attribute<std::string>(source.checkpoint, source.file, "options"),
                                                source.file, "num_envs");
  if (then && *then != std::to_string(per_rank)) return "";  // the user has chosen another number
  return fmt::format(
      "the run had {} environments on {} and goes on with {} on {} (--num_envs is per rank): give --ranks {} or "
      "--num_envs_total {} to keep their number",
      with_commas(per_rank * ranks_before), counted(ranks_before, "rank"), with_commas(per_rank * ranks),
      counted(ranks, "rank"), ranks_before, per_rank * ranks_before);
}

bool is_std(const std::string& name) { return name == "policy/log_std" || name == "policy/std"; }

// Returns the fields that --init_from loads. A policy that learned nothing but the means of actions has no standard
// deviation of its own.
StateList weights_in(const StateList& state, Loaded loaded) {
  StateList weights = policy_state(state);
  if (loaded != Loaded::weights) weights = actor_state(weights);
  if (loaded == Loaded::means) std::erase_if(weights, [](const StateField& field) { return is_std(field.name); });
  return weights;
}

// Chooses what --init_from loads: what the source and this run both have. Removes the rest of the source's weights.
Loaded choose_weights(Source& source, const Settings& settings, const StateList& state) {
  std::vector<Tensor>& tensors = source.checkpoint.tensors;
  const auto remove = [&](bool (*is_unwanted)(const std::string&)) {
    return std::erase_if(tensors, [&](const Tensor& tensor) { return is_unwanted(tensor.name); });
  };
  const bool is_student =
      algorithm_of(source, settings) == algorithm_with_teacher() && !settings.options.algorithm().needs_teacher();
  if (is_student) remove(is_std);
  if (has_critic(state) && std::ranges::any_of(tensors, is_of_critic, &Tensor::name)) return Loaded::weights;
  remove(is_of_critic);
  if (has_critic(state)) log::info("{} has no critic: the critic starts anew", source.file);
  return is_student ? Loaded::means : Loaded::actor;
}

// Throws UsageError unless the source has the whole state of a run of this algorithm.
void require_whole(const Source& source, const Settings& settings) {
  require_same("algorithm", algorithm_of(source, settings), settings.options.train.algorithm, source.file);
  if (is_policy_alone(source.checkpoint))
    throw UsageError("checkpoint " + source.file +
                     " has only a policy (without critic and optimiser, a run cannot continue from it): start a new "
                     "run with --init_from " +
                     source.file);
}

// Collective. Loads the replay buffer beside rank 0's checkpoint, or says why it starts empty.
void load_replay(const Source& source, const StateList& state, const std::string& task, Communicator& comm) {
  const ReplayFiles files(state, task, comm);
  if (!files.is_needed()) return;
  int64_t facts[] = {0, 0};  // iteration and number of ranks
  const std::string folder = on_rank_zero(comm, [&] {
    facts[0] = attribute<int64_t>(source.checkpoint, source.file, "iteration");
    facts[1] = attribute<int64_t>(source.checkpoint, source.file, "world_size");
    return std::filesystem::path(source.file).parent_path().string();
  });
  comm.broadcast(std::as_writable_bytes(std::span(facts)), 0);
  const std::string why = files.load(folder, facts[0], facts[1]);
  if (!why.empty() && comm.rank() == 0) log::warn("the replay buffer starts empty ({})", why);
}

}  // namespace

std::vector<std::string> changed_platform(const Checkpoint& checkpoint, const RunFacts& now) {
  const auto text = [](const Attribute& a) {
    const auto* number = std::get_if<int64_t>(&a);
    const auto* words = std::get_if<std::string>(&a);
    return number ? std::to_string(*number) : words ? *words : "?";
  };
  std::vector<std::string> changes;
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Attribute>>{{"cpu_model", now.cpu_model},
                                                                {"git_hash", now.git_hash},
                                                                {"versions", versions_text(now)},
                                                                {"world_size", int64_t{now.world_size}}}) {
    const auto then = checkpoint.attributes.find(name);
    const bool known = then != checkpoint.attributes.end();
    if (known && then->second == value) continue;
    const std::string before = known ? text(then->second) : "not known", after = text(value);
    const bool lists = known && name == std::string_view("versions");
    changes.push_back(fmt::format("{}: {} -> {}", name, lists ? only_in(before, after) : before,
                                  lists ? only_in(after, before) : after));
  }
  return changes;
}

void load_start(RunStart& start, const NewRun& run, Communicator& comm) {
  const auto& [settings, now, trainer, algorithm, policy] = run;
  const AlgorithmKind& kind = settings.options.algorithm();
  StateList state = trainer.state();
  Source source;
  Loaded loaded{};
  std::string why_anew;  // the environments' state is not loaded
  double elapsed = 0;
  on_rank_zero(comm, [&] {
    if (start.from == StartFrom::scratch) return;
    source = read_newest_intact(start);
    require_same("task", attribute<std::string>(source.checkpoint, source.file, "task"), settings.options.train.task,
                 source.file);
    if (start.from != StartFrom::resume) {
      start.loaded = described_policy(source.checkpoint, source.file);
      warn_of_task_options(source.checkpoint, source.file, settings.table, settings.options.train,
                           *settings.options.env);
    }
    warn_if_physics_changed(source.checkpoint, source.file, *settings.options.env);
    if (start.from == StartFrom::weights) {
      loaded = choose_weights(source, settings, state);
      require_fit(source, settings, weights_in(state, loaded), policy);
      start.has_new_critic = loaded != Loaded::weights && has_critic(state);
      start.has_new_std = loaded == Loaded::means;
      return;
    }
    require_whole(source, settings);
    settings.warn_of_ignored_options(attribute<std::string>(source.checkpoint, source.file, "options"), source.file);
    require_contents_of(source.checkpoint, source.file, now.files);
    require_fit(source, settings, state, policy);
    why_anew = why_new_episodes(source, run, state);
    if (start.from == StartFrom::resume)
      if (const std::string warning = changed_number_of_envs(source, run); !warning.empty()) log::warn("{}", warning);
    if (!why_anew.empty()) log::warn("all environments start new episodes ({})", why_anew);
    elapsed = attribute<double>(source.checkpoint, source.file, "elapsed_seconds");
    if (const std::vector<std::string> changes = changed_platform(source.checkpoint, now); !changes.empty())
      log::info("changed since the checkpoint was made ({}): the results will not be bit-identical",
                join(changes, "; "));
    loaded = value_before_change(std::string(kind.name()) + ".learning_rate", settings.table, source)
                 ? Loaded::all_but_learning_rate
                 : Loaded::all;
  });
  comm.broadcast(std::as_writable_bytes(std::span(&loaded, 1)), 0);
  if (loaded == Loaded::nothing) return;
  if (loaded <= Loaded::weights) state = weights_in(state, loaded);
  restore_state(state, source.checkpoint, comm, why_anew.empty());
  if (loaded > Loaded::weights) load_replay(source, state, settings.options.train.task, comm);
  trainer.state_loaded(elapsed);
  if (loaded == Loaded::all_but_learning_rate) algorithm.restart_learning_rate();
}

}  // namespace drl
