// Command lines of the programs other than drl_train, whose options are in configs.cpp.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "../support/process.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"

namespace drl::faults {
namespace {

namespace fs = std::filesystem;

struct Program {
  std::string name;
  std::vector<std::string> arguments;  // of a command line that works, in a directory with the run "r"
  std::vector<std::string> options;    // those that do not make it run for long
};

const std::string kCheckpoint = "r/checkpoints/iter_000002.h5";

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
    {"drl_eval",
     {"--run", "r", "--episodes", "1"},
     {"--run", "--checkpoint", "--num_envs", "--seed", "--stochastic", "--record", "--json", "--physics", "--xml_file",
      "--camera", "--size", "--fps", "--version", "--help", "--threads"}},
    {"drl_report",
     {"r", "--output", "page.html"},
     {"--output", "--title", "--film_size", "--points", "--version", "--help"}},
    {"drl_checkpoint", {"show", kCheckpoint}, {"show", "verify", "--help"}},
#if defined(DRL_MUJOCO)
    {"drl_robot",
     {source("src/robots/models/inverted_pendulum.xml"), "--explain"},
     {"--output", "-o", "--explain", "--if_possible", "--help", "--version"}},
#endif
  };
  return all;
}

const std::vector<std::string>& files() {
  static const std::vector<std::string> all = {
      "r", kCheckpoint, "r/options.ini", "r/metrics.csv", "nothing",   "nothing/x", "-",
      ".", "/",         "/dev/zero",     "/dev/null",     "/dev/full", "x.mp4"};
  return all;
}

class Commands : public Kind {
 public:
  Commands() {
    const Result made =
        run_program({bin("drl_train"), "--task", "Cartpole", "--num_envs", "4", "--num_steps_per_env", "4",
                     "--max_iterations", "2", "--runs_dir", (folder_ / "runs").string(), "--run_name", "r"});
    if (made.exit_code != 0) throw Error("drl_train failed: " + made.err);
  }

  // An input has one word per line.
  std::string make(Random& random) override {
    const Program& program = random.one_of(programs());
    std::vector<std::string> words = {program.name};
    if (!random.one_in(4)) words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    for (size_t more = 1 + random.below(3); more > 0; --more) {
      std::string word = random.one_of(program.options);
      if (random.one_in(8)) mutate(word, random.one_of(odd_values()), random);
      if (random.one_in(8)) word = value(random);
      words.push_back(word);
      if (!random.one_in(3)) words.push_back(value(random));
    }
    for (std::string& word : words) std::erase(word, '\n');
    return join(words, "\n");
  }

  void read(const std::string& input) override {
    std::vector<std::string> words = split(input, '\n');
    for (std::string& word : words) word = word.c_str();  // a zero byte ends a word
    words[0] = bin(words[0]);
    const TempFolder here;
    fs::copy(folder_ / "runs/Cartpole/r", here / "r", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    run_on_input(words, here.path().string());
  }

 private:
  static std::string value(Random& random) { return random.one_of(random.one_in(2) ? files() : odd_values()); }

  TempFolder folder_;
};

}  // namespace

std::unique_ptr<Kind> make_commands() { return std::make_unique<Commands>(); }

}  // namespace drl::faults
