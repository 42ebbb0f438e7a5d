#include "apps/replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "envs/make_env.hpp"
#include "envs/task_libraries.hpp"
#include "report/format.hpp"
#include "run/lost_states.hpp"
#include "run/option_files.hpp"
#include "run/run_manifest.hpp"
#include "run/train_options.hpp"

namespace drl {
namespace {

constexpr const char* kNotFinite = "not finite";

struct Number {
  std::string text;
  bool is_finite;
};

template <class T>
Number number_at(const std::byte* from) {
  T x;
  std::memcpy(&x, from, sizeof(x));
  const auto number = static_cast<double>(x);
  return {std::isnan(number) ? "nan" : fmt::format("{}", x), std::isfinite(number)};
}

Number number_of(DType type, const std::byte* from) {
  switch (type) {
    case DType::f32:
      return number_at<float>(from);
    case DType::f64:
      return number_at<double>(from);
    case DType::i32:
      return number_at<int32_t>(from);
    case DType::i64:
      return number_at<int64_t>(from);
    case DType::u8:
      return number_at<uint8_t>(from);
  }
  throw Error("a number has an unknown type");
}

std::string element(const std::string& name, int64_t k, int64_t count) {
  return count > 1 ? fmt::format("{}[{}]", name, k) : name;
}

class Table {
 public:
  // `before` or `after` may be null.
  void add(const std::string& name, DType type, const std::byte* before, const std::byte* after) {
    const Number none{"", true}, first = before ? number_of(type, before) : none,
                                 second = after ? number_of(type, after) : none;
    rows_.push_back({name, first.text, second.text, second.is_finite ? "" : kNotFinite});
  }
  void add(const std::string& name, const float* before, const float* after) {
    add(name, DType::f32, reinterpret_cast<const std::byte*>(before), reinterpret_cast<const std::byte*>(after));
  }
  std::vector<std::string> not_finite() const {
    std::vector<std::string> names;
    for (const auto& row : rows_)
      if (row.back() == kNotFinite) names.push_back(row.front());
    return names;
  }
  void print() const { std::printf("%s", table_text(rows_, "<>>").c_str()); }

 private:
  TextRows rows_ = {{"", "before", "after", ""}};  // NaN or infinity after the step are not finite
};

// The task of the file, with its options.
struct Replay {
  Replay(const Checkpoint& states, const std::string& file, const LostState& state,
         const std::vector<NamedValue>& task_options) {
    if (states.attributes.contains("task_library"))
      load_recorded_library(state.task, attribute<std::string>(states, file, "task_library"));
    const std::vector<std::string> known = task_names();
    if (std::ranges::find(known, state.task) == known.end())
      throw UsageError(
          fmt::format("the task {} of {} is unknown (its task library is not loaded): give --task_library "
                      "FILE",
                      printable(state.task), file));
    OptionTable table;
    options.add_to(table);
    const std::string task = table.value_in(state.options, file, "task").value_or("");
    if (task != state.task)
      throw UsageError(file + " names two tasks (" + printable(state.task) + " and " + printable(task) +
                       "): give a file that drl_train has written");
    options.take_recorded(task, state.options, file, [&](OptionTable& all) {
      all.apply(task_options);
      options.env->choose_physics();
      const std::vector<std::string> changes =
          changes_of_env_state(all, contents_of(options.env->files()), {state.options, state.files, file});
      if (!changes.empty())
        throw UsageError(fmt::format("the states in {} do not fit these options ({}): leave the options out", file,
                                     join(changes, "; ")));
    });
    warn_if_physics_changed(states, file, *options.env);
  }
  EnvConfig config() const {
    return {.seed = static_cast<uint64_t>(options.train.seed), .setup = options.env->setup()};
  }

  Options options;
};

std::string name_of(const std::vector<NamedNumber>& names, const std::string& what, size_t k) {
  return names.empty() ? fmt::format("{}[{}]", what, k) : what + " " + names[k].name;
}

// The fields of the state that a task's step reads, and the weighted terms of its reward.
void add_fields(Table& table, const OneEnv& env, const LostState& state) {
  for (const StateField& field : env.state()) {
    const bool is_term = field.name.starts_with("env/reward_terms/");
    if (!is_term && !field.name.starts_with("env/state/") && !field.name.starts_with("env/history/") &&
        !field.name.starts_with("curriculum/"))
      continue;
    const std::vector<std::byte> after = field.read();
    const Tensor& before = *std::ranges::find(state.fields, field.name, &Tensor::name);
    const std::string name = field.name.starts_with("env/") ? field.name.substr(4) : field.name;
    for (int64_t k = 0; k < field.count(); ++k) {
      const size_t at = static_cast<size_t>(k) * size_of(field.type);
      table.add(element(name, k, field.count()), field.type, is_term ? nullptr : &before.data[at], &after[at]);
    }
  }
}

void print_step(OneEnv& env, const LostState& state) {
  env.clear_sums();
  const OneEnv::Outcome after = env.step(state.step, state.action.data.data());
  const TaskSpec& task = env.spec();
  Table table;
  add_fields(table, env, state);
  for (size_t k = 0; k < static_cast<size_t>(task.action.numbers()); ++k) {
    const std::byte* action = &state.action.data[4 * k];
    float received = 0;
    if (!task.action.discrete) {
      std::memcpy(&received, action, sizeof(received));
      received = task.action.received(k, received);
      action = reinterpret_cast<const std::byte*>(&received);
    }
    table.add(name_of(task.actions, "action", k), state.action.type, action, nullptr);
  }
  const auto* observation = reinterpret_cast<const float*>(state.observation.data.data());
  for (size_t k = 0; k < after.observation.size(); ++k)
    table.add(name_of(task.observations, "observation", k), observation + k, &after.observation[k]);
  for (size_t k = 0; k < after.critic_observation.size(); ++k)
    table.add(name_of({}, "critic's observation", k), nullptr, &after.critic_observation[k]);
  table.add("reward", nullptr, &after.episode_reward);
  table.print();

  constexpr size_t kMostNames = 8;
  std::vector<std::string> wrong = table.not_finite();
  if (!wrong.empty()) {
    const size_t more = wrong.size() - std::min(wrong.size(), kMostNames);
    wrong.resize(wrong.size() - more);
    std::printf("not finite after the step: %s%s\n", join(wrong, ", ").c_str(),
                more > 0 ? fmt::format(" and {} more", more).c_str() : "");
  } else if (after.lost) {
    std::printf("all numbers are finite after the step, but their sum is too large for float32\n");
  } else {
    std::printf(
        "all numbers are finite after the step: it does not lose the environment here (its options, its "
        "library or the processor differ from the run's)\n");
  }
}

}  // namespace

void replay_dump(const std::string& file, int64_t index, const std::vector<NamedValue>& task_options) {
  const Checkpoint states = read_lost_states(file);
  const LostState state = lost_state(states, file, index);
  const Replay replay(states, file, state, task_options);
  OneEnv env(state.task, replay.config(), state.environment, state.isa);
  restore(env, state, file);
  const std::string place =
      fmt::format("state {} of {} in {}\ntask {}, environment {}, lost in iteration {} at step {} of its lifetime\n",
                  index, state.of, file, state.task, state.environment, state.iteration, state.step);
  std::printf("%s", place.c_str());
  print_step(env, state);
}

}  // namespace drl
