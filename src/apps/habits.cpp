#include "apps/habits.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace drl {
namespace {

struct Habit {
  const char *option, *why, *advice;
};
constexpr const char* kPpo = "options of an algorithm begin with its name";
constexpr const char* kSteps = "training is measured in iterations of num_envs * num_steps_per_env steps on each rank";
constexpr const char* kWandb = "drl writes metrics.csv and TensorBoard files, and uploads nothing";
constexpr const char* kSync = "log its metrics.csv with `python3 -m drl.logging RUN` of the Python package (docs/python.md)";
constexpr const char* kRun = "a run's directory is runs/TASK/NAME";
constexpr const char* kGpus = "each rank uses one GPU";
constexpr const char* kUseGpus = "give --ranks N for N GPUs, or --gpu_ids 0,2 for these";
constexpr Habit kHabits[] = {
    {"video", "videos are recorded from checkpoints",
     "give --video_interval 50 for every 50th checkpoint, or type drl_eval --run RUN --video run.mp4 afterwards"},
    {"video_length", "drl_eval records videos", "give its option --video_seconds"},
    {"lr", kPpo, "give --ppo.learning_rate VALUE"},
    {"learning_rate", kPpo, "give --ppo.learning_rate VALUE"},
    {"ent_coef", kPpo, "give --ppo.entropy_coef VALUE"},
    {"clip_range", kPpo, "give --ppo.clip_param VALUE"},
    {"n_epochs", kPpo, "give --ppo.num_learning_epochs N"},
    {"batch_size", "mini-batches are given by their number", "give --ppo.num_mini_batches N"},
    {"epochs", kSteps, "give --max_iterations N, or --ppo.num_learning_epochs N for the passes over each rollout"},
    {"num_epochs", kPpo, "give --ppo.num_learning_epochs N"},
    {"gpus", kGpus, kUseGpus},
    {"devices", kGpus, kUseGpus},
    {"n_envs", "the option has another name", "give --num_envs N"},
    {"n_steps", "the option has another name", "give --num_steps_per_env N"},
    {"algo", "the option has another name", "give --algorithm NAME"},
    {"env", "the option has another name", "give --task NAME"},
    {"env_id", "the option has another name", "give --task NAME"},
    {"experiment_name", kRun, "give --run_name NAME, and --runs_dir for another directory"},
    {"exp_name", kRun, "give --run_name NAME, and --runs_dir for another directory"},
    {"wandb", kWandb, kSync},
    {"wandb_project", kWandb, kSync},
    {"track", kWandb, kSync},
    {"log_project_name", kWandb, kSync},
    {"cpu", "the option has another name", "give --device cpu"},
    {"viewer", "drl_train draws nothing", "record a video with drl_eval --run RUN --video run.mp4"},
};
// Options of a task, which other tasks may have.
constexpr const char* kStepLimit = "a task's step limit is a constant of its header";
constexpr const char* kOwnTask =
    "to change it, write a task of your own with another step_limit (docs/reference/tasks.md)";
constexpr Habit kTaskHabits[] = {
    {"env.max_episode_steps", kStepLimit, kOwnTask},
    {"env.max_episode_length", kStepLimit, kOwnTask},
    {"env.episode_length_s", kStepLimit, kOwnTask},
    {"env.decimation", "the option of robots has another name", "give --env.frame_skip N"},
    {"env.render_mode", "drl_train draws nothing", "record a video with drl_eval --run RUN --video run.mp4"},
};

// Throws UsageError if `name` is one of `habits`. `typed` is the option as the user wrote it.
template <size_t N>
void answer(const Habit (&habits)[N], const std::string& name, const std::string& typed) {
  const auto habit = std::ranges::find_if(habits, [&](const Habit& h) { return name == h.option; });
  if (habit != std::end(habits))
    throw UsageError(printable(typed) + " is not an option (" + habit->why + "): " + habit->advice);
}

// Throws UsageError, which says how many iterations have as many steps.
void answer_total_steps(const std::string& typed, const std::string& value,
                        const std::function<int64_t()>& steps_of_iteration) {
  double total = 0;  // 1e6 is usual
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), total);
  const bool is_number = error == std::errc() && end == value.data() + value.size() && total >= 1 && total < 1e15;
  const int64_t steps = is_number ? steps_of_iteration() : 0;
  const double iterations = steps > 0 ? std::ceil(total / static_cast<double>(steps)) : 0;
  throw UsageError(printable(typed) + " is not an option (" + kSteps + "): give --max_iterations " +
                   (steps > 0 ? fmt::format("{:.0f} (with {} steps in each)", iterations, with_commas(steps)) : "N"));
}

}  // namespace

void answer_task_habits(const std::vector<NamedValue>& given, const std::vector<Option>& known) {
  for (const NamedValue& value : given)
    if (std::ranges::find(known, value.name, &Option::name) == known.end())
      answer(kTaskHabits, value.name, "--" + value.name);
}

void answer_habits(const std::vector<std::string>& arguments,
                   const std::function<std::string(const std::string&)>& full_name_of,
                   const std::function<int64_t()>& steps_of_iteration) {
  for (size_t k = 0; k < arguments.size(); ++k) {
    const std::string& word = arguments[k];
    const size_t equals = std::min(word.find('='), word.size());
    std::string name = word.substr(0, equals);
    std::ranges::replace(name, '-', '_');
    if (name.starts_with("__")) {
      name = name.substr(2);
      const std::string value = equals < word.size()       ? word.substr(equals + 1)
                                : k + 1 < arguments.size() ? arguments[k + 1]
                                                           : "";
      if (contains({"total_timesteps", "timesteps", "n_timesteps"}, name))
        answer_total_steps(word.substr(0, equals), value, steps_of_iteration);
      answer(kHabits, name, word.substr(0, equals));
      answer(kTaskHabits, "env." + name, word.substr(0, equals));
      if (name == "logger" && value == "wandb")
        throw UsageError(std::string("--logger wandb is not possible (") + kWandb + "): leave --logger out, and " +
                         kSync);
    } else if (const bool is_value =
                   k > 0 && arguments[k - 1].starts_with("--") && arguments[k - 1].find('=') == std::string::npos;
               !is_value && equals < word.size() && (word.starts_with("agent.") || word.starts_with("env."))) {
      // Hydra's form, as in Isaac Lab: agent.max_iterations=100, env.scene.num_envs=64
      const std::string key = word.substr(0, equals), last = key.substr(key.rfind('.') + 1);
      const std::string full = full_name_of(last);
      throw UsageError(printable(word) + " is not an option (options begin with --): write --" +
                       printable(full.empty() ? key : full) + " " + printable(word.substr(equals + 1)));
    }
  }
}

}  // namespace drl
