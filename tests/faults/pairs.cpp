// Files that do not belong together, and options that changed between the start of a run and its continuation.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "../support/process.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"
#include "store/checkpoint.hpp"

namespace drl::faults {
namespace {

namespace fs = std::filesystem;

// A run that all inputs start from. Some have equal numbers of observations and actions.
struct Run {
  std::string name, task;
  Words options{};
};

const std::vector<Run>& runs() {
  static const std::vector<Run> all = {
      {"cart", "Cartpole"},
      {"pole", "CartPole-v1"},
      {"pendulum", "Pendulum-v1"},
      {"half_blind", "Pendulum-v1", {"--env.hidden_obs", "theta_dot"}},
      {"memory", "Pendulum-v1", {"--policy.rnn_type", "gru", "--policy.rnn_hidden_dim", "4"}},
      {"delayed", "Pendulum-v1", {"--env.delay.action", "0,2", "--env.delay.observation", "1"}},
      {"group", "Pendulum-v1", {"--algorithm", "grpo", "--grpo.group_size", "2"}},
      {"student", "Pendulum-v1", {"--algorithm", "distill", "--teacher", "runs/Pendulum-v1/pendulum"}},
      {"reacher", "Reacher-v5"},
      {"cheetah", "HalfCheetah-v5"},
      {"walker", "Walker2d-v5"},
      {"rough", "Go1-Velocity-Rough", {"--env.terrain_rows", "3", "--env.terrain_columns", "3"}},
  };
  return all;
}

const Words kSmall =
    "--device cpu --ranks 1 --num_envs 16 --num_steps_per_env 15 --quiet "
    "--policy.actor_hidden_dims 4 --policy.critic_hidden_dims 4"_words;

class Pairs : public Kind {
 public:
  Pairs() {
    for (const Run& run : runs()) {
      const Result made =
          train(Words{"--task", run.task, "--run_name", run.name, "--max_iterations", "2"} + kSmall + run.options,
                folder_.path());
      if (made.exit_code != 0) {  // built without MuJoCo, or without this robot's model
        if (task_has_robot(run.task)) continue;
        throw Error("drl_train failed: " + made.err);
      }
      names_.push_back(&run);
      const Result printed = run_program({bin("drl_train"), "--task", run.task, "--print_config"});
      for (const std::string& line : split(printed.out.substr(printed.out.find("\n[env]\n")), '\n'))
        if (const size_t equals = line.find(" = "); !line.starts_with('#') && equals != std::string::npos)
          options_[run.task].push_back(
              {line.substr(0, equals),
               std::string(trim(line.substr(equals + 3, line.find("  ", equals + 3) - equals - 3)))});
    }
  }

  // One word per line: what is done, the run that is used, the run whose task is trained or played, and options.
  std::string make(Random& random) override {
    const Run &from = *random.one_of(names_), &to = *random.one_of(names_);
    Words words = {random.one_of(Words{"resume", "resume", "resume", "checkpoint", "init_from", "teacher", "eval"}),
                   from.name, to.name};
    const Words algorithms = {"ppo", "grpo", "distill"};
    // GRPO would collect whole episodes, of 1,000 steps on rough ground.
    if (random.one_in(4) && to.name != "rough") words.insert(words.end(), {"--algorithm", random.one_of(algorithms)});
    const bool is_to = words[0] != "resume" && words[0] != "eval";
    for (size_t more = random.below(3); more > 0; --more) {
      const auto& [name, value] = random.one_of(options_.at(is_to ? to.task : from.task));
      words.insert(words.end(), {"--env." + name, changed(value, random)});
    }
    for (std::string& word : words) std::erase(word, '\n');
    return join(words, "\n");
  }

  // A run that continues twice from the same files must end with the same state. A policy without changed options must
  // be accepted for its own task, and never for another one.
  void read(const std::string& input) override {
    Words words = split(input, '\n');
    for (std::string& word : words) word = word.c_str();  // a zero byte ends a word
    const std::string what = words.at(0), from = "runs/" + task_of(words.at(1)) + "/" + words[1],
                      to = task_of(words.at(2));
    const Words more(words.begin() + 3, words.end());
    const bool is_own = what == "resume" || what == "eval" || (what == "init_from" && task_of(words[1]) == to);
    const bool is_foreign =
        what != "resume" && what != "eval" && task_of(words[1]) != to && !contains(more, "--algorithm");
    const auto run = [&](const Words& command, const fs::path& folder) {
      const int code = run_on_input(command, folder.string());
      if (is_own && more.empty() && code != 0) throw Finding("what belongs together was refused: " + join(words, " "));
      if (is_foreign && code != 2) throw Finding("a policy of another task was accepted: " + join(words, " "));
    };
    if (what == "eval") return run(Words{bin("drl_eval"), "--run", from, "--episodes", "2"} + more, folder_.path());
    Words start = {"--max_iterations", "3", "--quiet"};
    if (what == "resume") {
      start = start + Words{"--load_run", from};
    } else {
      start = start + kSmall + Words{"--task", to, "--run_name", "new", "--" + what, from};
      if (what == "teacher") start = start + "--algorithm distill"_words;
    }
    std::vector<std::vector<Tensor>> states;
    for (int k = 0; k < 2; ++k) {
      const TempFolder here;
      fs::copy(folder_.path(), here.path(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
      run(Words{bin("drl_train")} + start + more, here.path());
      const fs::path file =
          here.path() / (what == "resume" ? from : "runs/" + to + "/new") / "checkpoints/iter_000003.h5";
      if (fs::exists(file)) states.push_back(read_checkpoint(file).tensors);
    }
    if (states.size() == 1 || (states.size() == 2 && states[0] != states[1]))
      throw Finding("the same start ended in two ways: " + join(words, " "));
  }

 private:
  static bool task_has_robot(const std::string& task) { return task.ends_with("v5") || task.starts_with("Go1"); }
  static std::string task_of(const std::string& name) {
    const auto found = std::ranges::find(runs(), name, &Run::name);
    return found == runs().end() ? "Cartpole" : found->task;
  }
  static Result train(const Words& words, const fs::path& folder) {
    const auto go_there = [&] {
      if (::chdir(folder.c_str()) != 0) ::_exit(99);
    };
    return Process(Words{bin("drl_train")} + words, {}, go_there).wait(60);
  }
  // Returns another value that may be valid: the neighbours of a number, the other value of a switch.
  static std::string changed(const std::string& value, Random& random) {
    if (value == "true" || value == "false") return value == "true" ? "false" : "true";
    if (random.one_in(8)) return random.one_of(odd_values());
    if (random.one_in(4))
      return random.one_of(Words{"0,2", "3", "0.5,2", "none", "critic", "all", "lifetime", "mujoco"});
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end == value.c_str() || *end != '\0') return random.one_of(odd_values());
    return std::to_string(std::lround(number + random.one_of(std::vector<double>{1, -1, 2, number, -number / 2})));
  }

  TempFolder folder_;
  std::vector<const Run*> names_;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> options_;  // of a task: names and defaults
};

}  // namespace

std::unique_ptr<Kind> make_pairs() { return std::make_unique<Pairs>(); }

}  // namespace drl::faults
