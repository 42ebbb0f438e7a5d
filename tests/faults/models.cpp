// Robot models (MJCF): the robot compiler reads mutated models, and drl_train simulates some of them with libmujoco.
#include "fuzz.hpp"

#if !defined(DRL_MUJOCO)

std::unique_ptr<drl::faults::Kind> drl::faults::make_models() { return nullptr; }

#else

#include <array>
#include <filesystem>
#include <functional>

#include "../support/process.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "physics/emit.hpp"
#include "physics/robot_model.hpp"
#include "physics/trace.hpp"

namespace drl::faults {
namespace {

namespace fs = std::filesystem;
using namespace robot_compiler;

class Models : public Kind {
 public:
  Models() {
    for (const char* name : {"ant", "half_cheetah", "hopper", "inverted_double_pendulum", "inverted_pendulum", "pusher",
                             "reacher", "swimmer", "walker2d"})
      corpus_.push_back(slurp(source("src/robots/models/") + std::string(name) + ".xml"));
    for (const char* name : {"crawler", "manipulator", "pile", "pincers", "skater", "slider", "tangle"})
      corpus_.push_back(slurp(test_data("physics/models/") + std::string(name) + ".xml"));
    fs::copy(source("src/robots/models/scene.xml"), folder_.path());
  }

  std::string make(Random& random) override {
    std::string text = random.one_of(corpus_);
    switch (random.below(3)) {
      case 0:
        mutate(text, random.one_of(corpus_), random);
        break;
      case 1:
        for (size_t changes = 1 + random.below(3); changes > 0; --changes) replace_number(text, random);
        break;
      default:
        for (size_t changes = 1 + random.below(3); changes > 0; --changes) move_element(text, random);
    }
    return text;
  }

  void read(const std::string& input) override {
    const std::string file = (folder_ / "model.xml").string();
    spill(file, input);
    if (std::hash<std::string>()(input) % 16 == 0)
      if (const std::string task = task_of(input); !task.empty()) train(task, file);
    const RobotModel model = [&] {
      try {
        return read_robot_model(file);
      } catch (const std::invalid_argument& error) {  // drl_robot makes a UsageError of it
        throw UsageError(printable(error.what(), 2000));
      }
    }();
    if (!model.unsupported.empty()) throw UsageError(printable(join(unsupported_lines(model), "; "), 2000));
    Program program;
    trace(model, program);
    if (emit_header(model, program).empty()) throw Finding("an empty header");
  }

 private:
  // Returns the task whose robot the text is a mutation of, or "".
  static std::string task_of(const std::string& text) {
    static const std::vector<std::array<std::string, 2> > robots = {
        {"ant", "Ant-v5"},
        {"half_cheetah", "HalfCheetah-v5"},
        {"hopper", "Hopper-v5"},
        {"inverted_double_pendulum", "InvertedDoublePendulum-v5"},
        {"inverted_pendulum", "InvertedPendulum-v5"},
        {"pusher", "Pusher-v5"},
        {"reacher", "Reacher-v5"},
        {"swimmer", "Swimmer-v5"},
        {"walker2d", "Walker2d-v5"}};
    for (const auto& [model, task] : robots)
      if (text.find("<mujoco model=\"" + model + "\"") != std::string::npos) return task;
    return "";
  }
  void train(const std::string& task, const std::string& file) const {
    const std::string runs = (folder_ / "runs").string();
    run_on_input({bin("drl_train"), "--task", task, "--env.xml_file", file, "--env.physics", "mujoco", "--num_envs",
                  "2", "--num_steps_per_env", "8", "--max_iterations", "1", "--runs_dir", runs, "--quiet"});
    fs::remove_all(runs);
  }
  // Copies an element of another model to here, or removes one.
  void move_element(std::string& text, Random& random) {
    const auto element = [&](const std::string& from, size_t& begin) {
      begin = from.find('<', random.below(from.size()));
      const size_t end = begin == std::string::npos ? begin : from.find('>', begin);
      return end == std::string::npos ? 0 : end + 1 - begin;
    };
    size_t begin = 0, at = 0;
    const std::string& other = random.one_of(corpus_);
    const size_t length = element(other, begin), replaced = element(text, at);
    if (replaced == 0) return;
    text.replace(at, random.one_in(2) ? replaced : 0, length == 0 ? "" : other.substr(begin, length));
  }

  TempFolder folder_;
  std::vector<std::string> corpus_;
};

}  // namespace

std::unique_ptr<Kind> make_models() { return std::make_unique<Models>(); }

}  // namespace drl::faults

#endif
